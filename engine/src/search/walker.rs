//! A worker whose evaluator answers one question about one position at a time: each visit walks down, asks, and backs up
//! before the next one begins.

use super::context::SearchContext;
use super::expansion::{Expansion, Leaf};
use super::tree::Tree;
use super::visit::{Expanding, Path, Reached};
use crate::eval::SplitEvaluator;
use crate::position::Game;

/// The memory of one worker's visits.
pub(super) struct Walker {
    path: Path,
    game: Game,
    priors: Vec<f32>,
    expansion: Expansion,
}

/// How a visit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VisitEnd {
    /// It was applied.
    Applied,
    /// Another worker is at its leaf: it was abandoned.
    Collided,
    /// The memory is full: it was abandoned.
    Full,
}

impl Walker {
    /// For a worker of this number.
    pub fn new(worker: usize) -> Walker {
        Walker {
            path: Path::new(worker),
            game: Game::new(),
            priors: Vec::new(),
            expansion: Expansion::default(),
        }
    }

    /// Before the first visit of a search.
    pub fn start(&mut self, context: &SearchContext) {
        self.game.clone_from(&context.root);
    }

    /// One visit.
    pub fn visit(
        &mut self,
        context: &SearchContext,
        tree: &Tree,
        evaluator: &mut dyn SplitEvaluator,
    ) -> VisitEnd {
        self.game.rewind_to(&context.root);
        tree.begin(&mut self.path);
        loop {
            match tree.descend(&mut self.path, &mut self.game, Expanding::AtSecondVisit) {
                Reached::Known { wdl, transposition } => {
                    tree.finish(&self.path, wdl, transposition);
                    tree.record_values(&self.path, &self.game);
                    return VisitEnd::Applied;
                }
                Reached::Leaf => return self.evaluate(context, tree, evaluator),
                Reached::Unexpanded => {
                    let moves = if self.path.plies() == 0 {
                        context.root_moves.clone()
                    } else {
                        self.game.legal_moves()
                    };
                    if moves.is_empty() {
                        // Another worker has just found that the game ends here.
                        tree.give_up_expansion(&self.path);
                        return VisitEnd::Collided;
                    }
                    self.ask_policy(context, tree, evaluator, &moves);
                    if !tree.expand(&self.path, &self.expansion) {
                        return VisitEnd::Full;
                    }
                }
                Reached::Collision => return VisitEnd::Collided,
                Reached::Full => return VisitEnd::Full,
            }
        }
    }

    /// Evaluates the leaf, unless another worker does, and backs its value up.
    fn evaluate(
        &mut self,
        context: &SearchContext,
        tree: &Tree,
        evaluator: &mut dyn SplitEvaluator,
    ) -> VisitEnd {
        // A worker alone has nothing in flight.
        if tree.shared && !tree.count(&mut self.path) {
            return VisitEnd::Collided;
        }
        let (moves, known) = context.judge(&self.game, self.path.plies());
        if let Some(known) = known {
            tree.apply(&self.path, known);
            return VisitEnd::Applied;
        }
        if let Some(wdl) = tree.position_value(&self.game).filter(|_| self.path.plies() > 0) {
            tree.apply(&self.path, Leaf::Known(wdl));
            tree.record_values(&self.path, &self.game);
            return VisitEnd::Applied;
        }
        let wdl = context.adjusted(&self.game, evaluator.value(&self.game));
        if self.path.plies() == 0 {
            // The root's moves are wanted even after a single visit.
            self.ask_policy(context, tree, evaluator, &moves);
            tree.apply_value(&self.path, &self.game, wdl, Some(&self.expansion));
        } else {
            tree.apply_value(&self.path, &self.game, wdl, None);
        }
        tree.record_values(&self.path, &self.game);
        VisitEnd::Applied
    }

    fn ask_policy(
        &mut self,
        context: &SearchContext,
        tree: &Tree,
        evaluator: &mut dyn SplitEvaluator,
        moves: &[shakmaty::Move],
    ) {
        self.priors.clear();
        self.priors.resize(moves.len(), 0.0);
        let temperature = context.temperature(self.path.plies());
        evaluator.policy(&self.game, moves, temperature, &mut self.priors);
        self.expansion.set(moves, &self.priors, 1.0);
        tree.recall(self.game.turn(), temperature, &mut self.expansion);
        if let Some(noise) = context.limits.noise.filter(|_| self.path.plies() == 0) {
            self.expansion.mix(noise);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::{Limits, Params};
    use crate::sparse::SparseNetwork;
    use crate::tables::Tables;

    /// As another worker leaves it that has counted its visit of an ended game, before this one sees why.
    #[test]
    fn an_ended_game_that_was_visited_is_not_expanded_again_and_again() {
        let stalemate = Game::from_fen("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1").unwrap();
        let mut tree = Tree::empty(1 << 20);
        let (limits, tables) = (Limits::default(), Tables::default());
        let (context, _) = SearchContext::start(&mut tree, stalemate, limits, Params::native(), tables, 2);
        tree.node(tree.root).add(0.0, 1.0, true);
        let (mut walker, mut evaluator) = (Walker::new(0), SparseNetwork::embedded().evaluator());
        walker.start(&context);
        for _ in 0..3 {
            let end = walker.visit(&context, &tree, &mut evaluator);
            assert!(matches!(end, VisitEnd::Collided));
        }
    }
}
