//! The one question: stop now?

use std::time::Duration;

use super::Budget;

/// What the rule may look at: a search, as numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Since `go`.
    pub thought: Duration,
    /// Since the own clock runs: as `thought`, or since `ponderhit`; `None` while pondering.
    pub elapsed: Option<Duration>,
    /// Since another move became the best.
    pub settled: Duration,
    /// The longest that a round of the search has lately taken: how late "stop" may be heard.
    pub latency: Duration,
    /// Playouts of this search.
    pub visits: u64,
    /// Moves the search chooses from.
    pub choices: usize,
    /// A mate was asked for, and found.
    pub mated: bool,
}

/// A best move is settled when it has stood for this part (one in …) of the fair share.
const SETTLED: u32 = 5;

/// Whether the search should end now.
///
/// Until the first playout is in there is nothing to play, so it never stops before that; while
/// pondering only the GUI ends it. A rule for moves that can't be overtaken any more belongs here.
pub fn should_stop(budget: &Budget, now: &Counters) -> bool {
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
    budget.soft.is_some_and(|soft| {
        let forced = now.choices == 1;
        forced || (now.thought >= soft && now.settled >= soft / SETTLED)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A search with plenty of choice that has thought for so long on its own clock.
    fn after(time: u64) -> Counters {
        Counters {
            thought: ms(time),
            elapsed: Some(ms(time)),
            settled: ms(time),
            visits: 10,
            choices: 20,
            ..Counters::default()
        }
    }

    const BUDGET: Budget =
        Budget { soft: Some(Duration::from_millis(100)), hard: Some(Duration::from_millis(300)) };

    #[test]
    fn the_rule_as_a_table() {
        let cases = [
            ("early", after(50), false),
            ("fair share used, settled", after(100), true),
            ("fair share used, the best move is new", Counters { settled: ms(5), ..after(150) }, false),
            ("hard limit, settled or not", Counters { settled: ms(0), ..after(300) }, true),
            (
                "the next round would overstep",
                Counters { settled: ms(0), latency: ms(30), ..after(280) },
                true,
            ),
            ("nothing to play yet", Counters { visits: 0, ..after(1000) }, false),
            ("pondering", Counters { elapsed: None, ..after(1000) }, false),
            ("ponderhit after long thought", Counters { elapsed: Some(ms(0)), ..after(1000) }, true),
            ("one legal move", Counters { choices: 1, ..after(1) }, true),
            ("the mate asked for", Counters { mated: true, ..after(1) }, true),
        ];
        for (name, counters, expected) in cases {
            assert_eq!(should_stop(&BUDGET, &counters), expected, "{name}");
        }
    }

    #[test]
    fn without_a_budget_only_a_mate_stops() {
        let long = after(1_000_000);
        assert!(!should_stop(&Budget::default(), &long));
        assert!(!should_stop(&Budget::default(), &Counters { choices: 1, ..long }));
        assert!(should_stop(&Budget::default(), &Counters { mated: true, ..long }));
    }

    #[test]
    fn a_fixed_time_is_used_up_and_starts_anew_at_ponderhit() {
        let fixed = Budget { soft: None, hard: Some(ms(200)) };
        assert!(!should_stop(&fixed, &after(199)));
        assert!(should_stop(&fixed, &after(200)));
        let hit = Counters { elapsed: Some(ms(10)), ..after(5000) };
        assert!(!should_stop(&fixed, &hit));
        assert!(!should_stop(&fixed, &Counters { choices: 1, ..after(100) }));
    }

    #[test]
    fn an_empty_budget_stops_after_the_first_playout() {
        let none = Budget { soft: Some(ms(0)), hard: Some(ms(0)) };
        let mut now = after(0);
        assert!(should_stop(&none, &now));
        now.visits = 0;
        assert!(!should_stop(&none, &now));
    }
}
