//! The columns of one file of games.

use engine::position::PackedMove;

use crate::record;
use crate::record::GameView;
use crate::record::{
    FLAG_PUZZLE, FLAG_SELF_PLAY, GameRecord, GameResult, INITIAL_FEN, KNOWN_FLAGS, MATE_SCORE, NO_EVAL,
    SearchColumns, SearchView,
};

/// Games as `games/1` lays them out: a column for each fact, the plies of all games in one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Where the games come from, in words.
    pub source: String,
    // One entry a game.
    pub(super) first_ply: Vec<u64>,
    pub(super) plies: Vec<u16>,
    pub(super) result: Vec<i8>,
    pub(super) white_elo: Vec<u16>,
    pub(super) black_elo: Vec<u16>,
    pub(super) date: Vec<u32>,
    pub(super) flags: Vec<u16>,
    pub(super) start: Vec<u32>,
    // Start positions; the first is the initial position.
    pub(super) starts: Vec<String>,
    // One entry a ply.
    pub(super) moves: Vec<u16>,
    pub(super) evals: Vec<i16>,
    // Of self-play; nothing if there is none.
    pub(super) searches: SearchColumns,
}

impl Chunk {
    /// No games yet.
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

    /// Number of games.
    pub fn games(&self) -> usize {
        self.plies.len()
    }

    /// Number of positions with a move.
    pub fn positions(&self) -> usize {
        self.moves.len()
    }

    /// Appends a game.
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
                let shares = searched.shares.iter().map(|(m, share)| (m.0, *share));
                self.searches.push(searched.q, searched.d, shares);
            }
        }
        self.moves.extend(game.moves.iter().map(|m| m.0));
        if !self.searches.q.is_empty() {
            self.searches.pad(self.moves.len());
        }
        self.evals.extend_from_slice(&game.evals);
        self.evals.resize(self.moves.len(), NO_EVAL);
    }

    /// A game for sampling, without copying it.
    ///
    /// # Panics
    ///
    /// If there is no such game.
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
            searches: if self.flags[index] & FLAG_SELF_PLAY != 0 {
                self.searches.get(range)
            } else {
                SearchView::NONE
            },
        }
    }

    /// A game with all that is known of it.
    ///
    /// # Panics
    ///
    /// If there is no such game.
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
            searches: (0..replay.searches.len.len()).map(|ply| replay.searches.searched(ply)).collect(),
        }
    }

    /// What the split and the search for duplicates go by; see [`record::identity`].
    pub fn identity(&self, index: usize) -> u64 {
        let replay = self.replay(index);
        record::identity(replay.start.unwrap_or(INITIAL_FEN), replay.moves.iter().copied())
    }

    /// Checks that the columns fit together and hold only values that `games/1` knows.
    ///
    /// # Errors
    ///
    /// What is wrong, and where.
    pub fn check(&self) -> Result<(), String> {
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
        if let Some((name, length)) = columns.into_iter().find(|(_, length)| *length != games) {
            return Err(format!("games/{name} has {length} entries, games/plies {games}"));
        }
        if self.evals.len() != self.moves.len() {
            return Err(format!(
                "plies/eval has {} entries, plies/move {}",
                self.evals.len(),
                self.moves.len()
            ));
        }
        let mut next = 0;
        for index in 0..games {
            if self.first_ply[index] != next {
                return Err(format!("game {index} starts at ply {}, expected {next}", self.first_ply[index]));
            }
            next += u64::from(self.plies[index]);
            if self.start[index] as usize >= self.starts.len() {
                return Err(format!(
                    "game {index} has start {}, there are {}",
                    self.start[index],
                    self.starts.len()
                ));
            }
            if GameResult::from_code(self.result[index]).is_none() {
                return Err(format!("game {index} has result {}", self.result[index]));
            }
            if self.flags[index] & !KNOWN_FLAGS != 0 {
                return Err(format!("game {index} has unknown flags {:#06x}", self.flags[index]));
            }
            let date = self.date[index];
            if date / 10_000 > 9999 || date / 100 % 100 > 12 || date % 100 > 31 {
                return Err(format!("game {index} has date {date}"));
            }
        }
        self.searches.check(self.moves.len())?;
        let beyond = |eval: &i16| *eval != NO_EVAL && eval.unsigned_abs() > MATE_SCORE.unsigned_abs();
        if let Some(ply) = self.evals.iter().position(beyond) {
            return Err(format!("ply {ply} has evaluation {}", self.evals[ply]));
        }
        if next != self.moves.len() as u64 {
            return Err(format!("the games have {next} plies, plies/move {}", self.moves.len()));
        }
        Ok(())
    }
}
