//! `philidor-studio`: the studio's command line.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{CommandFactory, Parser};
use studio::boards::Boards;
use studio::engines::{EngineSpec, Roster};
use studio::matches::{FollowedMatches, OpeningBook, start_matches};
use studio::play::Table;
use studio::reviews::ReviewDesk;
use studio::runs::{RunBoard, Trainers};
use studio::server::{Access, Rooms, Studio, router};
use tokio::net::TcpListener;

/// Play against Philidor and other UCI engines, watch matches and follow training runs, in a browser on this machine.
#[derive(Parser)]
#[command(
    name = "philidor-studio",
    version,
    after_help = "Example: philidor-studio --open --run runs/first --engine 'Stockfish=/usr/games/stockfish'"
)]
struct Arguments {
    /// Port of the server; 0 takes a free one
    #[arg(long, default_value_t = 8645)]
    port: u16,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    /// Listen at this address instead of loopback; whoever has the token may use the page
    #[arg(long, value_name = "ADDR", requires = "token")]
    listen: Option<IpAddr>,
    /// Token for --listen: at least 16 letters, digits, '-' or '_'
    #[arg(long, value_name = "T", requires = "listen", value_parser = token)]
    token: Option<String>,
    /// A UCI engine to play against; words after '--' are UCI options, as in 'NAME=CMD -- Hash=64' [repeatable]
    #[arg(long = "engine", value_name = "NAME=CMD…")]
    engines: Vec<EngineSpec>,
    /// The program `philidor` [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    philidor: Option<PathBuf>,
    /// The program `philidor-trainer`, to go on with paused runs [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    trainer: Option<PathBuf>,
    /// Openings for matches: a PGN, or FENs or EPDs, one a line [repeatable]
    #[arg(long = "openings", value_name = "FILE")]
    openings: Vec<PathBuf>,
    /// PGNs of matches to follow, that fastchess, cutechess or philidor-trainer write
    #[arg(long = "follow", value_name = "FILE", num_args = 1..)]
    follow: Vec<PathBuf>,
    /// Folders of training runs to follow
    #[arg(long = "run", value_name = "DIR", num_args = 1..)]
    runs: Vec<PathBuf>,
    /// Folder for the game and the match in progress [default: philidor-studio in $XDG_STATE_HOME or ~/.local/state]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Write a man page and completions for bash, zsh and fish into a folder, and end
    #[arg(long, value_name = "DIR", exclusive = true)]
    manual: Option<PathBuf>,
}

fn token(text: &str) -> Result<String, String> {
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    match text.len() >= 16 && is_plain {
        true => Ok(text.to_owned()),
        false => Err("a token has at least 16 letters, digits, '-' or '_'".to_owned()),
    }
}

fn main() -> ExitCode {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("warn")).init();
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = runtime.context("cannot start").and_then(|runtime| runtime.block_on(run(arguments)));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("philidor-studio: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<()> {
    if let Some(folder) = arguments.manual {
        return engine::apps::cli::manual::write(Arguments::command(), &folder)
            .with_context(|| format!("cannot write into {}", folder.display()));
    }
    let philidor = arguments.philidor.or_else(|| beside_us("philidor"));
    if philidor.is_none() && arguments.engines.is_empty() {
        bail!("there is no engine: build philidor beside this program, or name one with --engine NAME=CMD");
    }
    let roster = Roster::new(philidor.as_deref(), arguments.engines)?;
    let mut books = vec![OpeningBook::own()];
    for path in &arguments.openings {
        books.push(OpeningBook::read(path)?);
    }
    let address = arguments.listen.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let listener = TcpListener::bind((address, arguments.port)).await.with_context(|| {
        format!(
            "cannot listen at {address}:{0}: is the studio running already? Choose another --port",
            arguments.port
        )
    })?;
    let bound = listener.local_addr()?;
    // Two studios on two ports have two games.
    let folder = arguments.state.map_or_else(state_folder, Ok)?;
    let boards = Boards::default();
    let reviews = ReviewDesk::new(roster.engines().first().cloned());
    let state = folder.join(format!("match-{}.json", arguments.port));
    let matches = start_matches(roster.clone(), books, boards.clone(), state);
    let followed = FollowedMatches::start(arguments.follow, boards.clone());
    let table = Table::start(roster, folder.join(format!("game-{}.json", arguments.port)));
    let trainers = Trainers::new(arguments.trainer.or_else(|| beside_us("philidor-trainer")));
    let runs = RunBoard::start(arguments.runs, trainers, boards.clone());
    let rooms = Rooms { table, reviews, matches, followed, runs, boards };
    let query = arguments.token.as_ref().map(|token| format!("?token={token}")).unwrap_or_default();
    let url = format!("http://{bound}/{query}");
    println!("Philidor's studio is at {url} (Ctrl-C ends it)");
    if arguments.open {
        open(&url);
    }
    let access = Access { port: bound.port(), token: arguments.token };
    let app = router(Studio::new(rooms, access));
    tokio::select! {
        served = axum::serve(listener, app) => served.context("the server has ended"),
        () = ended() => Ok(()),
    }
}

/// A program in the folder of this one.
fn beside_us(name: &str) -> Option<PathBuf> {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::current_exe().ok()?.parent()?.join(name);
    path.exists().then_some(path)
}

fn state_folder() -> Result<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| Path::new(value).is_absolute()).map(PathBuf::from);
    let base = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")));
    Ok(base.context("there is no home folder: name a folder with --state")?.join("philidor-studio"))
}

fn open(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    if let Err(error) = tokio::process::Command::new(program).arg(url).spawn() {
        eprintln!("philidor-studio: cannot open a browser ({program}: {error}): open the address yourself");
    }
}

/// Waits for Ctrl-C or a request to end.
async fn ended() {
    let interrupted = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        let terminate = tokio::signal::unix::SignalKind::terminate();
        match tokio::signal::unix::signal(terminate) {
            Ok(mut terminated) => tokio::select! { _ = interrupted => (), _ = terminated.recv() => () },
            Err(_) => drop(interrupted.await),
        }
    }
    #[cfg(not(unix))]
    drop(interrupted.await);
}
