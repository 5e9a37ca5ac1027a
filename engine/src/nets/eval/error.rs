use thiserror::Error;

/// Why a batch could not be evaluated, in one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("evaluation failed: {0}")]
pub struct EvalError(pub String);
