//! Who played, with what result and from which opening: what statistics need of a PGN's games.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::ops::ControlFlow;

use anyhow::{Context, Result, ensure};
use pgn_reader::{RawComment, RawTag, Reader, SanPlus, Visitor};

/// Where an opening's moves are not marked, this many plies tell openings apart.
const OPENING_PLIES: usize = 8;

/// A game as a tournament program has written it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PgnGame {
    /// White's name.
    pub white: String,
    /// Black's name.
    pub black: String,
    /// The tag `Round`, unless it is unknown.
    pub round: Option<String>,
    /// White's points in halves, 0 to 2; none of an unfinished game.
    pub halves: Option<u8>,
    /// What the tag `Termination` says; empty if there is none.
    pub termination: String,
    /// The start position (FEN; empty for the initial one) and the opening's moves (SAN), as far as they are known.
    pub opening: Vec<String>,
}

/// Reads the games of a PGN.
///
/// The opening's moves are those with the comment `book`, which fastchess writes. Without such comments `Round` has to
/// tell openings apart, or, where there is no round either, the first eight plies.
///
/// # Errors
///
/// The text is no PGN, or a game does not name two players.
pub fn read_pgn(text: &[u8]) -> Result<Vec<PgnGame>> {
    let mut reader = Reader::new(Cursor::new(text));
    let mut games = Vec::new();
    while let Some(game) =
        reader.read_game(&mut GameVisitor).with_context(|| format!("game {} is no PGN", games.len() + 1))?
    {
        let number = games.len() + 1;
        ensure!(
            !game.white.is_empty() && !game.black.is_empty(),
            "game {number} does not name its players (tags White and Black)"
        );
        ensure!(
            game.white != game.black,
            "game {number}: both players are called {}; give them different names",
            game.white
        );
        games.push(game);
    }
    Ok(games)
}

struct GameVisitor;

/// A game's first moves.
struct Moves {
    game: PgnGame,
    moves: Vec<String>,
    /// Plies of the book.
    book: usize,
}

impl Visitor for GameVisitor {
    type Tags = BTreeMap<Vec<u8>, String>;
    type Movetext = Moves;
    type Output = PgnGame;

    fn begin_tags(&mut self) -> ControlFlow<PgnGame, Self::Tags> {
        ControlFlow::Continue(BTreeMap::new())
    }

    fn tag(&mut self, tags: &mut Self::Tags, name: &[u8], value: RawTag<'_>) -> ControlFlow<PgnGame> {
        tags.insert(name.to_owned(), value.decode_utf8_lossy().trim().to_owned());
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, mut tags: Self::Tags) -> ControlFlow<PgnGame, Moves> {
        let mut tag = |name: &str| tags.remove(name.as_bytes()).unwrap_or_default();
        let game = PgnGame {
            white: tag("White"),
            black: tag("Black"),
            round: Some(tag("Round")).filter(|round| !["", "?", "-"].contains(&round.as_str())),
            halves: match tag("Result").as_str() {
                "1-0" => Some(2),
                "1/2-1/2" => Some(1),
                "0-1" => Some(0),
                _ => None,
            },
            termination: tag("Termination"),
            opening: vec![tag("FEN")],
        };
        ControlFlow::Continue(Moves { game, moves: Vec::new(), book: 0 })
    }

    fn san(&mut self, moves: &mut Moves, san: SanPlus) -> ControlFlow<PgnGame> {
        moves.moves.push(san.to_string());
        ControlFlow::Continue(())
    }

    fn comment(&mut self, moves: &mut Moves, comment: RawComment<'_>) -> ControlFlow<PgnGame> {
        if comment.as_bytes().trim_ascii() == b"book" {
            moves.book = moves.moves.len();
        }
        ControlFlow::Continue(())
    }

    fn end_game(&mut self, moves: Moves) -> PgnGame {
        let Moves { mut game, mut moves, book } = moves;
        let known = match (book, &game.round) {
            (0, Some(_)) => 0,
            (0, None) => OPENING_PLIES,
            (book, _) => book,
        };
        moves.truncate(known);
        game.opening.append(&mut moves);
        game
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_openings_are_read() {
        let text =
            b"[Event \"x\"]\n[Round \"7\"]\n[White \"A\"]\n[Black \"B \\\"2\\\"\"]\n[Result \"0-1\"]\n\
            [FEN \"4k3/8/8/8/8/8/8/4K2R w K - 0 1\"]\n[Termination \"time forfeit\"]\n\n\
            1. O-O {book} Ke7 {book} 2. Rf2 {+1.00/5 0.1s, White loses on time} 0-1\n\n\
            [White \"B\"]\n[Black \"A\"]\n[Round \"?\"]\n[Result \"*\"]\n\n1. e4 e5 2. Nf3 *\n";
        let games = read_pgn(text).unwrap();
        let first = PgnGame {
            white: "A".into(),
            black: "B \"2\"".into(),
            round: Some("7".into()),
            halves: Some(0),
            termination: "time forfeit".into(),
            opening: ["4k3/8/8/8/8/8/8/4K2R w K - 0 1", "O-O", "Ke7"].map(str::to_owned).into(),
        };
        assert_eq!(games[0], first);
        assert_eq!((games[1].halves, &games[1].round, games[1].opening.len()), (None, &None, 4));
        assert!(read_pgn(b"").unwrap().is_empty());
        let error = read_pgn(b"[White \"A\"]\n\n1. e4 *\n").unwrap_err();
        assert!(error.to_string().contains("game 1 does not name its players"), "{error}");
        let error = read_pgn(b"[White \"A\"]\n[Black \"A\"]\n\n1. e4 *\n").unwrap_err();
        assert!(error.to_string().contains("both players are called A"), "{error}");
    }
}
