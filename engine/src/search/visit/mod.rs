//! A visit: down to a leaf, and its value back up.
//!
//! [`Tree::descend`] plays the selected moves until a node without moves, or one whose value is known. The visit may be
//! counted as in flight, so that others avoid its path (virtual loss): from the move on, if each worker visits one leaf
//! at a time, or only while the leaf waits for its evaluation in a batch. [`Tree::apply`] and [`Tree::finish`] end a visit
//! with a value, [`Tree::cancel`] without.
//!
//! Visits come in series, or one by one. In a series ([`Tree::begin_series`]) a node is visited several times in a row
//! before the node above it is given the results and chooses again: once, and once more for each [`SERIES_SHARE`] visits
//! that it has by the move of the path, but not more often than [`Params::series`](crate::search::Params::series) or the series of
//! the node above allows. Which of the moves above is best would hardly have changed meanwhile.

pub(in crate::search) mod expansion;
pub(in crate::search) mod select;

use std::cmp::Reverse;

use shakmaty::Move;

use crate::chess::position::{Game, GameMark, PackedMove};
use crate::chess::tables::TableResult;
use crate::nets::eval::Wdl;
use crate::search::params::Params;
use crate::search::tree::Tree;
use crate::search::tree::counters::VisitKind;
use crate::search::tree::node::{Candidate, Fate, MovePrior, Node, NodeId, Results, SumError};
use crate::search::tree::proof::Proof;
use crate::search::visit::expansion::{Expansion, Leaf};

/// The nodes and moves of a visit. The memory is used again and again.
#[derive(Clone, Debug)]
pub struct Path {
    steps: Vec<Step>,
    leaf: NodeId,
    /// The leaf's visits when it was reached.
    leaf_visits: u32,
    /// The worker whose visit it is.
    worker: usize,
    /// Its factor on exploration.
    exploration: f32,
    /// Earlier visits to the leaf by the path's last move, which counted as a repetition that is none any more.
    taken_back: u32,
    /// Whether visits come in series.
    in_series: bool,
    /// The series of the root and of the node after each step.
    series: Vec<Series>,
    /// Where the game stood at each of these nodes, if it has to go back there.
    marks: Vec<GameMark>,
    /// Where the visit is counted as in flight.
    counted: Counted,
}

/// Visits of a node in a row.
#[derive(Clone, Copy, Debug)]
struct Series {
    /// How many more there may be. A visit that is under way is one of them until its result is handed up to the node.
    left: u32,
    /// How many of them are in flight on the move to the node, if that is counted.
    in_flight: u32,
    /// Whether the game has been marked where it is at the node.
    is_marked: bool,
    /// The results that the node above has not got yet.
    results: Results,
}

impl Series {
    fn of(visits: u32) -> Series {
        Series { left: visits, in_flight: 0, is_marked: false, results: Results::default() }
    }
}

/// Where a visit is counted as in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    Nowhere,
    /// On each move as it is taken.
    OnMoves,
    /// On each move, and on the leaf.
    OnMovesAndLeaf,
    /// On all moves and nodes.
    Everywhere,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    node: NodeId,
    link: u32,
    /// The move's prior in units of 1/65535.
    prior: u16,
}

impl Path {
    /// A path for the visits of a worker of this number.
    pub fn new(worker: usize) -> Path {
        Path {
            steps: Vec::with_capacity(64),
            leaf: NodeId(0),
            leaf_visits: 0,
            worker,
            exploration: 1.0,
            taken_back: 0,
            in_series: false,
            series: Vec::with_capacity(64),
            marks: Vec::new(),
            counted: Counted::Nowhere,
        }
    }

    /// Notes where the game is at the path's last node, if a series may go back there.
    #[inline]
    fn mark(&mut self, game: &Game) {
        let plies = self.plies();
        let series = &mut self.series[plies];
        if series.left < 2 || series.is_marked {
            return;
        }
        series.is_marked = true;
        if plies >= self.marks.len() {
            self.marks.resize(plies + 1, game.mark());
        } else {
            self.marks[plies] = game.mark();
        }
    }

