//! Compares networks side by side: with the moves and results of games (`accuracy`), with the values of deep searches
//! (`value`), and on each position of a tactics suite or canary by its `Criterion`.

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

pub use best::{BestMeasure, BestOfRun, BestOfRuns, LossOver, best_of_runs};
pub use canary::{CATEGORIES, Category, canaries, weight};
pub use criterion::Criterion;
pub use judge::{GradedAnswer, TestPosition, judge};
pub use judged_network::{JudgedNetwork, Prediction, SearchResult};
pub use report::EvaluationReport;
