//! Errors of evaluators.

use thiserror::Error;

/// A batch could not be evaluated; the text says why, in one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("evaluation failed: {0}")]
pub struct EvalError(pub String);
