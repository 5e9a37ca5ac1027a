//! Networks by the names that commands are given.

use std::path::Path;

use engine::eval::{Network, Pair, Precision};

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
