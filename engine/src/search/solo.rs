//! A search without a thread or an evaluator: whoever drives it has its positions evaluated, together with those of
//! others.

use shakmaty::{Move, MoveList};

use super::Tree;
use super::desk::{Desk, Site};
use super::gumbel::{Gumbel, Halving, Improved};
use super::observer::EndReason;
use super::params::{Limits, Params};
use super::step::Leaf;
use crate::eval::{Answer, Request};
use crate::position::Game;
use crate::tables::Tables;

/// One search after another on one tree, driven step by step: [`Solo::gather`], have [`Solo::requests`] evaluated,
/// [`Solo::answer`], until [`Solo::ended`].
///
/// Many of them share batches of one evaluator: as many positions are evaluated at once as there are games, though
/// each tree gives one at a time, with no virtual loss. Always the same answers make always the same tree.
pub struct Solo {
    // Set for a search.
    params: Params,
    limits: Limits,
    tables: Tables,
    root_moves: MoveList,
    // Grows.
    tree: Tree,
    desk: Desk,
    /// Who chooses the root's moves, if it isn't PUCT.
    gumbel: Option<Gumbel>,
    halving: Option<Halving>,
    /// The root's moves with what the evaluator gave them, before any noise.
    priors: Vec<(Move, f32)>,
    ended: Option<EndReason>,
}

impl Solo {
    /// A tree of at most `memory` bytes, in which nothing has been searched.
    pub fn new(tables: Tables, memory: usize) -> Solo {
        let params = Params::default();
        Solo {
            tree: Tree::new(Game::new(), &[], params.clone(), memory),
            params,
            limits: Limits::default(),
            tables,
            root_moves: MoveList::new(),
            desk: Desk::default(),
            gumbel: None,
            halving: None,
            priors: Vec::new(),
            ended: Some(EndReason::Stopped),
        }
    }

    /// Begins to search `game`; what was open is forgotten.
    pub fn start(&mut self, game: &Game, limits: Limits, params: Params) {
        self.desk.cancel(&mut self.tree);
        let kept = self.tree.start(game, &limits.root_moves, params.clone());
        self.root_moves = self.tree.root_moves().iter().copied().collect();
        (self.params, self.limits) = (params, limits);
        self.priors.clear();
        (self.gumbel, self.halving) = (None, None);
        self.ended = self.root_moves.is_empty().then_some(EndReason::Exhausted);
        if kept {
            self.meet_root();
        }
    }

    /// Begins to search `game` as [`Gumbel`] does it at the root, with PUCT below; a limit of visits is wanted, noise
    /// isn't. [`Solo::improved`] tells what came of it.
    pub fn start_gumbel(&mut self, game: &Game, limits: Limits, params: Params, gumbel: Gumbel) {
        self.start(
            game,
            Limits { noise: None, ..limits },
            Params { reuse: false, smart_pruning: 0.0, ..params },
        );
        self.gumbel = Some(gumbel);
    }

    /// Gathers up to `count` positions, at least one unless the search has ended; gives their number.
    pub fn gather(&mut self, count: usize) -> usize {
        debug_assert!(self.desk.open.is_empty(), "answered or cancelled");
        while self.ended.is_none() && self.desk.open.is_empty() {
            let count = if let Some(halving) = &mut self.halving {
                let edge = halving.choose(&self.tree);
                self.tree.force(Some(edge));
                1
            } else {
                count.max(1)
            };
            let wanted = self.visits_left().min(count as u64) as usize;
            let horizon = (self.params.smart_pruning > 0.0 && !self.limits.all_moves)
                .then(|| self.visits_left())
                .filter(|left| *left < u64::MAX);
            self.tree.set_horizon(horizon);
            let gathered = self.tree.gather(wanted);
            let site = Site {
                root: self.tree.root_game(),
                root_moves: &self.root_moves,
                params: &self.params,
                tables: &self.tables,
            };
            let reached = self.desk.replay(&site, gathered.tickets);
            self.desk.settle(&mut self.tree, reached);
            if self.desk.open.is_empty() {
                self.ended = self.end().or(gathered.full.then_some(EndReason::Exhausted));
            }
        }
        self.desk.open.len()
    }

    /// The positions to evaluate.
    pub fn requests(&self) -> impl ExactSizeIterator<Item = Request<'_>> {
        self.desk.requests()
    }

    /// Applies what the evaluator says of [`Solo::requests`], in their order; as [`check_answers`](super::check_answers)
    /// checks it, with a prior for every move.
    ///
    /// # Panics
    ///
    /// If there are not as many answers as positions.
    pub fn answer(&mut self, answers: &[Answer]) {
        assert_eq!(answers.len(), self.desk.open.len(), "an answer for every position");
        let mut at_root = false;
        for (ticket, expansion) in self.desk.expand(answers, self.params.policy_temperature) {
            at_root |= ticket.plies() == 0;
            self.tree.apply(ticket, Leaf::Expanded(expansion));
        }
        if at_root {
            self.meet_root();
        }
        self.ended = self.end();
    }

    /// The root has its moves: remembers what they are worth, and adds the noise.
    fn meet_root(&mut self) {
        self.priors = self.tree.children().into_iter().map(|(m, view)| (m, view.prior)).collect();
        if let Some(noise) = self.limits.noise {
            self.tree.mix_into_root(noise.epsilon, &noise.shares(self.priors.len()));
        }
        if let Some(gumbel) = self.gumbel {
            let visits = self.visits_left();
            self.halving = Some(Halving::begin(gumbel, &mut self.tree, visits));
        }
    }

    fn visits_left(&self) -> u64 {
        let started = self.tree.playouts() + self.tree.in_flight();
        self.limits.visits.map_or(u64::MAX, |limit| limit.saturating_sub(started))
    }

    fn end(&self) -> Option<EndReason> {
        let proven =
            if self.limits.all_moves { self.tree.is_settled() } else { self.tree.root().proof.is_some() };
        if self.visits_left() == 0 { Some(EndReason::Limit) } else { proven.then_some(EndReason::Exhausted) }
    }

    /// Why the search is over, if it is.
    pub fn ended(&self) -> Option<EndReason> {
        self.ended
    }

    /// What the search has found.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// What a search begun by [`Solo::start_gumbel`] has found.
    pub fn improved(&self) -> Option<Improved> {
        self.halving.as_ref()?.improved(&self.tree, &self.priors)
    }

    /// The root's moves with the evaluator's own priors, flattened as [`Params::policy_temperature`] says, before noise.
    pub fn priors(&self) -> &[(Move, f32)] {
        &self.priors
    }
}
