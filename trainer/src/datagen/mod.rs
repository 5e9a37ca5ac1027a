//! Games and evaluations from UCI engines, and games from the web.
//!
//! A [`UciEngine`] is an engine in a child process. [`Mine`] lets it play against itself, [`Annotate`] lets it evaluate
//! existing games; [`run_tasks`] does either with several engines at once. [`fetch`] downloads a player's games.

mod uci_engine;
mod move_choice;
mod start_positions;
mod engine_pool;
mod mine;
mod annotate;
/// A player's games of a month, from the public interfaces of Chess.com and Lichess.
pub mod fetch;

use engine::position::PackedMove;
use shakmaty::Color;

use crate::record::{GameRecord, NO_EVAL, SearchRecord, wdl_of_eval};

pub use annotate::Annotate;
pub use engine_pool::{DatagenSummary, EngineTask, run_tasks};
pub use mine::Mine;
pub use move_choice::MoveChoice;
pub use start_positions::{StartError, StartPositions, StartRules};
pub use uci_engine::{EngineCommand, EngineError, Limit, ScoredMove, UciEngine, UciPosition};

/// A position's best move as the record of a search: a policy of this move alone, and win, draw and loss as the engine
/// reports them or else by [`wdl_of_eval`]. Without a score nothing is recorded.
fn best_move_record(best: &ScoredMove, mover: Color) -> SearchRecord {
    let [win, draw, loss] = match best.wdl {
        Some(wdl) => wdl.map(|thousandths| f32::from(thousandths) / 1000.0),
        None if best.eval == NO_EVAL => return SearchRecord::default(),
        None => {
            let [white, draw, black] = wdl_of_eval(best.eval);
            mover.fold_wb([white, draw, black], [black, draw, white])
        }
    };
    SearchRecord::new(win - loss, draw, [(PackedMove::new(best.m), 1.0)])
}

/// The position of a game after so many plies.
fn position_after(game: &GameRecord, plies: usize) -> UciPosition {
    let mut position = UciPosition::new(game.start.as_deref()).expect("games have starts that were checked");
    game.moves[..plies].iter().for_each(|m| position.play(m.to_legal_move(position.game.position())));
    position
}
