//! Adds the results of visits to the sums of the nodes above.

use crate::nets::eval::Wdl;
use crate::search::tree::Tree;
use crate::search::tree::counters::VisitKind;
use crate::search::tree::node::{Results, SumError};
use crate::search::visit::path::Path;

impl Tree {
    /// Ends a visit with a value for the side to move at the leaf: backs it up to the root or, in a series, leaves it
    /// pending until the path ascends.
    #[inline]
    pub(super) fn back_up(&self, path: &mut Path, value: Wdl, kind: VisitKind) {
        path.series[path.steps.len()].pending.add(&Results::of(1, value.q(), value.draw));
        if !path.in_series {
            self.back_up_pending(path);
        }
        self.counters.add(path.worker, kind, path.steps.len());
    }

    #[inline]
    pub(super) fn back_up_pending(&self, path: &mut Path) {
        (0..path.series.len()).rev().for_each(|plies| self.back_up_edge(path, plies));
    }

    /// Backs up the pending results of the node at depth `plies` by one edge, and removes their virtual loss from the
    /// edge.
    #[inline]
    pub(super) fn back_up_edge(&self, path: &mut Path, plies: usize) {
        let mut results = std::mem::take(&mut path.series[plies].pending);
        if results.visits == 0 || plies == 0 {
            return;
        }
        let child = self.node(path.steps.get(plies).map_or(path.leaf, |step| step.node));
        let step = path.steps[plies - 1];
        if let (true, Some(proof)) = (self.shared, child.proof()) {
            // Another worker may have proven the child meanwhile.
            results = Results::of(results.visits, proof.wdl().q(), proof.wdl().draw);
        }
        let in_flight = &mut path.series[plies].in_flight;
        let landed = results.visits.min(*in_flight);
        *in_flight -= landed;
        let edge = self.nodes.edge(step.edge);
        if edge.add_visits(results.visits, landed, self.shared) == 0
            && let Some(head) = self.nodes.head_of(step.node)
        {
            head.add_visits(u32::from(step.prior), 0, self.shared);
        }
        edge.refresh(child);
        self.node(step.node).add_results(&results, self.shared);
        let above = &mut path.series[plies - 1];
        above.left -= results.visits;
        above.pending.add(&results.for_parent());
    }

    /// Replaces the [stale draws](Path::stale_draws) of the path's last edge by the leaf's value, in all sums above.
    pub(super) fn replace_stale_draws(&self, path: &Path, wdl: Wdl) {
        let mut error = SumError::of_draws(path.stale_draws, -wdl.q(), wdl.draw);
        let mut node = self.node(path.leaf);
        for (place, step) in path.steps.iter().enumerate().rev() {
            let (parent, edge) = (self.node(step.node), self.nodes.edge(step.edge));
            edge.refresh(node);
            let visits = if place + 1 == path.steps.len() { edge.visits() } else { node.visits() };
            error = error.for_parent((f64::from(edge.visits()) / f64::from(visits.max(1))).min(1.0));
            parent.correct(error, self.shared);
            node = parent;
        }
    }

    /// Sets the sums of the node at depth `plies` as if all its visits had the result `q`, for the side that moved into
    /// it, and corrects its ancestors on the path. Of a node with several parents, only the share of visits along this
    /// path is corrected.
    pub(super) fn correct_sums(&self, path: &Path, plies: usize, q: f32, draw: f32) {
        let mut node = self.node(path.steps.get(plies).map_or(path.leaf, |step| step.node));
        let mut error = node.error_against(q, draw);
        node.correct(error, self.shared);
        for step in path.steps[..plies].iter().rev() {
            let (parent, edge) = (self.node(step.node), self.nodes.edge(step.edge));
            edge.refresh(node);
            let share = f64::from(edge.visits()) / f64::from(node.visits().max(1));
            error = error.for_parent(share.min(1.0));
            parent.correct(error, self.shared);
            node = parent;
        }
    }
}
