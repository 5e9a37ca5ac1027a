//! The memory of the tree: nodes, their moves, and the links to the positions after them.
//!
//! Four arrays, reserved once and never reallocated, so that the tree stays within its memory:
//!
//! | array | one entry is | an expanded node takes |
//! |---|---|---|
//! | nodes | a position with its statistics | 1 |
//! | moves | a legal move with its prior | one for each legal move |
//! | links | a move that was taken: its child and its visits | the next power of two of the moves taken |
//! | index | hash table from position keys to nodes | 1.5 |
//!
//! A node's moves are in order of falling prior and are taken for the first time in that order, so its links belong to
//! the first of them. Blocks of links grow by doubling; outgrown blocks are reused.

mod compact;
mod set;

pub(super) use set::NodeSet;

use super::proof::Proof;
use crate::eval::Wdl;
use crate::position::PackedMove;

/// The index of a node in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeId(pub(super) u32);

/// No node.
const NONE: u32 = u32::MAX;

/// A position with the statistics of its visits.
///
/// `wins` and `draws` are sums over the visits, for the side that moved *into* the node, so that a parent compares its
/// children without a change of sign. `wins` sums expected results from −1 to 1.
#[derive(Clone, Debug)]
pub(super) struct Node {
    // Changed by every visit.
    pub wins: f64,
    pub draws: f64,
    pub visits: u32,
    /// Visits that ended here: one, its evaluation; more if its moves were dropped or the game ends here.
    pub own: u32,
    pub in_flight: u32,
    // Changed rarely.
    pub proof: Option<Proof>,
    pub repetition: Option<Repetition>,
    pub links: u16,
    first_link: u32,
    // Set once.
    /// [`Game::key`](crate::position::Game::key), if the node is in the index.
    pub key: Option<std::num::NonZeroU64>,
    /// The evaluator's value for the side that moved into the node, −1 to 1.
    pub value: f32,
    pub moves: u16,
    first_move: u32,
}

/// A draw by repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repetition {
    /// Threefold repetition: the game is over.
    Threefold,
    /// The second occurrence, this many plies after the first: a draw if the first is not before the root.
    Twofold(u16),
}

/// A legal move of an expanded node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub packed: PackedMove,
    prior: u16,
}

impl Candidate {
    pub fn new(packed: PackedMove, prior: f32) -> Candidate {
        Candidate { packed, prior: (prior * f32::from(u16::MAX)).round().max(1.0) as u16 }
    }

    /// The prior, 0 to 1, in 16 bits.
    pub fn prior(self) -> f32 {
        f32::from(self.prior) * (1.0 / f32::from(u16::MAX))
    }
}

/// A move that was taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    child: u32,
    /// Visits by this move; the child may have more, by other paths.
    pub visits: u32,
}

impl Link {
    pub fn child(self) -> NodeId {
        NodeId(self.child)
    }
}

impl Default for Node {
    /// An unevaluated leaf.
    fn default() -> Node {
        Node {
            wins: 0.0,
            draws: 0.0,
            visits: 0,
            own: 0,
            in_flight: 0,
            proof: None,
            repetition: None,
            links: 0,
            first_link: 0,
            key: None,
            value: 0.0,
            moves: 0,
            first_move: 0,
        }
    }
}

impl Node {
    /// Whether the node has its moves.
    pub fn is_expanded(&self) -> bool {
        self.moves > 0
    }

    /// Mean result for the side that moved into the node, −1 to 1; 0 before the first visit. A proven value replaces the
    /// mean.
    pub fn q(&self) -> f32 {
        match self.proof {
            Some(proof) => -proof.wdl().q(),
            None if self.visits == 0 => 0.0,
            None => (self.wins / f64::from(self.visits)) as f32,
        }
    }

    /// Mean win, draw and loss for the side that moved into the node.
    pub fn wdl_for_parent(&self) -> Wdl {
        if let Some(proof) = self.proof {
            return proof.wdl().flipped();
        }
        let draw = if self.visits == 0 { 1.0 } else { (self.draws / f64::from(self.visits)) as f32 };
        let win = ((1.0 - draw + self.q()) / 2.0).clamp(0.0, 1.0);
        Wdl { win, draw, loss: (1.0 - draw - win).max(0.0) }
    }
}

/// The most legal moves of a position that shakmaty supports. Positions of games have at most 218, positions set up by
/// hand may have more.
pub(super) const MAX_MOVES: usize = 270;

/// Entries reserved for each node; a tree that needs more of one kind is full sooner.
const MOVES_PER_NODE: usize = 36;
const LINK_QUARTERS_PER_NODE: usize = 10;

/// Number of block sizes for links: 1, 2, 4 … 512.
const BLOCK_SIZES: usize = 10;

