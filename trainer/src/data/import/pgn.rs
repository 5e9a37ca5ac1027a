//! Turns the games of a PGN text into records, exclusions by filters, and errors.

use std::fmt;
use std::ops::ControlFlow;

use engine::chess::pgn::{GameVisitor, PgnError, Tags, Token, decoded, each_game, is_chess960};
use engine::chess::position::{Game, PackedMove};
use memchr::memmem;
use shakmaty::san::SanPlus;
use shakmaty::{CastlingMode, Chess, KnownOutcome, Move, Position};
use thiserror::Error;

use super::blocks::TextBlock;
use super::reader::Filters;
use crate::data::record::{
    EvalCounts, EvalSide, FLAG_ADJUDICATED, FLAG_CHESS960, FoundEval, GameRecord, GameResult, INITIAL_FEN,
    NO_EVAL, find_eval,
};

/// Most bytes of a start FEN in `games/1`.
pub(crate) const LONGEST_FEN: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GameError {
    /// The start is illegal or too long for `games/1`.
    #[error("{0}")]
    Start(String),
    #[error("{0}")]
    Pgn(PgnError),
    #[error("illegal or ambiguous move {0}")]
    Move(String),
    /// The result contradicts the final position, or the tag contradicts the movetext.
    #[error("contradictory result: {0}")]
    Result(String),
    #[error("{0}")]
    Text(String),
    /// A row of an array contradicts itself or those before.
    #[error("{0}")]
    Array(String),
    #[error("more than 65535 plies")]
    TooLong,
}

impl GameError {
    pub fn kind(&self) -> &'static str {
        match self {
            GameError::Start(_) => "unusable start position",
            GameError::Move(_) | GameError::Pgn(PgnError::Illegal(_)) => "illegal or ambiguous move",
            GameError::Pgn(PgnError::Unreadable(_)) => "unreadable move",
            GameError::Pgn(PgnError::Null(_)) => "null move",
            GameError::Result(_) => "contradictory result",
            GameError::Text(_) | GameError::Pgn(PgnError::Text(_)) => "malformed text",
            GameError::Array(_) => "inconsistent row",
            GameError::TooLong => "too many moves",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenGame {
    /// What is counted: lines from 1, or rows of an array from 0.
    pub unit: &'static str,
    pub game_line: u64,
    pub line: u64,
    pub error: GameError,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exclusion {
    Variant,
    /// A rating of a player or the puzzle is out of bounds.
    Rating,
    /// A rating is unknown, with [`Filters::rated_only`].
    Unrated,
    TooShort,
    TooLong,
    Drawn,
    /// Without [`Filters::unknown_results`].
    NoResult,
    Unpopular,
    Untried,
    /// Start and moves as of an earlier game.
    Duplicate,
}

impl fmt::Display for Exclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Exclusion::Variant => "other variants",
            Exclusion::Rating => "rating out of bounds",
            Exclusion::Unrated => "unrated",
            Exclusion::TooShort => "too short",
            Exclusion::TooLong => "too long",
            Exclusion::Drawn => "drawn: --decisive-only",
            Exclusion::NoResult => "no result: --unknown-results keeps such games",
            Exclusion::Unpopular => "unpopular puzzles",
            Exclusion::Untried => "rarely played puzzles",
            Exclusion::Duplicate => "duplicates",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ParsedGame {
    Game(GameRecord, EvalCounts),
    Excluded(Exclusion),
    Broken(BrokenGame),
}

pub(crate) fn parse_block(block: &TextBlock, evals: EvalSide, filters: &Filters) -> Vec<ParsedGame> {
    let mut parsed = Vec::new();
    let mut parser = GameParser { evals, filters, game: None };
    each_game(&block.text, block.first_line, &mut parser, |read| {
        let broken = |error| {
            ParsedGame::Broken(BrokenGame { unit: "line", game_line: read.game_line, line: read.line, error })
        };
        parsed.push(match read.output {
            Ok(Ok(game)) => game,
            Ok(Err(error)) => broken(error),
            Err(error) => broken(GameError::Pgn(error)),
        });
    });
    parsed
}

struct GameParser<'a> {
    evals: EvalSide,
    filters: &'a Filters,
    game: Option<ParserState>,
}

#[derive(Default)]
struct TagValues {
    start: Option<String>,
    chess960: bool,
    other_variant: bool,
    lichess: bool,
    adjudicated: bool,
    result: Option<GameResult>,
    white_elo: u16,
    black_elo: u16,
    date: u32,
}

#[derive(Default)]
struct ParserState {
    game: GameRecord,
    /// Score of the current position, if a comment already gave it.
    next_eval: Option<i16>,
    /// What [`EvalSide::Auto`] means in this game: [`EvalSide::After`].
    evals_after: bool,
    evals: EvalCounts,
}

/// Only Lichess writes these tags, in its broadcasts and studies.
const LICHESS_TAGS: [&[u8]; 5] =
    [b"BroadcastURL", b"BroadcastName", b"StudyName", b"ChapterName", b"ChapterURL"];

fn contains(value: &[u8], word: &[u8]) -> bool {
    memmem::find(&value.to_ascii_lowercase(), word).is_some()
}

impl TagValues {
    fn read(tags: &Tags) -> TagValues {
        let mut read = TagValues::default();
        for (name, value) in tags {
            read.tag(name, value);
        }
        read
    }

    fn tag(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"FEN" => self.start = Some(decoded(value).trim().to_owned()).filter(|fen| !fen.is_empty()),
            b"Variant" => match is_chess960(value) {
                Some(chess960) => self.chess960 = chess960,
                None => self.other_variant = true,
            },
            b"Site" | b"Event" | b"Annotator" | b"GameURL" => self.lichess |= contains(value, b"lichess"),
            b"Termination" => self.adjudicated = contains(value, b"adjudicat"),
            b"Result" => self.result = result(value),
            b"WhiteElo" => self.white_elo = elo(value),
            b"BlackElo" => self.black_elo = elo(value),
            b"Date" => self.date = date(value).unwrap_or(self.date),
            b"UTCDate" if self.date == 0 => self.date = date(value).unwrap_or(0),
            _ => self.lichess |= LICHESS_TAGS.contains(&name),
        }
    }
}

impl GameVisitor for GameParser<'_> {
    type Output = Result<ParsedGame, GameError>;

