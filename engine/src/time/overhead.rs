//! What a move costs outside the engine, learned from the clocks that it is sent.

use std::time::Duration;

/// Moves that are remembered.
const MOVES: usize = 16;

/// Part of a clock (one in …) that a learned overhead may count for: a guess must not eat the game.
const SHARE: u32 = 10;

/// A move that was made on a clock, as the engine saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    /// The own clock when `go` came.
    pub clock: Duration,
    /// What the move adds to it.
    pub increment: Duration,
    /// From `go` to `bestmove`.
    pub time: Duration,
}

/// The costs of the last moves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    costs: [Duration; MOVES],
    moves: usize,
}

impl Overhead {
    /// Learns from a move and the own clock at the next `go` of the same game, which together show
    /// what the move cost: `clock − time + increment − next`.
    ///
    /// A clock that has more than it could have was refilled, and tells nothing.
    pub fn learn(&mut self, spent: Spent, next: Duration) {
        let cost = spent.clock.saturating_add(spent.increment).checked_sub(spent.time.saturating_add(next));
        if let Some(cost) = cost {
            self.costs[self.moves % MOVES] = cost;
            self.moves += 1;
        }
    }

    /// What a move may well cost: the second largest of the last sixteen costs, so that one hiccup
    /// is no habit, and a habit is forgotten when it ends.
    pub fn estimate(&self) -> Duration {
        let mut costs = self.costs;
        costs.sort_unstable();
        costs[MOVES - 2]
    }

    /// The overhead to reckon with on this clock: the `told` one, or more if more was seen, up to
    /// a tenth of what is left.
    pub fn on(&self, clock: Option<Duration>, told: Duration) -> Duration {
        clock.map_or(told, |clock| self.estimate().min(clock / SHARE).max(told))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn spent(clock: u64, increment: u64, time: u64) -> Spent {
        Spent { clock: ms(clock), increment: ms(increment), time: ms(time) }
    }

    /// Moves of one second on a clock that never changes, costing this much each.
    fn after(costs: &[u64]) -> Overhead {
        let mut overhead = Overhead::default();
        for cost in costs {
            overhead.learn(spent(60_000, 0, 1000), ms(59_000 - cost));
        }
        overhead
    }

    #[test]
    fn a_cost_is_what_the_clock_lost_beyond_the_thinking() {
        let mut overhead = Overhead::default();
        // 10 s, 0.9 s thought, 0.1 s added: 9.2 s are due, and 9.05 s are there.
        overhead.learn(spent(10_000, 100, 900), ms(9050));
        assert_eq!(overhead.estimate(), ms(0), "once is not a habit");
        overhead.learn(spent(9050, 100, 900), ms(8050));
        assert_eq!(overhead.estimate(), ms(150), "150 ms, and 200 ms once");
    }

    #[test]
    fn a_refilled_clock_tells_nothing() {
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
            assert_eq!(after(costs).estimate(), ms(estimate), "{costs:?}");
        }
    }

    #[test]
    fn the_larger_of_told_and_learned_holds_within_a_tenth_of_the_clock() {
        let learned = after(&[300, 300]);
        for (clock, told, overhead) in [
            (Some(60_000), 100, 300),
            (Some(60_000), 400, 400),
            (Some(2000), 100, 200),
            (Some(500), 100, 100),
            (Some(0), 100, 100),
            (None, 100, 100),
        ] {
            assert_eq!(learned.on(clock.map(ms), ms(told)), ms(overhead), "{clock:?} −{told}");
        }
        assert_eq!(Overhead::default().on(Some(ms(60_000)), ms(100)), ms(100));
    }
}
