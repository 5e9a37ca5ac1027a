//! What is known for certain of a node, for the side to move in it.

use crate::eval::Wdl;

/// A proven value with the number of plies to the game's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The mover wins, at the latest after this many plies.
    Win(u16),
    /// The game is drawn.
    Draw,
    /// The mover loses: he is mated after this many plies, or earlier if he helps.
    Loss(u16),
}

/// Plies from here on mean that endgame tables know the result, not how far the mate is: what is above
/// is how far the next capture or pawn move is at most.
const TABLE: u16 = 20_000;

impl Proof {
    /// A win that endgame tables know of, with the plies that the next capture or pawn move may take.
    pub fn table_win(plies: u16) -> Proof {
        Proof::Win(TABLE + plies.min(1000))
    }

    /// A loss that endgame tables know of, like [`Proof::table_win`].
    pub fn table_loss(plies: u16) -> Proof {
        Proof::Loss(TABLE + plies.min(1000))
    }

    /// Plies to the mate; `None` for a draw, and where only tables know the result.
    pub fn mate(self) -> Option<u16> {
        match self {
            Proof::Win(plies) | Proof::Loss(plies) => Some(plies).filter(|plies| *plies < TABLE),
            Proof::Draw => None,
        }
    }

    /// What this proof, of the position after a move, says for the side that makes the move.
    pub fn before(self) -> Proof {
        match self {
            Proof::Loss(plies) => Proof::Win(plies + 1),
            Proof::Draw => Proof::Draw,
            Proof::Win(plies) => Proof::Loss(plies + 1),
        }
    }

    /// The proof as a value for the mover.
    pub fn wdl(self) -> Wdl {
        match self {
            Proof::Win(_) => Wdl::WIN,
            Proof::Draw => Wdl::DRAW,
            Proof::Loss(_) => Wdl::LOSS,
        }
    }

    /// What a position is proven to be by its moves' proofs, each for the opponent who is to move
    /// after it; `None` for an unproven move.
    ///
    /// One move that leaves the opponent lost wins: the shortest. Otherwise every move must be
    /// proven: a draw if there is one, else the longest defence.
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

    /// How much the side that can move here wants to: a short loss of the opponent first, then a
    /// draw, then the longest way to be mated. `None` (unproven) stands between win and draw.
    pub(super) fn rank_for_parent(proof: Option<Proof>) -> i32 {
        match proof {
            Some(Proof::Loss(plies)) => 100_000 - i32::from(plies),
            None => 1,
            Some(Proof::Draw) => 0,
            Some(Proof::Win(plies)) => -100_000 + i32::from(plies),
        }
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
    fn a_draw_saves_from_a_loss() {
        let moves = [Some(Proof::Win(1)), Some(Proof::Draw)];
        assert_eq!(Proof::of_position(moves.into_iter()), Some(Proof::Draw));
        assert_eq!(Proof::of_position([Some(Proof::Draw), None].into_iter()), None);
    }
}
