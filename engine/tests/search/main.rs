//! The search against numbers that a reader can check in his head, and against its laws.

mod hand;
mod puct;
mod features;
mod graph;
mod memory;
mod repetition;
mod reuse;
mod solver;
mod pool;
mod stepped;
