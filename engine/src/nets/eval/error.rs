use thiserror::Error;

/// The text is one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("evaluation failed: {0}")]
pub struct EvalError(pub String);
