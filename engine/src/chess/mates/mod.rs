//! Proves forced mates by depth-first proof-number search: df-pn (Nagai: Df-pn algorithm for searching AND/OR trees and
//! its applications, 2002) with the 1 + ε trick (Pawlewicz and Lew: Improving depth-first PN-search, 2007).
//!
//! Proofs are exact. The limit on the attacker's moves bounds the depth, so that no proof rests on a cycle; `draws`
//! handles repetitions of the game's positions and the fifty-move rule. The table is kept between searches: searching a
//! position again continues where the last search ended.

mod checks;
mod draws;
mod line;
mod numbers;
mod proof;
mod table;

use shakmaty::{Color, Move, Position};

use crate::chess::position::{Game, Outcome};
pub(crate) use checks::mate_in_one;
use numbers::{MOST_MOVES, NumberBounds, Numbers};
use proof::{Allowance, Place, ProofSearch};

/// Extra nodes to find the line of a proven mate.
const LINE_NODES: u64 = 2000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MateLimits {
    /// Of the attacker, 1 to 31.
    pub moves: u8,
    /// Approximate; a core searches 2 to 4 million nodes a second.
    pub nodes: u64,
    /// Spends the remaining nodes on shorter mates.
    pub shorten: bool,
}

impl Default for MateLimits {
    /// In the suite of mates in up to five, limits of 6 to 10 found about as many mates, a limit of 5 fewer.
    fn default() -> MateLimits {
        MateLimits { moves: 8, nodes: u64::MAX, shorten: true }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForcedMate {
    /// Holds against any defence.
    pub plies_at_most: u16,
    /// No shorter mate exists: proven.
    pub shortest: bool,
    /// The attacker's moves of the proof, with replies that delay the mate. May be cut short, but includes the mating
    /// side's first move if that side is to move.
    pub line: Vec<Move>,
}

impl ForcedMate {
    /// Whether the line ends in mate, after the longest defence that was found.
    pub fn is_whole(&self) -> bool {
        self.line.len() == usize::from(self.plies_at_most)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MateResult {
    Mate(ForcedMate),
    NoMate {
        /// At least [`MateLimits::moves`].
        moves: u8,
    },
    /// The node limit or `stop` ended the search.
    Unknown {
        /// 0 if unknown.
        no_mate_within: u8,
    },
}

pub struct MateSearch {
    search: ProofSearch,
    nodes: u64,
}

impl MateSearch {
    /// 4 to 16 MiB of table are enough for 0.1 s a move. Allocates half a megabyte more, and nothing later.
    pub fn new(bytes: usize) -> MateSearch {
        MateSearch { search: ProofSearch::new(bytes), nodes: 0 }
    }

    pub fn clear(&mut self) {
        self.search.forget();
    }

    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// Searches for a mate by the side to move until `stop`, called every 256 nodes (0.1 ms), returns true. Many short
    /// searches of a position do the same work as a long one.
    pub fn search(&mut self, game: &Game, limits: MateLimits, stop: &mut dyn FnMut() -> bool) -> MateResult {
        self.run(game, game.turn(), limits, stop)
    }

    /// For a mate by the side not to move.
    pub fn search_defence(
        &mut self,
        game: &Game,
        limits: MateLimits,
        stop: &mut dyn FnMut() -> bool,
    ) -> MateResult {
        self.run(game, !game.turn(), limits, stop)
    }

    fn run(
        &mut self,
        game: &Game,
        attacker: Color,
        limits: MateLimits,
        stop: &mut dyn FnMut() -> bool,
    ) -> MateResult {
        let moves = limits.moves.clamp(1, MOST_MOVES);
        self.nodes = 0;
        match game.outcome() {
            Some(Outcome::Decisive { winner }) if winner == attacker => {
                return MateResult::Mate(ForcedMate { plies_at_most: 0, shortest: true, line: Vec::new() });
            }
            Some(_) => return MateResult::NoMate { moves: MOST_MOVES },
            None if game.position().has_insufficient_material(attacker) => {
                return MateResult::NoMate { moves: MOST_MOVES };
            }
            None => {}
        }
        self.search.draws.begin(game, attacker, moves);
        let place = Place { position: game.position().clone(), hash: game.hash() };
        let mut root = Root {
            search: &mut self.search,
            allowance: Allowance::new(limits.nodes, stop),
            place,
            attacks: game.turn() == attacker,
        };
        let result = root.solve(moves, limits.shorten);
        self.nodes = root.allowance.nodes;
        result
    }
}

struct Root<'a> {
    search: &'a mut ProofSearch,
    allowance: Allowance<'a>,
    place: Place,
    attacks: bool,
}

impl Root<'_> {
    fn solve(&mut self, moves: u8, shorten: bool) -> MateResult {
        let mut no_mate_within = 0;
        // Mates in one and two come first: a greater limit may find them later.
        for limit in [1, 2.min(moves), moves] {
            let numbers = self.within(limit);
            if numbers.is_mate() {
                return MateResult::Mate(self.found(numbers.moves, no_mate_within, shorten));
            }
            if !numbers.is_refuted() {
                return MateResult::Unknown { no_mate_within };
            }
            no_mate_within = numbers.moves;
        }
        MateResult::NoMate { moves: no_mate_within }
    }

    fn within(&mut self, limit: u8) -> Numbers {
        let key = self.search.draws.key(self.place.hash, &self.place.position);
        let known = self.search.table.get(key, limit).unwrap_or(Numbers::open(1, 1));
        if known.is_refuted() || known.is_mate() && !self.attacks {
            return known;
        }
        if !self.attacks {
            return self.search.defend(&self.place, limit, NumberBounds::NONE, &mut self.allowance);
        }
        if known.is_mate()
            && let Some((m, moves)) = self.search.known_mate(&self.place, limit)
        {
            self.search.mating = Some(m);
            return Numbers::mate(moves);
        }
        let numbers = self.search.attack(&self.place, limit, NumberBounds::NONE, &mut self.allowance);
        if !numbers.is_mate() {
            return numbers;
        }
        // A transposition below the root may have found a shorter mate.
        let Some((m, moves)) = self.search.known_mate(&self.place, numbers.moves) else { return numbers };
        self.search.mating = Some(m);
        Numbers::mate(moves)
    }

    fn found(&mut self, mut moves: u8, no_mate_within: u8, shorten: bool) -> ForcedMate {
        let mut first = self.search.mating;
        let mut shortest = moves <= no_mate_within + 1;
        while shorten && !shortest && !self.allowance.is_spent() {
            let numbers = self.within(moves - 1);
            if numbers.is_mate() {
                (moves, first) = (numbers.moves, self.search.mating);
                shortest = moves <= no_mate_within + 1;
            } else if numbers.is_refuted() {
                shortest = true;
            } else {
                break;
            }
        }
        self.allowance.end = self.allowance.nodes + LINE_NODES;
        let place = Place { position: self.place.position.clone(), hash: self.place.hash };
        let line = match first {
            Some(first) if self.attacks => self.search.attack_line(place, first, moves, &mut self.allowance),
            _ => self.search.defend_line(place, moves, &mut self.allowance),
        };
        let plies_at_most = 2 * u16::from(moves) - u16::from(self.attacks);
        ForcedMate { plies_at_most, shortest, line }
    }
}
