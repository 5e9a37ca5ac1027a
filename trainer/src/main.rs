//! The binary `philidor-trainer`: one subcommand per step of the pipeline, in its order.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use engine::apps::bench::version::VERSION;
use engine::base::output::parse_arguments;
use trainer::cli::{
    AnnotateArgs, ArenaArgs, BestArgs, CompareArgs, ConvertLc0Args, EvaluateArgs, ExportArgs, ExportPgnArgs,
    FetchGamesArgs, HeatmapArgs, ImportArgs, InspectArgs, KeysArgs, LrFinderArgs, MineArgs, OverfitArgs,
    PlotArgs, QuantiseArgs, RateArgs, RlArgs, SelfPlayArgs, TrainArgs, VerifyArgs, WorkArgs, exit_code,
};

/// Philidor's trainer: from games to networks.
#[derive(Parser)]
#[command(name = "philidor-trainer", version = VERSION, about)]
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
    Compare(CompareArgs),
    Rate(RateArgs),
    Inspect(InspectArgs),
    ExportPgn(ExportPgnArgs),
    Overfit(OverfitArgs),
    LrFinder(LrFinderArgs),
    Train(TrainArgs),
    Keys(KeysArgs),
    Plot(PlotArgs),
    Export(ExportArgs),
    Verify(VerifyArgs),
    ConvertLc0(ConvertLc0Args),
    Quantise(QuantiseArgs),
    #[command(alias = "gauge")]
    Evaluate(EvaluateArgs),
    Best(BestArgs),
    Heatmap(HeatmapArgs),
    #[command(alias = "learn")]
    Rl(RlArgs),
    Work(WorkArgs),
}

fn main() -> ExitCode {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("info")).init();
    let done = match parse_arguments::<Cli>().command {
        Command::FetchGames(args) => args.run(),
        Command::Import(args) => args.run(),
        Command::Mine(args) => args.run(),
        Command::Annotate(args) => args.run(),
        Command::SelfPlay(args) => args.run(),
        Command::Arena(args) => args.run(),
        Command::Compare(args) => args.run(),
        Command::Rate(args) => args.run(),
        Command::Inspect(args) => args.run(),
        Command::ExportPgn(args) => args.run(),
        Command::Overfit(args) => args.run(),
        Command::LrFinder(args) => args.run(),
        Command::Train(args) => args.run(),
        Command::Keys(args) => args.run(),
        Command::Plot(args) => args.run(),
        Command::Export(args) => args.run(),
        Command::Verify(args) => args.run(),
        Command::ConvertLc0(args) => args.run(),
        Command::Quantise(args) => args.run(),
        Command::Evaluate(args) => args.run(),
        Command::Best(args) => args.run(),
        Command::Heatmap(args) => args.run(),
        Command::Rl(args) => args.run(),
        Command::Work(args) => args.run(),
    };
    if let Err(error) = &done {
        eprintln!("{error:#}");
    }
    exit_code(&done)
}
