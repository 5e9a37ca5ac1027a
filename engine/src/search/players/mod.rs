//! Classical players for comparison: random, minimax, alpha-beta and UCT. They follow a Python course notebook ("the
//! notebook" below), including its evaluation by [material and squares](crate::nets::eval::material).

mod stop_check;
mod root_moves;
mod minimax;
mod alpha_beta;
mod deepening;
mod rollout;
mod uct_tree;
mod uct;
mod random;
mod player_thread;

use std::sync::atomic::AtomicBool;

use shakmaty::MoveList;

pub use deepening::{FullWidthMethod, FullWidthResult, full_width};
pub use player_thread::PlayerThread;
pub use uct::UctParams;

use self::random::ShuffledMoves;
use self::stop_check::StopCheck;
use crate::chess::position::Game;
use crate::search::{EndReason, Limits, SearchObserver, SearchOutcome, SearchView};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Player {
    Random,
    Minimax,
    AlphaBeta,
    /// Rollouts to the end of the game (Kocsis, Szepesvári: Bandit Based Monte-Carlo Planning, 2006).
    Uct,
    /// Rollouts of a few plies, then the static evaluation.
    UctValue,
}

#[derive(Clone, Debug)]
pub struct PlayerTask {
    pub game: Game,
    /// Visits count moves made, or rollouts for UCT. Noise is ignored.
    pub limits: Limits,
    /// MultiPV: best moves that need exact values.
    pub lines: usize,
    pub memory: usize,
    pub uct: UctParams,
    pub seed: u64,
}

impl Player {
    /// In the order of [`Player::NAMES`].
    pub const ALL: [Player; 5] =
        [Player::Random, Player::Minimax, Player::AlphaBeta, Player::Uct, Player::UctValue];
    pub const NAMES: [&'static str; 5] = ["random", "minimax", "alpha-beta", "uct", "uct-value"];

    /// Searches until the task's limits, the observer or `stop` end it, but completes the first depth or rollout, so
    /// that there is a move. Leaves [`SearchObserver::done`] to the caller.
    pub fn think(
        self,
        task: &PlayerTask,
        observer: &mut dyn SearchObserver,
        stop: &AtomicBool,
    ) -> SearchOutcome {
        let mut stop_check = StopCheck::new(observer, stop, task.limits.visits);
        let moves = root_moves(task);
        let by_depth = |method, stop_check: &mut _| deepening::deepen(method, task, &moves, stop_check);
        let by_uct = |rollout_plies, stop_check: &mut _| uct::run(task, &moves, rollout_plies, stop_check);
        let view: Box<dyn SearchView> = match self {
            _ if moves.is_empty() => Box::new(ShuffledMoves::default()),
            Player::Random => Box::new(ShuffledMoves::new(&moves, task.seed)),
            Player::Minimax => Box::new(by_depth(FullWidthMethod::Minimax, &mut stop_check)),
            Player::AlphaBeta => Box::new(by_depth(FullWidthMethod::AlphaBeta, &mut stop_check)),
            Player::Uct => Box::new(by_uct(None, &mut stop_check)),
            Player::UctValue => Box::new(by_uct(Some(task.uct.rollout), &mut stop_check)),
        };
        let report = view.report(usize::MAX);
        let end_reason = stop_check.end_reason().unwrap_or(EndReason::Exhausted);
        SearchOutcome { report, stats: view.shown_stats(), end_reason, error: None }
    }
}

fn root_moves(task: &PlayerTask) -> MoveList {
    let mut moves = task.game.legal_moves();
    if !task.limits.root_moves.is_empty() {
        moves.retain(|m| task.limits.root_moves.contains(m));
    }
    moves
}
