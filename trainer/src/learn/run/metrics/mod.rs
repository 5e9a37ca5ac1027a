//! Metrics of a training run, for every learner: measures, calibration, `metrics.jsonl`, TensorBoard events, progress.

mod calibration;
mod measures;
mod events;
mod summary;
mod pulse;
mod report;

pub use calibration::{BINS, Bin, Calibration, CalibrationTally, ReliabilityDiagram, diagram};
pub use events::Events;
pub use measures::{Measures, PolicyDivergence, StepMeasures, TrainReport, Validation, Validations};
pub use pulse::Pulse;
pub use report::Reporter;
pub use summary::TrainSummary;
