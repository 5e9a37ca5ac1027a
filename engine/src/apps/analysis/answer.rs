//! Answers, errors and replies as JSON.

use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use shakmaty::Move;

use super::request::{Include, Query, QueryId, RequestError};
use crate::chess::position::{DrawReason, Game, Outcome};
use crate::nets::eval::Wdl;
use crate::search::{MoveStats, Proof, PvLine, Report, Score};
use crate::setup::legal_part;
use crate::setup::options::OptionDescription;

/// All values are for the side to move.
#[derive(Debug, Serialize)]
pub struct AnalysisAnswer<'a> {
    id: &'a QueryId,
    turn: usize,
    #[serde(rename = "final")]
    is_final: bool,
    to_move: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    /// Only in the final answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    nodes: u64,
    time_ms: u64,
    depth: u32,
    seldepth: u32,
    tbhits: u64,
    /// Best first; empty before the first visit.
    lines: Vec<Line>,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<MoveMap>,
    #[serde(skip_serializing_if = "Option::is_none")]
    children: Option<Vec<Child>>,
}

#[derive(Debug, Serialize)]
struct Line {
    #[serde(rename = "move")]
    m: String,
    score: LineScore,
    visits: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    wdl: Option<[f64; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pv: Option<Vec<String>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum LineScore {
    Cp(i32),
    Mate(i32),
}

#[derive(Debug, Serialize)]
struct Child {
    #[serde(rename = "move")]
    m: String,
    visits: u64,
    prior: f64,
    /// −1 to 1. Like the fields below, absent before the first visit unless proven.
    #[serde(skip_serializing_if = "Option::is_none")]
    q: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wdl: Option<[f64; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proven: Option<&'static str>,
}

/// Serialised as a JSON object that keeps the order.
#[derive(Debug)]
struct MoveMap(Vec<(String, f64)>);

impl Serialize for MoveMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|(m, number)| map.serialize_entry(m, number))?;
        map.end()
    }
}

#[derive(Clone, Debug)]
pub struct Asked<'a> {
    pub query: &'a Query,
    pub turn: usize,
    pub game: &'a Game,
    /// Tablebase hits of the root probe.
    pub root_hits: u64,
    /// The root's policy temperature.
    pub temperature: f32,
}

impl Asked<'_> {
    /// `report` has [`Query::multipv`] lines, or all moves.
    pub fn answer(&self, report: &Report, stats: &[MoveStats], time: Duration) -> AnalysisAnswer<'_> {
        let Include { policy, children, .. } = self.query.include;
        let lines = report.lines.iter().take(self.query.multipv).filter(|_| report.visits > 0);
        AnalysisAnswer {
            lines: lines.map(|line| self.line(line)).collect(),
            policy: policy.then(|| self.policy(stats)),
            children: children.then(|| stats.iter().map(|stats| self.child(stats)).collect()),
            nodes: report.visits,
            time_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
            depth: report.depth,
            seldepth: report.seldepth.max(report.depth),
            tbhits: report.tbhits + self.root_hits,
            outcome: self.game.outcome().map(outcome_name),
            ..AnalysisAnswer::blank(self.query, self.turn)
        }
    }

    fn name(&self, m: Move) -> String {
        Game::uci(m, self.query.chess960)
    }

    fn line(&self, line: &PvLine) -> Line {
        let include = self.query.include;
        let moves = legal_part(self.game, &line.pv, self.query.chess960);
        Line {
            m: moves.first().map_or_else(String::new, |m| self.name(*m)),
            score: match line.score {
                Score::Cp(centipawns) => LineScore::Cp(centipawns),
                Score::Mate(moves) => LineScore::Mate(moves),
            },
            visits: line.visits,
            wdl: include.wdl.then(|| shares(line.wdl)),
            pv: include.pv.then(|| moves.iter().map(|m| self.name(*m)).collect()),
        }
    }

    fn child(&self, stats: &MoveStats) -> Child {
        let is_known = stats.visits > 0 || stats.proof.is_some();
        Child {
            m: self.name(stats.m),
            visits: stats.visits,
            prior: rounded(stats.prior),
            q: is_known.then(|| rounded(stats.q)),
            wdl: is_known.then(|| shares(stats.wdl)),
            proven: stats.proof.map(|proof| match proof {
                Proof::Win(_) => "win",
                Proof::Draw => "draw",
                Proof::Loss(_) => "loss",
            }),
        }
    }

    /// Undoes the root's policy temperature.
    fn policy(&self, stats: &[MoveStats]) -> MoveMap {
        let own = |stats: &MoveStats| stats.prior.powf(self.temperature);
        let total: f32 = stats.iter().map(own).sum();
        let mut moves: Vec<(String, f64)> =
            stats.iter().map(|stats| (self.name(stats.m), rounded(own(stats) / total))).collect();
        moves.sort_by(|a, b| b.1.total_cmp(&a.1));
        MoveMap(moves)
    }
}

