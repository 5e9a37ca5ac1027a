//! `planes19/1`, `planes14/1`, `planes119/1` and `onehot832/1` against gym-chess's planes and handmade rows.

use engine::nets::encoding::Input;
use serde_json::Value;

use super::{constant, only, plane, replay, root};

fn input(scheme: Input, fen: Option<&str>, moves: &str) -> Vec<f32> {
    scheme.tensor(&[replay(fen, moves)])
}

const ROUND: &str = "g1f3 g8f6 f3g1 f6g8 ";

/// White: Ke1, Ra1, Rh1, e4. Black: Ke8, Rh8, Nc6.
const FEW: &str = "4k2r/8/2n5/8/4P3/8/8/R3K2R b KQk - 7 30";

/// Each row of `file` has a game's moves and gym-chess's planes after them.
fn compare_with_gym_chess(scheme: Input, file: &str) {
    let text = std::fs::read_to_string(root().join("tests/data").join(file)).unwrap();
    assert_eq!(text.lines().count(), 8);
    for row in text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let moves = row["moves"].as_str().unwrap();
        let tensor = input(scheme, None, moves);
        for index in 0..scheme.shape()[0] {
            let expected = match row["planes"].get(index.to_string()) {
                None => constant(0.0),
                Some(entry) if entry[0] == "const" => constant(entry[1].as_f64().unwrap() as f32),
                Some(entry) => {
                    let mask = u64::from_str_radix(entry[1].as_str().unwrap(), 16).unwrap();
                    (0..64).map(|square| (mask >> square & 1) as f32).collect()
                }
            };
            assert_eq!(plane(&tensor, index), expected, "plane {index} after {moves}");
        }
    }
}

#[test]
fn planes14_are_the_current_board_of_gym_chess() {
    compare_with_gym_chess(Input::Planes14, "planes14_gym-chess.jsonl");
}

#[test]
fn planes119_are_all_of_gym_chess() {
    compare_with_gym_chess(Input::Planes119, "planes119_gym-chess.jsonl");
}

#[test]
fn planes119_for_black_by_hand() {
    // FEW after 1. e4: Black's view, rotated by 180° (square s is 63 − s).
    let start = "4k2r/8/2n5/8/8/8/4P3/R3K2R w KQk - 7 30";
    let tensor = input(Input::Planes119, Some(start), "e2e4");
    // Board planes 0 to 13 are the current position, 14 to 27 the one a ply earlier: own knight on c6 (42) in both;
    // their pawn on e4 (28), earlier on e2 (12).
    for (board, pawn) in [(0, 28), (14, 12)] {
        assert_eq!(plane(&tensor, board + 1), only(&[(63 - 42, 1.0)]));
        assert_eq!(plane(&tensor, board + 6), only(&[(63 - pawn, 1.0)]));
    }
    // No older boards; Black to move; move 30; castling rights: own king side, both of White's; half-move clock 0.
    for (index, value) in [
        (28, 0.0),
        (33, 0.0),
        (112, 0.0),
        (113, 30.0),
        (114, 1.0),
        (115, 0.0),
        (116, 1.0),
        (117, 1.0),
        (118, 0.0),
    ] {
        assert_eq!(plane(&tensor, index), constant(value), "{index}");
    }
}

#[test]
fn planes14_rotates_the_board_for_black() {
    let tensor = input(Input::Planes14, Some(FEW), "");
    // Rotated by 180°: square s is 63 − s. Own: knight c6 (42), rook h8 (63), king e8 (60).
    assert_eq!(plane(&tensor, 1), only(&[(63 - 42, 1.0)]));
    assert_eq!(plane(&tensor, 3), only(&[(0, 1.0)]));
    assert_eq!(plane(&tensor, 5), only(&[(3, 1.0)]));
    // White's: pawn e4 (28), rooks a1 (0) and h1 (7), king e1 (4).
    assert_eq!(plane(&tensor, 6), only(&[(63 - 28, 1.0)]));
    assert_eq!(plane(&tensor, 9), only(&[(63, 1.0), (56, 1.0)]));
    assert_eq!(plane(&tensor, 11), only(&[(59, 1.0)]));
    for index in [0, 2, 4, 7, 8, 10, 12, 13] {
        assert_eq!(plane(&tensor, index), constant(0.0), "{index}");
    }
}

