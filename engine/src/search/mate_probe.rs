//! The search for forced mates beside the visits: a slice of nodes now and then, about a tenth of the time.
//!
//! The root has the first slices, then every second one; the others go to the positions of the most visited line.

use shakmaty::Move;

use super::context::SearchContext;
use crate::mates::{ForcedMate, MateLimits, MateResult, MateSearch};
use crate::position::Game;

/// Nodes of a slice.
const SLICE: u64 = 1000;

/// How many times as many nodes a search spends that is asked for a mate: about half of the time.
const WANTED: u64 = 10;

/// Nodes that may be spent on a shorter mate than the first that is found: about 30 ms.
const SHORTEN: u64 = 100_000;

/// Slices that the root has before the positions below it.
const ROOT_SLICES: u64 = 2;

/// Plies of the most visited line whose positions are searched, the visits that their moves have at least, and the
/// slices that each gets at most.
const LINE_PLIES: usize = 4;
const LINE_VISITS: u32 = 100;
const LINE_SLICES: u32 = 16;

/// Bounds of the memory, which is a 32nd of the search's.
const LEAST_MEMORY: usize = 64 << 10;
const MOST_MEMORY: usize = 8 << 20;

/// Nodes for each visit, and for each evaluation of a batch: about a tenth of the time.
const NODES: u64 = 3;
const NODES_BATCHED: u64 = 30;

/// What has been found.
pub(super) enum Probed {
    /// A mate at the root.
    Mate(ForcedMate),
    /// There is none at the root within the moves that were asked for.
    NoMate,
    /// The side to move after this line mates in at most so many plies.
    MateAfter(Vec<Move>, u16),
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
    /// The slices that this search has had.
    slices: u64,
    /// Those that the positions of its most visited lines have had, by their hash.
    below: Vec<(u64, u32)>,
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
            slices: 0,
            below: Vec::new(),
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
        (self.allowed, self.slices) = (0, 0);
        self.below.clear();
        (self.finished, self.shortened) = (!self.enabled, !self.enabled);
    }

    /// Spends what so many more visits allow; returns the first mate that it finds, or that there is none at the root if
    /// that is asked. `most_visited` is the tree's.
    pub fn advance(
        &mut self,
        context: &SearchContext,
        visits: u64,
        most_visited: impl Fn(u32, usize) -> Vec<Move>,
        stop: &mut dyn FnMut() -> bool,
    ) -> Option<Probed> {
        let wanted = context.limits.mate.is_some();
        self.allowed += visits * self.rate * if wanted { WANTED } else { 1 };
        while self.enabled && self.allowed >= SLICE && !stop() {
            self.allowed -= SLICE;
            let below =
                !wanted && (self.finished || self.slices >= ROOT_SLICES && self.slices.is_multiple_of(2));
            let found = if below {
                self.probe_below(context, &most_visited(LINE_VISITS, LINE_PLIES), stop)
            } else {
                self.probe_root(context, stop)
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    fn probe_root(&mut self, context: &SearchContext, stop: &mut dyn FnMut() -> bool) -> Option<Probed> {
        if self.finished {
            return None;
        }
        match self.search(&context.root, self.moves, SLICE, stop) {
            MateResult::Mate(mate) => {
                self.finished = true;
                self.shortened |= mate.shortest;
                Some(Probed::Mate(mate))
            }
            MateResult::NoMate { .. } => {
                self.finished = true;
                context.limits.mate.map(|_| Probed::NoMate)
            }
            MateResult::Unknown { .. } => None,
        }
    }

    /// A slice for the position of `line` that has had the fewest.
    fn probe_below(
        &mut self,
        context: &SearchContext,
        line: &[Move],
        stop: &mut dyn FnMut() -> bool,
    ) -> Option<Probed> {
        let mut game = context.root.clone();
        let mut least: Option<(u32, usize, Game)> = None;
        for (place, m) in line.iter().enumerate() {
            game.play(*m);
            let slices =
                self.below.iter().find(|(hash, _)| *hash == game.hash()).map_or(0, |(_, slices)| *slices);
            if slices < least.as_ref().map_or(LINE_SLICES, |(slices, ..)| *slices) {
                least = Some((slices, place + 1, game.clone()));
            }
        }
        let (slices, plies, game) = least?;
        let result = self.search(&game, MateLimits::default().moves, SLICE, stop);
        let slices = if matches!(result, MateResult::Unknown { .. }) { slices + 1 } else { LINE_SLICES };
        match self.below.iter_mut().find(|(hash, _)| *hash == game.hash()) {
            Some(known) => known.1 = slices,
            None => self.below.push((game.hash(), slices)),
        }
        match result {
            MateResult::Mate(mate) => Some(Probed::MateAfter(line[..plies].to_vec(), mate.plies_at_most)),
            _ => None,
        }
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
        match self.search(&context.root, moves, SHORTEN, stop) {
            MateResult::Mate(mate) => Some(mate),
            _ => None,
        }
    }

    fn search(&mut self, game: &Game, moves: u8, nodes: u64, stop: &mut dyn FnMut() -> bool) -> MateResult {
        if let Some(search) = self.search.as_mut().filter(|_| self.slices == 0) {
            // What one search finds does not depend on those before it.
            search.clear();
        }
        self.slices += 1;
        let search = self.search.get_or_insert_with(|| MateSearch::new(self.memory));
        search.search(game, MateLimits { nodes, moves, ..MateLimits::default() }, stop)
    }
}
