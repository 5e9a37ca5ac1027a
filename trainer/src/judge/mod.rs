mod metrics_line;

/// ONNX files with their card, verification, quantisation, conversion of lc0 networks.
pub mod export;
/// Accuracy, tactics and canaries of several networks side by side.
pub mod evaluate;
/// Curves of runs and heat maps of linear networks.
pub mod plot;
