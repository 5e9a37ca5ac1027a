use std::io::{self, Write};

use crate::nets::encoding::{Input, Policy};
use crate::nets::sparse::SparseNetwork;

/// Of the build, with its commit.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("PHILIDOR_COMMIT"), ")");

pub fn print(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "philidor {VERSION}")?;
    writeln!(out, "inputs: {}", Input::ALL.map(Input::name).join(", "))?;
    writeln!(out, "policies: {}", Policy::ALL.map(Policy::name).join(", "))?;
    writeln!(out, "network: {}", SparseNetwork::embedded().describe())
}
