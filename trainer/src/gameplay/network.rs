//! Networks in games: the trait through which games evaluate positions, and loading by file name.

use std::path::Path;

use anyhow::Result;
use engine::encoding::Input;
use engine::eval::{Evaluator, Precision};
use engine::onnx::{Network, NetworkPair};

/// A network together with what runs it: all that games need of one.
pub trait Backend: Send + Sync {
    /// The input scheme: everything that the network's answers depend on.
    fn input(&self) -> Input;

    /// An evaluator of up to `max_batch` positions at once, for one worker.
    ///
    /// # Errors
    ///
    /// The runtime cannot be started, or refuses the network.
    fn evaluator(&self, max_batch: usize) -> Result<Box<dyn Evaluator>>;
}

/// ONNX Runtime, on the worker's own thread.
impl Backend for Network {
    fn input(&self) -> Input {
        self.schemes().input
    }

    fn evaluator(&self, max_batch: usize) -> Result<Box<dyn Evaluator>> {
        Ok(Network::evaluator(self, max_batch)?)
    }
}

/// Loads the network of a file, or one of this program's own: `embedded` or `embedded.int8`.
///
/// # Errors
///
/// The file cannot be read, or is no network that this program knows.
pub fn load_network(name: &Path) -> Result<Network> {
    let network = match name.to_str() {
        Some("embedded") => NetworkPair::embedded().exactly(Precision::Fp32),
        Some("embedded.int8") => NetworkPair::embedded().exactly(Precision::Int8),
        _ => Network::load(name),
    };
    Ok(network?)
}
