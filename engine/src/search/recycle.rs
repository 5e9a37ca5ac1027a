//! Freeing memory: drops the least visited nodes and compacts the rest.

use super::node_store::{NodeId, NodeSet};
use super::tree::Tree;

/// How much of the memory may stay in use, in quarters.
const KEPT_QUARTERS: usize = 2;

/// Buckets of visit counts, four for each power of two.
const BUCKETS: usize = 4 * 32;

/// The bucket of a visit count.
fn bucket(visits: u32) -> usize {
    let visits = visits.max(1);
    let power = visits.ilog2();
    let quarter = (u64::from(visits) << 2 >> power) & 3;
    power as usize * 4 + quarter as usize
}

impl Tree {
    /// Recycles between two searches if less than a third of the memory is free.
    pub(super) fn make_room(&mut self) {
        if self.in_flight == 0 && self.fullness() > 667 {
            self.recycle();
        }
    }

    /// Drops nodes that are not reachable from the root, and the moves of the least visited nodes, until half of the
    /// memory is free. A node without its moves keeps its statistics and is a leaf again.
    ///
    /// No visit may be in flight: node ids change.
    pub(super) fn recycle(&mut self) {
        (self.base, self.base_game) = (self.root, self.game.clone());
        let reached = if self.moved { self.reachable() } else { NodeSet::of_all(self.nodes.ids().count()) };
        let floor = self.floor(&reached);
        let kept = self.kept(&reached, floor);
        for id in self.nodes.ids() {
            if kept.contains(id) && !self.keeps_moves(id, floor) {
                self.nodes.drop_moves(id);
            }
        }
        self.root = self.nodes.compact(&kept, self.root);
        (self.base, self.moved) = (self.root, false);
        log::debug!("recycled: kept nodes with {floor} visits or more, {} ‰ full", self.nodes.fullness());
    }

    /// Whether a node keeps its moves; the root always does.
    fn keeps_moves(&self, id: NodeId, floor: u32) -> bool {
        id == self.root || self.node(id).visits >= floor
    }

    /// The nodes reachable from the root.
    fn reachable(&self) -> NodeSet {
        let mut reached = NodeSet::new(self.nodes.ids().count());
        let mut open = vec![self.root];
        reached.insert(self.root);
        while let Some(id) = open.pop() {
            let children = self.nodes.links_of(id).iter().map(|link| link.child());
            open.extend(children.filter(|child| reached.insert(*child)));
        }
        reached
    }

    /// The root, and the children of the nodes that keep their moves. (A transposition may keep its moves although none
    /// of its parents do, because it has visits from several: it is dropped the next time.)
    fn kept(&self, reached: &NodeSet, floor: u32) -> NodeSet {
        let mut kept = NodeSet::new(self.nodes.ids().count());
        kept.insert(self.root);
        for id in self.nodes.ids().filter(|id| reached.contains(*id) && self.keeps_moves(*id, floor)) {
            for link in self.nodes.links_of(id) {
                kept.insert(link.child());
            }
        }
        kept
    }

    /// The smallest visit count such that the nodes with at least so many fit into the memory to keep.
    fn floor(&self, reached: &NodeSet) -> u32 {
        let mut needed = vec![(0, 0, 0); BUCKETS];
        for id in self.nodes.ids() {
            if reached.contains(id) && self.node(id).is_expanded() {
                let (moves, links) = self.nodes.footprint(id);
                let sum = &mut needed[bucket(self.node(id).visits)];
                sum.0 += usize::from(self.node(id).links);
                sum.1 += moves;
                sum.2 += links;
            }
        }
        let (nodes, moves, links) = self.nodes.capacities();
        let fits = |used: usize, capacity: usize| used * 4 <= capacity * KEPT_QUARTERS;
        let mut sum = (1, 0, 0);
        for (bucket, more) in needed.iter().enumerate().rev() {
            sum = (sum.0 + more.0, sum.1 + more.1, sum.2 + more.2);
            if !(fits(sum.0, nodes) && fits(sum.1, moves) && fits(sum.2, links)) {
                return first_of(bucket + 1);
            }
        }
        0
    }
}

/// The smallest visit count of a bucket.
fn first_of(bucket: usize) -> u32 {
    let (power, quarter) = (bucket / 4, (bucket % 4) as u64);
    let visits = ((4 + quarter) << power).div_ceil(4);
    u32::try_from(visits).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_ordered_and_begin_at_their_first_count() {
        for visits in (1..5000).chain([1 << 20, u32::MAX]) {
            let own = bucket(visits);
            assert!(first_of(own) <= visits && visits <= first_of(own + 1), "{visits}");
            assert!(bucket(visits.saturating_add(1)) >= own);
        }
    }
}
