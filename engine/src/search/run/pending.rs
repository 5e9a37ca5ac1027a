//! The leaves that wait for an evaluator that answers in batches.

use shakmaty::MoveList;

use crate::chess::position::Game;
use crate::nets::eval::{Answer, Request};
use crate::search::run::context::SearchContext;
use crate::search::tree::Tree;
use crate::search::visit::expansion::{Expansion, Leaf};
use crate::search::visit::{Expanding, Path, Reached};

/// A leaf to evaluate.
struct PendingLeaf {
    path: Path,
    game: Game,
    moves: MoveList,
}

/// The leaves that wait for their evaluation. Memory is reused from round to round.
pub(in crate::search) struct PendingBatch {
    worker: usize,
    /// The first `waiting` wait; the others are memory to use again.
    leaves: Vec<PendingLeaf>,
    waiting: usize,
    expansion: Expansion,
}

/// What one [`PendingBatch::gather`] did.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::search) struct GatherStatus {
    /// Visits that ended without an evaluation.
    pub finished: usize,
    /// A path led to a leaf in flight: more can be gathered once that is applied.
    pub collided: bool,
    /// The memory is full.
    pub full: bool,
}

impl PendingBatch {
    /// An empty batch of a worker of this number.
    pub fn new(worker: usize) -> PendingBatch {
        PendingBatch { worker, leaves: Vec::new(), waiting: 0, expansion: Expansion::default() }
    }

    /// Leaves to evaluate.
    pub fn len(&self) -> usize {
        self.waiting
    }

    /// Whether there is no leaf to evaluate.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Begins up to `visits` visits, until `size` leaves wait or a visit collides; those that need no evaluation are
    /// applied.
    pub fn gather(
        &mut self,
        context: &SearchContext,
        tree: &Tree,
        size: usize,
        visits: usize,
    ) -> GatherStatus {
        let mut status = GatherStatus::default();
        for _ in 0..visits {
            if self.waiting == size {
                break;
            }
            if self.leaves.len() == self.waiting {
                let (path, game) = (Path::new(self.worker), context.root.clone());
                self.leaves.push(PendingLeaf { path, game, moves: MoveList::new() });
            }
            let PendingLeaf { path, game, moves } = &mut self.leaves[self.waiting];
            game.clone_from(&context.root);
            tree.begin(path, false);
            match tree.descend(path, game, Expanding::AtOnce) {
                Reached::Known { wdl, transposition } => {
                    tree.finish(path, wdl, transposition);
                    status.finished += 1;
                }
                Reached::Leaf if !tree.count(path) => {
                    status.collided = true;
                    break;
                }
                Reached::Leaf => {
                    *moves = context.moves(game, path.plies());
                    if let Some(known) = context.known(game, path.plies(), !moves.is_empty()) {
                        tree.apply(path, known);
                        status.finished += 1;
                    } else {
                        self.waiting += 1;
                    }
                }
                Reached::Collision | Reached::Unexpanded => {
                    status.collided = true;
                    break;
                }
                Reached::Full => {
                    status.full = true;
                    break;
                }
            }
        }
        status
    }

    /// The positions to evaluate.
    pub fn requests(&self) -> impl ExactSizeIterator<Item = Request<'_>> {
        self.leaves[..self.waiting].iter().map(|leaf| Request { game: &leaf.game, moves: &leaf.moves })
    }

    /// Applies `answers`, one for each of [`PendingBatch::requests`], and empties the batch. The context's noise is mixed
    /// into the root's priors if `noisy`. Returns whether the root was among the leaves, which then has its moves.
    pub fn apply(&mut self, context: &SearchContext, tree: &Tree, answers: &[Answer], noisy: bool) -> bool {
        let mut root_expanded = false;
        for (leaf, answer) in self.leaves[..self.waiting].iter_mut().zip(answers) {
            let temperature = context.temperature(leaf.path.plies());
            self.expansion.set(&leaf.moves, &answer.priors, temperature);
            let at_root = leaf.path.plies() == 0;
            if let Some(noise) = context.limits.noise.filter(|_| at_root && noisy) {
                self.expansion.mix(noise);
            }
            root_expanded |= at_root;
            let wdl = context.adjusted(&leaf.game, answer.wdl);
            tree.apply(&mut leaf.path, Leaf::Expanded(wdl, &self.expansion));
        }
        self.waiting = 0;
        root_expanded
    }

    /// Cancels all visits: the tree is as if they had never been.
    pub fn cancel(&mut self, tree: &Tree) {
        self.leaves[..self.waiting].iter().for_each(|leaf| tree.cancel(&leaf.path));
        self.waiting = 0;
    }
}
