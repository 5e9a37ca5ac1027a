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
    /// The move that was left out.
    pub without: Option<Move>,
}

impl Evidence {
    pub fn add(&mut self, key: SearchKey, lines: Vec<JudgedLine>) {
        match key.without {
            None => {
                self.searches.insert(key.level, lines);
            }
            Some(without) => {
                let line = lines.into_iter().next();
                self.alternatives.insert(key.level, Alternative { without, line });
            }
        }
    }

    /// `None` if this search was not made.
    pub fn found(&self, key: SearchKey) -> Option<&[JudgedLine]> {
        match key.without {
            None => self.searches.get(&key.level).map(Vec::as_slice),
            Some(without) => {
                let alternative =
                    self.alternatives.get(&key.level).filter(|other| other.without == without)?;
                Some(alternative.line.as_slice())
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
}
