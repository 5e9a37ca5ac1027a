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
mod sparse;
#[cfg(feature = "libtorch")]
mod torch;
#[cfg(not(feature = "libtorch"))]
#[path = "without_libtorch.rs"]
mod torch;
#[cfg(feature = "libtorch")]
mod train;
mod plot;
#[cfg(feature = "libtorch")]
mod export;
mod verify;
mod convert_lc0;
mod evaluate;
mod heatmap;
#[cfg(feature = "libtorch")]
mod rl;

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
pub use mine::MineArgs;
pub use out_args::OutArgs;
pub use plot::PlotArgs;
pub use rate::RateArgs;
#[cfg(feature = "libtorch")]
pub use rl::RlArgs;
pub use self_play::SelfPlayArgs;
#[cfg(not(feature = "libtorch"))]
pub use sparse::{SparseExportArgs as ExportArgs, SparseTrainArgs as TrainArgs};
#[cfg(feature = "libtorch")]
pub use torch::{LrFinderArgs, OverfitArgs, QuantiseArgs};
#[cfg(not(feature = "libtorch"))]
pub use torch::{
    WithoutLibtorch as LrFinderArgs, WithoutLibtorch as OverfitArgs, WithoutLibtorch as QuantiseArgs,
    WithoutLibtorch as RlArgs,
};
#[cfg(feature = "libtorch")]
pub use train::{DeviceChoice, SettingArgs, TrainArgs};
pub use verify::VerifyArgs;
