//! Runs searches: on threads ([`pool`], [`multi_pool`]) or driven by a caller ([`stepped`]).
//!
//! Per round, a worker makes visits ([`walker`] singly, [`pending`] in batches), then calls the observer in [`shared`].

pub(in crate::search) mod report;
pub(in crate::search) mod observer;
pub(in crate::search) mod context;
pub(in crate::search) mod pending;
pub(in crate::search) mod walker;
#[cfg(test)]
mod contention_tests;
pub(in crate::search) mod mate_probe;
pub(in crate::search) mod shared;
pub(in crate::search) mod worker;
pub(in crate::search) mod pool;
pub(in crate::search) mod multi_pool;
pub(in crate::search) mod gumbel;
pub(in crate::search) mod stepped;
