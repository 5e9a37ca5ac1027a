//! The cycle: a network plays against itself, learns from its games, and is tested, again and again.
//!
//! [`LearnConfig`] says how. [`State`] is where a run stands: it is written after every step, so that whatever ends a
//! run, the next one goes on. The [`Buffer`] is an index of files of games. [`Escalation`] says what is done when a
//! network has forgotten. [`Cycle`] is the loop.

mod runtime;
mod escalation;
mod buffer;
mod state;
mod diary;
mod nets;
mod gate;
mod curves;
mod run;

pub use buffer::{Buffer, Entry};
pub use escalation::{Escalation, Remedy, Verdict};
pub use run::{Cycle, Ended};
pub use state::{Stage, State};
