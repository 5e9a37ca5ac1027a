//! Distillation targets from an existing network's policy and value.

use anyhow::Context;
use engine::chess::position::Game;
use engine::nets::encoding::Policy;
use engine::nets::eval::{Answer, Evaluator, Request};
use shakmaty::Move;

use super::batch::TeacherTargets;

const BATCH: usize = 16;

/// Opens an evaluator for batches of up to this many positions.
pub type OpenEvaluator<'a> = dyn Fn(usize) -> anyhow::Result<Box<dyn Evaluator>> + 'a;

pub struct Teacher(Box<dyn Evaluator>);

impl Teacher {
    pub fn new(open: &OpenEvaluator<'_>) -> anyhow::Result<Teacher> {
        open(BATCH).map(Teacher::from_evaluator).context("teacher")
    }

    pub fn from_evaluator(evaluator: Box<dyn Evaluator>) -> Teacher {
        Teacher(evaluator)
    }

    /// Policy (in the scheme `policy`) and value of each game's position.
    pub fn targets(&mut self, games: &[Game], policy: Policy) -> anyhow::Result<TeacherTargets> {
        let mut targets = TeacherTargets::default();
        let moves: Vec<Vec<Move>> = games.iter().map(|game| game.legal_moves().to_vec()).collect();
        let requests: Vec<Request<'_>> =
            games.iter().zip(&moves).map(|(game, moves)| Request { game, moves }).collect();
        let mut row = 0u32;
        for batch in requests.chunks(self.0.max_batch()) {
            let answers = self.0.evaluate(batch).context("teacher")?;
            for (request, Answer { wdl, priors }) in batch.iter().zip(answers) {
                let turn = request.game.turn();
                targets.rows.extend(request.moves.iter().map(|_| row));
                targets.indices.extend(request.moves.iter().map(|m| policy.index(turn, *m).0));
                targets.probabilities.extend(priors);
                targets.wdl.extend([wdl.win, wdl.draw, wdl.loss]);
                row += 1;
            }
        }
        Ok(targets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use engine::nets::encoding::az4672;
    use engine::nets::eval::{EvalError, Wdl};

    use crate::data::loader::corpus::CorpusBuilder;
    use crate::data::loader::order::{SampleOrder, Source};
    use crate::data::record::GameView;
    use crate::data::samples::SampleOptions;

    /// Prefers the first legal move. The outputs depend on the number of legal moves.
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
    fn batches_hold_the_teachers_targets_also_when_appended() {
        let mut builder = CorpusBuilder::new(&std::env::temp_dir()).unwrap();
        builder.push(&GameView { moves: &[12 | 28 << 6], ..GameView::default() }).unwrap();
        let source = Source { corpus: Arc::new(builder.build().unwrap()), weight: 1.0 };
        let order = SampleOrder::new(vec![source], SampleOptions::default(), 2, 1).unwrap();
        let mut teacher = Teacher::from_evaluator(Box::new(First));
        let (mut batch, _) = order.batch(0, Some(&mut teacher)).unwrap();
        batch.append(order.batch(1, Some(&mut teacher)).unwrap().0);
        let targets = batch.teacher_targets.as_ref().expect("a teacher's answers");
        assert_eq!((batch.size, targets.wdl.len()), (4, 12));
        let mut sums = [0.0; 4];
        for ((row, index), probability) in
            targets.rows.iter().zip(&targets.indices).zip(&targets.probabilities)
        {
            let (row, index) = (*row as usize, usize::from(*index));
            assert_eq!(batch.row_of(&batch.legal, row)[index / 64] >> (index % 64) & 1, 1, "a legal move");
            sums[row] += probability;
        }
        assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-5), "{sums:?}");
        assert!(order.batch(0, None).unwrap().0.teacher_targets.is_none());
    }

    #[test]
    fn every_legal_move_of_every_sample_gets_its_probability() {
        let fens = [
            "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1",
            "4k3/4p3/8/8/8/8/8/4K3 b - - 0 1",
            "7k/8/8/8/8/8/8/K7 w - - 0 1",
        ];
        let games = fens.map(|fen| Game::from_fen(fen).unwrap());
        let targets = Teacher::from_evaluator(Box::new(First)).targets(&games, Policy::Az4672).unwrap();
        // King and pawn have six moves for either side, the king alone three.
        let row = |row: u32| {
            let own = targets.rows.iter().zip(targets.indices.iter().zip(&targets.probabilities));
            own.filter(|(of, _)| **of == row).map(|(_, (index, p))| (*index, *p)).collect::<Vec<_>>()
        };
        assert_eq!((row(0).len(), row(1).len(), row(2).len()), (6, 6, 3));
        for (i, game) in games.iter().enumerate() {
            let first = az4672::index(game.turn(), game.legal_moves()[0]).0;
            assert_eq!(row(i as u32)[0].0, first);
            assert!((row(i as u32).iter().map(|(_, p)| p).sum::<f32>() - 1.0).abs() < 1e-6);
        }
        assert_eq!(targets.wdl[6..], [1.0 / 3.0, 1.0 - 1.0 / 3.0, 0.0]);
    }
}
