//! Encodings against other projects' planes, indices and labels, handmade rows, and properties on random games.

mod inputs;
mod lc0;
mod planes72;
mod policies;
mod sparse;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use engine::chess::position::Game;
use engine::nets::encoding::{Input, Policy};
use proptest::prelude::*;
use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Chess, Color, EnPassantMode, Move, Position, Role, Square};

fn replay(fen: Option<&str>, moves: &str) -> Game {
    Game::from_uci(fen, moves.split_whitespace()).unwrap_or_else(|error| panic!("{error} in {moves}"))
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

/// Plays `choices`, each modulo the number of legal moves, until the game ends.
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

/// Colours are swapped and ranks mirrored.
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
        random_game(start, &choices, |game| {
            let legal = game.legal_moves();
            for scheme in Policy::ALL {
                let name = scheme.name();
                let indices: HashSet<_> = legal.iter().map(|m| scheme.index(game.turn(), *m)).collect();
                assert_eq!(indices.len(), legal.len(), "two moves share an index of {name} in {}", game.fen());
                for m in &legal {
                    let index = scheme.index(game.turn(), *m);
                    assert!(index.offset() < scheme.size(), "{name}, {}", game.fen());
                    assert_eq!(scheme.find(game, index), Some(*m), "{name}");
                }
            }
        });
    }

    #[test]
    fn what_is_read_is_what_is_written(start in start_position(), choices in prop::collection::vec(any::<u16>(), 0..60)) {
        for input in Input::ALL {
            let mut seen: HashMap<(Vec<u64>, Vec<u32>), Vec<f32>> = HashMap::new();
            random_game(start.clone(), &choices, |game| {
                let mut tensor = vec![f32::NAN; input.size()];
                input.write(game, &mut tensor);
                assert!(tensor.iter().all(|x| x.is_finite()), "{}: all of it is written", input.name());
                let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect();
                let key = input.read(game, |masks, values| (masks.to_vec(), bits(values)));
                assert_eq!(*seen.entry(key).or_insert_with(|| tensor.clone()), tensor);
            });
            let tensors: HashSet<Vec<u32>> =
                seen.values().map(|tensor| tensor.iter().map(|x| x.to_bits()).collect()).collect();
            assert_eq!(tensors.len(), seen.len(), "{}: other numbers, another tensor", input.name());
        }
    }
}

/// A label's move by a queen or pawn of `turn` on an empty board; ranks are mirrored for Black.
fn labelled(label: &str, turn: Color) -> Move {
    let square = |text: &str| {
        let square: Square = text.parse().expect("a square");
        if turn.is_white() { square } else { square.flip_vertical() }
    };
    let promotion = label.chars().nth(4).map(|c| Role::from_char(c).expect("a piece"));
    let role = if promotion.is_some() { Role::Pawn } else { Role::Queen };
    Move::Normal { role, from: square(&label[..2]), capture: None, to: square(&label[2..4]), promotion }
}

#[test]
fn schemes_are_found_by_their_names_only() {
    for input in Input::ALL {
        assert_eq!(Input::named(input.name()), Some(input));
        assert_eq!(input.tensor(&[Game::new(), Game::new()]).len(), 2 * input.size());
    }
    for policy in Policy::ALL {
        assert_eq!(Policy::named(policy.name()), Some(policy));
    }
    assert_eq!((Input::named("planes72/2"), Policy::named("az4672")), (None, None));
}
