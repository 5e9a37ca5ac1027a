//! Networks: the seam through which games ask them, and the names that commands are given.

use std::path::Path;

use engine::encoding::Input;
use engine::eval::{Evaluator, Network, Pair, Precision};

/// A network with what runs it: games need no more of it.
pub trait Backend: Send + Sync {
    /// How it sees positions: all that its answers depend on.
    fn input(&self) -> Input;

    /// An evaluator of up to `max_batch` positions at once, for one worker.
    ///
    /// # Errors
    ///
    /// One line: it can't be run.
    fn evaluator(&self, max_batch: usize) -> Result<Box<dyn Evaluator>, String>;
}

/// ONNX Runtime, on the worker's own thread.
impl Backend for Network {
    fn input(&self) -> Input {
        self.schemes().input
    }

    fn evaluator(&self, max_batch: usize) -> Result<Box<dyn Evaluator>, String> {
        Network::evaluator(self, max_batch).map_err(|error| error.to_string())
    }
}

/// The network of a file, or of `embedded` or `embedded.int8`, those of this program.
///
/// # Errors
///
/// One line: it can't be used.
pub fn network(name: &Path) -> Result<Network, String> {
    let network = match name.to_str() {
        Some("embedded") => Pair::embedded().exactly(Precision::Fp32),
        Some("embedded.int8") => Pair::embedded().exactly(Precision::Int8),
        _ => Network::load(name),
    };
    network.map_err(|error| error.to_string())
}
