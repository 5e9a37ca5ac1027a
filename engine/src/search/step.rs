//! Gather, apply, cancel: the steps of one round.

use shakmaty::{Move, Position};

use super::proof::Proof;
use super::tree::{Edge, NodeId, State, Tree};
use crate::eval::{Answer, Wdl};
use crate::position::{Game, Outcome, PackedMove};

/// A leaf that waits for its evaluation. Every ticket must be applied or cancelled.
#[derive(Debug)]
pub struct Ticket {
    /// From the root to the leaf, both included.
    path: Vec<NodeId>,
    /// The moves between them.
    moves: Vec<PackedMove>,
}

impl Ticket {
    /// Plies from the root to the leaf.
    pub fn plies(&self) -> usize {
        self.moves.len()
    }

    /// Plays the ticket's moves in `game`, which must stand at the root.
    pub fn replay(&self, game: &mut Game) {
        for packed in &self.moves {
            let m = packed.to_legal_move(game.position());
            game.play(m);
        }
    }
}

/// What a round gathered.
#[derive(Debug, Default)]
pub struct Gathered {
    /// Leaves to evaluate.
    pub tickets: Vec<Ticket>,
    /// Visits that ended in a finished game and needed no evaluation: already applied.
    pub finished: usize,
    /// The walk met a leaf that is being evaluated, or leaves in flight may need the room that is
    /// left: more can be gathered once they are applied.
    pub collided: bool,
    /// The memory is full: nothing more can be gathered, ever.
    pub full: bool,
}

/// What a leaf turned out to be.
#[derive(Debug)]
pub enum Leaf {
    /// The game is over.
    Terminal(Proof),
    /// The game goes on.
    Expanded(Expansion),
}

/// The edges and the value of an evaluated leaf.
#[derive(Debug)]
pub struct Expansion {
    edges: Vec<Edge>,
    wdl: Wdl,
}

impl Expansion {
    /// Edges for `moves` from an evaluator's answer, flattened by `temperature`.
    pub fn new(moves: &[Move], answer: &Answer, temperature: f32) -> Expansion {
        let exponent = 1.0 / temperature;
        let flat = |prior: f32| if exponent == 1.0 { prior } else { prior.powf(exponent) };
        let total: f32 = answer.priors.iter().map(|prior| flat(*prior)).sum();
        let share = |prior: f32| if total > 0.0 { flat(prior) / total } else { 1.0 / moves.len() as f32 };
        let mut weighted: Vec<(Move, f32)> =
            moves.iter().zip(&answer.priors).map(|(m, prior)| (*m, share(*prior))).collect();
        // Stable: equal priors stay in the order of move generation, which is the same everywhere.
        weighted.sort_by(|a, b| b.1.total_cmp(&a.1));
        let edges = weighted.into_iter().map(|(m, prior)| Edge::new(PackedMove::new(m), prior)).collect();
        Expansion { edges, wdl: answer.wdl }
    }
}

/// How the game is over at `game`, which a walk of `plies` from the root has reached, if it is.
///
/// Besides the rules, a position that has stood since the root counts as a draw: whoever could avoid
/// the repetition the first time can the second time.
pub(super) fn finished(game: &Game, legal: &[Move], plies: usize) -> Option<Proof> {
    if legal.is_empty() {
        return Some(if game.position().is_check() { Proof::Loss(0) } else { Proof::Draw });
    }
    let repeated = game.recurrence().is_some_and(|ago| ago <= plies);
    let drawn = repeated
        || game.repetitions() >= 2
        || game.position().halfmoves() >= 100
        || game.position().is_insufficient_material();
    debug_assert!(drawn || !matches!(game.outcome(), Some(Outcome::Draw(_))), "{}", game.fen());
    drawn.then_some(Proof::Draw)
}

impl Tree {
    /// Walks to up to `count` leaves and leaves a virtual visit on every node passed.
    ///
    /// Leaves `in_flight` higher by the tickets returned, `playouts` by the visits that ended in
    /// finished games. Stops early at a collision or when the memory is full.
    pub fn gather(&mut self, count: usize) -> Gathered {
        let mut gathered = Gathered::default();
        while gathered.tickets.len() + gathered.finished < count {
            if self.is_full() {
                // With leaves in flight there may be room again once their edges are counted.
                gathered.full = self.in_flight == 0;
                gathered.collided = !gathered.full;
                break;
            }
            let ticket = self.walk();
            let leaf = *ticket.path.last().expect("a path begins at the root");
            let node = self.node(leaf);
            match (node.state, node.proof) {
                (State::Terminal, Some(proof)) => {
                    self.back_up(&ticket, proof.wdl());
                    gathered.finished += 1;
                }
                _ if node.pending > 1 => {
                    self.cancel(ticket);
                    gathered.collided = true;
                    break;
                }
                _ => gathered.tickets.push(ticket),
            }
        }
        gathered
    }

