pub mod figure;
mod canvas;
mod training;
pub mod heatmap;

pub use figure::{Axes, Curve, Panel};
pub use training::plot_runs;
