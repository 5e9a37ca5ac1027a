//! Gather, identify, apply, cancel: the steps of one round.

use shakmaty::{Move, Position};

use super::arena::{Candidate, NodeId, Repetition};
use super::proof::Proof;
use super::tree::Tree;
use crate::eval::{Answer, Wdl};
use crate::position::{Game, Outcome, PackedMove};
use crate::tables::TableResult;

/// A leaf that waits for its evaluation. Every ticket must be identified, applied or cancelled.
#[derive(Debug)]
pub struct Ticket {
    /// The nodes above the leaf, root first, each with the index of the move taken and the move.
    steps: Vec<Step>,
    leaf: NodeId,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    node: NodeId,
    edge: u16,
    packed: PackedMove,
}

impl Ticket {
    /// Plies from the root to the leaf.
    pub fn plies(&self) -> usize {
        self.steps.len()
    }

    /// Plays the ticket's moves in `game`, which must stand at the root.
    pub fn replay(&self, game: &mut Game) {
        for step in &self.steps {
            let m = step.packed.to_legal_move(game.position());
            game.play(m);
        }
    }
}

/// What a round gathered.
#[derive(Debug, Default)]
pub struct Gathered {
    /// Leaves to evaluate.
    pub tickets: Vec<Ticket>,
    /// Visits that ended at a certain value and needed no evaluation: already applied.
    pub finished: usize,
    /// The walk met a leaf that is being evaluated, or leaves in flight may need the room that is
    /// left: more can be gathered once they are applied.
    pub collided: bool,
    /// The memory is full of what can't be dropped: nothing more can be gathered, ever.
    pub full: bool,
}

/// What a leaf turned out to be.
#[derive(Debug)]
pub enum Leaf {
    /// The game is over, or its end is known.
    Terminal(Proof),
    /// Endgame tables know how the game ends.
    Table(TableResult),
    /// The position has stood before, and counts as a draw for that.
    Repeated {
        /// Plies since it stood; `None` if it stands for the third time.
        ago: Option<u16>,
    },
    /// The game goes on.
    Expanded(Expansion),
}

/// The moves and the value of an evaluated leaf.
#[derive(Debug)]
pub struct Expansion {
    moves: Vec<Candidate>,
    wdl: Wdl,
}

impl Expansion {
    /// `moves` with an evaluator's answer, flattened by `temperature`.
    pub fn new(moves: &[Move], answer: &Answer, temperature: f32) -> Expansion {
        let exponent = 1.0 / temperature;
        let flat = |prior: f32| if exponent == 1.0 { prior } else { prior.powf(exponent) };
        let total: f32 = answer.priors.iter().map(|prior| flat(*prior)).sum();
        let share = |prior: f32| if total > 0.0 { flat(prior) / total } else { 1.0 / moves.len() as f32 };
        let mut weighted: Vec<(Move, f32)> =
            moves.iter().zip(&answer.priors).map(|(m, prior)| (*m, share(*prior))).collect();
        // Stable: equal priors stay in the order of move generation, which is the same everywhere.
        weighted.sort_by(|a, b| b.1.total_cmp(&a.1));
        let moves =
            weighted.into_iter().map(|(m, prior)| Candidate::new(PackedMove::new(m), prior)).collect();
        Expansion { moves, wdl: answer.wdl }
    }
}

/// How the game is over at `game`, which a walk of `plies` from the root has reached, if it is.
///
/// Besides the rules, a position that has stood since the root counts as a draw: whoever could avoid
/// the repetition the first time can the second time.
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

/// Where a walk ended.
enum Arrival {
    /// At a leaf that wants an evaluation.
    Leaf,
    /// At a node whose value is certain: the visit is done.
    End(Wdl),
}

