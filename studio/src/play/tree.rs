//! The search tree as the page unfolds it: the moves after a line, from Philidor's answer to `tree`.

use serde::{Deserialize, Serialize};
use shakmaty::san::SanPlus;

use super::played::PlayedGame;

/// In plies.
pub const LONGEST_PATH: usize = 200;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeView {
    pub moves: Vec<String>,
    /// The tree contains the position.
    pub held: bool,
    pub children: Vec<TreeMove>,
}

/// A move's statistics, for the side that plays it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeMove {
    #[serde(rename = "move")]
    pub uci: String,
    #[serde(default)]
    pub san: String,
    pub visits: u64,
    /// 0 to 1.
    pub prior: f64,
    /// −1 to 1.
    pub q: f64,
    pub wdl: [f64; 3],
    /// The network's value of the position after the move, −1 to 1.
    pub value: Option<f64>,
    /// `win`, `draw` or `loss`.
    pub proof: Option<String>,
}

impl TreeView {
    /// Whether this answer of an engine is about this line. An error names none, so it is about any.
    pub fn is_of(answer: &Result<String, String>, line: &[String]) -> bool {
        #[derive(Deserialize)]
        struct Line {
            moves: Vec<String>,
        }
        let Ok(text) = answer else { return true };
        serde_json::from_str::<Line>(text).is_ok_and(|read| read.moves == line)
    }

    /// Returns `None` if the answer is about another position than that of `game`.
    pub fn read(answer: &str, game: &PlayedGame) -> Option<TreeView> {
        let mut tree: TreeView = serde_json::from_str(answer).ok()?;
        let mut board = game.game().clone();
        for text in &tree.moves {
            board.play(board.parse_uci(text).ok()?);
        }
        for child in &mut tree.children {
            let m = board.parse_uci(&child.uci).ok()?;
            child.san = SanPlus::from_move(board.position().clone(), m).to_string();
        }
        Some(tree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_with_its_sans_and_one_about_another_position_refused() {
        let answer = r#"{"moves":["e2e4"],"held":true,"children":[
            {"move":"g8f6","visits":3,"prior":0.5,"q":-0.25,"wdl":[0.2,0.35,0.45],"value":null,"proof":"loss"}]}"#;
        let mut game = PlayedGame::new(None).unwrap();
        let tree = TreeView::read(answer, &game).unwrap();
        assert_eq!((tree.children[0].san.as_str(), tree.children[0].visits), ("Nf6", 3));
        let answer_of = |text: &str| Ok(text.to_owned());
        assert!(TreeView::is_of(&answer_of(answer), &["e2e4".to_owned()]));
        assert!(!TreeView::is_of(&answer_of(answer), &[]) && !TreeView::is_of(&answer_of("{}"), &[]));
        assert!(TreeView::is_of(&Err("illegal move".to_owned()), &[]));
        game.play(game.parse("e4").unwrap()).unwrap();
        assert_eq!(TreeView::read(answer, &game), None);
        assert_eq!(TreeView::read("{}", &game), None);
    }
}
