//! Training: one run for every learner, and the learners.

pub mod run;
pub mod sparse;
#[cfg(feature = "libtorch")]
pub mod torch;