/// Bytes of a node with its share of all arrays.
pub(super) const NODE_COST: usize = size_of::<Node>()
    + MOVES_PER_NODE * size_of::<Candidate>()
    + LINK_QUARTERS_PER_NODE * size_of::<Link>() / 4
    + 3 * size_of::<u32>() / 2;

/// The four arrays.
pub(super) struct NodeStore {
    capacity: usize,
    nodes: Vec<Node>,
    spare_node: u32,
    moves: Vec<Candidate>,
    links: Vec<Link>,
    spare_links: [u32; BLOCK_SIZES],
    index: Vec<u32>,
}

impl NodeStore {
    /// Reserves what `memory` bytes have room for, or less if the system refuses. What is reserved is
    /// touched only when it is needed.
    pub fn new(memory: usize) -> NodeStore {
        let most = NONE as usize / MOVES_PER_NODE - MAX_MOVES;
        let mut capacity = (memory / NODE_COST).clamp(2, most);
        if memory / NODE_COST > most {
            log::warn!("a tree holds {most} nodes at most: {} MiB of Hash will do", (most * NODE_COST) >> 20);
        }
        loop {
            match NodeStore::reserve(capacity) {
                Some(arena) => return arena,
                None if capacity > 2 => capacity /= 2,
                None => panic!("no memory for a tree of two nodes"),
            }
        }
    }

    fn reserve(capacity: usize) -> Option<NodeStore> {
        let (mut nodes, mut moves, mut links) = (Vec::new(), Vec::new(), Vec::new());
        nodes.try_reserve_exact(capacity).ok()?;
        moves.try_reserve_exact(NodeStore::move_capacity(capacity)).ok()?;
        links.try_reserve_exact(NodeStore::link_capacity(capacity)).ok()?;
        Vec::<u32>::new().try_reserve_exact(NodeStore::index_size(capacity)).ok()?;
        let index = NodeStore::empty_index(capacity);
        let spare_links = [NONE; BLOCK_SIZES];
        Some(NodeStore { capacity, nodes, spare_node: NONE, moves, links, spare_links, index })
    }

    fn index_size(capacity: usize) -> usize {
        capacity * 3 / 2 + 1
    }

    /// Zeroes, which the operating system provides without touching the memory.
    fn empty_index(capacity: usize) -> Vec<u32> {
        vec![0; NodeStore::index_size(capacity)]
    }

    fn move_capacity(capacity: usize) -> usize {
        capacity * MOVES_PER_NODE + MAX_MOVES
    }

    fn link_capacity(capacity: usize) -> usize {
        // Growing to the largest block needs all smaller ones on the way.
        capacity * LINK_QUARTERS_PER_NODE / 4 + (2 << BLOCK_SIZES)
    }

    /// Whether there may be no room for another node, while so many leaves are still to be expanded.
    pub fn is_full(&self, leaves: usize) -> bool {
        (self.nodes.len() + 1 > self.capacity && self.spare_node == NONE)
            || self.moves.len() + MAX_MOVES * (leaves + 1) > NodeStore::move_capacity(self.capacity)
            || self.links.len() + (1 << BLOCK_SIZES) > NodeStore::link_capacity(self.capacity)
    }

    /// The used share of the fullest array, in thousandths.
    pub fn fullness(&self) -> u32 {
        let nodes = self.nodes.len() * 1000 / self.capacity;
        let moves = self.moves.len() * 1000 / NodeStore::move_capacity(self.capacity);
        let links = self.links.len() * 1000 / NodeStore::link_capacity(self.capacity);
        nodes.max(moves).max(links).min(1000) as u32
    }