    /// Plies from the root to the leaf.
    pub fn plies(&self) -> usize {
        self.steps.len()
    }

    /// The nodes above the leaf with their links.
    #[cfg(test)]
    pub fn links(&self) -> Vec<(NodeId, u32)> {
        self.steps.iter().map(|step| (step.node, step.link)).collect()
    }
}

/// A series has one visit more for each so many visits of its node.
pub(in crate::search) const SERIES_SHARE: u32 = 16;

/// Where a descent ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reached {
    /// At a leaf to evaluate.
    Leaf,
    /// At an evaluated node that needs its moves: [`Tree::expand`], then descend further.
    Unexpanded,
    /// At a node whose value, for the side to move, is known without an evaluation.
    Known {
        /// The value.
        wdl: Wdl,
        /// Whether it is the mean of a node that was first reached by another path.
        transposition: bool,
    },
    /// At a leaf that another visit is evaluating or expanding.
    Collision,
    /// At a node for whose child there is no memory.
    Full,
}

/// Whether evaluated nodes get their moves with their values, or by a second question when they are visited again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expanding {
    /// A leaf's evaluation has moves and value.
    AtOnce,
    /// First the value, at the second visit the moves.
    AtSecondVisit,
}

impl Tree {
    /// Begins a visit at the root, where `game` has to be; `counted`: its moves count as in flight as they are taken.
    pub fn begin(&self, path: &mut Path, counted: bool) {
        path.steps.clear();
        path.leaf = self.root;
        path.exploration = self.params.puct.of_worker(path.worker);
        path.taken_back = 0;
        path.in_series = false;
        path.series.clear();
        path.series.push(Series::of(1));
        path.counted = if counted { Counted::OnMoves } else { Counted::Nowhere };
    }

    /// Begins a series of at most `most` visits at the root, where `game` has to be. Visits end as others do;
    /// [`Tree::next_in_series`] begins the next one, [`Tree::end_series`] ends the series before its last.
    pub fn begin_series(&self, path: &mut Path, counted: bool, most: u64) {
        self.begin(path, counted);
        path.in_series = true;
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        path.series[0].left = self.series_length(self.node(self.root).visits(), most);
    }

    /// How often a node with so many visits may be visited in a row, at most `most` times.
    #[inline]
    fn series_length(&self, visits: u32, most: u32) -> u32 {
        (1 + visits / SERIES_SHARE).min(self.params.series.clamp(1, Params::MOST_SERIES)).min(most)
    }

    /// After a visit of a series: hands its result up to the first node of the path that may be visited once more, where
    /// `game` goes back to, to descend from there. Returns whether there is one, and how many plies it is from the root.
    pub fn next_in_series(&self, path: &mut Path, game: &mut Game) -> Option<usize> {
        while self.leave(path) {
            let series = path.series[path.plies()];
            // What is proven has nothing more to find.
            if series.left > 0 && (path.plies() == 0 || self.known_value(path.leaf).is_none()) {
                debug_assert!(series.is_marked);
                game.rewind_to_mark(&path.marks[path.plies()]);
                path.taken_back = 0;
                if path.counted != Counted::Nowhere {
                    path.counted = Counted::OnMoves;
                }
                return Some(path.plies());
            }
        }
        None
    }

    /// Ends a series, or gives up the visit that is under way: all nodes of the path get what was found, and nothing is in
    /// flight any more.
    pub fn end_series(&self, path: &mut Path) {
        while self.leave(path) {}
    }

    /// Ends the series of the path's last node and goes back to the node above; returns whether there is one.
    #[inline]
    fn leave(&self, path: &mut Path) -> bool {
        self.hand_up(path, path.plies());
        let Some(step) = path.steps.pop() else { return false };
        let in_flight = path.series.pop().map_or(0, |series| series.in_flight);
        if in_flight > 0 {
            self.nodes.link(step.link).end_visits(in_flight);
        }
        path.leaf = step.node;
        true
    }

