//! Games as PGN.

use std::io;
use std::ops::ControlFlow;

use pgn_reader::{Outcome, RawTag, Reader, SanPlus, Visitor};
use shakmaty::{Color, KnownOutcome};
use thiserror::Error;

use super::played::{EndReason, GameEnd, PlayedGame, Winner};

/// Columns of a line of moves.
const WIDTH: usize = 80;

/// Characters of a player's name.
const LONGEST_NAME: usize = 60;

/// Why a text is no game.
#[derive(Debug, Error)]
pub enum PgnError {
    /// Nothing in it is a game.
    #[error("there is no game in this file: is it a PGN?")]
    Empty,
    /// A move or the start position is wrong.
    #[error("{0}")]
    Game(String),
    /// It cannot be read.
    #[error("the PGN cannot be read: {0}")]
    Read(#[from] io::Error),
}

/// A game of a PGN.
#[derive(Debug)]
pub struct PgnGame {
    /// The moves.
    pub game: PlayedGame,
    /// White's and Black's name.
    pub names: [String; 2],
    /// The result, if it has one.
    pub end: Option<GameEnd>,
}

/// Reads the first game of a PGN, without its variations and comments.
///
/// # Errors
///
/// If there is none, or it has a move that is not legal.
pub fn read_pgn(text: &[u8]) -> Result<PgnGame, PgnError> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    match Reader::new(text).read_game(&mut GameReader)? {
        Some(game) => {
            let game = game.map_err(PgnError::Game)?;
            if game.game.ply() == 0 && game.game.start().is_none() && !game.tagged {
                return Err(PgnError::Empty);
            }
            Ok(PgnGame { end: game.game.end().or(game.end), game: game.game, names: game.names })
        }
        None => Err(PgnError::Empty),
    }
}

struct GameReader;

#[derive(Default)]
struct Tags {
    fen: Option<String>,
    names: [String; 2],
    any: bool,
}

struct Movetext {
    game: PlayedGame,
    names: [String; 2],
    end: Option<GameEnd>,
    tagged: bool,
}

type Read = Result<Movetext, String>;

impl Visitor for GameReader {
    type Tags = Tags;
    type Movetext = Movetext;
    type Output = Read;

    fn begin_tags(&mut self) -> ControlFlow<Read, Tags> {
        ControlFlow::Continue(Tags::default())
    }

    fn tag(&mut self, tags: &mut Tags, name: &[u8], value: RawTag<'_>) -> ControlFlow<Read> {
        tags.any = true;
        let text = || value.decode_utf8_lossy().trim().to_owned();
        match name {
            b"FEN" => tags.fen = Some(text()),
            b"White" => tags.names[0] = text().chars().take(LONGEST_NAME).collect(),
            b"Black" => tags.names[1] = text().chars().take(LONGEST_NAME).collect(),
            _ => (),
        }
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, tags: Tags) -> ControlFlow<Read, Movetext> {
        match PlayedGame::new(tags.fen) {
            Ok(game) => {
                ControlFlow::Continue(Movetext { game, names: tags.names, end: None, tagged: tags.any })
            }
            Err(error) => ControlFlow::Break(Err(format!("the game's start position: {error}"))),
        }
    }

    fn san(&mut self, text: &mut Movetext, san: SanPlus) -> ControlFlow<Read> {
        let game = &mut text.game;
        let number = game.ply() / 2 + 1;
        let played = match san.san.to_move(game.game().position()) {
            Ok(m) => game.play(m),
            Err(_) => Err(format!("move {number}, {san}, is not legal: is the PGN complete?")),
        };
        match played {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(Err(error)),
        }
    }

    fn outcome(&mut self, text: &mut Movetext, outcome: Outcome) -> ControlFlow<Read> {
        let winner = match outcome {
            Outcome::Known(KnownOutcome::Decisive { winner }) => Some(winner.into()),
            Outcome::Known(KnownOutcome::Draw) => Some(Winner::Draw),
            Outcome::Unknown => None,
        };
        text.end = winner.map(|winner| GameEnd { winner, reason: EndReason::Recorded });
        ControlFlow::Continue(())
    }

    fn end_game(&mut self, text: Movetext) -> Read {
        Ok(text)
    }
}

