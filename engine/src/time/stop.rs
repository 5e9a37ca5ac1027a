//! The one question: stop now?

use std::time::Duration;

use super::Budget;
use super::pace::{Pace, scaled};

/// What the rule may look at: a search, as numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Since `go`.
    pub thought: Duration,
    /// Since the own clock runs: as `thought`, or since `ponderhit`; `None` while pondering.
    pub elapsed: Option<Duration>,
    /// The longest that a round of the search has lately taken: how late "stop" may be heard.
    pub latency: Duration,
    /// Playouts of this search.
    pub visits: u64,
    /// Visits per second, as far as that is known ([`Course::speed`](super::Course::speed)).
    pub speed: Option<f64>,
    /// Moves the search chooses from.
    pub choices: usize,
    /// Visits of the most visited of them.
    pub first: u64,
    /// Visits of the next.
    pub second: u64,
    /// How often the best move has lately changed ([`Course::changes`](super::Course::changes)).
    pub changes: f64,
    /// A mate was asked for, and found.
    pub mated: bool,
}

/// Whether the search should end now.
///
/// Until the first playout is in there is nothing to play, so it never stops before that; while
/// pondering only the GUI ends it. Then, on any budget, the hard limit ends it; and on a clock:
///
/// - a move that is the only one,
/// - its fair share times [`patience`],
/// - a lead of the most visited move that the runner-up can't make up for in the [`visits_left`]
///   (Leela's smart pruning, lc0 `src/search/classic/stoppers/stoppers.cc`), for then more
///   thinking hardly changes the move, and the time is better spent on another;
///
/// the last two not before [`Pace::floor`] visits.
pub fn should_stop(budget: &Budget, pace: &Pace, now: &Counters) -> bool {
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
    let over = now.thought >= scaled(soft, patience(pace, now));
    now.visits >= pace.floor && (over || is_decided(budget, pace, now))
}

fn is_decided(budget: &Budget, pace: &Pace, now: &Counters) -> bool {
    let lead = now.first.saturating_sub(now.second);
    visits_left(budget, pace, now).is_some_and(|left| left < lead)
}

/// How much of its fair share a move is given, from [`Pace::calm`] to [`Pace::stretch`]: the more,
/// the less decided it is.
///
/// Undecided is a move whose runner-up has nearly as many visits, and one whose best move has
/// changed of late: `closeness · second / first + (1 − closeness) · (1 − 2^−changes)` lies between
/// 0 and 1, and what it makes of the way from `calm` to `stretch` is given. (That a move that
/// wavers deserves time is Stockfish's `bestMoveInstability`; the formula is our own.)
pub fn patience(pace: &Pace, now: &Counters) -> f64 {
    let close = if now.first == 0 { 1.0 } else { (now.second as f64 / now.first as f64).min(1.0) };
    let wavering = 1.0 - 0.5_f64.powf(now.changes);
    let undecided = pace.closeness * close + (1.0 - pace.closeness) * wavering;
    pace.calm + (pace.stretch - pace.calm) * undecided
}

