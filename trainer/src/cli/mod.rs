//! The commands of `philidor-trainer`, in the order of the pipeline.

/// Like `println!`, but ignores a closed output, as after `| head`.
macro_rules! say {
    ($($line:tt)*) => {
        crate::cli::print_line(format_args!($($line)*))
    };
}

mod engine_args;
mod out_args;
mod setting_args;
mod stop_file;
mod fetch_games;
mod import;
mod mine;
mod annotate;
mod self_play;
mod arena;
mod compare;
mod rate;
mod inspect;
mod export_pgn;
mod sparse;
#[cfg(feature = "libtorch")]
mod torch;
#[cfg(not(feature = "libtorch"))]
#[path = "without_libtorch.rs"]
mod torch;
mod trial;
mod overfit;
mod lr_finder;
mod train;
mod keys;
mod plot;
mod export;
mod verify;
mod convert_lc0;
mod evaluate;
mod best;
mod heatmap;
mod rl;
mod rl_limits;
mod work;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::base::interrupt;

use crate::base::lock::{IN_USE, InUse};
use crate::data::dataset::ChunkError;

pub use annotate::AnnotateArgs;
pub use arena::ArenaArgs;
pub use best::BestArgs;
pub use compare::CompareArgs;
pub use convert_lc0::ConvertLc0Args;
pub use evaluate::EvaluateArgs;
pub use export::ExportArgs;
pub use export_pgn::ExportPgnArgs;
pub use fetch_games::FetchGamesArgs;
pub use heatmap::HeatmapArgs;
pub use import::ImportArgs;
pub use inspect::InspectArgs;
pub use keys::KeysArgs;
pub use lr_finder::LrFinderArgs;
pub use mine::MineArgs;
pub use out_args::OutArgs;
pub use overfit::OverfitArgs;
pub use plot::PlotArgs;
pub use rate::RateArgs;
pub use rl::RlArgs;
pub use self_play::SelfPlayArgs;
pub use setting_args::{DeviceChoice, SettingArgs};
#[cfg(feature = "libtorch")]
pub use torch::QuantiseArgs;
#[cfg(not(feature = "libtorch"))]
pub use torch::WithoutLibtorch as QuantiseArgs;
pub use train::TrainArgs;
pub use verify::VerifyArgs;
pub use work::WorkArgs;

/// The exit code of a command: [`IN_USE`] if another process holds its folder or output, else that of
/// [`interrupt::exit_code`].
pub fn exit_code(done: &anyhow::Result<()>) -> ExitCode {
    if done.as_ref().is_err_and(is_in_use) {
        return IN_USE.into();
    }
    interrupt::exit_code(done.as_ref().is_ok_and(|()| !CANNOT_PRINT.load(Ordering::Relaxed)))
}

fn is_in_use(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|cause| cause.is::<InUse>() || matches!(cause.downcast_ref(), Some(ChunkError::InUse(_))))
}

/// Whether a line of results was lost, so that the command has failed in the end.
static CANNOT_PRINT: AtomicBool = AtomicBool::new(false);

fn print_line(line: std::fmt::Arguments<'_>) {
    match writeln!(io::stdout(), "{line}") {
        Err(error)
            if error.kind() != io::ErrorKind::BrokenPipe && !CANNOT_PRINT.swap(true, Ordering::Relaxed) =>
        {
            log::error!("cannot print to the standard output: {error}");
        }
        _ => {}
    }
}
