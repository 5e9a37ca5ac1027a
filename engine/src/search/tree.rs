//! The tree's memory: nodes and edges, and the law that holds between them.

use shakmaty::Move;

use super::Params;
use super::proof::Proof;
use crate::eval::Wdl;
use crate::position::{Game, PackedMove};

/// A node of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeId(pub(super) u32);

/// Where a node stands in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not evaluated yet.
    Leaf,
    /// Evaluated: it has its edges.
    Expanded,
    /// The game is over here: no edges.
    Terminal,
}

/// A position that has been reached, with the statistics of the visits to it.
///
/// `wins` and `draws` are sums over the visits, seen by the side that moved *into* the node, so that a
/// parent compares its children as they are.
#[derive(Clone, Debug)]
pub(super) struct Node {
    // Changes with every visit.
    pub visits: u32,
    pub pending: u16,
    pub wins: f64,
    pub draws: f32,
    // Changes once.
    pub proof: Option<Proof>,
    pub state: State,
    pub edge_count: u16,
    pub first_edge: u32,
}

/// A legal move of an expanded node; edges stand in order of falling prior.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub packed: PackedMove,
    prior: u16,
    child: u32,
}

const NO_CHILD: u32 = u32::MAX;

/// Memory of a node with its edges at 35 moves, which `Tree::new` divides the budget by.
const EDGES_PER_NODE: usize = 35;
/// The most legal moves of a position: as many as shakmaty's list of moves has room for. Games reach
/// 218 at most, positions set up by hand more.
const MAX_MOVES: usize = 270;
const NODE_COST: usize = size_of::<Node>() + EDGES_PER_NODE * size_of::<Edge>();

impl Edge {
    pub fn new(packed: PackedMove, prior: f32) -> Edge {
        Edge { packed, prior: (prior * f32::from(u16::MAX)).round().max(1.0) as u16, child: NO_CHILD }
    }

    /// The move's share of the policy, 0 to 1.
    pub fn prior(self) -> f32 {
        f32::from(self.prior) / f32::from(u16::MAX)
    }

    pub fn child(self) -> Option<NodeId> {
        (self.child != NO_CHILD).then_some(NodeId(self.child))
    }
}

impl Node {
    fn leaf() -> Node {
        Node {
            visits: 0,
            pending: 0,
            wins: 0.0,
            draws: 0.0,
            proof: None,
            state: State::Leaf,
            edge_count: 0,
            first_edge: 0,
        }
    }

    /// Mean result for the side that moved into the node, −1 to 1; 0 before the first visit.
    pub fn q(&self) -> f32 {
        if self.visits == 0 { 0.0 } else { (self.wins / f64::from(self.visits)) as f32 }
    }

    /// Mean win, draw and loss for the side that moved into the node.
    pub fn wdl_for_parent(&self) -> Wdl {
        let draw = if self.visits == 0 { 1.0 } else { self.draws / self.visits as f32 };
        let win = ((1.0 - draw + self.q()) / 2.0).clamp(0.0, 1.0);
        Wdl { win, draw, loss: (1.0 - draw - win).max(0.0) }
    }
}

/// What the outside may know of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeView {
    /// Visits that have come back.
    pub visits: u32,
    /// Visits on their way.
    pub pending: u32,
    /// Mean result for the side that moved into the node.
    pub q: f32,
    /// Mean win, draw and loss for the side that moved into the node.
    pub wdl: Wdl,
    /// What is certain, for the side to move in the node.
    pub proof: Option<Proof>,
    /// The prior of the move into the node; 1 for the root.
    pub prior: f32,
}

/// A search tree over one root position: only data, no clock, thread or random source.
///
/// **Law.** When nothing is in flight, an expanded node's visits are one (its own evaluation) plus
/// its children's.
pub struct Tree {
    // Set once.
    pub(super) params: Params,
    root_game: Game,
    root_moves: Vec<Move>,
    capacity: usize,
    // Grows.
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
    // Counters over the tree's life.
    pub(super) playouts: u64,
    pub(super) in_flight: u64,
    pub(super) path_plies: u64,
    pub(super) longest_path: u32,
}

impl Tree {
    pub(super) const ROOT: NodeId = NodeId(0);

    /// A tree that holds nothing but the unevaluated root of `root_game`.
    ///
    /// `root_moves` restricts the root's moves (empty for all). `memory` in bytes bounds nodes and
    /// edges together; it is reserved but not touched before it is needed, and the tree never takes
    /// more.
    pub fn new(root_game: Game, root_moves: &[Move], params: Params, memory: usize) -> Tree {
        let legal = root_game.legal_moves();
        let root_moves: Vec<Move> = if root_moves.is_empty() {
            legal.to_vec()
        } else {
            legal.iter().copied().filter(|m| root_moves.contains(m)).collect()
        };
        let (nodes, edges, capacity) = reserve((memory / NODE_COST).max(2));
        let mut tree = Tree {
            params,
            root_game,
            root_moves,
            capacity,
            nodes,
            edges,
            playouts: 0,
            in_flight: 0,
            path_plies: 0,
            longest_path: 0,
        };
        tree.nodes.push(Node::leaf());
        tree
    }

    /// The position that the tree grows from.
    pub fn root_game(&self) -> &Game {
        &self.root_game
    }

    /// The moves that are searched at the root.
    pub fn root_moves(&self) -> &[Move] {
        &self.root_moves
    }

