//! A network that is there already, asked what it makes of the samples.

use super::batch::TeacherTargets;
use engine::encoding::Policy;
use engine::eval::{Answer, Evaluator, Network, Request};
use engine::position::Game;
use shakmaty::Move;

/// Positions it is asked about at once.
const BATCH: usize = 16;

/// A teacher; not shared between threads.
pub struct Teacher(Box<dyn Evaluator>);

impl Teacher {
    /// `network` as a teacher.
    ///
    /// # Errors
    ///
    /// One line, if ONNX Runtime can't run it.
    pub fn new(network: &Network) -> Result<Teacher, String> {
        network.evaluator(BATCH).map(Teacher::of).map_err(|error| format!("teacher: {error}"))
    }

    /// Anything that evaluates positions as a teacher.
    pub fn of(evaluator: Box<dyn Evaluator>) -> Teacher {
        Teacher(evaluator)
    }

    /// What it says of `games`, one sample each, whose moves the learner names by `policy`.
    ///
    /// # Errors
    ///
    /// One line, if the network fails.
    pub fn targets(&mut self, games: &[Game], policy: Policy) -> Result<TeacherTargets, String> {
        let mut lessons = TeacherTargets::default();
        let moves: Vec<Vec<Move>> = games.iter().map(|game| game.legal_moves().to_vec()).collect();
        let requests: Vec<Request<'_>> =
            games.iter().zip(&moves).map(|(game, moves)| Request { game, moves }).collect();
        let mut row = 0u32;
        for batch in requests.chunks(self.0.max_batch()) {
            let answers = self.0.evaluate(batch).map_err(|error| format!("teacher: {error}"))?;
            for (request, Answer { wdl, priors }) in batch.iter().zip(answers) {
                let turn = request.game.turn();
                lessons.rows.extend(request.moves.iter().map(|_| row));
                lessons.indices.extend(request.moves.iter().map(|m| policy.index(turn, *m).0));
                lessons.probabilities.extend(priors);
                lessons.wdl.extend([wdl.win, wdl.draw, wdl.loss]);
                row += 1;
            }
        }
        Ok(lessons)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ModelConfig;
    use crate::loader::corpus::CorpusBuilder;
    use crate::loader::order::{SampleOrder, Source};
    use crate::model::Expander;
    use crate::record::GameView;
    use crate::samples::SampleOptions;
    use engine::encoding::az4672;
    use engine::eval::{EvalError, Wdl};
    use std::sync::Arc;
    use tch::{Device, Kind};

    /// Prefers the first legal move the more, the more moves there are.
    struct First;

    impl Evaluator for First {
        fn max_batch(&self) -> usize {
            2
        }

        fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
            let answer = |request: &Request<'_>| {
                let rest = 1.0 / request.moves.len() as f32;
                let mut priors = vec![rest / 2.0; request.moves.len()];
                priors[0] = 0.5 + rest / 2.0;
                Answer { wdl: Wdl { win: rest, draw: 1.0 - rest, loss: 0.0 }, priors }
            };
            Ok(batch.iter().map(answer).collect())
        }
    }

    #[test]
    fn a_plans_batches_hold_its_lessons_and_so_does_what_is_appended() {
        let mut builder = CorpusBuilder::new(&std::env::temp_dir()).unwrap();
        builder.push(&GameView { moves: &[12 | 28 << 6], ..GameView::default() }).unwrap();
        let source = Source { corpus: Arc::new(builder.build().unwrap()), weight: 1.0 };
        let plan = SampleOrder::new(vec![source], SampleOptions::default(), 2, 1).unwrap();
        let mut teacher = Teacher::of(Box::new(First));
        let (mut batch, _) = plan.batch(0, Some(&mut teacher)).unwrap();
        batch.append(plan.batch(1, Some(&mut teacher)).unwrap().0);
        let device = Expander::new(Device::Cpu, Kind::Float, ModelConfig::default().schemes()).upload(&batch);
        let lessons = device.lessons.expect("a teacher's answers");
        assert_eq!((lessons.policy.size(), lessons.wdl.size()), (vec![4, 4672], vec![4, 3]));
        let sums: Vec<f32> =
            lessons.policy.sum_dim_intlist([1i64].as_slice(), false, Kind::Float).try_into().unwrap();
        assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-5), "{sums:?}");
        let illegal = lessons.policy.masked_select(&device.illegal).sum(Kind::Float);
        assert_eq!(illegal.double_value(&[]), 0.0);
        assert!(plan.batch(0, None).unwrap().0.teacher_targets.is_none());
    }

    #[test]
    fn every_legal_move_of_every_sample_gets_its_probability() {
        let fens = [
            "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1",
            "4k3/4p3/8/8/8/8/8/4K3 b - - 0 1",
            "7k/8/8/8/8/8/8/K7 w - - 0 1",
        ];
        let games = fens.map(|fen| Game::from_fen(fen).unwrap());
        let lessons = Teacher::of(Box::new(First)).targets(&games, Policy::Az4672).unwrap();
        // King and pawn have six moves, for Black as for White by the mover's view; the king alone has three.
        let row = |row: u32| {
            let own = lessons.rows.iter().zip(lessons.indices.iter().zip(&lessons.probabilities));
            own.filter(|(of, _)| **of == row).map(|(_, (index, p))| (*index, *p)).collect::<Vec<_>>()
        };
        assert_eq!((row(0).len(), row(1).len(), row(2).len()), (6, 6, 3));
        for (i, game) in games.iter().enumerate() {
            let first = az4672::index(game.turn(), game.legal_moves()[0]).0;
            assert_eq!(row(i as u32)[0].0, first);
            assert!((row(i as u32).iter().map(|(_, p)| p).sum::<f32>() - 1.0).abs() < 1e-6);
        }
        assert_eq!(lessons.wdl[6..], [1.0 / 3.0, 1.0 - 1.0 / 3.0, 0.0]);
    }
}
