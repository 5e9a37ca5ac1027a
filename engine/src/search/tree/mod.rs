//! The search tree, a directed acyclic graph with transpositions.

pub(in crate::search) mod proof;
pub(in crate::search) mod arena;
pub(in crate::search) mod node;
pub(in crate::search) mod node_store;
pub(in crate::search) mod counters;
pub(in crate::search) mod neuralmateplay;
pub(in crate::search) mod recycle;
pub(in crate::search) mod mate_lines;
pub(in crate::search) mod root;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shakmaty::Move;

use crate::chess::position::Game;
use crate::chess::tables::RankedResult;
use crate::nets::eval::Wdl;
use crate::search::params::{ExplorationTable, Params};
use crate::search::tree::counters::{Counters, SearchCounters};
use crate::search::tree::mate_lines::MateLines;
use crate::search::tree::neuralmateplay::NeuralMatePlayTerms;
use crate::search::tree::node::{Candidate, Fate, Known, Node, NodeId};
use crate::search::tree::node_store::NodeStore;
use crate::search::tree::proof::Proof;
use crate::search::tree::recycle::Recycler;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeView {
    /// Visits along this move.
    pub visits: u32,
    pub in_flight: u32,
    /// Mean result, −1..1, for the side that moved into the node.
    pub q: f32,
    pub wdl: Wdl,
    /// For the side to move in the node.
    pub proof: Option<Proof>,
    /// Prior of the move into the node; 1 for the root.
    pub prior: f32,
    /// The evaluator's value, −1..1, for the side that moved into the node; `None` before the evaluation.
    pub value: Option<f32>,
}

/// Visits after tree reuse until the mean path length means anything.
const KEPT_VISITS_UNCOUNTED: u64 = 128;

/// The search tree of one root position: data only, without clock, threads or randomness. Methods on `&mut self`
/// require that no visit is in flight.
///
/// **Invariant.** At rest, an expanded node's visits are those that ended in it (one, the evaluation; more if its moves
/// were dropped meanwhile) plus those of its moves.
///
/// **Transpositions** share a node if their [`Game::key`] is equal, which covers the fifty-move counter and the
/// positions that can still be repeated. So a subtree depends on its node alone, and there are no cycles, because
/// reversible moves increase the counter. The first visit along a new path to a node backs up its mean; later visits
/// descend below.
pub struct Tree {
    pub(in crate::search) params: Params,
    pub(in crate::search) neuralmateplay: Option<NeuralMatePlayTerms>,
    pub(in crate::search) game: Game,
    pub(in crate::search) moves: Vec<Move>,
    /// Whether the root lacks some legal moves.
    pub(in crate::search) restricted: bool,
    mate_lines: Mutex<MateLines>,
    /// [`Limits::known`](crate::search::Limits::known).
    pub(in crate::search) known: Vec<RankedResult>,
    /// The node whose priors have the root's policy temperature.
    tempered: NodeId,
    pub(in crate::search) shared: bool,
    /// Index of the only root move to visit.
    pub(in crate::search) forced: Option<usize>,
    /// Root moves with fewer visits can no longer become the most visited.
    pub(in crate::search) hopeless_below: AtomicU32,
    pub(in crate::search) exploration: Arc<ExplorationTable>,
    pub(in crate::search) nodes: NodeStore,
    pub(in crate::search) root: NodeId,
    /// An ancestor at most two plies above the root. Its tree is kept for reuse after a ponder miss.
    pub(in crate::search) base: NodeId,
    pub(in crate::search) base_game: Game,
    pub(in crate::search) recycler: Recycler,
    pub(in crate::search) counters: Counters,
}

impl Tree {
    /// Takes at most `memory` bytes, mostly untouched until needed. An empty `root_moves` allows all moves.
    pub fn new(game: Game, root_moves: &[Move], params: Params, memory: usize) -> Tree {
        Tree::in_store(NodeStore::new(memory), game, root_moves, params)
    }

