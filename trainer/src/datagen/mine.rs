//! Games that an engine plays against itself.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use engine::position::{Outcome, PackedMove};

use super::engine_pool::EngineTask;
use super::move_choice::MoveChoice;
use super::start_positions::StartPositions;
use super::tree_paths::TreePaths;
use super::{EngineError, Limit, UciEngine, position_after, search_record, stored_eval};
use crate::dataset::PendingGame;
use crate::record::{FLAG_CHESS960, GameRecord, GameResult, game_rng};

/// Games of an engine against itself, or along the trees of our own searches with its evaluations.
#[derive(Clone)]
pub struct Mine {
    /// How many games, those in the files included.
    pub games: u64,
    /// Where games begin.
    pub starts: StartPositions,
    /// Which of the engine's best moves is played.
    pub choice: MoveChoice,
    /// The moves that are played instead, if not the engine's.
    pub tree_paths: Option<TreePaths>,
    /// The engine's limit for a move.
    pub limit: Limit,
    /// A game that is not over after so many plies ends without a result.
    pub plies: usize,
    /// The seed of the random numbers.
    pub seed: u64,
    /// Whether each position's best move with its win, draw and loss is recorded as a search would be.
    pub record_best: bool,
}

impl Mine {
    /// Plays game `number` on from the last position of `game` to its end.
    ///
    /// A draw is claimed at the third repetition and after fifty moves. A position's evaluation is that of its best
    /// move, whichever is played. A game along our own trees has no result.
    ///
    /// # Errors
    ///
    /// If the engine fails or `stop` is set; `game` then holds the moves so far and can be continued.
    fn play(
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
        let mut follower = match &self.tree_paths {
            Some(paths) => {
                Some(paths.begin().map_err(|error| engine.failed(format!("our network: {error:#}")))?)
            }
            None => None,
        };
        let mut position = position_after(game, game.moves.len());
        if position.is_chess960() {
            game.flags |= FLAG_CHESS960;
        }
        loop {
            if let Some(outcome) = position.game.outcome() {
                // Where random paths lead says nothing about the positions on the way.
                game.result = match outcome {
                    _ if follower.is_some() => GameResult::Unknown,
                    Outcome::Decisive { winner } => GameResult::won_by(winner),
                    Outcome::Draw(_) => GameResult::Draw,
                };
                return Ok(());
            }
            if game.moves.len() >= self.plies {
                return Ok(());
            }
            let moves = engine.best(&position, self.limit, self.choice.moves(), stop)?;
            // The random numbers of ply 0 were used for the start position.
            let mut rng = game_rng(self.seed, number, game.moves.len() as u64 + 1);
            let m = match &mut follower {
                Some(follower) => follower
                    .next(&position.game, &mut rng)
                    .map_err(|error| engine.failed(error.to_string()))?,
                None => moves[self.choice.draw(moves.len(), &mut rng)].m,
            };
            game.moves.push(PackedMove::new(m));
            let mover = position.game.turn();
            game.evals.push(stored_eval(&moves[0], mover));
            if self.record_best {
                game.searches.push(search_record(&moves[..1], mover));
            }
            position.play(m);
        }
    }
}

impl EngineTask for Mine {
    fn progress_of(&self, _: &GameRecord) -> u64 {
        1
    }

    fn queue(
        &self,
        from: u64,
        held: &BTreeSet<u64>,
        _: &AtomicBool,
        send: &mut dyn FnMut(PendingGame) -> bool,
    ) -> anyhow::Result<()> {
        (from..self.games)
            .filter(|number| !held.contains(number))
            .all(|number| send(PendingGame { number, ..PendingGame::default() }));
        Ok(())
    }

    fn process(
        &self,
        pending: &mut PendingGame,
        engine: &mut UciEngine,
        stop: &AtomicBool,
    ) -> Result<(), EngineError> {
        let played = self.play(pending.number, &mut pending.game, engine, stop);
        pending.done = pending.game.moves.len();
        played
    }
}
