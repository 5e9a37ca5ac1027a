//! What a search has found so far.

use shakmaty::Move;

use super::arena::NodeId;
use super::neural_mate::{SelectionTerms, StandardPuct};
use super::proof::Proof;
use super::select::SelectionContext;
use super::tree::{Counters, Tree};
use crate::eval::{Wdl, centipawns_of_q};

/// A score for the side to move at the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Score {
    /// Centipawns.
    Cp(i32),
    /// Mate in so many moves; negative if the mover is mated.
    Mate(i32),
}

impl Score {
    /// Centipawns of an expected result, by Leela's curve.
    pub fn from_q(q: f32) -> Score {
        Score::Cp(centipawns_of_q(q))
    }

    fn from_proof(proof: Proof) -> Score {
        match (proof, proof.mate().map(i32::from)) {
            (Proof::Win(_), Some(plies)) => Score::Mate(plies / 2 + plies % 2),
            (Proof::Loss(_), Some(plies)) => Score::Mate(-(plies / 2)),
            (known, _) => Score::from_q(known.wdl().q()),
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

/// What the search knows of one root move, for the side that makes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MoveStats {
    /// The move.
    pub m: Move,
    /// Visits that have come back.
    pub visits: u64,
    /// Visits on their way.
    pub pending: u64,
    /// Its share of the policy, 0 to 1.
    pub prior: f32,
    /// Mean result, −1 to 1; for an unvisited move what it is taken to be worth.
    pub q: f32,
    /// Mean win, draw and loss.
    pub wdl: Wdl,
    /// What PUCT adds to Q.
    pub u: f32,
    /// The evaluator's expected result for the position after it, −1 to 1; `None` before it.
    pub value: Option<f32>,
    /// What is certain, for the side that makes the move.
    pub proof: Option<Proof>,
}

/// The state of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Visits of this search.
    pub visits: u64,
    /// What the search has counted besides.
    pub counters: Counters,
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
        let index = self.ranked(self.root).into_iter().next()?;
        Some(self.arena.moves_of(self.root)[index].packed.to_legal_move(self.game.position()))
    }

    /// What is known of the root's moves, in the order of the report's lines; empty before the root's
    /// evaluation.
    pub fn stats(&self) -> Vec<MoveStats> {
        match &self.neural_mate {
            None => self.stats_with(&StandardPuct),
            Some(terms) => self.stats_with(terms),
        }
    }

    fn stats_with(&self, terms: &impl SelectionTerms) -> Vec<MoveStats> {
        if !self.node(self.root).is_expanded() {
            return Vec::new();
        }
        let context = SelectionContext::new(self, self.root, terms);
        let links = self.arena.links_of(self.root);
        let children = self.children();
        let stats = |edge: usize| {
            let (m, view) = children[edge];
            let visited = view.value.is_some();
            let u = match links.get(edge) {
                Some(link) => context.u(self.node(link.child()), link, view.prior),
                None => context.unvisited_u(view.prior),
            };
            MoveStats {
                m,
                visits: u64::from(view.visits),
                pending: u64::from(view.pending),
                prior: view.prior,
                q: if visited { view.q } else { context.unvisited_q },
                wdl: if visited { view.wdl } else { self.node(self.root).wdl_for_parent().flipped() },
                u,
                value: view.value,
                proof: view.proof.map(Proof::before),
            }
        };
        self.ranked(self.root).into_iter().map(stats).collect()
    }

    /// The report with up to `count` lines (at least one).
    ///
    /// Before the root's evaluation there is one line all the same if there is a legal move: the
    /// first move, with an even score.
    pub fn report(&self, count: usize) -> Report {
        let mut lines: Vec<Line> =
            self.ranked(self.root).into_iter().take(count.max(1)).map(|edge| self.line(edge)).collect();
        if lines.is_empty() {
            let unknown = |m: &Move| Line { pv: vec![*m], score: Score::Cp(0), wdl: Wdl::DRAW, visits: 0 };
            lines.extend(self.root_moves().first().map(unknown));
        }
        Report {
            visits: self.playouts(),
            counters: self.counters(),
            depth: self.depth().max(1),
            seldepth: self.longest_path().max(1),
            hashfull: self.fullness(),
            tbhits: self.counters.table_hits,
            lines,
        }
    }

    fn line(&self, edge: usize) -> Line {
        let pv = self.variation(edge);
        let link = self.arena.links_of(self.root).get(edge);
        let Some((link, child)) = link
            .map(|link| (link, self.node(link.child())))
            .filter(|(link, child)| child.proof.is_some() || (link.visits > 0 && child.visits > 0))
        else {
            // Unvisited: all that is known is the root's own evaluation.
            let wdl = self.node(self.root).wdl_for_parent().flipped();
            return Line { pv, score: Score::from_q(wdl.q()), wdl, visits: 0 };
        };
        let score = match child.proof {
            Some(proof) => Score::from_proof(proof.before()),
            None => Score::from_q(child.q()),
        };
        Line { pv, score, wdl: child.wdl_for_parent(), visits: u64::from(link.visits) }
    }

    /// The best play after a root move, as far as the tree has visited it; ends with the game.
    fn variation(&self, first: usize) -> Vec<Move> {
        let mut game = self.game.clone();
        let mut moves = Vec::new();
        let mut next = Some((self.root, first));
        while let Some((id, edge)) = next {
            let m = self.arena.moves_of(id)[edge].packed.to_legal_move(game.position());
            game.play(m);
            moves.push(m);
            let child = self.arena.links_of(id).get(edge).map(|link| link.child());
            next = child.filter(|_| game.outcome().is_none()).and_then(|child| {
                let best = self.ranked(child).into_iter().next()?;
                let link = self.arena.links_of(child).get(best)?;
                let follow = link.visits > 0 || self.node(link.child()).proof.is_some();
                follow.then_some((child, best))
            });
        }
        moves
    }

    /// The moves of a node, best first.
    fn ranked(&self, id: NodeId) -> Vec<usize> {
        let links = self.arena.links_of(id);
        let key = |index: usize| {
            let Some(link) = links.get(index) else {
                return (Proof::rank_for_parent(None), 0, f32::NEG_INFINITY);
            };
            let child = self.node(link.child());
            // Among unproven moves and draws the visits decide: a draw may be best.
            let rank = match child.proof {
                Some(Proof::Draw) => Proof::rank_for_parent(None),
                other => Proof::rank_for_parent(other),
            };
            (rank, link.visits, child.q())
        };
        let mut order: Vec<usize> = (0..self.arena.moves_of(id).len()).collect();
        order.sort_by(|a, b| {
            let (a, b) = (key(*a), key(*b));
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
