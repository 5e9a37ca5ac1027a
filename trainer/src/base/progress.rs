//! Progress on stderr: a bar on a terminal, else a line every ten seconds. Work in progress counts.

use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressState, ProgressStyle};

/// Interval of lines where stderr is no terminal.
const SAY_EVERY: Duration = Duration::from_secs(9);
/// Plies of a game, as long as too few are finished to say.
const USUAL_PLIES: f64 = 100.0;
/// As soon as this many games are finished they alone tell how long the others take.
const ENOUGH_GAMES: u64 = 20;

/// Plies that this process has played or labelled, also in games that are not finished.
static PLIES: AtomicU64 = AtomicU64::new(0);

/// Counts a ply of a game that this process plays or labels.
pub fn count_ply() {
    PLIES.fetch_add(1, Ordering::Relaxed);
}

/// What bars count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Games, of which many run at once: plies show that they advance.
    Games,
    /// Positions that are labelled, those of unfinished games included.
    Plies,
    /// What is counted one by one.
    Positions,
}

/// A progress bar on stderr over `total`, starting at `done` from an earlier run.
pub fn progress(total: u64, done: u64, counted: Counted) -> ProgressBar {
    let bar = ProgressBar::new(total);
    bar.set_position(done);
    let plies = PLIES.load(Ordering::Relaxed);
    let status = move |position: u64, elapsed: Duration| {
        let plies = PLIES.load(Ordering::Relaxed) - plies;
        Status { counted, total, first: done, position, plies, elapsed }
    };
    let style = ProgressStyle::with_template("{bar:24} {status}, {msg}").expect("a valid template");
    bar.set_style(style.with_key("status", move |state: &ProgressState, text: &mut dyn Write| {
        _ = write!(text, "{}", status(state.pos(), state.elapsed()).text());
    }));
    say_regularly(&bar, move |bar| status(bar.position(), bar.elapsed()).text());
    bar
}

/// Prints `text` and the bar's message every ten seconds until the bar is finished, if stderr is no terminal.
pub fn say_regularly(bar: &ProgressBar, text: impl Fn(&ProgressBar) -> String + Send + 'static) {
    if std::io::stderr().is_terminal() {
        bar.enable_steady_tick(Duration::from_millis(500));
        return;
    }
    let bar = bar.downgrade();
    thread::spawn(move || {
        loop {
            thread::sleep(SAY_EVERY);
            let Some(bar) = bar.upgrade().filter(|bar| !bar.is_finished()) else { return };
            let message = bar.message();
            let comma = if message.is_empty() { "" } else { ", " };
            eprintln!("{}{comma}{message}", text(&bar));
        }
    });
}

/// The time left for the rest of a bar at its rate so far.
pub fn time_left(bar: &ProgressBar) -> String {
    let (total, position) = (bar.length().unwrap_or(0), bar.position());
    let status =
        Status { counted: Counted::Positions, total, first: 0, position, plies: 0, elapsed: bar.elapsed() };
    left_text(status.left())
}

fn left_text(left: Option<Duration>) -> String {
    left.map_or_else(|| "time left not known yet".to_owned(), |left| format!("{} left", HumanDuration(left)))
}

/// How far the work is.
struct Status {
    counted: Counted,
    total: u64,
    /// Done by an earlier run.
    first: u64,
    /// Done and finished.
    position: u64,
    /// Plies since the start, those of unfinished games included.
    plies: u64,
    elapsed: Duration,
}

impl Status {
    fn text(&self) -> String {
        let seconds = self.elapsed.as_secs_f64().max(1e-3);
        let (done, total) = (HumanCount(self.position()), HumanCount(self.total));
        let left = left_text(self.left());
        match self.counted {
            Counted::Games => {
                let rate = self.plies as f64 / seconds;
                let plies = HumanCount(self.plies);
                format!("{done}/{total} games finished, {plies} plies, {rate:.1} plies/s, {left}")
            }
            Counted::Plies | Counted::Positions => {
                let rate = self.position().saturating_sub(self.first) as f64 / seconds;
                format!("{done}/{total} positions, {rate:.1} positions/s, {left}")
            }
        }
    }

    /// Done, in the unit of `total`.
    fn position(&self) -> u64 {
        match self.counted {
            Counted::Plies => self.position.max(self.first + self.plies).min(self.total),
            Counted::Games | Counted::Positions => self.position,
        }
    }

    /// The time left at the rate so far; `None` before there is one.
    fn left(&self) -> Option<Duration> {
        let all = self.total.saturating_sub(self.first) as f64;
        let finished = self.position().saturating_sub(self.first) as f64;
        let done = match self.counted {
            Counted::Games if self.position < self.first + ENOUGH_GAMES => {
                // Games in progress are not over yet, however many plies they have.
                let begun = (self.plies as f64 / USUAL_PLIES).min(finished + 0.95 * (all - finished));
                finished.max(begun)
            }
            _ => finished,
        };
        let left = self.elapsed.as_secs_f64() * (all - done).max(0.0) / done;
        // Without plies it is infinite, and for no games not a number.
        Duration::try_from_secs_f64(left).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(counted: Counted, position: u64, plies: u64) -> Status {
        let elapsed = Duration::from_secs(10);
        Status { counted, total: 110, first: 10, position, plies, elapsed }
    }

    #[test]
    fn unfinished_games_count() {
        let text = |position, plies| status(Counted::Games, position, plies).text();
        assert_eq!(text(10, 0), "10/110 games finished, 0 plies, 0.0 plies/s, time left not known yet");
        assert_eq!(text(10, 500), "10/110 games finished, 500 plies, 50.0 plies/s, 3 minutes left");
        // Longer games than usual, none of them finished.
        assert!(text(10, 100_000).ends_with("1 second left"), "{}", text(10, 100_000));
        // Half are finished: as long again.
        assert!(text(60, 9000).ends_with("900.0 plies/s, 10 seconds left"), "{}", text(60, 9000));
    }

    #[test]
    fn labelled_positions_count_before_their_game_is_finished() {
        let text = |counted, position, plies| status(counted, position, plies).text();
        assert_eq!(text(Counted::Plies, 10, 20), "30/110 positions, 2.0 positions/s, 40 seconds left");
        assert_eq!(text(Counted::Plies, 60, 20), "60/110 positions, 5.0 positions/s, 10 seconds left");
        assert_eq!(text(Counted::Positions, 60, 7), "60/110 positions, 5.0 positions/s, 10 seconds left");
    }
}
