//! What is fixed while a search runs, and the rules that follow from it.

use shakmaty::MoveList;

use super::observer::EndReason;
use super::params::{Limits, Params};
use super::tree::Tree;
use crate::position::Game;
use crate::tables::Tables;

/// The root, parameters and limits of one search.
pub(super) struct SearchContext {
    pub root: Game,
    /// The moves searched at the root.
    pub root_moves: MoveList,
    pub params: Params,
    pub limits: Limits,
    pub tables: Tables,
}

impl SearchContext {
    /// Prepares `tree` for a search of `root`, and returns the search's context and whether the tree of the last
    /// search was kept.
    ///
    /// A search with a depth limit always begins with an empty tree, so that it is reproducible.
    pub fn start(
        tree: &mut Tree,
        root: Game,
        limits: Limits,
        params: Params,
        tables: Tables,
    ) -> (SearchContext, bool) {
        let reuse = params.reuse && limits.depth.is_none();
        let kept = tree.start(&root, &limits.root_moves, Params { reuse, ..params.clone() });
        log::debug!("search from {}: {}", root.fen(), if kept { "tree kept" } else { "new tree" });
        let root_moves = tree.root_moves().iter().copied().collect();
        (SearchContext { root, root_moves, params, limits, tables }, kept)
    }

    /// Visits that may still be gathered.
    pub fn visits_left(&self, tree: &Tree) -> u64 {
        let started = tree.playouts() + tree.in_flight();
        self.limits.visits.map_or(u64::MAX, |limit| limit.saturating_sub(started))
    }

    /// Visits until the end of the search, where smart pruning needs them and they are known; `expected` is the
    /// observer's estimate.
    pub fn horizon(&self, tree: &Tree, expected: Option<u64>) -> Option<u64> {
        if self.params.smart_pruning <= 0.0 || self.limits.all_moves {
            return None;
        }
        let left = self.limits.visits.map(|_| self.visits_left(tree));
        expected.into_iter().chain(left).min()
    }

    /// Mixes the noise of the limits, if any, into the priors of the expanded root.
    pub fn add_noise(&self, tree: &mut Tree) {
        if let Some(noise) = self.limits.noise {
            tree.mix_into_root(noise.epsilon, &noise.shares(self.root_moves.len()));
        }
    }

    /// Whether the search is over by itself, and why; `full`: the memory has no room for another leaf.
    pub fn end_reason(&self, tree: &Tree, full: bool) -> Option<EndReason> {
        let visits = self.limits.visits.is_some_and(|limit| tree.playouts() >= limit);
        let depth = self.limits.depth.is_some_and(|limit| tree.playouts() > 1 && tree.depth() >= limit);
        if visits || depth {
            return Some(EndReason::Limit);
        }
        let solved = if self.limits.all_moves { tree.is_settled() } else { tree.root().proof.is_some() };
        (solved || full).then_some(EndReason::Exhausted)
    }
}