    /// Gives the node before so many plies what the series of the node after them has found; these visits are no longer in
    /// flight.
    #[inline]
    fn hand_up(&self, path: &mut Path, plies: usize) {
        let mut results = std::mem::take(&mut path.series[plies].results);
        if results.visits == 0 || plies == 0 {
            return;
        }
        let child = self.node(path.steps.get(plies).map_or(path.leaf, |step| step.node));
        let step = path.steps[plies - 1];
        if let (true, Some(proof)) = (self.shared, child.proof()) {
            // Another worker may have proven it meanwhile.
            results = Results::of(results.visits, proof.wdl().q(), proof.wdl().draw);
        }
        let in_flight = &mut path.series[plies].in_flight;
        let landed = results.visits.min(*in_flight);
        *in_flight -= landed;
        let node = self.add_to_step(&step, child, results.visits, landed);
        node.add_results(&results, self.shared);
        let above = &mut path.series[plies - 1];
        above.left -= results.visits;
        above.results.add(&results.for_parent());
    }

    /// Gives all nodes of the path what the visits so far have found; these are no longer in flight.
    fn catch_up(&self, path: &mut Path) {
        (0..path.series.len()).rev().for_each(|plies| self.hand_up(path, plies));
    }

    /// A step of a path, which leads to `child`, has so many visits more and so many in flight less. Returns the node that
    /// it is a step of.
    #[inline]
    fn add_to_step(&self, step: &Step, child: &Node, visits: u32, landed: u32) -> &Node {
        let link = self.nodes.link(step.link);
        if link.add_visits(visits, landed, self.shared) == 0
            && let Some(head) = self.nodes.head_of(step.node)
        {
            head.add_visits(u32::from(step.prior), 0, self.shared);
        }
        link.refresh(child);
        self.node(step.node)
    }

    /// Follows selection from where the path ends, playing the moves in `game`.
    ///
    /// After [`Reached::Leaf`] the visit is [applied](Tree::apply), after a known value it is [finished](Tree::finish);
    /// otherwise it is [cancelled](Tree::cancel).
    pub fn descend(&self, path: &mut Path, game: &mut Game, expanding: Expanding) -> Reached {
        loop {
            if let Some(reached) = self.step(path, game, expanding) {
                return reached;
            }
        }
    }

    /// Follows selection by one ply; returns where the descent ended, if it did.
    #[inline]
    fn step(&self, path: &mut Path, game: &mut Game, expanding: Expanding) -> Option<Reached> {
        let node = self.node(path.leaf);
        if !node.is_expanded() {
            // Another worker may have found it while this one waited here.
            if let Some(wdl) = self.known_value(path.leaf).filter(|_| path.plies() > 0) {
                return Some(Reached::Known { wdl, transposition: false });
            }
            path.leaf_visits = node.visits();
            if path.leaf_visits == 0 || expanding == Expanding::AtOnce {
                return Some(Reached::Leaf);
            }
            return Some(if node.claim() { Reached::Unexpanded } else { Reached::Collision });
        }
        self.nodes.prefetch_moves(path.leaf);
        if path.in_series {
            path.mark(game);
        }
        let choice = self.select(path.leaf, path.exploration);
        let (packed, prior) = (choice.candidate.packed(), choice.candidate.get().steps());
        let parent = path.leaf;
        // The child is fetched while the move is played.
        let taken = choice.taken.map(|(id, link)| {
            let child = link.child();
            self.nodes.prefetch(child);
            Taken { link: id, child, transposition: false }
        });
        let m = packed.to_legal_move(game.position());
        let hash_after = game.hash_after(m);
        if taken.is_none()
            && self.params.transpositions
            && let Some(hash) = hash_after
        {
            self.nodes.prefetch_key(game.key_after(m, hash));
        }
        game.play_to(m, hash_after);
        let Some(taken) = taken.or_else(|| self.take(path, choice.edge, game)) else {
            return Some(Reached::Full);
        };
        let mut series = Series::of(1);
        if path.in_series {
            // A transposition may have many visits by other paths.
            let visits = self.nodes.link(taken.link).visits();
            series.left = self.series_length(visits, path.series[path.plies()].left);
        }
        if path.counted != Counted::Nowhere {
            series.in_flight = series.left;
            self.nodes.link(taken.link).begin_visits(series.in_flight);
        }
        path.steps.push(Step { node: parent, link: taken.link, prior: prior as u16 });
        path.series.push(series);
        path.leaf = taken.child;
        if taken.transposition && self.node(taken.child).visits() > 0 {
            let wdl = self.node(taken.child).wdl_for_parent().flipped();
            return Some(Reached::Known { wdl, transposition: true });
        }
        if self.is_taken_back(path.leaf, path.steps.len()) {
            path.taken_back = self.nodes.link(taken.link).visits();
            self.node(path.leaf).forget_visits();
        }
        self.known_value(path.leaf).map(|wdl| Reached::Known { wdl, transposition: false })
    }

