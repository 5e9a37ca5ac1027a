use engine::chess::openings::{LONGEST_LINE, Opening, opening_of};
use engine::chess::position::Game;

use super::GameRecord;

/// By the last position that has a name, also for games from another start.
pub fn opening(game: &GameRecord) -> Option<&'static Opening> {
    let mut replay = Game::from_fen(&game.start_fen()).ok()?;
    let mut found = opening_of(&replay);
    for packed in game.moves.iter().take(LONGEST_LINE) {
        replay.play(packed.to_move(replay.position())?);
        found = opening_of(&replay).or(found);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::chess::position::PackedMove;

    fn name(moves: &str) -> String {
        let mut game = Game::new();
        let packed: Vec<PackedMove> = moves
            .split_whitespace()
            .map(|text| {
                let m = game.parse_uci(text).unwrap();
                game.play(m);
                PackedMove::new(m)
            })
            .collect();
        opening(&GameRecord { moves: packed, ..GameRecord::default() })
            .map_or_else(String::new, Opening::to_string)
    }

    #[test]
    fn the_last_named_position_names_the_game() {
        assert_eq!(name(""), "");
        assert_eq!(name("e2e4"), "B00 King's Pawn Game");
        let najdorf = "B90 Sicilian Defense: Najdorf Variation";
        let moves = "e2e4 c7c5 g1f3 d7d6 d2d4 c5d4 f3d4 g8f6 b1c3 a7a6";
        assert_eq!(name(moves), najdorf);
        // The positions after these moves have no name.
        assert_eq!(
            name(&format!("{moves} h2h3 h7h6 h3h4")),
            najdorf.replace("Variation", "Variation, Adams Attack")
        );
        // The same position by another order of moves.
        assert_eq!(name("d2d4 d7d5 c2c4 e7e6"), name("c2c4 e7e6 d2d4 d7d5"));
        assert!(name("d2d4 d7d5 c2c4 e7e6").starts_with("D30 Queen's Gambit Declined"));
    }
}
