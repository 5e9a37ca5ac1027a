use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

/// Speed is measured over at least this time (as in lc0) or this many visits, which a fast network makes in 10 ms.
const MIN_MEASURED: Duration = Duration::from_millis(200);
const VISITS_MEASURED: u64 = 512;

/// Added to the measured visits, so that a single slow batch does not end a search early.
const MARGIN: u64 = 32;

/// The count of best-move changes halves this often per soft limit.
const HALF_LIVES: u32 = 4;

/// Speed, best-move changes and fall of Q, tracked round by round; all times are since `go`.
#[derive(Clone, Copy, Debug)]
pub struct SearchTrend {
    half_life: Duration,
    first: Option<(Duration, u64)>,
    changes: f64,
    changed: Duration,
    reference: Option<f64>,
}

impl SearchTrend {
    /// `soft` is the move's soft limit, `previous` the final Q of the game's previous search. Without it, this search's
    /// first Q is the reference.
    pub fn new(soft: Duration, previous: Option<f64>) -> SearchTrend {
        let half_life = (soft / HALF_LIVES).max(Duration::from_millis(1));
        SearchTrend { half_life, first: None, changes: 0.0, changed: Duration::ZERO, reference: previous }
    }

    /// `visits` is the total. Measurement starts with the first round, to exclude start-up.
    pub fn round(&mut self, time: Duration, visits: u64) {
        self.first.get_or_insert((time, visits));
    }

    pub fn change(&mut self, time: Duration) {
        self.changes = self.changes(time) + 1.0;
        self.changed = time;
    }

    pub fn changes(&self, time: Duration) -> f64 {
        let age = time.saturating_sub(self.changed).as_secs_f64();
        self.changes * 0.5_f64.powf(age / self.half_life.as_secs_f64())
    }

    /// The fall of the best move's Q; negative if it rose.
    pub fn fall(&mut self, value: f64) -> f64 {
        *self.reference.get_or_insert(value) - value
    }

    /// Visits per second; `None` until measured long enough.
    pub fn speed(&self, time: Duration, visits: u64) -> Option<f64> {
        let (since, before) = self.first?;
        let measured = time.saturating_sub(since);
        let visits = visits.saturating_sub(before);
        let enough = measured >= MIN_MEASURED || (visits >= VISITS_MEASURED && !measured.is_zero());
        let visits = visits.saturating_add(MARGIN);
        enough.then(|| visits as f64 / measured.as_secs_f64())
    }
}

/// Workers' round times: a stop takes effect within a round. `K` names a worker.
#[derive(Clone, Debug)]
pub struct RoundTimes<K> {
    last: HashMap<K, Duration>,
    longest: Duration,
}

impl<K> Default for RoundTimes<K> {
    fn default() -> RoundTimes<K> {
        RoundTimes { last: HashMap::new(), longest: Duration::ZERO }
    }
}

impl<K: Eq + Hash> RoundTimes<K> {
    /// Ends a worker's round, begun at its last call. Returns the longest recent round of any worker, which decays by
    /// 1/8 per round of all workers, so that a single delay does not end a search early.
    pub fn round(&mut self, worker: K, time: Duration) -> Duration {
        let last = self.last.insert(worker, time);
        let decayed = self.longest.mul_f64(1.0 - 1.0 / (8.0 * self.last.len() as f64));
        self.longest = last.map_or(Duration::ZERO, |last| time.saturating_sub(last)).max(decayed);
        self.longest
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
        let mut trend = SearchTrend::new(ms(400), None);
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
        let mut trend = SearchTrend::new(Duration::ZERO, None);
        trend.change(Duration::ZERO);
        assert_eq!(trend.changes(Duration::ZERO), 1.0);
        assert!(trend.changes(ms(1000)) < 1e-9);
    }

    #[test]
    fn speed_is_measured_from_the_first_round_and_long_enough() {
        let mut trend = SearchTrend::new(ms(1000), None);
        assert_eq!(trend.speed(ms(1000), 500), None);
        trend.round(ms(100), 8);
        trend.round(ms(200), 200);
        assert_eq!(trend.speed(ms(299), 300), None);
        // 568 visits since the first round plus the margin of 32, in half a second.
        assert_eq!(trend.speed(ms(600), 576), Some(1200.0));
        // A fast search: 512 visits plus the margin in ten milliseconds.
        assert_eq!((trend.speed(ms(110), 519), trend.speed(ms(110), 520)), (None, Some(54_400.0)));
    }

    #[test]
    fn a_fall_is_from_the_previous_move_or_the_first_value() {
        let mut continued = SearchTrend::new(ms(1000), Some(0.5));
        assert_eq!([0.25, 0.0, 0.75].map(|value| continued.fall(value)), [0.25, 0.5, -0.25]);
        let mut first = SearchTrend::new(ms(1000), None);
        assert_eq!([0.25, 0.0, 0.75].map(|value| first.fall(value)), [0.0, 0.25, -0.5]);
    }

    /// Rounds of 10 ms, evenly spread over the workers.
    fn regular(workers: u32) -> RoundTimes<u32> {
        let mut rounds = RoundTimes::default();
        for call in 0..10 * workers {
            rounds.round(call % workers, ms(10) * call / workers);
        }
        rounds
    }

    #[test]
    fn a_workers_round_is_its_own() {
        for workers in [1, 2, 16, 64] {
            let longest = regular(workers).round(0, ms(100));
            assert_eq!(longest, ms(10), "{workers} workers");
            // All workers are 15 ms late once.
            let mut late = regular(workers);
            assert_eq!(late.round(0, ms(115)), ms(25), "{workers} workers");
            // Each worker made eight more rounds.
            for call in 1..8 * workers {
                late.round(call % workers, ms(115) + ms(10) * call / workers);
            }
            let later = late.round(0, ms(195));
            assert!(later >= ms(10) && later < ms(19), "{workers} workers: {later:?}");
        }
    }
}