    /// Follows the selection from the root to a node without edges.
    fn walk(&mut self) -> Ticket {
        let mut id = Tree::ROOT;
        let mut ticket = Ticket { path: vec![id], moves: Vec::new() };
        self.in_flight += 1;
        self.node_mut(id).pending += 1;
        while self.node(id).state == State::Expanded {
            let edge = self.select(id);
            ticket.moves.push(self.edges_of(id)[edge].packed);
            id = self.child_or_new(id, edge);
            self.node_mut(id).pending += 1;
            ticket.path.push(id);
        }
        ticket
    }

    /// Gives a leaf its edges or its end, and backs its value up.
    ///
    /// Leaves `in_flight` lower by one, `playouts` higher by one, every node of the path with one
    /// visit more and one pending less, and proofs drawn as far up as they reach.
    pub fn apply(&mut self, ticket: Ticket, leaf: Leaf) {
        let id = *ticket.path.last().expect("a path begins at the root");
        debug_assert_eq!(self.node(id).state, State::Leaf, "a leaf is evaluated once");
        let wdl = match leaf {
            Leaf::Terminal(proof) => {
                let node = self.node_mut(id);
                node.state = State::Terminal;
                node.proof = Some(proof);
                self.prove_ancestors(&ticket.path);
                proof.wdl()
            }
            Leaf::Expanded(expansion) => {
                let first_edge = self.edges.len() as u32;
                self.edges.extend_from_slice(&expansion.edges);
                let node = self.node_mut(id);
                node.state = State::Expanded;
                node.first_edge = first_edge;
                node.edge_count = expansion.edges.len() as u16;
                expansion.wdl
            }
        };
        self.back_up(&ticket, wdl);
    }

    /// Takes a ticket's virtual visits back: the statistics are as if it had never been gathered.
    pub fn cancel(&mut self, ticket: Ticket) {
        self.in_flight -= 1;
        for id in ticket.path {
            self.node_mut(id).pending -= 1;
        }
    }

    /// Adds the leaf's value, seen by its mover, to every node of the path, and takes the virtual
    /// visits back.
    fn back_up(&mut self, ticket: &Ticket, leaf: Wdl) {
        let mut for_parent = -f64::from(leaf.q());
        for id in ticket.path.iter().rev() {
            let node = self.node_mut(*id);
            node.visits += 1;
            node.pending -= 1;
            node.wins += for_parent;
            node.draws += leaf.draw;
            for_parent = -for_parent;
        }
        self.in_flight -= 1;
        self.playouts += 1;
        self.path_plies += ticket.moves.len() as u64;
        self.longest_path = self.longest_path.max(ticket.moves.len() as u32);
    }

    /// Looks, from a newly proven leaf upwards, what its ancestors are now proven to be.
    fn prove_ancestors(&mut self, path: &[NodeId]) {
        for id in path.iter().rev().skip(1) {
            let proofs = self.edges_of(*id).iter().map(|edge| edge.child().and_then(|c| self.node(c).proof));
            let proof = Proof::of_position(proofs);
            if proof.is_none() || proof == self.node(*id).proof {
                break;
            }
            self.node_mut(*id).proof = proof;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished_after(moves: &str, plies: usize) -> Option<Proof> {
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
        assert_eq!(finished_after(round, 4), Some(Proof::Draw), "the root itself comes back");
        assert_eq!(finished_after(round, 3), None, "it stood before the root, once");
        let twice = format!("{round} {round}");
        assert_eq!(finished_after(&twice, 1), Some(Proof::Draw), "the third time, wherever the others were");
    }

    #[test]
    fn mate_loses_for_the_mover_and_comes_first() {
        assert_eq!(finished_after("f2f3 e7e5 g2g4 d8h4", 4), Some(Proof::Loss(0)));
        assert_eq!(finished_after("f2f3 e7e5 g2g4", 3), None);
    }
}
