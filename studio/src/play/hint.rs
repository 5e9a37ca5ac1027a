//! A hint for the person to move: first the piece, then the move. What was shown is noted in the game.

use engine::apps::review::name as name_of_piece;
use engine::chess::position::Game;
use serde::Serialize;
use shakmaty::Move;

use super::played::PlayedGame;

/// Begins the comment on a position in which a hint was asked for.
const NOTED: &str = "Hint by ";

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hint {
    /// Of the game. In another position the hint is worth nothing.
    #[serde(skip)]
    pub revision: u64,
    #[serde(skip)]
    pub engine: String,
    #[serde(skip)]
    pub best: Option<Move>,
    /// The move was asked for too.
    #[serde(skip)]
    pub is_whole: bool,
    /// The engine searches.
    pub thinking: bool,
    /// Such as "knight"; `None` until the engine has answered.
    pub piece: Option<&'static str>,
    /// Of the piece.
    pub square: Option<String>,
    /// The move, if it was asked for.
    pub uci: Option<String>,
    pub san: Option<String>,
}

impl Hint {
    pub fn asked(revision: u64, engine: String) -> Hint {
        Hint {
            revision,
            engine,
            best: None,
            is_whole: false,
            thinking: true,
            piece: None,
            square: None,
            uci: None,
            san: None,
        }
    }

    /// Fills in what may be shown.
    pub fn show(&mut self, game: &PlayedGame) {
        let Some(m) = self.best else { return };
        self.thinking = false;
        self.piece = Some(name_of_piece(m.role()));
        self.square = m.from().map(|square| square.to_string());
        if self.is_whole {
            let uci = Game::uci(m, game.is_chess960());
            let legal = game.legal().into_iter().find(|legal| legal.uci == uci);
            self.san = legal.map(|legal| legal.san);
            self.uci = Some(uci);
        }
    }

    /// The comment for the saved game.
    pub fn note(&self) -> Option<String> {
        let shown = match (&self.san, self.piece, &self.square) {
            (Some(san), ..) => san.clone(),
            (None, Some(piece), Some(square)) => format!("the {piece} on {square}"),
            _ => return None,
        };
        Some(format!("{NOTED}{}: {shown}", self.engine))
    }
}

/// Whether a comment is a note of an earlier hint of the same engine, which a later one replaces.
pub fn is_note(comment: &str, engine: &str) -> bool {
    comment
        .strip_prefix(NOTED)
        .and_then(|rest| rest.strip_prefix(engine))
        .is_some_and(|rest| rest.starts_with(": "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_piece_comes_before_the_move() {
        let game = PlayedGame::new(None).unwrap();
        let mut hint = Hint::asked(3, "Philidor".into());
        assert_eq!((hint.thinking, hint.note()), (true, None));
        hint.best = Some(game.parse("Nf3").unwrap());
        hint.show(&game);
        let shown = serde_json::to_string(&hint).unwrap();
        assert!(shown.contains("knight") && shown.contains("g1") && !shown.contains("f3"), "{shown}");
        assert_eq!(hint.note().unwrap(), "Hint by Philidor: the knight on g1");
        hint.is_whole = true;
        hint.show(&game);
        assert_eq!(hint.note().unwrap(), "Hint by Philidor: Nf3");
        assert!(is_note("Hint by Philidor: the knight on g1", "Philidor") && !is_note("a hint", "Philidor"));
    }
}
