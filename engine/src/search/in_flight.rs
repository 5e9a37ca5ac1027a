//! In-flight visits: gather, identify, apply, cancel. Each counts as a virtual loss until it is applied.

use shakmaty::{Move, Position};

use super::node_store::{Candidate, NodeId, Repetition};
use super::proof::Proof;
use super::tree::Tree;
use crate::eval::{Answer, Wdl};
use crate::position::{Game, Outcome, PackedMove};
use crate::tables::TableResult;

/// A visit in flight: the path to a leaf that waits for its evaluation. It must be applied or cancelled.
#[derive(Debug)]
pub struct InFlightVisit {
    /// The nodes above the leaf, root first, each with the move taken and its index.
    steps: Vec<Step>,
    leaf: NodeId,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    node: NodeId,
    edge: u16,
    packed: PackedMove,
}

impl InFlightVisit {
    /// Plies from the root to the leaf.
    pub fn plies(&self) -> usize {
        self.steps.len()
    }

    /// Plays the path's moves in `game`, which must be at the root.
    pub fn replay(&self, game: &mut Game) {
        for step in &self.steps {
            let m = step.packed.to_legal_move(game.position());
            game.play(m);
        }
    }
}

/// The result of [`Tree::gather`].
#[derive(Debug, Default)]
pub struct Gathered {
    /// In-flight visits, each at a leaf to evaluate.
    pub visits: Vec<InFlightVisit>,
    /// Visits that ended at a known value and are already applied.
    pub finished: usize,
    /// A path met a leaf in flight, or leaves in flight may need the memory left: more can be gathered once they are
    /// applied.
    pub collided: bool,
    /// The memory is full of what cannot be dropped: nothing more can be gathered.
    pub full: bool,
}

/// What is applied at a leaf.
#[derive(Debug)]
pub enum Leaf {
    /// The game is over.
    Terminal(Proof),
    /// The result by endgame tables.
    Table(TableResult),
    /// A draw by repetition.
    Repeated {
        /// Plies since the position first occurred; `None` at threefold repetition.
        ago: Option<u16>,
    },
    /// An evaluated position.
    Expanded(Expansion),
}

/// The moves and the value of an evaluated leaf.
#[derive(Debug)]
pub struct Expansion {
    moves: Vec<Candidate>,
    wdl: Wdl,
}

impl Expansion {
    /// `moves` with an evaluator's answer, its priors flattened by `temperature`.
    pub fn new(moves: &[Move], answer: &Answer, temperature: f32) -> Expansion {
        let exponent = 1.0 / temperature;
        let flat = |prior: f32| if exponent == 1.0 { prior } else { prior.powf(exponent) };
        let total: f32 = answer.priors.iter().map(|prior| flat(*prior)).sum();
        let share = |prior: f32| if total > 0.0 { flat(prior) / total } else { 1.0 / moves.len() as f32 };
        let mut weighted: Vec<(Move, f32)> =
            moves.iter().zip(&answer.priors).map(|(m, prior)| (*m, share(*prior))).collect();
        // Stable: equal priors stay in the order of move generation, which is the same on every machine.
        weighted.sort_by(|a, b| b.1.total_cmp(&a.1));
        let moves =
            weighted.into_iter().map(|(m, prior)| Candidate::new(PackedMove::new(m), prior)).collect();
        Expansion { moves, wdl: answer.wdl }
    }
}

/// The leaf if the game is over at `game`, which is `plies` from the root.
///
/// Besides the rules of chess, a position that has occurred since the root is a draw: a side that could avoid the
/// repetition the first time can do so the second time.
pub(super) fn finished(game: &Game, legal: &[Move], plies: usize) -> Option<Leaf> {
    if legal.is_empty() {
        let proof = if game.position().is_check() { Proof::Loss(0) } else { Proof::Draw };
        return Some(Leaf::Terminal(proof));
    }
    if game.position().halfmoves() >= 100 || game.position().is_insufficient_material() {
        return Some(Leaf::Terminal(Proof::Draw));
    }
    if game.repetitions() >= 2 {
        return Some(Leaf::Repeated { ago: None });
    }
    let ago = game.recurrence().filter(|ago| *ago <= plies);
    debug_assert!(!matches!(game.outcome(), Some(Outcome::Draw(_))), "{}", game.fen());
    ago.map(|ago| Leaf::Repeated { ago: Some(ago as u16) })
}

/// Where a descent ended.
enum Descent {
    /// At a leaf to evaluate.
    Leaf,
    /// At a node whose value is known, for the side to move.
    Known(Wdl),
}

