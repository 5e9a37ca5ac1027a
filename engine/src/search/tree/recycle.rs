//! Frees tree memory in small steps.
//!
//! Unreferenced nodes go first. Then a clock hand passes over all nodes and drops the moves of those with few visits:
//! they become leaves with their statistics, and their exclusive subtrees are freed. The visit threshold adapts so that
//! a round frees between an eighth and half of the nodes. Nodes are processed in groups with prefetching, because this
//! memory is cold.

use std::sync::atomic::Ordering;

use crate::search::tree::Tree;
use crate::search::tree::node::NodeId;

/// Most nodes freed or passed per call: a few milliseconds.
const NODES_PER_CALL: usize = 40_000;

/// Limits on the nodes, and on their visits, that lose their moves at once: their subtrees pile up until freed.
const NODES_AT_ONCE: usize = 64;
const VISITS_AT_ONCE: u32 = 256;

/// A call tries to free 1/SHARE of the memory.
const SHARE: usize = 64;

const FIRST_FLOOR: u32 = 4;

/// The threshold rises after a round that freed less than 1/8 of the nodes, and falls after more than 1/2.
const LEAST_FREED: usize = 8;
const MOST_FREED: usize = 2;

pub(in crate::search) struct Recycler {
    unreachable: Vec<NodeId>,
    dropping: Vec<NodeId>,
    children: Vec<NodeId>,
    hand: u32,
    /// Nodes with fewer visits lose their moves.
    floor: u32,
    freed: usize,
    dropped: bool,
    calls: u64,
}

enum Passed {
    Keeps,
    Drops(NodeId),
    EndOfRound,
}

impl Default for Recycler {
    fn default() -> Recycler {
        Recycler {
            unreachable: Vec::new(),
            dropping: Vec::new(),
            children: Vec::new(),
            hand: 0,
            floor: FIRST_FLOOR,
            freed: 0,
            dropped: false,
            calls: 0,
        }
    }
}

