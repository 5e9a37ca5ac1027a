//! Proofs of forced mates.
//!
//! [`MateSearch`] looks for a mate that no defence avoids, by depth-first proof-number search: df-pn (Nagai: Df-pn
//! algorithm for searching AND/OR trees and its applications, 2002) with the rule of Pawlewicz and Lew (Improving
//! depth-first PN-search: 1 + ε trick, 2007). It knows neither evaluations nor clocks, and allocates once: its table
//! keeps what was found, so that a search can be continued, or a position that has been searched be met again.
//!
//! A proof is exact. The attacker's moves are limited, so that no proof rests on a repetition, and `draws` holds what
//! the game before the search forbids.

mod checks;
mod draws;
mod line;
mod numbers;
mod proof;
mod table;

use shakmaty::{Color, Move, Position};

use crate::chess::position::{Game, Outcome};
use numbers::{MOST_MOVES, NumberBounds, Numbers};
use proof::{Allowance, Place, ProofSearch};

/// Nodes that writing down the line of a proven mate may take beyond the limit.
const LINE_NODES: u64 = 2000;

/// The limits of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MateLimits {
    /// The attacker's moves, from 1 to 31, to mate in.
    pub moves: u8,
    /// Positions to look at, about; a core does 2 to 4 million a second.
    pub nodes: u64,
    /// Look for shorter mates when one is found, with what is left.
    pub shorten: bool,
}

impl Default for MateLimits {
    /// The shortest mate in up to eight moves, without a limit of nodes. In the suite of mates in up to five, limits from
    /// 6 to 10 moves found about as many, a limit of five fewer.
    fn default() -> MateLimits {
        MateLimits { moves: 8, nodes: u64::MAX, shorten: true }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForcedMate {
    /// The mate is given in at most this many plies, whatever the defender plays.
    pub plies_at_most: u16,
    /// Whether it is known that no mate is shorter.
    pub shortest: bool,
    /// Moves to mate: the attacker's moves of the proof, and replies that delay it.
    ///
    /// If the side to move mates, its first move is always there; the rest may be cut short when the search had
    /// to end at once.
    pub line: Vec<Move>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MateResult {
    Mate(ForcedMate),
    /// The attacker has no forced mate within `moves` moves.
    NoMate {
        /// At least the limit.
        moves: u8,
    },
    /// The limit of nodes or the caller ended the search.
    Unknown {
        /// The attacker has no forced mate within this many moves; 0 if nothing is known.
        no_mate_within: u8,
    },
}

/// A search for forced mates, with its memory.
pub struct MateSearch {
    search: ProofSearch,
    nodes: u64,
}

impl MateSearch {
    /// A table of 4 to 16 MiB is enough for a tenth of a second a move. Allocates half a megabyte besides the table, and
    /// nothing later.
    pub fn new(bytes: usize) -> MateSearch {
        MateSearch { search: ProofSearch::new(bytes), nodes: 0 }
    }

    /// Forgets everything, so that later searches do not depend on earlier ones.
    pub fn clear(&mut self) {
        self.search.forget();
    }

    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// Searches for a mate by the side to move.
    ///
    /// `stop` is called every 256 nodes, a tenth of a millisecond; once it returns true, the search ends. Searched again,
    /// a position is continued where it was left: one long search or many short ones do the same work.
    pub fn search(&mut self, game: &Game, limits: MateLimits, stop: &mut dyn FnMut() -> bool) -> MateResult {
        self.run(game, game.turn(), limits, stop)
    }

    /// As [`MateSearch::search`], but for a mate by the side that is not to move.
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
        // Mates in one and two are found or excluded at once; with a greater limit that may take longer.
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

    /// Whether there is a mate within `moves` moves.
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
        // The position may have been met again, and a shorter mate been found, below itself.
        let Some((m, moves)) = self.search.known_mate(&self.place, numbers.moves) else { return numbers };
        self.search.mating = Some(m);
        Numbers::mate(moves)
    }

    /// Writes down the mate in `moves` moves that was found, or the shortest if it is to be shortened.
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
