//! ONNX Runtime behind the seam [`Evaluator`](crate::nets::eval::Evaluator).
//!
//! [`Network`] is a checked network file and makes evaluators that run it; [`NetworkPair`] is one network
//! in two precisions and chooses the faster, as remembered in the [`PrecisionCache`]. An [`OnnxSession`] is
//! a bare session, for measurements and for comparing logits. A file that holds a single step of a recurrent
//! network is run repeatedly, as [`StepLimits`] says. An [`OnnxSparseEvaluator`] runs a network of the family `sparse`.

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