    /// Visits that have been applied.
    pub fn playouts(&self) -> u64 {
        self.playouts
    }

    /// Tickets that are neither applied nor cancelled.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Mean length of the playouts' paths in plies, rounded down.
    pub fn depth(&self) -> u32 {
        (self.path_plies / self.playouts.max(1)) as u32
    }

    /// Length of the longest path in plies.
    pub fn longest_path(&self) -> u32 {
        self.longest_path
    }

    /// Whether another leaf might not find room.
    pub fn is_full(&self) -> bool {
        // A path may add a node at its end; every leaf in flight may still bring its edges.
        let promised = MAX_MOVES * (self.in_flight as usize + 1);
        self.nodes.len() + 1 > self.capacity || self.edges.len() + promised > self.edge_capacity()
    }

    /// How full the memory is, in thousandths.
    pub fn fullness(&self) -> u32 {
        let nodes = self.nodes.len() * 1000 / self.capacity;
        let edges = self.edges.len() * 1000 / self.edge_capacity();
        nodes.max(edges).min(1000) as u32
    }

    fn edge_capacity(&self) -> usize {
        self.capacity * EDGES_PER_NODE + MAX_MOVES
    }

    /// The root's statistics.
    pub fn root(&self) -> NodeView {
        self.view(Tree::ROOT, 1.0)
    }

    /// The root's moves with the statistics of the positions after them, in order of falling prior;
    /// empty before the root's evaluation.
    pub fn children(&self) -> Vec<(Move, NodeView)> {
        let unvisited = NodeView { visits: 0, pending: 0, q: 0.0, wdl: Wdl::DRAW, proof: None, prior: 0.0 };
        self.edges_of(Tree::ROOT)
            .iter()
            .map(|edge| {
                let view = edge.child().map_or(unvisited, |child| self.view(child, edge.prior()));
                let m = edge.packed.to_legal_move(self.root_game.position());
                (m, NodeView { prior: edge.prior(), ..view })
            })
            .collect()
    }

    fn view(&self, id: NodeId, prior: f32) -> NodeView {
        let node = self.node(id);
        NodeView {
            visits: node.visits,
            pending: u32::from(node.pending),
            q: node.q(),
            wdl: node.wdl_for_parent(),
            proof: node.proof,
            prior,
        }
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    pub(super) fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0 as usize]
    }

    pub(super) fn edges_of(&self, id: NodeId) -> &[Edge] {
        let node = self.node(id);
        &self.edges[node.first_edge as usize..][..usize::from(node.edge_count)]
    }

    /// The child behind an edge, made if the edge was never taken.
    pub(super) fn child_or_new(&mut self, parent: NodeId, edge: usize) -> NodeId {
        let index = self.node(parent).first_edge as usize + edge;
        if self.edges[index].child == NO_CHILD {
            self.edges[index].child = self.nodes.len() as u32;
            self.nodes.push(Node::leaf());
        }
        NodeId(self.edges[index].child)
    }

    /// Checks the law that [`Tree`] states, and that nothing is in flight; for tests.
    ///
    /// # Errors
    ///
    /// The first node that breaks it.
    pub fn check_at_rest(&self) -> Result<(), String> {
        if self.in_flight != 0 {
            return Err(format!("{} tickets in flight", self.in_flight));
        }
        for (index, node) in self.nodes.iter().enumerate() {
            if node.pending != 0 {
                return Err(format!("node {index} has {} visits pending", node.pending));
            }
            if node.state == State::Expanded {
                let children = self.edges_of(NodeId(index as u32)).iter().filter_map(|edge| edge.child());
                let below: u32 = children.map(|child| self.node(child).visits).sum();
                if node.visits != 1 + below {
                    return Err(format!("node {index} has {} visits, its children {below}", node.visits));
                }
            }
        }
        Ok(())
    }
}

/// Reserves room for `capacity` nodes and their edges, or for less if the system refuses.
fn reserve(mut capacity: usize) -> (Vec<Node>, Vec<Edge>, usize) {
    capacity = capacity.min(NO_CHILD as usize / EDGES_PER_NODE - MAX_MOVES);
    loop {
        let (mut nodes, mut edges) = (Vec::new(), Vec::new());
        let room = capacity * EDGES_PER_NODE + MAX_MOVES;
        if nodes.try_reserve_exact(capacity + 1).is_ok() && edges.try_reserve_exact(room).is_ok() {
            return (nodes, edges, capacity);
        }
        capacity /= 2;
        assert!(capacity > 0, "no memory for a tree of one node");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_with_35_edges_stays_small() {
        const { assert!(NODE_COST <= 320) };
    }

    #[test]
    fn a_prior_survives_its_sixteen_bits() {
        for prior in [0.0, 1e-4, 0.25, 0.5, 1.0] {
            assert!((Edge::new(PackedMove(0), prior).prior() - prior).abs() < 2e-5);
        }
    }

    #[test]
    fn memory_is_bounded() {
        let tree = Tree::new(Game::new(), &[], Params::default(), 1 << 20);
        let bytes = tree.nodes.capacity() * size_of::<Node>() + tree.edges.capacity() * size_of::<Edge>();
        assert!(bytes <= (1 << 20) + MAX_MOVES * size_of::<Edge>() + size_of::<Node>(), "{bytes}");
    }
}
