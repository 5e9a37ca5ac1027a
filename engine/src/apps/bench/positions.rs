/// Openings, middlegames, endgames, and edge cases of move generation and search. A change here changes the signature.
pub const POSITIONS: [&str; 22] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    // Castling both ways, pins, promotions soon.
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    // Discovered checks, and an en-passant capture that a pin forbids.
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    // Capturing promotions while in check.
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
    // A pawn promotes with mate or a fork.
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    // Promotions and under-promotions, with and without capture.
    "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
    // En passant is legal.
    "rnbqkb1r/ppppp1pp/7n/4Pp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",
    // A Sicilian, a Ruy Lopez, a King's Indian, a Queen's Gambit.
    "rnbqkb1r/1p2pppp/p2p1n2/8/3NP3/2N5/PPP2PPP/R1BQKB1R w KQkq - 0 6",
    "r1bq1rk1/2p1bppp/p1np1n2/1p2p3/4P3/1BP2N1P/PP1P1PP1/RNBQR1K1 b - - 0 9",
    "r1bq1rk1/pppnn1bp/3p4/3Pp1p1/2P1Pp2/2N2P2/PP2BBPP/R2QNRK1 w - - 0 13",
    "r1bq1rk1/pp1n1ppp/2p1pn2/3p4/1bPP4/2NBPN2/PPQ2PPP/R1B1K2R w KQ - 4 8",
    // Mates in one, in two, and being mated.
    "5K2/8/2qk4/2nPp3/3r4/6B1/B7/3R4 w - e6 0 1",
    "8/5R2/2K1P3/4k3/8/b1PPpp1B/5p2/8 w - - 0 1",
    "2brrb2/8/p7/Q7/1p1kpPp1/1P1pN1K1/3P4/8 b - - 0 1",
    // Endgames: rook and pawn, opposite bishops, pawns alone, queen against pawn.
    "1K1k4/1P6/8/8/8/8/r7/2R5 w - - 0 1",
    "8/5k2/4p1p1/1b1pP1P1/p2B1K2/P7/1P6/8 w - - 12 60",
    "8/8/1p1k4/p1p2p2/P1P2P2/1P1K4/8/8 w - - 0 40",
    "8/8/8/8/8/4Q3/p1k5/4K3 w - - 0 1",
    // Two plies before the fifty-move rule, with a capture that resets it.
    "7k/8/5p2/8/8/R7/8/K6r w - - 98 120",
    // Chess960: rooks inside, castling across.
    "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
    "1r1k2r1/pp1b1ppp/2n1pn2/3p4/3P4/2NBPN2/PP3PPP/1R1K2R1 w GBgb - 0 9",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::position::Game;

    #[test]
    fn every_position_is_one_with_moves_to_play() {
        for fen in POSITIONS {
            let game = Game::from_fen(fen).unwrap();
            assert!(!game.legal_moves().is_empty(), "{fen}");
            assert_eq!(game.outcome(), None, "{fen}");
        }
    }
}
