//! Export, verification, quantisation, comparison and plots of networks.

mod metrics_line;

/// ONNX files with their card, verified against the model; quantisation; conversion of lc0 networks.
pub mod export;
/// Accuracy, tactics and canaries of several networks side by side.
pub mod evaluate;
/// Curves of runs and heat maps of linear networks.
pub mod plot;
