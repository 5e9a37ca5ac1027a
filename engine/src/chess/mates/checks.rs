use shakmaty::attacks::{
    between, bishop_attacks, king_attacks, knight_attacks, pawn_attacks, queen_attacks, ray, rook_attacks,
};
use shakmaty::{Bitboard, Chess, Move, Position, Role, Square};

use crate::chess::position::played;

/// Squares from which each piece type of the side to move gives check.
pub(super) struct CheckSquares {
    king: Square,
    occupied: Bitboard,
    pawn: Bitboard,
    knight: Bitboard,
    bishop: Bitboard,
    rook: Bitboard,
    /// Pieces that give a discovered check by leaving their line.
    discoverers: Bitboard,
}

impl CheckSquares {
    pub fn of(position: &Chess) -> CheckSquares {
        let attacker = position.turn();
        let board = position.board();
        let king = king_of(position, !attacker);
        let occupied = board.occupied();
        let ours = board.by_color(attacker);
        let straight = rook_attacks(king, Bitboard::EMPTY) & board.rooks_and_queens();
        let diagonal = bishop_attacks(king, Bitboard::EMPTY) & board.bishops_and_queens();
        let mut discoverers = Bitboard::EMPTY;
        for slider in (straight | diagonal) & ours {
            let on_line = between(king, slider) & occupied;
            if !on_line.more_than_one() {
                discoverers |= on_line & ours;
            }
        }
        CheckSquares {
            king,
            occupied,
            pawn: pawn_attacks(!attacker, king),
            knight: knight_attacks(king),
            bishop: bishop_attacks(king, occupied),
            rook: rook_attacks(king, occupied),
            discoverers,
        }
    }

    pub fn given_by(&self, position: &Chess, m: Move) -> bool {
        let Move::Normal { role, from, to, promotion, .. } = m else {
            // Castling and en passant open or close other lines.
            return played(position, m).is_check();
        };
        let direct = match promotion {
            // The pawn's origin may be on the promoted piece's line.
            Some(Role::Queen) => queen_attacks(to, self.occupied.without(from)).contains(self.king),
            Some(Role::Rook) => rook_attacks(to, self.occupied.without(from)).contains(self.king),
            Some(Role::Bishop) => bishop_attacks(to, self.occupied.without(from)).contains(self.king),
            Some(_) => self.knight.contains(to),
            None => match role {
                Role::Pawn => self.pawn.contains(to),
                Role::Knight => self.knight.contains(to),
                Role::Bishop => self.bishop.contains(to),
                Role::Rook => self.rook.contains(to),
                Role::Queen => (self.bishop | self.rook).contains(to),
                Role::King => false,
            },
        };
        direct || self.discoverers.contains(from) && !ray(self.king, from).contains(to)
    }
}

/// Adds the checks tried to `nodes`.
pub(crate) fn mate_in_one(position: &Chess, nodes: &mut u64) -> Option<Move> {
    let checks = CheckSquares::of(position);
    position.legal_moves().into_iter().find(|&m| {
        checks.given_by(position, m) && {
            *nodes += 1;
            is_mate(&played(position, m))
        }
    })
}

/// Of the side not to move.
pub(super) fn flights(position: &Chess) -> u32 {
    flight_squares(position, !position.turn()).count() as u32
}

fn is_mate(position: &Chess) -> bool {
    // The king nearly always has a flight square, which saves generating all replies.
    flight_squares(position, position.turn()).next().is_none() && position.legal_moves().is_empty()
}

fn flight_squares(position: &Chess, side: shakmaty::Color) -> impl Iterator<Item = Square> + '_ {
    let board = position.board();
    let king = king_of(position, side);
    let without_king = board.occupied().without(king);
    (king_attacks(king) & !board.by_color(side))
        .into_iter()
        .filter(move |&to| board.attacks_to(to, !side, without_king).is_empty())
}

fn king_of(position: &Chess, side: shakmaty::Color) -> Square {
    position.board().king_of(side).expect("each side has a king")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::position::Game;

    #[test]
    fn checks_and_mates_are_those_of_the_position_after_the_move() {
        let mut compared = [0; 3];
        for fen in [
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
            "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
            "8/8/8/2k5/3Pp3/8/8/4KB1R b K d3 0 1",
            "5k2/8/8/8/8/8/8/4K2R w K - 0 1",
            "4N3/1P1k4/8/3B4/3R1R2/8/3Q4/1r1rK3 w - - 0 1",
            // After Nb3 or Nc4 and Kh8, the rook mates.
            "6k1/5ppp/8/n7/8/8/8/3RK3 b - - 0 1",
        ] {
            let game = Game::from_fen(fen).unwrap();
            for first in game.legal_moves() {
                let position = played(game.position(), first);
                let checks = CheckSquares::of(&position);
                let mut mates = false;
                for m in position.legal_moves() {
                    let next = played(&position, m);
                    assert_eq!(checks.given_by(&position, m), next.is_check(), "{fen} {first} {m}");
                    mates |= next.is_checkmate();
                    compared[usize::from(next.is_check())] += 1;
                }
                assert_eq!(mate_in_one(&position, &mut 0).is_some(), mates, "{fen} {first}");
                compared[2] += usize::from(mates);
            }
        }
        assert!(compared[0] > 1000 && compared[1] > 30 && compared[2] >= 3, "{compared:?}");
    }

    #[test]
    fn flights_are_the_squares_that_nobody_attacks() {
        let flights = |fen| flights(Game::from_fen(fen).unwrap().position());
        assert_eq!(flights("7k/8/8/8/8/8/8/K5R1 w - - 0 1"), 1, "h7");
        assert_eq!(flights("7k/8/6K1/8/8/8/8/R7 w - - 0 1"), 1, "g8");
        assert_eq!(flights("k7/8/8/3K4/8/8/8/8 w - - 0 1"), 3);
    }
}
