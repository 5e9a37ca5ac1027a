//! Lines that an engine writes.
//!
//! They are parsed word by word, as GUIs do: engines add words of their own, and unknown ones are skipped.

use serde::Serialize;

/// A line of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineLine {
    /// `id name …`.
    Name(String),
    /// `option name …`.
    Option(OptionSpec),
    /// `uciok`.
    UciOk,
    /// `readyok`.
    ReadyOk,
    /// `info …` with a score and a variation.
    Info(SearchInfo),
    /// `bestmove …`: the move as it was written.
    Best(String),
    /// Anything else.
    Other,
}

/// An option that an engine offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionSpec {
    /// Its name.
    pub name: String,
    /// Smallest and largest value of a `spin`.
    pub range: Option<(i64, i64)>,
}

/// A score for the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchScore {
    /// Centipawns.
    Cp(i32),
    /// Moves to mate; negative when the side to move is mated.
    Mate(i32),
}

impl SearchScore {
    /// The same score for the other side.
    pub fn reversed(self) -> SearchScore {
        match self {
            SearchScore::Cp(cp) => SearchScore::Cp(cp.saturating_neg()),
            SearchScore::Mate(moves) => SearchScore::Mate(moves.saturating_neg()),
        }
    }
}

/// One variation of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchInfo {
    /// `multipv`, from 1.
    pub rank: usize,
    /// Depth in plies, as the engine counts it.
    pub depth: u32,
    /// Nodes of the whole search.
    pub nodes: u64,
    /// For the side to move.
    pub score: SearchScore,
    /// Win, draw and loss for the side to move, per mille.
    pub wdl: Option<[u32; 3]>,
    /// The variation's moves in UCI notation.
    pub pv: Vec<String>,
}

impl EngineLine {
    /// Reads a line.
    pub fn parse(line: &str) -> EngineLine {
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("uciok") => EngineLine::UciOk,
            Some("readyok") => EngineLine::ReadyOk,
            Some("id") if words.next() == Some("name") => {
                EngineLine::Name(words.collect::<Vec<_>>().join(" "))
            }
            Some("option") => option(words).map_or(EngineLine::Other, EngineLine::Option),
            Some("info") => info(words).map_or(EngineLine::Other, EngineLine::Info),
            Some("bestmove") => EngineLine::Best(words.next().unwrap_or_default().to_owned()),
            _ => EngineLine::Other,
        }
    }
}

fn option<'a>(words: impl Iterator<Item = &'a str>) -> Option<OptionSpec> {
    let words: Vec<&str> = words.collect();
    let kind = words.iter().position(|word| *word == "type")?;
    let (names, rest) = words.split_at(kind);
    let (&first, names) = names.split_first()?;
    let number = |key| {
        let index = rest.iter().position(|word| *word == key)?;
        rest.get(index + 1)?.parse().ok()
    };
    (first == "name").then(|| OptionSpec { name: names.join(" "), range: number("min").zip(number("max")) })
}

fn info<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<SearchInfo> {
    let (mut rank, mut depth, mut nodes, mut score, mut wdl) = (1, 0, 0, None, None);
    while let Some(word) = words.next() {
        match word {
            "multipv" => rank = words.next()?.parse().ok()?,
            "depth" => depth = words.next()?.parse().ok()?,
            "nodes" => nodes = words.next()?.parse().ok()?,
            "score" => {
                let kind = words.next()?;
                let number = words.next()?.parse().ok()?;
                score = match kind {
                    "cp" => Some(SearchScore::Cp(number)),
                    "mate" => Some(SearchScore::Mate(number)),
                    _ => return None,
                };
            }
            "wdl" => {
                let mut number = || words.next()?.parse().ok();
                wdl = Some([number()?, number()?, number()?]);
            }
            // A bound is no score, and a string is for people.
            "lowerbound" | "upperbound" | "string" => return None,
            "pv" => {
                let pv = words.map(str::to_owned).collect();
                return Some(SearchInfo { rank, depth, nodes, score: score?, wdl, pv });
            }
            _ => (),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_with_spaces_and_ranges_are_read() {
        let option = |line| match EngineLine::parse(line) {
            EngineLine::Option(option) => Some((option.name, option.range)),
            _ => None,
        };
        let elo = "option name UCI_Elo type spin default 1500 min 800 max 1700";
        assert_eq!(option(elo), Some(("UCI_Elo".into(), Some((800, 1700)))));
        assert_eq!(option("option name Clear Hash type button"), Some(("Clear Hash".into(), None)));
        assert_eq!(option("option name"), None);
    }

    #[test]
    fn a_variation_is_read_whatever_words_stand_between() {
        let line = "info depth 3 seldepth 6 multipv 2 score cp 55 wdl 296 545 159 nodes 32 nps 48 \
                    hashfull 0 tbhits 0 time 663 pv e2e4 c7c5";
        let EngineLine::Info(info) = EngineLine::parse(line) else { panic!("a variation") };
        assert_eq!((info.rank, info.depth, info.nodes), (2, 3, 32));
        assert_eq!((info.score, info.wdl), (SearchScore::Cp(55), Some([296, 545, 159])));
        assert_eq!(info.pv, ["e2e4", "c7c5"]);
        for line in ["info string score cp 3 pv e2e4", "info depth 4 score cp 3 lowerbound pv e2e4", "info"] {
            assert_eq!(EngineLine::parse(line), EngineLine::Other, "{line}");
        }
        assert_eq!(EngineLine::parse("bestmove e2e4 ponder c7c5"), EngineLine::Best("e2e4".into()));
        assert_eq!(EngineLine::parse("id name My Engine 3"), EngineLine::Name("My Engine 3".into()));
    }
}
