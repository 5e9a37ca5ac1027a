use rand::RngExt;
use rand::rngs::SmallRng;
use shakmaty::MoveList;

use crate::chess::position::{Game, Outcome};
use crate::nets::eval::{Wdl, material};

/// Plays random moves to the end of the game or for `plies`, then evaluates statically. Returns the result for the side
/// to move at the call.
pub fn roll_out(game: &mut Game, mut legal: MoveList, plies: Option<u32>, rng: &mut SmallRng) -> Wdl {
    let mover = game.turn();
    let mut left = plies;
    let for_turn = loop {
        match game.outcome_given(&legal) {
            Some(Outcome::Decisive { winner }) if winner == game.turn() => break Wdl::WIN,
            Some(Outcome::Decisive { .. }) => break Wdl::LOSS,
            Some(Outcome::Draw(_)) => break Wdl::DRAW,
            None if left == Some(0) => break Wdl::of_centipawns(material::for_mover(game.position())),
            None => {}
        }
        left = left.map(|left| left - 1);
        game.play(legal[rng.random_range(..legal.len())]);
        legal = game.legal_moves();
    };
    if game.turn() == mover { for_turn } else { for_turn.flipped() }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use shakmaty::Position;

    use super::*;

    fn play(fen: &str, plies: Option<u32>, seed: u64) -> (Game, Wdl) {
        let mut game = Game::from_fen(fen).unwrap();
        let legal = game.legal_moves();
        let wdl = roll_out(&mut game, legal, plies, &mut SmallRng::seed_from_u64(seed));
        (game, wdl)
    }

    #[test]
    fn a_game_is_played_to_its_end() {
        let (mut white, mut black) = (0, 0);
        for seed in 0..60 {
            let (game, wdl) = play("4k3/8/8/8/8/8/PPPPPPPP/RNBQKBNR w KQ - 0 1", None, seed);
            let expected = match game.outcome() {
                Some(Outcome::Decisive { winner: shakmaty::Color::White }) => Wdl::WIN,
                Some(Outcome::Decisive { .. }) => Wdl::LOSS,
                Some(Outcome::Draw(_)) => Wdl::DRAW,
                None => panic!("the game is not over"),
            };
            assert_eq!(wdl, expected);
            white += u32::from(wdl == Wdl::WIN);
            black += u32::from(wdl == Wdl::LOSS);
        }
        assert!(white > 5 && black == 0, "{white} {black}");
    }

    #[test]
    fn a_game_cut_short_has_its_position_s_value_for_the_first_mover() {
        let fen = "4k3/8/8/8/8/8/8/Q3K3 w - - 0 1";
        for plies in [0, 1, 2, 5] {
            let (game, wdl) = play(fen, Some(plies), 3);
            let white = Wdl::of_centipawns(material::for_white(game.position().board()));
            assert_eq!((game.ply(), wdl), (plies as usize, white));
            let (game, wdl) = play(&fen.replace(" w ", " b "), Some(plies), 3);
            let white = Wdl::of_centipawns(material::for_white(game.position().board()));
            assert_eq!((game.ply(), wdl), (plies as usize, white.flipped()));
        }
    }

    #[test]
    fn a_finished_game_is_not_changed() {
        assert_eq!(play("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", None, 1).1, Wdl::LOSS);
        assert_eq!(play("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", Some(4), 1).1, Wdl::DRAW);
    }
}
