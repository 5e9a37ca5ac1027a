//! The search: workers grow a tree by visits, in four steps.
//!
//! - Select: [`Tree::descend`] plays PUCT moves from the root to a leaf, a transposition, or a known result.
//! - Evaluate: by rules, tables or an [`Evaluator`](crate::nets::eval::Evaluator). A
//!   [`SplitEvaluator`](crate::nets::eval::SplitEvaluator) gives a leaf's value first, its policy at the second visit.
//! - Back up: [`Tree::apply`] adds the value along the path; [`Tree::cancel`] undoes a visit after a failure.
//! - Stop: the [`SearchObserver`] decides whether to continue.
//!
//! [`Pool`] runs one search on threads, [`MultiPool`] many. [`SteppedSearch`] is driven by its caller, so that many
//! searches can share one evaluator.

mod noise;
mod params;
mod tree;
mod visit;
mod run;

pub mod players;
pub mod time_management;

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
