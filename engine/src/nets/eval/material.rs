//! Material and piece squares: the classical players' static evaluation, from their notebook (`search/players`).

use shakmaty::{Board, Chess, Color, Position, Role, Square};

use super::Wdl;

/// In centipawns.
const PIECE_VALUES: [(Role, i32); 5] =
    [(Role::Pawn, 100), (Role::Knight, 310), (Role::Bishop, 320), (Role::Rook, 500), (Role::Queen, 900)];

/// Centipawns by `[rank][file]` from a1. Black's pieces use the table unmirrored, as in the notebook; its halves differ
/// by a few centipawns.
#[rustfmt::skip]
const SQUARE_BONUS: [[i32; 8]; 8] = [
    [-50, -40, -30, -30, -30, -30, -40, -50],
    [-40, -20,   0,   0,   0,   0, -20, -40],
    [-30,   0,  10,  15,  15,  10,   0, -30],
    [-30,   5,  15,  20,  20,  15,   5, -30],
    [-30,   0,  15,  20,  20,  15,   0, -30],
    [-30,   5,  10,  15,  15,  10,   5, -30],
    [-40, -20,   0,   5,   5,   0, -20, -40],
    [-50, -40, -30, -30, -30, -30, -40, -50],
];

/// In centipawns.
pub fn for_white(board: &Board) -> i32 {
    sum(board, square_bonus)
}

/// Reads the table's rows as files, like the notebook's program (whose source writes them as ranks), for comparison
/// with its numbers.
pub fn by_files_for_white(board: &Board) -> i32 {
    sum(board, |square| SQUARE_BONUS[square.file() as usize][square.rank() as usize])
}

fn sum(board: &Board, bonus: impl Fn(Square) -> i32) -> i32 {
    let of_color = |color| {
        let value = |(role, value): (Role, i32)| {
            let pieces = board.by_color(color) & board.by_role(role);
            pieces.into_iter().map(|square| value + bonus(square)).sum::<i32>()
        };
        PIECE_VALUES.into_iter().map(value).sum::<i32>()
    };
    of_color(Color::White) - of_color(Color::Black)
}

pub fn for_mover(position: &Chess) -> i32 {
    position.turn().fold_wb(1, -1) * for_white(position.board())
}

/// [`for_mover`] as WDL, for networks without a value output; the search reports it as the same centipawns.
pub fn wdl(position: &Chess) -> Wdl {
    Wdl::of_centipawns(for_mover(position))
}

fn square_bonus(square: Square) -> i32 {
    SQUARE_BONUS[square.rank() as usize][square.file() as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::position::Game;

    fn white(fen: &str) -> i32 {
        for_white(Game::from_fen(fen).unwrap().position().board())
    }

    #[test]
    fn a_piece_counts_its_value_and_its_square_and_a_king_nothing() {
        for (fen, expected) in [
            ("4k3/8/8/8/8/8/8/4K3 w - - 0 1", 0),
            ("7k/8/8/8/8/8/8/4K3 w - - 0 1", 0),
            ("4k3/8/8/8/8/8/8/Q3K3 w - - 0 1", 900 - 50),
            ("4k3/8/8/8/4N3/8/8/4K3 w - - 0 1", 310 + 20),
            ("4k3/8/8/4b3/8/8/8/4K3 w - - 0 1", -(320 + 20)),
            ("4k3/8/8/8/8/8/2P5/4K3 w - - 0 1", 100),
            ("4k3/8/8/8/8/2P5/8/4K3 w - - 0 1", 100 + 10),
            ("8/3P4/8/8/8/8/8/4K2k w - - 0 1", 100 + 5),
            ("4k3/8/8/8/1P6/8/8/4K3 w - - 0 1", 100 + 5),
            ("4k3/8/8/8/8/8/3P4/4K3 w - - 0 1", 100),
            ("r3k3/6p1/8/8/8/8/8/4K2R w - - 0 1", -(100 - 20)),
        ] {
            assert_eq!(white(fen), expected, "{fen}");
        }
    }

    #[test]
    fn centipawns_become_win_draw_and_loss() {
        let wdl = |fen: &str| super::wdl(Game::from_fen(fen).unwrap().position());
        assert_eq!(wdl("4k3/8/8/8/8/8/8/4K3 w - - 0 1"), Wdl { win: 0.25, draw: 0.5, loss: 0.25 });
        // A rook on a1, 450: q = atan(5) / 1.5637541897 = 0.8783.
        let rook = wdl("4k3/8/8/8/8/8/8/R3K3 w - - 0 1");
        assert!((rook.q() - 0.8783).abs() < 1e-4 && (rook.win - 0.882).abs() < 1e-3, "{rook:?}");
        assert!((rook.win + rook.draw + rook.loss - 1.0).abs() < 1e-6);
        let behind = wdl("4k3/8/8/8/8/8/8/R3K3 b - - 0 1");
        assert_eq!(behind, rook.flipped());
    }

    #[test]
    fn the_value_for_the_mover_has_his_sign() {
        let fen = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4";
        let game = Game::from_fen(fen).unwrap();
        assert_eq!(white(fen), -60);
        assert_eq!(for_mover(game.position()), -60);
        let black = Game::from_fen(&fen.replace(" w ", " b ")).unwrap();
        assert_eq!(for_mover(black.position()), 60);
        // The table favours Black's centre pawns.
        assert_eq!(for_white(Game::new().position().board()), -10);
    }
}