impl Tree {
    /// Walks to up to `count` leaves and leaves a virtual visit on every node passed.
    ///
    /// Leaves `in_flight` higher by the tickets returned, `playouts` by the visits that needed no
    /// evaluation. Stops early at a collision or when the memory is full; when it is full and nothing
    /// in flight, the least useful half is dropped first.
    pub fn gather(&mut self, count: usize) -> Gathered {
        let mut gathered = Gathered::default();
        while gathered.tickets.len() + gathered.finished < count {
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
            let (ticket, arrival) = self.walk();
            match arrival {
                Arrival::End(wdl) => {
                    self.back_up(&ticket.steps, wdl);
                    self.prove(&ticket.steps);
                    gathered.finished += 1;
                }
                Arrival::Leaf if self.node(ticket.leaf).pending > 0 => {
                    gathered.collided = true;
                    break;
                }
                Arrival::Leaf => {
                    self.count_pending(&ticket, 1);
                    gathered.tickets.push(ticket);
                }
            }
        }
        gathered
    }

    fn is_full(&self) -> bool {
        self.arena.is_full(self.in_flight as usize)
    }

    /// Follows the selection from the root to a node whose value isn't known or needn't be asked for.
    fn walk(&mut self) -> (Ticket, Arrival) {
        let mut ticket = Ticket { steps: Vec::with_capacity(16), leaf: self.root };
        while self.node(ticket.leaf).is_expanded() {
            let node = ticket.leaf;
            let edge = self.select(node);
            let packed = self.arena.moves_of(node)[edge].packed;
            ticket.leaf = self.arena.child_or_new(node, edge);
            ticket.steps.push(Step { node, edge: edge as u16, packed });
            if let Some(wdl) = self.end(ticket.leaf, ticket.steps.len()) {
                return (ticket, Arrival::End(wdl));
            }
        }
        (ticket, Arrival::Leaf)
    }

    /// The value for the side to move at `id`, which a walk of `plies` has come to, if it is certain.
    fn end(&mut self, id: NodeId, plies: usize) -> Option<Wdl> {
        let node = self.node(id);
        if let Some(proof) = node.proof.filter(|_| node.visits > 0) {
            return Some(proof.wdl());
        }
        match node.repetition {
            // The first time lies before a root that has moved on: not in this search any more.
            Some(Repetition::Twofold(ago)) if usize::from(ago) > plies => {
                let node = self.arena.node_mut(id);
                node.repetition = None;
                (node.visits, node.own, node.wins, node.draws) = (0, 0, 0.0, 0.0);
                None
            }
            Some(_) => Some(Wdl::DRAW),
            None => None,
        }
    }

    fn count_pending(&mut self, ticket: &Ticket, sign: i32) {
        self.in_flight = self.in_flight.wrapping_add_signed(i64::from(sign));
        let nodes = ticket.steps.iter().map(|step| step.node).chain([ticket.leaf]);
        for id in nodes {
            let node = self.arena.node_mut(id);
            node.pending = node.pending.wrapping_add_signed(sign);
        }
    }

    /// Lets a leaf be found by its [`Game::key`], or finds that its position is in the tree already:
    /// then the move leads there from now on, this visit takes its mean back up instead of an
    /// evaluation, and the ticket is done (`None`).
    pub fn identify(&mut self, ticket: Ticket, key: u64) -> Option<Ticket> {
        let last = match ticket.steps.last() {
            Some(last) if self.params.transpositions => *last,
            _ => return Some(ticket),
        };
        if self.node(ticket.leaf).key.is_some() {
            return Some(ticket);
        }
        let Some(known) = self.arena.find(key) else {
            self.arena.register(ticket.leaf, key);
            return Some(ticket);
        };
        // Two different positions of one key would be needed for this: not even then a cycle.
        if ticket.steps.iter().any(|step| step.node == known) {
            return Some(ticket);
        }
        self.count_pending(&ticket, -1);
        self.arena.redirect(last.node, usize::from(last.edge), known);
        self.arena.remove(ticket.leaf);
        let node = self.node(known);
        let (evaluated, mean, proven) =
            (node.visits > 0, node.wdl_for_parent().flipped(), node.proof.is_some());
        if evaluated {
            self.counters.transpositions += 1;
            self.back_up(&ticket.steps, mean);
            if proven {
                self.prove(&ticket.steps);
            }
        }
        None
    }

