//! The search tree (with transpositions a directed acyclic graph) and its invariant.

use shakmaty::Move;

use super::neuralmateplay::NeuralMatePlayTerms;
use super::node_store::{Node, NodeId, NodeStore};
use super::params::Params;
use super::proof::Proof;
use crate::eval::Wdl;
use crate::position::{Game, PackedMove};

/// The statistics of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeView {
    /// Completed visits by this move.
    pub visits: u32,
    /// In-flight visits.
    pub in_flight: u32,
    /// Mean result for the side that moved into the node.
    pub q: f32,
    /// Mean win, draw and loss for the side that moved into the node.
    pub wdl: Wdl,
    /// The proven value, for the side to move in the node.
    pub proof: Option<Proof>,
    /// The prior of the move into the node; 1 for the root.
    pub prior: f32,
    /// The evaluator's value for the side that moved into the node, −1 to 1; `None` before its evaluation.
    pub value: Option<f32>,
}

/// Counters of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchCounters {
    /// Applied visits.
    pub playouts: u64,
    /// Of these, new evaluations.
    pub evaluations: u64,
    /// Of these, visits that backed up the mean of a transposition.
    pub transpositions: u64,
    /// Of these, results from endgame tables.
    pub table_hits: u64,
    /// Sum of the path lengths, in plies.
    pub path_plies: u64,
    /// The greatest mean path length so far, in plies, rounded down.
    pub depth: u32,
    /// The longest path, in plies.
    pub longest_path: u32,
}

/// Visits of a search with a reused tree before the mean path length is meaningful.
const KEPT_VISITS_UNCOUNTED: u64 = 128;

/// A search tree of one root position: only data, without clock, threads or random numbers.
///
/// **Invariant.** When no visit is in flight, an expanded node's visits are those that ended in it (one, its own
/// evaluation, unless its moves were dropped in between) plus those of its moves.
///
/// **Transpositions** share a node, unless the game ends there, if their [`Game::key`] is the same: position,
/// fifty-move counter, and the positions that can still be repeated. So a node's subtree depends on the node alone,
/// repetitions included, and there are no cycles: reversible moves increase the counter. The first visit that reaches
/// a node by a new path backs up the node's mean; later visits continue below it.
pub struct Tree {
    // Set at the start of a search.
    pub(super) params: Params,
    /// NeuralMatePlay's terms, if the parameters turn them on.
    pub(super) neuralmateplay: Option<NeuralMatePlayTerms>,
    pub(super) game: Game,
    pub(super) moves: Vec<Move>,
    pub(super) restricted: bool,
    /// Visits until the end of the search, if known.
    pub(super) horizon: Option<u64>,
    /// The index of the root move that visits take, if it is not chosen by PUCT.
    pub(super) forced: Option<usize>,
    // Grows.
    pub(super) nodes: NodeStore,
    pub(super) root: NodeId,
    /// A node at most two plies above the root: if the opponent does not play the move that was pondered, the tree below
    /// it is reused.
    pub(super) base: NodeId,
    pub(super) base_game: Game,
    /// Whether the root has changed since memory was last recycled: there may be unreachable nodes.
    pub(super) moved: bool,
    // Counts.
    pub(super) counters: SearchCounters,
    /// The first visits of a reused tree follow its principal variation and do not count for the depth.
    pub(super) depth_counts_from: u64,
    pub(super) in_flight: u64,
}

