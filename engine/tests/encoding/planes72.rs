//! `planes72/1` and `az4672/1` against another encoder's planes and indices, and against handmade rows.

use std::path::Path;

use engine::chess::position::Game;
use engine::nets::encoding::planes72::{INPUT_SIZE, PLANES};
use engine::nets::encoding::{az4672, planes72};
use proptest::prelude::*;
use serde_json::Value;

use super::{constant, mirrored, only, plane, random_game, replay, root, start_position};

fn input(game: &Game) -> Vec<f32> {
    let mut tensor = vec![f32::NAN; INPUT_SIZE];
    planes72::encode(game).write(&mut tensor);
    tensor
}

/// `plane` is a number for a constant plane, or `{value: hex mask}`.
fn expected_plane(plane: &Value) -> [f32; 64] {
    let mut squares = [0.0; 64];
    match plane {
        Value::Object(values) => {
            for (value, mask) in values {
                let value: f32 = value.parse().unwrap();
                let mask = u64::from_str_radix(mask.as_str().unwrap(), 16).unwrap();
                (0..64).filter(|square| mask >> square & 1 == 1).for_each(|square| squares[square] = value);
            }
        }
        number => squares = [number.as_f64().unwrap() as f32; 64],
    }
    squares
}

fn check_rows(path: &Path) -> usize {
    let text = std::fs::read_to_string(path).expect("readable rows");
    for (line, row) in text.lines().enumerate() {
        let row: Value = serde_json::from_str(row).expect("JSON");
        let game = replay(None, row["moves"].as_str().unwrap());
        let tensor = input(&game);
        for (plane, expected) in row["planes"].as_array().unwrap().iter().enumerate() {
            let expected = expected_plane(expected);
            for (square, want) in expected.iter().enumerate() {
                let got = tensor[plane * 64 + square];
                assert!(
                    (got - want).abs() < 1e-6,
                    "line {line}, plane {plane}, square {square}: {got}, not {want}"
                );
            }
        }
        let policy = row["policy"].as_object().unwrap();
        let legal = game.legal_moves();
        assert_eq!(legal.len(), policy.len(), "line {line}");
        for m in legal {
            let uci = Game::uci(m, false);
            let index = az4672::index(game.turn(), m);
            assert_eq!(Some(u64::from(index.0)), policy[&uci].as_u64(), "line {line}, {uci}");
        }
    }
    text.lines().count()
}

#[test]
fn matches_the_other_encoder() {
    assert!(check_rows(&root().join("tests/data/planes72_az4672.jsonl")) >= 30);
}

/// Runs if the file that the sample is from lies beside the checkout.
#[test]
fn matches_the_other_encoder_on_its_whole_file() {
    let path = root().join("../shared/suites/encoding/planes72_az4672_expected.jsonl");
    if path.exists() {
        assert!(check_rows(&path) >= 300);
    }
}

#[test]
fn a_third_repetition_is_one() {
    let round = "g1f3 g8f6 f3g1 f6g8 ";
    assert_eq!(plane(&input(&replay(None, "")), 56), constant(0.0));
    assert_eq!(plane(&input(&replay(None, round)), 56), constant(0.5));
    assert_eq!(plane(&input(&replay(None, &round.repeat(2))), 56), constant(1.0));
    assert_eq!(plane(&input(&replay(None, &round.repeat(3))), 56), constant(1.0));
}

#[test]
fn counters_stop_at_their_maximum() {
    let tensor = input(&replay(Some("7k/8/8/8/8/8/R7/K7 w - - 120 250"), ""));
    assert_eq!(plane(&tensor, 55), constant(1.0));
    assert_eq!(plane(&tensor, 49), constant(1.0));
    let tensor = input(&replay(Some("7k/8/8/8/8/8/R7/K7 w - - 99 199"), ""));
    assert_eq!(plane(&tensor, 55), constant(0.99));
    assert_eq!(plane(&tensor, 49), constant(0.995));
}

#[test]
fn en_passant_has_its_square_and_its_index() {
    // Black to move, mirrored: the target d3 (19) is on d6 (43); e4xd3 is e5 (36) to d6, north-west.
    let game = replay(Some("4k3/8/8/8/4p3/8/3P4/4K3 w - - 0 1"), "d2d4");
    assert_eq!(plane(&input(&game), 54), only(&[(43, 1.0)]));
    let capture = game.parse_uci("e4d3").unwrap();
    assert_eq!(az4672::index(game.turn(), capture).0, 36 * 73 + 7 * 7);
    // The square is set after any double push, even if nothing can capture there.
    assert_eq!(plane(&input(&replay(None, "e2e4")), 54), only(&[(44, 1.0)]));
}

