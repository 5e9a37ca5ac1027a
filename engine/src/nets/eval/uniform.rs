use super::{Answer, EvalError, Evaluator, Request, Wdl};

/// Equal priors and a draw for every position.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uniform;

impl Evaluator for Uniform {
    fn max_batch(&self) -> usize {
        256
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        let answer = |request: &Request<'_>| {
            let moves = request.moves.len();
            Answer { wdl: Wdl::DRAW, priors: vec![1.0 / moves as f32; moves] }
        };
        Ok(batch.iter().map(answer).collect())
    }
}
