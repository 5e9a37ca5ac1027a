//! Shares one evaluator among workers, because a GPU is fast only in large batches.

use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use shakmaty::Move;

use super::{Answer, EvalError, Evaluator, Request};
use crate::chess::position::Game;

/// One worker's handle on an evaluator in its own thread, which ends with the last handle. Requests that arrive while
/// it is busy form its next batch.
pub struct SharedEvaluator {
    tasks: Sender<Task>,
    max_batch: usize,
    /// Declared last, so that the sender is dropped first.
    _thread: Arc<Joined>,
}

struct Joined(Option<JoinHandle<()>>);

impl Drop for Joined {
    fn drop(&mut self) {
        let _ = self.0.take().map(JoinHandle::join);
    }
}

type Answers = Result<Vec<Answer>, EvalError>;

struct Task {
    positions: Vec<(Game, Vec<Move>)>,
    answers: Sender<Answers>,
}

impl SharedEvaluator {
    pub fn share(evaluator: Box<dyn Evaluator>, workers: usize) -> Vec<SharedEvaluator> {
        let max_batch = evaluator.max_batch();
        let (sender, tasks) = unbounded();
        let thread = std::thread::Builder::new().name("evaluator".to_owned());
        let thread = thread.spawn(move || serve(evaluator, &tasks)).expect("a thread for the evaluator");
        let thread = Arc::new(Joined(Some(thread)));
        let part = |tasks| SharedEvaluator { tasks, max_batch, _thread: Arc::clone(&thread) };
        iter::repeat_n(sender, workers).map(part).collect()
    }
}

impl Evaluator for SharedEvaluator {
    fn max_batch(&self) -> usize {
        self.max_batch
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let ended = || EvalError("the thread of the shared evaluator has ended".into());
        let positions = batch.iter().map(|request| (request.game.clone(), request.moves.to_vec())).collect();
        let (answers, received) = bounded(1);
        self.tasks.send(Task { positions, answers }).map_err(|_| ended())?;
        received.recv().map_err(|_| ended())?
    }
}

fn serve(mut evaluator: Box<dyn Evaluator>, tasks: &Receiver<Task>) {
    let max_batch = evaluator.max_batch();
    let mut first = tasks.recv().ok();
    while let Some(task) = first {
        let (mut count, mut together) = (task.positions.len(), vec![task]);
        first = None;
        while let Ok(task) = tasks.try_recv() {
            if count + task.positions.len() > max_batch {
                first = Some(task);
                break;
            }
            count += task.positions.len();
            together.push(task);
        }
        let positions = together.iter().flat_map(|task| &task.positions);
        let requests: Vec<Request<'_>> = positions.map(|(game, moves)| Request { game, moves }).collect();
        let evaluated = catch_unwind(AssertUnwindSafe(|| evaluator.evaluate(&requests)));
        let failed = |_| Err(EvalError("the evaluator panicked".into()));
        let mut answers = evaluated.unwrap_or_else(failed).map(Vec::into_iter);
        for task in &together {
            let own = match &mut answers {
                Ok(answers) => Ok(answers.by_ref().take(task.positions.len()).collect()),
                Err(error) => Err(error.clone()),
            };
            let _ = task.answers.send(own);
        }
        first = first.or_else(|| tasks.recv().ok());
    }
}

#[cfg(test)]
mod tests {
    use crossbeam_channel::TryRecvError;

    use super::*;
    use crate::nets::eval::HashedEvaluator;

    struct Gated {
        sizes: Sender<usize>,
        open: Receiver<Result<(), EvalError>>,
    }

    impl Evaluator for Gated {
        fn max_batch(&self) -> usize {
            6
        }

        fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
            self.sizes.send(batch.len()).unwrap();
            self.open.recv().expect("not told to fail")?;
            HashedEvaluator.evaluate(batch)
        }
    }

    fn positions(from: usize, count: usize) -> Vec<(Game, Vec<Move>)> {
        let start = Game::new();
        let after = |m: &Move| {
            let mut game = start.clone();
            game.play(*m);
            let moves = game.legal_moves().to_vec();
            (game, moves)
        };
        start.legal_moves()[from..from + count].iter().map(after).collect()
    }

    fn ask(evaluator: &mut dyn Evaluator, positions: &[(Game, Vec<Move>)]) -> Answers {
        let requests: Vec<Request<'_>> =
            positions.iter().map(|(game, moves)| Request { game, moves }).collect();
        evaluator.evaluate(&requests)
    }

    #[test]
    fn what_workers_ask_for_meanwhile_is_one_batch_and_each_gets_its_own_answers() {
        let ((sizes, seen), (gate, open)) = (unbounded(), unbounded());
        let parts = SharedEvaluator::share(Box::new(Gated { sizes, open }), 5);
        let tasks = parts[0].tasks.clone();
        let asks: Vec<_> = [(0, 1), (1, 2), (3, 3), (6, 1), (7, 4)]
            .into_iter()
            .zip(parts)
            .map(|((from, count), mut part)| {
                move || {
                    let positions = positions(from, count);
                    assert_eq!(ask(&mut part, &positions), ask(&mut HashedEvaluator, &positions));
                }
            })
            .collect();
        std::thread::scope(|scope| {
            for (waiting, ask) in asks.into_iter().enumerate() {
                scope.spawn(ask);
                // The first is being answered, the others wait in this order.
                if waiting == 0 {
                    assert_eq!(seen.recv(), Ok(1));
                }
                while tasks.len() < waiting {
                    std::thread::yield_now();
                }
            }
            drop(tasks);
            (0..3).for_each(|_| gate.send(Ok(())).unwrap());
            drop(gate);
        });
        // A batch of six has room for two, three and one, not for four.
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [6, 4]);
    }

    #[test]
    fn an_error_or_a_panic_is_told_and_the_next_batch_is_answered() {
        let ((sizes, seen), (gate, open)) = (unbounded(), unbounded());
        let mut parts = SharedEvaluator::share(Box::new(Gated { sizes, open }), 2);
        let failed = EvalError("no more memory".into());
        gate.send(Err(failed.clone())).unwrap();
        assert_eq!(ask(&mut parts[0], &positions(0, 2)), Err(failed));
        gate.send(Ok(())).unwrap();
        assert_eq!(ask(&mut parts[1], &positions(0, 2)).unwrap().len(), 2);
        assert_eq!(ask(&mut parts[1], &[]), Ok(Vec::new()));
        drop(gate);
        for part in &mut parts {
            let error = ask(part, &positions(0, 2)).unwrap_err();
            assert!(error.0.contains("panicked"), "{error}");
        }
        drop(parts);
        assert_eq!(seen.try_iter().collect::<Vec<_>>(), [2, 2, 2, 2]);
        assert_eq!(seen.try_recv(), Err(TryRecvError::Disconnected));
    }
}
