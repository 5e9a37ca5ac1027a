use std::sync::atomic::Ordering;

use crate::search::tree::Tree;
use crate::search::tree::neuralmateplay::{SelectionTerms, StandardPuct};
use crate::search::tree::node::{Candidate, Edge, EdgeCounts, Known, Node, NodeId};
use crate::search::visit::virtual_loss::{penalised, penalised_unvisited};

impl Tree {
    /// Selects the move of an expanded node with the greatest Q + U, where `factor` scales U
    /// ([`Puct`](crate::search::Puct)). Visits in flight count as visits in U and as losses in Q.
    ///
    /// Skips moves proven to lose while there is another, and root moves that cannot become the most visited within the
    /// [horizon](Tree::set_horizon).
    #[inline]
    pub(in crate::search) fn select(&self, id: NodeId, factor: f32) -> Choice<'_> {
        if let Some(index) = self.forced.filter(|_| id == self.root) {
            return self.choice(id, index);
        }
        match &self.neuralmateplay {
            None => self.select_with(id, factor, &StandardPuct),
            Some(terms) => self.select_with(id, factor, terms),
        }
    }

    #[inline]
    fn select_with(&self, id: NodeId, factor: f32, terms: &impl SelectionTerms) -> Choice<'_> {
        let context = SelectionContext::new(self, id, factor, terms);
        let (mut best, mut choice) = (f32::NEG_INFINITY, None);
        let mut edges = 0;
        let first_without = self.nodes.for_each_edge(self.node(id), |index, edge_id, edge, candidate| {
            edges = index + 1;
            let counts = edge.counts();
            if context.is_settled(counts) || counts.visits() < context.hopeless_below {
                return;
            }
            let score = context.q(edge, counts) + context.u(edge, counts, candidate.prior());
            if score > best {
                (best, choice) = (score, Some(Choice { index, edge: Some((edge_id, edge)), candidate }));
            }
        });
        // Moves are sorted by falling prior, so the first unvisited one has the greatest score.
        if let Some(candidate) = first_without
            && context.hopeless_below == 0
        {
            let score = context.unvisited_q + context.unvisited_u(candidate.prior());
            if score > best {
                choice = Some(Choice { index: edges, edge: None, candidate });
            }
        }
        choice.unwrap_or_else(|| self.choice(id, 0))
    }

    fn choice(&self, id: NodeId, index: usize) -> Choice<'_> {
        let edge = (index < self.node(id).edges()).then(|| {
            let edge = self.nodes.edge_id(id, index);
            (edge, self.nodes.edge(edge))
        });
        Choice { index, edge, candidate: self.nodes.candidate(id, index) }
    }
}

#[derive(Clone, Copy)]
pub(in crate::search) struct Choice<'a> {
    /// Index in the node's moves.
    pub index: usize,
    /// Edge id and edge; `None` before the first visit.
    pub edge: Option<(u32, &'a Edge)>,
    pub candidate: &'a Candidate,
}

/// The PUCT terms shared by all moves of a node.
pub(in crate::search) struct SelectionContext<'a, T> {
    tree: &'a Tree,
    terms: &'a T,
    virtual_loss: f32,
    /// U of an unvisited move with prior 1.
    exploration: f32,
    pub unvisited_q: f32,
    /// The factor of `terms` on an unvisited move's U.
    unvisited_factor: f32,
    /// A search may continue below a proven root, where only unproven moves matter.
    proven: bool,
    /// Moves with fewer visits cannot become the most visited.
    hopeless_below: u32,
}

impl<'a, T: SelectionTerms> SelectionContext<'a, T> {
    #[inline]
    pub fn new(tree: &'a Tree, id: NodeId, factor: f32, terms: &'a T) -> SelectionContext<'a, T> {
        let params = &tree.params;
        let node = tree.node(id);
        let at_root = id == tree.root;
        // Another worker may have counted its visit in `own` but not yet in `visits`.
        let below = node.visits().saturating_sub(node.own()) + node.in_flight();
        let visited_prior = match tree.nodes.head_of(id) {
            Some(head) => head.visits() as f32 * (1.0 / f32::from(u16::MAX)),
            None => 0.0,
        };
        let siblings = || tree.nodes.edges_of(id).map(|edge| tree.node(edge.child()));
        let reduction =
            if terms.drops_fpu_reduction(siblings) { 0.0 } else { params.fpu * visited_prior.sqrt() };
        let puct = &params.puct;
        let mut exploration = factor
            * tree.exploration.of(puct, node.visits(), below.max(1))
            * puct.spread(node.visits(), || node.variance());
        if at_root {
            exploration *= puct.root;
        }
        SelectionContext {
            tree,
            terms,
            virtual_loss: params.virtual_loss,
            exploration,
            unvisited_q: -node.q() - reduction,
            unvisited_factor: terms.exploration_factor(|| node),
            proven: node.proof().is_some(),
            hopeless_below: if at_root { tree.hopeless_below.load(Ordering::Relaxed) } else { 0 },
        }
    }

    fn child(&self, edge: &Edge) -> &'a Node {
        self.tree.node(edge.child())
    }

    /// Whether nothing more can be found below a move: it is proven to lose or, in a proven node, proven at all.
    #[inline]
    fn is_settled(&self, counts: EdgeCounts) -> bool {
        if counts.are_visits_alone() {
            return false;
        }
        let known = counts.known();
        known == Known::Lost || (self.proven && known != Known::Nothing)
    }

    /// For the side that makes the move, with virtual loss.
    #[inline]
    fn q(&self, edge: &Edge, counts: EdgeCounts) -> f32 {
        let q = || self.terms.q(edge.q(), || self.child(edge));
        if counts.are_visits_alone() && counts.visits() > 0 {
            return q();
        }
        let (visits, in_flight) = (counts.visits() as f32, counts.in_flight() as f32);
        if visits == 0.0 {
            return penalised_unvisited(self.unvisited_q, in_flight, self.virtual_loss);
        }
        penalised(q(), visits, in_flight, self.virtual_loss)
    }

    #[inline]
    pub fn u(&self, edge: &Edge, counts: EdgeCounts, prior: f32) -> f32 {
        let started = (counts.visits() + counts.in_flight()) as f32;
        self.exploration * self.terms.exploration_factor(|| self.child(edge)) * prior / (1.0 + started)
    }

    #[inline]
    pub fn unvisited_u(&self, prior: f32) -> f32 {
        self.exploration * self.unvisited_factor * prior
    }
}
