//! The search: the tree as a state machine, and the workers that grow it. A visit has four steps:
//!
//! - Select: [`Tree::descend`] plays moves chosen by PUCT ([`Params`]) from the root to a leaf, a transposition (a
//!   position already in the tree), or a known result.
//! - Evaluate: rules or tables end the game at the leaf, or an [`Evaluator`](crate::nets::eval::Evaluator) answers. A
//!   batched one gives value and policy at once; a [`SplitEvaluator`](crate::nets::eval::SplitEvaluator) gives the value
//!   first and the policy at the leaf's next visit. With several workers or batches, the visit is in flight meanwhile.
//! - Back up: [`Tree::apply`] adds the value along the path; after a failure, [`Tree::cancel`] removes the visit.
//! - Stop: the [`SearchObserver`] decides whether to continue.
//!
//! [`Pool`] runs a search on threads and [`MultiPool`] many at once; the caller drives a [`SteppedSearch`], many of
//! them with one evaluator.

mod noise;
mod params;
/// Nodes, their moves and links, and what is proven of them.
mod tree;
/// One iteration: select, expand, evaluate, back up; virtual loss.
mod visit;
/// Workers, pools, the report and the observer.
mod run;

/// The classical players: random, minimax, alpha-beta, UCT.
pub mod players;
/// Time management: limits and clocks to a decision to stop.
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
