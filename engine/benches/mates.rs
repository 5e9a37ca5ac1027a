//! Mates found per time on one core: `cargo bench -p engine --bench mates -- [SUITE.tsv …]`.
//! A suite has columns `fen` and `dm` (moves to mate); the default is the sample of the tests. Times are of the
//! processor, so that other programs disturb little.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use engine::chess::mates::{MateLimits, MateResult, MateSearch};
use engine::chess::position::Game;

const TABLE: usize = 16 << 20;
const LIMITS: [u64; 4] = [1, 10, 50, 100];

/// The thread's processor time or, where the system does not report it, the time since `clock`.
fn on_processor(clock: Instant) -> Duration {
    // The kernel updates the count when a thread yields.
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|nanos| nanos.parse().ok());
    nanos.map_or_else(|| clock.elapsed(), Duration::from_nanos)
}

/// Positions with their moves to mate.
fn read(path: &Path) -> Result<Vec<(Game, usize)>, Box<dyn Error>> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut lines = text.lines().filter(|line| !line.starts_with('#')).peekable();
    let header: Vec<&str> = lines.peek().ok_or("an empty suite")?.split('\t').collect();
    let place = |name| header.iter().position(|column| *column == name);
    let (fen, dm) = match (place("fen"), place("dm")) {
        (Some(fen), Some(dm)) => {
            lines.next();
            (fen, dm)
        }
        _ => (2, 3),
    };
    lines
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            Ok((Game::from_fen(columns[fen])?, columns[dm].parse()?))
        })
        .collect()
}

fn table(path: &Path) -> Result<(), Box<dyn Error>> {
    let positions = read(path)?;
    let mut search = MateSearch::new(TABLE);
    let mut all = [0; 32];
    let mut solved = [[0; LIMITS.len()]; 32];
    let (mut nodes, mut time) = (0, Duration::ZERO);
    for (game, moves) in &positions {
        search.clear();
        let clock = Instant::now();
        let start = on_processor(clock);
        let end = start + Duration::from_millis(LIMITS[LIMITS.len() - 1]);
        let limits = MateLimits { shorten: false, ..MateLimits::default() };
        // `on_processor` yields to other programs, so only every 64th call looks at the clock.
        let mut looks = 0;
        let result = search.search(game, limits, &mut || {
            looks += 1;
            looks % 64 == 0 && on_processor(clock) >= end
        });
        let spent = on_processor(clock) - start;
        nodes += search.nodes();
        time += spent;
        all[*moves] += 1;
        if matches!(result, MateResult::Mate(_)) {
            for (solved, limit) in solved[*moves].iter_mut().zip(LIMITS) {
                *solved += u32::from(spent <= Duration::from_millis(limit));
            }
        }
    }
    println!("{}: {:.2} million nodes/s\n", path.display(), nodes as f64 / time.as_secs_f64() / 1e6);
    println!("| mate in | positions | {} |", LIMITS.map(|limit| format!("{limit} ms")).join(" | "));
    println!("|---|---|{}", "---|".repeat(LIMITS.len()));
    for (moves, positions) in all.into_iter().enumerate().filter(|(_, positions)| *positions > 0) {
        println!("| {moves} | {positions} | {} |", solved[moves].map(|count| count.to_string()).join(" | "));
    }
    println!();
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds `--bench`.
    let mut paths: Vec<PathBuf> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").map(PathBuf::from).collect();
    if paths.is_empty() {
        paths.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/mates.tsv"));
    }
    paths.iter().try_for_each(|path| table(path))
}
