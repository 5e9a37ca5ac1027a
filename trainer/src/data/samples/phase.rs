use shakmaty::Board;

/// By the number of pieces other than pawns and kings (14 in the initial position). The bounds are those of Lichess
/// (`Divider` in scalachess), which also considers how mixed the pieces are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// 11 pieces or more.
    Opening,
    /// 7 to 10 pieces.
    Middlegame,
    /// 6 pieces or fewer.
    Endgame,
}

impl Phase {
    /// Indexed by `phase as usize`.
    pub const ALL: [Phase; 3] = [Phase::Opening, Phase::Middlegame, Phase::Endgame];

    pub fn of(board: &Board) -> Phase {
        let pieces = board.occupied() & !board.pawns() & !board.kings();
        Phase::of_pieces(pieces.count() as u32)
    }

    /// `pieces` excludes pawns and kings.
    pub fn of_pieces(pieces: u32) -> Phase {
        match pieces {
            11.. => Phase::Opening,
            7..=10 => Phase::Middlegame,
            _ => Phase::Endgame,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Phase::Opening => "opening",
            Phase::Middlegame => "middlegame",
            Phase::Endgame => "endgame",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_decide_pawns_and_kings_do_not() {
        let of = |placement: &str| Phase::of(&placement.parse().unwrap());
        assert_eq!(of("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR"), Phase::Opening);
        assert_eq!(of("r1bqkb1r/8/8/8/8/8/8/R1BQKB1R"), Phase::Middlegame, "ten pieces without a pawn");
        assert_eq!(of("r1bqkb1r/8/8/8/8/8/8/RNBQKB1R"), Phase::Opening, "eleven");
        assert_eq!(of("r2qk2r/pppppppp/8/8/8/8/PPPPPPPP/R2QK2R"), Phase::Endgame, "six with all pawns");
        assert_eq!(of("r2qk2r/8/8/8/8/8/8/RN1QK2R"), Phase::Middlegame, "seven");
        assert_eq!(of("4k3/8/8/8/8/8/8/4K3"), Phase::Endgame);
    }

    #[test]
    fn a_phase_is_its_index() {
        for (index, phase) in Phase::ALL.into_iter().enumerate() {
            assert_eq!(phase as usize, index);
        }
    }
}
