//! Making room: what is least useful is dropped, the rest moves together.

use super::arena::{NodeId, NodeSet};
use super::tree::Tree;

/// How much of the room is kept, in quarters.
const KEPT_QUARTERS: usize = 2;

/// Numbers of visits are told apart in steps of a quarter of their power of two.
const STEPS: usize = 4 * 32;

/// The step that a number of visits falls into.
fn step(visits: u32) -> usize {
    let visits = visits.max(1);
    let power = visits.ilog2();
    let quarter = (u64::from(visits) << 2 >> power) & 3;
    power as usize * 4 + quarter as usize
}

impl Tree {
    /// Recycles between two searches, where less than a third of the memory is left.
    pub(super) fn make_room(&mut self) {
        if self.in_flight == 0 && self.fullness() > 667 {
            self.recycle();
        }
    }

    /// Drops what the root doesn't lead to any more, and the moves of the least visited nodes, until
    /// half of the memory is free. Such a node keeps its own statistics and is a leaf again.
    ///
    /// Nothing may be in flight: nodes move.
    pub(super) fn recycle(&mut self) {
        (self.base, self.base_game) = (self.root, self.game.clone());
        let reached = if self.moved { self.reach() } else { NodeSet::of_all(self.arena.ids().count()) };
        let floor = self.floor(&reached);
        let kept = self.kept(&reached, floor);
        for id in self.arena.ids() {
            if kept.contains(id) && !self.keeps_moves(id, floor) {
                self.arena.drop_moves(id);
            }
        }
        self.root = self.arena.compact(&kept, self.root);
        (self.base, self.moved) = (self.root, false);
        log::debug!("recycled: kept what has {floor} visits or more, {} ‰ full", self.arena.fullness());
    }

    /// The root does, whatever its visits.
    fn keeps_moves(&self, id: NodeId, floor: u32) -> bool {
        id == self.root || self.node(id).visits >= floor
    }

    /// The nodes that the root leads to.
    fn reach(&self) -> NodeSet {
        let mut reached = NodeSet::new(self.arena.ids().count());
        let mut open = vec![self.root];
        reached.insert(self.root);
        while let Some(id) = open.pop() {
            let children = self.arena.links_of(id).iter().map(|link| link.child());
            open.extend(children.filter(|child| reached.insert(*child)));
        }
        reached
    }

    /// The root, and the children of the nodes that keep their moves. (A node may be among them though its
    /// own parents are not, having had visits from several: it goes the next time.)
    fn kept(&self, reached: &NodeSet, floor: u32) -> NodeSet {
        let mut kept = NodeSet::new(self.arena.ids().count());
        kept.insert(self.root);
        for id in self.arena.ids().filter(|id| reached.contains(*id) && self.keeps_moves(*id, floor)) {
            for link in self.arena.links_of(id) {
                kept.insert(link.child());
            }
        }
        kept
    }

    /// The least number of visits such that the nodes which have them fit into the room to be kept.
    fn floor(&self, reached: &NodeSet) -> u32 {
        let mut needed = vec![(0, 0, 0); STEPS];
        for id in self.arena.ids() {
            if reached.contains(id) && self.node(id).is_expanded() {
                let (moves, links) = self.arena.footprint(id);
                let sum = &mut needed[step(self.node(id).visits)];
                sum.0 += usize::from(self.node(id).links);
                sum.1 += moves;
                sum.2 += links;
            }
        }
        let (nodes, moves, links) = self.arena.room();
        let fits = |used: usize, room: usize| used * 4 <= room * KEPT_QUARTERS;
        let mut sum = (1, 0, 0);
        for (step, more) in needed.iter().enumerate().rev() {
            sum = (sum.0 + more.0, sum.1 + more.1, sum.2 + more.2);
            if !(fits(sum.0, nodes) && fits(sum.1, moves) && fits(sum.2, links)) {
                return first_of(step + 1);
            }
        }
        0
    }
}

/// The least number of visits in a step.
fn first_of(step: usize) -> u32 {
    let (power, quarter) = (step / 4, (step % 4) as u64);
    let visits = ((4 + quarter) << power).div_ceil(4);
    u32::try_from(visits).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_ordered_and_begin_where_they_say() {
        for visits in (1..5000).chain([1 << 20, u32::MAX]) {
            let here = step(visits);
            assert!(first_of(here) <= visits && visits <= first_of(here + 1), "{visits}");
            assert!(step(visits.saturating_add(1)) >= here);
        }
    }
}
