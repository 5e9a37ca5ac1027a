//! `philidor`: the engine.

use std::process::ExitCode;

use clap::Parser;
use engine::apps::cli::{self, Arguments};

fn main() -> ExitCode {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("warn")).init();
    match cli::run(Arguments::parse(), &mut std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("philidor: {error}");
            ExitCode::FAILURE
        }
    }
}
