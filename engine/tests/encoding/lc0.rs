//! `lc0-112/1` and `lc0-1858/1` against lc0's tests and labels and handmade rows.

use engine::chess::position::Game;
use engine::nets::encoding::lc0_112::{self, INPUT_SIZE, PLANES};
use engine::nets::encoding::lc0_1858;
use serde_json::Value;
use shakmaty::{Color, Move, Role, Square};

use super::{constant, labelled, only, plane, replay, root};

fn input(game: &Game) -> Vec<f32> {
    let mut tensor = vec![f32::NAN; INPUT_SIZE];
    lc0_112::encode(game).write(&mut tensor);
    tensor
}

/// A plane of lc0's tests: mask and value.
fn expected(row: &Value) -> Vec<f32> {
    let value = row.get(2).and_then(Value::as_f64).unwrap_or(1.0) as f32;
    match row[0].as_str().unwrap() {
        "mask" => {
            let mask = u64::from_str_radix(row[1].as_str().unwrap(), 16).unwrap();
            (0..64).map(|square| (mask >> square & 1) as f32 * value).collect()
        }
        "bit" => only(&[(row[1].as_u64().unwrap() as usize, value)]),
        "all" => constant(row[1].as_f64().unwrap() as f32),
        "zero" | "all zero" => constant(0.0),
        other => panic!("{other}"),
    }
}

#[test]
fn matches_the_tests_of_lc0() {
    let text = std::fs::read_to_string(root().join("tests/data/lc0_112.jsonl")).unwrap();
    assert_eq!(text.lines().count(), 4);
    for row in text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let fen = row["fen"].as_str().filter(|fen| *fen != "startpos");
        let tensor = input(&replay(fen, row["moves"].as_str().unwrap()));
        for (planes, values) in row["planes"].as_object().unwrap() {
            let (first, last) = planes.split_once("..").unwrap_or((planes, planes));
            for index in first.parse().unwrap()..=last.parse().unwrap() {
                assert_eq!(plane(&tensor, index), expected(values), "{}, plane {index}", row["test"]);
            }
        }
    }
}

#[test]
fn castling_rights_begin_with_the_queen_side_and_black_to_move_is_encoded() {
    let flags = |fen: &str| {
        let tensor = input(&replay(Some(fen), ""));
        [104, 105, 106, 107, 108].map(|index| {
            let plane = plane(&tensor, index);
            assert!(plane.iter().all(|x| *x == plane[0]));
            plane[0]
        })
    };
    assert_eq!(flags("r3k2r/8/8/8/8/8/8/R3K2R w Qk - 0 1"), [1.0, 0.0, 0.0, 1.0, 0.0]);
    assert_eq!(flags("r3k2r/8/8/8/8/8/8/R3K2R b Qk - 0 1"), [0.0, 1.0, 1.0, 0.0, 1.0]);
    assert_eq!(flags("rk5r/8/8/8/8/8/8/RK5R b HAa - 0 1"), [1.0, 0.0, 1.0, 1.0, 1.0]);
}

#[test]
fn the_clock_is_not_scaled() {
    let tensor = input(&replay(Some("7k/8/8/8/8/8/R7/K7 w - - 120 250"), ""));
    assert_eq!(plane(&tensor, 109), constant(120.0));
}

#[test]
fn history_is_from_the_current_movers_view() {
    // After 1. e4 e5 2. Nf3 Black moves: three boards back, all mirrored, none before the start.
    let tensor = input(&replay(None, "e2e4 e7e5 g1f3"));
    let (e2, e4, e5, e7) = (12, 28, 36, 52);
    let pawns = |board: usize| [0, 6].map(|offset| plane(&tensor, board * 13 + offset));
    for (board, own, theirs) in [(0, e4, e5), (1, e4, e5), (2, e2, e5), (3, e2, e7)] {
        let [mine, yours] = pawns(board);
        assert_eq!((mine.iter().sum::<f32>(), yours.iter().sum::<f32>()), (8.0, 8.0));
        assert_eq!((mine[own], yours[theirs]), (1.0, 1.0), "{board} plies ago");
    }
    assert!(tensor[4 * 13 * 64..104 * 64].iter().all(|x| *x == 0.0));
}

#[test]
fn repetitions_are_marked_on_their_boards() {
    let round = "g1f3 g8f6 f3g1 f6g8 ";
    let marks = |moves: &str| {
        let tensor = input(&replay(None, moves));
        (0..8).filter(|board| plane(&tensor, board * 13 + 12) == constant(1.0)).collect::<Vec<_>>()
    };
    assert_eq!(marks(round), [0]);
    assert_eq!(marks(&format!("{round}g1f3")), [0, 1]);
    assert_eq!(marks(&format!("{round}e2e4")), [1]);
    assert_eq!(marks(&format!("{round}{round}")), [0, 1, 2, 3, 4]);
}