impl Tree {
    /// Selects up to `count` leaves, and counts a visit in flight at every node of their paths.
    ///
    /// Increases `in_flight` by the visits returned and `playouts` by those that needed no evaluation. Ends early at a
    /// collision or when the memory is full; if it is full and nothing is in flight, the least visited half is dropped
    /// first.
    pub fn gather(&mut self, count: usize) -> Gathered {
        let mut gathered = Gathered::default();
        while gathered.visits.len() + gathered.finished < count {
            if self.is_full() {
                if self.in_flight > 0 {
                    gathered.collided = true;
                    break;
                }
                self.recycle();
                if self.is_full() {
                    gathered.full = true;
                    break;
                }
            }
            let (visit, descent) = self.descend();
            match descent {
                Descent::Known(wdl) => {
                    self.back_up(&visit.steps, wdl);
                    self.back_up_proof(&visit.steps);
                    gathered.finished += 1;
                }
                Descent::Leaf if self.node(visit.leaf).in_flight > 0 => {
                    gathered.collided = true;
                    break;
                }
                Descent::Leaf => {
                    self.count_in_flight(&visit, 1);
                    gathered.visits.push(visit);
                }
            }
        }
        gathered
    }

    fn is_full(&self) -> bool {
        self.nodes.is_full(self.in_flight as usize)
    }

    /// Follows selection from the root to a leaf, or to a node whose value is known.
    fn descend(&mut self) -> (InFlightVisit, Descent) {
        let mut visit = InFlightVisit { steps: Vec::with_capacity(16), leaf: self.root };
        while self.node(visit.leaf).is_expanded() {
            let node = visit.leaf;
            let edge = self.select(node);
            let packed = self.nodes.moves_of(node)[edge].packed;
            visit.leaf = self.nodes.child_or_new(node, edge);
            visit.steps.push(Step { node, edge: edge as u16, packed });
            if let Some(wdl) = self.known_value(visit.leaf, visit.steps.len()) {
                return (visit, Descent::Known(wdl));
            }
        }
        (visit, Descent::Leaf)
    }

    /// The value for the side to move at `id`, `plies` from the root, if it is known without an evaluation.
    fn known_value(&mut self, id: NodeId, plies: usize) -> Option<Wdl> {
        let node = self.node(id);
        if let Some(proof) = node.proof.filter(|_| node.visits > 0) {
            return Some(proof.wdl());
        }
        match node.repetition {
            // The first occurrence was before the current root: no repetition within this search.
            Some(Repetition::Twofold(ago)) if usize::from(ago) > plies => {
                let node = self.nodes.node_mut(id);
                node.repetition = None;
                (node.visits, node.own, node.wins, node.draws) = (0, 0, 0.0, 0.0);
                None
            }
            Some(_) => Some(Wdl::DRAW),
            None => None,
        }
    }

    fn count_in_flight(&mut self, visit: &InFlightVisit, sign: i32) {
        self.in_flight = self.in_flight.wrapping_add_signed(i64::from(sign));
        let nodes = visit.steps.iter().map(|step| step.node).chain([visit.leaf]);
        for id in nodes {
            let node = self.nodes.node_mut(id);
            node.in_flight = node.in_flight.wrapping_add_signed(sign);
        }
    }

    /// Registers a leaf under its [`Game::key`], unless the tree already contains the position. In that case the move
    /// leads to the known node from now on, its mean is backed up instead of an evaluation, and the visit is done
    /// (`None`).
    pub fn identify(&mut self, visit: InFlightVisit, key: u64) -> Option<InFlightVisit> {
        let last = match visit.steps.last() {
            Some(last) if self.params.transpositions => *last,
            _ => return Some(visit),
        };
        if self.node(visit.leaf).key.is_some() {
            return Some(visit);
        }
        let Some(known) = self.nodes.find(key) else {
            self.nodes.register(visit.leaf, key);
            return Some(visit);
        };
        // Possible only if two positions have the same key: avoid the cycle.
        if visit.steps.iter().any(|step| step.node == known) {
            return Some(visit);
        }
        self.count_in_flight(&visit, -1);
        self.nodes.redirect(last.node, usize::from(last.edge), known);
        self.nodes.remove(visit.leaf);
        let node = self.node(known);
        let (evaluated, mean, proven) =
            (node.visits > 0, node.wdl_for_parent().flipped(), node.proof.is_some());
        if evaluated {
            self.counters.transpositions += 1;
            self.back_up(&visit.steps, mean);
            if proven {
                self.back_up_proof(&visit.steps);
            }
        }
        None
    }

    /// Expands or ends a leaf, and backs its value up.
    ///
    /// Decreases `in_flight` by one and increases `playouts` by one; every node of the path has one visit more and one
    /// in flight less. Proofs are backed up as far as they reach.
    pub fn apply(&mut self, visit: InFlightVisit, leaf: Leaf) {
        self.count_in_flight(&visit, -1);
        let id = visit.leaf;
        debug_assert!(!self.node(id).is_expanded(), "a leaf is evaluated once");
        let node = self.nodes.node_mut(id);
        let wdl = match leaf {
            Leaf::Terminal(proof) => {
                node.proof = Some(proof);
                proof.wdl()
            }
            Leaf::Table(result) => {
                let proof = match result {
                    TableResult::Win => Proof::table_win(0),
                    TableResult::Draw => Proof::Draw,
                    TableResult::Loss => Proof::table_loss(0),
                };
                node.proof = Some(proof);
                self.counters.table_hits += 1;
                proof.wdl()
            }
            Leaf::Repeated { ago } => {
                node.repetition = Some(ago.map_or(Repetition::Threefold, Repetition::Twofold));
                Wdl::DRAW
            }
            Leaf::Expanded(expansion) => {
                self.nodes.expand(id, &expansion.moves);
                self.counters.evaluations += 1;
                expansion.wdl
            }
        };
        let node = self.nodes.node_mut(id);
        node.visits += 1;
        node.own += 1;
        node.wins -= f64::from(wdl.q());
        node.draws += f64::from(wdl.draw);
        node.value = -wdl.q();
        let proven = node.proof.is_some();
        self.back_up(&visit.steps, wdl);
        if proven {
            self.back_up_proof(&visit.steps);
        }
    }

