//! Selection: the move that a visit takes, by PUCT.

use super::neuralmateplay::{SelectionTerms, StandardPuct};
use super::node_store::{Link, Node, NodeId};
use super::proof::Proof;
use super::tree::Tree;

impl Tree {
    /// The index of the move that the next visit takes at an expanded node.
    ///
    /// `argmax Q + U` with `U = c(N) · prior · √(visits of all moves) / (1 + visits of the move)`. In-flight visits
    /// count as visits, and in Q as [`virtual_loss`](super::Params::virtual_loss) says. An unvisited move's Q is
    /// reduced by [`fpu`](super::Params::fpu).
    ///
    /// Moves that are proven to lose are skipped while there is another; at the root also those that cannot become the
    /// most visited within the [horizon](Tree::set_horizon).
    pub(super) fn select(&self, id: NodeId) -> usize {
        if let Some(edge) = self.forced.filter(|_| id == self.root) {
            return edge;
        }
        match &self.neuralmateplay {
            None => self.select_with(id, &StandardPuct),
            Some(terms) => self.select_with(id, terms),
        }
    }

    fn select_with(&self, id: NodeId, terms: &impl SelectionTerms) -> usize {
        let context = SelectionContext::new(self, id, terms);
        let links = self.nodes.links_of(id);
        let moves = self.nodes.moves_of(id);
        let mut best = (f32::NEG_INFINITY, 0);
        for (index, (link, candidate)) in links.iter().zip(moves).enumerate() {
            let child = self.node(link.child());
            let settled =
                matches!(child.proof, Some(Proof::Win(_))) || (context.proven && child.proof.is_some());
            if settled || context.is_hopeless(link.visits) {
                continue;
            }
            let score = context.q(child, link) + context.u(child, link, candidate.prior());
            if score > best.0 {
                best = (score, index);
            }
        }
        // Moves are in order of falling prior: of the unvisited ones the first has the greatest score.
        if let Some(candidate) = moves.get(links.len())
            && !context.is_hopeless(0)
        {
            let score = context.unvisited_q + context.unvisited_u(candidate.prior());
            if score > best.0 {
                best = (score, links.len());
            }
        }
        best.1
    }
}

/// What the moves of one node have in common.
pub(super) struct SelectionContext<'a, T> {
    terms: &'a T,
    virtual_loss: f32,
    /// `c(N) · √(visits of all moves)`.
    exploration: f32,
    /// Q of an unvisited move.
    pub unvisited_q: f32,
    /// The terms' factor on the exploration of an unvisited move.
    unvisited_factor: f32,
    /// The node is proven (a search may continue below a proven root): only its unproven moves are of interest.
    proven: bool,
    /// Moves with fewer visits than this cannot become the most visited.
    hopeless_below: u64,
}

impl<'a, T: SelectionTerms> SelectionContext<'a, T> {
    pub fn new(tree: &Tree, id: NodeId, terms: &'a T) -> SelectionContext<'a, T> {
        let params = &tree.params;
        let at_root = id == tree.root;
        let node = tree.node(id);
        let links = tree.nodes.links_of(id);
        let (mut visited_prior, mut visits) = (0.0, node.in_flight);
        for (link, candidate) in links.iter().zip(tree.nodes.moves_of(id)) {
            if tree.node(link.child()).visits > 0 {
                visited_prior += candidate.prior();
            }
            visits += link.visits;
        }
        let children = links.iter().map(|link| tree.node(link.child()));
        let unvisited_q = if terms.drops_fpu_reduction(children) {
            -node.q()
        } else {
            -node.q() - params.fpu * visited_prior.sqrt()
        };
        let hopeless_below = match tree.horizon {
            Some(horizon) if at_root => tree.lead().0.saturating_sub(horizon),
            _ => 0,
        };
        SelectionContext {
            terms,
            virtual_loss: params.virtual_loss,
            exploration: params.puct.at(node.visits) * (visits.max(1) as f32).sqrt(),
            unvisited_q,
            unvisited_factor: terms.exploration_factor(node),
            proven: node.proof.is_some(),
            hopeless_below,
        }
    }

    /// Q of a move that has been taken, with the virtual loss of its in-flight visits, for the side that makes it.
    fn q(&self, child: &Node, link: &Link) -> f32 {
        let in_flight = child.in_flight as f32;
        if child.visits == 0 {
            // Its first evaluation is still in flight.
            return self.unvisited_q - self.virtual_loss * (in_flight / (in_flight + 1.0));
        }
        let q = self.terms.q(child.q(), child);
        if in_flight == 0.0 {
            return q;
        }
        let started = link.visits as f32 + in_flight;
        q - self.virtual_loss * (1.0 + q) * in_flight / started
    }

    /// U of a move that has been taken: its exploration.
    pub fn u(&self, child: &Node, link: &Link, prior: f32) -> f32 {
        let started = link.visits as f32 + child.in_flight as f32;
        self.exploration * self.terms.exploration_factor(child) * prior / (1.0 + started)
    }

    /// U of a move that has never been taken.
    pub fn unvisited_u(&self, prior: f32) -> f32 {
        self.exploration * self.unvisited_factor * prior
    }

    fn is_hopeless(&self, visits: u32) -> bool {
        u64::from(visits) < self.hopeless_below
    }
}
