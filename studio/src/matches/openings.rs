//! The openings that matches begin with: well-known lines of eight to ten plies.

use crate::play::PlayedGame;

/// Name and moves of each opening, one per line.
static TABLE: &str = include_str!("openings.txt");

/// An opening.
#[derive(Clone, Debug)]
pub struct MatchOpening {
    /// Its name.
    pub name: &'static str,
    /// The game up to its last move.
    pub game: PlayedGame,
}

/// All openings, in the order of the table.
pub fn openings() -> Vec<MatchOpening> {
    let read = |line: &'static str| {
        let (name, moves) = line.split_once(": ").expect("a name stands before the moves");
        let mut game = PlayedGame::new(None).expect("the initial position is one");
        for text in moves.split(' ') {
            let m = game.parse(text).expect("the table's moves are legal");
            game.play(m).expect("an opening is short");
        }
        MatchOpening { name, game }
    };
    TABLE.lines().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_opening_is_legal_and_another_position() {
        let openings = openings();
        let positions: HashSet<String> = openings.iter().map(|opening| opening.game.game().fen()).collect();
        assert_eq!((openings.len(), positions.len()), (32, 32));
        assert!(openings.iter().all(|opening| (8..=10).contains(&opening.game.ply())));
    }
}
