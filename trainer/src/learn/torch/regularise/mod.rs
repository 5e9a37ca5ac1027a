//! Regularisers that keep a network near what it learnt before.

pub mod ewc;
pub mod tactical_replay;
pub mod reference;

pub use ewc::ElasticPenalty;
pub use reference::{PolicyDivergenceSums, Reference};
pub use tactical_replay::HardPositions;
