//! What a move wins against every reply.

use shakmaty::{Chess, Move, Position, Square};

use super::material::{balance, settled, value_of};
use super::reasons::{GAIN, taken_on};
use crate::chess::mates::mate_in_one;
use crate::chess::position::played;

/// The balance of a side that is mated or has no move.
const LOST: i32 = -100_000;
/// Moves that the winning side may make between its first one and the capture that wins.
const QUIET_MOVES: u32 = 1;
/// Positions that one proof may visit.
const MOST_POSITIONS: u32 = 4000;
/// What the side that stops a pawn must lose for it at least, in centipawns.
const FOR_PAWN: i32 = 200;

/// Proves what a move wins against every reply. All amounts are in centipawns.
pub struct Proof<'a> {
    /// Before the move.
    pub position: &'a Chess,
    /// Begins with the move. The reply that follows is the best known and is not proven again: the line shows what is
    /// won against it.
    pub line: &'a [Move],
}

/// What a position must offer its side to move.
struct Claim {
    /// The balance before the first move.
    start: i32,
    /// Least that must be won by other means.
    least: i32,
    /// Least that the capture of a target must win.
    gain: i32,
    /// Positions that the proof may still visit.
    left: u32,
}

impl Proof<'_> {
    /// Whether the move wins at least `least` after every reply, counted when all captures that pay are made.
    pub fn wins(&self, least: i32) -> bool {
        self.claim(least).holds(&self.after(), &[], self.line.get(1).copied(), QUIET_MOVES)
    }

    /// Like [`Proof::wins`], but also true if the proof ran out of positions.
    pub fn may_win(&self, least: i32) -> bool {
        self.claim(least).may_hold(&self.after(), self.line.get(1).copied())
    }

    /// Whether a capture right after every reply wins at least `least`, even if the line gives some of it back later.
    pub fn wins_at_once(&self, least: i32) -> bool {
        self.claim(least).holds(&self.after(), &[], None, 0)
    }

    /// Whether every reply lets one of the pieces on `targets` be taken, wherever it went, so that at least `gain` is won.
    /// Unless a pawn is among the targets, a reply that loses the least valuable of them and `gain` elsewhere counts, too.
    pub fn takes(&self, targets: &[Square], gain: i32) -> bool {
        let after = self.after();
        let values = targets.iter().filter_map(|square| after.board().role_at(*square)).map(value_of);
        let least = values.filter(|value| *value > 0).min().unwrap_or(0);
        let least = if least == GAIN { i32::MAX } else { least.max(gain) };
        Claim { gain, ..self.claim(least) }.holds(&after, targets, self.line.get(1).copied(), QUIET_MOVES)
    }

    /// Whether the pawn promotes within so many moves whatever the other side plays, or costs it at least [`FOR_PAWN`] to
    /// stop.
    pub fn promotes(&self, pawn: Square, moves: usize) -> bool {
        self.claim(GAIN).is_promotion_forced(self.position, pawn, self.line, moves)
    }

    fn claim(&self, least: i32) -> Claim {
        Claim { start: balance(self.position), least, gain: least, left: MOST_POSITIONS }
    }

    fn after(&self) -> Chess {
        played(self.position, self.line[0])
    }
}

impl Claim {
    /// Whether the claim is met after every reply except `seen`, at once or after at most `moves` more moves.
    fn holds(&mut self, after: &Chess, targets: &[Square], seen: Option<Move>, moves: u32) -> bool {
        let replies = after.legal_moves();
        let is_answered = |reply: &Move| {
            let next = played(after, *reply);
            let targets: Vec<Square> = targets.iter().map(|square| moved(*square, *reply)).collect();
            self.is_met(&next, &targets)
                || moves > 0
                    && next
                        .legal_moves()
                        .iter()
                        .any(|m| self.left > 0 && self.holds(&played(&next, *m), &targets, None, moves - 1))
        };
        !replies.is_empty() && replies.iter().filter(|reply| Some(**reply) != seen).all(is_answered)
    }

    fn may_hold(&mut self, after: &Chess, seen: Option<Move>) -> bool {
        self.holds(after, &[], seen, QUIET_MOVES) || self.left == 0
    }

