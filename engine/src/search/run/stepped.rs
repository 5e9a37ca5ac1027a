use shakmaty::Move;

use crate::chess::position::Game;
use crate::chess::tables::Tables;
use crate::nets::eval::{Answer, Request};
use crate::search::params::{Limits, Params};
use crate::search::run::context::SearchContext;
use crate::search::run::gumbel::{Gumbel, ImprovedPolicy, SequentialHalving};
use crate::search::run::observer::EndReason;
use crate::search::run::pending::PendingBatch;
use crate::search::tree::Tree;

/// Successive searches on one tree, driven by the caller: [`SteppedSearch::gather`], evaluate
/// [`SteppedSearch::requests`], [`SteppedSearch::answer`], until [`SteppedSearch::end_reason`].
///
/// Many searches can share an evaluator's batches with a few positions each, so that batches are full without virtual
/// loss. The same answers give the same tree.
pub struct SteppedSearch {
    context: SearchContext,
    tree: Tree,
    batch: PendingBatch,
    gumbel: Option<Gumbel>,
    halving: Option<SequentialHalving>,
    /// Without noise.
    priors: Vec<(Move, f32)>,
    end_reason: Option<EndReason>,
}

impl SteppedSearch {
    pub fn new(tables: Tables, memory: usize) -> SteppedSearch {
        let mut tree = Tree::empty(memory);
        let (limits, params) = (Limits::default(), Params::default());
        let (context, _) = SearchContext::start(&mut tree, Game::new(), limits, params, tables, 1);
        SteppedSearch {
            context,
            tree,
            batch: PendingBatch::new(0),
            gumbel: None,
            halving: None,
            priors: Vec::new(),
            end_reason: Some(EndReason::Stopped),
        }
    }

    /// Also cancels visits in flight.
    pub fn start(&mut self, game: &Game, limits: Limits, params: Params) {
        self.batch.cancel(&self.tree);
        let tables = self.context.tables.clone();
        let (context, kept) = SearchContext::start(&mut self.tree, game.clone(), limits, params, tables, 1);
        self.context = context;
        self.priors.clear();
        (self.gumbel, self.halving) = (None, None);
        self.end_reason = self.context.root_moves.is_empty().then_some(EndReason::Exhausted);
        if kept {
            self.root_expanded();
        }
    }

    /// [`Gumbel`] at the root, PUCT below. Needs a visit limit; ignores noise and the last tree.
    pub fn start_gumbel(&mut self, game: &Game, limits: Limits, params: Params, gumbel: Gumbel) {
        let limits = Limits { noise: None, ..limits };
        self.start(game, limits, Params { reuse: false, smart_pruning: 0.0, ..params });
        self.gumbel = Some(gumbel);
    }

    /// Returns the number of gathered positions: up to `count`, at least one unless the search has ended.
    pub fn gather(&mut self, count: usize) -> usize {
        debug_assert!(self.batch.is_empty(), "answered or cancelled");
        while self.end_reason.is_none() && self.batch.is_empty() {
            let size = match &mut self.halving {
                None => count.max(1),
                Some(halving) => {
                    let index = halving.choose(&self.tree);
                    self.tree.force(Some(index));
                    1
                }
            };
            self.tree.set_horizon(self.context.horizon(&self.tree, None));
            let visits = self.context.visits_left(&self.tree).min(size as u64) as usize;
            let status = self.batch.gather(&self.context, &self.tree, size, visits);
            if self.batch.is_empty() {
                self.end_reason = self.context.end_reason(&self.tree);
                if status.full && self.end_reason.is_none() && !self.tree.recycle() {
                    self.end_reason = Some(EndReason::Exhausted);
                }
            }
        }
        self.batch.len()
    }

    pub fn requests(&self) -> impl ExactSizeIterator<Item = Request<'_>> {
        self.batch.requests()
    }

    /// Takes one answer per request, with a prior for every move ([`check_answers`](crate::search::check_answers)).
    pub fn answer(&mut self, answers: &[Answer]) {
        assert_eq!(answers.len(), self.batch.len(), "an answer for every position");
        // Saves the priors before noise is added.
        if self.batch.apply(&self.context, &self.tree, answers, false) {
            self.root_expanded();
        }
        self.end_reason = self.context.end_reason(&self.tree);
    }

    fn root_expanded(&mut self) {
        self.priors = self.tree.children().into_iter().map(|(m, view)| (m, view.prior)).collect();
        self.context.add_noise(&mut self.tree);
        if let Some(gumbel) = self.gumbel {
            let visits = self.context.visits_left(&self.tree);
            self.halving = Some(SequentialHalving::begin(gumbel, &mut self.tree, visits));
        }
    }

    pub fn cancel(&mut self) {
        self.batch.cancel(&self.tree);
    }

    pub fn end_reason(&self) -> Option<EndReason> {
        self.end_reason
    }

    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// `None` without [`SteppedSearch::start_gumbel`] or an expanded root.
    pub fn improved_policy(&self) -> Option<ImprovedPolicy> {
        self.halving.as_ref()?.improved_policy(&self.tree, &self.priors)
    }

    /// At the root's policy temperature, without noise.
    pub fn priors(&self) -> &[(Move, f32)] {
        &self.priors
    }
}
