//! The interface between search and networks.
//!
//! An [`Evaluator`] answers a batch of positions, each with a [`Wdl`] for the side to move and one prior per legal
//! move; a [`SplitEvaluator`] gives either alone. A [`Card`] names a network's schemes and holds the golden answers
//! that [`golden`] checks.

mod error;
mod evaluator;
mod precision;
mod card;
pub mod golden;
mod cache;
mod uniform;
pub mod hashed;
mod shared;
pub mod material;
mod shown;

pub use crate::chess::wdl::{Wdl, centipawns_of_q, q_of_centipawns, softmax};

pub use cache::{CachedEvaluator, EvalCache};
pub(in crate::nets) use card::parse_golden;
pub use card::{Card, CardError, FORMAT as CARD_FORMAT, Golden, Schemes, ValueScheme};
pub use error::EvalError;
pub use evaluator::{Answer, Evaluator, Request, SplitEvaluator};
pub use golden::GoldenError;
pub use hashed::HashedEvaluator;
pub use precision::Precision;
pub use shared::SharedEvaluator;
pub use shown::{q_of_shown_centipawns, shown_centipawns};
pub use uniform::Uniform;
