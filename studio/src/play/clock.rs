//! A chess clock. It never reads the time: callers pass `now`.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use shakmaty::ByColor;
use shakmaty::Color;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeControl {
    pub base_s: u32,
    pub increment_s: u32,
    /// Of every move, before the time begins to run.
    #[serde(default)]
    pub delay_s: u32,
}

impl TimeControl {
    /// Maximum base time (a day), increment and delay (an hour).
    pub const LONGEST: TimeControl = TimeControl { base_s: 86_400, increment_s: 3_600, delay_s: 3_600 };

    pub fn is_sensible(self) -> bool {
        (1..=Self::LONGEST.base_s).contains(&self.base_s)
            && self.increment_s <= Self::LONGEST.increment_s
            && self.delay_s <= Self::LONGEST.delay_s
    }
}

#[derive(Clone, Debug)]
pub struct ChessClock {
    control: TimeControl,
    /// At the start of the running side's turn.
    left: ByColor<Duration>,
    running: Option<(Color, Instant)>,
}

impl ChessClock {
    pub fn new(control: TimeControl) -> ChessClock {
        let base = Duration::from_secs(u64::from(control.base_s));
        ChessClock { control, left: ByColor { white: base, black: base }, running: None }
    }

    pub fn control(&self) -> TimeControl {
        self.control
    }

    pub fn running(&self) -> Option<Color> {
        self.running.map(|(color, _)| color)
    }

    pub fn run(&mut self, color: Color, now: Instant) {
        self.stop(now);
        self.running = Some((color, now));
    }

    pub fn stop(&mut self, now: Instant) {
        self.left = self.left(now);
        self.running = None;
    }

    pub fn press(&mut self, mover: Color, now: Instant) {
        self.stop(now);
        *self.left.get_mut(mover) += Duration::from_secs(u64::from(self.control.increment_s));
        self.running = Some((!mover, now));
    }

    pub fn left(&self, now: Instant) -> ByColor<Duration> {
        let mut left = self.left;
        if let Some((color, since)) = self.running {
            let side = left.get_mut(color);
            *side = side.saturating_sub(now.saturating_duration_since(since).saturating_sub(self.delay()));
        }
        left
    }

    fn delay(&self) -> Duration {
        Duration::from_secs(u64::from(self.control.delay_s))
    }

    /// Until the running side's time begins to fall.
    pub fn delay_left(&self, now: Instant) -> Duration {
        let since = self.running.map(|(_, since)| now.saturating_duration_since(since));
        since.map_or(Duration::ZERO, |since| self.delay().saturating_sub(since))
    }

    pub fn set_left(&mut self, left: ByColor<Duration>) {
        self.left = left;
        self.running = None;
    }

    pub fn flag_falls(&self) -> Option<Instant> {
        self.running.map(|(color, since)| since + self.delay() + *self.left.get(color))
    }
}

/// As `[%clk]` has it: `0:09:58.3`.
pub fn clk_text(left: Duration) -> String {
    let tenths = left.as_millis() / 100;
    let seconds = tenths / 10;
    let whole = format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if tenths.is_multiple_of(10) { whole } else { format!("{whole}.{}", tenths % 10) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_in_a_pgn() {
        assert_eq!(clk_text(Duration::from_millis(598_370)), "0:09:58.3");
        assert_eq!(clk_text(Duration::from_secs(3661)), "1:01:01");
    }

    fn seconds(clock: &ChessClock, now: Instant) -> (u64, u64) {
        let left = clock.left(now);
        (left.white.as_secs(), left.black.as_secs())
    }

    #[test]
    fn time_runs_for_one_side_and_increments_come_after_moves() {
        let begin = Instant::now();
        let at = |s| begin + Duration::from_secs(s);
        let mut clock = ChessClock::new(TimeControl { base_s: 60, increment_s: 5, delay_s: 0 });
        assert_eq!(seconds(&clock, at(30)), (60, 60), "nobody's time runs yet");
        clock.run(Color::White, at(30));
        assert_eq!(seconds(&clock, at(40)), (50, 60));
        assert_eq!(clock.flag_falls(), Some(at(90)));
        clock.press(Color::White, at(40));
        assert_eq!(seconds(&clock, at(43)), (55, 57));
        clock.stop(at(43));
        assert_eq!(seconds(&clock, at(100)), (55, 57));
        assert_eq!(clock.flag_falls(), None);
        clock.run(Color::Black, at(100));
        assert_eq!(seconds(&clock, at(1000)), (55, 0), "never below zero");
    }

    #[test]
    fn time_stands_still_during_the_delay() {
        let begin = Instant::now();
        let at = |s| begin + Duration::from_secs(s);
        let mut clock = ChessClock::new(TimeControl { base_s: 60, increment_s: 0, delay_s: 5 });
        clock.run(Color::White, at(0));
        assert_eq!((seconds(&clock, at(4)), clock.delay_left(at(4)).as_secs()), ((60, 60), 1));
        assert_eq!((seconds(&clock, at(8)), clock.delay_left(at(8)).as_secs()), ((57, 60), 0));
        assert_eq!(clock.flag_falls(), Some(at(65)));
        clock.press(Color::White, at(3));
        assert_eq!((seconds(&clock, at(7)), seconds(&clock, at(10))), ((60, 60), (60, 58)));
        let saved: TimeControl = serde_json::from_str(r#"{"base_s": 60, "increment_s": 5}"#).unwrap();
        assert_eq!(saved.delay_s, 0, "games that were saved before there was a delay");
    }
}
