//! What holds a network to what it has learnt before.

/// Elastic weight consolidation.
pub mod ewc;
/// Hard tactical positions shown again.
pub mod tactical_replay;
/// Staying near a network that is known to be good.
pub mod reference;

pub use ewc::ElasticPenalty;
pub use reference::{PolicyDivergence, PolicyDivergenceSums, Reference};
pub use tactical_replay::HardPositions;
