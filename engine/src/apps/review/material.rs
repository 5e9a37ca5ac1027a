//! Sacrifices and game phases.

use shakmaty::{Bitboard, Board, Chess, Color, Move, Position, Role};

use crate::chess::position::played;

/// In plies.
const CAPTURES: u32 = 8;
/// A sacrifice gives up more, in centipawns.
const SACRIFICE: i32 = 100;
const BOUND: i32 = 100_000;

/// In centipawns; a king counts 0.
pub fn value_of(role: Role) -> i32 {
    match role {
        Role::Pawn => 100,
        Role::Knight | Role::Bishop => 300,
        Role::Rook => 500,
        Role::Queen => 900,
        Role::King => 0,
    }
}

/// Of the side to move, in centipawns.
pub fn balance(position: &Chess) -> i32 {
    let board = position.board();
    let of = |color| Role::ALL.map(|role| value_of(role) * count(board, color, role)).iter().sum::<i32>();
    of(position.turn()) - of(!position.turn())
}

fn count(board: &Board, color: Color, role: Role) -> i32 {
    (board.by_color(color) & board.by_role(role)).count() as i32
}

/// The balance after a quiescence search of captures.
pub fn settled(position: &Chess) -> i32 {
    quiescence(position, -BOUND, BOUND, CAPTURES)
}

fn quiescence(position: &Chess, mut alpha: i32, beta: i32, plies: u32) -> i32 {
    let mut best = balance(position);
    alpha = alpha.max(best);
    if plies == 0 || alpha >= beta {
        return best;
    }
    let mut captures = position.capture_moves();
    captures.sort_by_key(|m| (-m.capture().map_or(0, value_of), value_of(m.role())));
    for m in captures {
        best = best.max(-quiescence(&played(position, m), -beta, -alpha, plies - 1));
        alpha = alpha.max(best);
        if alpha >= beta {
            break;
        }
    }
    best
}

/// Whether, after all captures that pay, the move leaves clearly less material than stands on the board now, and less
/// than the move that keeps the most. A move that only takes less than it could is no sacrifice.
pub fn is_sacrifice(position: &Chess, m: Move) -> bool {
    let after = |m| {
        let next = played(position, m);
        if next.is_checkmate() { BOUND } else { -settled(&next) }
    };
    let kept = after(m);
    kept < BOUND
        && balance(position) - kept > SACRIFICE
        && position
            .legal_moves()
            .into_iter()
            .any(|other| (SACRIFICE + 1..BOUND).contains(&(after(other) - kept)))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Opening,
    Middlegame,
    /// At most six pieces besides kings and pawns.
    Endgame,
}

impl Phase {
    pub const ALL: [Phase; 3] = [Phase::Opening, Phase::Middlegame, Phase::Endgame];

    pub fn name(self) -> &'static str {
        match self {
            Phase::Opening => "Opening",
            Phase::Middlegame => "Middlegame",
            Phase::Endgame => "Endgame",
        }
    }

    /// scalachess's `Divider` without its count of mixed squares: the opening ends at ten pieces besides kings and
    /// pawns, or when a side has fewer than four pieces on its first rank. A phase never returns.
    pub fn after(before: Phase, board: &Board) -> Phase {
        let pieces = (board.occupied() & !(board.kings() | board.pawns())).count();
        let sparse =
            |color: Color, rank: shakmaty::Rank| (board.by_color(color) & Bitboard::from(rank)).count() < 4;
        let developed =
            sparse(Color::White, shakmaty::Rank::First) || sparse(Color::Black, shakmaty::Rank::Eighth);
        let phase = match pieces {
            0..=6 => Phase::Endgame,
            7..=10 => Phase::Middlegame,
            _ if developed => Phase::Middlegame,
            _ => Phase::Opening,
        };
        before.max(phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::position::Game;

    fn sacrifice(fen: &str, uci: &str) -> bool {
        let game = Game::from_fen(fen).unwrap();
        is_sacrifice(game.position(), game.parse_uci(uci).unwrap())
    }

    #[test]
    fn a_sacrifice_gives_up_more_than_a_pawn() {
        // Morphy's queen sacrifice at the opera: taken, but mate follows.
        let opera = "4kb1r/p2n1ppp/4q3/4p1B1/4P3/1Q6/PPP2PPP/2KR4 w k - 1 16";
        assert!(sacrifice(opera, "b3b8"));
        assert!(!sacrifice(opera, "b3e6"), "an exchange");
        // Legal's mate: the queen can be taken.
        assert!(sacrifice("rn1qkbnr/ppp2p1p/3p2p1/4p3/2B1P1b1/2N2N2/PPPP1PPP/R1BQK2R w KQkq - 0 5", "f3e5"));
        // A pawn, and a piece that is lost anyway.
        assert!(!sacrifice("rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2", "f2f4"));
        assert!(!sacrifice("k7/8/8/2p1p3/3N4/4P1P1/5P2/K7 b - - 0 1", "c5d4"));
        assert!(!sacrifice("4k3/8/8/p1p5/1N6/p7/8/K7 w - - 0 1", "b4d5"));
        assert!(!sacrifice("6k1/5ppp/8/8/8/8/8/3QK3 w - - 0 1", "d1d8"));
        // Ligterink–Timman: the bishop takes a knight and is taken; the pawn would have won it.
        assert!(!sacrifice("r4r2/3b1pkp/p1qp1np1/np2pN2/4P3/2P2N1P/PPB2PP1/R1Q1R1K1 b - - 5 22", "d7f5"));
    }

    #[test]
    fn phases_follow_the_pieces_and_never_go_back() {
        let phase = |before, fen: &str| Phase::after(before, Game::from_fen(fen).unwrap().position().board());
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        assert_eq!(phase(Phase::Opening, start), Phase::Opening);
        assert_eq!(phase(Phase::Middlegame, start), Phase::Middlegame);
        let developed = "r2q1rk1/pppbbppp/2np1n2/4p3/4P3/2NPBN2/PPPQBPPP/2KR3R w - - 6 9";
        assert_eq!(phase(Phase::Opening, developed), Phase::Middlegame);
        assert_eq!(phase(Phase::Opening, "4k3/8/8/8/8/8/4P3/R3K3 w - - 0 1"), Phase::Endgame);
    }
}
