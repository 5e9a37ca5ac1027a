//! The commands that need libtorch, in a build without it.

use std::ffi::OsString;

use anyhow::bail;
use clap::Args;

/// Not in this build: it needs libtorch
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub struct WithoutLibtorch {
    /// The arguments of the command
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<OsString>,
}

impl WithoutLibtorch {
    /// Says how to get the command.
    ///
    /// # Errors
    ///
    /// Always: this build lacks the command.
    pub fn run(&self) -> anyhow::Result<()> {
        needs_libtorch()
    }
}

/// Says how to get the command.
///
/// # Errors
///
/// Always: this build lacks the command.
pub(super) fn needs_libtorch() -> anyhow::Result<()> {
    bail!(
        "this command needs libtorch, and this philidor-trainer was built without it (--no-default-features); \
         `scripts/setup.sh` fetches libtorch, `cargo build --release -p trainer` builds every command"
    )
}

/// `verify` for the families that libtorch trains.
///
/// # Errors
///
/// Always: this build lacks it.
pub(super) fn verify(_: &super::VerifyArgs) -> anyhow::Result<()> {
    needs_libtorch()
}
