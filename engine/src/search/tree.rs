//! The tree (a graph, where positions are reached by several ways) and the law that holds in it.

use shakmaty::Move;

use super::arena::{Arena, Node, NodeId};
use super::neural_mate::NeuralMateTerms;
use super::params::Params;
use super::proof::Proof;
use crate::eval::Wdl;
use crate::position::{Game, PackedMove};

/// What the outside may know of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeView {
    /// Visits that have come back by this move.
    pub visits: u32,
    /// Visits on their way.
    pub pending: u32,
    /// Mean result for the side that moved into the node.
    pub q: f32,
    /// Mean win, draw and loss for the side that moved into the node.
    pub wdl: Wdl,
    /// What is certain, for the side to move in the node.
    pub proof: Option<Proof>,
    /// The prior of the move into the node; 1 for the root.
    pub prior: f32,
    /// The evaluator's expected result for the side that moved into the node; `None` before it.
    pub value: Option<f32>,
}

/// Counters since a search began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Visits that have been applied.
    pub playouts: u64,
    /// Of these, new evaluations.
    pub evaluations: u64,
    /// Of these, visits that took the mean of a position which was known by another way.
    pub transpositions: u64,
    /// Of these, positions that endgame tables answered for.
    pub table_hits: u64,
    /// Plies of all playouts' paths.
    pub path_plies: u64,
    /// The greatest mean length of the paths so far, rounded down.
    pub depth: u32,
    /// The longest path, in plies.
    pub longest_path: u32,
}

/// Visits of a search with a kept tree before the mean length of paths means something.
const KEPT_VISITS_UNCOUNTED: u64 = 128;

/// A search tree over one root position: only data, no clock, thread or random source.
///
/// **Law.** When nothing is in flight, an expanded node's visits are those that ended in it (one, its
/// own evaluation, unless its moves were dropped in between) plus those along its links.
///
/// **Sharing.** Two ways lead to the same node, unless the game ends there, if [`Game::key`] is the
/// same: position, fifty-move counter, and the positions that could still be repeated. So what follows from a node depends on the
/// node alone, repetitions included, and no cycle can close: along moves that can be taken back the
/// counter grows. The first playout that comes to a node by another way takes the node's mean with it;
/// later ones go on below it.
pub struct Tree {
    // Set for a search.
    pub(super) params: Params,
    /// NeuralMatePlay's terms, if the parameters turn them on.
    pub(super) neural_mate: Option<NeuralMateTerms>,
    pub(super) game: Game,
    pub(super) moves: Vec<Move>,
    pub(super) restricted: bool,
    /// Visits that are still to come, if somebody knows.
    pub(super) horizon: Option<u64>,
    /// The root move that visits take, if somebody else chooses it.
    pub(super) forced: Option<usize>,
    // Grows.
    pub(super) arena: Arena,
    pub(super) root: NodeId,
    /// A node from which the root is reached, at most two plies above it: if the opponent plays another
    /// move than the one pondered on, the search goes on from there.
    pub(super) base: NodeId,
    pub(super) base_game: Game,
    /// The root has moved since memory was last recycled: there may be nodes that nothing leads to.
    pub(super) moved: bool,
    // Counts.
    pub(super) counters: Counters,
    /// The first visits of a tree that is gone on with follow its main line: they say nothing of depth.
    pub(super) depth_counts_from: u64,
    pub(super) in_flight: u64,
}

impl Tree {
    /// A tree that holds nothing but the unevaluated root of `game`.
    ///
    /// `root_moves` restricts the root's moves (empty for all). `memory` in bytes bounds the tree; it is
    /// reserved but not touched before it is needed, and the tree never takes more.
    pub fn new(game: Game, root_moves: &[Move], params: Params, memory: usize) -> Tree {
        let mut arena = Arena::new(memory);
        let root = arena.add();
        let mut tree = Tree {
            neural_mate: NeuralMateTerms::of(&params),
            params,
            moves: Vec::new(),
            restricted: false,
            horizon: None,
            forced: None,
            arena,
            root,
            base: root,
            base_game: game.clone(),
            moved: false,
            game,
            counters: Counters::default(),
            depth_counts_from: 0,
            in_flight: 0,
        };
        tree.restrict(root_moves);
        tree
    }

    /// An empty tree, to be [started](Tree::start), of at most `memory` bytes.
    pub fn empty(memory: usize) -> Tree {
        Tree::new(Game::new(), &[], Params::default(), memory)
    }

    fn restrict(&mut self, root_moves: &[Move]) {
        let legal = self.game.legal_moves();
        self.restricted = !root_moves.is_empty();
        self.moves = legal.into_iter().filter(|m| !self.restricted || root_moves.contains(m)).collect();
    }

    /// Goes on to another search: of the tree below `game`, if there is one and `params.reuse` says so,
    /// else of nothing but its root. Returns whether the tree was kept.
    ///
    /// Nothing may be in flight. What doesn't lie below the new root stays until its room is needed.
    pub fn start(&mut self, game: &Game, root_moves: &[Move], params: Params) -> bool {
        let kept = params.reuse
            && params.policy_temperature == self.params.policy_temperature
            && params.transpositions == self.params.transpositions
            && params.solver == self.params.solver
            && params.twofold_draws == self.params.twofold_draws
            && root_moves.is_empty()
            && !self.restricted
            && self.advance(game);
        self.neural_mate = NeuralMateTerms::of(&params);
        self.params = params;
        if !kept {
            self.arena.clear();
            self.root = self.arena.add();
            (self.base, self.base_game, self.game) = (self.root, game.clone(), game.clone());
        }
        self.restrict(root_moves);
        self.counters = Counters::default();
        self.depth_counts_from = if kept { KEPT_VISITS_UNCOUNTED } else { 0 };
        (self.horizon, self.forced) = (None, None);
        kept
    }

