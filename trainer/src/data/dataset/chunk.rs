use std::ops::Range;

use anyhow::{bail, ensure};
use engine::chess::position::PackedMove;

use crate::data::record::{
    self, FLAG_PUZZLE, FLAG_SELF_PLAY, GameRecord, GameResult, GameView, INITIAL_FEN, KNOWN_FLAGS,
    MATE_SCORE, NO_EVAL, SearchColumns, SearchView,
};

/// Games as columns of `games/1`, one entry per game or ply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    pub source: String,
    pub(super) first_ply: Vec<u64>,
    pub(super) plies: Vec<u16>,
    pub(super) result: Vec<i8>,
    pub(super) white_elo: Vec<u16>,
    pub(super) black_elo: Vec<u16>,
    pub(super) date: Vec<u32>,
    pub(super) flags: Vec<u16>,
    pub(super) start: Vec<u32>,
    // The first is the initial position.
    pub(super) starts: Vec<String>,
    // One entry per ply.
    pub(super) moves: Vec<u16>,
    pub(super) evals: Vec<i16>,
    // One entry per ply if any game has searches, or empty.
    pub(super) searches: SearchColumns,
}

impl Chunk {
    pub fn new(source: &str) -> Chunk {
        Chunk {
            source: source.to_owned(),
            first_ply: Vec::new(),
            plies: Vec::new(),
            result: Vec::new(),
            white_elo: Vec::new(),
            black_elo: Vec::new(),
            date: Vec::new(),
            flags: Vec::new(),
            start: Vec::new(),
            starts: vec![INITIAL_FEN.to_owned()],
            moves: Vec::new(),
            evals: Vec::new(),
            searches: SearchColumns::default(),
        }
    }

    pub fn games(&self) -> usize {
        self.plies.len()
    }

    pub fn positions(&self) -> usize {
        self.moves.len()
    }

    pub fn push(&mut self, game: &GameRecord) {
        self.first_ply.push(self.moves.len() as u64);
        self.plies.push(game.moves.len() as u16);
        self.result.push(game.result.code());
        self.white_elo.push(game.white_elo);
        self.black_elo.push(game.black_elo);
        self.date.push(game.date);
        self.flags.push(game.flags);
        self.start.push(game.start.as_ref().map_or(0, |fen| {
            self.starts.push(fen.clone());
            self.starts.len() as u32 - 1
        }));
        if !game.searches.is_empty() {
            self.searches.pad(self.moves.len());
            for searched in game.searches.iter().take(game.moves.len()) {
                self.searches.push_scored(searched.q, searched.d, searched.moves());
            }
        }
        self.moves.extend(game.moves.iter().map(|m| m.0));
        if !self.searches.q.is_empty() {
            self.searches.pad(self.moves.len());
        }
        self.evals.extend_from_slice(&game.evals);
        self.evals.resize(self.moves.len(), NO_EVAL);
    }

    pub fn replay(&self, index: usize) -> GameView<'_> {
        let first = self.first_ply[index] as usize;
        let range = first..first + usize::from(self.plies[index]);
        let start = self.start[index] as usize;
        GameView {
            start: (start > 0).then(|| self.starts[start].as_str()),
            moves: &self.moves[range.clone()],
            evals: &self.evals[range.clone()],
            result: self.result[index],
            puzzle: self.flags[index] & FLAG_PUZZLE != 0,
            searches: self.searches_of(index, range),
        }
    }

    /// Self-play games always have searches, other games only if a ply has one (an engine's best moves).
    fn searches_of(&self, index: usize, range: Range<usize>) -> SearchView<'_> {
        let recorded = self.searches.len.get(range.clone());
        let is_recorded = recorded.is_some_and(|lens| lens.iter().any(|len| *len > 0));
        if is_recorded || self.flags[index] & FLAG_SELF_PLAY != 0 {
            self.searches.get(range)
        } else {
            SearchView::NONE
        }
    }

    pub fn game(&self, index: usize) -> GameRecord {
        let replay = self.replay(index);
        GameRecord {
            start: replay.start.map(str::to_owned),
            moves: replay.moves.iter().map(|m| PackedMove(*m)).collect(),
            evals: replay.evals.to_vec(),
            result: GameResult::from_code(replay.result).unwrap_or_default(),
            white_elo: self.white_elo[index],
            black_elo: self.black_elo[index],
            date: self.date[index],
            flags: self.flags[index],
            searches: (0..replay.searches.len.len()).map(|ply| replay.searches.record(ply)).collect(),
        }
    }

    /// See [`record::identity`].
    pub fn identity(&self, index: usize) -> u64 {
        let replay = self.replay(index);
        record::identity(replay.start.unwrap_or(INITIAL_FEN), replay.moves.iter().copied())
    }

    /// Checks that columns are consistent and values defined by `games/1`.
    pub fn check(&self) -> anyhow::Result<()> {
        let games = self.games();
        let columns = [
            ("first_ply", self.first_ply.len()),
            ("result", self.result.len()),
            ("white_elo", self.white_elo.len()),
            ("black_elo", self.black_elo.len()),
            ("date", self.date.len()),
            ("flags", self.flags.len()),
            ("start", self.start.len()),
        ];
        for (name, length) in columns {
            ensure!(length == games, "games/{name} has {length} entries, games/plies {games}");
        }
        let (evals, moves) = (self.evals.len(), self.moves.len());
        ensure!(evals == moves, "plies/eval has {evals} entries, plies/move {moves}");
        let mut next = 0;
        for index in 0..games {
            let (first, start, starts) = (self.first_ply[index], self.start[index], self.starts.len());
            ensure!(first == next, "game {index} starts at ply {first}, expected {next}");
            next += u64::from(self.plies[index]);
            ensure!((start as usize) < starts, "game {index} has start {start}, there are {starts}");
            let (result, flags, date) = (self.result[index], self.flags[index], self.date[index]);
            ensure!(GameResult::from_code(result).is_some(), "game {index} has result {result}");
            ensure!(flags & !KNOWN_FLAGS == 0, "game {index} has unknown flags {flags:#06x}");
            let valid = date / 10_000 <= 9999 && date / 100 % 100 <= 12 && date % 100 <= 31;
            ensure!(valid, "game {index} has date {date}");
        }
        self.searches.check(moves)?;
        let beyond = |eval: &i16| *eval != NO_EVAL && eval.unsigned_abs() > MATE_SCORE.unsigned_abs();
        if let Some(at) = self.searches.scores.iter().position(beyond) {
            bail!("entry {at} of policy/eval is {}", self.searches.scores[at]);
        }
        if let Some(ply) = self.evals.iter().position(beyond) {
            bail!("ply {ply} has evaluation {}", self.evals[ply]);
        }
        ensure!(next == moves as u64, "the games have {next} plies, plies/move {moves}");
        Ok(())
    }
}
