use std::ffi::OsString;

use anyhow::bail;
use clap::Args;

use crate::config::TrainConfig;
use crate::learn::run::RangeTestStep;
use crate::play::rl::LoopLearner;

/// Not in this build: it needs libtorch
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub struct WithoutLibtorch {
    /// The arguments of the command
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<OsString>,
}

impl WithoutLibtorch {
    pub fn run(&self) -> anyhow::Result<()> {
        needs_libtorch()
    }
}

pub(super) fn needs_libtorch<T>() -> anyhow::Result<T> {
    bail!(
        "this command needs libtorch, and this philidor-trainer was built without it (--no-default-features); \
         `scripts/setup.sh` fetches libtorch, `cargo build --release -p trainer` builds every command"
    )
}

pub(super) fn verify(_: &super::VerifyArgs) -> anyhow::Result<()> {
    needs_libtorch()
}

pub(super) fn train(_: &super::TrainArgs, _: TrainConfig) -> anyhow::Result<super::train::Trained> {
    needs_libtorch()
}

pub(super) fn export(_: &super::ExportArgs) -> anyhow::Result<()> {
    needs_libtorch()
}

pub(super) fn learner(_: super::DeviceChoice, _: &mut TrainConfig) -> anyhow::Result<Box<dyn LoopLearner>> {
    needs_libtorch()
}

pub(super) fn overfit(_: &super::OverfitArgs, _: TrainConfig) -> anyhow::Result<String> {
    needs_libtorch()
}

pub(super) fn lr_range(
    _: &super::LrFinderArgs,
    _: TrainConfig,
    _: &dyn Fn(&RangeTestStep),
) -> anyhow::Result<Vec<RangeTestStep>> {
    needs_libtorch()
}
