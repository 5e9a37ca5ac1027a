//! `gym4672/1`, `uci1968/1` and `uci1968m/1` against the indices and labels of the projects they come from.

use engine::nets::encoding::Policy;
use shakmaty::Color;

use super::{labelled, replay, root};

fn index(scheme: Policy, fen: Option<&str>, uci: &str) -> u16 {
    let (before, last) = uci.rsplit_once(' ').unwrap_or(("", uci));
    let game = replay(fen, before);
    scheme.index(game.turn(), game.parse_uci(last).unwrap()).0
}

#[test]
fn gym4672_is_gym_chess_on_all_legal_moves() {
    let text = std::fs::read_to_string(root().join("tests/data/gym4672.tsv")).unwrap();
    let mut count = 0;
    for line in text.lines() {
        let (fen, moves) = line.split_once('\t').unwrap();
        let game = replay(Some(fen), "");
        assert_eq!(moves.split(',').count(), game.legal_moves().len(), "{fen}");
        for (uci, action) in moves.split(',').map(|entry| entry.split_once(' ').unwrap()) {
            assert_eq!(index(Policy::Gym4672, Some(fen), uci).to_string(), action, "{uci} in {fen}");
            count += 1;
        }
    }
    assert_eq!(count, 360);
}

#[test]
fn gym4672_has_the_indices_of_the_format() {
    let white = |fen: &str, uci: &str| index(Policy::Gym4672, Some(fen), uci);
    assert_eq!(index(Policy::Gym4672, None, "e2e4"), 877);
    assert_eq!(index(Policy::Gym4672, None, "g1f3"), 501);
    assert_eq!(index(Policy::Gym4672, None, "e2e4 e7e5"), 804);
    assert_eq!(index(Policy::Gym4672, None, "e2e4 g8f6"), 129);
    assert_eq!(white("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1g1"), 307);
    assert_eq!(white("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "e8g8"), 262);
    assert_eq!(white("n3k3/1P6/8/8/8/8/8/4K3 w - - 0 1", "b7a8n"), 3641);
    // Castling takes the rook if the king is elsewhere: b1 (1) to h1 is east by six.
    assert_eq!(white("1k6/8/8/8/8/8/8/RK5R w HA - 0 1", "b1h1"), 73 + 14 + 5);
}

#[test]
fn uci1968_is_the_index_in_chess_alpha_zeros_labels() {
    let text = std::fs::read_to_string(root().join("tests/data/labels_1968_chess-alpha-zero.txt")).unwrap();
    let labels: Vec<&str> = text.lines().collect();
    assert_eq!(labels.len(), Policy::Uci1968.size());
    assert_eq!(labels.len(), Policy::Uci1968m.size());
    for (place, label) in labels.into_iter().enumerate() {
        let m = labelled(label, Color::White);
        for turn in Color::ALL {
            assert_eq!(Policy::Uci1968.index(turn, m).offset(), place, "{label}");
            assert_eq!(Policy::Uci1968m.index(turn, labelled(label, turn)).offset(), place, "{label}");
        }
    }
}

#[test]
fn only_uci1968m_is_mirrored_for_black() {
    let castling = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1";
    let promotions = "4k1n1/P6P/8/8/8/8/p6p/4K1N1 w - - 0 1";
    let [black_castling, black_promotions] = [castling, promotions].map(|fen| fen.replace(" w ", " b "));
    for scheme in [Policy::Uci1968, Policy::Uci1968m] {
        assert_eq!([index(scheme, None, "e2e4"), index(scheme, None, "g1f3")], [930, 1402]);
        assert_eq!(index(scheme, Some(castling), "e1g1"), 901);
        assert_eq!(index(scheme, Some(promotions), "a7a8q"), 1793);
        assert_eq!(index(scheme, Some(promotions), "h7g8r"), 1959);
    }
    let mirrored = Policy::Uci1968m;
    assert_eq!([index(mirrored, None, "a2a3 e7e5"), index(mirrored, None, "a2a3 g8f6")], [930, 1402]);
    assert_eq!(index(mirrored, Some(&black_castling), "e8g8"), 901);
    assert_eq!(index(mirrored, Some(&black_promotions), "a2a1q"), 1793);
    assert_eq!(index(mirrored, Some(&black_promotions), "h2g1r"), 1959);
    // Absolute: Black's promotions are just before White's.
    assert_eq!(index(Policy::Uci1968, Some(&black_promotions), "a2a1q"), 1792);
    assert_eq!(index(Policy::Uci1968, Some(&black_promotions), "h2g1r"), 1958);
    assert_ne!(index(Policy::Uci1968, None, "a2a3 e7e5"), 930);
}
