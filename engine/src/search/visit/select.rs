//! Selection: the move that a visit takes, by PUCT.

use std::sync::atomic::Ordering;

use crate::search::tree::Tree;
use crate::search::tree::neuralmateplay::{SelectionTerms, StandardPuct};
use crate::search::tree::node::{Candidate, Known, Link, LinkCounts, Node, NodeId};

impl Tree {
    /// The move that the next visit takes at an expanded node, with a factor on its exploration.
    ///
    /// `argmax Q + U` with U as [`Puct`](crate::search::Puct) says. In-flight visits
    /// count as visits, and in Q as [`virtual_loss`](crate::search::Params::virtual_loss) says. An unvisited move's Q is
    /// reduced by [`fpu`](crate::search::Params::fpu).
    ///
    /// Moves that are proven to lose are skipped while there is another; at the root also those that cannot become the
    /// most visited within the [horizon](Tree::set_horizon).
    #[inline]
    pub(in crate::search) fn select(&self, id: NodeId, factor: f32) -> Choice<'_> {
        if let Some(edge) = self.forced.filter(|_| id == self.root) {
            return self.choice(id, edge);
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
        let mut taken = 0;
        let untaken = self.nodes.for_each_taken(self.node(id), |edge, link_id, link, candidate| {
            taken = edge + 1;
            let counts = link.counts();
            if context.is_settled(counts) || counts.visits() < context.hopeless_below {
                return;
            }
            let score = context.q(link, counts) + context.u(link, counts, candidate.prior());
            if score > best {
                (best, choice) = (score, Some(Choice { edge, taken: Some((link_id, link)), candidate }));
            }
        });
        // Moves are in order of falling prior: of the unvisited ones the first has the greatest score.
        if let Some(candidate) = untaken
            && context.hopeless_below == 0
        {
            let score = context.unvisited_q + context.unvisited_u(candidate.prior());
            if score > best {
                choice = Some(Choice { edge: taken, taken: None, candidate });
            }
        }
        choice.unwrap_or_else(|| self.choice(id, 0))
    }

    /// The move `edge` of an expanded node.
    fn choice(&self, id: NodeId, edge: usize) -> Choice<'_> {
        let taken = (edge < self.node(id).links()).then(|| {
            let link = self.nodes.link_id(id, edge);
            (link, self.nodes.link(link))
        });
        Choice { edge, taken, candidate: self.nodes.candidate(id, edge) }
    }
}

/// A move that a visit takes next.
#[derive(Clone, Copy)]
pub(in crate::search) struct Choice<'a> {
    /// Its number.
    pub edge: usize,
    /// If it was taken before: its link, with the id.
    pub taken: Option<(u32, &'a Link)>,
    pub candidate: &'a Candidate,
}

/// What the moves of one node have in common.
pub(in crate::search) struct SelectionContext<'a, T> {
    tree: &'a Tree,
    terms: &'a T,
    virtual_loss: f32,
    /// U of an unvisited move with prior 1.
    exploration: f32,
    /// Q of an unvisited move.
    pub unvisited_q: f32,
    /// The terms' factor on the exploration of an unvisited move.
    unvisited_factor: f32,
    /// The node is proven (a search may continue below a proven root): only its unproven moves are of interest.
    proven: bool,
    /// Moves with fewer visits than this cannot become the most visited.
    hopeless_below: u32,
}

impl<'a, T: SelectionTerms> SelectionContext<'a, T> {
    #[inline]
    pub fn new(tree: &'a Tree, id: NodeId, factor: f32, terms: &'a T) -> SelectionContext<'a, T> {
        let params = &tree.params;
        let node = tree.node(id);
        let at_root = id == tree.root;
        // Another worker may have counted its visit here and not yet among the node's own, or the reverse.
        let below = node.visits().saturating_sub(node.own()) + node.in_flight();
        let visited_prior = match tree.nodes.head_of(id) {
            Some(head) => head.visits() as f32 * (1.0 / f32::from(u16::MAX)),
            None => 0.0,
        };
        let siblings = || tree.nodes.links_of(id).map(|link| tree.node(link.child()));
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

    fn child(&self, link: &Link) -> &'a Node {
        self.tree.node(link.child())
    }

    /// There is nothing more to find below a move.
    #[inline]
    fn is_settled(&self, counts: LinkCounts) -> bool {
        if counts.are_visits_alone() {
            return false;
        }
        let known = counts.known();
        known == Known::Lost || (self.proven && known != Known::Nothing)
    }

    /// Q of a move that has been taken, with the virtual loss of its in-flight visits, for the side that makes it.
    #[inline]
    fn q(&self, link: &Link, counts: LinkCounts) -> f32 {
        let q = || self.terms.q(link.q(), || self.child(link));
        if counts.are_visits_alone() && counts.visits() > 0 {
            return q();
        }
        let (visits, in_flight) = (counts.visits() as f32, counts.in_flight() as f32);
        if visits == 0.0 {
            // Its first evaluation is still in flight.
            return self.unvisited_q - self.virtual_loss * (in_flight / (in_flight + 1.0));
        }
        let q = q();
        if in_flight == 0.0 {
            return q;
        }
        q - self.virtual_loss * (1.0 + q) * in_flight / (visits + in_flight)
    }

    /// U of a move that has been taken: its exploration.
    #[inline]
    pub fn u(&self, link: &Link, counts: LinkCounts, prior: f32) -> f32 {
        let started = (counts.visits() + counts.in_flight()) as f32;
        self.exploration * self.terms.exploration_factor(|| self.child(link)) * prior / (1.0 + started)
    }

    /// U of a move that has never been taken.
    #[inline]
    pub fn unvisited_u(&self, prior: f32) -> f32 {
        self.exploration * self.unvisited_factor * prior
    }
}
