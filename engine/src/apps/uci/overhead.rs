//! Measures the overhead per move from the clocks of consecutive `go`s.

use std::time::Duration;

use shakmaty::Move;

use super::made_move::MadeMove;
use crate::chess::position::Game;
use crate::search::time_management::{Clock, Overhead, OverheadEstimate, TimedMove};

#[derive(Debug, Default)]
pub struct OverheadTracker {
    estimate: OverheadEstimate,
    last: Option<(MadeMove, TimedMove)>,
}

impl OverheadTracker {
    /// Returns the overhead, and first learns from the clock if `game` is the recorded move plus one reply. Learns
    /// nothing from `go ponder`, which some GUIs send before they update the clock. `set` is the option's value.
    pub fn on(&mut self, game: &Game, clock: Clock, ponder: bool, set: Duration) -> Overhead {
        if let (false, Some(time)) = (ponder, clock.time)
            && let Some((made, timed)) = self.last.take()
            && made.is_before(game)
        {
            self.estimate.learn(timed, time);
        }
        self.estimate.on(clock.time, set)
    }

    /// Records a move made `time` after a `go`. Not for `go ponder`, whose clock starts later.
    pub fn note(&mut self, game: &Game, m: Move, clock: Clock, time: Duration) {
        let timed = |left| TimedMove { clock: left, increment: clock.increment, time };
        self.last = clock.time.map(|left| (MadeMove::new(game, m), timed(left)));
    }

    /// Keeps the estimate.
    pub fn new_game(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: Duration = Duration::from_millis(10);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn clock(time: u64) -> Clock {
        Clock { time: Some(ms(time)), increment: ms(100) }
    }

    fn game(moves: &str) -> Game {
        Game::from_uci(None, moves.split_whitespace()).unwrap()
    }

    fn note(tracker: &mut OverheadTracker, moves: &str, m: &str, left: u64, time: u64) {
        let game = game(moves);
        tracker.note(&game, game.parse_uci(m).unwrap(), clock(left), ms(time));
    }

    /// Returns a tracker that has measured 150 ms and recorded a second move.
    fn learned() -> OverheadTracker {
        let mut tracker = OverheadTracker::default();
        note(&mut tracker, "", "e2e4", 10_000, 1000);
        assert_eq!(tracker.on(&game("e2e4 e7e5"), clock(8950), false, SET).margin, SET);
        note(&mut tracker, "e2e4 e7e5", "g1f3", 8950, 1000);
        tracker
    }

    #[test]
    fn a_continued_game_is_measured() {
        let mut tracker = learned();
        let next = game("e2e4 e7e5 g1f3 b8c6");
        assert_eq!(tracker.on(&next, clock(7900), false, SET).margin, ms(150));
        assert_eq!(tracker.on(&next, clock(1), false, SET).margin, SET);
        assert_eq!(tracker.on(&next, clock(7900), false, SET).margin, ms(150));
        assert_eq!(tracker.on(&next, Clock::default(), false, SET).margin, SET);
    }

    #[test]
    fn any_other_position_is_not_measured() {
        for moves in [
            "e2e4 e7e5 g1f3",
            "e2e4 e7e5",
            "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6",
            "e2e4 e7e5 b1c3 b8c6",
            "d2d4 d7d5 g1f3 b8c6",
            "",
        ] {
            let mut tracker = learned();
            assert_eq!(tracker.on(&game(moves), clock(1000), false, SET).margin, SET, "{moves}");
            assert_eq!(tracker.on(&game(moves), clock(60_000), false, SET).margin, SET, "{moves}");
        }
        let mut tracker = learned();
        tracker.new_game();
        let next = game("e2e4 e7e5 g1f3 b8c6");
        assert_eq!(tracker.on(&next, clock(7900), false, SET).margin, SET);
    }

    #[test]
    fn pondering_on_the_wrong_move_does_not_matter() {
        let mut tracker = learned();
        assert_eq!(tracker.on(&game("e2e4 e7e5 g1f3 d7d6"), clock(100), true, SET).margin, SET);
        assert_eq!(tracker.on(&game("e2e4 e7e5 g1f3 b8c6"), clock(7900), false, SET).margin, ms(150));
    }

    /// The clock began at `ponderhit`, not at `go`, so the move is not recorded.
    #[test]
    fn a_move_after_ponderhit_is_not_measured() {
        let mut tracker = learned();
        let _ = tracker.on(&game("e2e4 e7e5 g1f3 b8c6"), clock(7900), true, SET);
        let later = game("e2e4 e7e5 g1f3 b8c6 f1b5 a7a6");
        assert_eq!(tracker.on(&later, clock(1000), false, SET).margin, SET);
    }

    #[test]
    fn a_move_without_a_clock_is_not_noted() {
        let mut tracker = learned();
        let start = game("e2e4 e7e5");
        let m = start.legal_moves()[0];
        tracker.note(&start, m, Clock::default(), ms(1000));
        assert!(tracker.last.is_none());
    }
}
