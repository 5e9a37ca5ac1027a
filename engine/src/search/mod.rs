//! The tree as a state machine, and the workers that grow it.
//!
//! One round of a worker has six steps, and the modules stand in their order:
//!
//! 1. [`Tree::gather`] walks from the root to leaves by PUCT ([`Params`]) and leaves a virtual visit
//!    on every node of the way: a [`Ticket`] each. A full tree first drops what is least useful.
//! 2. The worker replays each ticket's moves; a game that ends there is [`Leaf::Terminal`].
//! 3. [`Tree::identify`] looks whether the position is in the tree already, by another way.
//! 4. An [`Evaluator`](crate::eval::Evaluator) answers for the others: [`Leaf::Expanded`].
//! 5. [`Tree::apply`] turns virtual visits into visits and backs the values up; if the evaluator
//!    failed, [`Tree::cancel`] takes the virtual visits back, and the tree is as before.
//! 6. The watcher looks at the counters and says whether to go on ([`SearchObserver`]).
//!
//! The tree has no clock, thread, channel or random source of its own; [`Pool`] has the threads. [`SteppedSearch`] is
//! driven by its caller, many of them with one evaluator.

mod proof;
mod noise;
mod params;
mod arena;
mod neural_mate;
mod tree;
mod recycle;
mod select;
mod step;
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

pub use gumbel::{Gumbel, Improved};
pub use noise::{Noise, choose};
pub use observer::{EndReason, SearchControl, SearchObserver, SearchOutcome, SearchView};
pub use params::{Fpu, FpuStrategy, Limits, Params, Puct};
pub use pool::Pool;
pub use proof::Proof;
pub use report::{Line, MoveStats, Report, Score};
pub use step::{Expansion, Gathered, Leaf, Ticket};
pub use stepped::SteppedSearch;
pub use tree::{Counters, NodeView, Tree};
pub use worker::check_answers;
