use shakmaty::MoveList;

use crate::chess::position::Game;
use crate::nets::eval::{Answer, Request};
use crate::search::run::context::SearchContext;
use crate::search::tree::Tree;
use crate::search::visit::expansion::{Expansion, Leaf};
use crate::search::visit::{Expanding, Path, Reached};

struct PendingLeaf {
    path: Path,
    game: Game,
    moves: MoveList,
}

/// Leaves waiting for a batched evaluator. Memory is reused between rounds.
pub(in crate::search) struct PendingBatch {
    worker: usize,
    /// The first `waiting` are in use, the rest is spare memory.
    leaves: Vec<PendingLeaf>,
    waiting: usize,
    expansion: Expansion,
}

#[derive(Clone, Copy, Debug, Default)]
pub(in crate::search) struct GatherStatus {
    /// Visits that needed no evaluation.
    pub finished: usize,
    /// A path met a leaf in flight, whose evaluation must be applied first.
    pub collided: bool,
    pub full: bool,
}

impl PendingBatch {
    pub fn new(worker: usize) -> PendingBatch {
        PendingBatch { worker, leaves: Vec::new(), waiting: 0, expansion: Expansion::default() }
    }

    pub fn len(&self) -> usize {
        self.waiting
    }

    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Makes at most `visits` visits, until `size` leaves wait or one collides. Visits without evaluation are applied
    /// at once.
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
                Reached::Leaf if !tree.claim_leaf(path) => {
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

    pub fn requests(&self) -> impl ExactSizeIterator<Item = Request<'_>> {
        self.leaves[..self.waiting].iter().map(|leaf| Request { game: &leaf.game, moves: &leaf.moves })
    }

    /// Takes one answer per request; `noisy` adds noise to the root's priors. Returns whether the root was expanded.
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

    pub fn cancel(&mut self, tree: &Tree) {
        self.leaves[..self.waiting].iter().for_each(|leaf| tree.cancel(&leaf.path));
        self.waiting = 0;
    }
}
