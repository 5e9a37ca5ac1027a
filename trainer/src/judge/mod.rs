//! Networks exported, verified, quantised, compared and drawn.

mod metrics_line;

/// ONNX files with their card, verified against the model; quantisation; conversion of lc0 networks.
pub mod export;
/// The strength of networks, side by side: accuracy, tactics, canaries.
pub mod evaluate;
/// Figures: curves of runs, heat maps of linear networks.
pub mod plot;