impl<'a> AnalysisAnswer<'a> {
    pub fn unsearched(query: &'a Query, turn: usize) -> AnalysisAnswer<'a> {
        let Include { policy, children, .. } = query.include;
        let (policy, children) = (policy.then(|| MoveMap(Vec::new())), children.then(Vec::new));
        AnalysisAnswer { policy, children, ..AnalysisAnswer::blank(query, turn) }.ending("terminated", None)
    }

    fn blank(query: &'a Query, turn: usize) -> AnalysisAnswer<'a> {
        let first = query.start.turn();
        let to_move = if turn.is_multiple_of(2) { first } else { !first };
        AnalysisAnswer {
            id: &query.id,
            turn,
            is_final: false,
            to_move: to_move.fold_wb("white", "black"),
            outcome: None,
            ended: None,
            error: None,
            nodes: 0,
            time_ms: 0,
            depth: 0,
            seldepth: 0,
            tbhits: 0,
            lines: Vec::new(),
            policy: None,
            children: None,
        }
    }

    #[must_use]
    pub fn ending(self, why: &'static str, error: Option<String>) -> AnalysisAnswer<'a> {
        AnalysisAnswer { is_final: true, ended: Some(why), error, ..self }
    }
}

fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Decisive { .. } => "checkmate",
        Outcome::Draw(DrawReason::Stalemate) => "stalemate",
        Outcome::Draw(DrawReason::InsufficientMaterial) => "insufficient_material",
        Outcome::Draw(DrawReason::Threefold) => "threefold_repetition",
        Outcome::Draw(DrawReason::FiftyMoves) => "fifty_moves",
    }
}

fn shares(wdl: Wdl) -> [f64; 3] {
    [wdl.win, wdl.draw, wdl.loss].map(rounded)
}

/// Rounds to five decimals, more than a network's precision.
fn rounded(number: f32) -> f64 {
    let rounded = (f64::from(number) * 1e5).round() / 1e5;
    // Turns −0 into 0.
    rounded + 0.0
}

#[derive(Debug, Serialize)]
pub struct ErrorReply {
    id: Option<QueryId>,
    error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

const LONGEST_ERROR: usize = 400;

impl From<RequestError> for ErrorReply {
    fn from(RequestError { id, key, error }: RequestError) -> ErrorReply {
        let cut = |text: String| text.chars().take(LONGEST_ERROR).collect();
        ErrorReply { id, error: cut(error), key: key.map(cut) }
    }
}

#[derive(Debug, Serialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum ActionReply<'a> {
    Terminate {
        id: &'a QueryId,
        stopped: usize,
    },
    TerminateAll {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<QueryId>,
        stopped: usize,
    },
    Version {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<QueryId>,
        version: &'static str,
        commit: &'static str,
        network: &'a str,
        threads: usize,
        searches: usize,
    },
    Options {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<QueryId>,
        options: Vec<OptionDescription>,
    },
}

pub fn line(reply: &impl Serialize) -> String {
    serde_json::to_string(reply).unwrap_or_else(|error| {
        log::error!("an answer cannot be written: {error}");
        "{}".to_owned()
    })
}
