//! Games and evaluations from UCI engines, and games from the web.
//!
//! A [`UciEngine`] is an engine in a child process. [`Mine`] lets it play against itself, [`Annotate`] lets it evaluate
//! existing games; [`run_tasks`] does either with several engines at once. [`fetch`] downloads a player's games.

mod move_choice;
mod start_positions;
mod engine_pool;
mod mine;
mod annotate;
/// A player's games of a month, from the public interfaces of Chess.com and Lichess.
pub mod fetch;

use engine::position::PackedMove;
use engine::search::Score;
use shakmaty::Color;

use crate::record::{EvalComment, GameRecord, MAX_CENTIPAWNS, NO_EVAL, SearchRecord, wdl_of_eval};

pub use annotate::Annotate;
pub use engine::uci_client::{EngineCommand, EngineError, EngineMove, Limit, UciEngine, UciPosition};
pub use engine_pool::{DatagenSummary, EngineTask, run_tasks};
pub use mine::Mine;
pub use move_choice::MoveChoice;
pub use start_positions::{StartError, StartPositions, StartRules};

/// A position's best move as the record of a search: a policy of this move alone, and win, draw and loss as the engine
/// reports them or else by [`wdl_of_eval`]. Without a score nothing is recorded.
fn best_move_record(best: &EngineMove, mover: Color) -> SearchRecord {
    let [win, draw, loss] = match best.wdl {
        Some(wdl) => wdl.map(|thousandths| f32::from(thousandths) / 1000.0),
        None if best.score.is_none() => return SearchRecord::default(),
        None => {
            let [white, draw, black] = wdl_of_eval(stored_eval(best, mover));
            mover.fold_wb([white, draw, black], [black, draw, white])
        }
    };
    SearchRecord::new(win - loss, draw, [(PackedMove::new(best.m), 1.0)])
}

/// The score of a move as in `games/1`: centipawns for White, or a mate in plies.
fn stored_eval(scored: &EngineMove, mover: Color) -> i16 {
    let limit = i32::from(MAX_CENTIPAWNS);
    match scored.score {
        None => NO_EVAL,
        Some(Score::Cp(centipawns)) => mover.fold_wb(1, -1) * centipawns.clamp(-limit, limit) as i16,
        Some(Score::Mate(moves)) => {
            let winner = if moves > 0 { mover } else { !mover };
            EvalComment::Mate { winner, count: moves.unsigned_abs() }.after(mover)
        }
    }
}

/// The position of a game after so many plies.
fn position_after(game: &GameRecord, plies: usize) -> UciPosition {
    let mut position = UciPosition::new(game.start.as_deref()).expect("games have starts that were checked");
    game.moves[..plies].iter().for_each(|m| position.play(m.to_legal_move(position.game.position())));
    position
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_turned_to_white_and_mates_count_plies() {
        let m = engine::position::Game::new().legal_moves()[0];
        let stored = |score, mover| stored_eval(&EngineMove { m, pv: vec![m], score, wdl: None }, mover);
        for (score, mover, eval) in [
            (Score::Cp(35), Color::White, 35),
            (Score::Cp(35), Color::Black, -35),
            (Score::Cp(-99_999), Color::Black, 29_000),
            (Score::Mate(3), Color::White, 29_995),
            (Score::Mate(-3), Color::White, -29_994),
            (Score::Mate(1), Color::Black, -29_999),
            (Score::Mate(-200), Color::Black, 29_600),
        ] {
            assert_eq!(stored(Some(score), mover), eval, "{score:?} {mover:?}");
        }
        assert_eq!(stored(None, Color::Black), NO_EVAL);
    }
}
