use std::cmp::Reverse;

use serde::Serialize;
use shakmaty::Move;

use crate::chess::position::{Game, PackedMove};
use crate::chess::tables::{RankedResult, TableResult};
use crate::nets::eval::{Wdl, shown_centipawns};
use crate::search::tree::Tree;
use crate::search::tree::counters::SearchCounters;
use crate::search::tree::neuralmateplay::{SelectionTerms, StandardPuct};
use crate::search::tree::node::{Edge, NodeId};
use crate::search::tree::proof::Proof;
use crate::search::visit::select::SelectionContext;

/// For the side to move at the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Score {
    Cp(i32),
    /// In moves; negative if the side to move is mated.
    Mate(i32),
}

impl Score {
    pub fn from_q(q: f32) -> Score {
        Score::Cp(shown_centipawns(q))
    }

    pub fn reversed(self) -> Score {
        match self {
            Score::Cp(cp) => Score::Cp(cp.saturating_neg()),
            Score::Mate(moves) => Score::Mate(moves.saturating_neg()),
        }
    }

    fn from_proof(proof: Proof) -> Score {
        match (proof, proof.mate().map(i32::from)) {
            (Proof::Win(_), Some(plies)) => Score::Mate(plies / 2 + plies % 2),
            (Proof::Loss(_), Some(plies)) => Score::Mate(-(plies / 2)),
            (known, _) => Score::from_q(known.wdl().q()),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct PvLine {
    pub pv: Vec<Move>,
    /// Like `wdl`, for the side to move at the root.
    pub score: Score,
    pub wdl: Wdl,
    pub visits: u64,
}

/// Statistics of a move, for the side that makes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MoveStats {
    pub m: Move,
    pub visits: u64,
    pub in_flight: u64,
    pub prior: f32,
    /// Mean result, −1..1. An unvisited move has FPU, or in a proven position the mean of that position.
    pub q: f32,
    pub wdl: Wdl,
    pub u: f32,
    /// The evaluator's value of the child, −1..1; `None` if not evaluated yet.
    pub value: Option<f32>,
    pub proof: Option<Proof>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    pub visits: u64,
    pub counters: SearchCounters,
    /// Mean and longest path, in plies.
    pub depth: u32,
    pub seldepth: u32,
    /// In permille.
    pub hashfull: u32,
    pub tbhits: u64,
    /// Best first; empty only without legal moves.
    pub lines: Vec<PvLine>,
}

impl Tree {
    /// Proven wins first, proven losses last, else by visits, then Q. `None` before the root's evaluation.
    pub fn best(&self) -> Option<Move> {
        let index = self.ranked(self.root).into_iter().next()?;
        Some(self.nodes.candidate(self.root, index).packed().to_legal_move(self.game.position()))
    }

    /// In the order of [`Report::lines`]; empty before the root's evaluation.
    pub fn stats(&self) -> Vec<MoveStats> {
        match &self.neuralmateplay {
            None => self.stats_with(&StandardPuct),
            Some(terms) => self.stats_with(terms),
        }
    }

    fn stats_with(&self, terms: &impl SelectionTerms) -> Vec<MoveStats> {
        self.stats_of(self.root, &self.game, self.ranked(self.root), terms)
    }

    /// Moves after `line`, best first; empty before that position's evaluation, `None` if it is not in the tree.
    pub fn stats_after(&self, line: &[Move]) -> Option<Vec<MoveStats>> {
        let (mut id, mut game) = (self.root, self.game.clone());
        for m in line {
            let mut edges = self.nodes.edges_of(id).zip(self.nodes.moves_of(id));
            let (edge, _) = edges.find(|(_, candidate)| candidate.packed() == PackedMove::new(*m))?;
            id = edge.child();
            game.play(*m);
        }
        Some(match (&self.neuralmateplay, id == self.root) {
            (_, true) => self.stats(),
            (None, false) => self.stats_of(id, &game, self.ranked(id), &StandardPuct),
            (Some(terms), false) => self.stats_of(id, &game, self.ranked(id), terms),
        })
    }

    fn stats_of(
        &self,
        id: NodeId,
        game: &Game,
        order: Vec<usize>,
        terms: &impl SelectionTerms,
    ) -> Vec<MoveStats> {
        if !self.node(id).is_expanded() {
            return Vec::new();
        }
        let context = SelectionContext::new(self, id, 1.0, terms);
        let node = self.node(id);
        let mean = node.mean_for_parent().flipped();
        let unvisited_q = if node.proof().is_some() { mean.q() } else { context.unvisited_q };
        let children = self.children_of(id, game);
        let edges: Vec<&Edge> = self.nodes.edges_of(id).collect();
        let stats = |index: usize| {
            let (m, view) = children[index];
            let visited = view.value.is_some();
            let u = match edges.get(index) {
                Some(edge) => context.u(edge, edge.counts(), view.prior),
                None => context.unvisited_u(view.prior),
            };
            MoveStats {
                m,
                visits: u64::from(view.visits),
                in_flight: u64::from(view.in_flight),
                prior: view.prior,
                q: if visited { view.q } else { unvisited_q },
                wdl: if visited { view.wdl } else { mean },
                u,
                value: view.value,
                proof: view.proof.map(Proof::before),
            }
        };
        order.into_iter().map(stats).collect()
    }

    /// Returns up to `multipv` lines but at least one; before the root's evaluation, the first legal move with score 0.
    pub fn report(&self, multipv: usize) -> Report {
        self.find_mate_lines(multipv.max(1));
        let mut lines: Vec<PvLine> =
            self.ranked(self.root).into_iter().take(multipv.max(1)).map(|index| self.line(index)).collect();
        if lines.is_empty() {
            let unknown = |m: &Move| PvLine { pv: vec![*m], score: Score::Cp(0), wdl: Wdl::DRAW, visits: 0 };
            lines.extend(self.root_moves().first().map(unknown));
        }
        let counters = self.counters();
        Report {
            visits: counters.playouts,
            counters,
            depth: counters.depth.max(1),
            seldepth: counters.longest_path.max(1),
            hashfull: self.fullness(),
            tbhits: counters.table_hits,
            lines,
        }
    }

    fn line(&self, index: usize) -> PvLine {
        let pv = self.variation(index);
        // A tablebase result is certain, so it counts as a visit.
        let certain = self.known_result(self.root, index).map(|known| {
            let wdl = match known.outcome {
                TableResult::Win => Wdl::WIN,
                TableResult::Draw => Wdl::DRAW,
                TableResult::Loss => Wdl::LOSS,
            };
            PvLine { pv: pv.clone(), score: Score::from_q(wdl.q()), wdl, visits: 1 }
        });
        let edge = self.nodes.edges_of(self.root).nth(index);
        let Some((edge, child)) = edge
            .map(|edge| (edge, self.node(edge.child())))
            .filter(|(edge, child)| child.proof().is_some() || (edge.visits() > 0 && child.visits() > 0))
        else {
            // Unvisited: the root's mean. Its proof says nothing of this move.
            let wdl = self.node(self.root).mean_for_parent().flipped();
            return certain.unwrap_or(PvLine { pv, score: Score::from_q(wdl.q()), wdl, visits: 0 });
        };
        let visits = u64::from(edge.visits());
        match (child.proof(), certain) {
            (Some(proof), None) => {
                PvLine { pv, score: Score::from_proof(proof.before()), wdl: child.wdl_for_parent(), visits }
            }
            (Some(proof), Some(_)) if proof.mate().is_some() => {
                PvLine { pv, score: Score::from_proof(proof.before()), wdl: child.wdl_for_parent(), visits }
            }
            (_, Some(certain)) => PvLine { visits: visits.max(1), ..certain },
            (None, None) => {
                PvLine { pv, score: Score::from_q(child.q()), wdl: child.wdl_for_parent(), visits }
            }
        }
    }

    fn variation(&self, first: usize) -> Vec<Move> {
        let root_move = self.nodes.candidate(self.root, first).packed();
        let child = self.nodes.edges_of(self.root).nth(first).map(Edge::child);
        if let Some(plies) = child.and_then(|child| self.node(child).proof()).and_then(Proof::mate)
            && let Some(Some(line)) = self.mate_lines().get(root_move, plies)
        {
            return line.to_vec();
        }
        let mut game = self.game.clone();
        let mut moves = Vec::new();
        let mut next = Some((self.root, first));
        while let Some((id, index)) = next {
            let m = self.nodes.candidate(id, index).packed().to_legal_move(game.position());
            game.play(m);
            moves.push(m);
            let child = self.nodes.edges_of(id).nth(index).map(Edge::child);
            // The tree lacks the moves of a mate proven outside it.
            let known = |child: &NodeId| game.outcome().is_none() && !self.is_proven_outside(*child);
            next = child.filter(known).and_then(|child| {
                let best = self.ranked(child).into_iter().next()?;
                let edge = self.nodes.edges_of(child).nth(best)?;
                let follow = edge.visits() > 0 || self.node(edge.child()).proof().is_some();
                follow.then_some((child, best))
            });
        }
        moves
    }

    fn known_result(&self, id: NodeId, index: usize) -> Option<&RankedResult> {
        if id != self.root || self.known.is_empty() {
            return None;
        }
        let packed = self.nodes.candidate(id, index).packed();
        self.known.iter().find(|known| PackedMove::new(known.m) == packed)
    }

    /// Best first. Tablebase results order root moves, unless a mate is proven.
    pub(in crate::search) fn ranked(&self, id: NodeId) -> Vec<usize> {
        let edges: Vec<&Edge> = self.nodes.edges_of(id).collect();
        let key = |index: usize| {
            let by_tables = self.known_result(id, index).map(|known| Reverse(known.rank));
            let Some(edge) = edges.get(index) else {
                return (Proof::rank_for_parent(None), by_tables, 0, f32::NEG_INFINITY);
            };
            let child = self.node(edge.child());
            // Draws compete with unproven moves by visits, because a draw may be best; tablebase results compete by
            // rank.
            let rank = match child.proof() {
                Some(Proof::Draw) => Proof::rank_for_parent(None),
                Some(proof) if by_tables.is_some() && proof.mate().is_none() => Proof::rank_for_parent(None),
                other => Proof::rank_for_parent(other),
            };
            (rank, by_tables, edge.visits(), child.q())
        };
        // Keys are read once: other workers change them, and the sort may panic on an inconsistent order.
        let mut order: Vec<_> = (0..self.nodes.moves_of(id).len()).map(|index| (key(index), index)).collect();
        order.sort_by(|(a, _), (b, _)| {
            b.0.cmp(&a.0).then(b.1.cmp(&a.1)).then(b.2.cmp(&a.2)).then(b.3.total_cmp(&a.3))
        });
        order.into_iter().map(|(_, index)| index).collect()
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
        assert!((160..180).contains(&up), "{up}");
    }
}
