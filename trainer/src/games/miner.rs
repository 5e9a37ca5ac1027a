//! Games that an engine plays against itself, and games that it judges.

use std::sync::atomic::AtomicBool;

use engine::position::{Outcome, PackedMove};

use super::choice::{Choice, dice};
use super::starts::Starts;
use super::uci::{Course, EngineError, Limit, Line, UciEngine};
use super::{FLAG_CHESS960, Game, GameResult};

/// Lets an engine play against itself.
#[derive(Clone, Debug)]
pub struct Miner {
    /// Where games begin.
    pub starts: Starts,
    /// Which of the best moves is played.
    pub choice: Choice,
    /// How long the engine thinks about a move.
    pub limit: Limit,
    /// Games that aren't over after so many plies end without a result.
    pub plies: usize,
    /// Decides what is left to chance.
    pub seed: u64,
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
        game: &mut Game,
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
            let mut rng = dice(self.seed, number, game.moves.len() as u64 + 1);
            let Line { m, .. } = lines[self.choice.draw(lines.len(), &mut rng)];
            game.moves.push(PackedMove::new(m));
            game.evals.push(lines[0].eval);
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
    game: &mut Game,
    done: &mut usize,
    wanted: impl Fn(i16) -> bool,
    engine: &mut UciEngine,
    limit: Limit,
    stop: &AtomicBool,
) -> Result<(), EngineError> {
    engine.new_game(stop)?;
    let mut course = course_of(game, *done);
    while *done < game.moves.len() {
        // A game may go on after a draw by rule: nobody claimed it. An engine has nothing to say after a mate.
        if wanted(game.evals[*done]) {
            game.evals[*done] = engine.best(&course, limit, 1, stop)?[0].eval;
        }
        course.play(game.moves[*done].to_legal_move(course.game.position()));
        *done += 1;
    }
    Ok(())
}

fn course_of(game: &Game, plies: usize) -> Course {
    let mut course = Course::new(game.start.as_deref()).expect("games have starts that were checked");
    game.moves[..plies].iter().for_each(|m| course.play(m.to_legal_move(course.game.position())));
    course
}