#[test]
fn capturing_underpromotions_have_three_directions() {
    // White b7, pieces on a8 and c8: knight, bishop, rook times left, straight, right.
    let game = replay(Some("n1n1k3/1P6/8/8/8/8/8/4K3 w - - 0 1"), "");
    let index = |uci: &str| az4672::index(game.turn(), game.parse_uci(uci).unwrap()).0 - 49 * 73;
    assert_eq!([index("b7a8n"), index("b7b8n"), index("b7c8n")], [64, 65, 66]);
    assert_eq!([index("b7a8b"), index("b7b8b"), index("b7c8b")], [67, 68, 69]);
    assert_eq!([index("b7a8r"), index("b7b8r"), index("b7c8r")], [70, 71, 72]);
    // Queens: north-west, north, north-east by one square.
    assert_eq!([index("b7a8q"), index("b7b8q"), index("b7c8q")], [49, 0, 7]);
}

#[test]
fn chess960_castling_takes_the_rook() {
    // King b1, rooks a1 and h1: west by one (type 42), east by six (type 14 + 5).
    let game = replay(Some("1k6/8/8/8/8/8/8/RK5R w HA - 0 1"), "");
    let index = |uci: &str| az4672::index(game.turn(), game.parse_uci(uci).unwrap()).0;
    assert_eq!(index("b1a1"), 73 + 42);
    assert_eq!(index("b1h1"), 73 + 14 + 5);
    // Own king side and own queen side are whole planes; the opponent has no right.
    let tensor = input(&game);
    assert_eq!((plane(&tensor, 50), plane(&tensor, 51)), (&constant(1.0)[..], &constant(1.0)[..]));
    assert_eq!((plane(&tensor, 52), plane(&tensor, 53)), (&constant(0.0)[..], &constant(0.0)[..]));
    // King e1, rook a1, whatever the mode: two squares west (type 43), not the rook's square.
    let game = replay(Some("1k6/8/8/8/8/8/8/R3KR2 w FA - 0 1"), "");
    let index = |uci: &str| az4672::index(game.turn(), game.parse_uci(uci).unwrap()).0;
    assert_eq!(index("e1a1"), 4 * 73 + 43);
    assert_eq!(index("e1f1"), 4 * 73 + 14, "the rook is on f1: king takes rook");
}

#[test]
fn without_history_the_older_planes_are_empty() {
    let tensor = input(&replay(None, "e2e4"));
    assert!(tensor[24 * 64..48 * 64].iter().all(|x| *x == 0.0));
    // One ply ago, seen from Black: own pawns on the second rank, White's on the seventh.
    assert_eq!(plane(&tensor, 12).iter().sum::<f32>(), 8.0);
    assert!(plane(&tensor, 18)[48..56].iter().all(|x| *x == 1.0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn the_mirror_image_encodes_the_same(start in start_position(), choices in prop::collection::vec(any::<u16>(), 0..120)) {
        random_game(start, &choices, |game| {
            let bare = Game::from_position(game.position().clone());
            let mirror = mirrored(&bare);
            assert_eq!(planes72::encode(&bare).masks, planes72::encode(&mirror).masks, "{}", game.fen());
            let indices = |game: &Game| {
                let mut all: Vec<_> = game.legal_moves().iter().map(|m| az4672::index(game.turn(), *m)).collect();
                all.sort();
                all
            };
            assert_eq!(indices(&bare), indices(&mirror));
        });
    }

    #[test]
    fn writing_expands_every_row(choices in prop::collection::vec(any::<u16>(), 0..80)) {
        random_game(Game::new(), &choices, |game| {
            let encoded = planes72::encode(game);
            let tensor = input(game);
            for plane in 0..PLANES {
                for square in 0..64 {
                    let row = |row: usize| (encoded.masks[row] >> square & 1) as f32 * encoded.value(row);
                    let want = row(plane) + if plane == planes72::CENTRE { row(PLANES) } else { 0.0 };
                    assert_eq!(tensor[plane * 64 + square], want);
                }
            }
        });
    }
}
