//! Searches for forced mates between visits, in slices of nodes: about a tenth of the time in decided games, less
//! otherwise. The root gets the first slices, then every second one, or all while it is winning. Positions of the most
//! visited line get the others.

use shakmaty::Move;

use crate::chess::mates::{ForcedMate, MateLimits, MateResult, MateSearch};
use crate::chess::position::Game;
use crate::search::run::context::SearchContext;

const SLICE: u64 = 1000;

/// Factor on the nodes for `go mate`, which makes them about half of the time.
const WANTED: u64 = 10;

/// Nodes for shortening the first mate found: 0.15 to 0.5 s.
const SHORTEN: u64 = 500_000;

const ROOT_SLICES: u64 = 2;

/// From this root Q on (side to move's view) all slices search the root. Below −WINNING too the game counts as decided,
/// which brings more slices.
const WINNING: f32 = 0.5;

/// Limits on the most visited line: plies, visits that each move needs, slices per position.
const LINE_PLIES: usize = 4;
const LINE_VISITS: u32 = 100;
const LINE_SLICES: u32 = 16;

/// Bounds in bytes on the mate table, which gets 1/32 of the search's memory.
const LEAST_MEMORY: usize = 64 << 10;
const MOST_MEMORY: usize = 8 << 20;

/// Nodes per visit, or per batched evaluation, in decided games: about a tenth of the time.
const NODES: u64 = 2;
const NODES_BATCHED: u64 = 30;

/// Divides the nodes in undecided games, where mates are rare.
const UNDECIDED: u64 = 8;

pub(in crate::search) enum Probed {
    Mate(ForcedMate),
    /// Within the requested number of moves.
    NoMate,
    /// After this line, the side to move mates in at most this many plies.
    MateAfter(Vec<Move>, u16),
}

struct Target {
    line: Vec<Move>,
    game: Game,
    slices: u32,
}

/// Advanced by one worker at a time.
pub(in crate::search) struct MateProbe {
    /// Bytes of the table.
    memory: usize,
    rate: u64,
    /// Allocated on first use: most short searches need none.
    search: Option<MateSearch>,
    allowed: u64,
    moves: u8,
    enabled: bool,
    slices: u64,
    turns: u64,
    /// Slices spent below the root, by position hash.
    below: Vec<(u64, u32)>,
    finished: bool,
    shortened: bool,
}

impl MateProbe {
    /// `memory` is the whole search's, in bytes.
    pub fn new(memory: usize, native: bool) -> MateProbe {
        MateProbe {
            memory: MateProbe::memory(memory),
            rate: if native { NODES } else { NODES_BATCHED },
            search: None,
            allowed: 0,
            moves: 1,
            enabled: false,
            slices: 0,
            turns: 0,
            below: Vec::new(),
            finished: true,
            shortened: true,
        }
    }

    pub fn memory(memory: usize) -> usize {
        (memory / 32).clamp(LEAST_MEMORY, MOST_MEMORY)
    }

    pub fn start(&mut self, context: &SearchContext) {
        // A search of all moves does not end with one mate.
        let (looks, moves) = match context.limits.mate {
            Some(moves) => (true, moves.clamp(1, 31) as u8),
            None => (context.params.mates && !context.limits.all_moves, MateLimits::default().moves),
        };
        // With restricted root moves, `go mate` is left to the visits.
        let all_moves = context.root_moves.len() == context.root.legal_moves().len();
        self.enabled = looks && context.params.solver && (all_moves || context.limits.mate.is_none());
        self.moves = moves;
        (self.allowed, self.slices, self.turns) = (0, 0, 0);
        self.below.clear();
        (self.finished, self.shortened) = (!self.enabled, !self.enabled);
    }

