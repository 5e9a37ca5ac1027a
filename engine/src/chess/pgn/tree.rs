//! A game with everything in its text.

use std::borrow::Cow;
use std::ops::ControlFlow;

use pgn_reader::{Nag, RawComment, RawTag, SanPlus, Skip, Visitor};
use shakmaty::{Move, Position};
use thiserror::Error;

use super::moves::{is_chess960, san_to_move};
use super::section::{GameVisitor, each_game};
use crate::chess::position::Game;

/// A part of a game's movetext.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PgnToken {
    /// A move; those of variations are not checked.
    Move(SanPlus),
    /// A NAG (numeric annotation glyph): `!` is 1, `?` 2, `!!` 3, `??` 4, `!?` 5, `?!` 6.
    Nag(u8),
    /// A comment without its braces, as it is in the file.
    Comment(Vec<u8>),
    /// The start of a variation.
    Begin,
    /// The end of a variation.
    End,
    /// A result.
    Result(shakmaty::Outcome),
}

/// A game in PGN: its tags, its moves, and all that is written about them.
#[derive(Clone, Debug)]
pub struct PgnGame {
    /// Names and values of the tags, as they are in the file: with backslashes before quotes and backslashes.
    pub tags: Vec<(Vec<u8>, Vec<u8>)>,
    /// The movetext.
    pub tokens: Vec<PgnToken>,
    /// The position in which the game starts.
    pub start: Game,
    /// The moves of the game, without variations.
    pub moves: Vec<Move>,
    /// The line where the game starts, from 1.
    pub line: u64,
}

/// A game that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("game {game}, line {line}: {why}")]
pub struct BrokenPgn {
    /// The number of the game in the text, from 1.
    pub game: usize,
    /// The line of the error.
    pub line: u64,
    /// What is wrong.
    pub why: String,
}

/// The games of a text: first those that can be read with their numbers, from 1, then the others.
pub fn read_games(text: &[u8]) -> (Vec<(usize, PgnGame)>, Vec<BrokenPgn>) {
    let (mut games, mut broken) = (Vec::new(), Vec::new());
    each_game(text, 1, true, &mut TreeVisitor::default(), |read| {
        let number = games.len() + broken.len() + 1;
        match read.output.map_err(|error| error.to_string()).flatten() {
            Ok(game) => games.push((number, PgnGame { line: read.game_line, ..game })),
            Err(why) => broken.push(BrokenPgn { game: number, line: read.line, why }),
        }
    });
    (games, broken)
}

impl PgnGame {
    /// The value of a tag without escapes; `None` if it is missing, empty or unknown (`?`).
    pub fn tag(&self, name: &str) -> Option<String> {
        let (_, value) = self.tags.iter().find(|(key, _)| key == name.as_bytes())?;
        let text = text_of(&RawTag(value).decode()).trim().to_owned();
        (!text.is_empty() && text != "?").then_some(text)
    }

    /// The comments of the moves of the game, by ply from 0: those after the move, outside of variations.
    pub fn comments(&self) -> Vec<Vec<Cow<'_, str>>> {
        let mut comments = vec![Vec::new(); self.moves.len()];
        let (mut depth, mut plies) = (0_usize, 0);
        for token in &self.tokens {
            match token {
                PgnToken::Begin => depth += 1,
                PgnToken::End => depth = depth.saturating_sub(1),
                PgnToken::Move(_) if depth == 0 => plies += 1,
                PgnToken::Comment(comment) if depth == 0 && plies > 0 => {
                    comments[plies - 1].push(text_of(comment));
                }
                _ => (),
            }
        }
        comments
    }
}

/// Text of a file: UTF-8, or else Latin-1, which old files have.
fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()),
    }
}

#[derive(Default)]
struct TreeVisitor {
    ended: bool,
}

struct Movetext {
    game: PgnGame,
    now: Game,
    depth: usize,
    /// The parts of a comment whose end is not read yet.
    comment: Vec<u8>,
}

impl GameVisitor for TreeVisitor {
    fn ended(&self) -> bool {
        self.ended
    }
}

impl Visitor for TreeVisitor {
    type Tags = Vec<(Vec<u8>, Vec<u8>)>;
    type Movetext = Movetext;
    type Output = Result<PgnGame, String>;

    fn begin_tags(&mut self) -> ControlFlow<Self::Output, Self::Tags> {
        self.ended = false;
        ControlFlow::Continue(Vec::new())
    }

