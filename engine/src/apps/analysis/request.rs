use std::collections::HashSet;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use shakmaty::Move;

use super::fields::{FieldError, Fields};
use crate::chess::position::Game;

pub const MOST_NODES: u64 = 1_000_000_000;

/// A day.
pub const LONGEST_MS: u64 = 86_400_000;

pub const MOST_LINES: usize = 500;

/// The fifty-move rule allows no longer game.
pub const MOST_PLIES: usize = 12_000;

/// In bytes.
pub const LONGEST_ID: usize = 1000;

#[derive(Clone, Debug)]
pub enum AnalysisRequest {
    Query(Box<Query>),
    Terminate {
        id: QueryId,
        /// `None` for all.
        turns: Option<Vec<usize>>,
    },
    TerminateAll {
        id: Option<QueryId>,
    },
    Version {
        id: Option<QueryId>,
    },
    Options {
        id: Option<QueryId>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, serde::Serialize)]
#[serde(untagged)]
pub enum QueryId {
    Number(i64),
    Text(String),
}

#[derive(Clone, Debug)]
pub struct Query {
    pub id: QueryId,
    pub start: Game,
    pub moves: Vec<Move>,
    /// Positions to analyse, by the number of moves played before.
    pub turns: Vec<usize>,
    pub nodes: Option<u64>,
    pub movetime: Option<Duration>,
    pub multipv: usize,
    /// Root moves in UCI notation, each legal at every one of `turns`; if empty, all legal moves are searched.
    pub searchmoves: Vec<String>,
    /// Higher comes first.
    pub priority: i64,
    pub include: Include,
    /// `None` for a final answer only.
    pub report_every: Option<Duration>,
    /// Moves in answers write castling as king takes rook (e1h1), as Chess960 does.
    pub chess960: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Include {
    pub policy: bool,
    pub wdl: bool,
    /// Statistics of all root moves.
    pub children: bool,
    pub pv: bool,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Part {
    Policy,
    Wdl,
    Children,
    Pv,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Query,
    Terminate,
    TerminateAll,
    Version,
    Options,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryDefaults {
    pub nodes: u64,
    pub multipv: usize,
    pub chess960: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestError {
    pub id: Option<QueryId>,
    /// `None` if the line is not a JSON object.
    pub key: Option<String>,
    pub error: String,
}

/// An error names the first key that is unknown or invalid.
pub fn parse(text: &str, defaults: QueryDefaults) -> Result<AnalysisRequest, RequestError> {
    let mut fields: Fields = serde_json::from_str(text).map_err(|error| RequestError {
        id: None,
        key: None,
        error: format!("not a JSON object: {error}"),
    })?;
    let mut id = None;
    read_id(&mut fields)
        .and_then(|found| {
            id.clone_from(&found);
            request(found, fields, defaults)
        })
        .map_err(|FieldError { key, error }| RequestError { id, key: Some(key), error })
}

fn read_id(fields: &mut Fields) -> Result<Option<QueryId>, FieldError> {
    let Some(value) = fields.take::<Value>("id")? else { return Ok(None) };
    let id = serde_json::from_value(value)
        .map_err(|_| FieldError::new("id", "not a string or a whole number of 64 bits"))?;
    match &id {
        QueryId::Text(text) if text.len() > LONGEST_ID => {
            Err(FieldError::new("id", format!("longer than {LONGEST_ID} bytes")))
        }
        _ => Ok(Some(id)),
    }
}

fn request(
    id: Option<QueryId>,
    mut fields: Fields,
    defaults: QueryDefaults,
) -> Result<AnalysisRequest, FieldError> {
    let missing = || FieldError::new("id", "missing");
    let request = match fields.take("action")?.unwrap_or(Action::Query) {
        Action::Query => {
            return query(id.ok_or_else(missing)?, fields, defaults)
                .map(|query| AnalysisRequest::Query(Box::new(query)));
        }
        Action::Terminate => {
            AnalysisRequest::Terminate { id: id.ok_or_else(missing)?, turns: fields.take("turns")? }
        }
        Action::TerminateAll => AnalysisRequest::TerminateAll { id },
        Action::Version => AnalysisRequest::Version { id },
        Action::Options => AnalysisRequest::Options { id },
    };
    fields.end()?;
    Ok(request)
}

fn query(id: QueryId, mut fields: Fields, defaults: QueryDefaults) -> Result<Query, FieldError> {
    let fen: Option<String> = fields.take("fen")?;
    let start = fen.map_or_else(|| Ok(Game::new()), |fen| Game::from_fen(&fen));
    let start = start.map_err(|error| FieldError::new("fen", error))?;
    let moves = read_moves(&start, &fields.take::<Vec<String>>("moves")?.unwrap_or_default())?;
    let turns = read_turns(fields.take("turns")?, moves.len())?;
    let nodes = fields.take("nodes")?.map(|nodes| within("nodes", nodes, 1..=MOST_NODES)).transpose()?;
    let milliseconds = |key, value: Option<u64>| {
        value.map(|ms| within(key, ms, 1..=LONGEST_MS).map(Duration::from_millis)).transpose()
    };
    let movetime = milliseconds("movetime", fields.take("movetime")?)?;
    let report_every = milliseconds("report_every_ms", fields.take("report_every_ms")?)?;
    let multipv =
        fields.take("multipv")?.map(|lines| within("multipv", lines, 1..=MOST_LINES)).transpose()?;
    let mut query = Query {
        id,
        start,
        moves,
        turns,
        nodes: nodes.or(movetime.is_none().then_some(defaults.nodes)),
        movetime,
        multipv: multipv.unwrap_or(defaults.multipv),
        searchmoves: Vec::new(),
        priority: fields.take("priority")?.unwrap_or(0),
        include: read_include(fields.take("include")?),
        report_every,
        chess960: fields.take("chess960")?.unwrap_or(defaults.chess960),
    };
    if let Some(moves) = fields.take("searchmoves")? {
        query.searchmoves = moves;
        check_searchmoves(&query)?;
    }
    fields.end()?;
    Ok(query)
}

fn within<T: PartialOrd + std::fmt::Display + Copy>(
    key: &str,
    value: T,
    range: std::ops::RangeInclusive<T>,
) -> Result<T, FieldError> {
    if range.contains(&value) {
        return Ok(value);
    }
    Err(FieldError::new(key, format!("{value} is not in {} to {}", range.start(), range.end())))
}

fn read_moves(start: &Game, texts: &[String]) -> Result<Vec<Move>, FieldError> {
    if texts.len() > MOST_PLIES {
        return Err(FieldError::new("moves", format!("more than {MOST_PLIES}")));
    }
    let mut game = start.clone();
    let mut moves = Vec::with_capacity(texts.len());
    for (text, ply) in texts.iter().zip(1..) {
        let m =
            game.parse_uci(text).map_err(|error| FieldError::new("moves", format!("ply {ply}: {error}")))?;
        game.play(m);
        moves.push(m);
    }
    Ok(moves)
}

fn read_turns(given: Option<Vec<usize>>, last: usize) -> Result<Vec<usize>, FieldError> {
    let turns = given.unwrap_or_else(|| vec![last]);
    let mut seen = HashSet::new();
    let wrong = turns.iter().find_map(|turn| match turn {
        turn if *turn > last => Some(format!("{turn} is not in 0 to {last}")),
        turn if !seen.insert(*turn) => Some(format!("{turn} is given more than once")),
        _ => None,
    });
    let wrong = wrong.or_else(|| turns.is_empty().then(|| "empty".to_owned()));
    wrong.map_or(Ok(turns), |error| Err(FieldError::new("turns", error)))
}

fn read_include(given: Option<Vec<Part>>) -> Include {
    let mut include = Include::default();
    for part in given.unwrap_or_else(|| vec![Part::Wdl, Part::Pv]) {
        match part {
            Part::Policy => include.policy = true,
            Part::Wdl => include.wdl = true,
            Part::Children => include.children = true,
            Part::Pv => include.pv = true,
        }
    }
    include
}

fn check_searchmoves(query: &Query) -> Result<(), FieldError> {
    let wrong = |error| FieldError::new("searchmoves", error);
    if query.searchmoves.is_empty() {
        return Err(wrong("empty".to_owned()));
    }
    let turns: HashSet<usize> = query.turns.iter().copied().collect();
    let mut game = query.start.clone();
    let last = turns.iter().max().copied().unwrap_or(0);
    for turn in 0..=last {
        for text in query.searchmoves.iter().filter(|_| turns.contains(&turn)) {
            game.parse_uci(text).map_err(|error| wrong(format!("turn {turn}: {error}")))?;
        }
        query.moves.get(turn).iter().for_each(|m| game.play(**m));
    }
    Ok(())
}

impl Query {
    pub fn game(&self, turn: usize) -> Game {
        let mut game = self.start.clone();
        self.moves.iter().take(turn).for_each(|m| game.play(*m));
        game
    }
}
