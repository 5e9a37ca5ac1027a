//! Ranks root moves like Stockfish's `root_probe` and keeps those with the best result. `setup/book_and_tables.rs` asks
//! for them before a search.
//!
//! The tables store DTZ, the distance to the next capture or pawn move, for a fifty-move counter of zero. A stored DTZ
//! may be one ply too short ([`MaybeRounded`]), so a win is certain only if the game's counter leaves room for that
//! ply.

use shakmaty::{Move, Position};
use shakmaty_syzygy::{Dtz, MaybeRounded, SyzygyError};

use super::{TableResult, Tables};
use crate::chess::position::Game;

const FIFTY_MOVES: i32 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableMove {
    pub m: Move,
    /// Plies to the next capture, pawn move or mate with best play, this move included: positive if the mover wins
    /// without the fifty-move rule, negative if the mover loses, 0 in a draw.
    pub dtz: i32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableMoves {
    /// For the mover.
    pub outcome: TableResult,
    /// Best first: fastest win or longest defence. Never empty.
    pub moves: Vec<TableMove>,
    /// All legal moves, best first.
    pub all: Vec<RankedResult>,
    pub hits: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankedResult {
    pub m: Move,
    pub outcome: TableResult,
    /// 0 for the best moves; equal if the tables see no difference.
    pub rank: u32,
    /// As in [`TableMove::dtz`].
    pub dtz: i32,
}

/// From worst to best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MoveClass {
    /// Not certainly saved by the fifty-move rule.
    Loss,
    BlessedLoss,
    Draw,
    CursedWin,
    Win,
}

impl TableMoves {
    /// The wanted moves; if they win, only those with the least DTZ, any of which makes progress.
    pub fn fastest(&self, is_wanted: impl Fn(&Move) -> bool) -> Vec<Move> {
        let wanted = || self.moves.iter().filter(|known| is_wanted(&known.m));
        let least = wanted().map(|known| known.dtz).min();
        let is_fast = |known: &&TableMove| self.outcome != TableResult::Win || Some(known.dtz) == least;
        wanted().filter(is_fast).map(|known| known.m).collect()
    }
}

impl MoveClass {
    fn outcome(self) -> TableResult {
        match self {
            MoveClass::Win => TableResult::Win,
            MoveClass::Loss => TableResult::Loss,
            MoveClass::CursedWin | MoveClass::Draw | MoveClass::BlessedLoss => TableResult::Draw,
        }
    }
}

fn ranked_results(sorted: &[RankedMove]) -> Vec<RankedResult> {
    let mut rank = 0;
    let mut before: Option<&RankedMove> = None;
    let results = sorted.iter().map(|this| {
        rank += u32::from(before.is_some_and(|last| (last.class, last.dtz) != (this.class, this.dtz)));
        before = Some(this);
        RankedResult { m: this.m, outcome: this.class.outcome(), rank, dtz: this.dtz }
    });
    results.collect()
}

struct RankedMove {
    m: Move,
    dtz: i32,
    class: MoveClass,
}

impl Tables {
    /// Returns the moves that keep the best result reachable in this game, by DTZ.
    ///
    /// All wins within the fifty-move rule are kept; once a position was repeated since the last capture or pawn move,
    /// only the fastest, so that the winner makes progress. Of cursed wins the fastest are kept, of blessed losses the
    /// slowest.
    ///
    /// `None` without a legal move, with castling rights or too many men, or if a table is missing or damaged.
    pub fn root(&self, game: &Game) -> Option<TableMoves> {
        let legal = game.legal_moves();
        if legal.is_empty() || !self.covers(game.position()) {
            return None;
        }
        let ranked: Result<Vec<RankedMove>, SyzygyError> =
            legal.iter().map(|&m| self.rank(game, m)).collect();
        let mut ranked = ranked.map_err(|error| self.shared.note_probe(&error)).ok()?;
        let hits = ranked.len() as u64;
        // The fastest win and the slowest loss both have the least signed DTZ.
        ranked.sort_by_key(|a| (std::cmp::Reverse(a.class), a.dtz));
        let best = ranked.first()?.class;
        let (class, dtz, clock) = (best, ranked.first()?.dtz, clock(game));
        let every_ply_counts = match class {
            MoveClass::Win => self.rules.fifty_moves && has_repeated(game),
            MoveClass::CursedWin | MoveClass::BlessedLoss => true,
            MoveClass::Draw => false,
            // The winner may need twice the distance.
            MoveClass::Loss => self.rules.fifty_moves && 2 * -dtz + clock >= FIFTY_MOVES,
        };
        let all = ranked_results(&ranked);
        ranked.retain(|r| r.class == class && (!every_ply_counts || r.dtz == dtz));
        let moves = ranked.into_iter().map(|RankedMove { m, dtz, .. }| TableMove { m, dtz }).collect();
        Some(TableMoves { outcome: class.outcome(), moves, all, hits })
    }

    fn rank(&self, game: &Game, m: Move) -> Result<RankedMove, SyzygyError> {
        let mut after = game.clone();
        after.play(m);
        let dtz = self.dtz_of(m, &after)?;
        // The game's counter and repetitions correct the table's result.
        let class = if after.repetitions() >= 2 { MoveClass::Draw } else { self.class(dtz, clock(game)) };
        let dtz = if class == MoveClass::Draw { 0 } else { i32::from(dtz.ignore_rounding()) };
        Ok(RankedMove { m, dtz, class })
    }

    fn dtz_of(&self, m: Move, after: &Game) -> Result<MaybeRounded<Dtz>, SyzygyError> {
        let (base, position) = (&self.shared.base, after.position());
        if position.is_checkmate() {
            return Ok(MaybeRounded::Precise(Dtz(1)));
        }
        // Table sets often lack drawn material.
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

    fn class(&self, dtz: MaybeRounded<Dtz>, clock: i32) -> MoveClass {
        let slack = i32::from(dtz.precise().is_none());
        let dtz = i32::from(dtz.ignore_rounding());
        let in_time = !self.rules.fifty_moves || dtz.abs() + clock + slack <= FIFTY_MOVES;
        // The defender needs a certain draw.
        let surely_late = self.rules.fifty_moves && dtz.abs() + clock > FIFTY_MOVES;
        match dtz {
            0 => MoveClass::Draw,
            1.. if in_time => MoveClass::Win,
            1.. => MoveClass::CursedWin,
            _ if surely_late => MoveClass::BlessedLoss,
            _ => MoveClass::Loss,
        }
    }
}

fn clock(game: &Game) -> i32 {
    i32::try_from(game.position().halfmoves()).unwrap_or(FIFTY_MOVES)
}

/// Whether a position since the last capture or pawn move, this one included, is a repetition.
fn has_repeated(game: &Game) -> bool {
    let reversible = game.position().halfmoves() as usize;
    game.repetitions() > 0 || game.past().iter().rev().take(reversible).any(|past| past.repetitions > 0)
}
