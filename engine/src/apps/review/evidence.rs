//! What searches have found out about the positions of a game.

use std::collections::BTreeMap;

use shakmaty::Move;

use super::judge::JudgedLine;
use super::judgement::PositionValue;

/// The searches of one position. A search of level n has four times the nodes of level n − 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// By endgame tables.
    pub known: Option<PositionValue>,
    /// Our own search was the judge.
    pub is_own: bool,
    searches: BTreeMap<u32, Vec<JudgedLine>>,
    alternatives: BTreeMap<u32, Alternative>,
    /// By level, searches of the positions after moves; a line begins with its move.
    after: BTreeMap<u32, Vec<JudgedLine>>,
}

/// A search without the best move.
#[derive(Clone, Debug, PartialEq)]
struct Alternative {
    without: Move,
    line: Option<JudgedLine>,
}

/// Names one search of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchKey {
    pub level: u32,
    pub moves: Moves,
}

/// Which first moves a search may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    All,
    Without(Move),
    /// This one: the position after it is searched.
    Only(Move),
}

impl SearchKey {
    pub fn all(level: u32) -> SearchKey {
        SearchKey { level, moves: Moves::All }
    }
}

impl Evidence {
    pub fn add(&mut self, key: SearchKey, lines: Vec<JudgedLine>) {
        match key.moves {
            Moves::All => {
                self.searches.insert(key.level, lines);
            }
            Moves::Without(without) => {
                let line = lines.into_iter().next();
                self.alternatives.insert(key.level, Alternative { without, line });
            }
            Moves::Only(_) => self.after.entry(key.level).or_default().extend(lines.into_iter().next()),
        }
    }

    /// `None` if this search was not made.
    pub fn found(&self, key: SearchKey) -> Option<&[JudgedLine]> {
        match key.moves {
            Moves::All => self.searches.get(&key.level).map(Vec::as_slice),
            Moves::Without(without) => {
                let alternative =
                    self.alternatives.get(&key.level).filter(|other| other.without == without)?;
                Some(alternative.line.as_slice())
            }
            Moves::Only(m) => {
                let found = self.after.get(&key.level)?.iter().find(|line| line.pv.first() == Some(&m))?;
                Some(std::slice::from_ref(found))
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.searches.is_empty()
    }

    /// Of the deepest search.
    pub fn level(&self) -> Option<u32> {
        self.searches.last_key_value().map(|(level, _)| *level)
    }

    /// The deepest search up to a level, best line first.
    pub fn lines(&self, most: u32) -> Option<(u32, &[JudgedLine])> {
        self.searches.range(..=most).next_back().map(|(level, lines)| (*level, lines.as_slice()))
    }

    /// The second best move's line.
    pub fn second(&self, best: Move, most: u32) -> Option<&JudgedLine> {
        let searched = self.alternatives.range(..=most).rev().find(|(_, other)| other.without == best);
        match searched {
            Some((_, alternative)) => alternative.line.as_ref(),
            None => self.lines(most)?.1.iter().find(|line| line.pv.first() != Some(&best)),
        }
    }

    /// The deepest search of the position after `m`, of at most level `most`.
    pub fn after(&self, m: Move, most: u32) -> Option<(u32, &JudgedLine)> {
        self.after.range(..=most).rev().find_map(|(level, lines)| {
            let line = lines.iter().find(|line| line.pv.first() == Some(&m))?;
            Some((*level, line))
        })
    }

    /// The highest level of any search, those after a move included.
    pub fn deepest(&self) -> Option<u32> {
        let after = self.after.last_key_value().map(|(level, _)| *level);
        self.level().max(after)
    }

    /// For each search of a position after a move: that move, the level, the value.
    pub fn searched_after(&self) -> Vec<(Move, u32, PositionValue)> {
        let searches = self.after.iter().flat_map(|(level, lines)| lines.iter().map(|line| (*level, line)));
        searches.filter_map(|(level, line)| Some((*line.pv.first()?, level, line.value))).collect()
    }
}
