use shakmaty::Move;

use crate::chess::position::PackedMove;
use crate::nets::eval::Wdl;

pub type UctNodeId = u32;

pub const ROOT: UctNodeId = 0;

/// Results are for the side that made the move.
#[derive(Clone, Copy, Debug, Default)]
pub struct UctNode {
    /// Meaningless at the root.
    pub m: PackedMove,
    children: u16,
    first_child: UctNodeId,
    pub visits: u32,
    win: f32,
    loss: f32,
}

impl UctNode {
    pub fn wdl(&self) -> Wdl {
        Wdl { win: self.win, draw: (1.0 - self.win - self.loss).max(0.0), loss: self.loss }
    }

    pub fn payout(&self) -> f32 {
        (1.0 + self.win - self.loss) / 2.0
    }

    pub fn add_result(&mut self, wdl: Wdl) {
        self.visits += 1;
        let visits = self.visits as f32;
        self.win += (wdl.win - self.win) / visits;
        self.loss += (wdl.loss - self.loss) / visits;
    }
}

/// A node's children are adjacent.
#[derive(Clone, Debug)]
pub struct UctTree {
    nodes: Vec<UctNode>,
    capacity: usize,
}

impl UctTree {
    /// `memory` is in bytes; the root's children always fit.
    pub fn new(memory: usize) -> UctTree {
        let capacity = (memory / size_of::<UctNode>()).min(UctNodeId::MAX as usize);
        UctTree { nodes: vec![UctNode::default()], capacity }
    }

    pub fn node(&self, id: UctNodeId) -> &UctNode {
        &self.nodes[id as usize]
    }

    pub fn node_mut(&mut self, id: UctNodeId) -> &mut UctNode {
        &mut self.nodes[id as usize]
    }

    pub fn children(&self, id: UctNodeId) -> std::ops::Range<UctNodeId> {
        let node = self.node(id);
        node.first_child..node.first_child + UctNodeId::from(node.children)
    }

    /// Changes nothing and returns false if the memory is full.
    pub fn expand(&mut self, id: UctNodeId, moves: &[Move]) -> bool {
        let first_child = self.nodes.len();
        if id != ROOT && first_child + moves.len() > self.capacity {
            return false;
        }
        // Doubling would exceed the capacity.
        if self.nodes.capacity() < first_child + moves.len() {
            let left = self.capacity.saturating_sub(first_child);
            self.nodes.reserve_exact(first_child.max(1 << 12).min(left).max(moves.len()));
        }
        self.nodes.extend(moves.iter().map(|m| UctNode { m: PackedMove::new(*m), ..UctNode::default() }));
        let node = self.node_mut(id);
        (node.first_child, node.children) = (first_child as UctNodeId, moves.len() as u16);
        true
    }

    pub fn ranked(&self, id: UctNodeId) -> Vec<UctNodeId> {
        let mut order: Vec<UctNodeId> = self.children(id).collect();
        order.sort_by(|a, b| {
            let (a, b) = (self.node(*a), self.node(*b));
            b.visits.cmp(&a.visits).then(b.payout().total_cmp(&a.payout()))
        });
        order
    }

    pub fn hashfull(&self) -> u32 {
        (self.nodes.len() * 1000 / self.capacity.max(1)).min(1000) as u32
    }
}
