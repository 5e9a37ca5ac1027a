use std::borrow::Cow;
use std::ops::ControlFlow;

use shakmaty::san::SanPlus;
use shakmaty::{Chess, Move};
use thiserror::Error;

use super::lines::unix_lines;
use super::moves::is_chess960;
use super::reader::{GameVisitor, Token, each_game};
use super::tags::{Tags, decoded, encoded, text_of};
use crate::chess::position::Game;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PgnToken {
    /// Not checked in variations.
    Move(SanPlus),
    /// A word in place of a variation's move.
    Word(Vec<u8>),
    Nag(u8),
    /// As in the file, without braces.
    Comment(Vec<u8>),
    Begin,
    End,
    Result(shakmaty::Outcome),
}

#[derive(Clone, Debug)]
pub struct PgnGame {
    pub tags: Tags,
    pub tokens: Vec<PgnToken>,
    pub start: Game,
    /// The main line up to the first null move.
    pub moves: Vec<Move>,
    /// Where the game starts, from 1.
    pub line: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("game {game}, line {line}: {why}")]
pub struct BrokenPgn {
    /// From 1, as `line`.
    pub game: usize,
    pub line: u64,
    pub why: String,
}

/// The numbers of games count from 1.
pub fn read_games(text: &[u8]) -> (Vec<(usize, PgnGame)>, Vec<BrokenPgn>) {
    let (mut games, mut broken) = (Vec::new(), Vec::new());
    each_game(&unix_lines(text), 1, &mut TreeVisitor::default(), |read| {
        let number = games.len() + broken.len() + 1;
        match read.output.map_err(|error| error.to_string()).flatten() {
            Ok(game) => games.push((number, PgnGame { line: read.game_line, ..game })),
            Err(why) => broken.push(BrokenPgn { game: number, line: read.line, why }),
        }
    });
    (games, broken)
}

impl PgnGame {
    /// `comment` is called with each ply, from 0.
    pub fn from_moves<'a>(
        tags: impl IntoIterator<Item = (&'a str, String)>,
        start: Game,
        moves: Vec<Move>,
        mut comment: impl FnMut(usize) -> Option<String>,
        result: shakmaty::Outcome,
    ) -> PgnGame {
        let tags = tags.into_iter().map(|(name, value)| (name.as_bytes().to_owned(), encoded(&value)));
        let mut position = start.position().clone();
        let mut tokens = Vec::with_capacity(moves.len() + 1);
        for (ply, m) in moves.iter().enumerate() {
            tokens.push(PgnToken::Move(SanPlus::from_move_and_play_unchecked(&mut position, *m)));
            tokens.extend(comment(ply).map(|comment| PgnToken::Comment(comment.into_bytes())));
        }
        tokens.push(PgnToken::Result(result));
        PgnGame { tags: tags.collect(), tokens, start, moves, line: 1 }
    }

    /// The value without escapes; `None` if missing, empty or `?`.
    pub fn tag(&self, name: &str) -> Option<String> {
        let (_, value) = self.tags.iter().find(|(key, _)| key == name.as_bytes())?;
        let text = decoded(value).trim().to_owned();
        (!text.is_empty() && text != "?").then_some(text)
    }

    /// After each move of the main line, by ply from 0.
    pub fn comments(&self) -> Vec<Vec<Cow<'_, str>>> {
        let mut comments = vec![Vec::new(); self.moves.len()];
        let (mut depth, mut plies) = (0_usize, 0_usize);
        for token in &self.tokens {
            match token {
                PgnToken::Begin => depth += 1,
                PgnToken::End => depth = depth.saturating_sub(1),
                PgnToken::Move(_) | PgnToken::Word(_) if depth == 0 => plies += 1,
                PgnToken::Comment(comment) if depth == 0 => {
                    if let Some(of_move) = plies.checked_sub(1).and_then(|ply| comments.get_mut(ply)) {
                        of_move.push(text_of(comment));
                    }
                }
                _ => (),
            }
        }
        comments
    }
}

#[derive(Default)]
struct TreeVisitor {
    game: Option<PgnGame>,
}

impl TreeVisitor {
    fn game(&mut self) -> &mut PgnGame {
        self.game.as_mut().expect("a game has begun")
    }
}

impl GameVisitor for TreeVisitor {
    type Output = Result<PgnGame, String>;

    fn begin(&mut self, tags: Tags) -> Result<Chess, Self::Output> {
        let value = |name: &[u8]| tags.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_slice());
        let variant = value(b"Variant").unwrap_or_default();
        if is_chess960(variant).is_none() {
            return Err(Err(format!("the variant {} is not chess", text_of(variant))));
        }
        let fen = value(b"FEN").map(decoded).filter(|fen| !fen.trim().is_empty());
        let start = match fen.map_or(Ok(Game::new()), |fen| Game::from_fen(&fen)) {
            Ok(start) => start,
            Err(error) => return Err(Err(error.to_string())),
        };
        let position = start.position().clone();
        self.game = Some(PgnGame { tags, tokens: Vec::new(), start, moves: Vec::new(), line: 0 });
        Ok(position)
    }

    fn play(&mut self, m: Move, san: SanPlus, _: &Chess) -> ControlFlow<Self::Output> {
        let game = self.game();
        game.moves.push(m);
        game.tokens.push(PgnToken::Move(san));
        ControlFlow::Continue(())
    }

    fn token(&mut self, token: Token<'_>, _: usize, _: &Chess) -> ControlFlow<Self::Output> {
        self.game().tokens.push(match token {
            Token::Move(san) => PgnToken::Move(san),
            Token::Word(word) => PgnToken::Word(word.to_owned()),
            Token::Nag(nag) => PgnToken::Nag(nag),
            Token::Comment(comment) => PgnToken::Comment(comment.to_owned()),
            Token::Begin => PgnToken::Begin,
            Token::End => PgnToken::End,
            Token::Result(outcome) => PgnToken::Result(outcome),
        });
        ControlFlow::Continue(())
    }

    fn end(&mut self, _: &Chess) -> Self::Output {
        let mut game = self.game.take().expect("a game has begun");
        game.tokens.shrink_to_fit();
        Ok(game)
    }

    fn allows_null_moves(&self) -> bool {
        true
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
