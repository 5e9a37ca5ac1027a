use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{CommandFactory, Parser};
use engine::apps::bench::version::VERSION;
use engine::base::output::parse_arguments;
use engine::chess::book::Book;
use engine::chess::tables::{ProbeRules, Tables};
use studio::boards::Boards;
use studio::engines::{EngineSpec, Roster};
use studio::explorer::Explorer;
use studio::matches::{FollowedMatches, OpeningBook, start_matches};
use studio::play::{Library, OpenBoards};
use studio::puzzles::{PuzzleDesk, PuzzleTable};
use studio::reviews::ReviewDesk;
use studio::runs::{RunBoard, RunFolders, Trainers, networks_in};
use studio::server::{Access, PublicOrigin, Rooms, Studio, router};
use tokio::net::TcpListener;

/// In bytes: a file of puzzles that takes seconds to read.
const LARGE_PUZZLES: u64 = 32 << 20;

/// Play against Philidor and other UCI engines, watch matches and follow training runs, in a browser on this machine.
#[derive(Parser)]
#[command(
    name = "philidor-studio",
    version = VERSION,
    after_help = "Example: philidor-studio --open --run runs/first --engine 'Stockfish=/usr/games/stockfish'"
)]
struct Arguments {
    /// Port of the server; 0 chooses a free one
    #[arg(long, default_value_t = 8645)]
    port: u16,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    /// Listen at this address instead of loopback; the token gives access to the page
    #[arg(long, value_name = "ADDR", requires = "token")]
    listen: Option<IpAddr>,
    /// Token for --listen: at least 16 letters, digits, '-' or '_'
    #[arg(long, value_name = "T", requires = "listen", value_parser = token)]
    token: Option<String>,
    /// Scheme and host under which a proxy serves the page, such as https://chess.example
    #[arg(long, value_name = "ORIGIN")]
    public_origin: Option<PublicOrigin>,
    /// A UCI engine to play against; words after '--' are UCI options, as in 'NAME=CMD -- Hash=64' [repeatable]
    #[arg(long = "engine", value_name = "NAME=CMD…")]
    engines: Vec<EngineSpec>,
    /// The program `philidor` [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    philidor: Option<PathBuf>,
    /// The program `philidor-trainer`, to resume paused runs [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    trainer: Option<PathBuf>,
    /// Openings for matches: a PGN, or a file with one FEN or EPD per line [repeatable]
    #[arg(long = "openings", value_name = "FILE")]
    openings: Vec<PathBuf>,
    /// Folders of Syzygy tables for the verdicts of moves, separated by ':' or ';'; three and four men are built in
    #[arg(long, value_name = "DIR")]
    syzygy: Option<String>,
    /// Opening book in Polyglot format, for the explorer
    #[arg(long, value_name = "FILE")]
    book: Option<PathBuf>,
    /// Puzzles: Lichess's CSV, or a table with the columns fen and moves; also packed (.zst)
    #[arg(long, value_name = "FILE")]
    puzzles: Option<PathBuf>,
    /// PGNs of matches to follow, written by fastchess, cutechess or philidor-trainer
    #[arg(long = "follow", value_name = "FILE", num_args = 1..)]
    follow: Vec<PathBuf>,
    /// Folders of training runs to follow
    #[arg(long = "run", value_name = "DIR", num_args = 1..)]
    runs: Vec<PathBuf>,
    /// Folder in which the page starts training runs; those in it are followed
    #[arg(long = "runs", value_name = "DIR")]
    run_folder: Option<PathBuf>,
    /// Folder of networks to choose among, as engines and in training
    #[arg(long, value_name = "DIR")]
    nets: Option<PathBuf>,
    /// Folder for games and matches [default: philidor-studio in $XDG_STATE_HOME or
    /// ~/.local/state]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Write a man page and completions for bash, zsh and fish into a folder, and exit
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
    let arguments = parse_arguments();
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
    let networks = arguments.nets.as_deref().map(networks_in).unwrap_or_default();
    let mut engines = arguments.engines;
    if let Some(program) = &philidor {
        engines.extend(networks.iter().filter_map(|network| EngineSpec::of_network(program, network)));
    }
    let roster = Roster::new(philidor.as_deref(), engines)?;
    let mut books = vec![OpeningBook::own()];
    for path in &arguments.openings {
        books.push(OpeningBook::read(path)?);
    }
    let rules = ProbeRules::default();
    let tables = match &arguments.syzygy {
        Some(folders) => Tables::open_beside_builtin(folders, rules)?,
        None => Tables::builtin(rules),
    };
    let address = arguments.listen.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let listener = TcpListener::bind((address, arguments.port)).await.with_context(|| {
        format!(
            "cannot listen at {address}:{0}: is the studio running already? Choose another --port",
            arguments.port
        )
    })?;
    let bound = listener.local_addr()?;
    // Two studios on two ports have separate games and matches.
    let folder = arguments.state.map_or_else(state_folder, Ok)?;
    let boards = Boards::default();
    let library = Library::new(folder.join("games"));
    let reviews = ReviewDesk::new(roster.engines().first().cloned()).keeping(library.clone());
    let kept = folder.join(format!("puzzles-{}.csv", arguments.port));
    let puzzles = PuzzleDesk::new(roster.engines().first().cloned(), reviews.clone(), kept);
    match &arguments.puzzles {
        Some(path) => puzzles.load(read_puzzles(path, &folder)?),
        None => restore(&puzzles),
    }
    let state = folder.join(format!("match-{}.json", arguments.port));
    let matches = start_matches(roster.clone(), books, boards.clone(), state);
    let followed = FollowedMatches::start(arguments.follow, boards.clone());
    let state = folder.join(format!("boards-{}", arguments.port));
    adopt(&folder.join(format!("game-{}.json", arguments.port)), &state);
    let play = OpenBoards::start(roster, state, library.clone(), boards.clone());
    let book = arguments.book.as_deref().map(Book::open).transpose()?;
    let explorer = Explorer::new(library, book);
    let trainers = Trainers::new(arguments.trainer.or_else(|| beside_us("philidor-trainer")));
    let folders = RunFolders { runs: arguments.runs, all: arguments.run_folder, networks: arguments.nets };
    let runs = RunBoard::start(folders, trainers, boards.clone());
    let rooms = Rooms { play, reviews, matches, followed, runs, boards, tables, puzzles, explorer };
    let query = arguments.token.as_ref().map(|token| format!("?token={token}")).unwrap_or_default();
    let mut urls: Vec<String> =
        reachable(bound).into_iter().map(|address| format!("http://{address}/{query}")).collect();
    let local = urls[0].clone();
    if let Some(public) = &arguments.public_origin {
        urls.insert(0, format!("{public}/{query}"));
    }
    println!("Philidor's studio is at {} (Ctrl-C ends it)", urls.join(" and at "));
    if arguments.open {
        open(&local);
    }
    let access = Access { port: bound.port(), token: arguments.token, public: arguments.public_origin };
    let app = router(Studio::new(rooms, access));
    tokio::select! {
        served = axum::serve(listener, app) => served.context("the server has ended"),
        () = ended() => Ok(()),
    }
}

