//! Reinforcement learning: self-play, training and matches against earlier networks, in a loop.
//!
//! [`RlConfig`](crate::config::RlConfig) holds the settings. [`RunState`] is written after every stage, so that a run can
//! be resumed however it ended. [`ReplayBuffer`] is an index of the files of games to learn from. [`Escalation`] decides
//! what a veto changes. [`RlLoop`] runs the stages.

mod runtime;
mod escalation;
mod buffer;
mod state;
mod run_log;
mod networks;
mod gate;
mod curves;
mod run;

pub use buffer::{BufferEntry, ReplayBuffer};
pub use escalation::{Escalation, GateDecision, VetoResponse};
pub use run::{RlLoop, RlOutcome, check_model_keys};
pub use state::{RunState, Stage};