impl Tree {
    /// A tree of the unevaluated root of `game`.
    ///
    /// `root_moves` restricts the root's moves (empty for all). `memory` in bytes bounds the tree; it is reserved, but
    /// not touched before it is needed.
    pub fn new(game: Game, root_moves: &[Move], params: Params, memory: usize) -> Tree {
        let mut nodes = NodeStore::new(memory);
        let root = nodes.add();
        let mut tree = Tree {
            neuralmateplay: NeuralMatePlayTerms::of(&params),
            params,
            moves: Vec::new(),
            restricted: false,
            horizon: None,
            forced: None,
            nodes,
            root,
            base: root,
            base_game: game.clone(),
            moved: false,
            game,
            counters: SearchCounters::default(),
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

    /// Prepares a new search. Reuses the tree if it contains `game` and `params.reuse` allows it, else begins with an
    /// unevaluated root. Returns whether the tree was reused.
    ///
    /// No visit may be in flight. Nodes that are not below the new root stay until their memory is needed.
    pub fn start(&mut self, game: &Game, root_moves: &[Move], params: Params) -> bool {
        let kept = params.reuse
            && params.policy_temperature == self.params.policy_temperature
            && params.transpositions == self.params.transpositions
            && params.solver == self.params.solver
            && params.twofold_draws == self.params.twofold_draws
            && root_moves.is_empty()
            && !self.restricted
            && self.advance(game);
        self.neuralmateplay = NeuralMatePlayTerms::of(&params);
        self.params = params;
        if !kept {
            self.nodes.clear();
            self.root = self.nodes.add();
            (self.base, self.base_game, self.game) = (self.root, game.clone(), game.clone());
        }
        self.restrict(root_moves);
        self.counters = SearchCounters::default();
        self.depth_counts_from = if kept { KEPT_VISITS_UNCOUNTED } else { 0 };
        (self.horizon, self.forced) = (None, None);
        kept
    }

    /// Makes the node of `game` the root, if it is below the base and expanded.
    fn advance(&mut self, game: &Game) -> bool {
        // Above the old root, more positions are repetitions than those marked below it.
        if game.ply() < self.game.ply() {
            return false;
        }
        let Some(line) = self.base_game.continuation(game) else { return false };
        let mut path = vec![(self.base, self.base_game.clone())];
        for m in line {
            let (id, game) = path.last().expect("begins with the base");
            let mut taken = self.nodes.links_of(*id).iter().zip(self.nodes.moves_of(*id));
            let Some((link, _)) = taken.find(|(_, candidate)| candidate.packed == PackedMove::new(m)) else {
                return false;
            };
            let mut next = game.clone();
            next.play(m);
            path.push((link.child(), next));
        }
        let (root, game) = path.last().cloned().expect("begins with the base");
        if !self.nodes.node(root).is_expanded() {
            return false;
        }
        self.moved |= root != self.root;
        (self.root, self.game) = (root, game);
        let above = path.len().saturating_sub(3);
        (self.base, self.base_game) = path.swap_remove(above);
        true
    }

    /// The root position.
    pub fn root_game(&self) -> &Game {
        &self.game
    }

    /// The moves searched at the root.
    pub fn root_moves(&self) -> &[Move] {
        &self.moves
    }

    /// Applied visits of this search.
    pub fn playouts(&self) -> u64 {
        self.counters.playouts
    }

    /// The counters of this search.
    pub fn counters(&self) -> SearchCounters {
        self.counters
    }

    /// Visits that are neither applied nor cancelled.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// The greatest mean path length of this search, in plies, rounded down.
    pub fn depth(&self) -> u32 {
        self.counters.depth
    }

    /// The longest path of this search, in plies.
    pub fn longest_path(&self) -> u32 {
        self.counters.longest_path
    }

    /// The used share of the memory, in thousandths.
    pub fn fullness(&self) -> u32 {
        self.nodes.fullness()
    }

    /// Sets how many more visits this search will make at most; `None` if unknown.
    pub fn set_horizon(&mut self, visits: Option<u64>) {
        self.horizon = visits;
    }

    /// Makes visits take this root move, an index into [`Tree::children`], until the next call. Moves must be taken for
    /// the first time in their order.
    pub(super) fn force(&mut self, edge: Option<usize>) {
        self.forced = edge;
    }

    /// Visits of the most and the second most visited root move, without those that are proven to lose.
    pub fn lead(&self) -> (u64, u64) {
        let links = self.nodes.links_of(self.root).iter();
        let open = links.filter(|link| !matches!(self.node(link.child()).proof, Some(Proof::Win(_))));
        let visits = open.map(|link| u64::from(link.visits));
        visits.fold(
            (0, 0),
            |(first, second), visits| {
                if visits > first { (visits, first) } else { (first, second.max(visits)) }
            },
        )
    }

    /// Whether the root and all its moves are proven, or it is mate in one.
    pub fn is_settled(&self) -> bool {
        let links = self.nodes.links_of(self.root);
        let all_taken = links.len() == self.nodes.moves_of(self.root).len();
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

    /// The root's moves with the statistics of the positions after them, in order of falling prior (except for noise on
    /// moves already taken); empty before the root's evaluation.
    pub fn children(&self) -> Vec<(Move, NodeView)> {
        let unvisited = Node::default();
        let links = self.nodes.links_of(self.root);
        let moves = self.nodes.moves_of(self.root).iter().enumerate();
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
        self.nodes.node(id)
    }

    /// Checks the invariant of [`Tree`] and that no visit is in flight; for tests.
    ///
    /// # Errors
    ///
    /// Describes the first violation.
    pub fn check_at_rest(&self) -> Result<(), String> {
        if self.in_flight != 0 {
            return Err(format!("{} visits in flight", self.in_flight));
        }
        for id in self.nodes.ids() {
            let node = self.node(id);
            if node.in_flight != 0 {
                return Err(format!("{id:?} has {} visits in flight", node.in_flight));
            }
            let below: u32 = self.nodes.links_of(id).iter().map(|link| link.visits).sum();
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
        in_flight: node.in_flight,
        q: node.q(),
        wdl: node.wdl_for_parent(),
        proof: node.proof,
        prior,
        value: (node.visits > 0).then_some(node.value),
    }
}
