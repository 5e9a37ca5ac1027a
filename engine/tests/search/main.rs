//! The search: numbers that can be checked by hand, and invariants.

#[path = "../mate_sample/mod.rs"]
mod mate_sample;
mod support;
mod puct;
mod features;
mod endgames;
mod graph;
mod mates;
mod memory;
mod repetition;
mod reuse;
mod solver;
mod pool;
mod multi_pool;
mod split;
mod stepped;
