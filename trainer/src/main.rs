//! The binary `philidor-trainer`: one subcommand per step of the pipeline, in its order.

use std::fmt::Display;
use std::process::ExitCode;

use anyhow::anyhow;
use clap::{Parser, Subcommand};
use trainer::cli::{
    AnnotateArgs, ArenaArgs, ConvertLc0Args, EvaluateArgs, ExportArgs, ExportPgnArgs, FetchGamesArgs,
    HeatmapArgs, ImportArgs, InspectArgs, LrFinderArgs, MineArgs, OverfitArgs, PlotArgs, QuantiseArgs,
    RlArgs, SelfPlayArgs, TrainArgs, VerifyArgs,
};

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
    #[command(alias = "gauge")]
    Evaluate(EvaluateArgs),
    Heatmap(HeatmapArgs),
    #[command(alias = "learn")]
    Rl(RlArgs),
}

fn main() -> ExitCode {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("info")).init();
    let done = match Cli::parse().command {
        Command::FetchGames(args) => report(args.run()),
        Command::Import(args) => report(args.run()),
        Command::Mine(args) => report(args.run()),
        Command::Annotate(args) => report(args.run()),
        Command::SelfPlay(args) => report(args.run()),
        Command::Arena(args) => report(args.run()),
        Command::Inspect(args) => report(args.run()),
        Command::ExportPgn(args) => report(args.run()),
        Command::Overfit(args) => report(args.run()),
        Command::LrFinder(args) => report(args.run()),
        Command::Train(args) => report(args.run()),
        Command::Plot(args) => report(args.run()),
        Command::Export(args) => report(args.run()),
        Command::Verify(args) => report(args.run()),
        Command::ConvertLc0(args) => report(args.run()),
        Command::Quantise(args) => report(args.run()),
        Command::Evaluate(args) => report(args.run()),
        Command::Heatmap(args) => report(args.run()),
        Command::Rl(args) => report(args.run()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// A command's result, whatever its error is.
fn report<E: Display>(done: Result<(), E>) -> anyhow::Result<()> {
    done.map_err(|error| anyhow!("{error:#}"))
}
