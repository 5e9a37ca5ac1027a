//! The classical players of the lesson: to learn from, to compare with and to spar with.
//!
//! [`Player::think`] takes a [`Task`] and thinks under the same [`Watch`] as the network's search, so all of
//! them obey the same limits and tell the same things; a [`Seat`] gives a player a thread of its own.
//!
//! - [`Player::Random`] plays anything.
//! - [`Player::Minimax`] looks at every sequence of moves up to a depth, [`Player::AlphaBeta`] leaves out what
//!   can't change the result. Both value positions by [`lesson`](crate::eval::lesson), one ply deeper after
//!   another until they have to end. [`full_width`] does one depth alone, as the lesson does.
//! - [`Player::Uct`] grows a tree by playing random games from its leaves, [`Player::UctValue`] by playing a
//!   few random moves and valuing what they lead to ([`UctParams`]).

mod vigil;
mod roots;
mod minimax;
mod alpha_beta;
mod deepening;
mod rollout;
mod tree;
mod uct;
mod random;
mod seat;

use std::sync::atomic::AtomicBool;

use shakmaty::MoveList;

pub use deepening::{FullWidth, Method, full_width};
pub use seat::Seat;
pub use uct::UctParams;

use self::random::Drawn;
use self::vigil::Vigil;
use crate::position::Game;
use crate::search::{Ended, Limits, Outcome, Progress, Watch};

/// A classical player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Player {
    /// Any legal move.
    Random,
    /// Every sequence of moves.
    Minimax,
    /// Every sequence of moves that matters.
    AlphaBeta,
    /// A tree grown by random games (Kocsis, Szepesvári: Bandit Based Monte-Carlo Planning, 2006).
    Uct,
    /// The same, with random games that are cut short and valued.
    UctValue,
}

/// What a player has to think about, and for how long.
#[derive(Clone, Debug)]
pub struct Task {
    /// The position and its past.
    pub game: Game,
    /// When to end by itself. Visits are moves tried or random games played; noise is not for these players.
    pub limits: Limits,
    /// How many of the best moves have to have exact values, at least one.
    pub lines: usize,
    /// What the tree of UCT may take, in bytes.
    pub memory: usize,
    /// What UCT's numbers are.
    pub uct: UctParams,
    /// Where the dice begin: the same seed, the same game.
    pub seed: u64,
}

impl Player {
    /// All of them, in the order of [`Player::NAMES`].
    pub const ALL: [Player; 5] =
        [Player::Random, Player::Minimax, Player::AlphaBeta, Player::Uct, Player::UctValue];
    /// Their names.
    pub const NAMES: [&'static str; 5] = ["random", "minimax", "alpha-beta", "uct", "uct-value"];

    /// Thinks until the task's limits, the watch or `stop` end it, and says what came of it. It begins with
    /// a first look that nothing ends, so that there is something to play; then `stop` is heard within
    /// milliseconds.
    ///
    /// The watch isn't told of the end: that is for whoever has started this.
    pub fn think(self, task: &Task, watch: &mut dyn Watch, stop: &AtomicBool) -> Outcome {
        let mut vigil = Vigil::new(watch, stop, task.limits.visits);
        let roots = root_moves(task);
        let by_depth = |method, vigil: &mut _| deepening::deepen(method, task, &roots, vigil);
        let by_games = |plies, vigil: &mut _| uct::grow(task, &roots, plies, vigil);
        let progress: Box<dyn Progress> = match self {
            _ if roots.is_empty() => Box::new(Drawn::default()),
            Player::Random => Box::new(Drawn::new(&roots, task.seed)),
            Player::Minimax => Box::new(by_depth(Method::Minimax, &mut vigil)),
            Player::AlphaBeta => Box::new(by_depth(Method::AlphaBeta, &mut vigil)),
            Player::Uct => Box::new(by_games(None, &mut vigil)),
            Player::UctValue => Box::new(by_games(Some(task.uct.rollout), &mut vigil)),
        };
        let report = progress.report(usize::MAX);
        let ended = vigil.ended().unwrap_or(Ended::Exhausted);
        Outcome { report, stats: progress.stats(), ended, error: None }
    }
}

/// The moves to choose from.
fn root_moves(task: &Task) -> MoveList {
    let mut moves = task.game.legal_moves();
    if !task.limits.root_moves.is_empty() {
        moves.retain(|m| task.limits.root_moves.contains(m));
    }
    moves
}
