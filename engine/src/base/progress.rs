//! Progress of a long command on stderr: a bar on a terminal, otherwise a line every eight seconds.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

/// Commands promise a line every ten seconds. This is less, because only a call of [`Progress::reach`] writes one.
const SAY_EVERY: Duration = Duration::from_secs(8);

pub struct Progress {
    bar: ProgressBar,
    last_said: Instant,
}

impl Progress {
    pub fn new(total: u64, message: impl Into<String>) -> Progress {
        let bar = ProgressBar::new(total.max(1)).with_message(message.into());
        let template = "{wide_bar} {percent} %, {msg}, {eta} left";
        bar.set_style(ProgressStyle::with_template(template).expect("a valid template"));
        Progress { bar, last_said: Instant::now() }
    }

    pub fn set_message(&self, message: String) {
        self.bar.set_message(message);
    }

    /// Beyond the total, which may be an estimate, nothing moves.
    pub fn reach(&mut self, position: u64) {
        let total = self.bar.length().unwrap_or(1);
        self.bar.set_position(position.min(total));
        if !io::stderr().is_terminal() && self.last_said.elapsed() >= SAY_EVERY {
            eprintln!("{}", self.text());
            self.last_said = Instant::now();
        }
    }

    fn text(&self) -> String {
        let percent = 100 * self.bar.position() / self.bar.length().unwrap_or(1);
        let left = match self.bar.position() {
            0 => "time left not known yet".to_owned(),
            _ => format!("{} left", HumanDuration(self.bar.eta())),
        };
        format!("{percent} %, {}, {left}", self.bar.message())
    }

    /// Hides the bar while `print` writes to the terminal.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
