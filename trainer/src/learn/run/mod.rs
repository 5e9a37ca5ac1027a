//! A training run, whatever learns in it.

pub mod metrics;
