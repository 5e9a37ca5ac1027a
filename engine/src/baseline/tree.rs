//! The tree of UCT: positions, how often they were visited, and what came of it.

use shakmaty::Move;

use crate::eval::Wdl;
use crate::position::PackedMove;

/// A node's place in the tree.
pub type NodeId = u32;

/// The root's place.
pub const ROOT: NodeId = 0;

/// A move, and the position after it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Node {
    /// The move; nothing at the root.
    pub m: PackedMove,
    children: u16,
    first_child: NodeId,
    /// Games that came through here.
    pub visits: u32,
    /// Mean share of games won by the side that made the move.
    win: f32,
    /// Mean share of games lost by it.
    loss: f32,
}

impl Node {
    /// What the games came to, for the side that made the move.
    pub fn wdl(&self) -> Wdl {
        Wdl { win: self.win, draw: (1.0 - self.win - self.loss).max(0.0), loss: self.loss }
    }

    /// The mean payout for that side: 1 a win, 0 a loss, half a draw.
    pub fn payout(&self) -> f32 {
        (1.0 + self.win - self.loss) / 2.0
    }

    /// One more game.
    pub fn count(&mut self, wdl: Wdl) {
        self.visits += 1;
        let visits = self.visits as f32;
        self.win += (wdl.win - self.win) / visits;
        self.loss += (wdl.loss - self.loss) / visits;
    }
}

/// All nodes; the children of each lie side by side.
#[derive(Clone, Debug)]
pub struct Tree {
    nodes: Vec<Node>,
    most: usize,
}

impl Tree {
    /// A root alone, in a tree of at most so many bytes; the root's children have room in any case.
    pub fn new(memory: usize) -> Tree {
        Tree { nodes: vec![Node::default()], most: (memory / size_of::<Node>()).min(NodeId::MAX as usize) }
    }

    /// The node in this place.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    /// The same, to be changed.
    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id as usize]
    }

    /// The places of a node's children; none if it has not been expanded.
    pub fn children(&self, id: NodeId) -> std::ops::Range<NodeId> {
        let node = self.node(id);
        node.first_child..node.first_child + NodeId::from(node.children)
    }

    /// Gives a node a child for every one of its moves, as far as there is room. Whether there was.
    pub fn expand(&mut self, id: NodeId, moves: &[Move]) -> bool {
        let first_child = self.nodes.len();
        if id != ROOT && first_child + moves.len() > self.most {
            return false;
        }
        // Doubling would go beyond the bound.
        if self.nodes.capacity() < first_child + moves.len() {
            let more = first_child.max(1 << 12).min(self.most.saturating_sub(first_child)).max(moves.len());
            self.nodes.reserve_exact(more);
        }
        self.nodes.extend(moves.iter().map(|m| Node { m: PackedMove::new(*m), ..Node::default() }));
        let node = self.node_mut(id);
        (node.first_child, node.children) = (first_child as NodeId, moves.len() as u16);
        true
    }

    /// A node's children, best first: the most visits, then the better payout.
    pub fn ranked(&self, id: NodeId) -> Vec<NodeId> {
        let mut order: Vec<NodeId> = self.children(id).collect();
        order.sort_by(|a, b| {
            let (a, b) = (self.node(*a), self.node(*b));
            b.visits.cmp(&a.visits).then(b.payout().total_cmp(&a.payout()))
        });
        order
    }

    /// How much of the memory is used, in thousandths.
    pub fn fullness(&self) -> u32 {
        (self.nodes.len() * 1000 / self.most.max(1)).min(1000) as u32
    }
}
