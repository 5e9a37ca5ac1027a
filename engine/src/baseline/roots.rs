//! What a search by depth knows of the root's moves.

use std::cmp::Reverse;

use shakmaty::{Chess, Move, MoveList};

use crate::eval::Wdl;
use crate::position::{DrawReason, Game, Outcome};
use crate::search::{Counters, Line, Progress, Report, Score};

/// A value for the side to move: centipawns, or a mate.
pub type Value = i32;

/// What a mate by the very next move is worth; every ply that it takes longer is worth one less.
pub const MATE: Value = 1_000_000;
/// More than any value.
pub const INFINITE: Value = MATE + 1;
/// Values beyond are mates: material is worth far less, and no search looks so many plies ahead.
const LEAST_MATE: Value = MATE - 1000;

/// The value of being mated where so many plies from the root are played.
pub fn mated(ply: u32) -> Value {
    ply as Value - INFINITE
}

/// One of the root's moves.
#[derive(Clone, Debug)]
pub struct RootMove {
    /// The move.
    pub m: Move,
    /// The position after it.
    pub after: Chess,
    /// The game is over with it, drawn by repetition or by the fifty-move rule.
    pub drawn: bool,
    /// Its value for the side that makes it, by the last depth that it was searched to: exact if it is one of
    /// the best that were asked for, else at least as large as the true one.
    pub value: Value,
    /// The best play from it on.
    pub pv: Vec<Move>,
}

/// The root's moves, best first, and what the search has counted.
#[derive(Clone, Debug)]
pub struct Roots {
    game: Game,
    /// Best first, as far as they have been searched to the depth under way; then those that haven't, in the order
    /// of the depth before.
    pub moves: Vec<RootMove>,
    /// Moves made, the root's included.
    pub nodes: u64,
    /// The greatest depth that all moves were searched to.
    pub depth: u32,
    /// The depth that is being searched.
    pub under_way: u32,
}

impl Roots {
    /// For these moves of the game's present position, none of them searched.
    pub fn new(game: &Game, moves: &MoveList) -> Roots {
        let root_move = |m: &Move| {
            let mut next = game.clone();
            next.play(*m);
            let outcome = next.outcome();
            let by_rule = Some(Outcome::Draw(DrawReason::Threefold)) == outcome
                || Some(Outcome::Draw(DrawReason::FiftyMoves)) == outcome;
            RootMove { m: *m, after: next.position().clone(), drawn: by_rule, value: 0, pv: vec![*m] }
        };
        let moves = moves.iter().map(root_move).collect();
        Roots { game: game.clone(), moves, nodes: 0, depth: 0, under_way: 0 }
    }

    /// Moves the move in this place, which has just been searched, to where it belongs among those before it.
    pub fn rank(&mut self, place: usize) {
        if let Some(before) = self.moves.get_mut(..=place) {
            // Stable: of moves that are worth the same the one searched first stays first.
            before.sort_by_key(|root| Reverse(root.value));
        }
    }

    /// Whether the best moves, so many of them, all end in mate: that is exact, and no greater depth changes it.
    pub fn are_mates(&self, lines: usize) -> bool {
        self.moves.iter().take(lines).all(|root| matches!(score(root.value), Score::Mate(_)))
    }

    /// The best play after a root move, up to where the game ends by rule.
    fn variation(&self, root: &RootMove) -> Vec<Move> {
        let mut game = self.game.clone();
        let on = |m: &&Move| {
            let on = game.outcome().is_none();
            game.play(**m);
            on
        };
        root.pv.iter().take_while(on).copied().collect()
    }

    fn line(&self, root: &RootMove) -> Line {
        let wdl = match score(root.value) {
            Score::Mate(moves) if moves > 0 => Wdl::WIN,
            Score::Mate(_) => Wdl::LOSS,
            Score::Cp(centipawns) => Wdl::of_centipawns(centipawns),
        };
        Line { pv: self.variation(root), score: score(root.value), wdl, visits: 0 }
    }
}

/// A value as GUIs are told it.
pub fn score(value: Value) -> Score {
    if value.abs() < LEAST_MATE {
        return Score::Cp(value);
    }
    let plies = INFINITE - value.abs();
    Score::Mate(if value > 0 { (plies + 1) / 2 } else { -(plies / 2) })
}

impl Progress for Roots {
    fn visits(&self) -> u64 {
        self.nodes
    }

    fn best(&self) -> Option<Move> {
        self.moves.first().map(|root| root.m)
    }

    fn report(&self, multipv: usize) -> Report {
        Report {
            visits: self.nodes,
            counters: Counters::default(),
            depth: self.depth,
            seldepth: self.under_way,
            hashfull: 0,
            tbhits: 0,
            lines: self.moves.iter().take(multipv).map(|root| self.line(root)).collect(),
        }
    }
}