    /// Cancels a visit: the statistics are as if it had never been gathered.
    pub fn cancel(&mut self, visit: InFlightVisit) {
        self.count_in_flight(&visit, -1);
    }

    /// Adds a value, for the side to move after the last step, to all nodes of the path.
    fn back_up(&mut self, steps: &[Step], value: Wdl) {
        let mut for_parent = f64::from(value.q());
        for step in steps.iter().rev() {
            self.nodes.link_mut(step.node, usize::from(step.edge)).visits += 1;
            let node = self.nodes.node_mut(step.node);
            node.visits += 1;
            node.wins += for_parent;
            node.draws += f64::from(value.draw);
            for_parent = -for_parent;
        }
        let counters = &mut self.counters;
        counters.playouts += 1;
        counters.path_plies += steps.len() as u64;
        if counters.playouts > self.depth_counts_from {
            counters.depth = counters.depth.max((counters.path_plies / counters.playouts) as u32);
        }
        counters.longest_path = counters.longest_path.max(steps.len() as u32);
    }

    /// Backs up the proof of the node after the last step as far as it proves its ancestors.
    fn back_up_proof(&mut self, steps: &[Step]) {
        if !self.params.solver {
            return;
        }
        for step in steps.iter().rev() {
            let links = self.nodes.links_of(step.node);
            let never_taken = self.nodes.moves_of(step.node).len() > links.len();
            let proofs = links.iter().map(|link| self.node(link.child()).proof);
            let proof = Proof::of_position(proofs.chain(never_taken.then_some(None)));
            if proof.is_none() || proof == self.node(step.node).proof {
                break;
            }
            self.nodes.node_mut(step.node).proof = proof;
        }
    }

    /// Sorts the root's moves, of which none may have been taken, by falling `keys`, one for each of
    /// [`Tree::children`]. From then on root moves must be chosen by [`Tree::force`].
    pub(super) fn order_root(&mut self, keys: &[f32]) {
        debug_assert!(self.nodes.links_of(self.root).is_empty(), "none has been taken");
        let moves = self.nodes.moves_of_mut(self.root);
        let mut order: Vec<usize> = (0..moves.len()).collect();
        order.sort_by(|a, b| keys[*b].total_cmp(&keys[*a]));
        let ordered: Vec<Candidate> = order.into_iter().map(|index| moves[index]).collect();
        moves.copy_from_slice(&ordered);
    }

    /// Mixes noise into the priors of the expanded root: `(1 − epsilon) · prior + epsilon · share`, with one share for
    /// each of [`Tree::children`].
    pub fn mix_into_root(&mut self, epsilon: f32, shares: &[f32]) {
        let taken = self.nodes.links_of(self.root).len();
        let moves = self.nodes.moves_of_mut(self.root);
        for (candidate, share) in moves.iter_mut().zip(shares) {
            let prior = (1.0 - epsilon) * candidate.prior() + epsilon * share;
            *candidate = Candidate::new(candidate.packed, prior);
        }
        // Untaken moves are in order of falling prior.
        let never_taken = taken.min(moves.len());
        moves[never_taken..].sort_by(|a, b| b.prior().total_cmp(&a.prior()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished_after(moves: &str, plies: usize) -> Option<Leaf> {
        let mut game = Game::new();
        for text in moves.split_whitespace() {
            let m = game.parse_uci(text).unwrap();
            game.play(m);
        }
        finished(&game, &game.legal_moves(), plies)
    }

    #[test]
    fn the_second_occurrence_since_the_root_is_a_draw() {
        let round = "g1f3 g8f6 f3g1 f6g8";
        let twofold = finished_after(round, 4);
        assert!(matches!(twofold, Some(Leaf::Repeated { ago: Some(4) })), "the root itself is repeated");
        assert!(finished_after(round, 3).is_none(), "its only occurrence was before the root");
        let third = finished_after(&format!("{round} {round}"), 1);
        assert!(matches!(third, Some(Leaf::Repeated { ago: None })), "threefold, wherever the others were");
    }

    #[test]
    fn mate_is_a_loss_for_the_side_to_move_and_is_checked_first() {
        let mate = finished_after("f2f3 e7e5 g2g4 d8h4", 4);
        assert!(matches!(mate, Some(Leaf::Terminal(Proof::Loss(0)))));
        assert!(finished_after("f2f3 e7e5 g2g4", 3).is_none());
    }
}
