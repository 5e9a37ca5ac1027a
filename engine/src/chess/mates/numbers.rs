/// Proof number of a refuted, disproof number of a proven position.
pub(super) const INFINITE: u32 = (1 << 20) - 1;

/// Greatest limit, in moves of the attacker.
pub(super) const MOST_MOVES: u8 = 31;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    /// 0 if proven.
    pub proof: u32,
    /// 0 if there is no mate within the limit.
    pub disproof: u32,
    /// Of the attacker. If proven, the mate takes at most this many; if disproven, no mate exists within them.
    pub moves: u8,
}

impl Numbers {
    pub fn mate(moves: u8) -> Numbers {
        Numbers { proof: 0, disproof: INFINITE, moves }
    }

    pub fn no_mate(moves: u8) -> Numbers {
        Numbers { proof: INFINITE, disproof: 0, moves: moves.min(MOST_MOVES) }
    }

    /// A draw, or the attacker is mated.
    pub const NEVER: Numbers = Numbers { proof: INFINITE, disproof: 0, moves: MOST_MOVES };

    pub fn open(proof: u32, disproof: u32) -> Numbers {
        Numbers { proof: proof.clamp(1, INFINITE - 1), disproof: disproof.clamp(1, INFINITE - 1), moves: 0 }
    }

    pub fn is_mate(self) -> bool {
        self.proof == 0
    }

    pub fn is_refuted(self) -> bool {
        self.disproof == 0
    }
}

/// A search returns when a number reaches its bound.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberBounds {
    pub proof: u32,
    pub disproof: u32,
}

impl NumberBounds {
    /// Ends only with a proof or a refutation.
    pub const NONE: NumberBounds = NumberBounds { proof: INFINITE, disproof: INFINITE };

    pub fn reached(self, proof: u32, disproof: u32) -> bool {
        proof >= self.proof || disproof >= self.disproof
    }
}

/// The proof number at which the search leaves the best child: a quarter above the second best's, to avoid oscillation
/// (Pawlewicz and Lew).
pub(super) fn beyond(second: u32) -> u32 {
    (second + second / 4 + 1).min(INFINITE)
}
