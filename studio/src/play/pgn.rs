//! Games as PGN: read by the engine's reader, and written.

use engine::chess::pgn::{Additions, PgnGame, PgnToken, encoded, read_games};
use engine::chess::position::Game;
use shakmaty::{Color, KnownOutcome, Outcome};
use thiserror::Error;

use super::played::{EndReason, GameEnd, PlayedGame, Winner};

/// Characters of a player's name.
const LONGEST_NAME: usize = 60;

/// Why a text has no game to show.
#[derive(Debug, Error)]
pub enum PgnError {
    /// Nothing in it is a game.
    #[error("There is no game in this file: is it a PGN?")]
    Empty,
    /// A move or the start position is wrong.
    #[error("The game cannot be read: {0}. Is the PGN complete?")]
    Game(String),
    /// The file has fewer games.
    #[error("The file has {0} games: choose one of them.")]
    Number(usize),
}

/// The games of a file.
#[derive(Clone, Debug)]
pub struct PgnFile {
    games: Vec<PgnGame>,
    /// What is wrong with those that cannot be read.
    pub broken: Vec<String>,
}

/// A game of a PGN, to be shown.
#[derive(Debug)]
pub struct LoadedGame {
    /// The moves.
    pub game: PlayedGame,
    /// White's and Black's name.
    pub names: [String; 2],
    /// The result, if it has one.
    pub end: Option<GameEnd>,
    /// All that stands in the file.
    pub source: PgnGame,
}

impl PgnFile {
    /// Reads all games of a text.
    ///
    /// # Errors
    ///
    /// If none of them can be read.
    pub fn read(text: &[u8]) -> Result<PgnFile, PgnError> {
        let (games, broken) = read_games(text);
        let has_content = |game: &PgnGame| !(game.moves.is_empty() && game.tags.is_empty());
        let games: Vec<PgnGame> = games.into_iter().map(|(_, game)| game).filter(has_content).collect();
        let broken: Vec<String> = broken.iter().map(ToString::to_string).collect();
        match broken.first().filter(|why| !why.contains(": no game: ")) {
            _ if !games.is_empty() => Ok(PgnFile { games, broken }),
            Some(why) => Err(PgnError::Game(why.clone())),
            None => Err(PgnError::Empty),
        }
    }

    /// Games that can be read.
    #[expect(clippy::len_without_is_empty, reason = "it has at least one")]
    pub fn len(&self) -> usize {
        self.games.len()
    }

    /// The games that can be read, as they are listed: players, result, date, and the number of moves.
    pub fn titles(&self) -> Vec<String> {
        let title = |game: &PgnGame| {
            let tag = |name| game.tag(name).unwrap_or_else(|| "?".to_owned());
            let date = game.tag("Date").map_or_else(String::new, |date| format!(", {date}"));
            let moves = game.moves.len().div_ceil(2);
            format!("{} – {}, {}{date}, {moves} moves", tag("White"), tag("Black"), tag("Result"))
        };
        self.games.iter().map(title).collect()
    }

    /// Game `number`, from 0.
    ///
    /// # Errors
    ///
    /// If there is none, or it is too long.
    pub fn game(&self, number: usize) -> Result<LoadedGame, PgnError> {
        let source = self.games.get(number).ok_or(PgnError::Number(self.games.len()))?;
        let start = source.tag("FEN").is_some().then(|| source.start.fen());
        let mut game = PlayedGame::new(start).map_err(|error| PgnError::Game(error.to_string()))?;
        source.moves.iter().try_for_each(|m| game.play(*m)).map_err(PgnError::Game)?;
        let name = |tag| source.tag(tag).unwrap_or_default().chars().take(LONGEST_NAME).collect();
        let names = [name("White"), name("Black")];
        Ok(LoadedGame { names, end: game.end().or_else(|| result(source)), game, source: source.clone() })
    }
}

/// The result that a game has in its file.
pub fn result(game: &PgnGame) -> Option<GameEnd> {
    let written = game.tokens.iter().rev().find_map(|token| match token {
        PgnToken::Result(Outcome::Known(KnownOutcome::Decisive { winner })) => Some((*winner).into()),
        PgnToken::Result(Outcome::Known(KnownOutcome::Draw)) => Some(Winner::Draw),
        _ => None,
    });
    let tagged = || match game.tag("Result").as_deref() {
        Some("1-0") => Some(Winner::White),
        Some("0-1") => Some(Winner::Black),
        Some("1/2-1/2") => Some(Winner::Draw),
        _ => None,
    };
    written.or_else(tagged).map(|winner| GameEnd { winner, reason: EndReason::Recorded })
}

/// Where and when a game was played, as its tags say it.
#[derive(Clone, Copy, Debug)]
pub struct PgnHeader<'a> {
    /// The event.
    pub event: &'a str,
    /// The round; the games of a pair have the same.
    pub round: &'a str,
    /// `YYYY.MM.DD`.
    pub date: &'a str,
}

impl PgnHeader<'_> {
    /// A game at the board.
    pub fn casual(date: &str) -> PgnHeader<'_> {
        PgnHeader { event: "Casual game", round: "-", date }
    }
}

