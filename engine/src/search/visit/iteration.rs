//! The steps of a visit, in their order.

use crate::chess::position::Game;
use crate::chess::tables::TableResult;
use crate::nets::eval::Wdl;
use crate::search::tree::Tree;
use crate::search::tree::counters::VisitKind;
use crate::search::tree::node::{Fate, NodeId};
use crate::search::tree::proof::Proof;
use crate::search::visit::expansion::{Expansion, Leaf};
use crate::search::visit::path::{Path, Step};
use crate::search::visit::series::Series;
use crate::search::visit::transposition::EdgeToChild;
use crate::search::visit::virtual_loss::VirtualLoss;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reached {
    /// A leaf to evaluate: [`Tree::apply`] ends the visit.
    Leaf,
    /// An evaluated node without moves, claimed for this visit: [`Tree::expand`] it, then descend further.
    Unexpanded,
    /// A node whose value needs no evaluation: [`Tree::finish`] ends the visit.
    Known {
        /// For the side to move.
        wdl: Wdl,
        /// The value is the mean of a node first reached by another path.
        transposition: bool,
    },
    /// A leaf that another visit is evaluating or expanding: [`Tree::cancel`] the visit.
    Collision,
    /// The memory is full: [`Tree::cancel`] the visit.
    Full,
}

/// When a leaf gets its moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expanding {
    /// With its value.
    AtOnce,
    /// At its second visit, by a second call of the evaluator.
    AtSecondVisit,
}

impl Tree {
    /// Begins a visit at the root. With `on_edges`, its descent leaves a virtual loss on each edge.
    #[inline]
    pub fn begin(&self, path: &mut Path, on_edges: bool) {
        path.steps.clear();
        path.leaf = self.root;
        path.exploration = self.params.puct.of_worker(path.worker);
        path.stale_draws = 0;
        path.in_series = false;
        path.series.clear();
        path.series.push(Series::of(1));
        path.virtual_loss = if on_edges { VirtualLoss::Edges } else { VirtualLoss::None };
    }

    /// Follows selection from the path's last node, where `game` must be, to a leaf.
    pub fn descend(&self, path: &mut Path, game: &mut Game, expanding: Expanding) -> Reached {
        loop {
            if let Some(reached) = self.step(path, game, expanding) {
                return reached;
            }
        }
    }

    /// Returns where the descent ends, if it does.
    #[inline]
    fn step(&self, path: &mut Path, game: &mut Game, expanding: Expanding) -> Option<Reached> {
        if !self.node(path.leaf).is_expanded() {
            return Some(self.reach_leaf(path, expanding));
        }
        self.nodes.prefetch_moves(path.leaf);
        if path.in_series {
            path.mark(game);
        }
        let choice = self.select(path.leaf, path.exploration);
        let (packed, prior) = (choice.candidate.packed(), choice.candidate.get().steps());
        // The child is fetched while the move is played.
        let followed = choice.edge.map(|(id, edge)| {
            let child = edge.child();
            self.nodes.prefetch(child);
            EdgeToChild { id, child, transposition: false }
        });
        let m = packed.to_legal_move(game.position());
        let hash_after = game.hash_after(m);
        if followed.is_none()
            && self.params.transpositions
            && let Some(hash) = hash_after
        {
            self.nodes.prefetch_key(game.key_after(m, hash));
        }
        game.play_to(m, hash_after);
        let Some(edge) = followed.or_else(|| self.add_child(path, choice.index, game)) else {
            return Some(Reached::Full);
        };
        self.follow(path, &edge, prior as u16)
    }

    #[inline]
    fn reach_leaf(&self, path: &mut Path, expanding: Expanding) -> Reached {
        let node = self.node(path.leaf);
        // Another worker may have found the value meanwhile.
        if let Some(wdl) = self.known_value(path.leaf).filter(|_| path.plies() > 0) {
            return Reached::Known { wdl, transposition: false };
        }
        path.leaf_visits = node.visits();
        if path.leaf_visits == 0 || expanding == Expanding::AtOnce {
            return Reached::Leaf;
        }
        if node.claim() { Reached::Unexpanded } else { Reached::Collision }
    }