    fn in_store(nodes: NodeStore, game: Game, root_moves: &[Move], params: Params) -> Tree {
        let root = nodes.add(0).expect("an empty store has room for a node");
        let mut tree = Tree {
            neuralmateplay: NeuralMatePlayTerms::of(&params),
            params,
            moves: Vec::new(),
            restricted: false,
            tempered: root,
            mate_lines: Mutex::default(),
            known: Vec::new(),
            shared: false,
            forced: None,
            hopeless_below: AtomicU32::new(0),
            exploration: Arc::default(),
            nodes,
            root,
            base: root,
            base_game: game.clone(),
            game,
            recycler: Recycler::default(),
            counters: Counters::new(1, 0),
        };
        tree.hold_root();
        tree.restrict(root_moves);
        tree.restricted = tree.is_restricted();
        tree
    }

    pub fn empty(memory: usize) -> Tree {
        Tree::new(Game::new(), &[], Params::default(), memory)
    }

    /// Also frees the memory beyond an empty tree's.
    pub(in crate::search) fn emptied(mut self) -> Tree {
        self.nodes.shrink();
        Tree::in_store(self.nodes, Game::new(), &[], Params::default())
    }

    fn restrict(&mut self, root_moves: &[Move]) {
        let legal = self.game.legal_moves();
        let wanted = |m: &Move| root_moves.is_empty() || root_moves.contains(m);
        self.moves = legal.into_iter().filter(wanted).collect();
    }

    fn is_restricted(&self) -> bool {
        self.moves.len() < self.game.legal_moves().len()
    }

    /// Reuses the tree if it contains `game` and `params` allow it, and returns whether it did. Otherwise begins with
    /// an unevaluated root. Nodes not below the new root are freed only when memory is needed.
    pub fn start(&mut self, game: &Game, root_moves: &[Move], params: Params, workers: usize) -> bool {
        let last_ply = self.game.ply();
        let kept = params.reuse
            && params.policy_temperature == self.params.policy_temperature
            && params.root_policy_temperature == self.params.root_policy_temperature
            && params.reply_policy_temperature == self.params.reply_policy_temperature
            && params.transpositions == self.params.transpositions
            && params.solver == self.params.solver
            && params.twofold_draws == self.params.twofold_draws
            && params.progress == self.params.progress
            && self.advance(game);
        self.neuralmateplay = NeuralMatePlayTerms::of(&params);
        self.params = params;
        self.exploration = ExplorationTable::shared(&self.params.puct);
        if !kept {
            self.nodes.clear();
            self.recycler = Recycler::default();
            self.root = self.nodes.add(0).expect("an empty store has room for a node");
            (self.base, self.base_game, self.game) = (self.root, game.clone(), game.clone());
            self.hold_root();
        }
        if kept && self.tempered != self.root {
            self.temper(game.ply() - last_ply);
        }
        self.tempered = self.root;
        self.restrict(root_moves);
        if kept && self.is_restricted() && !self.detach_root() {
            return self.start(game, root_moves, Params { reuse: false, ..self.params.clone() }, workers);
        }
        self.restricted = !kept && self.is_restricted();
        self.shared = workers > 1;
        self.nodes.set_workers(workers);
        self.counters = Counters::new(workers, if kept { KEPT_VISITS_UNCOUNTED } else { 0 });
        self.forced = None;
        self.mate_lines().clear();
        self.known.clear();
        self.set_horizon(None);
        kept
    }

    pub(in crate::search) fn mate_lines(&self) -> MutexGuard<'_, MateLines> {
        self.mate_lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn root_game(&self) -> &Game {
        &self.game
    }

    pub fn root_moves(&self) -> &[Move] {
        &self.moves
    }

    pub fn playouts(&self) -> u64 {
        self.counters.playouts()
    }

    pub fn counters(&self) -> SearchCounters {
        self.counters.sum()
    }

    pub fn depth(&self) -> u32 {
        self.counters.depth()
    }

    /// In permille.
    pub fn fullness(&self) -> u32 {
        self.nodes.fullness()
    }

    /// `visits` bounds the visits to come. Root moves that cannot become the most visited within them get none.
    pub fn set_horizon(&self, visits: Option<u64>) {
        let hopeless_below = visits.map_or(0, |visits| self.lead().0.saturating_sub(visits));
        // Stored only on change: every descent reads this cache line.
        if self.hopeless_below.load(Ordering::Relaxed) != hopeless_below as u32 {
            self.hopeless_below.store(hopeless_below as u32, Ordering::Relaxed);
        }
    }

    /// Makes all visits take this root move, an index into [`Tree::children`]. Moves must get their edges in order.
    pub(in crate::search) fn force(&mut self, index: Option<usize>) {
        self.forced = index;
    }

