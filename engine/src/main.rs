//! `philidor`: the engine.

use std::process::ExitCode;

use engine::apps::cli::{self, Arguments};
use engine::base::interrupt;
use engine::base::output::{CommandOutput, parse_arguments};

fn main() -> ExitCode {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("warn")).init();
    let mut out = CommandOutput::new(std::io::stdout());
    let result = cli::run(parse_arguments::<Arguments>(), &mut out);
    let done = result.is_ok() || out.is_closed();
    if let Err(error) = result
        && !done
    {
        eprintln!("philidor: {error}");
    }
    interrupt::exit_code(done)
}