/// Writes a game: the seven tags, the start position, the moves.
pub fn write_pgn(game: &PlayedGame, names: [&str; 2], end: Option<GameEnd>, header: PgnHeader<'_>) -> String {
    let mut tags = vec![
        ("Event", header.event),
        ("Site", "Philidor's studio"),
        ("Date", header.date),
        ("Round", header.round),
        ("White", names[0]),
        ("Black", names[1]),
        ("Result", end.map_or("*", GameEnd::result)),
    ];
    if let Some(fen) = game.start() {
        tags.extend([("SetUp", "1"), ("FEN", fen)]);
    }
    if game.is_chess960() {
        tags.push(("Variant", "Chess960"));
    }
    if let Some(opening) = game.opening() {
        tags.extend([("ECO", opening.eco.as_str()), ("Opening", opening.name.as_str())]);
    }
    let result = match end.map(|end| end.winner) {
        Some(Winner::White) => Outcome::Known(KnownOutcome::Decisive { winner: Color::White }),
        Some(Winner::Black) => Outcome::Known(KnownOutcome::Decisive { winner: Color::Black }),
        Some(Winner::Draw) => Outcome::Known(KnownOutcome::Draw),
        None => Outcome::Unknown,
    };
    let san = |text: &str| PgnToken::Move(text.parse().expect("the moves are written by shakmaty"));
    let mut tokens: Vec<PgnToken> = game.moves().iter().map(|m| san(&m.san)).collect();
    tokens.push(PgnToken::Result(result));
    let tags = tags.into_iter().map(|(name, value)| (name.as_bytes().to_owned(), encoded(value)));
    let start = Game::from_fen(&game.start_fen()).expect("the game was played from it");
    let pgn = PgnGame { tags: tags.collect(), tokens, start, moves: Vec::new(), line: 1 };
    let mut text = Vec::new();
    pgn.write(&Additions::default(), &mut text).expect("memory can be written");
    // Without the empty line behind it.
    text.pop();
    String::from_utf8_lossy(&text).into_owned()
}

/// Plies before the game's first move, by the move number of its start position.
pub fn first_ply(game: &PlayedGame) -> usize {
    let fen = game.start_fen();
    let mut words = fen.split(' ');
    let black = words.nth(1) == Some("b");
    let number: usize = words.nth(3).and_then(|word| word.parse().ok()).unwrap_or(1);
    2 * number.max(1) - 2 + usize::from(black)
}

/// The colours in the order of names.
pub const SIDES: [Color; 2] = [Color::White, Color::Black];

#[cfg(test)]
mod tests {
    use super::*;

    const PGN: &str = "[Event \"?\"]\n[White \"A \\\"B\\\"\"]\n[Black \"C\"]\n\n1. e4 {best} e5 (1... c5 2. Nf3) 2. Nf3 $1 Nc6 1-0\n";

    fn first(text: &[u8]) -> LoadedGame {
        PgnFile::read(text).unwrap().game(0).unwrap()
    }

    #[test]
    fn a_game_is_read_without_variations_and_written_back() {
        let read = first(PGN.as_bytes());
        assert_eq!(read.names, ["A \"B\"", "C"]);
        assert_eq!(read.end.unwrap().result(), "1-0");
        let text = write_pgn(&read.game, ["A \"B\"", "C"], read.end, PgnHeader::casual("2026.01.02"));
        assert!(text.contains("[White \"A \\\"B\\\"\"]\n"), "{text}");
        assert!(text.contains("[ECO \"C44\"]"), "{text}");
        assert!(text.ends_with("\n\n1. e4 e5 2. Nf3 Nc6 1-0\n"), "{text}");
        assert_eq!(first(text.as_bytes()).game.ply(), 4);
        assert_eq!(read.source.comments()[0], ["best"]);
    }

    #[test]
    fn a_game_from_a_position_keeps_it() {
        let mut game = PlayedGame::new(Some("4k3/8/8/8/8/8/4P3/4K3 b - - 0 20".into())).unwrap();
        for text in ["Kd7", "e4"] {
            game.play(game.parse(text).unwrap()).unwrap();
        }
        let text = write_pgn(&game, ["A", "B"], None, PgnHeader::casual("????.??.??"));
        assert!(text.ends_with("\n\n20... Kd7 21. e4 *\n"), "{text}");
        assert_eq!(first(text.as_bytes()).game.game().fen(), game.game().fen());
    }

    #[test]
    fn what_is_no_game_is_refused_and_broken_games_leave_the_others() {
        assert!(matches!(PgnFile::read(b""), Err(PgnError::Empty)));
        let error = PgnFile::read(b"1. e4 e5 2. Ke3 *").unwrap_err().to_string();
        assert!(error.contains("2.Ke3"), "{error}");
        assert!(PgnFile::read(b"[FEN \"nonsense\"]\n\n*").is_err());
        assert!(matches!(PgnFile::read(b"\x89PNG\r\n\x1a\n\0\0"), Err(PgnError::Empty)));
        let text =
            format!("{PGN}\n[Event \"2\"]\n\n1. e4 Ke3 *\n\n[White \"X\"]\n[Result \"0-1\"]\n\n1. d4 *\n");
        let file = PgnFile::read(text.as_bytes()).unwrap();
        assert_eq!(file.titles(), ["A \"B\" – C, ?, 2 moves", "X – ?, 0-1, 1 moves"]);
        assert_eq!((file.broken.len(), file.game(1).unwrap().game.ply()), (1, 1));
        assert!(matches!(file.game(2), Err(PgnError::Number(2))));
    }

    #[test]
    fn long_games_are_wrapped() {
        let mut game = PlayedGame::new(None).unwrap();
        for _ in 0..30 {
            for text in ["Nf3", "Nf6", "Ng1", "Ng8"] {
                game.play(game.parse(text).unwrap()).unwrap();
            }
        }
        let text = write_pgn(&game, ["A", "B"], game.end(), PgnHeader::casual("????.??.??"));
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        assert_eq!(first(text.as_bytes()).game.ply(), 120);
    }
}
