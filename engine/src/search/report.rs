//! What a search has found so far.

use shakmaty::Move;

use super::proof::Proof;
use super::tree::{NodeId, Tree};
use crate::eval::Wdl;

/// A score for the side to move at the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Score {
    /// Centipawns.
    Cp(i32),
    /// Mate in so many moves; negative if the mover is mated.
    Mate(i32),
}

impl Score {
    /// Centipawns of an expected result, by Leela's curve `90 · tan(1.5637541897 · q)`.
    pub fn from_q(q: f32) -> Score {
        Score::Cp((90.0 * (1.563_754_2 * q.clamp(-1.0, 1.0)).tan()).round() as i32)
    }

    fn from_proof(proof: Proof) -> Score {
        match proof {
            Proof::Win(plies) => Score::Mate(i32::from(plies).div_euclid(2) + i32::from(plies) % 2),
            Proof::Draw => Score::Cp(0),
            Proof::Loss(plies) => Score::Mate(-(i32::from(plies) / 2)),
        }
    }
}

/// One root move with what is expected after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The principal variation; begins with the root move.
    pub pv: Vec<Move>,
    /// For the mover at the root.
    pub score: Score,
    /// For the mover at the root.
    pub wdl: Wdl,
    /// Visits of the root move.
    pub visits: u64,
}

/// The state of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Visits of this search.
    pub visits: u64,
    /// Mean length of the playouts' paths, plies.
    pub depth: u32,
    /// Length of the longest path, plies.
    pub seldepth: u32,
    /// How full the tree's memory is, in thousandths.
    pub hashfull: u32,
    /// Positions found in endgame tables.
    pub tbhits: u64,
    /// Root moves, best first; empty only if there is no legal move.
    pub lines: Vec<Line>,
}

impl Tree {
    /// The root move to play: a proven win first, proven losses last, else the most visits, then
    /// the better mean, then the higher prior. `None` before the root's evaluation.
    pub fn best(&self) -> Option<Move> {
        let index = self.ranked(Tree::ROOT).into_iter().next()?;
        Some(self.edges_of(Tree::ROOT)[index].packed.to_legal_move(self.root_game().position()))
    }

    /// The report with up to `count` lines (at least one).
    ///
    /// Before the root's evaluation there is one line all the same if there is a legal move: the
    /// first move, with an even score.
    pub fn report(&self, count: usize) -> Report {
        let mut lines: Vec<Line> =
            self.ranked(Tree::ROOT).into_iter().take(count.max(1)).map(|edge| self.line(edge)).collect();
        if lines.is_empty() {
            let unknown = |m: &Move| Line { pv: vec![*m], score: Score::Cp(0), wdl: Wdl::DRAW, visits: 0 };
            lines.extend(self.root_moves().first().map(unknown));
        }
        Report {
            visits: self.playouts(),
            depth: self.depth().max(1),
            seldepth: self.longest_path().max(1),
            hashfull: self.fullness(),
            tbhits: 0,
            lines,
        }
    }

    fn line(&self, edge: usize) -> Line {
        let root = self.node(Tree::ROOT);
        let first = self.edges_of(Tree::ROOT)[edge];
        let pv = self.variation(edge);
        let Some(child) = first.child().map(|child| self.node(child)).filter(|child| child.visits > 0) else {
            // Unvisited: all that is known is the root's own evaluation.
            let wdl = root.wdl_for_parent().flipped();
            return Line { pv, score: Score::from_q(wdl.q()), wdl, visits: 0 };
        };
        let visits = u64::from(child.visits);
        match child.proof {
            Some(proof) => {
                let for_root = match proof {
                    Proof::Loss(plies) => Proof::Win(plies + 1),
                    Proof::Draw => Proof::Draw,
                    Proof::Win(plies) => Proof::Loss(plies + 1),
                };
                Line { pv, score: Score::from_proof(for_root), wdl: for_root.wdl(), visits }
            }
            None => Line { pv, score: Score::from_q(child.q()), wdl: child.wdl_for_parent(), visits },
        }
    }

    /// The best play after a root move, as far as the tree has visited it.
    fn variation(&self, first: usize) -> Vec<Move> {
        let mut game = self.root_game().clone();
        let mut moves = Vec::new();
        let mut next = Some((Tree::ROOT, first));
        while let Some((id, edge)) = next {
            let edge = self.edges_of(id)[edge];
            let m = edge.packed.to_legal_move(game.position());
            game.play(m);
            moves.push(m);
            next = edge.child().and_then(|child| {
                let best = self.ranked(child).into_iter().next()?;
                let visited = self.edges_of(child)[best].child().is_some_and(|c| self.node(c).visits > 0);
                visited.then_some((child, best))
            });
        }
        moves
    }

    /// The edges of a node, best first.
    fn ranked(&self, id: NodeId) -> Vec<usize> {
        let key = |index: &usize| {
            let child = self.edges_of(id)[*index].child().map(|child| self.node(child));
            let proof = child.and_then(|child| child.proof);
            // Among unproven moves and draws the visits decide: a draw may be best.
            let rank = match proof {
                Some(Proof::Draw) => Proof::rank_for_parent(None),
                other => Proof::rank_for_parent(other),
            };
            (rank, child.map_or(0, |child| child.visits), child.map_or(f32::NEG_INFINITY, |child| child.q()))
        };
        let mut order: Vec<usize> = (0..self.edges_of(id).len()).collect();
        order.sort_by(|a, b| {
            let (a, b) = (key(a), key(b));
            b.0.cmp(&a.0).then(b.1.cmp(&a.1)).then(b.2.total_cmp(&a.2))
        });
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mates_count_moves() {
        assert_eq!(Score::from_proof(Proof::Win(1)), Score::Mate(1));
        assert_eq!(Score::from_proof(Proof::Win(3)), Score::Mate(2));
        assert_eq!(Score::from_proof(Proof::Loss(2)), Score::Mate(-1));
        assert_eq!(Score::from_proof(Proof::Loss(4)), Score::Mate(-2));
    }

    #[test]
    fn an_even_game_is_zero_and_the_curve_is_odd() {
        assert_eq!(Score::from_q(0.0), Score::Cp(0));
        let Score::Cp(up) = Score::from_q(0.4) else { panic!("centipawns") };
        assert_eq!(Score::from_q(-0.4), Score::Cp(-up));
        assert!((60..90).contains(&up), "{up}");
    }
}
