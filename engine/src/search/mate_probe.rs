//! The search for a forced mate at the root, beside the visits: a slice of nodes now and then, about a tenth of the time.

use super::context::SearchContext;
use crate::mates::{ForcedMate, MateLimits, MateResult, MateSearch};

/// Nodes of a slice.
const SLICE: u64 = 1000;

/// How many times as many nodes a search spends that is asked for a mate: about half of the time.
const WANTED: u64 = 10;

/// What the search for a mate at the root has found.
pub(super) enum ProbeEnd {
    /// A mate.
    Mate(ForcedMate),
    /// There is none within the moves that were asked for.
    NoMate,
}

/// One worker's mate search.
pub(super) struct MateProbe {
    search: MateSearch,
    /// Nodes for each visit.
    rate: u64,
    /// Nodes that the visits so far allow.
    allowed: u64,
    /// The attacker's moves to look for.
    moves: u8,
    /// Whether this search has had a slice.
    begun: bool,
    finished: bool,
}

impl MateProbe {
    /// A probe with so much memory that spends `rate` nodes for each visit.
    pub fn new(bytes: usize, rate: u64) -> MateProbe {
        MateProbe { search: MateSearch::new(bytes), rate, allowed: 0, moves: 1, begun: false, finished: true }
    }

    /// Before the first visit of a search.
    pub fn start(&mut self, context: &SearchContext) {
        let all_moves = context.root_moves.len() == context.root.legal_moves().len();
        // A search of some moves, or of all of them to the end, is not ended by one mate.
        let (looks, moves) = match context.limits.mate {
            Some(moves) => (true, moves.clamp(1, 31) as u8),
            None => (context.params.mates && !context.limits.all_moves, MateLimits::default().moves),
        };
        self.finished = !(looks && context.params.solver && all_moves);
        self.moves = moves;
        (self.allowed, self.begun) = (0, false);
    }

    /// Spends what so many more visits allow; returns what ends the search.
    pub fn advance(
        &mut self,
        context: &SearchContext,
        visits: u64,
        stop: &mut dyn FnMut() -> bool,
    ) -> Option<ProbeEnd> {
        let wanted = context.limits.mate.is_some();
        self.allowed += visits * self.rate * if wanted { WANTED } else { 1 };
        while !self.finished && self.allowed >= SLICE && !stop() {
            self.allowed -= SLICE;
            if !std::mem::replace(&mut self.begun, true) {
                // What one search finds does not depend on those before it. Most searches of few visits never get here.
                self.search.clear();
            }
            let limits = MateLimits { nodes: SLICE, moves: self.moves, ..MateLimits::default() };
            match self.search.search(&context.root, limits, stop) {
                MateResult::Mate(mate) => {
                    self.finished = true;
                    return Some(ProbeEnd::Mate(mate));
                }
                MateResult::NoMate { .. } => {
                    self.finished = true;
                    if wanted {
                        return Some(ProbeEnd::NoMate);
                    }
                }
                MateResult::Unknown { .. } => {}
            }
        }
        None
    }
}
