//! The search: the tree as a state machine, and the workers that grow it.
//!
//! A visit has four steps, and the modules are in their order:
//!
//! 1. [`Tree::descend`] follows selection by PUCT ([`Params`]) from the root, playing the moves, to a leaf, to a
//!    transposition (a position that the tree contains already), or to a known result.
//! 2. The rules or endgame tables end the game at the leaf, or an [`Evaluator`](crate::nets::eval::Evaluator) evaluates it:
//!    one that answers in batches has its moves and its value at once, one that
//!    [answers question by question](crate::nets::eval::SplitEvaluator) the value first, and the moves when the leaf is
//!    visited again. Meanwhile a visit of several workers, or of a batch, counts as in flight on its path.
//! 3. [`Tree::apply`] backs the value up. If the evaluator failed, [`Tree::cancel`] restores the statistics instead.
//! 4. The [`SearchObserver`] decides whether to continue.
//!
//! The tree has no clock, threads, channels or random numbers of its own, and no lock: its statistics are atomic.
//! [`Pool`] runs a search on threads, [`MultiPool`] many at once; [`SteppedSearch`] is driven by its caller, many of them with one evaluator.

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
