//! The decision to stop.

use std::time::Duration;

use super::Budget;
use super::params::{TimeParams, scaled};

/// The state of a search after a round, as numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IterationStats {
    /// Time since `go`.
    pub since_go: Duration,
    /// Time since the own clock started, at `go` or `ponderhit`; `None` while pondering.
    pub elapsed: Option<Duration>,
    /// The longest recent duration of a round: the delay until a stop takes effect.
    pub latency: Duration,
    /// Playouts of this search.
    pub visits: u64,
    /// Visits per second, if known ([`SearchTrend::speed`](super::SearchTrend::speed)).
    pub speed: Option<f64>,
    /// The number of root moves searched.
    pub choices: usize,
    /// Visits of the most visited of them.
    pub first: u64,
    /// Visits of the second most visited.
    pub second: u64,
    /// Recent changes of the best move ([`SearchTrend::changes`](super::SearchTrend::changes)).
    pub changes: f64,
    /// The mate asked for by `go mate` was found.
    pub mated: bool,
}

/// Whether the search should end now.
///
/// Never before the first visit, without which there is no move to play; while pondering only the GUI ends the
/// search. Otherwise the hard limit of any budget ends it, and on a clock:
///
/// - a single root move,
/// - the soft limit times [`soft_factor`],
/// - a lead of the most visited move over the second that exceeds the [`visits_left`] (smart pruning, lc0
///   `src/search/classic/stoppers/stoppers.cc`): the rest of the time would hardly change the move.
///
/// The last two apply from [`TimeParams::min_visits`] visits.
pub fn should_stop(budget: &Budget, params: &TimeParams, now: &IterationStats) -> bool {
    if now.visits == 0 {
        return false;
    }
    if now.mated {
        return true;
    }
    let Some(elapsed) = now.elapsed else {
        return false;
    };
    if budget.hard.is_some_and(|hard| elapsed.saturating_add(now.latency) >= hard) {
        return true;
    }
    let Some(soft) = budget.soft else {
        return false;
    };
    if now.choices == 1 {
        return true;
    }
    let over = now.since_go >= scaled(soft, soft_factor(params, now));
    now.visits >= params.min_visits && (over || is_decided(budget, params, now))
}

fn is_decided(budget: &Budget, params: &TimeParams, now: &IterationStats) -> bool {
    let lead = now.first.saturating_sub(now.second);
    visits_left(budget, params, now).is_some_and(|left| left < lead)
}

/// The factor of the soft limit, from [`TimeParams::min_factor`] for a clear move to [`TimeParams::max_factor`] for an
/// undecided one.
///
/// It interpolates between the two by `closeness · second / first + (1 − closeness) · (1 − 2^−changes)`, which is
/// high if the second move has nearly as many visits as the first or the best move changed recently. (Stockfish's
/// `bestMoveInstability` has the same purpose; the formula is our own.)
pub fn soft_factor(params: &TimeParams, now: &IterationStats) -> f64 {
    let close = if now.first == 0 { 1.0 } else { (now.second as f64 / now.first as f64).min(1.0) };
    let instability = 1.0 - 0.5_f64.powf(now.changes);
    let undecided = params.closeness * close + (1.0 - params.closeness) * instability;
    params.min_factor + (params.max_factor - params.min_factor) * undecided
}

