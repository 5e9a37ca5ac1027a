//! ONNX Runtime behind the interface [`Evaluator`](crate::nets::eval::Evaluator).
//!
//! A [`Network`] is a checked file that makes evaluators. A [`NetworkPair`] chooses the faster of its two precisions
//! and remembers it in the [`PrecisionCache`]. An [`OnnxSession`] is unchecked, for measurements and comparing logits.
//! An [`OnnxSparseEvaluator`] runs a network of the family `sparse`.

mod error;
mod calls;
mod runtime;
mod tensors;
mod recurrence;
mod session;
mod evaluator;
mod sparse;
mod timing;
mod network;
mod precision_cache;
mod network_pair;

pub use error::{NetError, RuntimeError};
pub use evaluator::OnnxEvaluator;
pub use network::Network;
pub use network_pair::{ChosenNetwork, NetworkPair};
pub use precision_cache::PrecisionCache;
pub use recurrence::{MAX_STEPS, StepLimits};
pub use runtime::library as runtime_library;
pub use session::{Device, Logits, OnnxSession};
pub use sparse::OnnxSparseEvaluator;
pub use timing::PrecisionTiming;
