//! Moves the root down the tree between searches, and edits its moves.

use std::cmp::Reverse;

use shakmaty::Move;

use crate::chess::mates::ForcedMate;
use crate::chess::position::{Game, PackedMove};
use crate::search::params::Params;
use crate::search::tree::Tree;
use crate::search::tree::node::{Candidate, Edge, Fate, MovePrior, NodeId, Results};
use crate::search::tree::proof::Proof;

impl Tree {
    /// Converts the priors of the new root, `plies` below the last one, and of its children to the temperatures of
    /// their new depths.
    pub(super) fn temper(&mut self, plies: usize) {
        let Params { policy_temperature, root_policy_temperature, reply_policy_temperature, .. } =
            self.params;
        let before = if plies == 1 { reply_policy_temperature } else { policy_temperature };
        self.apply_temperature(self.root, before / root_policy_temperature);
        if reply_policy_temperature != policy_temperature {
            let children: Vec<NodeId> = self.nodes.edges_of(self.root).map(Edge::child).collect();
            for child in children {
                self.apply_temperature(child, policy_temperature / reply_policy_temperature);
            }
        }
    }

    /// Makes `game`'s node the root if the base's tree has it, with all moves, and not at an earlier ply.
    pub(super) fn advance(&mut self, game: &Game) -> bool {
        // From an earlier root, more positions are repetitions than the tree has marked.
        if game.ply() < self.game.ply() {
            return false;
        }
        let Some(line) = self.base_game.continuation(game) else { return false };
        let mut path = vec![(self.base, self.base_game.clone())];
        for m in line {
            let (id, game) = path.last().expect("begins with the base");
            let moves = self.nodes.moves_of(*id);
            let mut edges = self.nodes.edges_of(*id).zip(moves);
            let Some((edge, _)) = edges.find(|(_, candidate)| candidate.packed() == PackedMove::new(m))
            else {
                return false;
            };
            let mut next = game.clone();
            next.play(m);
            path.push((edge.child(), next));
        }
        let (root, game) = path.last().cloned().expect("begins with the base");
        let lacks_moves = self.restricted && path.len() == 1;
        if !self.nodes.node(root).is_expanded() || lacks_moves {
            return false;
        }
        let (old_root, old_base) = (self.root, self.base);
        (self.root, self.game) = (root, game);
        if self.is_proven_outside(root) {
            // The search must find the move that achieves the proven result.
            self.node(root).set_fate(Fate::Open);
        }
        let above = path.len().saturating_sub(3);
        (self.base, self.base_game) = path.swap_remove(above);
        self.hold_root();
        self.release(old_root);
        self.release(old_base);
        true
    }

    pub(super) fn hold_root(&self) {
        for id in [self.root, self.base] {
            self.hold(id);
        }
    }

    /// Replaces the expanded root by a copy with only the [root moves](Tree::root_moves), which shares the children.
    /// The old root stays below the base. Returns false if the memory is full.
    pub(super) fn detach_root(&mut self) -> bool {
        let old = self.root;
        let wanted =
            |candidate: &Candidate| self.moves.iter().any(|m| candidate.packed() == PackedMove::new(*m));
        let moves: Vec<MovePrior> =
            self.nodes.moves_of(old).filter(|candidate| wanted(candidate)).map(Candidate::get).collect();
        let edges = self.nodes.edges_of(old).zip(self.nodes.moves_of(old));
        let edges: Vec<&Edge> =
            edges.filter(|(_, candidate)| wanted(candidate)).map(|(edge, _)| edge).collect();
        let copy = || -> Option<NodeId> {
            let root = self.nodes.add(0)?;
            let node = self.node(root);
            if !self.nodes.set_moves(0, root, &moves) {
                return None;
            }
            let value = self.node(old).value().unwrap_or_default();
            node.add_own(value, self.node(old).wdl_for_parent().draw, false);
            for (index, edge) in edges.iter().enumerate() {
                let child = edge.child();
                let id = self.nodes.add_edge(0, root, index, child)?;
                node.unlock(index + 1);
                self.hold(child);
                let (copy, after) = (self.nodes.edge(id), self.node(child));
                copy.refresh(after);
                let draw = after.wdl_for_parent().draw;
                node.add_results(&Results::of(edge.visits(), -copy.q(), draw), false);
                copy.add_visits(edge.visits(), 0, false);
            }
            self.nodes.recount_priors(root);
            Some(root)
        };
        match copy() {
            Some(root) => {
                self.root = root;
                self.release(old);
                true
            }
            None => false,
        }
    }

