use std::time::Duration;

/// How a clock is divided among the moves to come, and when a move gets more or less. The factors of
/// [`soft_factor`](super::soft_factor) simplify Monty's (`src/mcts/helpers.rs`, `soft_time_cutoff`), with own
/// constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeParams {
    /// Midpoint of [`TimeParams::moves_to_come`], lc0's log-logistic estimate with Caissa's constants
    /// (`TimeManager.cpp`).
    pub midpoint: f32,
    pub steepness: f64,
    /// Weight of the growth of the expected game length after `midpoint`.
    pub spread: f64,
    /// Share of the increment, less the move's overhead, to spend; the rest covers unmeasured overheads.
    pub increment_share: f64,
    /// Largest share of the clock, less the margin, to reserve for overheads of later moves.
    pub cost_share: f64,
    /// If fewer margins than this are usable, proportionally less of the increment is spent: a busy machine may be late
    /// by more than one margin.
    pub reserve: u32,
    /// Caps the hard limit at this share of the time left after later moves' overheads. A larger soft limit is not
    /// capped: with a large increment, or few moves to the time control.
    pub largest_share: f64,
    /// Share of the time left to use even if the margin leaves nothing: a few dozen visits risk less than no search.
    pub emergency_share: f64,

    pub max_factor: f64,
    /// Soft-limit factor for a best move without visits.
    pub visits_base: f32,
    /// Decrease of this factor as the best move's share of visits grows from 0 to 1.
    pub visits_slope: f32,
    /// Adds `ln(1 + instability · recent changes of the best move)` to the factor.
    pub instability: f32,
    /// Increase of the factor per unit that Q (−1..1) fell since the previous move's search.
    pub falling: f32,
    pub falling_min: f64,
    pub falling_max: f64,
    /// Visits before which neither the soft limit nor smart pruning ends a search.
    pub min_visits: u64,
    /// Ends the move when the second most visited move is behind by more than the expected visits divided by this
    /// (lc0's `SmartPruningFactor`). 0 is off.
    pub smart_pruning: f32,
}

impl Default for TimeParams {
    fn default() -> TimeParams {
        TimeParams {
            midpoint: 35.0,
            steepness: 2.2,
            spread: 1.5,
            increment_share: 0.8,
            cost_share: 0.8,
            reserve: 2,
            largest_share: 0.4,
            emergency_share: 0.02,
            max_factor: 4.0,
            visits_base: 2.33,
            visits_slope: 0.87,
            instability: 0.13,
            falling: 6.0,
            falling_min: 0.85,
            falling_max: 1.6,
            min_visits: 32,
            smart_pruning: 1.44,
        }
    }
}

impl TimeParams {
    /// Moves to divide the clock by at move `number` (from 1), without `movestogo`: about 34 at first, 19 at move 30,
    /// and never much less, because the game may go on.
    pub fn moves_to_come(&self, number: u32) -> f64 {
        let (number, midpoint) = (f64::from(number), f64::from(self.midpoint));
        let grown = 1.0 + self.spread * (number / midpoint).powf(self.steepness);
        (midpoint * grown.powf(self.steepness.recip()) - number).max(1.0)
    }
}

/// Saturates.
pub(super) fn scaled(time: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(time.as_secs_f64() * factor).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moves_to_come_fall_with_the_length_of_the_game() {
        let params = TimeParams::default();
        for (number, moves) in [(1, 34.0), (10, 26.5), (20, 21.3), (30, 18.7), (40, 17.8), (80, 20.8)] {
            let found = params.moves_to_come(number);
            assert!((found - moves).abs() < 0.1, "move {number}: {found}");
        }
        for other in [
            TimeParams { midpoint: 40.0, ..params },
            TimeParams { steepness: 3.0, ..params },
            TimeParams { spread: 2.0, ..params },
        ] {
            assert!((other.moves_to_come(30) - params.moves_to_come(30)).abs() > 0.1, "{other:?}");
        }
    }
}
