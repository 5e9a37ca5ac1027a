//! Games and evaluations by UCI engines, and games from the web. [`Mine`] plays a [`UciEngine`] against itself,
//! [`Annotate`] evaluates existing games; [`run_tasks`] runs either on several engines.

mod move_choice;
mod walk;
mod stored_positions;
mod start_positions;
mod tree_paths;
mod engine_pool;
mod mine;
mod annotate;
pub mod fetch;

use engine::chess::position::PackedMove;
use engine::search::Score;
use shakmaty::Color;

use crate::data::record::{EvalComment, MAX_CENTIPAWNS, NO_EVAL, SearchRecord, wdl_of_eval};

pub use annotate::{Annotate, DAMAGED};
pub use engine::apps::uci_client::{EngineCommand, EngineError, EngineMove, Limit, UciEngine, UciPosition};
pub use engine_pool::{DatagenSummary, EngineTask, TaskError, run_tasks};
pub use mine::{Mine, MinedMoves};
pub use move_choice::MoveChoice;
pub use start_positions::{FirstPositions, StartError, StartPositions, StartRules};
pub use tree_paths::TreePaths;

/// Policy temperature in expected score: a move worse by this much gets 1/e of the best move's share.
const SHARE_SCALE: f32 = 0.05;

/// An engine's best moves as a search: WDL of the first, softmax of expected scores as policy, and the scores. Moves
/// without a score are left out; without a first score the record is empty.
fn search_record(best: &[EngineMove], mover: Color) -> SearchRecord {
    let Some(Some([win, draw, loss])) = best.first().map(|first| wdl_for_mover(first, mover)) else {
        return SearchRecord::default();
    };
    let points = |[win, draw, _]: [f32; 3]| win + draw / 2.0;
    let behind = |scored: &EngineMove| {
        let lost = points([win, draw, loss]) - points(wdl_for_mover(scored, mover)?);
        Some((PackedMove::new(scored.m), (-lost / SHARE_SCALE).exp(), stored_eval(scored, mover)))
    };
    let weights: Vec<(PackedMove, f32, i16)> = best.iter().filter_map(behind).collect();
    let total: f32 = weights.iter().map(|(_, weight, _)| weight).sum();
    let moves = weights.into_iter().map(|(m, weight, score)| (m, weight / total, score));
    SearchRecord::scored(win - loss, draw, moves)
}

/// The engine's WDL of a move, or else that of [`wdl_of_eval`].
fn wdl_for_mover(scored: &EngineMove, mover: Color) -> Option<[f32; 3]> {
    match scored.wdl {
        Some(wdl) => Some(wdl.map(|thousandths| f32::from(thousandths) / 1000.0)),
        None if scored.score.is_none() => None,
        None => {
            let [white, draw, black] = wdl_of_eval(stored_eval(scored, mover));
            Some(mover.fold_wb([white, draw, black], [black, draw, white]))
        }
    }
}

/// As in `games/1`: centipawns for White, or a mate in plies.
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

fn position_after(start: Option<&str>, moves: impl Iterator<Item = PackedMove>) -> UciPosition {
    let mut position = UciPosition::new(start).expect("games have starts that were checked");
    moves.for_each(|m| position.play(m.to_legal_move(position.game.position())));
    position
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_have_shares_by_the_points_that_they_give_up() {
        let moves = engine::chess::position::Game::new().legal_moves();
        let scored = |index: usize, wdl| EngineMove {
            m: moves[index],
            pv: vec![moves[index]],
            score: Some(Score::Cp(40 * index as i32 - 100)),
            wdl: Some(wdl),
        };
        // Expected scores 0.70, 0.65 and 0.20, so weights of 1, 1/e and e^-10.
        let best = [scored(4, [600, 200, 200]), scored(2, [500, 300, 200]), scored(0, [100, 200, 700])];
        let record = search_record(&best, Color::White);
        let shares: Vec<(PackedMove, f32)> =
            record.shares.iter().map(|(m, share)| (*m, f32::from(*share) / 65535.0)).collect();
        assert_eq!(
            shares.iter().map(|(m, _)| *m).collect::<Vec<_>>(),
            [4, 2, 0].map(|m| PackedMove::new(moves[m]))
        );
        assert_eq!(record.scores, [60, -20, -100]);
        assert_eq!(search_record(&best, Color::Black).scores, [-60, 20, 100], "for White");
        assert!((shares[0].1 - 0.7310).abs() < 1e-3 && (shares[1].1 - 0.2689).abs() < 1e-3, "{shares:?}");
        assert!(shares[2].1 < 1e-4, "{shares:?}");
        assert_eq!(
            (record.q, record.d),
            ((0.4f32 * 32767.0).round() as i16, (0.2f32 * 65535.0).round() as u16)
        );
        assert_eq!(search_record(&best[..1], Color::White).shares, [(PackedMove::new(moves[4]), 65535)]);
        let unknown = EngineMove { wdl: None, score: None, ..scored(1, [0; 3]) };
        assert_eq!(search_record(&[best[0].clone(), unknown.clone()], Color::White).shares.len(), 1);
        assert_eq!(search_record(&[unknown], Color::White), SearchRecord::default());
    }

    #[test]
    fn scores_are_turned_to_white_and_mates_count_plies() {
        let m = engine::chess::position::Game::new().legal_moves()[0];
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
