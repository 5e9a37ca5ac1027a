use shakmaty::MoveList;

use crate::chess::endgames::{is_bare_king, towards_mate};
use crate::chess::position::Game;
use crate::chess::tables::Tables;
use crate::nets::eval::Wdl;
use crate::search::params::{Limits, Params};
use crate::search::run::observer::EndReason;
use crate::search::tree::Tree;
use crate::search::visit::expansion::{Leaf, finished};

pub(in crate::search) struct SearchContext {
    pub root: Game,
    pub root_moves: MoveList,
    pub params: Params,
    /// [`Params::progress`]; 0 if the root has no bare king or tables decide it.
    pub progress: f32,
    pub limits: Limits,
    pub tables: Tables,
}

impl SearchContext {
    /// Prepares `tree` and returns whether it was reused. A search to a depth starts with an empty tree, to be
    /// reproducible.
    pub fn start(
        tree: &mut Tree,
        root: Game,
        limits: Limits,
        params: Params,
        tables: Tables,
        workers: usize,
    ) -> (SearchContext, bool) {
        let reuse = params.reuse && limits.depth.is_none();
        let kept = tree.start(&root, &limits.root_moves, Params { reuse, ..params.clone() }, workers);
        log::debug!("search from {}: {}", root.fen(), if kept { "tree kept" } else { "new tree" });
        tree.known.clone_from(&limits.known);
        let root_moves = tree.root_moves().iter().copied().collect();
        let wants_progress = is_bare_king(&root) && tables.root(&root).is_none();
        let progress = if wants_progress { params.progress } else { 0.0 };
        (SearchContext { root, root_moves, params, progress, limits, tables }, kept)
    }

    pub fn visits_left(&self, tree: &Tree) -> u64 {
        self.limits.visits.map_or(u64::MAX, |limit| limit.saturating_sub(tree.playouts()))
    }

    /// Visits left for smart pruning; `None` if unknown or unused. `expected` is the observer's estimate.
    pub fn horizon(&self, tree: &Tree, expected: Option<u64>) -> Option<u64> {
        if self.params.smart_pruning <= 0.0 || self.limits.all_moves {
            return None;
        }
        let left = self.limits.visits.map(|_| self.visits_left(tree));
        expected.into_iter().chain(left).min()
    }

    pub fn temperature(&self, plies: usize) -> f32 {
        match plies {
            0 => self.params.root_policy_temperature,
            1 => self.params.reply_policy_temperature,
            _ => self.params.policy_temperature,
        }
    }

    pub fn adjusted(&self, game: &Game, wdl: Wdl) -> Wdl {
        if self.progress == 0.0 { wdl } else { towards_mate(game, wdl, self.progress) }
    }

    pub fn add_noise(&self, tree: &mut Tree) {
        if let Some(noise) = self.limits.noise {
            tree.mix_root_noise(noise.epsilon, &noise.shares(self.root_moves.len()));
        }
    }

    pub fn end_reason(&self, tree: &Tree) -> Option<EndReason> {
        // Summed only under a limit: the sum costs a cache miss per worker.
        let visits = self.limits.visits.is_some_and(|limit| tree.playouts() >= limit);
        let depth = self.limits.depth.is_some_and(|limit| tree.playouts() > 1 && tree.depth() >= limit);
        if visits || depth {
            return Some(EndReason::Limit);
        }
        let solved = if self.limits.all_moves { tree.is_settled() } else { tree.is_proven() };
        solved.then_some(EndReason::Exhausted)
    }

    pub fn moves(&self, game: &Game, plies: usize) -> MoveList {
        if plies == 0 { self.root_moves.clone() } else { game.legal_moves() }
    }

    /// Result by rules or tables, `plies` below the root.
    pub fn known(&self, game: &Game, plies: usize, has_move: bool) -> Option<Leaf<'static>> {
        // The root is expanded even if drawn, because a move is needed.
        if plies == 0 {
            return None;
        }
        let repeatable = if self.params.twofold_draws { plies } else { 0 };
        finished(game, has_move, repeatable).or_else(|| {
            let probed = plies >= self.tables.rules().depth;
            probed.then(|| self.tables.wdl(game)).flatten().map(Leaf::Table)
        })
    }
}