    /// Takes a move for the first time; `game` is after it. `None` if the memory is full.
    fn take(&self, path: &Path, edge: usize, game: &Game) -> Option<Taken> {
        let parent = path.leaf;
        let key = if self.params.transpositions { game.key() } else { 0 };
        // A worker alone needs no lock.
        let links = if self.shared { self.node(parent).lock() } else { self.node(parent).links() };
        if links > edge {
            // Another worker was faster.
            self.node(parent).unlock(links);
            let link = self.nodes.link_id(parent, edge);
            return Some(Taken { link, child: self.nodes.link(link).child(), transposition: false });
        }
        debug_assert_eq!(links, edge, "moves are taken in order");
        let taken = self.take_locked(path, edge, key);
        self.node(parent).unlock(links + usize::from(taken.is_some()));
        taken
    }

    fn take_locked(&self, path: &Path, edge: usize, key: u64) -> Option<Taken> {
        let parent = path.leaf;
        // A node of the path is possible only if two positions have the same key: avoid the cycle.
        let usable = |id: &NodeId| *id != parent && path.steps.iter().all(|step| step.node != *id);
        if key != 0
            && let Some(child) = self.nodes.find(key).filter(usable)
        {
            let link = self.nodes.add_link(path.worker, parent, edge, child)?;
            self.hold(child);
            return Some(Taken { link, child, transposition: true });
        }
        let child = self.nodes.add(path.worker)?;
        let Some(link) = self.nodes.add_link(path.worker, parent, edge, child) else {
            self.nodes.free_node(child);
            return None;
        };
        if key != 0
            && let Some(other) = self.nodes.register(child, key).filter(usable)
        {
            self.nodes.free_node(child);
            self.nodes.link(link).reset(other.0);
            self.hold(other);
            return Some(Taken { link, child: other, transposition: true });
        }
        Some(Taken { link, child, transposition: false })
    }

    /// Whether `id`, `plies` from the root, was a repetition in an earlier search and is none in this one: its first
    /// occurrence was before the current root.
    #[inline]
    fn is_taken_back(&self, id: NodeId, plies: usize) -> bool {
        matches!(self.node(id).fate(), Fate::Twofold(ago) if usize::from(ago) > plies)
    }

    /// The value for the side to move at `id`, if it is known without an evaluation.
    #[inline]
    fn known_value(&self, id: NodeId) -> Option<Wdl> {
        match self.node(id).fate() {
            Fate::Open => None,
            Fate::Proven(proof) => Some(proof.wdl()),
            Fate::Threefold | Fate::Twofold(_) => Some(Wdl::DRAW),
        }
    }

