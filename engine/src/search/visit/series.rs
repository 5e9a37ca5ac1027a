//! Series: consecutive visits below a node before its parent gets their results and selects again.
//!
//! A node's series is one visit, plus one per [`SERIES_SHARE`] visits of its edge; at most
//! [`Params::series`](crate::search::Params::series), and no longer than the parent's series. The parent's choice would
//! hardly have changed meanwhile. Descents within a series start from its node, not from the root.

use crate::chess::position::Game;
use crate::search::params::Params;
use crate::search::tree::Tree;
use crate::search::tree::node::Results;
use crate::search::visit::path::Path;
use crate::search::visit::virtual_loss::VirtualLoss;

/// Visits of an edge per further visit in its series.
pub(in crate::search) const SERIES_SHARE: u32 = 16;

#[derive(Clone, Copy, Debug)]
pub(super) struct Series {
    /// Visits left, including one under way until its result is backed up to the node.
    pub left: u32,
    /// Visits counted as in flight on the edge to the node.
    pub in_flight: u32,
    /// The path has a snapshot of the game at the node.
    pub is_marked: bool,
    /// Results at the node that are not backed up yet.
    pub pending: Results,
}

impl Series {
    #[inline]
    pub fn of(visits: u32) -> Series {
        Series { left: visits, in_flight: 0, is_marked: false, pending: Results::default() }
    }
}

impl Path {
    /// Saves a position snapshot, so that the next visit of a series can restart from the path's last node.
    #[inline]
    pub(super) fn mark(&mut self, game: &Game) {
        let plies = self.plies();
        let series = &mut self.series[plies];
        if series.left < 2 || series.is_marked {
            return;
        }
        series.is_marked = true;
        if plies >= self.marks.len() {
            self.marks.resize(plies + 1, game.mark());
        } else {
            self.marks[plies] = game.mark();
        }
    }
}

impl Tree {
    /// Begins a series of at most `most` visits at the root. [`Tree::next_in_series`] begins each further visit.
    pub fn begin_series(&self, path: &mut Path, on_edges: bool, most: u64) {
        self.begin(path, on_edges);
        path.in_series = true;
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        path.series[0].left = self.series_length(self.node(self.root).visits(), most);
    }

    /// Length of the series at an edge with `visits` visits.
    #[inline]
    pub(super) fn series_length(&self, visits: u32, most: u32) -> u32 {
        (1 + visits / SERIES_SHARE).min(self.params.series.clamp(1, Params::MOST_SERIES)).min(most)
    }

    /// Ascends from the leaf, backing up, to the deepest node whose series has visits left, and rewinds `game` to it.
    /// Returns its plies from the root; `None` if the series is over.
    pub fn next_in_series(&self, path: &mut Path, game: &mut Game) -> Option<usize> {
        while self.ascend(path) {
            let series = path.series[path.plies()];
            // Below a proven node there is nothing to find.
            if series.left > 0 && (path.plies() == 0 || self.known_value(path.leaf).is_none()) {
                debug_assert!(series.is_marked);
                game.rewind_to_mark(&path.marks[path.plies()]);
                path.stale_draws = 0;
                if path.virtual_loss != VirtualLoss::None {
                    path.virtual_loss = VirtualLoss::Edges;
                }
                return Some(path.plies());
            }
        }
        None
    }

    /// Ends a series early: backs up all results of the path and removes its virtual loss.
    pub fn end_series(&self, path: &mut Path) {
        while self.ascend(path) {}
    }

    /// Ends the series of the path's last node and removes it from the path. Returns false at the root.
    #[inline]
    fn ascend(&self, path: &mut Path) -> bool {
        self.back_up_edge(path, path.plies());
        let Some(step) = path.steps.pop() else { return false };
        let in_flight = path.series.pop().map_or(0, |series| series.in_flight);
        if in_flight > 0 {
            self.nodes.edge(step.edge).remove_virtual_loss(in_flight);
        }
        path.leaf = step.node;
        true
    }
}