/// The visits expected before time ends the search, divided by [`TimeParams::smart_pruning`]. A move that is further
/// behind will not catch up.
///
/// `None` if time does not end the search, its speed is not known yet, or smart pruning is off.
pub fn visits_left(budget: &Budget, params: &TimeParams, now: &IterationStats) -> Option<u64> {
    let (speed, elapsed) = (now.speed?, now.elapsed?);
    if params.smart_pruning <= 0.0 {
        return None;
    }
    let soft = budget.soft.map(|soft| scaled(soft, soft_factor(params, now)).saturating_sub(now.since_go));
    let hard = budget.hard.map(|hard| hard.saturating_sub(elapsed));
    let left = match (soft, hard) {
        (Some(soft), Some(hard)) => soft.min(hard),
        (soft, hard) => soft.or(hard)?,
    };
    Some((left.as_secs_f64() * speed / f64::from(params.smart_pruning)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A search with twenty root moves, so long after `go` on its own clock. Its best move never changed and has 40 of
    /// 50 visits: 0.4 · 10/40 = 0.1, so its factor is 0.6 + 1.9 · 0.1 = 0.79.
    fn after(time: u64) -> IterationStats {
        IterationStats {
            since_go: ms(time),
            elapsed: Some(ms(time)),
            visits: 50,
            first: 40,
            second: 10,
            choices: 20,
            ..IterationStats::default()
        }
    }

    const BUDGET: Budget =
        Budget { soft: Some(Duration::from_millis(1000)), hard: Some(Duration::from_millis(2500)) };

    fn params() -> TimeParams {
        TimeParams { smart_pruning: 1.25, ..TimeParams::default() }
    }

    fn stops(budget: &Budget, now: &IterationStats) -> bool {
        should_stop(budget, &params(), now)
    }

    #[test]
    fn the_rule_as_a_table() {
        let unclear = IterationStats { second: 40, changes: 20.0, ..after(0) };
        let at = |time, counters: IterationStats| IterationStats {
            since_go: ms(time),
            elapsed: Some(ms(time)),
            ..counters
        };
        let cases = [
            ("early", after(789), false),
            ("the soft limit of a clear move", after(791), true),
            ("the best move is new", IterationStats { changes: 1.0, ..after(1300) }, false),
            ("… 0.79 + 1.9 · 0.6 · 0.5 = 1.36 shares", IterationStats { changes: 1.0, ..after(1361) }, true),
            ("undecided", at(2400, unclear), false),
            ("the hard limit, decided or not", at(2500, unclear), true),
            ("the next round would overstep", IterationStats { latency: ms(30), ..at(2480, unclear) }, true),
            ("too few visits for the soft limit", IterationStats { visits: 31, ..after(1500) }, false),
            ("… but not for the hard limit", IterationStats { visits: 1, ..after(2500) }, true),
            ("nothing to play yet", IterationStats { visits: 0, ..after(10_000) }, false),
            ("pondering", IterationStats { elapsed: None, ..after(10_000) }, false),
            ("ponderhit after a long search", IterationStats { elapsed: Some(ms(0)), ..after(10_000) }, true),
            ("one legal move", IterationStats { choices: 1, visits: 1, ..after(1) }, true),
            ("the mate asked for", IterationStats { mated: true, ..after(1) }, true),
        ];
        for (name, counters, expected) in cases {
            assert_eq!(stops(&BUDGET, &counters), expected, "{name}");
        }
    }

    #[test]
    fn patience_as_a_table() {
        // First, second, changes, soft_factor = 0.6 + 1.9 · (0.4 · second/first + 0.6 · (1 − 2^−changes)).
        for (first, second, changes, expected) in [
            (100, 0, 0.0, 0.6),
            (100, 25, 0.0, 0.79),
            (100, 50, 0.0, 0.98),
            (100, 100, 0.0, 1.36),
            (100, 0, 1.0, 1.17),
            (100, 0, 2.0, 1.455),
            (100, 50, 1.0, 1.55),
            (100, 100, 1.0, 1.93),
            (100, 100, 1000.0, 2.5),
            // The best move is not always the most visited; without visits nothing is decided.
            (100, 120, 0.0, 1.36),
            (0, 0, 0.0, 1.36),
        ] {
            let now = IterationStats { first, second, changes, ..IterationStats::default() };
            let soft_factor = soft_factor(&TimeParams::default(), &now);
            assert!((soft_factor - expected).abs() < 1e-9, "{first} {second} {changes}: {soft_factor}");
        }
    }

    /// At 1250 visits a second and with a factor of 1.25, every second left is a thousand visits.
    #[test]
    fn a_lead_beyond_the_expected_visits_ends_the_move() {
        // The second move has none: a factor of 0.6 ends the move 600 ms after `go`.
        let now = IterationStats { speed: Some(1250.0), first: 301, second: 0, visits: 400, ..after(300) };
        assert_eq!(visits_left(&BUDGET, &params(), &now), Some(300));
        let cases = [
            ("301 visits ahead, 300 to come", now, true),
            ("just not", IterationStats { first: 300, ..now }, false),
            ("the speed is not known", IterationStats { speed: None, ..now }, false),
            ("faster", IterationStats { speed: Some(1260.0), ..now }, false),
            ("the best move changed", IterationStats { changes: 1.0, ..now }, false),
            ("too few visits", IterationStats { visits: 31, ..now }, false),
            ("pondering", IterationStats { elapsed: None, ..now }, false),
        ];
        for (name, counters, expected) in cases {
            assert_eq!(stops(&BUDGET, &counters), expected, "{name}");
        }
        let off = TimeParams { smart_pruning: 0.0, ..TimeParams::default() };
        assert!(!should_stop(&BUDGET, &off, &now));
        assert_eq!(visits_left(&BUDGET, &off, &now), None);
    }

    #[test]
    fn only_a_clock_makes_a_search_end_early() {
        let now = IterationStats { speed: Some(1250.0), first: 1_000_000, visits: 1_000_000, ..after(900) };
        let fixed = Budget { soft: None, hard: Some(ms(1000)) };
        assert!(!stops(&fixed, &now) && !stops(&Budget::default(), &now));
        // The search may still prune root moves that cannot become the best.
        assert_eq!(visits_left(&fixed, &params(), &now), Some(100));
        assert_eq!(visits_left(&Budget::default(), &params(), &now), None);
    }

    #[test]
    fn the_hard_limit_bounds_the_expected_visits() {
        let budget = Budget { hard: Some(ms(400)), ..BUDGET };
        let now = IterationStats { speed: Some(1250.0), second: 40, ..after(300) };
        assert_eq!(visits_left(&budget, &params(), &now), Some(100));
    }

    #[test]
    fn without_a_budget_only_a_mate_stops() {
        let long = after(1_000_000);
        assert!(!stops(&Budget::default(), &long));
        assert!(!stops(&Budget::default(), &IterationStats { choices: 1, ..long }));
        assert!(stops(&Budget::default(), &IterationStats { mated: true, ..long }));
    }

    #[test]
    fn a_fixed_time_is_used_up_and_starts_anew_at_ponderhit() {
        let fixed = Budget { soft: None, hard: Some(ms(200)) };
        assert!(!stops(&fixed, &after(199)));
        assert!(stops(&fixed, &after(200)));
        let hit = IterationStats { elapsed: Some(ms(10)), ..after(5000) };
        assert!(!stops(&fixed, &hit));
        assert!(!stops(&fixed, &IterationStats { choices: 1, ..after(100) }));
    }

    #[test]
    fn an_empty_budget_stops_after_the_first_playout() {
        let none = Budget { soft: Some(ms(0)), hard: Some(ms(0)) };
        let mut now = IterationStats { visits: 1, ..after(0) };
        assert!(stops(&none, &now));
        now.visits = 0;
        assert!(!stops(&none, &now));
    }
}
