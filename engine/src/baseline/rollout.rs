//! Random games, to the end or for some moves.

use shakmaty::MoveList;

use crate::eval::{Wdl, lesson};
use crate::position::{Game, Outcome};

/// Plays random moves until the game ends by rule, or for at most `plies`, and then takes the lesson's value.
/// The result is that of the side to move when this is called.
///
/// `legal` are the legal moves of the game, which is over when this returns, or so many plies on.
pub fn play_on(game: &mut Game, mut legal: MoveList, plies: Option<u32>, dice: &mut fastrand::Rng) -> Wdl {
    let mover = game.turn();
    let mut left = plies;
    let for_turn = loop {
        match game.outcome_given(&legal) {
            Some(Outcome::Decisive { winner }) if winner == game.turn() => break Wdl::WIN,
            Some(Outcome::Decisive { .. }) => break Wdl::LOSS,
            Some(Outcome::Draw(_)) => break Wdl::DRAW,
            None if left == Some(0) => break Wdl::of_centipawns(lesson::for_mover(game.position())),
            None => {}
        }
        left = left.map(|left| left - 1);
        game.play(legal[dice.usize(..legal.len())]);
        legal = game.legal_moves();
    };
    if game.turn() == mover { for_turn } else { for_turn.flipped() }
}

#[cfg(test)]
mod tests {
    use shakmaty::Position;

    use super::*;

    fn play(fen: &str, plies: Option<u32>, seed: u64) -> (Game, Wdl) {
        let mut game = Game::from_fen(fen).unwrap();
        let legal = game.legal_moves();
        let wdl = play_on(&mut game, legal, plies, &mut fastrand::Rng::with_seed(seed));
        (game, wdl)
    }

    #[test]
    fn a_game_goes_on_to_its_end() {
        let (mut white, mut black) = (0, 0);
        for seed in 0..60 {
            let (game, wdl) = play("4k3/8/8/8/8/8/PPPPPPPP/RNBQKBNR w KQ - 0 1", None, seed);
            let expected = match game.outcome() {
                Some(Outcome::Decisive { winner: shakmaty::Color::White }) => Wdl::WIN,
                Some(Outcome::Decisive { .. }) => Wdl::LOSS,
                Some(Outcome::Draw(_)) => Wdl::DRAW,
                None => panic!("the game isn't over"),
            };
            assert_eq!(wdl, expected);
            white += u32::from(wdl == Wdl::WIN);
            black += u32::from(wdl == Wdl::LOSS);
        }
        assert!(white > 5 && black == 0, "{white} {black}");
    }

    #[test]
    fn a_game_cut_short_is_worth_its_position_for_who_began() {
        let fen = "4k3/8/8/8/8/8/8/Q3K3 w - - 0 1";
        for plies in [0, 1, 2, 5] {
            let (game, wdl) = play(fen, Some(plies), 3);
            let white = Wdl::of_centipawns(lesson::for_white(game.position().board()));
            assert_eq!((game.ply(), wdl), (plies as usize, white));
            let (game, wdl) = play(&fen.replace(" w ", " b "), Some(plies), 3);
            let white = Wdl::of_centipawns(lesson::for_white(game.position().board()));
            assert_eq!((game.ply(), wdl), (plies as usize, white.flipped()));
        }
    }

    #[test]
    fn a_game_that_is_over_stays_as_it_is() {
        assert_eq!(play("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", None, 1).1, Wdl::LOSS);
        assert_eq!(play("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", Some(4), 1).1, Wdl::DRAW);
    }
}
