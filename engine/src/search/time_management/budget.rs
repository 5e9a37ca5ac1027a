use std::time::Duration;

use shakmaty::Color;

use super::overhead::Overhead;
use super::params::{TimeParams, scaled};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// A negative clock arrives as zero.
    pub time: Option<Duration>,
    pub increment: Duration,
}

/// All limits of a `go` apply together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GoLimits {
    pub movetime: Option<Duration>,
    pub white: Clock,
    pub black: Clock,
    /// Moves to the next time control; `None` in sudden death.
    pub movestogo: Option<u32>,
    /// Only `stop` ends the search, whatever the other limits.
    pub infinite: bool,
    /// The own clock starts at `ponderhit`.
    pub ponder: bool,
    pub nodes: Option<u64>,
    /// Mean path length in plies.
    pub depth: Option<u32>,
    pub mate: Option<u32>,
}

impl GoLimits {
    pub fn own(&self, side: Color) -> Clock {
        match side {
            Color::White => self.white,
            Color::Black => self.black,
        }
    }

    pub fn has_end(&self) -> bool {
        let clock = |clock: Clock| clock.time.is_some() || !clock.increment.is_zero();
        self.infinite
            || self.movetime.is_some()
            || clock(self.white)
            || clock(self.black)
            || self.nodes.is_some()
            || self.depth.is_some()
            || self.mate.is_some()
    }

    /// `None` if no clock was given. The opponent's time replaces a missing own time; with only increments, one
    /// increment counts as the time left. Otherwise such a search would never end.
    fn clock_for(&self, mover: Color) -> Option<Clock> {
        let (own, other) = (self.own(mover), self.own(!mover));
        let given = own.time.or(other.time);
        let increments = [own.increment, other.increment].into_iter().find(|increment| !increment.is_zero());
        let time = given.or(increments)?;
        Some(Clock { time: Some(time), increment: own.increment })
    }
}

/// Time for one move; `None` does not limit it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// From `go`; [`should_stop`](super::should_stop) scales it. Set only on a clock.
    pub soft: Option<Duration>,
    /// Since the own clock started.
    pub hard: Option<Duration>,
}

impl Budget {
    /// `number` counts moves from 1. The hard limit leaves the overhead margin of a clock unused, except a small share
    /// if hardly more is left ([`TimeParams::emergency_share`]). `movetime` is used in full: exceeding it loses
    /// nothing.
    pub fn new(
        limits: &GoLimits,
        mover: Color,
        number: u32,
        overhead: Overhead,
        params: &TimeParams,
    ) -> Budget {
        if limits.infinite {
            return Budget::default();
        }
        let moves = match limits.movestogo {
            Some(moves) if moves > 0 => params.moves_to_come(number).min(f64::from(moves)),
            _ => params.moves_to_come(number),
        };
        let clock = match limits.clock_for(mover) {
            Some(clock) => Budget::on_clock(clock, moves, overhead, params),
            None => Budget::default(),
        };
        Budget {
            soft: clock.soft,
            hard: match (clock.hard, limits.movetime) {
                (Some(clock), Some(fixed)) => Some(clock.min(fixed)),
                (clock, fixed) => clock.or(fixed),
            },
        }
    }