    /// Records a forced mate found outside the tree. Returns false if its first move is not in the tree or the memory
    /// is full.
    pub(in crate::search) fn prove_mate(&mut self, mate: &ForcedMate) -> bool {
        if matches!(self.root_proof(), Some(Proof::Win(plies)) if plies <= mate.plies_at_most) {
            return true;
        }
        let Some(&first) = mate.line.first() else { return false };
        let packed = PackedMove::new(first);
        let moves: Vec<MovePrior> = self.nodes.moves_of(self.root).map(Candidate::get).collect();
        let Some(place) = moves.iter().position(|m| m.packed() == packed) else { return false };
        let edges = self.nodes.edges_of(self.root).len();
        let index = place.min(edges);
        if place >= edges {
            // Moves get their edges in order, so the mating move becomes the first without one.
            let mut others = moves[edges..].to_vec();
            others[..=place - edges].rotate_right(1);
            let places = self.nodes.moves_of(self.root).skip(edges);
            places.zip(others).for_each(|(place, value)| place.set(value));
            let Some(child) = self.nodes.add(0) else { return false };
            if self.nodes.add_edge(0, self.root, index, child).is_none() {
                self.nodes.free_node(child);
                return false;
            }
            self.node(self.root).unlock(edges + 1);
        }
        let edge = self.nodes.edge(self.nodes.edge_id(self.root, index));
        let child = self.node(edge.child());
        child.set_fate(Fate::Proven(Proof::Loss(mate.plies_at_most.saturating_sub(1))));
        edge.refresh(child);
        self.node(self.root).set_fate(Fate::Proven(Proof::Win(mate.plies_at_most)));
        if mate.is_whole() {
            self.mate_lines().add(packed, mate.plies_at_most - 1, Some(mate.line.clone()));
        }
        true
    }

    /// Goes from the root through unproven nodes, at most `plies` deep, along moves with at least `visits` visits.
    pub(in crate::search) fn most_visited(&self, visits: u32, plies: usize) -> Vec<Move> {
        let (mut id, mut game, mut line) = (self.root, self.game.clone(), Vec::new());
        while line.len() < plies {
            let moves = self.nodes.edges_of(id).zip(self.nodes.moves_of(id));
            let open = moves.filter(|(edge, _)| self.node(edge.child()).fate() == Fate::Open);
            let most = open.max_by_key(|(edge, _)| edge.visits());
            let Some((edge, candidate)) = most.filter(|(edge, _)| edge.visits() >= visits) else { break };
            let m = candidate.packed().to_legal_move(game.position());
            game.play(m);
            line.push(m);
            id = edge.child();
        }
        line
    }

    /// Sorts the root's moves, which have no edges yet, by falling `keys`, given in the order of [`Tree::children`].
    /// [`Tree::force`] must then choose the moves.
    pub(in crate::search) fn sort_root_moves(&mut self, keys: &[f32]) {
        debug_assert_eq!(self.nodes.edges_of(self.root).len(), 0, "none has an edge");
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by(|a, b| keys[*b].total_cmp(&keys[*a]));
        let moves: Vec<_> = self.nodes.moves_of(self.root).collect();
        let ordered: Vec<MovePrior> = order.into_iter().map(|index| moves[index].get()).collect();
        moves.iter().zip(ordered).for_each(|(place, value)| place.set(value));
    }

    /// Sets priors to `(1 − epsilon) · prior + epsilon · share`, with shares in the order of [`Tree::children`]. The
    /// root must be expanded.
    pub(in crate::search) fn mix_root_noise(&mut self, epsilon: f32, shares: &[f32]) {
        let mut shares = shares.iter();
        self.map_priors(self.root, |prior| {
            (1.0 - epsilon) * prior + epsilon * shares.next().copied().unwrap_or_default()
        });
    }

    fn apply_temperature(&mut self, id: NodeId, exponent: f32) {
        if exponent == 1.0 {
            return;
        }
        let flat = |prior: f32| libm::powf(prior, exponent);
        let total: f32 = self.nodes.moves_of(id).map(|candidate| flat(candidate.prior())).sum();
        self.map_priors(id, |prior| flat(prior) / total);
    }

    fn map_priors(&self, id: NodeId, mut change: impl FnMut(f32) -> f32) {
        for candidate in self.nodes.moves_of(id) {
            candidate.set(MovePrior::new(candidate.packed(), change(candidate.prior())));
        }
        // Moves without edges stay sorted by falling prior.
        let others = || self.nodes.moves_of(id).skip(self.nodes.edges_of(id).len());
        let mut ordered: Vec<MovePrior> = others().map(Candidate::get).collect();
        ordered.sort_by_key(|value| Reverse(value.steps()));
        others().zip(ordered).for_each(|(place, value)| place.set(value));
        self.nodes.recount_priors(id);
    }
}