    /// Makes the node of `game` the root, if it is reached from the base and is worth it.
    fn advance(&mut self, game: &Game) -> bool {
        // Above the old root more positions count as repeated than were marked below it.
        if game.ply() < self.game.ply() {
            return false;
        }
        let Some(line) = self.base_game.continuation(game) else { return false };
        let mut path = vec![(self.base, self.base_game.clone())];
        for m in line {
            let (id, game) = path.last().expect("begins with the base");
            let mut taken = self.arena.links_of(*id).iter().zip(self.arena.moves_of(*id));
            let Some((link, _)) = taken.find(|(_, candidate)| candidate.packed == PackedMove::new(m)) else {
                return false;
            };
            let mut next = game.clone();
            next.play(m);
            path.push((link.child(), next));
        }
        let (root, game) = path.last().cloned().expect("begins with the base");
        if !self.arena.node(root).is_expanded() {
            return false;
        }
        self.moved |= root != self.root;
        (self.root, self.game) = (root, game);
        let above = path.len().saturating_sub(3);
        (self.base, self.base_game) = path.swap_remove(above);
        true
    }

    /// The position that the tree grows from.
    pub fn root_game(&self) -> &Game {
        &self.game
    }

    /// The moves that are searched at the root.
    pub fn root_moves(&self) -> &[Move] {
        &self.moves
    }

    /// Visits of this search that have been applied.
    pub fn playouts(&self) -> u64 {
        self.counters.playouts
    }

    /// What this search has counted.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Tickets that are neither applied nor cancelled.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Mean length of the playouts' paths in plies, rounded down; the greatest that it has been.
    pub fn depth(&self) -> u32 {
        self.counters.depth
    }

    /// Length of the longest path in plies.
    pub fn longest_path(&self) -> u32 {
        self.counters.longest_path
    }

    /// How full the memory is, in thousandths.
    pub fn fullness(&self) -> u32 {
        self.arena.fullness()
    }

    /// Tells how many more visits this search may expect; `None` if nobody knows.
    pub fn set_horizon(&mut self, visits: Option<u64>) {
        self.horizon = visits;
    }

    /// Lets visits take this root move, by its place among [`Tree::children`], until told otherwise; moves can be taken
    /// for the first time in their order only.
    pub(super) fn force(&mut self, edge: Option<usize>) {
        self.forced = edge;
    }

    /// Visits of the most and the second most visited root move, leaving out those that are proven to
    /// lose.
    pub fn lead(&self) -> (u64, u64) {
        let links = self.arena.links_of(self.root).iter();
        let open = links.filter(|link| !matches!(self.node(link.child()).proof, Some(Proof::Win(_))));
        let visits = open.map(|link| u64::from(link.visits));
        visits.fold(
            (0, 0),
            |(first, second), visits| {
                if visits > first { (visits, first) } else { (first, second.max(visits)) }
            },
        )
    }

    /// Whether the root is proven and nothing more can be found out about any of its moves, or a mate in
    /// one is.
    pub fn is_settled(&self) -> bool {
        let links = self.arena.links_of(self.root);
        let all_taken = links.len() == self.arena.moves_of(self.root).len();
        let all_proven = || links.iter().all(|link| self.node(link.child()).proof.is_some());
        match self.node(self.root).proof {
            None => false,
            Some(proof) => proof == Proof::Win(1) || (all_taken && all_proven()),
        }
    }

    /// The root's statistics.
    pub fn root(&self) -> NodeView {
        let node = self.node(self.root);
        NodeView { visits: node.visits, ..view(node, 1.0) }
    }

    /// The root's moves with the statistics of the positions after them, in order of falling prior
    /// (but for noise on moves already taken); empty before the root's evaluation.
    pub fn children(&self) -> Vec<(Move, NodeView)> {
        let unvisited = Node::default();
        let links = self.arena.links_of(self.root);
        let moves = self.arena.moves_of(self.root).iter().enumerate();
        moves
            .map(|(index, candidate)| {
                let link = links.get(index);
                let node = link.map_or(&unvisited, |link| self.node(link.child()));
                let m = candidate.packed.to_legal_move(self.game.position());
                (m, NodeView { visits: link.map_or(0, |link| link.visits), ..view(node, candidate.prior()) })
            })
            .collect()
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        self.arena.node(id)
    }

    /// Checks the law that [`Tree`] states, and that nothing is in flight; for tests.
    ///
    /// # Errors
    ///
    /// The first node that breaks it.
    pub fn check_at_rest(&self) -> Result<(), String> {
        if self.in_flight != 0 {
            return Err(format!("{} tickets in flight", self.in_flight));
        }
        for id in self.arena.ids() {
            let node = self.node(id);
            if node.pending != 0 {
                return Err(format!("{id:?} has {} visits pending", node.pending));
            }
            let below: u32 = self.arena.links_of(id).iter().map(|link| link.visits).sum();
            if node.is_expanded() && node.visits != node.own + below {
                return Err(format!("{id:?} has {} visits: {} own, {below} below", node.visits, node.own));
            }
        }
        Ok(())
    }
}

fn view(node: &Node, prior: f32) -> NodeView {
    NodeView {
        visits: 0,
        pending: node.pending,
        q: node.q(),
        wdl: node.wdl_for_parent(),
        proof: node.proof,
        prior,
        value: (node.visits > 0).then_some(node.value),
    }
}