    /// All nodes, including unreachable ones.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// Removes all nodes, but keeps the memory.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.spare_node = NONE;
        self.moves.clear();
        self.links.clear();
        self.spare_links = [NONE; BLOCK_SIZES];
        self.index = Vec::new();
        self.index = NodeStore::empty_index(self.capacity);
    }

    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0 as usize]
    }

    /// Adds an unevaluated node.
    pub fn add(&mut self) -> NodeId {
        if self.spare_node == NONE {
            self.nodes.push(Node::default());
            return NodeId(self.nodes.len() as u32 - 1);
        }
        let id = NodeId(self.spare_node);
        self.spare_node = self.node(id).first_move;
        *self.node_mut(id) = Node::default();
        id
    }

    /// Removes an unreachable node, which must have no moves and no entry in the index.
    pub fn remove(&mut self, id: NodeId) {
        let node = &mut self.nodes[id.0 as usize];
        debug_assert!(!node.is_expanded() && node.key.is_none() && node.in_flight == 0);
        node.first_move = self.spare_node;
        self.spare_node = id.0;
    }

    /// Sets a node's moves, highest prior first.
    pub fn expand(&mut self, id: NodeId, moves: &[Candidate]) {
        let first_move = self.moves.len() as u32;
        self.moves.extend_from_slice(moves);
        let node = self.node_mut(id);
        (node.first_move, node.moves) = (first_move, moves.len() as u16);
    }

    /// Drops a node's moves and links.
    pub fn drop_moves(&mut self, id: NodeId) {
        let node = self.node_mut(id);
        (node.moves, node.first_move) = (0, 0);
        (node.links, node.first_link) = (0, 0);
        node.own = node.visits;
    }

    pub fn moves_of(&self, id: NodeId) -> &[Candidate] {
        let node = self.node(id);
        &self.moves[node.first_move as usize..][..usize::from(node.moves)]
    }

    pub fn moves_of_mut(&mut self, id: NodeId) -> &mut [Candidate] {
        let node = &self.nodes[id.0 as usize];
        &mut self.moves[node.first_move as usize..][..usize::from(node.moves)]
    }

    /// The links of the node's moves that were taken, in the order of the moves.
    pub fn links_of(&self, id: NodeId) -> &[Link] {
        let node = self.node(id);
        &self.links[node.first_link as usize..][..usize::from(node.links)]
    }

    pub fn link_mut(&mut self, id: NodeId, edge: usize) -> &mut Link {
        let first = self.node(id).first_link as usize;
        &mut self.links[first + edge]
    }

    /// The node after move `edge` of `parent`; a new one if `edge` is the first untaken move.
    pub fn child_or_new(&mut self, parent: NodeId, edge: usize) -> NodeId {
        let taken = usize::from(self.node(parent).links);
        if edge < taken {
            return self.links_of(parent)[edge].child();
        }
        debug_assert_eq!(edge, taken, "moves are taken in order");
        let child = self.add();
        if taken == 0 || taken.is_power_of_two() {
            self.grow_links(parent, taken);
        }
        let node = self.node_mut(parent);
        node.links += 1;
        *self.link_mut(parent, edge) = Link { child: child.0, visits: 0 };
        child
    }

    /// Makes the move `edge` of `parent` lead to an existing node.
    pub fn redirect(&mut self, parent: NodeId, edge: usize, child: NodeId) {
        self.link_mut(parent, edge).child = child.0;
    }

    /// Moves a node's full block of `taken` links into a block of twice the size.
    fn grow_links(&mut self, id: NodeId, taken: usize) {
        let size_class = if taken == 0 { 0 } else { taken.ilog2() as usize + 1 };
        let block = self.spare_links[size_class];
        let first = if block == NONE {
            let first = self.links.len();
            self.links.resize(first + (1 << size_class), Link { child: NONE, visits: 0 });
            first as u32
        } else {
            // A spare block's first entry is the index of the next spare block.
            self.spare_links[size_class] = self.links[block as usize].child;
            block
        };
        let old = std::mem::replace(&mut self.node_mut(id).first_link, first);
        if taken > 0 {
            self.links.copy_within(old as usize..old as usize + taken, first as usize);
            self.links[old as usize].child = self.spare_links[size_class - 1];
            self.spare_links[size_class - 1] = old;
        }
    }

    /// The node registered under `key`.
    pub fn find(&self, key: u64) -> Option<NodeId> {
        let mut slot = self.slot(key);
        loop {
            // Zero is an empty slot.
            let id = self.index[slot].checked_sub(1)?;
            if self.nodes[id as usize].key.is_some_and(|known| known.get() == key) {
                return Some(NodeId(id));
            }
            slot = if slot + 1 == self.index.len() { 0 } else { slot + 1 };
        }
    }

    /// Registers a node under `key`, which must not be registered yet.
    pub fn register(&mut self, id: NodeId, key: u64) {
        // A key of zero (one in 2^64) is never found: that costs only the transposition.
        self.node_mut(id).key = std::num::NonZeroU64::new(key);
        let mut slot = self.slot(key);
        while self.index[slot] != 0 {
            slot = if slot + 1 == self.index.len() { 0 } else { slot + 1 };
        }
        self.index[slot] = id.0 + 1;
    }

    fn slot(&self, key: u64) -> usize {
        ((u128::from(key) * self.index.len() as u128) >> 64) as usize
    }

    /// Entries of a node in the arrays of moves and links.
    pub fn footprint(&self, id: NodeId) -> (usize, usize) {
        let node = self.node(id);
        (usize::from(node.moves), usize::from(node.links).next_power_of_two())
    }

    /// Capacities for nodes, moves and links.
    pub fn capacities(&self) -> (usize, usize, usize) {
        (self.capacity, NodeStore::move_capacity(self.capacity), NodeStore::link_capacity(self.capacity))
    }

    /// Bytes reserved.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
            + self.moves.capacity() * size_of::<Candidate>()
            + self.links.capacity() * size_of::<Link>()
            + self.index.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests;