    /// Counts a visit to a leaf as in flight; returns whether the leaf is this visit's to evaluate. If not, another
    /// visit's evaluation is in flight, and this one is to be [cancelled](Tree::cancel).
    pub fn count(&self, path: &mut Path) -> bool {
        let leaf = self.node(path.leaf);
        // Another visit may even have ended there meanwhile.
        if !leaf.begin_visit() || leaf.visits() != path.leaf_visits || leaf.is_expanded() {
            leaf.end_visit();
            return false;
        }
        if path.counted == Counted::OnMoves {
            path.counted = Counted::OnMovesAndLeaf;
            return true;
        }
        for step in &path.steps {
            self.node(step.node).begin_visit();
            self.nodes.link(step.link).begin_visits(1);
        }
        path.counted = Counted::Everywhere;
        true
    }

    /// The visit is no longer in flight but on the moves of a series, which are left one after the other.
    fn uncount(&self, path: &Path) {
        if matches!(path.counted, Counted::OnMovesAndLeaf | Counted::Everywhere) {
            self.node(path.leaf).end_visit();
        }
        if path.counted == Counted::Everywhere {
            for step in &path.steps {
                self.nodes.link(step.link).end_visits(1);
                self.node(step.node).end_visit();
            }
        }
    }

    /// Gives the path's last node its moves. Returns whether there was memory for them; if not, the node can be claimed
    /// again.
    pub fn expand(&self, path: &Path, expansion: &Expansion) -> bool {
        self.nodes.set_moves(path.worker, path.leaf, expansion.moves())
    }

    /// Gives up the right to expand the path's last node.
    pub fn give_up_expansion(&self, path: &Path) {
        self.node(path.leaf).set_moves(0);
    }

    /// Ends a visit to a leaf with what was found there: every node of the path has one visit more. Proofs are backed up
    /// as far as they reach.
    pub fn apply(&self, path: &mut Path, leaf: Leaf<'_>) {
        let node = self.node(path.leaf);
        let (mut kind, mut proof) = (VisitKind::Known, None);
        let wdl = match leaf {
            Leaf::Terminal(known) => {
                proof = Some(known);
                known.wdl()
            }
            Leaf::Table(result) => {
                let known = match result {
                    TableResult::Win => Proof::table_win(0),
                    TableResult::Draw => Proof::Draw,
                    TableResult::Loss => Proof::table_loss(0),
                };
                (kind, proof) = (VisitKind::TableHit, Some(known));
                known.wdl()
            }
            Leaf::Repeated { ago } => {
                node.set_fate(ago.map_or(Fate::Threefold, Fate::Twofold));
                // Another path to the position may have another distance.
                self.nodes.unregister(path.leaf);
                Wdl::DRAW
            }
            Leaf::Expanded(wdl, expansion) => {
                kind = VisitKind::Evaluation;
                // Without memory it stays a leaf, which has its value.
                self.expand(path, expansion);
                wdl
            }
            Leaf::Valued(wdl) => {
                kind = VisitKind::Evaluation;
                wdl
            }
        };
        if let Some(proof) = proof {
            node.set_fate(Fate::Proven(proof));
        }
        // Whoever visits a leaf first has it for itself, until it has moves.
        let is_shared = self.shared && (node.visits() > 0 || node.is_expanded());
        node.add_own(-wdl.q(), wdl.draw, is_shared);
        self.back_up(path, wdl, kind);
        if path.taken_back > 0 {
            self.catch_up(path);
            self.replace_draws(path, wdl);
        }
        if proof.is_some() {
            self.catch_up(path);
            self.back_up_proof(path);
        }
        // Last, so that no other visit takes the leaf for one to evaluate.
        self.uncount(path);
    }

    /// Ends a visit that reached a known value.
    pub fn finish(&self, path: &mut Path, wdl: Wdl, transposition: bool) {
        let kind = if transposition { VisitKind::Transposition } else { VisitKind::Known };
        self.back_up(path, wdl, kind);
        if self.node(path.leaf).proof().is_some() {
            self.catch_up(path);
            self.back_up_proof(path);
        }
        self.uncount(path);
    }

    /// Cancels a visit: the statistics are as if it had never been; in a series once [that has ended](Tree::end_series).
    pub fn cancel(&self, path: &Path) {
        self.uncount(path);
    }

