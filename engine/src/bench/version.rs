//! `philidor --version`.

use std::io::{self, Write};

use crate::encoding::{Input, Policy};
use crate::onnx::NetworkPair;

/// Prints the version with its commit, the encodings, and the embedded network in both precisions.
///
/// # Errors
///
/// If `out` cannot be written.
pub fn print(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "philidor {} ({})", env!("CARGO_PKG_VERSION"), env!("PHILIDOR_COMMIT"))?;
    writeln!(out, "inputs: {}", Input::ALL.map(Input::name).join(", "))?;
    writeln!(out, "policies: {}", Policy::ALL.map(Policy::name).join(", "))?;
    match NetworkPair::embedded().all() {
        Ok(networks) => {
            networks.iter().try_for_each(|network| writeln!(out, "network: {}", network.describe()))
        }
        Err(error) => writeln!(out, "network: {error}"),
    }
}
