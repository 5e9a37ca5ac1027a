use std::time::Duration;

use super::Budget;
use super::params::{TimeParams, scaled};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IterationStats {
    pub since_go: Duration,
    /// On the own clock, from `go` or `ponderhit`; `None` while pondering.
    pub elapsed: Option<Duration>,
    /// The longest recent iteration of a worker, which is how late a stop may take effect.
    pub latency: Duration,
    pub visits: u64,
    /// Visits per second ([`SearchTrend::speed`](super::SearchTrend::speed)).
    pub speed: Option<f64>,
    pub choices: usize,
    /// Visits of the most and the second most visited of `choices`.
    pub first: u64,
    pub second: u64,
    /// The best move's share of the root visits; `None` if moves are not chosen by visits.
    pub share: Option<f64>,
    /// [`SearchTrend::fall`](super::SearchTrend::fall).
    pub fall: f64,
    /// [`SearchTrend::changes`](super::SearchTrend::changes).
    pub changes: f64,
    pub mated: bool,
}

/// Never stops before the first visit, nor while pondering, except for a fulfilled `go mate`. Otherwise the hard limit
/// ends the search; on a clock, also:
///
/// - a single root move that is not a proven loss,
/// - from [`TimeParams::min_visits`] visits, the soft limit times [`soft_factor`],
/// - from the same visits, a lead of the most visited move above [`visits_left`] (smart pruning, lc0
///   `src/search/classic/stoppers/stoppers.cc`).
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

pub fn soft_factor(params: &TimeParams, now: &IterationStats) -> f64 {
    visits_factor(params, now) * instability_factor(params, now) * falling_factor(params, now)
}

/// Decreases with the best move's share of the visits; 1 if the share is unknown.
pub fn visits_factor(params: &TimeParams, now: &IterationStats) -> f64 {
    let (base, slope) = (f64::from(params.visits_base), f64::from(params.visits_slope));
    now.share.map_or(1.0, |share| (base - slope * share).max(0.0))
}

pub fn instability_factor(params: &TimeParams, now: &IterationStats) -> f64 {
    1.0 + (f64::from(params.instability) * now.changes).ln_1p()
}

pub fn falling_factor(params: &TimeParams, now: &IterationStats) -> f64 {
    (1.0 + f64::from(params.falling) * now.fall).max(params.falling_min).min(params.falling_max)
}

/// Visits expected before time ends the search, divided by [`TimeParams::smart_pruning`]: a move further behind will
/// not catch up. `None` if time does not end the search, the speed is unknown, or smart pruning is off.
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

    /// 20 root moves; the best one never changed and has 40 of 50 visits: factor 1.6 − 0.8 = 0.8.
    fn after(time: u64) -> IterationStats {
        IterationStats {
            since_go: ms(time),
            elapsed: Some(ms(time)),
            visits: 50,
            first: 40,
            second: 10,
            share: Some(0.8),
            choices: 20,
            ..IterationStats::default()
        }
    }

    const BUDGET: Budget =
        Budget { soft: Some(Duration::from_millis(1000)), hard: Some(Duration::from_millis(2500)) };

    fn params() -> TimeParams {
        TimeParams {
            smart_pruning: 1.25,
            visits_base: 1.6,
            visits_slope: 1.0,
            instability: 0.5,
            falling: 3.0,
            ..TimeParams::default()
        }
    }

    fn stops(budget: &Budget, now: &IterationStats) -> bool {
        should_stop(budget, &params(), now)
    }

    #[test]
    fn the_rule_as_a_table() {
        let unclear = IterationStats { second: 40, share: Some(0.2), changes: 20.0, ..after(0) };
        let at = |time, counters: IterationStats| IterationStats {
            since_go: ms(time),
            elapsed: Some(ms(time)),
            ..counters
        };
        let cases = [
            ("early", after(799), false),
            ("the soft limit of a clear move", after(801), true),
            ("the best move is new", IterationStats { changes: 1.0, ..after(1120) }, false),
            ("… 0.8 · (1 + ln 1.5) = 1.124", IterationStats { changes: 1.0, ..after(1130) }, true),
            ("the result has fallen", IterationStats { fall: 0.1, ..after(1039) }, false),
            ("… 0.8 · 1.3 = 1.04", IterationStats { fall: 0.1, ..after(1041) }, true),
            ("half of the visits", IterationStats { share: Some(0.5), ..after(1099) }, false),
            ("… 1.6 − 0.5 = 1.1", IterationStats { share: Some(0.5), ..after(1101) }, true),
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

    /// Checks a factor's values, and that each parameter matters.
    fn factor_is(
        factor: fn(&TimeParams, &IterationStats) -> f64,
        values: &[(IterationStats, f64)],
        others: &[TimeParams],
    ) {
        let factors =
            |params: &TimeParams| values.iter().map(|(now, _)| factor(params, now)).collect::<Vec<_>>();
        let defaults = factors(&TimeParams::default());
        for ((now, expected), found) in values.iter().zip(&defaults) {
            assert!((found - expected).abs() < 1e-3, "{now:?}: {found}");
        }
        for other in others {
            assert_ne!(factors(other), defaults, "{other:?}");
        }
        // The factor is part of `soft_factor`.
        let neutral = soft_factor(&TimeParams::default(), &IterationStats::default());
        assert!((neutral - 1.0).abs() < 1e-9);
        for (now, expected) in values {
            assert!((soft_factor(&TimeParams::default(), now) - expected).abs() < 1e-3, "{now:?}");
        }
    }

    #[test]
    fn a_best_move_with_most_of_the_visits_needs_less_time() {
        let share = |share| IterationStats { share, ..IterationStats::default() };
        let params = TimeParams::default();
        factor_is(
            visits_factor,
            &[
                (share(None), 1.0),
                (share(Some(1.0)), 1.46),
                (share(Some(0.6)), 1.808),
                (share(Some(0.2)), 2.156),
            ],
            &[TimeParams { visits_base: 2.0, ..params }, TimeParams { visits_slope: 0.5, ..params }],
        );
    }

    #[test]
    fn a_best_move_that_changes_needs_more_time() {
        let changes = |changes| IterationStats { changes, ..IterationStats::default() };
        factor_is(
            instability_factor,
            &[(changes(0.0), 1.0), (changes(1.0), 1.122), (changes(3.0), 1.329), (changes(0.25), 1.032)],
            &[TimeParams { instability: 0.25, ..TimeParams::default() }],
        );
    }

    #[test]
    fn a_falling_result_needs_more_time() {
        let fall = |fall| IterationStats { fall, ..IterationStats::default() };
        let params = TimeParams::default();
        factor_is(
            falling_factor,
            &[(fall(0.0), 1.0), (fall(0.05), 1.3), (fall(0.5), 1.6), (fall(-0.01), 0.94), (fall(-0.5), 0.85)],
            &[
                TimeParams { falling: 1.0, ..params },
                TimeParams { falling_min: 0.5, ..params },
                TimeParams { falling_max: 2.0, ..params },
            ],
        );
    }

    /// At 1250 visits a second and factor 1.25, every second left is a thousand visits.
    #[test]
    fn a_lead_beyond_the_expected_visits_ends_the_move() {
        // All visits are the best move's: factor 0.6 ends the move 600 ms after `go`.
        let share = Some(1.0);
        let now =
            IterationStats { speed: Some(1250.0), first: 301, second: 0, share, visits: 400, ..after(300) };
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
        // Root moves that cannot become the best may still be pruned.
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
