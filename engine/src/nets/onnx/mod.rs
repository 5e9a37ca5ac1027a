//! ONNX Runtime behind the seam [`Evaluator`](crate::nets::eval::Evaluator).
//!
//! A [`Network`] is a checked file that makes evaluators. A [`NetworkPair`] is one network in two precisions;
//! it chooses the faster one, which the [`PrecisionCache`] remembers. An [`OnnxSession`] is unchecked, for
//! measurements and for comparing logits. [`StepLimits`] end the repetition of a recurrent network's single
//! step. An [`OnnxSparseEvaluator`] runs a network of the family `sparse`.

mod error;
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
