//! Games that an engine plays against itself, and games that it judges.

use std::sync::atomic::AtomicBool;

use engine::position::{Outcome, PackedMove};
use shakmaty::Color;

use super::move_choice::MoveChoice;
use super::start_positions::StartPositions;
use super::uci_engine::{EngineError, Limit, ScoredMove, UciEngine, UciPosition};
use crate::record::game_rng;
use crate::record::wdl_of_eval;
use crate::record::{FLAG_CHESS960, GameRecord, GameResult, NO_EVAL, SearchRecord};

/// Lets an engine play against itself.
#[derive(Clone, Debug)]
pub struct Miner {
    /// Where games begin.
    pub starts: StartPositions,
    /// Which of the best moves is played.
    pub choice: MoveChoice,
    /// How long the engine thinks about a move.
    pub limit: Limit,
    /// Games that aren't over after so many plies end without a result.
    pub plies: usize,
    /// Decides what is left to chance.
    pub seed: u64,
    /// Whether each position's best move and its win, draw and loss are recorded, as a search's are.
    pub record_best: bool,
}

impl Miner {
    /// Plays game `number`, from where `game` stands, to its end.
    ///
    /// A draw is claimed when the position stands for the third time, or after fifty moves. Every position's
    /// evaluation is that of its best move, whichever is played.
    ///
    /// # Errors
    ///
    /// If the engine fails or `stop` is raised; `game` is then as far as it came, and can be gone on with.
    pub fn play(
        &self,
        number: u64,
        game: &mut GameRecord,
        engine: &mut UciEngine,
        stop: &AtomicBool,
    ) -> Result<(), EngineError> {
        engine.new_game(stop)?;
        if game.moves.is_empty() {
            game.start = self.starts.start(number, engine, stop)?;
        }
        let mut course = course_of(game, game.moves.len());
        if course.is_chess960() {
            game.flags |= FLAG_CHESS960;
        }
        loop {
            if let Some(outcome) = course.game.outcome() {
                game.result = match outcome {
                    Outcome::Decisive { winner } => GameResult::won_by(winner),
                    Outcome::Draw(_) => GameResult::Draw,
                };
                return Ok(());
            }
            if game.moves.len() >= self.plies {
                return Ok(());
            }
            let lines = engine.best(&course, self.limit, self.choice.moves(), stop)?;
            // Ply 0 of the dice was thrown for the start.
            let mut rng = game_rng(self.seed, number, game.moves.len() as u64 + 1);
            let ScoredMove { m, .. } = lines[self.choice.draw(lines.len(), &mut rng)];
            game.moves.push(PackedMove::new(m));
            game.evals.push(lines[0].eval);
            if self.record_best {
                game.searches.push(best_move(&lines[0], course.game.turn()));
            }
            course.play(m);
        }
    }
}

/// Gives the positions of a game the evaluations of an engine, from ply `done` on, which grows.
///
/// Positions for which `wanted` says no to what they have are left as they are.
///
/// # Errors
///
/// If the engine fails or `stop` is raised; what is `done` can be gone on with.
pub fn annotate(
    game: &mut GameRecord,
    done: &mut usize,
    wanted: impl Fn(i16) -> bool,
    record_best: bool,
    engine: &mut UciEngine,
    limit: Limit,
    stop: &AtomicBool,
) -> Result<(), EngineError> {
    engine.new_game(stop)?;
    let mut course = course_of(game, *done);
    while *done < game.moves.len() {
        // A game may go on after a draw by rule: nobody claimed it. An engine has nothing to say after a mate.
        if wanted(game.evals[*done]) {
            let line = engine.best(&course, limit, 1, stop)?[0];
            game.evals[*done] = line.eval;
            if record_best {
                game.searches.resize(game.moves.len(), SearchRecord::default());
                game.searches[*done] = best_move(&line, course.game.turn());
            }
        }
        course.play(game.moves[*done].to_legal_move(course.game.position()));
        *done += 1;
    }
    Ok(())
}

/// A position's best move as a search's record: all of the policy, and win, draw and loss as the engine says or its
/// score means. Nothing is recorded without a score.
fn best_move(line: &ScoredMove, mover: Color) -> SearchRecord {
    let [win, draw, loss] = match line.wdl {
        Some(wdl) => wdl.map(|thousandths| f32::from(thousandths) / 1000.0),
        None if line.eval == NO_EVAL => return SearchRecord::default(),
        None => {
            let [white, draw, black] = wdl_of_eval(line.eval);
            mover.fold_wb([white, draw, black], [black, draw, white])
        }
    };
    SearchRecord::new(win - loss, draw, [(PackedMove::new(line.m), 1.0)])
}

fn course_of(game: &GameRecord, plies: usize) -> UciPosition {
    let mut course = UciPosition::new(game.start.as_deref()).expect("games have starts that were checked");
    game.moves[..plies].iter().for_each(|m| course.play(m.to_legal_move(course.game.position())));
    course
}
