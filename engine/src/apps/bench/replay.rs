//! Records the network's answers in a search with our kernels and replays them, to time the search without the network.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shakmaty::Move;

use crate::chess::position::Game;
use crate::nets::eval::{Answer, EvalError, Evaluator, Request, SplitEvaluator, Wdl};
use crate::nets::sparse::SparseEvaluator;

/// Evaluations of a search with one worker, in order.
#[derive(Default)]
pub(super) struct Recording {
    /// Positions with evaluated value, and their legal moves.
    pub positions: Vec<(Game, Vec<Move>)>,
    values: Vec<Wdl>,
    pub policies: u64,
    /// Concatenated priors of the positions with evaluated policy.
    priors: Vec<f32>,
}

pub(super) type SharedRecording = Arc<Mutex<Recording>>;

pub(super) fn lock(shared: &SharedRecording) -> MutexGuard<'_, Recording> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) struct Recorder {
    pub evaluator: SparseEvaluator,
    pub recording: SharedRecording,
}

impl Evaluator for Recorder {
    fn max_batch(&self) -> usize {
        self.evaluator.max_batch()
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        self.evaluator.evaluate(batch)
    }

    fn split(&mut self) -> Option<&mut dyn SplitEvaluator> {
        Some(self)
    }
}

impl SplitEvaluator for Recorder {
    fn value(&mut self, game: &Game) -> Wdl {
        let wdl = self.evaluator.value(game);
        let mut recording = lock(&self.recording);
        recording.positions.push((game.clone(), game.legal_moves().to_vec()));
        recording.values.push(wdl);
        wdl
    }

    fn policy(&mut self, game: &Game, moves: &[Move], temperature: f32, priors: &mut [f32]) {
        self.evaluator.policy(game, moves, temperature, priors);
        let mut recording = lock(&self.recording);
        recording.policies += 1;
        recording.priors.extend_from_slice(priors);
    }
}

/// Ignores the position asked, so only a repeat of the recorded search gets the right answers.
pub(super) struct Replayer {
    /// Before a search the next recording, after it the previous one.
    next: SharedRecording,
    /// The recording in use; `values` and `priors` are the indices of its next answers.
    recording: Recording,
    values: usize,
    priors: usize,
}

impl Replayer {
    pub fn new(next: SharedRecording) -> Replayer {
        Replayer { next, recording: Recording::default(), values: 0, priors: 0 }
    }
}

impl Evaluator for Replayer {
    fn max_batch(&self) -> usize {
        1
    }

    fn evaluate(&mut self, _: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        Err(EvalError("a recorded search asks one question at a time".into()))
    }

    fn split(&mut self) -> Option<&mut dyn SplitEvaluator> {
        Some(self)
    }
}

impl SplitEvaluator for Replayer {
    fn value(&mut self, _: &Game) -> Wdl {
        if self.values == self.recording.values.len() {
            // Swapping frees the old recording outside the timed search.
            std::mem::swap(&mut self.recording, &mut *lock(&self.next));
            (self.values, self.priors) = (0, 0);
        }
        self.values += 1;
        self.recording.values.get(self.values - 1).copied().unwrap_or(Wdl::DRAW)
    }

    fn policy(&mut self, _: &Game, moves: &[Move], _: f32, priors: &mut [f32]) {
        match self.recording.priors.get(self.priors..self.priors + moves.len()) {
            Some(recorded) => priors.copy_from_slice(recorded),
            None => priors.fill(1.0 / moves.len() as f32),
        }
        self.priors += moves.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nets::sparse::SparseNetwork;
    use crate::search::{Limits, Params, Pool};

    #[test]
    fn a_recorded_search_is_the_same_again_and_so_is_the_next_one() {
        let recording = SharedRecording::default();
        let evaluator = SparseNetwork::embedded().evaluator();
        let pool = |evaluator: Box<dyn Evaluator>| Pool::new(vec![evaluator], Params::native(), 4 << 20);
        let mut recorder = pool(Box::new(Recorder { evaluator, recording: Arc::clone(&recording) }));
        let mut replayer = pool(Box::new(Replayer::new(Arc::clone(&recording))));
        for fen in [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "8/5pk1/4p1p1/3pP3/3P4/6P1/5PK1/8 w - - 0 40",
        ] {
            let game = Game::from_fen(fen).unwrap();
            let limits = || Limits { visits: Some(500), ..Limits::default() };
            *lock(&recording) = Recording::default();
            let first = recorder.search(&game, limits());
            let positions = std::mem::take(&mut lock(&recording).positions);
            assert_eq!(positions.len() as u64, first.report.counters.evaluations);
            assert!(positions.iter().all(|(game, moves)| *moves == game.legal_moves().to_vec()));
            let again = replayer.search(&game, limits());
            assert_eq!((again.report, again.stats), (first.report, first.stats));
        }
    }
}
