//! The search for a forced mate at the root, beside the visits: a slice of nodes now and then, about a tenth of the time.

use super::context::SearchContext;
use crate::mates::{ForcedMate, MateLimits, MateResult, MateSearch};

/// Nodes of a slice.
const SLICE: u64 = 1000;

/// How many times as many nodes a search spends that is asked for a mate: about half of the time.
const WANTED: u64 = 10;

/// Nodes that may be spent on a shorter mate than the first that is found: about 20 ms.
const SHORTEN: u64 = 60_000;

/// Bounds of the memory, which is a 32nd of the search's.
const LEAST_MEMORY: usize = 64 << 10;
const MOST_MEMORY: usize = 8 << 20;

/// Nodes for each visit, and for each evaluation of a batch: about a tenth of the time.
const NODES: u64 = 3;
const NODES_BATCHED: u64 = 30;

/// What the search for a mate at the root has found.
pub(super) enum ProbeEnd {
    /// A mate.
    Mate(ForcedMate),
    /// There is none within the moves that were asked for.
    NoMate,
}

/// A search's look for a mate. One worker at a time goes on with it.
pub(super) struct MateProbe {
    /// Bytes for its table.
    memory: usize,
    /// Nodes for each visit.
    rate: u64,
    /// Made when it is needed first: most searches of few visits never get there.
    search: Option<MateSearch>,
    /// Nodes that the visits so far allow.
    allowed: u64,
    /// The attacker's moves to look for.
    moves: u8,
    /// Whether a mate may end this search.
    enabled: bool,
    /// Whether this search has had a slice.
    begun: bool,
    finished: bool,
    shortened: bool,
}

impl MateProbe {
    /// A probe for searches that have so many bytes in all, with or without native evaluators.
    pub fn new(memory: usize, native: bool) -> MateProbe {
        MateProbe {
            memory: MateProbe::memory(memory),
            rate: if native { NODES } else { NODES_BATCHED },
            search: None,
            allowed: 0,
            moves: 1,
            enabled: false,
            begun: false,
            finished: true,
            shortened: true,
        }
    }

    /// Bytes of the table, where a search has so many in all.
    pub fn memory(memory: usize) -> usize {
        (memory / 32).clamp(LEAST_MEMORY, MOST_MEMORY)
    }

    /// Before the first visit of a search.
    pub fn start(&mut self, context: &SearchContext) {
        // A search of all moves to the end is not ended by one mate; one of some moves is, by a mate that begins with one.
        let (looks, moves) = match context.limits.mate {
            Some(moves) => (true, moves.clamp(1, 31) as u8),
            None => (context.params.mates && !context.limits.all_moves, MateLimits::default().moves),
        };
        self.enabled = looks && context.params.solver;
        self.moves = moves;
        (self.allowed, self.begun) = (0, false);
        (self.finished, self.shortened) = (!self.enabled, !self.enabled);
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
            match self.search(context, self.moves, SLICE, stop) {
                MateResult::Mate(mate) => {
                    self.finished = true;
                    self.shortened |= mate.shortest;
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

    /// Looks once for a shorter mate than one in `plies`, which is proven.
    pub fn shorten(
        &mut self,
        context: &SearchContext,
        plies: u16,
        stop: &mut dyn FnMut() -> bool,
    ) -> Option<ForcedMate> {
        let moves = u8::try_from(plies / 2).ok().filter(|moves| (1..=31).contains(moves))?;
        if std::mem::replace(&mut self.shortened, true) {
            return None;
        }
        match self.search(context, moves, SHORTEN, stop) {
            MateResult::Mate(mate) => Some(mate),
            _ => None,
        }
    }

    fn search(
        &mut self,
        context: &SearchContext,
        moves: u8,
        nodes: u64,
        stop: &mut dyn FnMut() -> bool,
    ) -> MateResult {
        let begun = std::mem::replace(&mut self.begun, true);
        if let Some(search) = self.search.as_mut().filter(|_| !begun) {
            // What one search finds does not depend on those before it.
            search.clear();
        }
        let search = self.search.get_or_insert_with(|| MateSearch::new(self.memory));
        search.search(&context.root, MateLimits { nodes, moves, ..MateLimits::default() }, stop)
    }
}