    /// Adds a value, for the side to move at the leaf, to all nodes above it; in a series when they are gone back to.
    fn back_up(&self, path: &mut Path, value: Wdl, kind: VisitKind) {
        path.series[path.steps.len()].results.add(&Results::of(1, value.q(), value.draw));
        if !path.in_series {
            self.catch_up(path);
        }
        self.counters.add(path.worker, kind, path.steps.len());
    }

    /// The most visited line from the root of what is not known, as far as its moves have so many visits, at most so many
    /// plies.
    pub(in crate::search) fn most_visited(&self, visits: u32, plies: usize) -> Vec<Move> {
        let (mut id, mut game, mut line) = (self.root, self.game.clone(), Vec::new());
        while line.len() < plies {
            let moves = self.nodes.links_of(id).zip(self.nodes.moves_of(id));
            let open = moves.filter(|(link, _)| self.node(link.child()).fate() == Fate::Open);
            let most = open.max_by_key(|(link, _)| link.visits());
            let Some((link, candidate)) = most.filter(|(link, _)| link.visits() >= visits) else { break };
            let m = candidate.packed().to_legal_move(game.position());
            game.play(m);
            line.push(m);
            id = link.child();
        }
        line
    }

    /// Records that the side to move after a line from the root mates in so many plies, which was found outside the tree,
    /// unless the line is not in the tree any more. No visit may be in flight.
    pub(in crate::search) fn prove_after(&mut self, line: &[Move], plies: u16) {
        let mut path = Path::new(0);
        self.begin(&mut path, false);
        for m in line {
            let packed = PackedMove::new(*m);
            let node = path.leaf;
            let mut moves = self.nodes.links_of(node).zip(self.nodes.moves_of(node)).enumerate();
            let Some((edge, (link, candidate))) = moves.find(|(_, (_, c))| c.packed() == packed) else {
                return;
            };
            let link_id = self.nodes.link_id(node, edge);
            path.steps.push(Step { node, link: link_id, prior: candidate.get().steps() as u16 });
            path.leaf = link.child();
        }
        let leaf = self.node(path.leaf);
        if leaf.fate() == Fate::Open {
            leaf.set_fate(Fate::Proven(Proof::Win(plies)));
            self.mend_sums(&path, path.plies(), -1.0, 0.0);
            self.back_up_proof(&path);
        }
    }

    /// What the positions after a node's moves prove of it.
    fn proof_by_moves(&self, id: NodeId) -> Option<Proof> {
        let never_taken = self.nodes.moves_of(id).len() > self.nodes.links_of(id).len();
        let proofs = self.nodes.links_of(id).map(|link| self.node(link.child()).proof());
        Proof::of_position(proofs.chain(never_taken.then_some(None)))
    }

    /// Whether a node is proven by something else than its moves, as by the search for mates.
    pub(in crate::search) fn is_proven_outside(&self, id: NodeId) -> bool {
        let by_moves = self.proof_by_moves(id).map(Proof::wdl);
        self.node(id).proof().is_some_and(|proof| by_moves != Some(proof.wdl()))
    }

    /// Backs up the proof of the leaf as far as it proves its ancestors.
    fn back_up_proof(&self, path: &Path) {
        if !self.params.solver {
            return;
        }
        let mut child = self.node(path.leaf);
        for (place, step) in path.steps.iter().enumerate().rev() {
            self.nodes.link(step.link).refresh(child);
            let proof = self.proof_by_moves(step.node);
            let node = self.node(step.node);
            if let Some(proof) = proof.filter(|proof| node.proof() != Some(*proof)) {
                let result_is_new = node.proof().is_none_or(|before| before.wdl() != proof.wdl());
                node.set_fate(Fate::Proven(proof));
                if result_is_new {
                    self.mend_sums(path, place, -proof.wdl().q(), proof.wdl().draw);
                }
                child = node;
            } else {
                break;
            }
        }
    }

