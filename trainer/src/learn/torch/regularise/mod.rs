//! Regularisers that keep a network near what it has learnt before.

/// Elastic weight consolidation.
pub mod ewc;
/// Tactical replay: tactical positions with a high loss are repeated.
pub mod tactical_replay;
/// KL penalty for the policy's divergence from a reference network.
pub mod reference;

pub use ewc::ElasticPenalty;
pub use reference::{PolicyDivergenceSums, Reference};
pub use tactical_replay::HardPositions;
