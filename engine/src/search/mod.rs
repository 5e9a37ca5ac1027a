//! The search: the tree as a state machine, and the workers that grow it.
//!
//! One round has six steps, and the modules are in their order:
//!
//! 1. [`Tree::gather`] selects leaves from the root by PUCT ([`Params`]), and counts an [`InFlightVisit`] at every node
//!    of each path. A full tree first drops its least visited nodes.
//! 2. Each visit's moves are replayed; a game that ends at the leaf is [`Leaf::Terminal`].
//! 3. [`Tree::identify`] finds transpositions: positions that the tree contains already.
//! 4. An [`Evaluator`](crate::eval::Evaluator) evaluates the others: [`Leaf::Expanded`].
//! 5. [`Tree::apply`] expands the leaves and backs their values up. If the evaluator failed, [`Tree::cancel`] restores
//!    the statistics instead.
//! 6. The [`SearchObserver`] decides whether to continue.
//!
//! The tree has no clock, threads, channels or random numbers of its own. [`Pool`] runs a search on threads;
//! [`SteppedSearch`] is driven by its caller, many of them with one evaluator. Both run the same round.

mod proof;
mod noise;
mod params;
mod node_store;
mod neuralmateplay;
mod tree;
mod recycle;
mod select;
mod in_flight;
mod report;
mod observer;
mod context;
mod pending;
mod round;
mod shared;
mod worker;
mod pool;
mod gumbel;
mod stepped;

pub use gumbel::{Gumbel, ImprovedPolicy};
pub use in_flight::{Expansion, Gathered, InFlightVisit, Leaf};
pub use noise::{Noise, sample_by_visits};
pub use observer::{EndReason, SearchControl, SearchObserver, SearchOutcome, SearchView};
pub use params::{Limits, Params, Puct};
pub use pool::Pool;
pub use proof::Proof;
pub use report::{MoveStats, PvLine, Report, Score};
pub use stepped::SteppedSearch;
pub use tree::{NodeView, SearchCounters, Tree};
pub use worker::check_answers;