    /// Gives the visits by the path's last move that counted as draws by repetition the value of the leaf.
    fn replace_draws(&self, path: &Path, wdl: Wdl) {
        let mut error = SumError::of_draws(path.taken_back, -wdl.q(), wdl.draw);
        let mut node = self.node(path.leaf);
        for (place, step) in path.steps.iter().enumerate().rev() {
            let (parent, link) = (self.node(step.node), self.nodes.link(step.link));
            link.refresh(node);
            let visits = if place + 1 == path.steps.len() { link.visits() } else { node.visits() };
            error = error.for_parent((f64::from(link.visits()) / f64::from(visits.max(1))).min(1.0));
            parent.mend(error, self.shared);
            node = parent;
        }
    }

    /// Makes the sums of the node after so many steps of a path so as if all its visits had had the result `q`, for the
    /// side that moved into it, and corrects what they have contributed to its ancestors along the path.
    ///
    /// Of a node with several parents a share of the visits came through each: this one's is corrected.
    fn mend_sums(&self, path: &Path, place: usize, q: f32, draw: f32) {
        let mut node = self.node(path.steps.get(place).map_or(path.leaf, |step| step.node));
        let mut error = node.error_against(q, draw);
        node.mend(error, self.shared);
        for step in path.steps[..place].iter().rev() {
            let (parent, link) = (self.node(step.node), self.nodes.link(step.link));
            link.refresh(node);
            let share = f64::from(link.visits()) / f64::from(node.visits().max(1));
            error = error.for_parent(share.min(1.0));
            parent.mend(error, self.shared);
            node = parent;
        }
    }
}

/// A move that a visit takes.
struct Taken {
    link: u32,
    child: NodeId,
    /// Whether the move was taken for the first time and leads to a node that was there.
    transposition: bool,
}

impl Tree {
    /// Sorts the root's moves, of which none may have been taken, by falling `keys`, one for each of
    /// [`Tree::children`]. From then on root moves must be chosen by [`Tree::force`].
    pub(in crate::search) fn order_root(&mut self, keys: &[f32]) {
        debug_assert_eq!(self.nodes.links_of(self.root).len(), 0, "none has been taken");
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by(|a, b| keys[*b].total_cmp(&keys[*a]));
        let moves: Vec<_> = self.nodes.moves_of(self.root).collect();
        let ordered: Vec<MovePrior> = order.into_iter().map(|edge| moves[edge].get()).collect();
        moves.iter().zip(ordered).for_each(|(place, value)| place.set(value));
    }

    /// Mixes noise into the priors of the expanded root: `(1 − epsilon) · prior + epsilon · share`, with one share for
    /// each of [`Tree::children`].
    pub(in crate::search) fn mix_into_root(&mut self, epsilon: f32, shares: &[f32]) {
        let mut shares = shares.iter();
        self.change_priors(self.root, |prior| {
            (1.0 - epsilon) * prior + epsilon * shares.next().copied().unwrap_or_default()
        });
    }

    /// Raises a node's priors to a power, normalised.
    pub(in crate::search) fn flatten(&mut self, id: NodeId, exponent: f32) {
        if exponent == 1.0 {
            return;
        }
        let flat = |prior: f32| libm::powf(prior, exponent);
        let total: f32 = self.nodes.moves_of(id).map(|candidate| flat(candidate.prior())).sum();
        self.change_priors(id, |prior| flat(prior) / total);
    }

    fn change_priors(&self, id: NodeId, mut change: impl FnMut(f32) -> f32) {
        for candidate in self.nodes.moves_of(id) {
            candidate.set(MovePrior::new(candidate.packed(), change(candidate.prior())));
        }
        // Untaken moves are in order of falling prior.
        let untaken = || self.nodes.moves_of(id).skip(self.nodes.links_of(id).len());
        let mut ordered: Vec<MovePrior> = untaken().map(Candidate::get).collect();
        ordered.sort_by_key(|value| Reverse(value.steps()));
        untaken().zip(ordered).for_each(|(place, value)| place.set(value));
        self.nodes.recount_priors(id);
    }
}
