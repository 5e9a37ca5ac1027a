//! The commands of `philidor-trainer`: arguments, output, progress bars, Ctrl-C.
//!
//! The files are listed in the order of the pipeline. The `run` of each command calls a module of the library and
//! prints the result.

/// Ctrl-C.
pub mod interrupt;
mod engine_args;
mod out_args;
mod fetch_games;
mod import;
mod mine;
mod annotate;
mod self_play;
mod arena;
mod rate;
mod inspect;
mod export_pgn;
#[cfg(feature = "libtorch")]
mod trial;
#[cfg(feature = "libtorch")]
mod overfit;
#[cfg(feature = "libtorch")]
mod lr_finder;
mod sparse;
#[cfg(feature = "libtorch")]
mod train;
mod plot;
#[cfg(feature = "libtorch")]
mod export;
#[cfg(feature = "libtorch")]
mod verify;
mod convert_lc0;
#[cfg(feature = "libtorch")]
mod quantise;
mod evaluate;
mod heatmap;
#[cfg(feature = "libtorch")]
mod rl;
#[cfg(not(feature = "libtorch"))]
mod without_libtorch;

pub use annotate::AnnotateArgs;
pub use arena::ArenaArgs;
pub use convert_lc0::ConvertLc0Args;
pub use evaluate::EvaluateArgs;
#[cfg(feature = "libtorch")]
pub use export::ExportArgs;
pub use export_pgn::ExportPgnArgs;
pub use fetch_games::FetchGamesArgs;
pub use heatmap::HeatmapArgs;
pub use import::ImportArgs;
pub use inspect::InspectArgs;
#[cfg(feature = "libtorch")]
pub use lr_finder::LrFinderArgs;
pub use mine::MineArgs;
pub use out_args::OutArgs;
#[cfg(feature = "libtorch")]
pub use overfit::OverfitArgs;
pub use plot::PlotArgs;
#[cfg(feature = "libtorch")]
pub use quantise::QuantiseArgs;
pub use rate::RateArgs;
#[cfg(feature = "libtorch")]
pub use rl::RlArgs;
pub use self_play::SelfPlayArgs;
#[cfg(not(feature = "libtorch"))]
pub use sparse::{SparseExportArgs as ExportArgs, SparseTrainArgs as TrainArgs};
#[cfg(feature = "libtorch")]
pub use train::{DeviceChoice, SettingArgs, TrainArgs};
#[cfg(feature = "libtorch")]
pub use verify::VerifyArgs;
#[cfg(not(feature = "libtorch"))]
pub use without_libtorch::{
    WithoutLibtorch as LrFinderArgs, WithoutLibtorch as OverfitArgs, WithoutLibtorch as QuantiseArgs,
    WithoutLibtorch as RlArgs, WithoutLibtorch as VerifyArgs,
};