    /// Gives a leaf its moves or its end, and backs its value up.
    ///
    /// Leaves `in_flight` lower by one, `playouts` higher by one, every node of the path with one
    /// visit more and one pending less, and proofs drawn as far up as they reach.
    pub fn apply(&mut self, ticket: Ticket, leaf: Leaf) {
        self.count_pending(&ticket, -1);
        let id = ticket.leaf;
        debug_assert!(!self.node(id).is_expanded(), "a leaf is evaluated once");
        let node = self.arena.node_mut(id);
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
                self.arena.expand(id, &expansion.moves);
                self.counters.evaluations += 1;
                expansion.wdl
            }
        };
        let node = self.arena.node_mut(id);
        node.visits += 1;
        node.own += 1;
        node.wins -= f64::from(wdl.q());
        node.draws += f64::from(wdl.draw);
        node.value = -wdl.q();
        let proven = node.proof.is_some();
        self.back_up(&ticket.steps, wdl);
        if proven {
            self.prove(&ticket.steps);
        }
    }

    /// Takes a ticket's virtual visits back: the statistics are as if it had never been gathered.
    pub fn cancel(&mut self, ticket: Ticket) {
        self.count_pending(&ticket, -1);
    }

    /// Adds a value, seen by the side to move after the last step, to every node that the steps go
    /// through.
    fn back_up(&mut self, steps: &[Step], value: Wdl) {
        let mut for_parent = f64::from(value.q());
        for step in steps.iter().rev() {
            self.arena.link_mut(step.node, usize::from(step.edge)).visits += 1;
            let node = self.arena.node_mut(step.node);
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

    /// Looks, from a proven node upwards, what the nodes above it are now proven to be.
    fn prove(&mut self, steps: &[Step]) {
        if !self.params.solver {
            return;
        }
        for step in steps.iter().rev() {
            let links = self.arena.links_of(step.node);
            let never_taken = self.arena.moves_of(step.node).len() > links.len();
            let proofs = links.iter().map(|link| self.node(link.child()).proof);
            let proof = Proof::of_position(proofs.chain(never_taken.then_some(None)));
            if proof.is_none() || proof == self.node(step.node).proof {
                break;
            }
            self.arena.node_mut(step.node).proof = proof;
        }
    }

    /// Orders the root's moves, of which none may have been taken, by falling `keys`, one for each of
    /// [`Tree::children`]. Only [`Tree::force`] may choose among them then.
    pub(super) fn order_root(&mut self, keys: &[f32]) {
        debug_assert!(self.arena.links_of(self.root).is_empty(), "none has been taken");
        let moves = self.arena.moves_of_mut(self.root);
        let mut order: Vec<usize> = (0..moves.len()).collect();
        order.sort_by(|a, b| keys[*b].total_cmp(&keys[*a]));
        let ordered: Vec<Candidate> = order.into_iter().map(|index| moves[index]).collect();
        moves.copy_from_slice(&ordered);
    }

    /// Mixes noise into the root's priors: `(1 − epsilon) · prior + epsilon · share`, one share per
    /// move in [`Tree::children`]'s order. The root must be expanded.
    pub fn mix_into_root(&mut self, epsilon: f32, shares: &[f32]) {
        let taken = self.arena.links_of(self.root).len();
        let moves = self.arena.moves_of_mut(self.root);
        for (candidate, share) in moves.iter_mut().zip(shares) {
            let prior = (1.0 - epsilon) * candidate.prior() + epsilon * share;
            *candidate = Candidate::new(candidate.packed, prior);
        }
        // Those that were never taken stand by prior.
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
    fn the_second_time_since_the_root_is_a_draw() {
        let round = "g1f3 g8f6 f3g1 f6g8";
        let twofold = finished_after(round, 4);
        assert!(matches!(twofold, Some(Leaf::Repeated { ago: Some(4) })), "the root itself comes back");
        assert!(finished_after(round, 3).is_none(), "it stood before the root, once");
        let third = finished_after(&format!("{round} {round}"), 1);
        assert!(
            matches!(third, Some(Leaf::Repeated { ago: None })),
            "the third time, wherever the others were"
        );
    }

    #[test]
    fn mate_loses_for_the_mover_and_comes_first() {
        let mate = finished_after("f2f3 e7e5 g2g4 d8h4", 4);
        assert!(matches!(mate, Some(Leaf::Terminal(Proof::Loss(0)))));
        assert!(finished_after("f2f3 e7e5 g2g4", 3).is_none());
    }
}
