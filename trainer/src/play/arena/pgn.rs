use std::collections::BTreeMap;
use std::ops::ControlFlow;

use anyhow::{Context, Result, ensure};
use engine::chess::pgn::{GameVisitor, Tags, Token, decoded, each_game, is_chess960, unix_lines};
use engine::chess::position::Game;
use shakmaty::san::SanPlus;
use shakmaty::{Chess, Move};

/// Plies that identify an opening if neither book moves nor rounds are marked.
const OPENING_PLIES: usize = 8;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PgnGame {
    pub white: String,
    pub black: String,
    /// Tag `Round`, if known.
    pub round: Option<String>,
    /// White's half points, 0 to 2; `None` if unfinished.
    pub halves: Option<u8>,
    /// Tag `Termination`, or an empty string.
    pub termination: String,
    /// Start position (FEN, empty for the initial position) and known opening moves (SAN).
    pub opening: Vec<String>,
}

/// Unreadable games are logged and left out; a game without two player names is an error.
///
/// Opening moves are those with the comment `book`, which fastchess writes. Otherwise games from the same start
/// position have the same opening if they have the same tag `Round` or, without that tag, the same first eight plies.
pub fn read_pgn(text: &[u8], name: &str) -> Result<Vec<PgnGame>> {
    let (mut games, mut number) = (Vec::new(), 0);
    let mut failed = None;
    each_game(&unix_lines(text), 1, &mut OpeningVisitor::default(), |read| {
        number += 1;
        match read.output.map_err(|error| error.to_string()).flatten() {
            Ok(game) => {
                match names_two_players(&game, number).with_context(|| format!("{name}:{}", read.game_line)) {
                    Ok(()) => games.push(game),
                    Err(error) => failed = failed.take().or(Some(error)),
                }
            }
            Err(why) => log::warn!("{name}:{}: game {number}: {why}, skipped", read.line),
        }
    });
    failed.map_or(Ok(games), Err)
}

fn names_two_players(game: &PgnGame, number: usize) -> Result<()> {
    ensure!(
        ![&game.white, &game.black].into_iter().any(|name| ["", "?"].contains(&name.as_str())),
        "game {number} does not name its players (tags White and Black)"
    );
    let name = &game.white;
    ensure!(name != &game.black, "game {number}: both players are called {name}; give them different names");
    Ok(())
}

#[derive(Default)]
struct OpeningVisitor {
    game: PgnGame,
    moves: Vec<String>,
    /// Plies up to the last book move.
    book: usize,
}

impl GameVisitor for OpeningVisitor {
    type Output = Result<PgnGame, String>;

    fn begin(&mut self, tags: Tags) -> Result<Chess, Self::Output> {
        let mut tags: BTreeMap<Vec<u8>, String> =
            tags.into_iter().map(|(name, value)| (name, decoded(&value).trim().to_owned())).collect();
        let mut tag = |name: &str| tags.remove(name.as_bytes()).unwrap_or_default();
        let variant = tag("Variant");
        if is_chess960(variant.as_bytes()).is_none() {
            return Err(Err(format!("the variant {variant} is not chess")));
        }
        let fen = tag("FEN");
        let start = if fen.is_empty() { Ok(Game::new()) } else { Game::from_fen(&fen) };
        let start = start.map_err(|error| Err(error.to_string()))?;
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
            opening: vec![fen],
        };
        *self = OpeningVisitor { game, ..OpeningVisitor::default() };
        Ok(start.position().clone())
    }

    fn play(&mut self, _: Move, san: SanPlus, _: &Chess) -> ControlFlow<Self::Output> {
        self.moves.push(san.to_string());
        ControlFlow::Continue(())
    }

    fn token(&mut self, token: Token<'_>, depth: usize, _: &Chess) -> ControlFlow<Self::Output> {
        if let (Token::Comment(comment), 0) = (token, depth)
            && comment.trim_ascii() == b"book"
        {
            self.book = self.moves.len();
        }
        ControlFlow::Continue(())
    }

    fn end(&mut self, _: &Chess) -> Self::Output {
        let OpeningVisitor { mut game, mut moves, book } = std::mem::take(self);
        let known = match (book, &game.round) {
            (0, Some(_)) => 0,
            (0, None) => OPENING_PLIES,
            (book, _) => book,
        };
        moves.truncate(known);
        game.opening.append(&mut moves);
        Ok(game)
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
        let games = read_pgn(text, "x.pgn").unwrap();
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
        assert!(read_pgn(b"", "x.pgn").unwrap().is_empty());
        let cut = String::from_utf8_lossy(text).replace("2. Nf3 *", "2. N");
        assert_eq!(read_pgn(cut.as_bytes(), "x.pgn").unwrap().len(), 1, "the second game is cut off");
        let error = read_pgn(b"[White \"A\"]\n\n1. e4 *\n", "x.pgn").unwrap_err();
        assert!(format!("{error:#}").starts_with("x.pgn:1: game 1 does not name its players"), "{error:#}");
        let error = read_pgn(b"[White \"A\"]\n[Black \"A\"]\n\n1. e4 *\n", "x.pgn").unwrap_err();
        assert!(format!("{error:#}").contains("both players are called A"), "{error:#}");
    }
}
