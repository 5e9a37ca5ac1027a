//! Reinforcement learning: self-play, training and matches against earlier networks, in a loop.
//!
//! [`RlConfig`](crate::config::RlConfig) holds the settings. [`RunState`] is written after every stage, so
//! that a run can be resumed however it ended. [`ReplayBuffer`] indexes the games to learn from,
//! [`Escalation`] decides what a veto changes, a [`LoopLearner`] creates, plays and trains the networks of a
//! family, and [`RlLoop`] runs the stages.

mod escalation;
mod buffer;
mod state;
mod run_log;
mod networks;
mod gate;
mod curves;
mod learner;
mod sparse;
#[cfg(feature = "libtorch")]
mod torch;
mod run;

pub use buffer::{BufferEntry, ReplayBuffer};
pub use curves::{draw_curves, is_run};
pub use escalation::{Escalation, GateDecision, VetoResponse};
pub use learner::LoopLearner;
pub use run::{Others, RlLoop, RlOutcome, check_model_keys};
pub use sparse::SparseLoop;
pub use state::{Lineup, RunState, Stage};
#[cfg(feature = "libtorch")]
pub use torch::TorchLoop;
