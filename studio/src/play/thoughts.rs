//! An analyst's evaluation of the position that is looked at.

use engine::apps::uci_client::InfoLine;
use engine::search::Score;
use serde::Serialize;
use shakmaty::Color;
use shakmaty::san::SanPlus;

use super::played::PlayedGame;
use crate::engines::MoveNumbers;

/// In plies.
const LONGEST: usize = 40;

/// What an engine says of a position, from White's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PositionValue {
    pub score: Score,
    /// White's wins, draws, Black's wins, per mille.
    pub wdl: Option<[u16; 3]>,
}

impl PositionValue {
    pub fn of(turn: Color, info: &InfoLine) -> PositionValue {
        match turn {
            Color::White => PositionValue { score: info.score, wdl: info.wdl },
            Color::Black => PositionValue {
                score: info.score.reversed(),
                wdl: info.wdl.map(|[win, draw, loss]| [loss, draw, win]),
            },
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThoughtLine {
    #[serde(flatten)]
    pub value: PositionValue,
    pub depth: u32,
    pub nodes: u64,
    pub san: Vec<String>,
    pub uci: Vec<String>,
    /// After each move.
    pub fens: Vec<String>,
}

/// Statistics of a root move, for the side to move.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MoveThought {
    pub san: String,
    pub uci: String,
    pub visits: u64,
    /// 0 to 1.
    pub prior: f32,
    /// −1 to 1.
    pub q: f32,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Thoughts {
    /// The position's node in the tree.
    pub node: u32,
    pub lines: Vec<ThoughtLine>,
    /// Most visited first; empty if the engine does not report statistics.
    pub moves: Vec<MoveThought>,
    /// The search has ended.
    pub done: bool,
    /// The next list of `moves`, incomplete.
    #[serde(skip)]
    heard: Vec<MoveThought>,
}

impl Thoughts {
    pub fn of(node: u32) -> Thoughts {
        Thoughts { node, ..Thoughts::default() }
    }

    /// Whether the shown lines changed. `most` is the number of lines that are shown.
    pub fn hear(&mut self, game: &PlayedGame, info: &InfoLine, most: usize) -> bool {
        if info.rank >= most {
            return false;
        }
        let Some(line) = read_line(game, info) else { return false };
        match self.lines.get_mut(info.rank) {
            Some(place) => *place = line,
            None => self.lines.push(line),
        }
        true
    }

    /// The statistics of the root node end a list of moves.
    pub fn hear_numbers(&mut self, game: &PlayedGame, numbers: &MoveNumbers) {
        if numbers.uci == "node" {
            self.moves = std::mem::take(&mut self.heard);
            self.moves.sort_by(|a, b| b.visits.cmp(&a.visits).then(b.prior.total_cmp(&a.prior)));
        } else if let Ok(m) = game.game().parse_uci(&numbers.uci) {
            let san = SanPlus::from_move(game.game().position().clone(), m).to_string();
            let MoveNumbers { uci, visits, prior, q } = numbers.clone();
            self.heard.push(MoveThought { san, uci, visits, prior, q });
        }
    }
}

fn read_line(game: &PlayedGame, info: &InfoLine) -> Option<ThoughtLine> {
    let mut board = game.game().clone();
    let (mut san, mut uci, mut fens) = (Vec::new(), Vec::new(), Vec::new());
    for text in info.pv.iter().take(LONGEST) {
        let Ok(m) = board.parse_uci(text) else { break };
        san.push(SanPlus::from_move(board.position().clone(), m).to_string());
        uci.push(text.clone());
        board.play(m);
        fens.push(board.fen());
    }
    (!san.is_empty()).then(|| ThoughtLine {
        value: PositionValue::of(game.turn(), info),
        depth: info.depth,
        nodes: info.nodes,
        san,
        uci,
        fens,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::apps::uci_client::EngineLine;

    fn info(line: &str) -> InfoLine {
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
        let heard = thoughts.hear(
            &game,
            &info("info depth 4 score cp 30 wdl 500 300 200 nodes 9 pv e7e5 g1f3 g1f3"),
            3,
        );
        assert!(heard);
        let line = &thoughts.lines[0];
        let black_is_better = PositionValue { score: Score::Cp(-30), wdl: Some([200, 300, 500]) };
        assert_eq!(line.value, black_is_better);
        assert_eq!(line.san, ["e5", "Nf3"]);
        assert!(line.fens[1].contains("5N2"), "{:?}", line.fens);
        assert!(!thoughts.hear(&game, &info("info depth 4 multipv 9 score cp 1 pv e7e5"), 3));
        assert!(!thoughts.hear(&game, &info("info depth 4 score cp 1 pv e2e4"), 3));
    }

    #[test]
    fn the_numbers_of_moves_come_as_a_whole() {
        let game = PlayedGame::new(None).unwrap();
        let mut thoughts = Thoughts::default();
        let hear = |thoughts: &mut Thoughts, uci: &str, visits| {
            let numbers = MoveNumbers { uci: uci.into(), visits, prior: 0.5, q: 0.25 };
            thoughts.hear_numbers(&game, &numbers);
        };
        hear(&mut thoughts, "e2e4", 3);
        hear(&mut thoughts, "e2e5", 9);
        hear(&mut thoughts, "g1f3", 7);
        assert!(thoughts.moves.is_empty());
        hear(&mut thoughts, "node", 11);
        let shown: Vec<_> = thoughts.moves.iter().map(|m| (m.san.as_str(), m.visits)).collect();
        assert_eq!(shown, [("Nf3", 7), ("e4", 3)]);
    }
}
