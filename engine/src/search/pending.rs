//! The leaves of a round that wait for their evaluation, as positions.

use shakmaty::MoveList;

use super::context::SearchContext;
use super::in_flight::{Expansion, InFlightVisit, Leaf, finished};
use super::tree::Tree;
use crate::eval::{Answer, Request};
use crate::position::Game;

/// A leaf with its legal moves and the index of its game in the batch.
pub(super) struct PendingLeaf {
    visit: InFlightVisit,
    moves: MoveList,
    game: usize,
}

/// The leaves that wait for their evaluation. The memory of their games is reused from round to round.
#[derive(Default)]
pub(super) struct PendingBatch {
    /// The games of `leaves`, in their order; then games to reuse.
    games: Vec<Game>,
    leaves: Vec<PendingLeaf>,
}

impl PendingBatch {
    /// Leaves to evaluate.
    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    /// Whether there is no leaf to evaluate.
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// Replays each visit's moves from the root, and finds the leaves whose value is known without an evaluation.
    /// Needs no tree.
    pub fn replay(
        &mut self,
        context: &SearchContext,
        visits: Vec<InFlightVisit>,
    ) -> Vec<(PendingLeaf, Option<Leaf>)> {
        let first = self.leaves.len();
        if self.games.len() < first + visits.len() {
            self.games.resize_with(first + visits.len(), Game::new);
        }
        let mut reached = Vec::with_capacity(visits.len());
        for (visit, index) in visits.into_iter().zip(first..) {
            let game = &mut self.games[index];
            game.clone_from(&context.root);
            visit.replay(game);
            // The root is always expanded, even if the game is a draw there: a move is wanted.
            let (moves, known) = if visit.plies() == 0 {
                (context.root_moves.clone(), None)
            } else {
                let legal = game.legal_moves();
                let known = known_leaf(context, game, &legal, visit.plies());
                (legal, known)
            };
            reached.push((PendingLeaf { visit, moves, game: index }, known));
        }
        reached
    }

    /// Applies the leaves that are known or transpositions, and keeps the others for evaluation.
    pub fn settle(&mut self, tree: &mut Tree, reached: Vec<(PendingLeaf, Option<Leaf>)>) {
        for (leaf, known) in reached {
            if let Some(known) = known {
                tree.apply(leaf.visit, known);
                continue;
            }
            if let Some(visit) = tree.identify(leaf.visit, self.games[leaf.game].key()) {
                // Games of pending leaves are moved to the front; those behind them are reused.
                let index = self.leaves.len();
                self.games.swap(index, leaf.game);
                self.leaves.push(PendingLeaf { visit, moves: leaf.moves, game: index });
            }
        }
    }

    /// The positions to evaluate.
    pub fn requests(&self) -> impl ExactSizeIterator<Item = Request<'_>> {
        self.leaves.iter().map(|leaf| Request { game: &self.games[leaf.game], moves: &leaf.moves })
    }

    /// Combines the leaves with `answers`, one for each of [`PendingBatch::requests`], and empties the batch. Needs no
    /// tree.
    pub fn expand<'a>(
        &mut self,
        answers: &'a [Answer],
        temperature: f32,
    ) -> impl Iterator<Item = (InFlightVisit, Expansion)> + use<'_, 'a> {
        let answered = self.leaves.drain(..).zip(answers);
        answered.map(move |(leaf, answer)| (leaf.visit, Expansion::new(&leaf.moves, answer, temperature)))
    }

    /// Cancels all visits: the tree is as if they had never been gathered.
    pub fn cancel(&mut self, tree: &mut Tree) {
        self.leaves.drain(..).for_each(|leaf| tree.cancel(leaf.visit));
    }
}

/// The end of the game at a leaf `plies` from the root, by the rules or by endgame tables.
fn known_leaf(context: &SearchContext, game: &Game, legal: &MoveList, plies: usize) -> Option<Leaf> {
    let repeatable = if context.params.twofold_draws { plies } else { 0 };
    finished(game, legal, repeatable).or_else(|| {
        let probed = plies >= context.tables.rules().depth;
        probed.then(|| context.tables.wdl(game)).flatten().map(Leaf::Table)
    })
}
