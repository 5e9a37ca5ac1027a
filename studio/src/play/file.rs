//! A PGN file with any number of games.

use engine::base::words::counted;
use engine::chess::openings::{LONGEST_LINE, opening_of};
use engine::chess::pgn::{MoveTree, PgnGame, read_games, why_no_text};
use serde::Serialize;
use thiserror::Error;

use super::pgn::result;
use super::played::{GameEnd, PlayedGame};

/// In characters.
const LONGEST_NAME: usize = 60;

/// In bytes: more than 80,000 games without comments.
pub const LONGEST_PGN: usize = 64 << 20;

#[derive(Debug, Error)]
pub enum PgnError {
    #[error("There is no game in this file: is it a PGN?")]
    Empty,
    #[error("No game can be read: {0}.")]
    NoText(&'static str),
    #[error("The game cannot be read: {0}. Is the PGN complete?")]
    Game(String),
    #[error("The file has {}: choose one of them.", counted(*.0, "game"))]
    Number(usize),
}

#[derive(Clone, Debug)]
pub struct PgnFile {
    games: Vec<PgnGame>,
    /// One sentence per unreadable game, with its number and line.
    pub broken: Vec<String>,
}

/// A line of the page's game list. A missing tag is an empty text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Headline {
    pub white: String,
    pub black: String,
    pub result: String,
    pub date: String,
    pub event: String,
    /// ECO code and name, as in "C60 Ruy Lopez".
    pub opening: String,
    pub plies: usize,
}

#[derive(Debug)]
pub struct LoadedGame {
    pub game: PlayedGame,
    /// White's, then Black's.
    pub names: [String; 2],
    pub end: Option<GameEnd>,
    pub source: PgnGame,
}

impl PgnFile {
    /// Keeps the errors of broken games; fails only if no game can be read.
    pub fn read(text: &[u8]) -> Result<PgnFile, PgnError> {
        if let Some(why) = why_no_text(text) {
            return Err(PgnError::NoText(why));
        }
        let (games, broken) = read_games(text);
        let has_content =
            |game: &PgnGame| !(game.tree.first_child(MoveTree::ROOT).is_none() && game.tags.is_empty());
        let games: Vec<PgnGame> = games.into_iter().map(|(_, game)| game).filter(has_content).collect();
        let broken: Vec<String> = broken.iter().map(ToString::to_string).collect();
        match broken.first().filter(|why| !why.contains(": no game: ")) {
            _ if !games.is_empty() => Ok(PgnFile { games, broken }),
            Some(why) => Err(PgnError::Game(why.clone())),
            None => Err(PgnError::Empty),
        }
    }

    #[expect(clippy::len_without_is_empty, reason = "it has at least one")]
    pub fn len(&self) -> usize {
        self.games.len()
    }

    pub fn games(&self) -> &[PgnGame] {
        &self.games
    }

    pub fn headlines(&self) -> Vec<Headline> {
        self.games.iter().map(Headline::of).collect()
    }

    /// `number` counts from 0.
    pub fn game(&self, number: usize) -> Result<LoadedGame, PgnError> {
        let source = self.games.get(number).ok_or(PgnError::Number(self.games.len()))?;
        let start = source.tag("FEN").is_some().then(|| source.start().fen());
        let mut game = PlayedGame::new(start).map_err(|error| PgnError::Game(error.to_string()))?;
        source.moves().into_iter().try_for_each(|m| game.play(m)).map_err(PgnError::Game)?;
        let names = [shortened(source, "White"), shortened(source, "Black")];
        Ok(LoadedGame { names, end: game.end().or_else(|| result(source)), game, source: source.clone() })
    }
}

impl Headline {
    fn of(game: &PgnGame) -> Headline {
        let mut position = game.start().clone();
        let mut opening = opening_of(&position);
        let moves = game.moves();
        for m in moves.iter().take(LONGEST_LINE) {
            position.play(*m);
            opening = opening_of(&position).or(opening);
        }
        Headline {
            white: shortened(game, "White"),
            black: shortened(game, "Black"),
            result: game.tag("Result").unwrap_or_else(|| "*".to_owned()),
            date: game.tag("Date").unwrap_or_default(),
            event: game.tag("Event").unwrap_or_default(),
            opening: opening.map(ToString::to_string).unwrap_or_default(),
            plies: moves.len(),
        }
    }
}

fn shortened(game: &PgnGame, tag: &str) -> String {
    game.tag(tag).unwrap_or_default().chars().take(LONGEST_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PGN: &str = "[Event \"?\"]\n[White \"A \\\"B\\\"\"]\n[Black \"C\"]\n\n1. e4 {best} e5 (1... c5 2. Nf3) 2. Nf3 $1 Nc6 1-0\n";

    #[test]
    fn what_is_no_game_is_refused_and_broken_games_leave_the_others() {
        assert!(matches!(PgnFile::read(b""), Err(PgnError::Empty)));
        let error = PgnFile::read(b"1. e4 e5 2. Ke3 *").unwrap_err().to_string();
        assert!(error.contains("2.Ke3"), "{error}");
        assert!(PgnFile::read(b"[FEN \"nonsense\"]\n\n*").is_err());
        let error = |text: &[u8]| PgnFile::read(text).unwrap_err().to_string();
        assert_eq!(error(b"\x89PNG\r\n\x1a\n\0\0"), "No game can be read: this is a binary file, not PGN.");
        let utf16 =
            "No game can be read: this text is UTF-16: convert it first, as by `iconv -f utf-16 -t utf-8`.";
        assert_eq!(error(b"\xff\xfe[\0E\0"), utf16);
        let text =
            format!("{PGN}\n[Event \"2\"]\n\n1. e4 Ke3 *\n\n[White \"X\"]\n[Result \"0-1\"]\n\n1. d4 *\n");
        let file = PgnFile::read(text.as_bytes()).unwrap();
        let listed: Vec<_> =
            file.headlines().into_iter().map(|line| (line.white, line.result, line.plies)).collect();
        assert_eq!(listed, [("A \"B\"".into(), "*".into(), 4), ("X".into(), "0-1".into(), 1)]);
        assert!(file.headlines()[0].opening.starts_with("C44 "), "{:?}", file.headlines()[0]);
        assert_eq!((file.broken.len(), file.game(1).unwrap().game.ply()), (1, 1));
        assert!(matches!(file.game(2), Err(PgnError::Number(2))));
    }
}
