use serde::{Deserialize, Serialize};
use shakmaty::uci::UciMove;
use shakmaty::{Chess, Move, Position, Role, Square};

/// `from | to << 6 | promotion << 12`, as in `games/1` and the search tree. Promotion is 0 for none, 2 N, 3 B, 4 R, 5 Q
/// (shakmaty's role numbers). Castling is king takes rook, in standard chess too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PackedMove(pub u16);

impl PackedMove {
    pub fn new(m: Move) -> PackedMove {
        let from = m.from().expect("chess has no drops");
        let promotion = m.promotion().map_or(0, |role| role as u16);
        PackedMove(from as u16 | (m.to() as u16) << 6 | promotion << 12)
    }

    pub fn from(self) -> Square {
        Square::new(u32::from(self.0 & 63))
    }

    /// For castling, the rook's square.
    pub fn to(self) -> Square {
        Square::new(u32::from(self.0 >> 6 & 63))
    }

    fn promotion(self) -> Option<Option<Role>> {
        match self.0 >> 12 {
            0 => Some(None),
            2 => Some(Some(Role::Knight)),
            3 => Some(Some(Role::Bishop)),
            4 => Some(Some(Role::Rook)),
            5 => Some(Some(Role::Queen)),
            _ => None,
        }
    }

    /// The move must be legal in `position`; much cheaper than [`PackedMove::to_move`].
    pub fn to_legal_move(self, position: &Chess) -> Move {
        let (from, to, board) = (self.from(), self.to(), position.board());
        let role = board.role_at(from).unwrap_or(Role::Pawn);
        let capture = board.role_at(to);
        if role == Role::King && (board.by_color(position.turn()) & board.rooks()).contains(to) {
            Move::Castle { king: from, rook: to }
        } else if role == Role::Pawn && from.file() != to.file() && capture.is_none() {
            Move::EnPassant { from, to }
        } else {
            Move::Normal { role, from, capture, to, promotion: self.promotion().flatten() }
        }
    }

    /// `None` if illegal in `position`.
    pub fn to_move(self, position: &Chess) -> Option<Move> {
        let promotion = self.promotion()?;
        UciMove::Normal { from: self.from(), to: self.to(), promotion }.to_move(position).ok().filter(|m| {
            // e1g1 is castling in UCI notation but not in this packing.
            PackedMove::new(*m) == self
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::position::Game;

    #[test]
    fn castling_is_king_takes_rook() {
        let game = Game::from_fen("4k3/8/8/8/8/8/8/4K2R w K - 0 1").unwrap();
        let castle = game.parse_uci("e1g1").unwrap();
        let packed = PackedMove::new(castle);
        assert_eq!(packed.0, 4 | 7 << 6);
        assert_eq!(packed.to_move(game.position()), Some(castle));
        assert_eq!(PackedMove(4 | 6 << 6).to_move(game.position()), None, "e1g1 is not its packing");
    }

    #[test]
    fn every_legal_move_survives_packing() {
        for fen in [
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
            "8/8/8/2k5/3Pp3/8/8/4K3 b - d3 0 1",
        ] {
            let game = Game::from_fen(fen).unwrap();
            for m in game.legal_moves() {
                assert_eq!(PackedMove::new(m).to_move(game.position()), Some(m));
                assert_eq!(PackedMove::new(m).to_legal_move(game.position()), m);
            }
        }
    }

    #[test]
    fn illegal_and_malformed_are_none() {
        let game = Game::new();
        assert_eq!(PackedMove(12 | 36 << 6).to_move(game.position()), None, "e2e5");
        assert_eq!(PackedMove(12 | 28 << 6 | 1 << 12).to_move(game.position()), None, "promotion 1");
    }
}
