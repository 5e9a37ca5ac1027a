//! The trend of a search: its speed, and how often its best move changes.

use std::time::Duration;

/// The shortest time over which the speed is measured (as in lc0).
const MIN_MEASURED: Duration = Duration::from_millis(200);

/// Visits added to those measured, so that one slow batch does not end a search early.
const MARGIN: u64 = 32;

/// The half-life of a change of the best move is the soft limit divided by this.
const HALF_LIVES: u32 = 4;

/// Tracks a search round by round. All times are since `go`.
#[derive(Clone, Copy, Debug)]
pub struct SearchTrend {
    half_life: Duration,
    first: Option<(Duration, u64)>,
    changes: f64,
    changed: Duration,
}

impl SearchTrend {
    /// For a move with this soft limit.
    pub fn new(soft: Duration) -> SearchTrend {
        let half_life = (soft / HALF_LIVES).max(Duration::from_millis(1));
        SearchTrend { half_life, first: None, changes: 0.0, changed: Duration::ZERO }
    }

    /// Called after each round with the total of visits. Measuring starts with the first round, since the start-up
    /// before it is not repeated.
    pub fn round(&mut self, time: Duration, visits: u64) {
        self.first.get_or_insert((time, visits));
    }

    /// Called when another move became the best.
    pub fn change(&mut self, time: Duration) {
        self.changes = self.changes(time) + 1.0;
        self.changed = time;
    }

    /// The number of changes of the best move, decaying with their age.
    pub fn changes(&self, time: Duration) -> f64 {
        let age = time.saturating_sub(self.changed).as_secs_f64();
        self.changes * 0.5_f64.powf(age / self.half_life.as_secs_f64())
    }

    /// Visits per second; `None` until measured long enough.
    pub fn speed(&self, time: Duration, visits: u64) -> Option<f64> {
        let (since, before) = self.first?;
        let measured = time.saturating_sub(since);
        let visits = visits.saturating_sub(before).saturating_add(MARGIN);
        (measured >= MIN_MEASURED).then(|| visits as f64 / measured.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_change_counts_half_after_a_quarter_of_the_soft_limit() {
        let mut trend = SearchTrend::new(ms(400));
        assert_eq!(trend.changes(ms(1000)), 0.0);
        trend.change(ms(50));
        for (time, changes) in [(50, 1.0), (150, 0.5), (250, 0.25), (0, 1.0)] {
            assert_eq!(trend.changes(ms(time)), changes, "{time} ms");
        }
        trend.change(ms(150));
        assert_eq!(trend.changes(ms(150)), 1.5);
        assert_eq!(trend.changes(ms(250)), 0.75);
    }

    #[test]
    fn a_soft_limit_of_zero_is_valid() {
        let mut trend = SearchTrend::new(Duration::ZERO);
        trend.change(Duration::ZERO);
        assert_eq!(trend.changes(Duration::ZERO), 1.0);
        assert!(trend.changes(ms(1000)) < 1e-9);
    }

    #[test]
    fn speed_is_measured_from_the_first_round_and_long_enough() {
        let mut trend = SearchTrend::new(ms(1000));
        assert_eq!(trend.speed(ms(1000), 500), None);
        trend.round(ms(100), 8);
        trend.round(ms(200), 200);
        assert_eq!(trend.speed(ms(299), 300), None);
        // 568 visits since the first round, and the margin of 32, in half a second.
        assert_eq!(trend.speed(ms(600), 576), Some(1200.0));
    }
}
