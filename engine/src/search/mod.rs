//! The search: a tree, and workers that grow it. A visit has four steps:
//!
//! - Select: [`Tree::descend`] plays moves chosen by PUCT ([`Params`]) from the root to a leaf, a transposition (a
//!   position already in the tree), or a known result.
//! - Evaluate: rules or tables end the game, or an [`Evaluator`](crate::nets::eval::Evaluator) answers: a batched one
//!   with value and policy, a [`SplitEvaluator`](crate::nets::eval::SplitEvaluator) with the value first and the policy
//!   at the leaf's next visit. With several workers or batches, the visit is in flight meanwhile.
//! - Back up: [`Tree::apply`] adds the value along the path; after a failure, [`Tree::cancel`] removes the visit.
//! - Stop: the [`SearchObserver`] decides whether to continue.
//!
//! [`Pool`] runs one search on threads, [`MultiPool`] many at once; [`SteppedSearch`] is driven by its caller, so that
//! many can share one evaluator.

mod noise;
mod params;
mod tree;
mod visit;
mod run;

pub mod players;
pub mod time;

pub use noise::{Noise, sample_by_visits};
pub use params::{Limits, ParamSettings, Params, Puct};
pub use run::gumbel::{Gumbel, ImprovedPolicy};
pub use run::multi_pool::{MultiPool, RunningId, SearchTask};
pub use run::observer::{EndReason, SearchControl, SearchObserver, SearchOutcome, SearchView};
pub use run::pool::Pool;
pub use run::report::{MoveStats, PvLine, Report, Score};
pub use run::stepped::SteppedSearch;
pub use run::worker::check_answers;
pub use tree::counters::SearchCounters;
pub use tree::proof::Proof;
pub use tree::{NodeView, Tree};
pub use visit::expansion::{Expansion, Leaf};
pub use visit::{Expanding, Path, Reached};
