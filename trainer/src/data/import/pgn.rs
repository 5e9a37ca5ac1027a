//! Games of PGN text, replayed: each becomes a record, is excluded by a filter, or is broken.

use std::fmt;
use std::ops::ControlFlow;

use engine::chess::pgn::{GameVisitor, each_game, is_chess960, san_to_move};
use engine::chess::position::{Game, PackedMove};
use memchr::memmem;
use pgn_reader::{RawComment, RawTag, SanPlus, Visitor};
use shakmaty::{CastlingMode, Chess, KnownOutcome, Position};
use thiserror::Error;

use super::blocks::TextBlock;
use super::reader::Filters;
use crate::data::record::{
    EvalSide, FLAG_ADJUDICATED, FLAG_CHESS960, GameRecord, GameResult, INITIAL_FEN, NO_EVAL, find_eval,
};

/// The bytes of a start in `games/1`.
pub(crate) const LONGEST_FEN: usize = 100;

/// What is wrong with a game.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GameError {
    /// The start is no legal position, or too long for `games/1`.
    #[error("{0}")]
    Start(String),
    /// A move is illegal or ambiguous.
    #[error("illegal or ambiguous move {text}")]
    Move {
        /// Plies before it.
        ply: usize,
        /// The move as it is written, with its number.
        text: String,
    },
    /// The result contradicts the final position, or the tag contradicts the movetext.
    #[error("contradictory result: {0}")]
    Result(String),
    /// The text is malformed, or ends inside a tag or a comment.
    #[error("{0}")]
    Text(String),
    /// More plies than `games/1` can count.
    #[error("more than 65535 plies")]
    TooLong,
}

impl GameError {
    /// The kind of error, by which broken games are counted.
    pub fn kind(&self) -> &'static str {
        match self {
            GameError::Start(_) => "unusable start position",
            GameError::Move { .. } => "illegal or ambiguous move",
            GameError::Result(_) => "contradictory result",
            GameError::Text(_) => "malformed text",
            GameError::TooLong => "too many moves",
        }
    }
}

/// A game with an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenGame {
    /// The line where the game starts, from 1.
    pub game_line: u64,
    /// The line of the error.
    pub line: u64,
    /// What is wrong.
    pub error: GameError,
}

/// Why a valid game is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exclusion {
    /// Neither standard chess nor Chess960.
    Variant,
    /// The rating of a player or of the puzzle is out of bounds.
    Rating,
    /// A player without a rating, with [`Filters::rated_only`].
    Unrated,
    /// Too few plies, or none.
    TooShort,
    /// Too many plies.
    TooLong,
    /// A draw or an unknown result that the filters exclude.
    Result,
    /// A puzzle below the minimum popularity.
    Unpopular,
    /// A puzzle that was played too rarely.
    Untried,
    /// The same start and moves as an earlier game.
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
            Exclusion::Result => "result excluded",
            Exclusion::Unpopular => "unpopular puzzles",
            Exclusion::Untried => "rarely played puzzles",
            Exclusion::Duplicate => "duplicates",
        })
    }
}

/// What was made of a game's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ParsedGame {
    Game(GameRecord),
    Excluded(Exclusion),
    Broken(BrokenGame),
}

/// Parses all games of a block in their order.
pub(crate) fn parse_block(block: &TextBlock, evals: EvalSide, filters: &Filters) -> Vec<ParsedGame> {
    let mut parsed = Vec::new();
    let mut parser = GameParser { evals, filters, ended: false };
    each_game(&block.text, block.first_line, false, &mut parser, |read| {
        let output = read.output.unwrap_or_else(|error| {
            let error = GameError::Text(error.to_string());
            Err(Rejection::Broken(error))
        });
        parsed.push(match output {
            Ok(game) => ParsedGame::Game(game),
            Err(Rejection::Excluded(why)) => ParsedGame::Excluded(why),
            Err(Rejection::Broken(error)) => {
                ParsedGame::Broken(BrokenGame { game_line: read.game_line, line: read.line, error })
            }
        });
    });
    parsed
}

enum Rejection {
    Excluded(Exclusion),
    Broken(GameError),
}

type Outcome = Result<GameRecord, Rejection>;

struct GameParser<'a> {
    evals: EvalSide,
    filters: &'a Filters,
    /// Whether the last game was read to its end.
    ended: bool,
}

/// The tags of a game.
#[derive(Default)]
struct Tags {
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

/// A game while its moves are read.
struct Moves {
    game: GameRecord,
    position: Chess,
    /// The score of the current position, if a comment has given it already.
    next_eval: i16,
    side: EvalSide,
}

impl GameVisitor for GameParser<'_> {
    fn ended(&self) -> bool {
        self.ended
    }
}

