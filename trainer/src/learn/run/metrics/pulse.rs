//! Progress on stderr: a bar on a terminal, otherwise a line at least every ten seconds.

use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Longest time without a line if stderr is no terminal.
const SILENCE: Duration = Duration::from_secs(10);
/// Shortest time between two updates.
const REFRESH: Duration = Duration::from_millis(500);

/// What is known of the rate and the time left while the first step takes longer than these seconds.
pub type Bounds = Box<dyn Fn(f64) -> String + Send>;

/// Shows progress. A thread prints a line if a single step takes longer than [`SILENCE`].
pub struct Pulse {
    bar: ProgressBar,
    lines: Option<Lines>,
    shown: Mutex<Option<Instant>>,
}

struct Lines {
    state: Arc<Mutex<State>>,
    /// Dropped to end the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct State {
    line: Option<String>,
    /// Whether the last line is still to be printed.
    fresh: bool,
    updated: Instant,
    printed: Option<Instant>,
}

impl Pulse {
    /// `first` tells what is known before the first call of [`Pulse::show`].
    pub fn new(total: u64, first: Bounds) -> Pulse {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        bar.set_style(ProgressStyle::with_template("{bar:24} {msg}").expect("a valid template"));
        let terminal = std::io::stderr().is_terminal();
        if terminal {
            bar.set_message("the first step …");
            bar.enable_steady_tick(Duration::from_secs(1));
        }
        Pulse { bar, lines: (!terminal).then(|| Lines::start(first)), shown: Mutex::new(None) }
    }

    pub fn is_due(&self) -> bool {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.is_none_or(|at| at.elapsed() >= REFRESH)
    }

    /// Shows `line` beside the bar, or prints it if the last is ten seconds old.
    pub fn show(&self, done: u64, line: &str) {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        match &self.lines {
            None => {
                self.bar.set_position(done);
                self.bar.set_message(line.to_owned());
            }
            Some(lines) => lines.update(line.to_owned()),
        }
    }

    pub fn print(&self, line: &str) {
        self.bar.suspend(|| eprintln!("{line}"));
    }

    pub fn suspend(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        if let Some(lines) = &mut self.lines {
            drop(lines.end.take());
            if let Some(thread) = lines.thread.take() {
                _ = thread.join();
            }
        }
    }
}

impl Lines {
    fn start(first: Bounds) -> Lines {
        let now = Instant::now();
        let state = Arc::new(Mutex::new(State { line: None, fresh: false, updated: now, printed: None }));
        let (end, ended) = channel::<()>();
        let shared = Arc::clone(&state);
        let thread = thread::spawn(move || {
            while ended.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(line) = state.overdue(now, &first) {
                    eprintln!("{line}");
                }
            }
        });
        Lines { state, end: Some(end), thread: Some(thread) }
    }

    fn update(&self, line: String) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.updated = Instant::now();
        let due = state.printed.is_none_or(|at| at.elapsed() >= SILENCE);
        if due {
            eprintln!("{line}");
            state.printed = Some(Instant::now());
        }
        state.line = Some(line);
        state.fresh = !due;
    }
}

impl State {
    /// Returns the line to print if the last one is too old, and restarts the wait.
    fn overdue(&mut self, start: Instant, first: &dyn Fn(f64) -> String) -> Option<String> {
        if self.printed.unwrap_or(start).elapsed() < SILENCE {
            return None;
        }
        self.printed = Some(Instant::now());
        let since = self.updated.elapsed().as_secs();
        let line = match &self.line {
            None => format!("the first step has taken {since} s so far: {}", first(since as f64)),
            Some(line) if self.fresh => line.clone(),
            Some(line) => format!("{line} (nothing new for {since} s)"),
        };
        self.fresh = false;
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_seconds_without_a_line_are_too_many() {
        let Some(start) = Instant::now().checked_sub(Duration::from_secs(11)) else { return };
        let mut state = State { line: None, fresh: false, updated: start, printed: None };
        let first = |seconds: f64| format!("below {:.0}/s", 110.0 / seconds);
        let line = state.overdue(start, &first);
        assert_eq!(line.as_deref(), Some("the first step has taken 11 s so far: below 10/s"));
        assert_eq!(state.overdue(start, &first), None, "just said");
        (state.line, state.fresh, state.printed) = (Some("7 samples".into()), true, Some(start));
        assert_eq!(state.overdue(start, &first).as_deref(), Some("7 samples"));
        state.printed = Some(start);
        assert_eq!(state.overdue(start, &first).as_deref(), Some("7 samples (nothing new for 11 s)"));
    }
}
