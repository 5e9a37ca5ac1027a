//! The classical players: random, minimax, alpha-beta and UCT, as opponents and for comparison.
//!
//! They follow a course notebook that implements these algorithms in Python ("the notebook" below), and value
//! positions as it does, by [material and squares](crate::nets::eval::material).
//!
//! [`Player::think`] runs a [`PlayerTask`] under the same [`SearchObserver`] and [`Limits`] as the network's search, and
//! returns the same [`SearchOutcome`]; a [`PlayerThread`] runs a player in the background.
//!
//! - [`Player::Random`] plays any legal move.
//! - [`Player::Minimax`] and [`Player::AlphaBeta`] search by iterative deepening; [`full_width`] searches one fixed
//!   depth, as the notebook does.
//! - [`Player::Uct`] evaluates leaves by random games to the end, [`Player::UctValue`] by a few random moves and the
//!   value of the position after them ([`UctParams`]).

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

/// A classical player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Player {
    /// Any legal move, all equally likely.
    Random,
    /// Minimax without pruning.
    Minimax,
    /// Minimax with alpha-beta pruning.
    AlphaBeta,
    /// UCT with random games to the end (Kocsis, Szepesvári: Bandit Based Monte-Carlo Planning, 2006).
    Uct,
    /// UCT with random games of a few plies, then the value of the position.
    UctValue,
}

/// A position to search, and the settings of the search.
#[derive(Clone, Debug)]
pub struct PlayerTask {
    /// The position and its history.
    pub game: Game,
    /// When the search ends by itself. Visits are moves made or random games played; noise is ignored.
    pub limits: Limits,
    /// How many of the best moves need exact values, at least one.
    pub lines: usize,
    /// Memory of the UCT tree, in bytes.
    pub memory: usize,
    /// The parameters of UCT.
    pub uct: UctParams,
    /// Seed of the random numbers: the same seed gives the same result.
    pub seed: u64,
}

impl Player {
    /// All players, in the order of [`Player::NAMES`].
    pub const ALL: [Player; 5] =
        [Player::Random, Player::Minimax, Player::AlphaBeta, Player::Uct, Player::UctValue];
    /// Their names, as options and reports write them.
    pub const NAMES: [&'static str; 5] = ["random", "minimax", "alpha-beta", "uct", "uct-value"];

    /// Searches until the task's limits, the observer or `stop` end it.
    ///
    /// The first depth (or the first random game) always completes, so that there is a move to play; after that
    /// `stop` is obeyed within milliseconds. The observer's [`SearchObserver::done`] is not called: that is up to the caller.
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

/// The moves to choose from.
fn root_moves(task: &PlayerTask) -> MoveList {
    let mut moves = task.game.legal_moves();
    if !task.limits.root_moves.is_empty() {
        moves.retain(|m| task.limits.root_moves.contains(m));
    }
    moves
}
