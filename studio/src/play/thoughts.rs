//! What the analysing engine thinks of the present position, as people read it.

use serde::Serialize;
use shakmaty::Color;
use shakmaty::san::SanPlus;

use super::played::PlayedGame;
use crate::engines::{SearchInfo, SearchScore};

/// Lines that are asked for and shown.
pub const LINES: usize = 3;

/// Moves of a line that are shown.
const LONGEST: usize = 12;

/// A line of thought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThoughtLine {
    /// For White.
    pub score: SearchScore,
    /// White's wins, draws and Black's wins, per mille.
    pub wdl: Option<[u32; 3]>,
    /// Depth in plies.
    pub depth: u32,
    /// Nodes of the search.
    pub nodes: u64,
    /// The moves in SAN.
    pub san: Vec<String>,
    /// The same moves in UCI notation.
    pub uci: Vec<String>,
}

/// The best lines of one position.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Thoughts {
    /// Plies of the game in that position.
    pub ply: usize,
    /// Best first.
    pub lines: Vec<ThoughtLine>,
}

impl Thoughts {
    /// Takes in what an engine reports of the position of `game`; says whether that is a line to show.
    pub fn hear(&mut self, game: &PlayedGame, info: &SearchInfo) -> bool {
        let Some(rank) = info.rank.checked_sub(1).filter(|rank| *rank < LINES) else { return false };
        if self.ply != game.ply() {
            *self = Thoughts { ply: game.ply(), lines: Vec::new() };
        }
        let Some(line) = read_line(game, info) else { return false };
        match self.lines.get_mut(rank) {
            Some(place) => *place = line,
            None => self.lines.push(line),
        }
        true
    }
}

fn read_line(game: &PlayedGame, info: &SearchInfo) -> Option<ThoughtLine> {
    let mut board = game.game().clone();
    let (mut san, mut uci) = (Vec::new(), Vec::new());
    for text in info.pv.iter().take(LONGEST) {
        let Ok(m) = board.parse_uci(text) else { break };
        san.push(SanPlus::from_move(board.position().clone(), m).to_string());
        uci.push(text.clone());
        board.play(m);
    }
    let white = game.turn() == Color::White;
    let for_white = |[win, draw, loss]: [u32; 3]| if white { [win, draw, loss] } else { [loss, draw, win] };
    (!san.is_empty()).then(|| ThoughtLine {
        score: if white { info.score } else { info.score.reversed() },
        wdl: info.wdl.map(for_white),
        depth: info.depth,
        nodes: info.nodes,
        san,
        uci,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::EngineLine;

    fn info(line: &str) -> SearchInfo {
        match EngineLine::parse(line) {
            EngineLine::Info(info) => info,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn lines_are_turned_to_white_and_end_where_they_are_wrong() {
        let mut game = PlayedGame::new(None).unwrap();
        game.play(game.parse("e4").unwrap()).unwrap();
        let mut thoughts = Thoughts::default();
        let heard =
            thoughts.hear(&game, &info("info depth 4 score cp 30 wdl 500 300 200 nodes 9 pv e7e5 g1f3 g1f3"));
        assert!(heard && thoughts.ply == 1);
        let line = &thoughts.lines[0];
        assert_eq!((line.score, line.wdl), (SearchScore::Cp(-30), Some([200, 300, 500])));
        assert_eq!(line.san, ["e5", "Nf3"]);
        assert!(!thoughts.hear(&game, &info("info depth 4 multipv 9 score cp 1 pv e7e5")));
        assert!(!thoughts.hear(&game, &info("info depth 4 score cp 1 pv e2e4")));
        game.play(game.parse("e5").unwrap()).unwrap();
        thoughts.hear(&game, &info("info depth 1 score mate 2 pv g1f3"));
        assert_eq!((thoughts.ply, thoughts.lines.len()), (2, 1), "another position, other lines");
    }
}
