use std::cmp::Reverse;

use shakmaty::{Chess, Move, MoveList};

use crate::chess::position::{DrawReason, Game, Outcome};
use crate::nets::eval::Wdl;
use crate::search::{MoveStats, PvLine, Report, Score, SearchCounters, SearchView};

pub type MinimaxValue = i32;

/// Mate in one ply; each further ply subtracts one.
pub const MATE: MinimaxValue = 1_000_000;
pub const INFINITE: MinimaxValue = MATE + 1;
/// Values from here are mates: material stays far below, and no search goes 1000 plies deep.
const MATE_THRESHOLD: MinimaxValue = MATE - 1000;

pub fn mated(ply: u32) -> MinimaxValue {
    ply as MinimaxValue - INFINITE
}

#[derive(Clone, Debug)]
pub struct ScoredMove {
    pub m: Move,
    pub after: Chess,
    /// By threefold repetition or the fifty-move rule.
    pub drawn: bool,
    /// For the side that makes the move: exact for the wanted best moves, an upper bound for others.
    pub value: MinimaxValue,
    pub pv: Vec<Move>,
    /// Moves made in the subtree, this one included.
    pub nodes: u64,
}

impl ScoredMove {
    fn wdl(&self) -> Wdl {
        match score(self.value) {
            Score::Mate(moves) if moves > 0 => Wdl::WIN,
            Score::Mate(_) => Wdl::LOSS,
            Score::Cp(centipawns) => Wdl::of_centipawns(centipawns),
        }
    }
}

#[derive(Clone, Debug)]
pub struct ScoredMoves {
    game: Game,
    /// First the moves searched at the current depth, best first; then the others in the last depth's order.
    pub moves: Vec<ScoredMove>,
    pub nodes: u64,
    /// Last completed, in plies.
    pub depth: u32,
    pub current_depth: u32,
}

impl ScoredMoves {
    pub fn new(game: &Game, moves: &MoveList) -> ScoredMoves {
        let root_move = |m: &Move| {
            let mut next = game.clone();
            next.play(*m);
            let outcome = next.outcome();
            let drawn = Some(Outcome::Draw(DrawReason::Threefold)) == outcome
                || Some(Outcome::Draw(DrawReason::FiftyMoves)) == outcome;
            ScoredMove { m: *m, after: next.position().clone(), drawn, value: 0, pv: vec![*m], nodes: 0 }
        };
        let moves = moves.iter().map(root_move).collect();
        ScoredMoves { game: game.clone(), moves, nodes: 0, depth: 0, current_depth: 0 }
    }

    /// Sorts the move at `index`, just searched, into the moves before it.
    pub fn rank(&mut self, index: usize) {
        if let Some(searched) = self.moves.get_mut(..=index) {
            // Stable: equal values keep their order.
            searched.sort_by_key(|root| Reverse(root.value));
        }
    }

    pub fn are_mates(&self, lines: usize) -> bool {
        self.moves.iter().take(lines).all(|root| matches!(score(root.value), Score::Mate(_)))
    }

    /// Cuts the PV where the game ends: the depth search does not see draws by history.
    fn variation(&self, root: &ScoredMove) -> Vec<Move> {
        let mut game = self.game.clone();
        let is_playable = |m: &&Move| {
            let ongoing = game.outcome().is_none();
            game.play(**m);
            ongoing
        };
        root.pv.iter().take_while(is_playable).copied().collect()
    }

    fn line(&self, root: &ScoredMove) -> PvLine {
        PvLine { pv: self.variation(root), score: score(root.value), wdl: root.wdl(), visits: 0 }
    }
}

pub fn score(value: MinimaxValue) -> Score {
    if value.abs() < MATE_THRESHOLD {
        return Score::Cp(value);
    }
    let plies = INFINITE - value.abs();
    Score::Mate(if value > 0 { (plies + 1) / 2 } else { -(plies / 2) })
}

impl SearchView for ScoredMoves {
    fn shown_stats(&self) -> Vec<MoveStats> {
        let prior = 1.0 / self.moves.len().max(1) as f32;
        let stats = |root: &ScoredMove| MoveStats {
            m: root.m,
            visits: root.nodes,
            in_flight: 0,
            prior,
            q: root.wdl().q(),
            wdl: root.wdl(),
            u: 0.0,
            value: (root.nodes > 0).then(|| root.wdl().q()),
            proof: None,
        };
        self.moves.iter().map(stats).collect()
    }

    fn visits(&self) -> u64 {
        self.nodes
    }

    fn best(&self) -> Option<Move> {
        self.moves.first().map(|root| root.m)
    }

    fn report(&self, multipv: usize) -> Report {
        Report {
            visits: self.nodes,
            counters: SearchCounters::default(),
            depth: self.depth,
            seldepth: self.current_depth,
            hashfull: 0,
            tbhits: 0,
            lines: self.moves.iter().take(multipv).map(|root| self.line(root)).collect(),
        }
    }
}