    fn tag(&mut self, tags: &mut Self::Tags, name: &[u8], value: RawTag<'_>) -> ControlFlow<Self::Output> {
        tags.push((name.to_owned(), value.as_bytes().to_owned()));
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, tags: Self::Tags) -> ControlFlow<Self::Output, Movetext> {
        let value = |name: &[u8]| tags.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_slice());
        let variant = value(b"Variant").unwrap_or_default();
        if is_chess960(variant).is_none() {
            return ControlFlow::Break(Err(format!("the variant {} is not chess", text_of(variant))));
        }
        let fen = value(b"FEN").map(text_of).filter(|fen| !fen.trim().is_empty());
        let start = match fen.map_or(Ok(Game::new()), |fen| Game::from_fen(&fen)) {
            Ok(start) => start,
            Err(error) => return ControlFlow::Break(Err(error.to_string())),
        };
        let now = start.clone();
        let game = PgnGame { tags, tokens: Vec::new(), start, moves: Vec::new(), line: 0 };
        ControlFlow::Continue(Movetext { game, now, depth: 0, comment: Vec::new() })
    }

    fn san(&mut self, text: &mut Movetext, san: SanPlus) -> ControlFlow<Self::Output> {
        if text.depth == 0 {
            let Some(m) = san_to_move(&san.san, text.now.position()) else {
                let dots = text.now.turn().fold_wb(".", "...");
                let number = text.now.position().fullmoves();
                return ControlFlow::Break(Err(format!("illegal or ambiguous move {number}{dots}{san}")));
            };
            text.game.moves.push(m);
            text.now.play(m);
        }
        text.game.tokens.push(PgnToken::Move(san));
        ControlFlow::Continue(())
    }

    fn nag(&mut self, text: &mut Movetext, nag: Nag) -> ControlFlow<Self::Output> {
        text.game.tokens.push(PgnToken::Nag(nag.0));
        ControlFlow::Continue(())
    }

    fn partial_comment(&mut self, text: &mut Movetext, part: RawComment<'_>) -> ControlFlow<Self::Output> {
        text.comment.extend_from_slice(part.as_bytes());
        ControlFlow::Continue(())
    }

    fn comment(&mut self, text: &mut Movetext, comment: RawComment<'_>) -> ControlFlow<Self::Output> {
        text.comment.extend_from_slice(comment.as_bytes());
        text.game.tokens.push(PgnToken::Comment(std::mem::take(&mut text.comment)));
        ControlFlow::Continue(())
    }

    fn begin_variation(&mut self, text: &mut Movetext) -> ControlFlow<Self::Output, Skip> {
        text.depth += 1;
        text.game.tokens.push(PgnToken::Begin);
        ControlFlow::Continue(Skip(false))
    }

    fn end_variation(&mut self, text: &mut Movetext) -> ControlFlow<Self::Output> {
        // A bracket that was never opened is dropped.
        if text.depth > 0 {
            text.depth -= 1;
            text.game.tokens.push(PgnToken::End);
        }
        ControlFlow::Continue(())
    }

    fn outcome(&mut self, text: &mut Movetext, outcome: shakmaty::Outcome) -> ControlFlow<Self::Output> {
        text.game.tokens.push(PgnToken::Result(outcome));
        ControlFlow::Continue(())
    }

    fn end_game(&mut self, mut text: Movetext) -> Self::Output {
        self.ended = true;
        if text.depth > 0 {
            return Err("a variation is not closed".to_owned());
        }
        if text.game.tags.is_empty() && text.game.tokens.is_empty() {
            return Err("no game".to_owned());
        }
        text.game.tokens.shrink_to_fit();
        Ok(text.game)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_in_a_game_is_kept() {
        let text = b"[Event \"a \\\"b\\\"\"]\n[White \"M\xfcller\"]\n[Site \"?\"]\n\n{ before } 1. e4 $14 {first}{} \
            (1. d4 d5 (1... Nf6 ; Indian\n) 2. c4) 1... e5! 2. Nf3 {last} 1-0\n";
        let (games, broken) = read_games(text);
        assert!(broken.is_empty(), "{broken:?}");
        let [(1, game)] = games.as_slice() else { panic!("{games:?}") };
        assert_eq!(game.tag("Event").as_deref(), Some("a \"b\""));
        assert_eq!(game.tag("White").as_deref(), Some("M\u{fc}ller"), "Latin-1");
        assert_eq!((game.tag("Site"), game.tag("Black"), game.line), (None, None, 1));
        assert_eq!((game.moves.len(), game.tokens.len()), (3, 19));
        assert_eq!(game.comments(), [vec!["first", ""], vec![], vec!["last"]]);
        let long = format!("1. e4 {{{}}} *", "very long ".repeat(5000));
        let (games, _) = read_games(long.as_bytes());
        assert_eq!(games[0].1.comments()[0], ["very long ".repeat(5000)]);
    }

    #[test]
    fn broken_games_are_named_by_number_and_line_and_the_others_are_read() {
        let text = "[Event \"1\"]\n\n1. e4 e5 *\n\n[Event \"2\"]\n\n1. e4 e5\n2. Ke3 *\n\n[Event \"3\"]\n[Variant \
            \"Atomic\"]\n\n1. e4 *\n\n[Event \"4\"]\n[FEN \"nonsense\"]\n\n*\n\n[Event \"5\"]\n\n1. e4 (1. d4 *\n\n\
            [Event \"6\"]\n\n1. d4 *\n";
        let (games, broken) = read_games(text.as_bytes());
        assert_eq!(
            games.iter().map(|(number, game)| (*number, game.line)).collect::<Vec<_>>(),
            [(1, 1), (6, 24)]
        );
        let errors: Vec<String> = broken.iter().map(BrokenPgn::to_string).collect();
        assert_eq!(errors[0], "game 2, line 8: illegal or ambiguous move 2.Ke3");
        assert!(
            errors[1].starts_with("game 3, line ") && errors[1].ends_with("Atomic is not chess"),
            "{errors:?}"
        );
        assert!(errors[2].starts_with("game 4, ") && errors[2].contains("not a FEN"), "{errors:?}");
        assert!(errors[3].contains("not closed") && broken.len() == 4, "{errors:?}");
    }
}