    /// Spends the nodes of `visits` more visits. Returns the first mate found; in a search for a mate, also its
    /// absence. `value` is the root's Q for its side to move, `most_visited` the tree's method.
    pub fn advance(
        &mut self,
        context: &SearchContext,
        visits: u64,
        value: f32,
        most_visited: impl Fn(u32, usize) -> Vec<Move>,
        stop: &mut dyn FnMut() -> bool,
    ) -> Option<Probed> {
        let wanted = context.limits.mate.is_some();
        let winning = value >= WINNING;
        self.allowed += match wanted {
            true => visits * self.rate * WANTED,
            false if winning || value <= -WINNING => visits * self.rate,
            false => visits * self.rate / UNDECIDED,
        };
        while self.enabled && self.allowed >= SLICE && !stop() {
            self.allowed -= SLICE;
            self.turns += 1;
            let below = !wanted && !winning && self.turns > ROOT_SLICES && self.turns.is_multiple_of(2);
            let target = (below || self.finished)
                .then(|| self.least_searched(context, &most_visited(LINE_VISITS, LINE_PLIES)))
                .flatten();
            let found = match target {
                Some(target) => self.probe_below(target, stop),
                None if self.finished => {
                    self.allowed = 0;
                    return None;
                }
                None => self.probe_root(context, stop),
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    fn probe_root(&mut self, context: &SearchContext, stop: &mut dyn FnMut() -> bool) -> Option<Probed> {
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

    /// The position of `line` with the fewest slices; `None` if all have [`LINE_SLICES`].
    fn least_searched(&self, context: &SearchContext, line: &[Move]) -> Option<Target> {
        let mut game = context.root.clone();
        let mut least: Option<Target> = None;
        for (place, m) in line.iter().enumerate() {
            game.play(*m);
            let known = self.below.iter().find(|(hash, _)| *hash == game.hash());
            let slices = known.map_or(0, |(_, slices)| *slices);
            if slices < least.as_ref().map_or(LINE_SLICES, |least| least.slices) {
                least = Some(Target { line: line[..=place].to_vec(), game: game.clone(), slices });
            }
        }
        least
    }

    fn probe_below(&mut self, target: Target, stop: &mut dyn FnMut() -> bool) -> Option<Probed> {
        let Target { line, game, slices } = target;
        let result = self.search(&game, MateLimits::default().moves, SLICE, stop);
        let slices = if matches!(result, MateResult::Unknown { .. }) { slices + 1 } else { LINE_SLICES };
        match self.below.iter_mut().find(|(hash, _)| *hash == game.hash()) {
            Some(known) => known.1 = slices,
            None => self.below.push((game.hash(), slices)),
        }
        match result {
            MateResult::Mate(mate) => Some(Probed::MateAfter(line, mate.plies_at_most)),
            _ => None,
        }
    }

    /// Searches once for a mate shorter than the proven `plies`, or for any mate if tables prove the win (`None`).
    pub fn shorten(
        &mut self,
        context: &SearchContext,
        plies: Option<u16>,
        stop: &mut dyn FnMut() -> bool,
    ) -> Option<ForcedMate> {
        let moves = plies.map_or(self.moves.into(), |plies| plies / 2);
        let moves = u8::try_from(moves).ok().filter(|moves| (1..=31).contains(moves))?;
        // A finished search found no mate.
        let is_hopeless = plies.is_none() && self.finished;
        if std::mem::replace(&mut self.shortened, true) || is_hopeless {
            return None;
        }
        match self.search(&context.root, moves, SHORTEN, stop) {
            MateResult::Mate(mate) => Some(mate),
            _ => None,
        }
    }

    fn search(&mut self, game: &Game, moves: u8, nodes: u64, stop: &mut dyn FnMut() -> bool) -> MateResult {
        if let Some(search) = self.search.as_mut().filter(|_| self.slices == 0) {
            // Results must not depend on earlier searches.
            search.clear();
        }
        self.slices += 1;
        let search = self.search.get_or_insert_with(|| MateSearch::new(self.memory));
        search.search(game, MateLimits { nodes, moves, ..MateLimits::default() }, stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::tables::Tables;
    use crate::search::tree::Tree;
    use crate::search::{Limits, Params};

    #[test]
    fn the_root_has_every_slice_that_no_position_below_it_needs() {
        // A mate in five (matetrack, as in tests/data/mates.tsv).
        let fen = "1n6/q2B2p1/2pQ3b/n3p3/2P1k2p/p2bp2N/4R1P1/R3K3 w Q - 0 1";
        let mut tree = Tree::empty(1 << 20);
        let (limits, tables) = (Limits::default(), Tables::default());
        let root = Game::from_fen(fen).unwrap();
        let (context, _) = SearchContext::start(&mut tree, root, limits, Params::native(), tables, 1);
        let mut probe = MateProbe::new(64 << 20, true);
        probe.start(&context);
        let found = probe.advance(&context, 300_000, -WINNING, |_, _| Vec::new(), &mut || false);
        assert!(matches!(found, Some(Probed::Mate(mate)) if mate.plies_at_most >= 9));
        assert!(probe.slices > 2 * ROOT_SLICES, "{}", probe.slices);
        // When the root has nothing left to find, positions below it get the slices.
        let line = [context.root_moves[0]];
        let before = probe.slices;
        probe.advance(&context, 1_000, -WINNING, |_, _| line.to_vec(), &mut || false);
        assert!(probe.slices > before && probe.below.len() == 1);
    }

    #[test]
    fn where_there_is_no_mate_none_is_looked_for_again() {
        // The pawn's side has no mate within the probe's moves.
        let root = Game::from_fen("8/8/8/8/8/k7/7p/K7 b - - 0 1").unwrap();
        let mut tree = Tree::empty(1 << 20);
        let limits = Limits { mate: Some(1), ..Limits::default() };
        let (context, _) =
            SearchContext::start(&mut tree, root, limits, Params::native(), Tables::default(), 1);
        let mut probe = MateProbe::new(64 << 20, true);
        probe.start(&context);
        assert!(probe.shorten(&context, None, &mut || false).is_some(), "promotion mates");
        probe.start(&context);
        probe.finished = true;
        let slices = probe.slices;
        assert!(probe.shorten(&context, None, &mut || false).is_none());
        assert_eq!(probe.slices, slices);
    }

    #[test]
    fn a_root_that_is_won_has_all_slices_and_an_undecided_one_few() {
        let slices = |value| {
            let mut tree = Tree::empty(1 << 20);
            let (limits, tables, root) = (Limits::default(), Tables::default(), Game::default());
            let (context, _) = SearchContext::start(&mut tree, root, limits, Params::native(), tables, 1);
            let mut probe = MateProbe::new(64 << 20, true);
            probe.start(&context);
            let line = vec![context.root_moves[0]];
            let found = probe.advance(&context, 24_000, value, |_, _| line.clone(), &mut || false);
            assert!(found.is_none());
            (probe.slices, probe.below.len())
        };
        assert_eq!((slices(0.0), slices(WINNING), slices(-WINNING)), ((6, 1), (48, 0), (48, 1)));
    }
}
