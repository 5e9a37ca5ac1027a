//! Which boards are open, as all tabs list them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::sync::watch;

use super::session::Session;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BoardState {
    YourMove,
    /// An engine is to move.
    Thinking,
    /// An engine is to move, but does not start.
    Stalled,
    /// The clock stands still until somebody looks.
    Suspended,
    /// A game of a file that has no result.
    Loaded,
    Over,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BoardSummary {
    pub board: u32,
    pub white: String,
    pub black: String,
    /// In plies.
    pub moves: usize,
    pub state: BoardState,
    pub result: Option<&'static str>,
    /// Of the game's file in the library.
    pub name: Option<String>,
    /// The game goes on, or can be played on.
    #[serde(skip)]
    pub is_running: bool,
}

impl BoardSummary {
    pub fn of(board: u32, session: &Session, stalled: bool) -> BoardSummary {
        let [white, black] = session.labels();
        let thinks = session.engine_to_move().is_some();
        let state = match session.end() {
            Some(_) => BoardState::Over,
            None if thinks && stalled => BoardState::Stalled,
            None if session.is_suspended() => BoardState::Suspended,
            None if thinks => BoardState::Thinking,
            None if session.is_loaded => BoardState::Loaded,
            None => BoardState::YourMove,
        };
        BoardSummary {
            board,
            white,
            black,
            moves: session.game().ply(),
            state,
            result: session.end().map(|end| end.result()),
            name: session.name.clone(),
            is_running: thinks || session.is_at_stake(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct BoardList {
    boards: Arc<Mutex<BTreeMap<u32, BoardSummary>>>,
    out: Arc<watch::Sender<Arc<str>>>,
}

impl Default for BoardList {
    fn default() -> BoardList {
        BoardList { boards: Arc::default(), out: Arc::new(watch::Sender::new(Arc::from("[]"))) }
    }
}

impl BoardList {
    /// The data stays valid if a holder of the lock panics.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, BoardSummary>> {
        self.boards.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn note(&self, summary: BoardSummary) {
        let mut boards = self.lock();
        if boards.get(&summary.board) != Some(&summary) {
            boards.insert(summary.board, summary);
            self.publish(&boards);
        }
    }

    pub fn remove(&self, board: u32) {
        let mut boards = self.lock();
        boards.remove(&board);
        self.publish(&boards);
    }

    fn publish(&self, boards: &BTreeMap<u32, BoardSummary>) {
        let all: Vec<&BoardSummary> = boards.values().collect();
        self.out.send_replace(serde_json::to_string(&all).expect("boards can be written as JSON").into());
    }

    /// The board with this game of the library.
    pub fn with_game(&self, name: &str) -> Option<u32> {
        self.lock().values().find(|board| board.name.as_deref() == Some(name)).map(|board| board.board)
    }

    /// Boards whose games are over or not begun, the oldest first.
    pub fn at_rest(&self) -> Vec<u32> {
        self.lock().values().filter(|board| !board.is_running).map(|board| board.board).collect()
    }

    /// A list of [`BoardSummary`] as JSON.
    pub fn state(&self) -> watch::Receiver<Arc<str>> {
        self.out.subscribe()
    }
}