    fn on_clock(clock: Clock, moves: f64, overhead: Overhead, params: &TimeParams) -> Budget {
        let Overhead { margin, cost } = overhead;
        let time = clock.time.unwrap_or_default();
        let usable = time.saturating_sub(margin);
        let least = scaled(time.min(margin), params.emergency_share);
        if moves <= 1.0 {
            // The last move before the time control.
            let all = scaled(usable, 0.9).max(least);
            return Budget { soft: Some(all), hard: Some(all) };
        }
        // Reserve the overhead of the moves to come.
        let free = usable - scaled(cost, moves - 1.0).min(scaled(usable, params.cost_share));
        let saved = match margin.saturating_mul(params.reserve).as_secs_f64() {
            0.0 => 1.0,
            wanted => (usable.as_secs_f64() / wanted).min(1.0),
        };
        let fair = scaled(free, moves.recip());
        let increment = clock.increment.saturating_sub(cost);
        let share = fair.saturating_add(scaled(increment, params.increment_share * saved));
        let largest = scaled(free, params.largest_share);
        let most = if share > largest {
            // The increment pays for the next move, or the time control is near: only the usable time is the limit.
            share.min(scaled(usable, 0.9))
        } else {
            scaled(share, params.max_factor).min(largest)
        };
        Budget { soft: Some(share.min(most).max(least)), hard: Some(most.max(least)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn clock(time: u64, increment: u64) -> Clock {
        Clock { time: Some(ms(time)), increment: ms(increment) }
    }

    /// Before any measurement, each move is assumed to cost the whole overhead.
    fn flat(overhead: u64) -> Overhead {
        Overhead { margin: ms(overhead), cost: ms(overhead) }
    }

    /// Move 10, with 27.4 moves to come.
    fn budget(limits: &GoLimits, mover: Color, overhead: u64) -> Budget {
        Budget::new(limits, mover, 10, flat(overhead), &TimeParams::default())
    }

    #[test]
    fn without_a_time_limit_there_is_no_budget() {
        for limits in [
            GoLimits::default(),
            GoLimits { nodes: Some(100), ..GoLimits::default() },
            GoLimits { infinite: true, white: clock(1000, 0), movetime: Some(ms(10)), ..GoLimits::default() },
        ] {
            assert_eq!(budget(&limits, Color::White, 100), Budget::default());
        }
    }

    /// The overhead applies to clocks only.
    #[test]
    fn movetime_is_hard_and_used_up() {
        for movetime in [1000, 200, 100, 5, 0] {
            let limits = GoLimits { movetime: Some(ms(movetime)), ..GoLimits::default() };
            let budget = budget(&limits, Color::Black, 100);
            assert_eq!((budget.soft, budget.hard), (None, Some(ms(movetime))), "movetime {movetime}");
            let both = GoLimits { black: clock(60_000, 0), ..limits };
            assert_eq!(self::budget(&both, Color::Black, 100).hard, Some(ms(movetime)));
        }
    }

    /// The margin is the overhead, or 49/50 of the time left if the overhead exceeds it.
    #[test]
    fn no_clock_is_ever_overstepped() {
        let times = [0, 1, 50, 99, 100, 101, 150, 1000, 60_000, 86_400_000, u64::MAX];
        let increments = [0, 1, 10, 100, 1000, 600_000, u64::MAX];
        let togos = [None, Some(0), Some(1), Some(2), Some(40), Some(u32::MAX)];
        for time in times {
            for increment in increments {
                for togo in togos {
                    for overhead in [0, 1, 100, 5000] {
                        let limits = GoLimits {
                            white: clock(time, increment),
                            movestogo: togo,
                            ..GoLimits::default()
                        };
                        let budget = budget(&limits, Color::White, overhead);
                        let (soft, hard) = (budget.soft.unwrap(), budget.hard.unwrap());
                        let case = format!("{time}+{increment} {togo:?} −{overhead}: {budget:?}");
                        let emergency = scaled(ms(time.min(overhead)), 0.02);
                        assert!(soft <= hard, "{case}");
                        assert!(hard <= ms(time.saturating_sub(overhead)).max(emergency), "{case}");
                        assert!(soft >= emergency, "{case}");
                        assert!(hard < ms(time) || time == 0 || overhead == 0, "{case}");
                    }
                }
            }
        }
    }

    /// Every move takes its hard limit plus a real overhead. The flag never falls if the increment exceeds the
    /// overhead, nor in a game of usual length without increment.
    #[test]
    fn a_clock_survives_a_game_in_which_every_move_takes_all_it_may() {
        for (start, increment, togo, cost, moves) in [
            (1000, 10, None, 8, 300),
            (1000, 100, None, 80, 300),
            (5000, 50, None, 40, 300),
            (60_000, 0, Some(40), 50, 300),
            (60_000, 0, Some(40), 75, 300),
            (60_000, 0, None, 50, 60),
            (10_000, 0, None, 5, 90),
        ] {
            let mut left: u64 = start;
            for number in 0..moves {
                let togo = togo.map(|togo: u32| togo - number % togo);
                let limits =
                    GoLimits { black: clock(left, increment), movestogo: togo, ..GoLimits::default() };
                let hard = budget(&limits, Color::Black, 100).hard.unwrap();
                let spent = u64::try_from(hard.as_millis()).unwrap() + cost;
                assert!(spent < left, "{start}+{increment}, move {number}: {spent} of {left} ms");
                left = left - spent + increment;
                if togo == Some(1) {
                    left += start;
                }
            }
        }
    }

    #[test]
    fn a_clock_below_the_overhead_still_allows_a_fiftieth_of_it() {
        for (time, togo, least) in
            [(100, None, 2000), (60, None, 1200), (80, Some(1), 1600), (102, Some(1), 2000), (0, None, 0)]
        {
            let limits = GoLimits { white: clock(time, 10), movestogo: togo, ..GoLimits::default() };
            let least = Duration::from_micros(least);
            let expected = Budget { soft: Some(least), hard: Some(least) };
            assert_eq!(budget(&limits, Color::White, 100), expected, "{time} ms");
        }
    }

    /// Four fifths of the usable time pay for overheads to come, the rest for 27.4 moves. Of the increment above the
    /// overhead, 0.8 is used if two overheads are usable, otherwise proportionally less.
    #[test]
    fn increments_are_saved_up_while_the_clock_is_low() {
        let params = TimeParams { largest_share: 1.0, ..TimeParams::default() };
        let moves = params.moves_to_come(10);
        let soft = |time, params: &TimeParams| {
            let limits = GoLimits { white: clock(time, 200), ..GoLimits::default() };
            Budget::new(&limits, Color::White, 10, flat(100), params).soft.unwrap().as_secs_f64() * 1000.0
        };
        for (time, expected) in
            [(900, 160.0 / moves + 80.0), (300, 40.0 / moves + 80.0), (200, 20.0 / moves + 40.0)]
        {
            let soft = soft(time, &params);
            assert!((soft - expected).abs() < 0.01, "{time} ms: {soft:?}");
        }
        assert!(soft(300, &TimeParams { reserve: 4, ..params }) < soft(300, &params));
        assert!(soft(900, &TimeParams { increment_share: 0.5, ..params }) < soft(900, &params));
    }

    #[test]
    fn cheap_moves_to_come_need_no_reserve() {
        let limits = GoLimits { white: clock(1000, 0), ..GoLimits::default() };
        let soft = |cost| {
            let overhead = Overhead { margin: ms(100), cost: ms(cost) };
            Budget::new(&limits, Color::White, 10, overhead, &TimeParams::default()).soft.unwrap()
        };
        let expected =
            |free: f64| Duration::from_secs_f64(free / 1000.0 / TimeParams::default().moves_to_come(10));
        let close = |found: Duration, wanted: Duration| found.abs_diff(wanted) < Duration::from_micros(1);
        assert!(close(soft(0), expected(900.0)), "{:?}", soft(0));
        assert!(close(soft(100), expected(180.0)), "at most four fifths of it are reserved");
        let half = TimeParams { cost_share: 0.5, ..TimeParams::default() };
        let overhead = Overhead { margin: ms(100), cost: ms(100) };
        let soft_at_half = Budget::new(&limits, Color::White, 10, overhead, &half).soft.unwrap();
        assert!(close(soft_at_half, expected(450.0)));
        assert!(soft(1) < soft(0) && soft(1) > soft(100));
    }

    #[test]
    fn increments_pay_for_the_cost_of_moves_first() {
        let params = TimeParams::default();
        let mut left = ms(1000);
        for number in 9..109 {
            let overhead = Overhead { margin: ms(100), cost: ms(9) };
            let limits =
                GoLimits { white: Clock { time: Some(left), increment: ms(10) }, ..GoLimits::default() };
            let soft = Budget::new(&limits, Color::White, number, overhead, &params).soft.unwrap();
            left = left - soft - ms(9) + ms(10);
        }
        assert!(left > ms(100), "{left:?}");
    }

    #[test]
    fn later_moves_get_a_larger_share_and_a_control_ahead_counts() {
        let soft = |number, togo| {
            let limits = GoLimits { white: clock(60_000, 0), movestogo: togo, ..GoLimits::default() };
            Budget::new(&limits, Color::White, number, flat(0), &TimeParams::default()).soft.unwrap()
        };
        assert!(soft(1, None) < soft(15, None) && soft(15, None) < soft(40, None));
        assert_eq!(soft(1, Some(10)), ms(6000));
        assert_eq!(soft(1, Some(100)), soft(1, None));
    }

    #[test]
    fn the_hard_limit_is_so_many_soft_ones_within_a_share_of_the_clock() {
        let limits = |togo| GoLimits { white: clock(60_000, 0), movestogo: togo, ..GoLimits::default() };
        let budget = |togo, params: &TimeParams| Budget::new(&limits(togo), Color::White, 1, flat(0), params);
        let params = TimeParams::default();
        assert_eq!(budget(Some(20), &params), Budget { soft: Some(ms(3000)), hard: Some(ms(12_000)) });
        assert_eq!(budget(Some(3), &params).hard, Some(ms(24_000)), "two fifths");
        assert_eq!(budget(Some(20), &TimeParams { max_factor: 2.0, ..params }).hard, Some(ms(6000)));
        assert_eq!(budget(Some(3), &TimeParams { largest_share: 0.5, ..params }).hard, Some(ms(30_000)));
        let low = GoLimits { white: clock(50, 0), ..GoLimits::default() };
        for (emergency_share, least) in [(0.02, 1000), (0.1, 5000)] {
            let params = TimeParams { emergency_share, ..params };
            let soft = Budget::new(&low, Color::White, 1, flat(100), &params).soft;
            assert_eq!(soft, Some(Duration::from_micros(least)));
        }
    }

    #[test]
    fn the_soft_limit_leaves_time_for_the_game() {
        let limits = |white, togo| GoLimits { white, movestogo: togo, ..GoLimits::default() };
        // (clock, moves to go, least and most soft milliseconds)
        for (white, togo, least, most) in [
            (clock(60_000, 0), None, 1500, 3000),
            (clock(60_000, 1000), None, 2000, 4000),
            (clock(60_000, 0), Some(2), 20_000, 30_000),
            (clock(60_000, 0), Some(1), 50_000, 59_900),
            // A move is assumed to cost ten increments.
            (clock(1000, 10), None, 6, 60),
            // An increment above the time left: spend it, with a margin.
            (clock(300, 5000), None, 150, 200),
        ] {
            let soft = budget(&limits(white, togo), Color::White, 100).soft.unwrap();
            assert!(ms(least) <= soft && soft <= ms(most), "{white:?} {togo:?}: {soft:?}");
        }
    }

    #[test]
    fn the_movers_clock_counts_and_a_missing_one_is_guessed() {
        let both = GoLimits { white: clock(10_000, 0), black: clock(1000, 0), ..GoLimits::default() };
        assert!(budget(&both, Color::White, 0).hard > budget(&both, Color::Black, 0).hard);

        let white_only = GoLimits { white: clock(100, 0), ..GoLimits::default() };
        let guessed = budget(&white_only, Color::Black, 10);
        assert_eq!(guessed, budget(&white_only, Color::White, 10));
        assert!(guessed.hard.is_some_and(|hard| hard <= ms(90)));

        let increment_only =
            GoLimits { black: Clock { time: None, increment: ms(200) }, ..GoLimits::default() };
        for mover in [Color::Black, Color::White] {
            assert!(budget(&increment_only, mover, 100).hard.unwrap() <= ms(100), "{mover}");
        }
    }
}