    /// Whether the side to move has won what is claimed, or wins it now: by mate, or by a capture after which it is not
    /// mated in one.
    fn is_met(&mut self, position: &Chess, targets: &[Square]) -> bool {
        self.left = self.left.saturating_sub(1);
        let (start, least, gain) = (self.start, self.least, self.gain);
        let pays = |m: &Move, least: i32| {
            let after = played(position, *m);
            (-settled(&after)).saturating_sub(start) >= least && mate_in_one(&after, &mut 0).is_none()
        };
        if position.capture_moves().iter().any(|m| targets.contains(&taken_on(*m)) && pays(m, gain)) {
            return true;
        }
        let best = best_of(position);
        best.saturating_sub(start) >= least
            && (best == -LOST
                || !position.is_check() && balance(position).saturating_sub(start) >= least
                || position.legal_moves().iter().any(|m| pays(m, least)))
    }

    /// The side to move plays `plan` or moves the pawn.
    fn is_promotion_forced(&mut self, position: &Chess, pawn: Square, plan: &[Move], moves: usize) -> bool {
        if moves == 0 || self.left == 0 {
            return false;
        }
        let legal = position.legal_moves();
        let planned = plan.first().copied().filter(|m| legal.contains(m));
        let own = legal.iter().copied().filter(|m| m.from() == Some(pawn) && Some(*m) != planned);
        planned.into_iter().chain(own).any(|m| {
            let after = played(position, m);
            if after.is_checkmate() || m.promotion().is_some() && m.from() == Some(pawn) {
                return after.is_checkmate() || self.holds(&after, &[], None, 0);
            }
            let pawn = moved(pawn, m);
            let replies = after.legal_moves();
            !replies.is_empty()
                && replies.into_iter().all(|reply| {
                    self.left = self.left.saturating_sub(1);
                    let next = played(&after, reply);
                    if taken_on(reply) == pawn {
                        return best_of(&next) - self.start >= FOR_PAWN;
                    }
                    let plan = if plan.get(1) == Some(&reply) { &plan[2..] } else { &[] };
                    self.is_promotion_forced(&next, pawn, plan, moves - 1)
                })
        })
    }
}

/// Where a piece stands after a move that may be its own.
fn moved(square: Square, m: Move) -> Square {
    if m.from() == Some(square) { m.to() } else { square }
}

/// The balance of the side to move once it has taken what pays, left a check or given mate.
fn best_of(position: &Chess) -> i32 {
    let legal = position.legal_moves();
    if legal.is_empty() {
        return LOST;
    }
    if mate_in_one(position, &mut 0).is_some() {
        return -LOST;
    }
    match position.is_check() {
        true => legal.iter().map(|m| -settled(&played(position, *m))).max().unwrap_or(LOST),
        false => settled(position),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::position::Game;

    fn with_proof<T>(fen: &str, first: &str, of: impl FnOnce(Proof<'_>) -> T) -> T {
        let game = Game::from_fen(fen).unwrap();
        of(Proof { position: game.position(), line: &[game.parse_uci(first).unwrap()] })
    }

    const FORK: &str = "r3k3/8/8/3N4/8/8/8/4K3 w - - 0 1";

    #[test]
    fn a_fork_wins_the_rook_and_no_more() {
        with_proof(FORK, "d5c7", |fork| {
            assert!(fork.wins(500) && !fork.wins(501));
            let both = [Square::A8, Square::E8];
            assert!(fork.takes(&both, 500) && !fork.takes(&both, 501));
            assert!(fork.wins_at_once(500));
        });
        let guarded = "r3k3/8/3b4/3N4/8/8/8/4K3 w - - 0 1";
        assert!(!with_proof(guarded, "d5c7", |fork| fork.wins(100)), "the bishop takes the knight");
    }

    #[test]
    fn a_pawn_that_steps_past_an_attacker_is_taken_in_passing() {
        // Black has d7-d6 and d7-d5 only. On d5 its other pawn defends it, so only the capture in passing wins it.
        with_proof("7k/3pN3/4p3/4P2K/8/8/8/8 w - - 0 1", "h5h6", |quiet| {
            assert!(quiet.takes(&[Square::D7], 100) && !quiet.takes(&[Square::D7], 101));
        });
    }

    #[test]
    fn what_takes_too_long_to_disprove_may_be_won() {
        with_proof(FORK, "d5c7", |fork| {
            assert!(fork.may_win(500) && !fork.may_win(501));
            let mut short = Claim { left: 1, ..fork.claim(501) };
            assert!(short.may_hold(&fork.after(), None));
        });
    }
}
