//! Progress on stderr: a bar on a terminal, otherwise a line every ten seconds.

use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use engine::base::words::counted;
use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressState, ProgressStyle};

/// Below ten seconds, because a line may be late.
const SAY_EVERY: Duration = Duration::from_secs(9);
/// Assumed plies per game until [`ENOUGH_GAMES`] are finished.
const USUAL_PLIES: f64 = 100.0;
/// From this many on, only finished games determine the time left.
const ENOUGH_GAMES: u64 = 20;

/// Plies that this process played or labelled, also in unfinished games.
static PLIES: AtomicU64 = AtomicU64::new(0);

/// When the command ends, done or not.
static END: OnceLock<Instant> = OnceLock::new();

/// From now on no time left is longer than that to `end`.
pub fn end_at(end: Instant) {
    _ = END.set(end);
}

/// `left`, or the time to the [end](end_at) of the command if that is sooner.
pub fn until_end(left: Duration) -> Duration {
    sooner(Some(left), to_end()).unwrap_or(left)
}

fn to_end() -> Option<Duration> {
    END.get().map(|end| end.saturating_duration_since(Instant::now()))
}

fn sooner(left: Option<Duration>, to_end: Option<Duration>) -> Option<Duration> {
    left.into_iter().chain(to_end).min()
}

/// `games` were finished in `time`.
pub fn games_per_hour(games: u64, time: Duration) -> String {
    match games {
        0 => "games/h not known yet".to_owned(),
        _ => format!("{} games/h", HumanCount((games as f64 * 3600.0 / time.as_secs_f64().max(1e-3)) as u64)),
    }
}

pub fn count_ply() {
    PLIES.fetch_add(1, Ordering::Relaxed);
}

/// Unit of a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Finished games. Many run at once, so the bar also shows plies.
    Games,
    /// Labelled positions, including those of unfinished games.
    Plies,
    /// Positions that finish one by one.
    Positions,
}

/// An earlier run did `done` of `total`.
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

/// Without a terminal, prints `text` and the bar's message every ten seconds until the bar is finished.
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

pub fn time_left(bar: &ProgressBar) -> String {
    let (total, position) = (bar.length().unwrap_or(0), bar.position());
    let status =
        Status { counted: Counted::Positions, total, first: 0, position, plies: 0, elapsed: bar.elapsed() };
    left_text(status.left())
}

fn left_text(left: Option<Duration>) -> String {
    sooner(left, to_end())
        .map_or_else(|| "time left not known yet".to_owned(), |left| format!("{} left", HumanDuration(left)))
}

/// "2.5 layers/s", below one a second "a layer in 40.0 s", before the first "layers/s not known yet".
pub fn rate_of(done: u64, time: Duration, [one, many]: [&str; 2]) -> String {
    let seconds = time.as_secs_f64().max(1e-3);
    match done as f64 / seconds {
        _ if done == 0 => format!("{many}/s not known yet"),
        rate if rate >= 1.0 => format!("{rate:.1} {many}/s"),
        rate => format!("a {one} in {:.1} s", 1.0 / rate),
    }
}

/// As in "12,800 samples".
pub fn grouped(count: u64, noun: &str) -> String {
    counted(count, noun).replacen(&count.to_string(), &HumanCount(count).to_string(), 1)
}

struct Status {
    counted: Counted,
    total: u64,
    /// Done by an earlier run, in the unit of `total`.
    first: u64,
    /// Done so far, in the unit of `total`.
    position: u64,
    /// Since the start, also in unfinished games.
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

    /// In the unit of `total`; labelled positions of unfinished games count.
    fn position(&self) -> u64 {
        match self.counted {
            Counted::Plies => self.position.max(self.first + self.plies).min(self.total),
            Counted::Games | Counted::Positions => self.position,
        }
    }

    /// Time left at the rate so far; `None` before there is a rate.
    fn left(&self) -> Option<Duration> {
        let all = self.total.saturating_sub(self.first) as f64;
        let finished = self.position().saturating_sub(self.first) as f64;
        let done = match self.counted {
            Counted::Games if self.position < self.first + ENOUGH_GAMES => {
                // Unfinished games count in part.
                let begun = (self.plies as f64 / USUAL_PLIES).min(finished + 0.95 * (all - finished));
                finished.max(begun)
            }
            _ => finished,
        };
        let left = self.elapsed.as_secs_f64() * (all - done).max(0.0) / done;
        // `left` is infinite before the first ply, and NaN if there are no games.
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
        // Games longer than usual, none of them finished.
        assert!(text(10, 100_000).ends_with("1 second left"), "{}", text(10, 100_000));
        // Half the games are finished, so the rest take as long again.
        assert!(text(60, 9000).ends_with("900.0 plies/s, 10 seconds left"), "{}", text(60, 9000));
    }

    #[test]
    fn the_time_left_is_that_to_the_end_of_the_command_if_it_is_sooner() {
        let [short, long] = [3, 50].map(|seconds| Some(Duration::from_secs(seconds)));
        assert_eq!((sooner(short, None), sooner(short, long)), (short, short));
        assert_eq!((sooner(long, short), sooner(None, short), sooner(None, None)), (short, short, None));
    }

    #[test]
    fn a_rate_is_shown_once_something_is_done() {
        let time = Duration::from_secs(80);
        assert_eq!(games_per_hour(0, time), "games/h not known yet");
        assert_eq!(games_per_hour(40, time), "1,800 games/h");
        assert_eq!([1, 12_800].map(|count| grouped(count, "sample")), ["1 sample", "12,800 samples"]);
        let layers = |done| rate_of(done, time, ["layer", "layers"]);
        assert_eq!(layers(0), "layers/s not known yet");
        assert_eq!(layers(2), "a layer in 40.0 s");
        assert_eq!(layers(200), "2.5 layers/s");
    }

    #[test]
    fn labelled_positions_count_before_their_game_is_finished() {
        let text = |counted, position, plies| status(counted, position, plies).text();
        assert_eq!(text(Counted::Plies, 10, 20), "30/110 positions, 2.0 positions/s, 40 seconds left");
        assert_eq!(text(Counted::Plies, 60, 20), "60/110 positions, 5.0 positions/s, 10 seconds left");
        assert_eq!(text(Counted::Positions, 60, 7), "60/110 positions, 5.0 positions/s, 10 seconds left");
    }
}
