//! The commands of `philidor-trainer`: their arguments, what they print, progress bars, Ctrl-C.
//!
//! The files are listed in the order of the pipeline. Each command's `run` calls a room of the library and reports.

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
mod trial;
mod overfit;
mod lr_finder;
mod train;
mod plot;
mod export;
mod verify;
mod convert_lc0;
mod quantise;
mod evaluate;
mod heatmap;
mod rl;

pub use annotate::AnnotateArgs;
pub use arena::ArenaArgs;
pub use convert_lc0::ConvertLc0Args;
pub use evaluate::EvaluateArgs;
pub use export::ExportArgs;
pub use export_pgn::ExportPgnArgs;
pub use fetch_games::FetchGamesArgs;
pub use heatmap::HeatmapArgs;
pub use import::ImportArgs;
pub use inspect::InspectArgs;
pub use lr_finder::LrFinderArgs;
pub use mine::MineArgs;
pub use out_args::OutArgs;
pub use overfit::OverfitArgs;
pub use plot::PlotArgs;
pub use quantise::QuantiseArgs;
pub use rate::RateArgs;
pub use rl::RlArgs;
pub use self_play::SelfPlayArgs;
pub use train::{DeviceChoice, SettingArgs, TrainArgs};
pub use verify::VerifyArgs;
