//! What a training run reports, whatever trains it: measures, calibration, `metrics.jsonl`, TensorBoard events, progress.

mod calibration;
mod measures;
mod events;
mod summary;
mod report;
mod lr_range_test;

pub use calibration::{BINS, Bin, Calibration, CalibrationTally, ReliabilityDiagram, diagram};
pub use events::Events;
pub use lr_range_test::{LrSuggestion, RangeTestStep, range_test};
pub use measures::{Measures, PolicyDivergence, StepMeasures, TrainReport, Validation, Validations};
pub use report::{ReportedProgress, Reporter};
pub use summary::TrainSummary;