/// Writes a game: the seven tags, the start position, the moves. `date` is `YYYY.MM.DD`.
pub fn write_pgn(game: &PlayedGame, names: [&str; 2], end: Option<GameEnd>, date: &str) -> String {
    let result = end.map_or("*", GameEnd::result);
    let mut pgn = String::new();
    let mut tag = |name: &str, value: &str| {
        let value: String = value.chars().filter(|c| !c.is_control()).collect();
        pgn += &format!("[{name} \"{}\"]\n", value.replace('\\', "\\\\").replace('"', "\\\""));
    };
    tag("Event", "Casual game");
    tag("Site", "Philidor's studio");
    tag("Date", date);
    tag("Round", "-");
    tag("White", names[0]);
    tag("Black", names[1]);
    tag("Result", result);
    if let Some(fen) = game.start() {
        tag("SetUp", "1");
        tag("FEN", fen);
    }
    if game.is_chess960() {
        tag("Variant", "Chess960");
    }
    if let Some(opening) = game.opening() {
        tag("ECO", &opening.eco);
        tag("Opening", &opening.name);
    }
    pgn.push('\n');
    let mut column = 0;
    let mut word = |text: &str| {
        if column > 0 && column + 1 + text.len() > WIDTH {
            pgn.push('\n');
            column = 0;
        } else if column > 0 {
            pgn.push(' ');
            column += 1;
        }
        pgn += text;
        column += text.len();
    };
    let first = first_ply(game);
    for (index, m) in game.moves().iter().enumerate() {
        let ply = first + index;
        if ply.is_multiple_of(2) {
            word(&format!("{}.", ply / 2 + 1));
        } else if index == 0 {
            word(&format!("{}...", ply / 2 + 1));
        }
        word(&m.san);
    }
    word(result);
    pgn.push('\n');
    pgn
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

    #[test]
    fn a_game_is_read_without_variations_and_written_back() {
        let read = read_pgn(PGN.as_bytes()).unwrap();
        assert_eq!(read.names, ["A \"B\"", "C"]);
        assert_eq!(read.end.unwrap().result(), "1-0");
        let text = write_pgn(&read.game, ["A \"B\"", "C"], read.end, "2026.01.02");
        assert!(text.contains("[White \"A \\\"B\\\"\"]\n"), "{text}");
        assert!(text.contains("[ECO \"C44\"]"), "{text}");
        assert!(text.ends_with("\n\n1. e4 e5 2. Nf3 Nc6 1-0\n"), "{text}");
        assert_eq!(read_pgn(text.as_bytes()).unwrap().game.ply(), 4);
    }

    #[test]
    fn a_game_from_a_position_keeps_it() {
        let mut game = PlayedGame::new(Some("4k3/8/8/8/8/8/4P3/4K3 b - - 0 20".into())).unwrap();
        for text in ["Kd7", "e4"] {
            game.play(game.parse(text).unwrap()).unwrap();
        }
        let text = write_pgn(&game, ["A", "B"], None, "????.??.??");
        assert!(text.ends_with("\n\n20... Kd7 21. e4 *\n"), "{text}");
        let read = read_pgn(text.as_bytes()).unwrap();
        assert_eq!(read.game.game().fen(), game.game().fen());
    }

    #[test]
    fn what_is_no_game_is_refused() {
        assert!(matches!(read_pgn(b""), Err(PgnError::Empty)));
        let error = read_pgn(b"1. e4 e5 2. Ke3 *").unwrap_err().to_string();
        assert!(error.contains("move 2, Ke3"), "{error}");
        assert!(read_pgn(b"[FEN \"nonsense\"]\n\n*").is_err());
        assert!(matches!(read_pgn(b"\x89PNG\r\n\x1a\n\0\0"), Err(PgnError::Empty)));
    }

    #[test]
    fn long_games_are_wrapped() {
        let mut game = PlayedGame::new(None).unwrap();
        for _ in 0..30 {
            for text in ["Nf3", "Nf6", "Ng1", "Ng8"] {
                game.play(game.parse(text).unwrap()).unwrap();
            }
        }
        let text = write_pgn(&game, ["A", "B"], game.end(), "????.??.??");
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert_eq!(read_pgn(text.as_bytes()).unwrap().game.ply(), 120);
    }
}
