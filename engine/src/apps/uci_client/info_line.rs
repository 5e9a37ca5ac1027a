//! Parses `info` lines word by word, as GUIs do: engines add words of their own, and `shakmaty-uci` rejects `wdl` and
//! mates in more than 127 moves.

use crate::search::Score;

/// The moves are not validated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InfoLine {
    /// `multipv` − 1.
    pub rank: usize,
    /// Plies, as the engine counts them.
    pub depth: u32,
    pub nodes: u64,
    /// For the side to move.
    pub score: Score,
    /// Per mille, for the side to move.
    pub wdl: Option<[u16; 3]>,
    pub pv: Vec<String>,
}

impl InfoLine {
    /// `words` follow `info`. `None` for bounds, strings, and lines without a score or a variation.
    pub fn parse<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<InfoLine> {
        let (mut rank, mut depth, mut nodes, mut score, mut wdl) = (0, 0, 0, None, None);
        while let Some(word) = words.next() {
            match word {
                "multipv" => rank = words.next()?.parse::<usize>().ok()?.checked_sub(1)?,
                "depth" => depth = words.next()?.parse().ok()?,
                "nodes" => nodes = words.next()?.parse().ok()?,
                "score" => {
                    let kind = words.next()?;
                    let number = words.next()?.parse().ok()?;
                    score = match kind {
                        "cp" => Some(Score::Cp(number)),
                        "mate" => Some(Score::Mate(number)),
                        _ => return None,
                    };
                }
                "wdl" => {
                    let mut number = || words.next()?.parse().ok();
                    wdl = Some([number()?, number()?, number()?]);
                }
                "lowerbound" | "upperbound" | "string" => return None,
                "pv" => {
                    let pv = words.map(str::to_owned).collect();
                    return Some(InfoLine { rank, depth, nodes, score: score?, wdl, pv });
                }
                _ => (),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(line: &str) -> Option<InfoLine> {
        InfoLine::parse(line.split_ascii_whitespace())
    }

    #[test]
    fn a_variation_is_read_whatever_words_stand_between() {
        let line = "depth 3 seldepth 6 multipv 2 score cp 55 wdl 296 545 159 nodes 32 nps 48 hashfull 0 tbhits 0 \
                    time 663 pv e2e4 c7c5";
        let info = info(line).unwrap();
        assert_eq!((info.rank, info.depth, info.nodes), (1, 3, 32));
        assert_eq!((info.score, info.wdl), (Score::Cp(55), Some([296, 545, 159])));
        assert_eq!(info.pv, ["e2e4", "c7c5"]);
    }

    #[test]
    fn lines_without_a_scored_variation_are_ignored() {
        for line in [
            "",
            "depth 9 currmove e2e4 currmovenumber 3",
            "string score cp 3 pv e2e4",
            "depth 9 score cp 3 lowerbound nodes 4 pv e2e4",
            "depth 9 score cp 3",
            "score cp three pv e2e4",
            "multipv 0 score cp 3 pv e2e4",
            "score",
        ] {
            assert_eq!(info(line), None, "{line}");
        }
    }
}
