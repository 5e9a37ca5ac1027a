//! Minimax and alpha-beta to a depth.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{HumanCount, HumanDuration};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use shakmaty::{Chess, Move, Position};

use super::{LessonError, notebook, plain};
use crate::base::progress::Progress;
use crate::chess::position::Game;
use crate::search::players::{FullWidthMethod, full_width};
use crate::search::{SearchControl, SearchObserver, SearchOutcome, SearchView};

/// Paths from which the number of moves is estimated.
const PATHS: u32 = 300;
/// A search this shallow takes milliseconds.
const PROBED_DEPTH: u32 = 3;
/// From here on the estimate is told.
const LONG: Duration = Duration::from_secs(10);

struct Found {
    best: Option<Move>,
    /// For White.
    value: i32,
    /// Moves made below the root.
    made: u64,
}

pub fn print(
    game: &Game,
    depth: u32,
    is_notebooks: bool,
    stop: &AtomicBool,
    out: &mut impl Write,
) -> Result<(), LessonError> {
    let [columns, lines] = match is_notebooks {
        true => ["notebook: moves made | time | here: moves made", "--:|--:|--:"],
        false => ["moves made", "--:"],
    };
    writeln!(out, "| depth {depth} | {columns} | time | best | value |\n|---|{lines}|--:|---|--:|")?;
    let expected = expected_moves(game.position(), depth);
    tell_if_long(game, depth, expected, stop);
    let ours = |method, progress: Progress| {
        let position: fn(&dyn SearchView) -> u64 = match method {
            FullWidthMethod::Minimax => |view| view.visits(),
            FullWidthMethod::AlphaBeta => searched_roots,
        };
        let found = full_width(method, game, depth, &mut Shown { progress, position }, stop)?;
        let (best, value) = *found.values.first()?;
        let value = if game.turn().is_white() { value } else { -value };
        Some(Found { best: Some(best), value, made: found.nodes })
    };
    let roots = game.legal_moves().len() as u64;
    let by_roots = || Progress::new(roots, "alpha-beta");
    let minimax = || ours(FullWidthMethod::Minimax, Progress::new(expected as u64, "minimax"));
    let plain = || {
        let mut progress = by_roots();
        let mut goes_on = |searched: usize| {
            progress.reach(searched as u64);
            !stop.load(Ordering::Relaxed)
        };
        let found = plain::search(game.position(), depth, &mut goes_on)?;
        Some(Found { best: found.best, value: found.value, made: found.tried })
    };
    let alpha_beta = || ours(FullWidthMethod::AlphaBeta, by_roots());
    let rows: [(&str, &str, &dyn Fn() -> _); 3] = [
        ("minimax", notebook::MINIMAX, &minimax),
        ("alpha-beta, plain", notebook::ALPHA_BETA, &plain),
        ("alpha-beta", " | ", &alpha_beta),
    ];
    for (name, notebook, search) in rows {
        let start = Instant::now();
        let Found { best, value, made } = search().ok_or(LessonError::Interrupted)?;
        let ms = start.elapsed().as_secs_f64() * 1000.0;
        let notebook = if is_notebooks { format!("{notebook} | ") } else { String::new() };
        let best = best.map_or("none".to_owned(), |best| Game::uci(best, false));
        writeln!(out, "| {name} | {notebook}{made} | {ms:.1} ms | {best} | {value} |")?;
    }
    Ok(())
}

/// Moves that minimax makes below the root, estimated from random paths (Knuth: Estimating the Efficiency of Backtrack
/// Programs, 1975).
fn expected_moves(root: &Chess, depth: u32) -> f64 {
    let mut rng = SmallRng::seed_from_u64(1);
    let mut sum = 0.0;
    for _ in 0..PATHS {
        let mut position = root.clone();
        let mut paths = 1.0;
        for ply in 0..depth {
            let legal = position.legal_moves();
            if legal.is_empty() {
                break;
            }
            paths *= legal.len() as f64;
            if ply > 0 {
                sum += paths;
            }
            position.play_unchecked(legal[rng.random_range(..legal.len())]);
        }
    }
    sum / f64::from(PATHS)
}

fn tell_if_long(game: &Game, depth: u32, expected: f64, stop: &AtomicBool) {
    if depth <= PROBED_DEPTH {
        return;
    }
    let start = Instant::now();
    let Some(probed) = full_width(FullWidthMethod::Minimax, game, PROBED_DEPTH, &mut (), stop) else {
        return;
    };
    let seconds = start.elapsed().as_secs_f64() * expected / probed.nodes.max(1) as f64;
    let time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    if time >= LONG {
        let digits = 10_f64.powf(expected.log10().floor() - 1.0);
        let about = HumanCount(((expected / digits).round() * digits) as u64);
        eprintln!(
            "minimax to depth {depth} makes about {about} moves, which takes about {} here; Ctrl-C ends it",
            HumanDuration(time)
        );
    }
}

fn searched_roots(view: &dyn SearchView) -> u64 {
    view.shown_stats().iter().filter(|stats| stats.visits > 0).count() as u64
}

struct Shown {
    progress: Progress,
    position: fn(&dyn SearchView) -> u64,
}

impl SearchObserver for Shown {
    fn round(&mut self, view: &dyn SearchView) -> SearchControl {
        self.progress.reach((self.position)(view));
        SearchControl::Continue { expected_visits: None }
    }

    fn done(&mut self, _: SearchOutcome) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_moves_is_estimated() {
        let game = Game::from_fen(notebook::FEN).unwrap();
        let expected = expected_moves(game.position(), notebook::DEPTH);
        assert!((expected / 1_337_211.0 - 1.0).abs() < 0.1, "{expected}");
        // 48 moves at the root, then 2,039 and 97,862 paths.
        let game = Game::from_fen(crate::apps::bench::POSITIONS[1]).unwrap();
        let expected = expected_moves(game.position(), 3);
        assert!((expected / 99_901.0 - 1.0).abs() < 0.1, "{expected}");
        assert_eq!(expected_moves(game.position(), 1), 0.0);
    }
}
