//! Reinforcement learning: a loop of self-play, training and arena matches ([`RlLoop`]). [`RunState`] is written after
//! every stage, so that a killed run can resume.

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
