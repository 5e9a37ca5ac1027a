//! The strength of networks, side by side.
//!
//! A [`JudgedNetwork`] answers alone, with policy and WDL, and by a search. `accuracy` compares it with the moves and
//! results of held-out games, and `value` with the values of deep searches. A [`TestPosition`] has a [`Criterion`] for
//! right answers: those of tactics suites (`suite`) and the canaries (`canary`), built-in positions by weighted
//! category. `judge` grades every network on every position, `report` prints the grades as a table.

mod judged_network;
mod tsv;
mod criterion;
pub(crate) mod suite;
mod canary;
mod judge;
pub(crate) mod report;
mod counts;
mod best;
pub(crate) mod accuracy;
pub(crate) mod value;

pub use best::{BestMeasure, BestOfRun, LossOver, best_of_runs};
pub use canary::{CATEGORIES, Category, canaries, weight};
pub use criterion::Criterion;
pub use judge::{GradedAnswer, TestPosition, judge};
pub use judged_network::{JudgedNetwork, Prediction, SearchResult};
pub use report::EvaluationReport;
