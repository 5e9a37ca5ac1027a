//! Keeps account of moves and clocks from one `go` to the next, to learn what a move costs.

use std::time::Duration;

use shakmaty::{Board, Color, Move, Position};

use crate::position::Game;
use crate::time::{Clock, Overhead, Spent};

/// The overhead of this GUI, and the last move that was made on its clock.
#[derive(Debug, Default)]
pub struct Ledger {
    overhead: Overhead,
    last: Option<Made>,
}

/// A move that was made on a clock.
#[derive(Debug)]
struct Made {
    mover: Color,
    /// Plies played before it.
    ply: usize,
    /// What it led to.
    board: Board,
    spent: Spent,
}

impl Ledger {
    /// Learns from the clock that a `go` on `game` tells, if the game went on from the last move by
    /// just the reply to it. Then says what a move costs on that clock, `told` being what the user
    /// reckons with.
    ///
    /// A `go ponder` is not to be learned from: it comes at once after the move, and not every GUI
    /// has set the clock by then.
    pub fn overhead(&mut self, game: &Game, clock: Clock, ponder: bool, told: Duration) -> Duration {
        if let (false, Some(time)) = (ponder, clock.time)
            && let Some(made) = self.last.take()
            && made.mover == game.turn()
            && made.ply + 2 == game.ply()
            && game.past().last().is_some_and(|past| past.board == made.board)
        {
            self.overhead.learn(made.spent, time);
        }
        self.overhead.on(clock.time, told)
    }

    /// Notes the answer to a `go` that told `clock` and wasn't `ponder`: the move `m` in `game`,
    /// after `time`.
    pub fn note(&mut self, game: &Game, m: Move, clock: Clock, time: Duration) {
        let mut after = game.clone();
        after.play(m);
        self.last = clock.time.map(|told| Made {
            mover: game.turn(),
            ply: game.ply(),
            board: after.position().board().clone(),
            spent: Spent { clock: told, increment: clock.increment, time },
        });
    }

    /// The next game's clocks have nothing to do with this one's; what a move costs stays known.
    pub fn new_game(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: Duration = Duration::from_millis(10);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn clock(time: u64) -> Clock {
        Clock { time: Some(ms(time)), increment: ms(100) }
    }

    fn game(moves: &str) -> Game {
        Game::from_uci(None, moves.split_whitespace()).unwrap()
    }

    fn note(ledger: &mut Ledger, moves: &str, m: &str, told: u64, time: u64) {
        let game = game(moves);
        ledger.note(&game, game.parse_uci(m).unwrap(), clock(told), ms(time));
    }

    /// A ledger that has seen two moves cost 150 ms each, the second one at `moves`.
    fn learned() -> Ledger {
        let mut ledger = Ledger::default();
        note(&mut ledger, "", "e2e4", 10_000, 1000);
        assert_eq!(ledger.overhead(&game("e2e4 e7e5"), clock(8950), false, TOLD), TOLD);
        note(&mut ledger, "e2e4 e7e5", "g1f3", 8950, 1000);
        ledger
    }

    #[test]
    fn a_game_that_goes_on_teaches() {
        let mut ledger = learned();
        let next = game("e2e4 e7e5 g1f3 b8c6");
        assert_eq!(ledger.overhead(&next, clock(7900), false, TOLD), ms(150));
        // Asked again, the same move isn't learned from twice.
        assert_eq!(ledger.overhead(&next, clock(1), false, TOLD), TOLD);
        assert_eq!(ledger.overhead(&next, clock(7900), false, TOLD), ms(150));
        assert_eq!(ledger.overhead(&next, Clock::default(), false, TOLD), TOLD);
    }

    #[test]
    fn any_other_position_teaches_nothing() {
        for moves in [
            "e2e4 e7e5 g1f3",
            "e2e4 e7e5",
            "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6",
            "e2e4 e7e5 b1c3 b8c6",
            "d2d4 d7d5 g1f3 b8c6",
            "",
        ] {
            let mut ledger = learned();
            assert_eq!(ledger.overhead(&game(moves), clock(1000), false, TOLD), TOLD, "{moves}");
            assert_eq!(ledger.overhead(&game(moves), clock(60_000), false, TOLD), TOLD, "{moves}");
        }
        let mut ledger = learned();
        ledger.new_game();
        let next = game("e2e4 e7e5 g1f3 b8c6");
        assert_eq!(ledger.overhead(&next, clock(7900), false, TOLD), TOLD);
    }

    /// The GUI guessed the reply, let the engine ponder, and the guess was wrong.
    #[test]
    fn pondering_on_the_wrong_move_does_not_disturb() {
        let mut ledger = learned();
        assert_eq!(ledger.overhead(&game("e2e4 e7e5 g1f3 d7d6"), clock(100), true, TOLD), TOLD);
        assert_eq!(ledger.overhead(&game("e2e4 e7e5 g1f3 b8c6"), clock(7900), false, TOLD), ms(150));
    }

    /// … and was right: its clock is not the one that the move was made on, so this isn't noted.
    #[test]
    fn a_ponder_hit_ends_the_account() {
        let mut ledger = learned();
        let _ = ledger.overhead(&game("e2e4 e7e5 g1f3 b8c6"), clock(7900), true, TOLD);
        let later = game("e2e4 e7e5 g1f3 b8c6 f1b5 a7a6");
        assert_eq!(ledger.overhead(&later, clock(1000), false, TOLD), TOLD);
    }

    #[test]
    fn a_move_on_no_clock_is_no_account() {
        let mut ledger = learned();
        let start = game("e2e4 e7e5");
        let m = start.position().legal_moves()[0];
        ledger.note(&start, m, Clock::default(), ms(1000));
        assert!(ledger.last.is_none());
    }
}