#[test]
fn a_position_set_up_repeats_its_oldest_board() {
    let game = replay(Some("4k3/8/8/8/8/8/4P3/4K3 w - - 5 20"), "e1d1 e8d8 e2e3");
    let tensor = input(&game);
    // Black moves: White's pawn on e3 is on e6 (44), on e2 it was on e7 (52).
    for board in 0..8 {
        let square = if board == 0 { 44 } else { 52 };
        assert_eq!(plane(&tensor, board * 13 + 6), only(&[(square, 1.0)]), "{board} plies ago");
        let king = if board < 3 { 59 } else { 60 };
        assert_eq!(plane(&tensor, board * 13 + 11), only(&[(king, 1.0)]), "{board} plies ago");
        assert_eq!(plane(&tensor, board * 13 + 12), constant(0.0));
    }
    // The initial position has no history, even if given as a FEN.
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    assert_eq!(input(&replay(Some(start), "e2e4")), input(&replay(None, "e2e4")));
    // With the other side to move, or other rights, it is not the initial position.
    for other in ["b KQkq", "w KQk"] {
        let tensor = input(&replay(Some(&start.replace("w KQkq", other)), ""));
        assert_eq!(tensor[7 * 13 * 64..][..12 * 64], tensor[..12 * 64]);
    }
}

#[test]
fn a_pawn_that_was_just_pushed_is_put_back_in_the_filled_history() {
    // White has played e2e4. Black moves and sees the pawn on e5 (36), before that on e7 (52).
    let fen = "4k3/8/8/8/3pP3/8/8/4K3 b - e3 0 1";
    let pawns = |tensor: &[f32], board: usize, offset: usize| plane(tensor, board * 13 + offset).to_vec();
    let tensor = input(&replay(Some(fen), ""));
    assert_eq!(pawns(&tensor, 0, 6), only(&[(36, 1.0)]));
    for board in 1..8 {
        assert_eq!(pawns(&tensor, board, 6), only(&[(52, 1.0)]));
        assert_eq!(pawns(&tensor, board, 0), only(&[(35, 1.0)]));
    }
    // A ply later it is White's own: e4 (28) now and one ply ago, e2 (12) before.
    let tensor = input(&replay(Some(fen), "e8e7"));
    let own = |board| pawns(&tensor, board, 0);
    assert_eq!([own(0), own(1), own(2), own(7)], [28, 28, 12, 12].map(|square| only(&[(square, 1.0)])));
    assert_eq!(tensor.len(), PLANES * 64);
}

#[test]
fn indices_are_those_of_lc0s_labels() {
    let text = std::fs::read_to_string(root().join("tests/data/labels_1858_lc0.txt")).unwrap();
    let labels: Vec<&str> = text.lines().collect();
    assert_eq!(labels.len(), lc0_1858::SIZE);
    for (index, label) in labels.into_iter().enumerate() {
        for turn in Color::ALL {
            assert_eq!(lc0_1858::index(turn, labelled(label, turn)).offset(), index, "{label}");
        }
    }
}

#[test]
fn castling_and_promotions_have_leelas_labels() {
    let index = |fen: &str, uci: &str| {
        let game = replay(Some(fen), "");
        lc0_1858::index(game.turn(), game.parse_uci(uci).unwrap()).0
    };
    let label = |from: u16, to: u16| {
        let squares = |square| Square::new(u32::from(square));
        let (from, to) = (squares(from), squares(to));
        let m = Move::Normal { role: Role::Queen, from, capture: None, to, promotion: None };
        lc0_1858::index(Color::White, m).0
    };
    let castling = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1";
    assert_eq!([index(castling, "e1g1"), index(castling, "e1c1")], [label(4, 7), label(4, 0)]);
    let castling = castling.replace(" w ", " b ");
    assert_eq!([index(&castling, "e8g8"), index(&castling, "e8c8")], [label(4, 7), label(4, 0)]);
    assert_eq!(index("1k6/8/8/8/8/8/8/RK5R w HA - 0 1", "b1h1"), label(1, 7));
    // Straight and to the right, by White and by Black: a knight's promotion is the plain move.
    let white = "1n2k3/P7/8/8/8/8/8/4K3 w - - 0 1";
    assert_eq!(["a7a8q", "a7a8r", "a7a8b"].map(|uci| index(white, uci)), [1792, 1793, 1794]);
    assert_eq!(["a7b8q", "a7b8r", "a7b8b"].map(|uci| index(white, uci)), [1795, 1796, 1797]);
    assert_eq!([index(white, "a7a8n"), index(white, "a7b8n")], [label(48, 56), label(48, 57)]);
    let black = "4k3/8/8/8/8/8/7p/4K1N1 b - - 0 1";
    assert_eq!(["h2g1r", "h2h1q", "h2h1b"].map(|uci| index(black, uci)), [1853, 1855, 1857]);
    assert_eq!(index(black, "h2h1n"), label(55, 63));
    assert_eq!([label(12, 28), label(6, 21)], [322, 159]);
}
