//! Which moves at the root keep what can be reached.
//!
//! The tables know the distance to the next capture or pawn move (DTZ) as if the fifty-move rule's
//! counter stood at zero. The game's counter may not, and a distance may be one ply longer than the
//! table says ([`MaybeRounded`]), so a win is certain only if its distance and the counter leave
//! room for that ply. The ranking is that of Stockfish's `root_probe`.

use shakmaty::{Move, Position};
use shakmaty_syzygy::{Dtz, MaybeRounded, SyzygyError};

use super::{TableResult, Tables};
use crate::position::Game;

/// Plies without capture or pawn move that make a draw.
const FIFTY_MOVES: i32 = 100;

/// A move at the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootMove {
    /// The move.
    pub m: Move,
    /// Plies to the next capture, pawn move or mate with best play, this move included: positive if
    /// the mover wins when nobody counts moves, negative if he loses, 0 in a draw. May be one ply
    /// too short.
    pub dtz: i32,
}

/// The moves that are worth playing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootMoves {
    /// What they lead to, for the mover.
    pub outcome: TableResult,
    /// All legal moves that do, best first: the fastest win, the longest defence. Never empty.
    pub moves: Vec<RootMove>,
    /// Positions that were looked up.
    pub hits: u64,
}

/// How good a move is, from the worst; moves of the same class lead to the same end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// Lost in time.
    Loss,
    /// Lost if nobody counted moves, but drawn.
    BlessedLoss,
    Draw,
    /// Won if nobody counted moves, but drawn if the defence is right.
    CursedWin,
    /// Won in time.
    Win,
}

struct Ranked {
    m: Move,
    dtz: i32,
    class: Class,
}

impl Tables {
    /// The moves that keep the best result that can be reached in this game, by DTZ.
    ///
    /// Wins that still come in time all count as kept, unless the position has stood before since
    /// the last capture or pawn move: then only the fastest does, so that a player who shuffles
    /// makes progress before it is a draw. So it is with wins and losses that the fifty-move rule is
    /// about to turn into draws, where every ply counts.
    ///
    /// `None` without a legal move, with castling rights or too many pieces, or if a table is
    /// missing or damaged.
    pub fn root(&self, game: &Game) -> Option<RootMoves> {
        let legal = game.legal_moves();
        if legal.is_empty() || !self.covers(game.position()) {
            return None;
        }
        let ranked: Result<Vec<Ranked>, SyzygyError> = legal.iter().map(|&m| self.rank(game, m)).collect();
        let mut ranked = ranked.map_err(|error| self.shared.note_probe(&error)).ok()?;
        let hits = ranked.len() as u64;
        // The fastest win first, the slowest loss first: of negative distances that is the least.
        ranked.sort_by_key(|a| (std::cmp::Reverse(a.class), a.dtz));
        let best = ranked.first()?.class;
        let (class, dtz, clock) = (best, ranked.first()?.dtz, clock(game));
        let every_ply_counts = match class {
            Class::Win => self.rules.fifty_moves && has_repeated(game),
            Class::CursedWin | Class::BlessedLoss => true,
            Class::Draw => false,
            // The opponent may lose his way for as long again.
            Class::Loss => self.rules.fifty_moves && 2 * -dtz + clock >= FIFTY_MOVES,
        };
        ranked.retain(|r| r.class == class && (!every_ply_counts || r.dtz == dtz));
        let outcome = match class {
            Class::Win => TableResult::Win,
            Class::Loss => TableResult::Loss,
            Class::CursedWin | Class::Draw | Class::BlessedLoss => TableResult::Draw,
        };
        let moves = ranked.into_iter().map(|Ranked { m, dtz, .. }| RootMove { m, dtz }).collect();
        Some(RootMoves { outcome, moves, hits })
    }

    fn rank(&self, game: &Game, m: Move) -> Result<Ranked, SyzygyError> {
        let mut after = game.clone();
        after.play(m);
        let dtz = self.dtz_of(m, &after)?;
        // By the moves alone; now the game, with its counter and its past.
        let class = if after.repetitions() >= 2 { Class::Draw } else { self.class(dtz, clock(game)) };
        let dtz = if class == Class::Draw { 0 } else { i32::from(dtz.ignore_rounding()) };
        Ok(Ranked { m, dtz, class })
    }

    /// The distance that begins with the move `m`, for its player.
    fn dtz_of(&self, m: Move, after: &Game) -> Result<MaybeRounded<Dtz>, SyzygyError> {
        let (base, position) = (&self.shared.base, after.position());
        if position.is_checkmate() {
            return Ok(MaybeRounded::Precise(Dtz(1)));
        }
        // Sets often come without the tables that say nothing else.
        if position.is_insufficient_material() {
            return Ok(MaybeRounded::Precise(Dtz(0)));
        }
        if m.is_zeroing() {
            let wdl = -base.probe_wdl_after_zeroing(position)?;
            return Ok(MaybeRounded::Precise(Dtz::before_zeroing(wdl)));
        }
        let dtz = -base.probe_dtz(position)?;
        Ok(if dtz.is_zero() { dtz } else { dtz.add_plies(1) })
    }

    fn class(&self, dtz: MaybeRounded<Dtz>, clock: i32) -> Class {
        let slack = i32::from(dtz.precise().is_none());
        let dtz = i32::from(dtz.ignore_rounding());
        let in_time = !self.rules.fifty_moves || dtz.abs() + clock + slack <= FIFTY_MOVES;
        // The defender, too, hopes for no more than what is certain.
        let surely_late = self.rules.fifty_moves && dtz.abs() + clock > FIFTY_MOVES;
        match dtz {
            0 => Class::Draw,
            1.. if in_time => Class::Win,
            1.. => Class::CursedWin,
            _ if surely_late => Class::BlessedLoss,
            _ => Class::Loss,
        }
    }
}

/// Plies since the last capture or pawn move.
fn clock(game: &Game) -> i32 {
    i32::try_from(game.position().halfmoves()).unwrap_or(FIFTY_MOVES)
}

/// Whether any position since the last capture or pawn move, the present one included, has stood
/// before.
fn has_repeated(game: &Game) -> bool {
    let reversible = game.position().halfmoves() as usize;
    game.repetitions() > 0 || game.past().iter().rev().take(reversible).any(|past| past.repetitions > 0)
}