impl Visitor for GameParser<'_> {
    type Tags = Tags;
    type Movetext = Moves;
    type Output = Outcome;

    fn begin_tags(&mut self) -> ControlFlow<Outcome, Tags> {
        self.ended = false;
        ControlFlow::Continue(Tags::default())
    }

    fn tag(&mut self, tags: &mut Tags, name: &[u8], value: RawTag<'_>) -> ControlFlow<Outcome> {
        match name {
            b"FEN" => {
                tags.start = Some(value.decode_utf8_lossy().trim().to_owned()).filter(|fen| !fen.is_empty())
            }
            b"Variant" => match is_chess960(value.as_bytes()) {
                Some(chess960) => tags.chess960 = chess960,
                None => tags.other_variant = true,
            },
            b"Site" => {
                tags.lichess = memmem::find(&value.as_bytes().to_ascii_lowercase(), b"lichess").is_some()
            }
            b"Termination" => {
                tags.adjudicated =
                    memmem::find(&value.as_bytes().to_ascii_lowercase(), b"adjudicat").is_some();
            }
            b"Result" => tags.result = result(value.as_bytes()),
            b"WhiteElo" => tags.white_elo = elo(value.as_bytes()),
            b"BlackElo" => tags.black_elo = elo(value.as_bytes()),
            b"Date" => tags.date = date(value.as_bytes()).unwrap_or(tags.date),
            b"UTCDate" if tags.date == 0 => tags.date = date(value.as_bytes()).unwrap_or(0),
            _ => (),
        }
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, tags: Tags) -> ControlFlow<Outcome, Moves> {
        let reject = |why| ControlFlow::Break(Err(why));
        if tags.other_variant {
            return reject(Rejection::Excluded(Exclusion::Variant));
        }
        if let Some(why) = self.filters.exclude_ratings(tags.white_elo, tags.black_elo) {
            return reject(Rejection::Excluded(why));
        }
        let (start, position) = match tags.start.as_deref().map(start_position).transpose() {
            Ok(start) => start.unwrap_or_default(),
            Err(error) => return reject(Rejection::Broken(error)),
        };
        let chess960 = tags.chess960 || position.castles().mode() == CastlingMode::Chess960;
        let side = match self.evals {
            EvalSide::Auto if tags.lichess => EvalSide::After,
            EvalSide::Auto => EvalSide::Before,
            side => side,
        };
        ControlFlow::Continue(Moves {
            game: GameRecord {
                start,
                result: tags.result.unwrap_or_default(),
                white_elo: tags.white_elo,
                black_elo: tags.black_elo,
                date: tags.date,
                flags: if chess960 { FLAG_CHESS960 } else { 0 }
                    | if tags.adjudicated { FLAG_ADJUDICATED } else { 0 },
                ..GameRecord::default()
            },
            position,
            next_eval: NO_EVAL,
            side,
        })
    }

    fn san(&mut self, moves: &mut Moves, san: SanPlus) -> ControlFlow<Outcome> {
        let reject = |error| ControlFlow::Break(Err(Rejection::Broken(error)));
        let ply = moves.game.moves.len();
        let Some(m) = san_to_move(&san.san, &moves.position) else {
            let dots = moves.position.turn().fold_wb(".", "…");
            let text = format!("{}{dots}{san}", moves.position.fullmoves());
            return reject(GameError::Move { ply, text });
        };
        if ply == usize::from(u16::MAX) {
            return reject(GameError::TooLong);
        }
        moves.game.moves.push(PackedMove::new(m));
        moves.game.evals.push(std::mem::replace(&mut moves.next_eval, NO_EVAL));
        moves.position.play_unchecked(m);
        ControlFlow::Continue(())
    }

    fn comment(&mut self, moves: &mut Moves, comment: RawComment<'_>) -> ControlFlow<Outcome> {
        if let Some(score) = find_eval(comment.as_bytes()) {
            let turn = moves.position.turn();
            if moves.side == EvalSide::After {
                moves.next_eval = score.after(turn);
            } else if let Some(eval) = moves.game.evals.last_mut() {
                *eval = score.before(!turn, moves.position.is_checkmate());
            }
        }
        ControlFlow::Continue(())
    }

    fn outcome(&mut self, moves: &mut Moves, outcome: shakmaty::Outcome) -> ControlFlow<Outcome> {
        let shakmaty::Outcome::Known(outcome) = outcome else { return ControlFlow::Continue(()) };
        let written = match outcome {
            KnownOutcome::Decisive { winner } => GameResult::won_by(winner),
            KnownOutcome::Draw => GameResult::Draw,
        };
        let tag = std::mem::replace(&mut moves.game.result, written);
        if tag == GameResult::Unknown || tag == written {
            ControlFlow::Continue(())
        } else {
            let why = "the tag and the movetext differ".to_owned();
            ControlFlow::Break(Err(Rejection::Broken(GameError::Result(why))))
        }
    }

    fn end_game(&mut self, moves: Moves) -> Outcome {
        self.ended = true;
        let Moves { mut game, position, .. } = moves;
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
            return Err(Rejection::Broken(GameError::Result(why)));
        }
        match self.filters.exclude(&game) {
            Some(why) => Err(Rejection::Excluded(why)),
            None => Ok(game),
        }
    }
}

/// A start as it is stored (`None` for the initial position) and as a position.
///
/// # Errors
///
/// If the FEN is no legal position, or too long for `games/1`.
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

/// `2017.06.24` or `1996.??.??` as yyyymmdd; `None` if the year is unknown.
fn date(value: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(value).ok()?;
    let mut parts = text.trim().split(['.', '-', '/']);
    let mut part = |most: u32| parts.next().and_then(|part| part.parse().ok()).filter(|n| *n <= most);
    let year: u32 = part(9999).filter(|year| *year > 0)?;
    let month = part(12).unwrap_or(0);
    let day = part(31).unwrap_or(0);
    Some(year * 10_000 + month * 100 + day)
}

#[cfg(test)]
mod tests;
