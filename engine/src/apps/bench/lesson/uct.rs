//! UCT with random games.

use std::io::{self, Write};
use std::num::NonZeroU64;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use shakmaty::Color;

use super::{LessonConfig, LessonError, notebook};
use crate::base::progress::Progress;
use crate::chess::position::Game;
use crate::search::players::{Player, PlayerTask, UctParams};
use crate::search::{EndReason, Limits, MoveStats, SearchControl, SearchObserver, SearchOutcome, SearchView};

pub fn print(
    game: &Game,
    config: &LessonConfig,
    is_notebooks: bool,
    stop: &AtomicBool,
    out: &mut (impl Write + Send),
) -> Result<(), LessonError> {
    let task = PlayerTask {
        game: game.clone(),
        limits: Limits { visits: Some(config.games), ..Limits::default() },
        lines: 1,
        memory: 64 << 20,
        uct: UctParams { games_per_round: NonZeroU64::MIN, ..UctParams::default() },
        seed: notebook::UCT_SEED,
    };
    let turn = game.turn();
    let progress = Progress::new(config.games, "UCT");
    let mut shown = ShownGames { config, turn, progress, out, written: Ok(()) };
    let start = Instant::now();
    let outcome = Player::Uct.think(&task, &mut shown, stop);
    let seconds = start.elapsed().as_secs_f64();
    let ShownGames { progress, out, written, .. } = shown;
    drop(progress);
    written?;
    let interrupted = outcome.end_reason == EndReason::Stopped;
    let of = if interrupted { format!(" of {}", config.games) } else { String::new() };
    writeln!(
        out,
        "UCT: {}{of} random games in {seconds:.1} s; M is the sum of White's payouts, V the visits.\n",
        outcome.report.visits
    )?;
    let moves = counts(&outcome.stats, turn);
    if is_notebooks && !interrupted {
        print_beside_notebook(&moves, out)?;
    } else {
        print_table(&moves, out)?;
    }
    print_best(&moves, turn, out)?;
    if interrupted { Err(LessonError::Interrupted) } else { Ok(()) }
}

/// Prints the moves after every so many games.
struct ShownGames<'a, W> {
    config: &'a LessonConfig,
    turn: Color,
    progress: Progress,
    out: &'a mut W,
    written: io::Result<()>,
}

impl<W: Write + Send> SearchObserver for ShownGames<'_, W> {
    fn round(&mut self, view: &dyn SearchView) -> SearchControl {
        let games = view.visits();
        self.progress.reach(games);
        if games < self.config.games && self.config.every.is_some_and(|every| games.is_multiple_of(every)) {
            let moves = counts(&view.shown_stats(), self.turn);
            self.written = self.progress.suspend(|| {
                writeln!(self.out, "After {games} of {} games:\n", self.config.games)?;
                print_table(&moves, self.out)?;
                writeln!(self.out)
            });
        }
        match self.written {
            Ok(()) => SearchControl::Continue { expected_visits: None },
            Err(_) => SearchControl::Stop,
        }
    }

    fn done(&mut self, _: SearchOutcome) {}
}

struct Count {
    m: String,
    /// Sum of White's payouts: 1 for a win, ½ for a draw.
    payout: f64,
    visits: u64,
}

impl Count {
    fn mean(&self) -> f64 {
        self.payout / self.visits.max(1) as f64
    }

    fn root(moves: &[Count]) -> Count {
        Count {
            m: "root".to_owned(),
            payout: moves.iter().map(|count| count.payout).sum(),
            visits: moves.iter().map(|count| count.visits).sum(),
        }
    }
}

/// Most visited first; moves without a game are left out.
fn counts(stats: &[MoveStats], turn: Color) -> Vec<Count> {
    let visited = stats.iter().filter(|stats| stats.visits > 0);
    let count = |stats: &MoveStats| {
        let wdl = if turn.is_white() { stats.wdl } else { stats.wdl.flipped() };
        let payout = stats.visits as f64 * f64::from(wdl.win + wdl.draw / 2.0);
        Count { m: Game::uci(stats.m, false), payout, visits: stats.visits }
    };
    visited.map(count).collect()
}

fn print_table(moves: &[Count], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "| move | M | V | M/V |\n|---|--:|--:|--:|")?;
    let root = Count::root(moves);
    for count in [&root].into_iter().chain(moves) {
        writeln!(out, "| {} | {:.1} | {} | {:.3} |", count.m, count.payout, count.visits, count.mean())?;
    }
    Ok(())
}

/// Of several moves with the same mean, the one with the most games.
fn best(moves: &[Count], turn: Color) -> Option<&Count> {
    let for_mover = |count: &Count| if turn.is_white() { count.mean() } else { -count.mean() };
    moves.iter().max_by(|a, b| for_mover(a).total_cmp(&for_mover(b)).then(a.visits.cmp(&b.visits)))
}

fn print_best(moves: &[Count], turn: Color, out: &mut impl Write) -> io::Result<()> {
    best(moves, turn).map_or(Ok(()), |best| {
        writeln!(out, "\nThe best move by its mean payout is {}, with {:.3} for White.", best.m, best.mean())
    })
}

fn print_beside_notebook(moves: &[Count], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "| move | notebook: M | V | M/V | here: M | V | M/V |")?;
    writeln!(out, "|---|--:|--:|--:|--:|--:|--:|")?;
    let unvisited = Count { m: String::new(), payout: 0.0, visits: 0 };
    let mut row = |name: &str, (m, v): (f64, u64), here: &Count| {
        let [mean, ours] = [m / v as f64, here.mean()];
        writeln!(
            out,
            "| {name} | {m:.1} | {v} | {mean:.3} | {:.1} | {} | {ours:.3} |",
            here.payout, here.visits
        )
    };
    row("root", notebook::ROOT, &Count::root(moves))?;
    for (name, m, v) in notebook::MOVES {
        row(name, (m, v), moves.iter().find(|count| count.m == name).unwrap_or(&unvisited))?;
    }
    writeln!(
        out,
        "\nAnother generator or seed plays other random games, so a move's M and V differ. The notebook lets Black too \
         choose the moves that are good for White; here each side chooses its own."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_moves_with_the_same_mean_the_most_visited_is_best() {
        let count = |m: &str, payout, visits| Count { m: m.to_owned(), payout, visits };
        let moves = [count("a", 1.0, 5), count("b", 3.0, 4), count("c", 1.5, 2), count("d", 0.2, 1)];
        let best = |moves: &[Count], turn| best(moves, turn).map(|count| count.m.clone());
        assert_eq!(best(&moves, Color::White).as_deref(), Some("b"), "b and c have 0.75");
        assert_eq!(best(&moves, Color::Black).as_deref(), Some("a"), "a and d have 0.2");
        assert_eq!(best(&[], Color::White), None);
    }
}
