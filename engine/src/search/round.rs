//! Gathering and applying in one round, the same for the pool's workers and for a stepped search.

use super::context::SearchContext;
use super::in_flight::{Expansion, InFlightVisit, Leaf};
use super::pending::PendingBatch;
use super::tree::Tree;

/// Access to the tree during a round.
pub(super) trait TreeAccess {
    /// The tree; waits for it if it is shared.
    fn tree(&mut self) -> &mut Tree;

    /// Lets others use the tree until the next call of [`TreeAccess::tree`].
    fn release(&mut self) {}
}

impl TreeAccess for Tree {
    fn tree(&mut self) -> &mut Tree {
        self
    }
}

/// What [`gather`] did.
#[derive(Clone, Copy, Debug)]
pub(super) struct GatherStatus {
    /// Whether leaves are pending or visits were applied; if not, every path leads to a leaf that is in flight.
    pub progress: bool,
    /// Whether the memory is full of what cannot be dropped.
    pub full: bool,
}

/// Gathers leaves until `size` are pending in `batch`, and applies those that need no evaluation.
///
/// Gathers again for the places of the latter, up to `passes` times in all. `expected_visits` is the observer's
/// estimate of the visits to come. The tree is released while positions are replayed, and held on return.
pub(super) fn gather(
    context: &SearchContext,
    batch: &mut PendingBatch,
    access: &mut impl TreeAccess,
    (size, passes): (usize, usize),
    expected_visits: Option<u64>,
) -> GatherStatus {
    let mut full = false;
    let before = access.tree().playouts();
    for _ in 0..passes {
        let tree = access.tree();
        tree.set_horizon(context.horizon(tree, expected_visits));
        let wanted = context.visits_left(tree).min((size - batch.len()) as u64) as usize;
        let gathered = tree.gather(wanted);
        full |= gathered.full;
        if !gathered.visits.is_empty() {
            access.release();
            let reached = batch.replay(context, gathered.visits);
            batch.settle(access.tree(), reached);
        }
        let no_more = gathered.collided || gathered.full || wanted == 0;
        if no_more || batch.len() == size || access.tree().root().proof.is_some() {
            break;
        }
    }
    GatherStatus { progress: !batch.is_empty() || access.tree().playouts() > before || full, full }
}

/// Applies evaluated leaves. Returns whether the root was among them, which then has its moves and priors.
pub(super) fn apply(tree: &mut Tree, leaves: impl IntoIterator<Item = (InFlightVisit, Expansion)>) -> bool {
    let mut root_expanded = false;
    for (visit, expansion) in leaves {
        root_expanded |= visit.plies() == 0;
        tree.apply(visit, Leaf::Expanded(expansion));
    }
    root_expanded
}
