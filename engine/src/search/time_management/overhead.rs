//! Time lost per move outside the engine, measured from the clocks of successive `go` commands.

use std::time::Duration;

const MOVES: usize = 16;

/// Caps the measured overhead at 1/10 of the clock, in case an estimate is wrong.
const MAX_SHARE: u32 = 10;

/// Moves needed to measure the usual overhead. Until then, the option's value is assumed, at most 1/[`ASSUMED_SHARE`]
/// of the clock.
const MIN_MOVES: usize = 3;
const ASSUMED_SHARE: u32 = 200;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// Largest overhead to expect; this much of the clock is never used.
    pub margin: Duration,
    /// Expected overhead of each later move, usually much less.
    pub cost: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedMove {
    pub clock: Duration,
    pub increment: Duration,
    /// From `go` to `bestmove`, capped at the hard limit: the rest counts as overhead.
    pub time: Duration,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OverheadEstimate {
    costs: [Duration; MOVES],
    moves: usize,
}

impl OverheadEstimate {
    /// The overhead is `clock − time + increment − next`, where `next` is the clock at the next `go`. A negative
    /// overhead means a time control in between and is ignored.
    pub fn learn(&mut self, timed: TimedMove, next: Duration) {
        let cost = timed.clock.saturating_add(timed.increment).checked_sub(timed.time.saturating_add(next));
        if let Some(cost) = cost {
            self.costs[self.moves % MOVES] = cost;
            self.moves += 1;
        }
    }

    /// The second largest of the last 16: a single delay does not count.
    pub fn largest(&self) -> Duration {
        let mut costs = self.costs;
        costs.sort_unstable();
        costs[MOVES - 2]
    }

    /// Mean of the last 16 without the largest; `None` before three are known.
    pub fn usual(&self) -> Option<Duration> {
        let known = self.moves.min(MOVES);
        let mut costs = self.costs;
        let costs = costs.get_mut(..known).filter(|_| known >= MIN_MOVES)?;
        costs.sort_unstable();
        let (_, rest) = costs.split_last()?;
        rest.iter().sum::<Duration>().checked_div(u32::try_from(rest.len()).ok()?)
    }

    /// The margin is the option's value `set` or, if greater, the largest overhead, capped at a tenth of the clock. The
    /// cost is the usual overhead or, before that is known, `set`, capped at 1/200 of the clock.
    pub fn on(&self, clock: Option<Duration>, set: Duration) -> Overhead {
        let Some(clock) = clock else { return Overhead { margin: set, cost: set } };
        let margin = self.largest().min(clock / MAX_SHARE).max(set);
        let assumed = set.min(clock / ASSUMED_SHARE);
        Overhead { margin, cost: self.usual().unwrap_or(assumed).min(margin) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn spent(clock: u64, increment: u64, time: u64) -> TimedMove {
        TimedMove { clock: ms(clock), increment: ms(increment), time: ms(time) }
    }

    /// One-second moves with these overheads.
    fn after(costs: &[u64]) -> OverheadEstimate {
        let mut overhead = OverheadEstimate::default();
        for cost in costs {
            overhead.learn(spent(60_000, 0, 1000), ms(59_000 - cost));
        }
        overhead
    }

    #[test]
    fn an_overhead_is_the_clock_lost_beyond_the_search() {
        let mut overhead = OverheadEstimate::default();
        // 10 s, 0.9 s searched, 0.1 s added: 9.2 s expected, 9.05 s left.
        overhead.learn(spent(10_000, 100, 900), ms(9050));
        assert_eq!(overhead.largest(), ms(0), "a single delay does not count");
        overhead.learn(spent(9050, 100, 900), ms(8050));
        assert_eq!(overhead.largest(), ms(150), "150 ms, and 200 ms once");
    }

    #[test]
    fn a_refilled_clock_is_ignored() {
        let mut overhead = after(&[70, 80]);
        let before = overhead.clone();
        overhead.learn(spent(1000, 0, 500), ms(60_400));
        overhead.learn(spent(1000, 0, 500), ms(501));
        assert_eq!(overhead, before);
    }

    #[test]
    fn the_second_largest_of_the_last_sixteen_counts() {
        for (costs, estimate) in [
            (&[][..], 0),
            (&[40], 0),
            (&[40, 30], 30),
            (&[20, 30, 900, 25], 30),
            (&[20, 500, 900, 25], 500),
            (&[500, 900, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], 500),
            (&[500, 900, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], 1),
        ] {
            assert_eq!(after(costs).largest(), ms(estimate), "{costs:?}");
        }
    }

    #[test]
    fn the_larger_of_set_and_measured_holds_within_a_tenth_of_the_clock() {
        let learned = after(&[300, 300]);
        for (clock, set, margin) in [
            (Some(60_000), 100, 300),
            (Some(60_000), 400, 400),
            (Some(2000), 100, 200),
            (Some(500), 100, 100),
            (Some(0), 100, 100),
            (None, 100, 100),
        ] {
            assert_eq!(learned.on(clock.map(ms), ms(set)).margin, ms(margin), "{clock:?} −{set}");
        }
        assert_eq!(OverheadEstimate::default().on(Some(ms(60_000)), ms(100)).margin, ms(100));
    }

    /// A delay raises the margin but hardly the cost.
    #[test]
    fn the_cost_of_the_moves_to_come_is_the_usual_one_and_falls_again() {
        for (costs, usual) in [
            (&[][..], None),
            (&[1, 1], None),
            (&[1, 400, 1], Some(1)),
            (&[1, 401, 401], Some(201)),
            (&[402, 402, 402, 402, 2, 2, 2, 2, 2], Some(152)),
        ] {
            assert_eq!(after(costs).usual(), usual.map(ms), "{costs:?}");
        }
        let clock = Some(ms(60_000));
        let cost = |costs: &[u64]| after(costs).on(clock, ms(100));
        assert_eq!(cost(&[1]), Overhead { margin: ms(100), cost: ms(100) }, "too little is known");
        let unknown = OverheadEstimate::default().on(Some(ms(2000)), ms(100));
        assert_eq!(
            unknown,
            Overhead { margin: ms(100), cost: ms(10) },
            "not all of a short clock is reserved"
        );
        assert_eq!(cost(&[1, 1, 400]), Overhead { margin: ms(100), cost: ms(1) });
        assert_eq!(cost(&[400; 8]), Overhead { margin: ms(400), cost: ms(400) });
        assert_eq!(cost(&[[400; 8], [1; 8], [1; 8]].concat()), Overhead { margin: ms(100), cost: ms(1) });
        assert_eq!(cost(&[9000; 8]), Overhead { margin: ms(6000), cost: ms(6000) }, "a tenth of the clock");
    }
}
