//! How a search goes, in two numbers: how fast it is, and how often its best move changes.

use std::time::Duration;

/// What is measured for a shorter time says little about the speed (Leela's number).
const MEASURED: Duration = Duration::from_millis(200);

/// Visits that the speed is taken to be better than measured: rather search on than stop on the
/// strength of one slow batch.
const MARGIN: u64 = 32;

/// Changes of the best move fade to a half within this part (one in …) of a move's fair share.
const FADING: u32 = 4;

/// A search, followed round by round. All times are since `go`.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    half_life: Duration,
    first: Option<(Duration, u64)>,
    changes: f64,
    changed: Duration,
}

impl Course {
    /// For a move with this fair share of the clock.
    pub fn new(soft: Duration) -> Course {
        let half_life = (soft / FADING).max(Duration::from_millis(1));
        Course { half_life, first: None, changes: 0.0, changed: Duration::ZERO }
    }

    /// A round has ended, with so many visits in all. Measuring begins with the first one, since
    /// what lies before it (waking up, warming up) doesn't come again.
    pub fn round(&mut self, time: Duration, visits: u64) {
        self.first.get_or_insert((time, visits));
    }

    /// Another move became the best.
    pub fn change(&mut self, time: Duration) {
        self.changes = self.changes(time) + 1.0;
        self.changed = time;
    }

    /// How often the best move has changed, old changes counting less and less.
    pub fn changes(&self, time: Duration) -> f64 {
        let age = time.saturating_sub(self.changed).as_secs_f64();
        self.changes * 0.5_f64.powf(age / self.half_life.as_secs_f64())
    }

    /// Visits per second; `None` until that can be told.
    pub fn speed(&self, time: Duration, visits: u64) -> Option<f64> {
        let (since, before) = self.first?;
        let measured = time.saturating_sub(since);
        let visits = visits.saturating_sub(before).saturating_add(MARGIN);
        (measured >= MEASURED).then(|| visits as f64 / measured.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_change_counts_half_after_a_quarter_of_the_fair_share() {
        let mut course = Course::new(ms(400));
        assert_eq!(course.changes(ms(1000)), 0.0);
        course.change(ms(50));
        for (time, changes) in [(50, 1.0), (150, 0.5), (250, 0.25), (0, 1.0)] {
            assert_eq!(course.changes(ms(time)), changes, "{time} ms");
        }
        course.change(ms(150));
        assert_eq!(course.changes(ms(150)), 1.5);
        assert_eq!(course.changes(ms(250)), 0.75);
    }

    #[test]
    fn a_move_without_a_share_of_its_own_has_a_course_too() {
        let mut course = Course::new(Duration::ZERO);
        course.change(Duration::ZERO);
        assert_eq!(course.changes(Duration::ZERO), 1.0);
        assert!(course.changes(ms(1000)) < 1e-9);
    }

    #[test]
    fn speed_is_measured_from_the_first_round_and_not_for_too_short() {
        let mut course = Course::new(ms(1000));
        assert_eq!(course.speed(ms(1000), 500), None);
        course.round(ms(100), 8);
        course.round(ms(200), 200);
        assert_eq!(course.speed(ms(299), 300), None);
        // 568 visits since the first round, and 32 for good measure, in half a second.
        assert_eq!(course.speed(ms(600), 576), Some(1200.0));
    }
}