    fn begin(&mut self, tags: Tags) -> Result<Chess, Self::Output> {
        let tags = TagValues::read(&tags);
        if tags.other_variant {
            return Err(Ok(ParsedGame::Excluded(Exclusion::Variant)));
        }
        if let Some(why) = self.filters.exclude_ratings(tags.white_elo, tags.black_elo) {
            return Err(Ok(ParsedGame::Excluded(why)));
        }
        let (start, position) = match tags.start.as_deref().map(start_position).transpose() {
            Ok(start) => start.unwrap_or_default(),
            Err(error) => return Err(Err(error)),
        };
        let chess960 = tags.chess960 || position.castles().mode() == CastlingMode::Chess960;
        let game = GameRecord {
            start,
            result: tags.result.unwrap_or_default(),
            white_elo: tags.white_elo,
            black_elo: tags.black_elo,
            date: tags.date,
            flags: if chess960 { FLAG_CHESS960 } else { 0 }
                | if tags.adjudicated { FLAG_ADJUDICATED } else { 0 },
            ..GameRecord::default()
        };
        self.game = Some(ParserState { game, evals_after: tags.lichess, ..ParserState::default() });
        Ok(position)
    }

    fn play(&mut self, m: Move, _: SanPlus, _: &Chess) -> ControlFlow<Self::Output> {
        let state = self.game.as_mut().expect("a game has begun");
        if state.game.moves.len() == usize::from(u16::MAX) {
            return ControlFlow::Break(Err(GameError::TooLong));
        }
        state.game.moves.push(PackedMove::new(m));
        state.game.evals.push(state.next_eval.take().unwrap_or(NO_EVAL));
        ControlFlow::Continue(())
    }

    fn token(&mut self, token: Token<'_>, depth: usize, position: &Chess) -> ControlFlow<Self::Output> {
        let state = self.game.as_mut().expect("a game has begun");
        match token {
            Token::Comment(comment) if depth == 0 => state.comment(comment, self.evals, position),
            Token::Result(outcome) if depth == 0 && !state.agrees(outcome) => {
                let why = "the tag and the movetext differ".to_owned();
                return ControlFlow::Break(Err(GameError::Result(why)));
            }
            _ => (),
        }
        ControlFlow::Continue(())
    }

