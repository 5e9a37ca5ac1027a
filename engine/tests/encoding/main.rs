//! Every encoding against planes, indices and labels from other projects, against rows made by hand for
//! what those lack, and against laws on random games.

mod lc0;
mod planes72;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use engine::encoding::{PolicyIndex, az4672, lc0_1858};
use engine::position::Game;
use proptest::prelude::*;
use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Chess, Color, EnPassantMode, Move, Position};

fn replay(fen: Option<&str>, moves: &str) -> Game {
    let mut game = fen.map_or_else(Game::new, |fen| Game::from_fen(fen).expect("a legal FEN"));
    for text in moves.split_whitespace() {
        let m = game.parse_uci(text).unwrap_or_else(|error| panic!("{error} in {moves}"));
        game.play(m);
    }
    game
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn plane(tensor: &[f32], index: usize) -> &[f32] {
    &tensor[index * 64..][..64]
}

fn constant(value: f32) -> Vec<f32> {
    vec![value; 64]
}

fn only(squares: &[(usize, f32)]) -> Vec<f32> {
    let mut plane = constant(0.0);
    squares.iter().for_each(|(square, value)| plane[*square] = *value);
    plane
}

/// Plays `choices` (each modulo the number of legal moves) until the game ends.
fn random_game(start: Game, choices: &[u16], mut visit: impl FnMut(&Game)) {
    let mut game = start;
    visit(&game);
    for choice in choices {
        let legal = game.legal_moves();
        if legal.is_empty() || game.position().is_insufficient_material() {
            break;
        }
        game.play(legal[usize::from(*choice) % legal.len()]);
        visit(&game);
    }
}

/// The same position with colours swapped and ranks mirrored.
fn mirrored(game: &Game) -> Game {
    let setup = game.position().to_setup(EnPassantMode::Always).into_mirrored();
    let mode = CastlingMode::detect(&setup);
    Game::from_position(setup.position::<Chess>(mode).expect("the mirror of a legal position"))
}

fn start_position() -> impl Strategy<Value = Game> {
    prop_oneof![
        Just(Game::new()),
        (0u32..960).prop_map(|number| {
            let board = shakmaty::Board::chess960(number);
            let fen = format!("{} w KQkq - 0 1", board.board_fen());
            let fen: Fen = fen.parse().expect("a FEN");
            Game::from_position(fen.into_position(CastlingMode::Chess960).expect("a Chess960 start"))
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn indices_are_a_bijection_over_legal_moves(start in start_position(), choices in prop::collection::vec(any::<u16>(), 0..200)) {
        let schemes: [(fn(Color, Move) -> PolicyIndex, usize); 2] =
            [(az4672::index, az4672::SIZE), (lc0_1858::index, lc0_1858::SIZE)];
        random_game(start, &choices, |game| {
            let legal = game.legal_moves();
            for (index, size) in schemes {
                let indices: HashSet<_> = legal.iter().map(|m| index(game.turn(), *m)).collect();
                assert_eq!(indices.len(), legal.len(), "two moves share an index in {}", game.fen());
                assert!(indices.iter().all(|index| index.offset() < size), "{}", game.fen());
            }
        });
    }
}
