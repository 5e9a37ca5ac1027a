//! The binary `philidor-trainer`: one subcommand per step of the pipeline, in its order.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use trainer::arena::ArenaArgs;
use trainer::chunks::{AnnotateArgs, ExportPgnArgs, ImportArgs, InspectArgs, MineArgs};
use trainer::cycle::LearnArgs;
use trainer::export::{ConvertLc0Args, ExportArgs, QuantiseArgs, VerifyArgs};
use trainer::games::FetchGamesArgs;
use trainer::gauge::{GaugeArgs, HeatmapArgs};
use trainer::learn::{LrFinderArgs, OverfitArgs, PlotArgs, TrainArgs};
use trainer::selfplay::SelfPlayArgs;

/// Philidor's trainer: from games to networks.
#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    FetchGames(FetchGamesArgs),
    Import(ImportArgs),
    Mine(MineArgs),
    Annotate(AnnotateArgs),
    SelfPlay(SelfPlayArgs),
    Arena(ArenaArgs),
    Inspect(InspectArgs),
    ExportPgn(ExportPgnArgs),
    Overfit(OverfitArgs),
    LrFinder(LrFinderArgs),
    Train(TrainArgs),
    Plot(PlotArgs),
    Export(ExportArgs),
    Verify(VerifyArgs),
    ConvertLc0(ConvertLc0Args),
    Quantise(QuantiseArgs),
    Gauge(GaugeArgs),
    Heatmap(HeatmapArgs),
    Learn(LearnArgs),
}

fn main() -> ExitCode {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("info")).init();
    let done = match Cli::parse().command {
        Command::FetchGames(args) => args.run(),
        Command::Import(args) => args.run(),
        Command::Mine(args) => args.run(),
        Command::Annotate(args) => args.run(),
        Command::SelfPlay(args) => args.run(),
        Command::Arena(args) => args.run(),
        Command::Inspect(args) => args.run(),
        Command::ExportPgn(args) => args.run(),
        Command::Overfit(args) => args.run(),
        Command::LrFinder(args) => args.run(),
        Command::Train(args) => args.run(),
        Command::Plot(args) => args.run(),
        Command::Export(args) => args.run(),
        Command::Verify(args) => args.run(),
        Command::ConvertLc0(args) => args.run(),
        Command::Quantise(args) => args.run(),
        Command::Gauge(args) => args.run(),
        Command::Heatmap(args) => args.run(),
        Command::Learn(args) => args.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
