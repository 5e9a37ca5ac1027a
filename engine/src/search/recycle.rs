//! Freeing memory, a little at a time.
//!
//! Nodes that nothing leads to any more are freed first. Then a hand goes round all nodes and drops the moves of those
//! with few visits: such a node keeps its statistics and is a leaf again, and what was only reachable through it is
//! freed. If a whole round frees nothing, nodes with twice as many visits are dropped in the next.

use std::sync::atomic::Ordering;

use super::node::NodeId;
use super::tree::Tree;

/// Nodes that one call frees or looks at, at most: a few milliseconds.
const NODES_AT_ONCE: usize = 40_000;

/// A call frees this share of the memory, if it can.
const SHARE: usize = 64;

/// In the first round, nodes with fewer visits than this lose their moves.
const FIRST_FLOOR: u32 = 4;

/// Where freeing continues.
pub(super) struct Recycler {
    /// Nodes without references.
    unreachable: Vec<NodeId>,
    /// The next node of the round.
    hand: u32,
    floor: u32,
    /// Whether the round has freed anything.
    freed: bool,
    /// Calls so far.
    calls: u64,
}

impl Default for Recycler {
    fn default() -> Recycler {
        Recycler { unreachable: Vec::new(), hand: 0, floor: FIRST_FLOOR, freed: false, calls: 0 }
    }
}

impl Tree {
    /// Adds a reference to a node.
    pub(super) fn hold(&self, id: NodeId) {
        let references = &self.node(id).references;
        // A node with so many references that they cannot be counted is kept for ever.
        let _ = references.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_add(1));
    }

    /// Removes a reference; a node without any is freed when memory is needed.
    pub(super) fn release(&mut self, id: NodeId) {
        let references = &self.nodes.node(id).references;
        let count = references.load(Ordering::Relaxed);
        if count == u16::MAX {
            return;
        }
        debug_assert!(count > 0, "{id:?} is released too often");
        references.store(count - 1, Ordering::Relaxed);
        if count == 1 {
            // No visit may find it any more.
            self.nodes.unregister(id);
            self.recycler.unreachable.push(id);
        }
    }

    /// Frees some memory; returns whether there is hope of more room: `false` if nothing is left to drop.
    ///
    /// No visit may be in flight.
    pub fn recycle(&mut self) -> bool {
        self.recycler.calls += 1;
        let goal = self.nodes.free_bytes() + self.nodes.memory() / SHARE;
        for _ in 0..NODES_AT_ONCE {
            let freed = match self.recycler.unreachable.pop() {
                Some(id) => {
                    self.drop_moves(id);
                    self.nodes.free_node(id);
                    true
                }
                None => match self.pass_hand() {
                    Some(freed) => freed,
                    None => return false,
                },
            };
            self.recycler.freed |= freed;
            if freed && self.nodes.free_bytes() >= goal {
                break;
            }
        }
        true
    }

    /// How often memory was freed: a worker that finds it full frees some only if no other has done so meanwhile.
    pub(super) fn recycled(&self) -> u64 {
        self.recycler.calls
    }

    /// Looks at the next node of the round; returns whether it lost its moves, or `None` if no node has any to lose.
    fn pass_hand(&mut self) -> Option<bool> {
        let Recycler { hand, floor, freed, .. } = &mut self.recycler;
        if *hand as usize >= self.nodes.ids().count() {
            *floor = if *freed { FIRST_FLOOR } else { floor.checked_mul(2)? };
            (*hand, *freed) = (0, false);
            return Some(false);
        }
        let id = NodeId(*hand);
        *hand += 1;
        let node = self.nodes.node(id);
        let alive = node.references.load(Ordering::Relaxed) > 0;
        let dropped = alive
            && node.visits() < *floor
            // The moves of a leaf alone are not worth an evaluation.
            && node.links() > 0
            && id != self.root
            && id != self.base;
        if dropped {
            self.drop_moves(id);
        }
        Some(dropped)
    }

    /// Drops a node's moves and links.
    fn drop_moves(&mut self, id: NodeId) {
        let children: Vec<NodeId> = self.nodes.links_of(id).map(|link| link.child()).collect();
        self.nodes.free_moves(id);
        children.into_iter().for_each(|child| self.release(child));
    }
}
