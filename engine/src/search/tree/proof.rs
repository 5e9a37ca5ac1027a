//! Proven results (MCTS solver), for the side to move.

use crate::nets::eval::Wdl;
use crate::search::tree::Tree;
use crate::search::tree::node::NodeId;

/// Plies bound the distance to mate from above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    Win(u16),
    Draw,
    Loss(u16),
}

/// Added to the plies of tablebase results, which have no distance to mate: there they bound the plies to the next
/// capture or pawn move.
const TABLE: u16 = 20_000;

impl Proof {
    /// `plies` bounds the plies to the next capture or pawn move.
    pub fn table_win(plies: u16) -> Proof {
        Proof::Win(TABLE + plies.min(1000))
    }

    pub fn table_loss(plies: u16) -> Proof {
        Proof::Loss(TABLE + plies.min(1000))
    }

    /// Most plies to mate; `None` for draws and tablebase results.
    pub fn mate(self) -> Option<u16> {
        match self {
            Proof::Win(plies) | Proof::Loss(plies) => Some(plies).filter(|plies| *plies < TABLE),
            Proof::Draw => None,
        }
    }

    /// The result one ply earlier, for the other side.
    pub fn before(self) -> Proof {
        match self {
            Proof::Loss(plies) => Proof::Win(plies + 1),
            Proof::Draw => Proof::Draw,
            Proof::Win(plies) => Proof::Loss(plies + 1),
        }
    }

    pub fn wdl(self) -> Wdl {
        match self {
            Proof::Win(_) => Wdl::WIN,
            Proof::Draw => Wdl::DRAW,
            Proof::Loss(_) => Wdl::LOSS,
        }
    }

    /// Combines the children's results, each for the opponent (`None` if unproven): the shortest win; else, if all are
    /// proven, a draw or the longest loss.
    pub fn of_position(moves: impl Iterator<Item = Option<Proof>>) -> Option<Proof> {
        let mut win: Option<u16> = None;
        let mut draw = false;
        let mut longest = 0;
        let mut all_proven = true;
        for proof in moves {
            match proof {
                Some(Proof::Loss(plies)) => win = Some(win.map_or(plies, |shortest| shortest.min(plies))),
                Some(Proof::Draw) => draw = true,
                Some(Proof::Win(plies)) => longest = longest.max(plies),
                None => all_proven = false,
            }
        }
        match win {
            Some(plies) => Some(Proof::Win(plies + 1)),
            None if !all_proven => None,
            None if draw => Some(Proof::Draw),
            None => Some(Proof::Loss(longest + 1)),
        }
    }

    /// Ranks a move by its child's result: short wins, long wins, unproven, draws, long losses, short losses.
    pub(in crate::search) fn rank_for_parent(proof: Option<Proof>) -> i32 {
        match proof {
            Some(Proof::Loss(plies)) => 100_000 - i32::from(plies),
            None => 1,
            Some(Proof::Draw) => 0,
            Some(Proof::Win(plies)) => -100_000 + i32::from(plies),
        }
    }
}

impl Tree {
    pub(in crate::search) fn proof_by_moves(&self, id: NodeId) -> Option<Proof> {
        let without_edge = self.nodes.moves_of(id).len() > self.nodes.edges_of(id).len();
        let proofs = self.nodes.edges_of(id).map(|edge| self.node(edge.child()).proof());
        Proof::of_position(proofs.chain(without_edge.then_some(None)))
    }

    /// Whether mate search or tables proved the node, not its children.
    pub(in crate::search) fn is_proven_outside(&self, id: NodeId) -> bool {
        let by_moves = self.proof_by_moves(id).map(Proof::wdl);
        self.node(id).proof().is_some_and(|proof| by_moves != Some(proof.wdl()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_winning_move_is_enough_and_the_shortest_counts() {
        let moves = [None, Some(Proof::Loss(4)), Some(Proof::Loss(2)), Some(Proof::Win(1))];
        assert_eq!(Proof::of_position(moves.into_iter()), Some(Proof::Win(3)));
    }

    #[test]
    fn a_loss_needs_every_move_and_lasts_as_long_as_the_best_defence() {
        let moves = [Some(Proof::Win(1)), Some(Proof::Win(5))];
        assert_eq!(Proof::of_position(moves.into_iter()), Some(Proof::Loss(6)));
        assert_eq!(Proof::of_position([Some(Proof::Win(1)), None].into_iter()), None);
    }

    #[test]
    fn a_draw_is_better_than_a_loss() {
        let moves = [Some(Proof::Win(1)), Some(Proof::Draw)];
        assert_eq!(Proof::of_position(moves.into_iter()), Some(Proof::Draw));
        assert_eq!(Proof::of_position([Some(Proof::Draw), None].into_iter()), None);
    }
}