#[test]
fn planes19_mirrors_the_board_for_black_and_has_castling_rights() {
    let tensor = input(Input::Planes19, Some(FEW), "");
    // Ranks mirrored: square s is s ^ 56.
    assert_eq!(plane(&tensor, 1), only(&[(42 ^ 56, 1.0)]));
    assert_eq!(plane(&tensor, 3), only(&[(7, 1.0)]));
    assert_eq!(plane(&tensor, 5), only(&[(4, 1.0)]));
    assert_eq!(plane(&tensor, 6), only(&[(28 ^ 56, 1.0)]));
    assert_eq!(plane(&tensor, 9), only(&[(56, 1.0), (63, 1.0)]));
    assert_eq!(plane(&tensor, 11), only(&[(60, 1.0)]));
    for index in [0, 2, 4, 7, 8, 10, 12, 13] {
        assert_eq!(plane(&tensor, index), constant(0.0), "{index}");
    }
    // Own king side, own queen side, theirs, theirs; Black moves.
    let whole = |tensor: &[f32]| [14, 15, 16, 17, 18].map(|index| plane(tensor, index).to_vec());
    assert_eq!(whole(&tensor), [1.0, 0.0, 1.0, 1.0, 1.0].map(constant));
    let white = input(Input::Planes19, Some(&FEW.replace(" b ", " w ")), "");
    assert_eq!(whole(&white), [1.0, 1.0, 1.0, 0.0, 0.0].map(constant));
    assert_eq!(plane(&white, 0), only(&[(28, 1.0)]));
}

#[test]
fn the_second_and_the_third_occurrence_are_encoded() {
    for scheme in [Input::Planes19, Input::Planes14] {
        let marks = |times: usize| {
            let tensor = input(scheme, None, &ROUND.repeat(times));
            [plane(&tensor, 12)[0], plane(&tensor, 13)[63]]
        };
        assert_eq!(
            [marks(0), marks(1), marks(2), marks(3)],
            [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]]
        );
    }
}

#[test]
fn onehot832_names_the_state_of_each_square_from_a8() {
    let tensor = input(Input::Onehot832, Some(FEW), "");
    assert_eq!(tensor.iter().sum::<f32>(), 64.0);
    // (row from the eighth rank, file, state): white P R K are 1, 4, 6, black N R K 8, 10, 12.
    let pieces = [(4, 4, 1), (7, 0, 4), (7, 7, 4), (7, 4, 6), (2, 2, 8), (0, 7, 10), (0, 4, 12)];
    for (row, file, state) in pieces {
        assert_eq!(tensor[(row * 8 + file) * 13 + state], 1.0, "{row} {file}");
    }
    // All others are empty: state 0.
    assert_eq!(tensor.iter().step_by(13).sum::<f32>(), 57.0);
    // The side to move is not encoded.
    assert_eq!(tensor, input(Input::Onehot832, Some(&FEW.replace(" b ", " w ")), ""));
    let start = input(Input::Onehot832, None, "");
    let states = |row: usize| -> Vec<usize> {
        let squares = start[row * 8 * 13..][..8 * 13].chunks(13);
        squares.map(|square| square.iter().position(|x| *x == 1.0).unwrap()).collect()
    };
    assert_eq!(states(0), [10, 8, 9, 11, 12, 9, 8, 10]);
    assert_eq!((states(1), states(3), states(6)), (vec![7; 8], vec![0; 8], vec![1; 8]));
    assert_eq!(states(7), [4, 2, 3, 5, 6, 3, 2, 4]);
}
