use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use engine::chess::position::{Outcome, PackedMove};

use super::engine_pool::{EngineTask, TaskError};
use super::move_choice::MoveChoice;
use super::start_positions::StartPositions;
use super::tree_paths::{PathFollower, TreePaths};
use super::{Limit, UciEngine, position_after, search_record, stored_eval};
use crate::base::progress::count_ply;
use crate::data::dataset::PendingGame;
use crate::data::record::{FLAG_CHESS960, GameRecord, GameResult, NO_EVAL, SearchRecord, game_rng};

pub enum MinedMoves {
    Engine(MoveChoice),
    /// Random paths through Philidor's own search trees.
    TreePaths(TreePaths),
}

pub struct Mine {
    /// Includes games already in the files.
    pub games: u64,
    pub starts: StartPositions,
    pub moves: MinedMoves,
    pub limit: Limit,
    /// A game ends without a result after this many plies.
    pub plies: usize,
    pub seed: u64,
    /// Records each position's best move with its WDL as a search.
    pub record_best: bool,
}

impl Mine {
    /// Plays game `number` on to its end. A new game begins with the last moves before its start position, without
    /// evaluation and policy target.
    ///
    /// Draws are claimed at the third repetition and after fifty moves. The evaluation is the best move's, whichever
    /// move is played. Games along trees have no result. After an error or a set `stop`, `game` can be continued.
    fn play(
        &self,
        number: u64,
        game: &mut GameRecord,
        engine: &mut UciEngine,
        stop: &AtomicBool,
    ) -> Result<(), TaskError> {
        engine.new_game(stop)?;
        if game.moves.is_empty() {
            let start = self.starts.start(number, engine, stop)?;
            game.start = start.fen;
            game.evals = vec![NO_EVAL; start.moves.len()];
            game.moves = start.moves;
        }
        let unlabelled = game.evals.iter().take_while(|eval| **eval == NO_EVAL).count();
        // If no ply had a search record, the moves before the start would be policy targets.
        let record_best = self.record_best || unlabelled > 0;
        if record_best && game.searches.is_empty() {
            game.searches = vec![SearchRecord::default(); unlabelled];
        }
        let mut moves = match &self.moves {
            MinedMoves::Engine(choice) => Moves::Engine(choice),
            MinedMoves::TreePaths(paths) => Moves::Path(Box::new(paths.begin()?)),
        };
        let mut position = position_after(game.start.as_deref(), game.moves.iter().copied());
        if position.is_chess960() {
            game.flags |= FLAG_CHESS960;
        }
        loop {
            if let Some(outcome) = position.game.outcome() {
                // The end of a random path says nothing about its positions.
                game.result = match outcome {
                    _ if matches!(moves, Moves::Path(_)) => GameResult::Unknown,
                    Outcome::Decisive { winner } => GameResult::won_by(winner),
                    Outcome::Draw(_) => GameResult::Draw,
                };
                return Ok(());
            }
            if game.moves.len() - unlabelled >= self.plies {
                return Ok(());
            }
            let best = engine.best(&position, self.limit, moves.wanted(), stop)?;
            // Ply 0's random numbers chose the start position.
            let mut rng = game_rng(self.seed, number, game.moves.len() as u64 + 1);
            let m = match &mut moves {
                Moves::Engine(choice) => best[choice.draw(best.len(), &mut rng)].m,
                Moves::Path(follower) => follower.next(&position.game, &mut rng)?,
            };
            game.moves.push(PackedMove::new(m));
            count_ply();
            let mover = position.game.turn();
            game.evals.push(stored_eval(&best[0], mover));
            if record_best {
                game.searches.push(search_record(&best[..1], mover));
            }
            position.play(m);
        }
    }
}

enum Moves<'a> {
    Engine(&'a MoveChoice),
    Path(Box<PathFollower<'a>>),
}

impl Moves<'_> {
    fn wanted(&self) -> usize {
        match self {
            Moves::Engine(choice) => choice.moves(),
            // Its evaluation is the position's.
            Moves::Path(_) => 1,
        }
    }
}

impl EngineTask for Mine {
    fn progress_of(&self, _: &GameRecord) -> u64 {
        1
    }

    fn continues(&self, number: u64) -> bool {
        number < self.games
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
    ) -> Result<(), TaskError> {
        let played = self.play(pending.number, &mut pending.game, engine, stop);
        pending.done = pending.game.moves.len();
        played
    }
}