    fn end(&mut self, position: &Chess) -> Self::Output {
        let ParserState { mut game, evals, .. } = self.game.take().expect("a game has begun");
        let by_rule = if position.is_checkmate() {
            GameResult::won_by(!position.turn())
        } else if position.is_stalemate() {
            GameResult::Draw
        } else {
            game.result
        };
        if game.result == GameResult::Unknown {
            game.result = by_rule;
        } else if game.result != by_rule {
            let why = "the game ends in mate or stalemate, but the result is another".to_owned();
            return Err(GameError::Result(why));
        }
        Ok(match self.filters.exclude(&game) {
            Some(why) => ParsedGame::Excluded(why),
            None => ParsedGame::Game(game, evals),
        })
    }
}

impl ParserState {
    fn comment(&mut self, comment: &[u8], side: EvalSide, position: &Chess) {
        let score = match find_eval(comment) {
            FoundEval::None => return,
            FoundEval::Unreadable => {
                self.evals.unreadable += 1;
                return;
            }
            FoundEval::Score { score, has_depth } => {
                self.evals_after |= has_depth;
                score
            }
        };
        let side = match side {
            EvalSide::Auto if self.evals_after => EvalSide::After,
            EvalSide::Auto => EvalSide::Before,
            side => side,
        };
        let turn = position.turn();
        if side == EvalSide::After {
            self.next_eval = Some(score.after(turn));
        } else if let Some(eval) = self.game.evals.last_mut() {
            let for_white =
                if side == EvalSide::Mover && turn.is_white() { score.for_other_side() } else { score };
            *eval = for_white.before(!turn, position.is_checkmate());
        }
        self.evals.count(side);
    }

    /// Takes the result after the moves; false if the tag has another result.
    fn agrees(&mut self, outcome: shakmaty::Outcome) -> bool {
        let shakmaty::Outcome::Known(outcome) = outcome else { return true };
        let written = match outcome {
            KnownOutcome::Decisive { winner } => GameResult::won_by(winner),
            KnownOutcome::Draw => GameResult::Draw,
        };
        let tag = std::mem::replace(&mut self.game.result, written);
        tag == GameResult::Unknown || tag == written
    }
}

/// Parses a start. The stored form is `None` for the initial position.
pub(crate) fn start_position(fen: &str) -> Result<(Option<String>, Chess), GameError> {
    let start = Game::from_fen(fen).map_err(|error| GameError::Start(error.to_string()))?;
    let fen = start.fen();
    if fen.len() > LONGEST_FEN {
        return Err(GameError::Start(format!("a FEN of more than {LONGEST_FEN} bytes: {fen}")));
    }
    Ok(((fen != INITIAL_FEN).then_some(fen), start.position().clone()))
}

fn result(value: &[u8]) -> Option<GameResult> {
    match value.trim_ascii() {
        b"1-0" => Some(GameResult::White),
        b"0-1" => Some(GameResult::Black),
        b"1/2-1/2" | b"1/2" => Some(GameResult::Draw),
        _ => None,
    }
}

fn elo(value: &[u8]) -> u16 {
    std::str::from_utf8(value).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// From `2017.06.24` or `1996.??.??` to yyyymmdd; `None` if the year is unknown. Of a date whose year comes last, only the
/// year is certain: 03/04/2020 may be in March or April.
fn date(value: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(value).ok()?;
    let word = text.split_whitespace().next()?;
    let parts: Vec<u32> = word.split(['.', '-', '/']).map(|part| part.parse().unwrap_or(0)).collect();
    let is_year = |part: &u32| (1000..=9999).contains(part);
    let (year, [month, day]) = match *parts.as_slice() {
        [year, month, day, ..] if is_year(&year) => (year, [month, day]),
        [year, month] if is_year(&year) => (year, [month, 0]),
        [.., year] => (year, [0, 0]),
        [] => return None,
    };
    let days = [0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let month = if month <= 12 { month } else { 0 };
    let day = if day <= days[month as usize] { day } else { 0 };
    is_year(&year).then_some(year * 10_000 + month * 100 + day)
}

#[cfg(test)]
mod tests;
