//! The search for a forced mate at the root, beside the visits: a slice of nodes now and then, about a tenth of the time.

use super::context::SearchContext;
use crate::mates::{ForcedMate, MateLimits, MateResult, MateSearch};

/// Nodes of a slice.
const SLICE: u64 = 1000;

/// One worker's mate search.
pub(super) struct MateProbe {
    search: MateSearch,
    /// Nodes for each visit.
    rate: u64,
    /// Nodes that the visits so far allow.
    allowed: u64,
    /// Whether this search has had a slice.
    begun: bool,
    finished: bool,
}

impl MateProbe {
    /// A probe with so much memory that spends `rate` nodes for each visit.
    pub fn new(bytes: usize, rate: u64) -> MateProbe {
        MateProbe { search: MateSearch::new(bytes), rate, allowed: 0, begun: false, finished: true }
    }

    /// Before the first visit of a search.
    pub fn start(&mut self, context: &SearchContext) {
        let all_moves = context.root_moves.len() == context.root.legal_moves().len();
        // A search of some moves, or of all of them to the end, is not ended by one mate.
        self.finished =
            !context.params.solver || !context.params.mates || !all_moves || context.limits.all_moves;
        (self.allowed, self.begun) = (0, false);
    }

    /// Spends what so many more visits allow; returns the mate when it is found.
    pub fn advance(
        &mut self,
        context: &SearchContext,
        visits: u64,
        stop: &mut dyn FnMut() -> bool,
    ) -> Option<ForcedMate> {
        self.allowed += visits * self.rate;
        while !self.finished && self.allowed >= SLICE && !stop() {
            self.allowed -= SLICE;
            if !std::mem::replace(&mut self.begun, true) {
                // What one search finds does not depend on those before it. Most searches of few visits never get here.
                self.search.clear();
            }
            let limits = MateLimits { nodes: SLICE, ..MateLimits::default() };
            match self.search.search(&context.root, limits, stop) {
                MateResult::Mate(mate) => {
                    self.finished = true;
                    return Some(mate);
                }
                MateResult::NoMate { .. } => self.finished = true,
                MateResult::Unknown { .. } => {}
            }
        }
        None
    }
}