/// The visits that matter: those to be expected before time ends the search, divided by
/// [`Pace::smart_pruning`]. What lags behind by more than these won't catch up.
///
/// `None` if time doesn't end the search, if its speed isn't known yet, or if smart pruning is off.
pub fn visits_left(budget: &Budget, pace: &Pace, now: &Counters) -> Option<u64> {
    let (speed, elapsed) = (now.speed?, now.elapsed?);
    if pace.smart_pruning <= 0.0 {
        return None;
    }
    let soft = budget.soft.map(|soft| scaled(soft, patience(pace, now)).saturating_sub(now.thought));
    let hard = budget.hard.map(|hard| hard.saturating_sub(elapsed));
    let left = match (soft, hard) {
        (Some(soft), Some(hard)) => soft.min(hard),
        (soft, hard) => soft.or(hard)?,
    };
    Some((left.as_secs_f64() * speed / f64::from(pace.smart_pruning)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A search with plenty of choice that has thought for so long on its own clock. Its best move
    /// has always been the same, and 40 of 50 visits: undecided by 0.4 · 10/40 = 0.1, which makes
    /// its patience 0.6 + 1.9 · 0.1 = 0.79.
    fn after(time: u64) -> Counters {
        Counters {
            thought: ms(time),
            elapsed: Some(ms(time)),
            visits: 50,
            first: 40,
            second: 10,
            choices: 20,
            ..Counters::default()
        }
    }

    const BUDGET: Budget =
        Budget { soft: Some(Duration::from_millis(1000)), hard: Some(Duration::from_millis(2500)) };

    fn pace() -> Pace {
        Pace { smart_pruning: 1.25, ..Pace::default() }
    }

    fn stops(budget: &Budget, now: &Counters) -> bool {
        should_stop(budget, &pace(), now)
    }

    #[test]
    fn the_rule_as_a_table() {
        let unclear = Counters { second: 40, changes: 20.0, ..after(0) };
        let at =
            |time, counters: Counters| Counters { thought: ms(time), elapsed: Some(ms(time)), ..counters };
        let cases = [
            ("early", after(789), false),
            ("what a clear move takes", after(791), true),
            ("the best move is new", Counters { changes: 1.0, ..after(1300) }, false),
            ("… 0.79 + 1.9 · 0.6 · 0.5 = 1.36 shares", Counters { changes: 1.0, ..after(1361) }, true),
            ("anything but decided", at(2400, unclear), false),
            ("hard limit, decided or not", at(2500, unclear), true),
            ("the next round would overstep", Counters { latency: ms(30), ..at(2480, unclear) }, true),
            ("too few visits for the fair share", Counters { visits: 31, ..after(1500) }, false),
            ("… but not for the hard limit", Counters { visits: 1, ..after(2500) }, true),
            ("nothing to play yet", Counters { visits: 0, ..after(10_000) }, false),
            ("pondering", Counters { elapsed: None, ..after(10_000) }, false),
            ("ponderhit after long thought", Counters { elapsed: Some(ms(0)), ..after(10_000) }, true),
            ("one legal move", Counters { choices: 1, visits: 1, ..after(1) }, true),
            ("the mate asked for", Counters { mated: true, ..after(1) }, true),
        ];
        for (name, counters, expected) in cases {
            assert_eq!(stops(&BUDGET, &counters), expected, "{name}");
        }
    }

    #[test]
    fn patience_as_a_table() {
        // First, second, changes, patience = 0.6 + 1.9 · (0.4 · second/first + 0.6 · (1 − 2^−changes)).
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
            // The best move isn't always the most visited; without visits nothing is decided.
            (100, 120, 0.0, 1.36),
            (0, 0, 0.0, 1.36),
        ] {
            let now = Counters { first, second, changes, ..Counters::default() };
            let patience = patience(&Pace::default(), &now);
            assert!((patience - expected).abs() < 1e-9, "{first} {second} {changes}: {patience}");
        }
    }

    /// At 1250 visits a second and with a factor of 1.25, every second left is a thousand visits.
    #[test]
    fn a_lead_that_cannot_be_made_up_for_ends_the_move() {
        // The runner-up has none: a patience of 0.6 makes the move's end 600 ms after `go`.
        let now = Counters { speed: Some(1250.0), first: 301, second: 0, visits: 400, ..after(300) };
        assert_eq!(visits_left(&BUDGET, &pace(), &now), Some(300));
        let cases = [
            ("301 visits ahead, 300 to come", now, true),
            ("just not", Counters { first: 300, ..now }, false),
            ("the speed isn't known", Counters { speed: None, ..now }, false),
            ("faster", Counters { speed: Some(1260.0), ..now }, false),
            ("the best move wavers", Counters { changes: 1.0, ..now }, false),
            ("too few visits", Counters { visits: 31, ..now }, false),
            ("pondering", Counters { elapsed: None, ..now }, false),
        ];
        for (name, counters, expected) in cases {
            assert_eq!(stops(&BUDGET, &counters), expected, "{name}");
        }
        let off = Pace { smart_pruning: 0.0, ..Pace::default() };
        assert!(!should_stop(&BUDGET, &off, &now));
        assert_eq!(visits_left(&BUDGET, &off, &now), None);
    }

    #[test]
    fn only_a_clock_makes_a_search_end_early() {
        let now = Counters { speed: Some(1250.0), first: 1_000_000, visits: 1_000_000, ..after(900) };
        let fixed = Budget { soft: None, hard: Some(ms(1000)) };
        assert!(!stops(&fixed, &now) && !stops(&Budget::default(), &now));
        // The search may still leave alone what can't become the best move.
        assert_eq!(visits_left(&fixed, &pace(), &now), Some(100));
        assert_eq!(visits_left(&Budget::default(), &pace(), &now), None);
    }

    #[test]
    fn the_hard_limit_bounds_what_is_to_be_expected() {
        let budget = Budget { hard: Some(ms(400)), ..BUDGET };
        let now = Counters { speed: Some(1250.0), second: 40, ..after(300) };
        assert_eq!(visits_left(&budget, &pace(), &now), Some(100));
    }

    #[test]
    fn without_a_budget_only_a_mate_stops() {
        let long = after(1_000_000);
        assert!(!stops(&Budget::default(), &long));
        assert!(!stops(&Budget::default(), &Counters { choices: 1, ..long }));
        assert!(stops(&Budget::default(), &Counters { mated: true, ..long }));
    }

    #[test]
    fn a_fixed_time_is_used_up_and_starts_anew_at_ponderhit() {
        let fixed = Budget { soft: None, hard: Some(ms(200)) };
        assert!(!stops(&fixed, &after(199)));
        assert!(stops(&fixed, &after(200)));
        let hit = Counters { elapsed: Some(ms(10)), ..after(5000) };
        assert!(!stops(&fixed, &hit));
        assert!(!stops(&fixed, &Counters { choices: 1, ..after(100) }));
    }

    #[test]
    fn an_empty_budget_stops_after_the_first_playout() {
        let none = Budget { soft: Some(ms(0)), hard: Some(ms(0)) };
        let mut now = Counters { visits: 1, ..after(0) };
        assert!(stops(&none, &now));
        now.visits = 0;
        assert!(!stops(&none, &now));
    }
}