    /// Returns where the descent ends, if the child's value is known.
    #[inline]
    fn follow(&self, path: &mut Path, edge: &EdgeToChild, prior: u16) -> Option<Reached> {
        let mut series = Series::of(1);
        if path.in_series {
            // Counts the edge's visits: a transposition may have many by other paths.
            let visits = self.nodes.edge(edge.id).visits();
            series.left = self.series_length(visits, path.series[path.plies()].left);
        }
        if path.virtual_loss != VirtualLoss::None {
            series.in_flight = series.left;
            self.nodes.edge(edge.id).add_virtual_loss(series.in_flight);
        }
        path.steps.push(Step { node: path.leaf, edge: edge.id, prior });
        path.series.push(series);
        path.leaf = edge.child;
        if edge.transposition && self.node(edge.child).visits() > 0 {
            let wdl = self.node(edge.child).wdl_for_parent().flipped();
            return Some(Reached::Known { wdl, transposition: true });
        }
        if self.is_stale_repetition(path.leaf, path.steps.len()) {
            path.stale_draws = self.nodes.edge(edge.id).visits();
            self.node(path.leaf).forget_visits();
        }
        self.known_value(path.leaf).map(|wdl| Reached::Known { wdl, transposition: false })
    }

    /// Whether the node was a draw by repetition in an earlier search, but its first occurrence is before the current
    /// root. `plies` counts from the root.
    #[inline]
    fn is_stale_repetition(&self, id: NodeId, plies: usize) -> bool {
        matches!(self.node(id).fate(), Fate::Twofold(ago) if usize::from(ago) > plies)
    }

    /// For the side to move, if known without an evaluation.
    #[inline]
    pub(super) fn known_value(&self, id: NodeId) -> Option<Wdl> {
        match self.node(id).fate() {
            Fate::Open => None,
            Fate::Proven(proof) => Some(proof.wdl()),
            Fate::Threefold | Fate::Twofold(_) => Some(Wdl::DRAW),
        }
    }

    /// Returns false if the memory is full; the node can then be claimed again.
    pub fn expand(&self, path: &Path, expansion: &Expansion) -> bool {
        self.nodes.set_moves(path.worker, path.leaf, expansion.moves())
    }

    pub fn give_up_expansion(&self, path: &Path) {
        self.node(path.leaf).set_moves(0);
    }

    /// Ends a visit with the leaf's result: backs up its value and its proof, if any.
    pub fn apply(&self, path: &mut Path, leaf: Leaf<'_>) {
        let node = self.node(path.leaf);
        let (kind, wdl, proof) = match leaf {
            Leaf::Terminal(proof) => (VisitKind::Known, proof.wdl(), Some(proof)),
            Leaf::Table(result) => {
                let proof = match result {
                    TableResult::Win => Proof::table_win(0),
                    TableResult::Draw => Proof::Draw,
                    TableResult::Loss => Proof::table_loss(0),
                };
                (VisitKind::TableHit, proof.wdl(), Some(proof))
            }
            Leaf::Repeated { ago } => {
                node.set_fate(ago.map_or(Fate::Threefold, Fate::Twofold));
                // `ago` depends on the path, so other paths must not find the node.
                self.nodes.unregister(path.leaf);
                (VisitKind::Known, Wdl::DRAW, None)
            }
            Leaf::Expanded(wdl, expansion) => {
                // If the memory is full, the node stays a leaf with its value.
                self.expand(path, expansion);
                (VisitKind::Evaluation, wdl, None)
            }
            Leaf::Valued(wdl) => (VisitKind::Evaluation, wdl, None),
        };
        if let Some(proof) = proof {
            node.set_fate(Fate::Proven(proof));
        }
        // A new leaf belongs to its first visit alone until it has moves.
        let is_shared = self.shared && (node.visits() > 0 || node.is_expanded());
        node.add_own(-wdl.q(), wdl.draw, is_shared);
        self.back_up(path, wdl, kind);
        if path.stale_draws > 0 {
            self.back_up_pending(path);
            self.replace_stale_draws(path, wdl);
        }
        if proof.is_some() {
            self.back_up_pending(path);
            self.back_up_proof(path);
        }
        // Last, so that no other visit starts to evaluate the leaf.
        self.remove_virtual_loss(path);
    }

    /// Ends a visit that reached a known value.
    pub fn finish(&self, path: &mut Path, wdl: Wdl, transposition: bool) {
        let kind = if transposition { VisitKind::Transposition } else { VisitKind::Known };
        self.back_up(path, wdl, kind);
        if self.node(path.leaf).proof().is_some() {
            self.back_up_pending(path);
            self.back_up_proof(path);
        }
        self.remove_virtual_loss(path);
    }

    /// Undoes a visit; a series needs [`Tree::end_series`] too.
    pub fn cancel(&self, path: &Path) {
        self.remove_virtual_loss(path);
    }
}
