//! Figures: curves of runs (SVG), heat maps of linear networks (PNG).

/// Panels of curves, as SVG.
pub mod figure;
mod canvas;
mod training;
/// The weights of a linear network as a picture.
pub mod heatmap;

pub use figure::{Axes, Curve, Panel};
pub use training::plot_runs;