/// Makes the game of a studio that had only one board the first of the boards, if there are none yet.
fn adopt(game: &Path, boards: &Path) {
    if boards.exists() || !game.exists() {
        return;
    }
    let moved = std::fs::create_dir_all(boards).and_then(|()| std::fs::rename(game, boards.join("1.json")));
    if let Err(error) = moved {
        let _ = std::fs::remove_dir(boards);
        eprintln!("philidor-studio: the earlier game {} stays aside: {error}", game.display());
    }
}

fn read_puzzles(path: &Path, folder: &Path) -> Result<PuzzleTable> {
    let file = File::open(path).with_context(|| format!("cannot read the puzzles {}", path.display()))?;
    if file.metadata().is_ok_and(|about| about.len() > LARGE_PUZZLES) {
        eprintln!("philidor-studio: reading the puzzles {} …", path.display());
    }
    let mut table = PuzzleTable::open(&path.display().to_string(), file, folder)?;
    // The page need not know the folder.
    if let Some(name) = path.file_name() {
        table.name = name.to_string_lossy().into_owned();
    }
    Ok(table)
}

/// Reads the puzzles of an earlier studio; a large file while the page is served.
fn restore(puzzles: &PuzzleDesk) {
    let again = |puzzles: &PuzzleDesk| {
        if let Err(error) = puzzles.restore() {
            eprintln!("philidor-studio: the puzzles that were loaded last cannot be read again: {error}");
        }
    };
    if puzzles.kept_size() <= LARGE_PUZZLES {
        return again(puzzles);
    }
    // The end of the studio does not wait for a thread.
    let puzzles = puzzles.clone();
    std::thread::spawn(move || again(&puzzles));
}

/// Addresses for a browser. For `0.0.0.0` and `::`, these are loopback and the address by which this machine reaches
/// others.
fn reachable(bound: SocketAddr) -> Vec<SocketAddr> {
    if !bound.ip().is_unspecified() {
        return vec![bound];
    }
    let loopback: IpAddr = match bound {
        SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    // Connecting a UDP socket sends nothing; these addresses are reserved for documentation.
    let outward = |from: &str, to: &str| {
        let socket = UdpSocket::bind(from).ok()?;
        socket.connect(to).ok()?;
        Some(socket.local_addr().ok()?.ip()).filter(|ip| !ip.is_loopback() && !ip.is_unspecified())
    };
    let by_v4 = outward("0.0.0.0:0", "192.0.2.1:9");
    let by_v6 = bound.is_ipv6().then(|| outward("[::]:0", "[2001:db8::1]:9")).flatten();
    let all = [Some(loopback), by_v4, by_v6];
    all.into_iter().flatten().map(|ip| SocketAddr::new(ip, bound.port())).collect()
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_game_of_an_earlier_studio_becomes_the_first_board_once() {
        let folder = tempfile::tempdir().unwrap();
        let (game, boards) = (folder.path().join("game-1.json"), folder.path().join("boards-1"));
        adopt(&game, &boards);
        assert!(!boards.exists());
        std::fs::write(&game, "first").unwrap();
        adopt(&game, &boards);
        assert_eq!(std::fs::read_to_string(boards.join("1.json")).unwrap(), "first");
        std::fs::write(&game, "second").unwrap();
        adopt(&game, &boards);
        assert_eq!(std::fs::read_to_string(boards.join("1.json")).unwrap(), "first");
    }

    #[test]
    fn the_printed_links_can_be_opened() {
        let one: SocketAddr = "192.168.0.7:8645".parse().unwrap();
        assert_eq!(reachable(one), [one]);
        for (all, loopback) in [("0.0.0.0:8645", "127.0.0.1:8645"), ("[::]:8645", "[::1]:8645")] {
            let links = reachable(all.parse().unwrap());
            assert_eq!(links[0], loopback.parse().unwrap());
            assert!(links.iter().all(|link| !link.ip().is_unspecified() && link.port() == 8645), "{links:?}");
        }
    }
}