impl Tree {
    pub(in crate::search) fn hold(&self, id: NodeId) {
        let references = &self.node(id).references;
        // A saturated count stays: the node is never freed.
        let _ = references.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_add(1));
    }

    /// An unreferenced node is freed when memory is needed.
    pub(in crate::search) fn release(&mut self, id: NodeId) {
        if self.is_last_reference(id) {
            self.nodes.unregister(id);
            self.recycler.unreachable.push(id);
        }
    }

    /// Removes a reference. Returns whether it was the last; the caller must then unregister the node.
    fn is_last_reference(&self, id: NodeId) -> bool {
        let references = &self.nodes.node(id).references;
        let count = references.load(Ordering::Relaxed);
        if count == u16::MAX {
            return false;
        }
        debug_assert!(count > 0, "{id:?} is released too often");
        references.store(count - 1, Ordering::Relaxed);
        count == 1
    }

    /// Frees some memory; no visit may be in flight. Returns false if nothing is left to drop.
    pub fn recycle(&mut self) -> bool {
        self.recycler.calls += 1;
        let goal = self.nodes.free_bytes() + self.nodes.memory() / SHARE;
        let mut left = NODES_PER_CALL;
        while left > 0 && self.nodes.free_bytes() < goal {
            let mut dropping = std::mem::take(&mut self.recycler.dropping);
            let unreachable = &mut self.recycler.unreachable;
            dropping.extend(unreachable.drain(unreachable.len().saturating_sub(NODES_AT_ONCE)..));
            let (freed, mut visits, mut has_hope) = (dropping.len(), 0, true);
            left = left.saturating_sub(freed);
            while freed == 0 && dropping.len() < NODES_AT_ONCE && visits < VISITS_AT_ONCE && left > 0 {
                left -= 1;
                match self.pass_hand() {
                    Passed::Keeps => {}
                    Passed::Drops(id) => {
                        visits += self.node(id).visits();
                        dropping.push(id);
                    }
                    Passed::EndOfRound => {
                        // Moves dropped now belong to this round.
                        has_hope = !dropping.is_empty() || self.begin_round();
                        break;
                    }
                }
            }
            self.drop_moves(&dropping);
            self.nodes.free_nodes(&dropping[..freed]);
            self.recycler.freed += freed;
            dropping.clear();
            self.recycler.dropping = dropping;
            if !has_hope {
                return false;
            }
        }
        true
    }

    /// Number of [`Tree::recycle`] calls: tells a worker whether another one has freed memory since.
    pub(in crate::search) fn recycled(&self) -> u64 {
        self.recycler.calls
    }

    /// Returns false if the last round could not drop anything at any threshold.
    fn begin_round(&mut self) -> bool {
        let nodes = self.nodes.len();
        let Recycler { hand, floor, freed, dropped, .. } = &mut self.recycler;
        if *freed < nodes / LEAST_FREED {
            *floor = match floor.checked_mul(2) {
                None if !*dropped => return false,
                higher => higher.unwrap_or(*floor),
            };
        } else if *freed > nodes / MOST_FREED {
            *floor = FIRST_FLOOR.max(*floor / 2);
        }
        (*hand, *freed, *dropped) = (0, 0, false);
        true
    }

    fn pass_hand(&mut self) -> Passed {
        let Recycler { hand, floor, dropped, .. } = &mut self.recycler;
        if *hand as usize >= self.nodes.len() {
            return Passed::EndOfRound;
        }
        let id = NodeId(*hand);
        *hand += 1;
        let node = self.nodes.node(id);
        let alive = node.references.load(Ordering::Relaxed) > 0;
        let drops = alive
            && node.visits() < *floor
            // Dropping a leaf's moves alone is not worth a new evaluation.
            && node.edges() > 0
            && id != self.root
            && id != self.base;
        *dropped |= drops;
        if drops { Passed::Drops(id) } else { Passed::Keeps }
    }

    fn drop_moves(&mut self, ids: &[NodeId]) {
        ids.iter().for_each(|id| self.nodes.prefetch_moves(*id));
        let mut children = std::mem::take(&mut self.recycler.children);
        for id in ids {
            let edges = self.nodes.edges_of(*id).map(|edge| edge.child());
            children.extend(edges.inspect(|child| self.nodes.prefetch(*child)));
            self.nodes.free_moves(*id);
        }
        children.retain(|child| {
            let is_free = self.is_last_reference(*child);
            if is_free {
                self.nodes.prefetch_key(self.node(*child).key.load(Ordering::Relaxed));
            }
            is_free
        });
        children.iter().for_each(|child| self.nodes.unregister(*child));
        self.recycler.unreachable.append(&mut children);
        self.recycler.children = children;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::position::Game;
    use crate::chess::tables::Tables;
    use crate::nets::sparse::SparseNetwork;
    use crate::search::run::context::SearchContext;
    use crate::search::run::walker::{VisitEnd, Walker};
    use crate::search::{Limits, Params};

    /// Most nodes lose their moves in the first rounds, so a fixed threshold would soon free next to nothing per round.
    #[test]
    fn rounds_that_free_little_are_followed_by_ones_that_free_more() {
        let mut tree = Tree::empty(512 << 10);
        let (limits, tables) = (Limits::default(), Tables::default());
        let (context, _) = SearchContext::start(&mut tree, Game::new(), limits, Params::native(), tables, 1);
        let (mut walker, mut evaluator) = (Walker::new(0), SparseNetwork::embedded().evaluator());
        walker.start(&context);
        let (mut visits, mut floors) = (0, Vec::new());
        while visits < 20_000 {
            let (more, end) = walker.visit(&context, &tree, &mut evaluator, 1);
            visits += more;
            if end == VisitEnd::Full {
                let free = tree.nodes.free_bytes();
                assert!(tree.recycle() && tree.nodes.free_bytes() > free);
                floors.push(tree.recycler.floor);
                // A call drops little more than it frees.
                let waiting = tree.recycler.unreachable.len();
                assert!(waiting < tree.nodes.len() / 4, "{waiting} of {}", tree.nodes.len());
            }
        }
        assert_eq!(floors[0], FIRST_FLOOR);
        assert!(floors.last() > floors.first(), "{floors:?}");
        assert_eq!(tree.check_at_rest(), Ok(()));
    }

    /// Reserved but unused nodes still hold an earlier tree's contents.
    #[test]
    fn what_lies_in_stock_is_never_freed() {
        let mut tree = Tree::empty(256 << 10);
        let mut evaluator = SparseNetwork::embedded().evaluator();
        for (fen, workers) in [
            ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", 1),
            ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", 3),
        ] {
            let (limits, tables) = (Limits::default(), Tables::default());
            let params = Params { reuse: false, ..Params::native() };
            let game = Game::from_fen(fen).unwrap();
            let (context, _) = SearchContext::start(&mut tree, game, limits, params, tables, workers);
            let mut walkers: Vec<Walker> = (0..workers).map(Walker::new).collect();
            walkers.iter_mut().for_each(|walker| walker.start(&context));
            let mut recycled = 0;
            for step in 0.. {
                let (_, end) = walkers[step % workers].visit(&context, &tree, &mut evaluator, 32);
                if end == VisitEnd::Full {
                    assert!(tree.recycle());
                    recycled += 1;
                    if recycled % 50 == 0 {
                        every_block_has_one_owner(&tree);
                    }
                }
                if recycled == 300 {
                    break;
                }
            }
        }
    }

    fn every_block_has_one_owner(tree: &Tree) {
        assert_eq!(tree.check_at_rest(), Ok(()));
        let (mut open, mut seen, mut blocks) =
            (vec![tree.root], std::collections::HashSet::new(), std::collections::HashSet::new());
        while let Some(id) = open.pop() {
            if seen.insert(id.0) {
                for candidate in tree.nodes.moves_of(id) {
                    assert!(blocks.insert(std::ptr::from_ref(candidate).addr()), "a move of two nodes");
                }
                for edge in tree.nodes.edges_of(id) {
                    assert!(blocks.insert(std::ptr::from_ref(edge).addr()), "an edge of two nodes");
                    open.push(edge.child());
                }
            }
        }
    }
}
