//! The binary `philidor-trainer`: one subcommand per step of the pipeline, in its order.

use clap::{Parser, Subcommand};

/// Philidor's trainer: from games to networks.
#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {}

fn main() -> std::process::ExitCode {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("info")).init();
    match Cli::parse().command {}
}