    /// Visits of the two most visited root moves, proven losses excluded.
    pub fn lead(&self) -> (u64, u64) {
        let open = self.nodes.edges_of(self.root).filter(|edge| edge.known() != Known::Lost);
        let visits = open.map(|edge| u64::from(edge.visits()));
        visits.fold(
            (0, 0),
            |(first, second), visits| {
                if visits > first { (visits, first) } else { (first, second.max(visits)) }
            },
        )
    }

    pub(in crate::search) fn root_proof(&self) -> Option<Proof> {
        self.node(self.root).proof()
    }

    pub fn is_proven(&self) -> bool {
        self.root_proof().is_some()
    }

    /// Whether the root and all its moves are proven, or the root is mate in one.
    pub fn is_settled(&self) -> bool {
        let all_visited = self.nodes.edges_of(self.root).len() == self.nodes.moves_of(self.root).len();
        let all_proven = || self.nodes.edges_of(self.root).all(|edge| edge.known() != Known::Nothing);
        match self.node(self.root).proof() {
            None => false,
            Some(proof) => proof == Proof::Win(1) || (all_visited && all_proven()),
        }
    }

    pub fn root(&self) -> NodeView {
        let node = self.node(self.root);
        view(node, node.visits(), node.in_flight(), 1.0)
    }

    /// Root moves by falling prior (noise does not reorder moves with edges); empty before the root's evaluation.
    pub fn children(&self) -> Vec<(Move, NodeView)> {
        self.children_of(self.root, &self.game)
    }

    pub(in crate::search) fn root_views(&self, views: &mut Vec<NodeView>) {
        views.clear();
        views.extend(self.candidates_of(self.root).map(|(_, view)| view));
    }

    pub(in crate::search) fn children_of(&self, id: NodeId, game: &Game) -> Vec<(Move, NodeView)> {
        let legal = |candidate: &Candidate| candidate.packed().to_legal_move(game.position());
        self.candidates_of(id).map(|(candidate, view)| (legal(candidate), view)).collect()
    }

    fn candidates_of(&self, id: NodeId) -> impl Iterator<Item = (&Candidate, NodeView)> {
        let unvisited = Node::default();
        let mut edges = self.nodes.edges_of(id);
        self.nodes.moves_of(id).map(move |candidate| {
            let view = match edges.next() {
                Some(edge) => {
                    view(self.node(edge.child()), edge.visits(), edge.in_flight(), candidate.prior())
                }
                None => view(&unvisited, 0, 0, candidate.prior()),
            };
            (candidate, view)
        })
    }

    #[inline]
    pub(in crate::search) fn node(&self, id: NodeId) -> &Node {
        self.nodes.node(id)
    }

    /// For tests: checks the invariant of [`Tree`] and that no visit is in flight.
    pub fn check_at_rest(&self) -> Result<(), String> {
        let mut open = vec![self.root, self.base];
        let mut seen = std::collections::HashSet::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id.0) {
                continue;
            }
            let node = self.node(id);
            if node.in_flight() != 0 {
                return Err(format!("{id:?} has {} visits in flight", node.in_flight()));
            }
            if node.references.load(Ordering::Relaxed) == 0 {
                return Err(format!("{id:?} is reachable and has no references"));
            }
            if self.nodes.edges_of(id).len() > node.moves() {
                return Err(format!("{id:?} has more edges than moves"));
            }
            let mut below = 0;
            for edge in self.nodes.edges_of(id) {
                below += edge.visits();
                if edge.in_flight() != 0 {
                    return Err(format!("{id:?} has a move with {} visits in flight", edge.in_flight()));
                }
                open.push(edge.child());
            }
            if node.is_expanded() && node.visits() != node.own() + below {
                return Err(format!(
                    "{id:?} has {} visits: {} own, {below} below",
                    node.visits(),
                    node.own()
                ));
            }
            if matches!(node.fate(), Fate::Threefold | Fate::Twofold(_)) && node.is_expanded() {
                return Err(format!("{id:?} is a repetition and has moves"));
            }
        }
        Ok(())
    }
}

fn view(node: &Node, visits: u32, in_flight: u32, prior: f32) -> NodeView {
    NodeView {
        visits,
        in_flight,
        q: node.q(),
        wdl: node.wdl_for_parent(),
        proof: node.proof(),
        prior,
        value: node.value(),
    }
}
