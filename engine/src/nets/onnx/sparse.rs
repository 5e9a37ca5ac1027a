//! Networks of the family `sparse` in ONNX Runtime: the reference for our kernels, and much slower.

use ort::session::Session;
use ort::value::TensorRef;

use super::calls;
use super::error::NetError;
use super::runtime::one_line;
use super::session::{Device, extract, failed, open_session};
use crate::nets::encoding::moves1::{self, Rows};
use crate::nets::encoding::sparse1::{self, View};
use crate::nets::eval::{
    Answer, CardError, EvalError, Evaluator, Golden, Request, ValueScheme, Wdl, golden, softmax,
};

/// Runs on one thread. Inputs are `features` `[n, active]`, `moves_a` and `moves_b` `[n, moves]`, int64, each padded
/// with its table's row of zeros; outputs are the logits `policy` `[n, moves]` and `wdl` `[n, 3]`.
pub struct OnnxSparseEvaluator {
    session: Session,
    max_batch: usize,
    precision: String,
    features: Vec<i64>,
    moves: [Vec<i64>; 2],
}

impl OnnxSparseEvaluator {
    /// Opens a file's bytes for batches of up to `max_batch`, and checks its golden answers.
    pub fn open(bytes: &[u8], max_batch: usize) -> Result<OnnxSparseEvaluator, NetError> {
        OnnxSparseEvaluator::open_on(Device::Cpu, bytes, max_batch)
    }

    pub fn open_on(device: Device, bytes: &[u8], max_batch: usize) -> Result<OnnxSparseEvaluator, NetError> {
        let session = open_session(device, bytes)?;
        let metadata = session.metadata().map_err(|error| NetError::NotOnnx(one_line(&error.to_string())))?;
        let get = |name: &'static str| metadata.custom(name).ok_or(CardError::Missing(name));
        for (property, expected) in [
            ("philidor.family", "sparse"),
            ("philidor.input", sparse1::NAME),
            ("philidor.policy", moves1::NAME),
        ] {
            let found = get(property)?;
            if found != expected {
                return Err(
                    CardError::Unknown { property, found, expected: format!("\"{expected}\"") }.into()
                );
            }
        }
        let answers: Vec<Golden> = serde_json::from_str(&get("philidor.golden")?)
            .map_err(|error| CardError::Golden(error.to_string()))?;
        let precision = get("philidor.precision")?;
        drop(metadata);
        let max_batch = max_batch.max(1);
        let mut evaluator = OnnxSparseEvaluator {
            session,
            max_batch: max_batch.max(answers.len()),
            precision,
            features: Vec::new(),
            moves: Default::default(),
        };
        golden::compare(&mut evaluator, &answers, ValueScheme::Wdl, TOLERANCE)?;
        Ok(OnnxSparseEvaluator { max_batch, ..evaluator })
    }

    /// `fp32` or `int8`, from the card.
    pub fn precision(&self) -> &str {
        &self.precision
    }

    fn lay_out(&mut self, batch: &[Request<'_>]) -> [usize; 2] {
        let views: Vec<View> = batch.iter().map(|request| View::of(request.game)).collect();
        let features: Vec<_> = views.iter().map(View::features).collect();
        let active = features.iter().map(|features| features.len()).max().unwrap_or(0);
        let moves = batch.iter().map(|request| request.moves.len()).max().unwrap_or(0);
        self.features.clear();
        self.moves.iter_mut().for_each(Vec::clear);
        let mut rows = Vec::new();
        for (index, (request, view)) in batch.iter().zip(&views).enumerate() {
            self.features.extend(features[index].iter().map(|feature| i64::from(*feature)));
            self.features.resize((index + 1) * active, sparse1::FEATURES as i64);
            rows.clear();
            rows.resize(request.moves.len(), Rows::default());
            moves1::rows(view, request.moves, &mut rows);
            self.moves[0].extend(rows.iter().map(|rows| i64::from(rows.a)));
            self.moves[1].extend(rows.iter().map(|rows| i64::from(rows.b)));
            self.moves[0].resize((index + 1) * moves, moves1::ROWS_A as i64);
            self.moves[1].resize((index + 1) * moves, moves1::ROWS_B as i64);
        }
        [active, moves]
    }
}

/// Of a probability from its golden answer.
const TOLERANCE: f32 = 0.005;

impl Evaluator for OnnxSparseEvaluator {
    fn max_batch(&self) -> usize {
        self.max_batch
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        let n = batch.len();
        let [active, moves] = self.lay_out(batch);
        let tensor =
            |width: usize, data| TensorRef::<i64>::from_array_view(([n, width], data)).map_err(failed);
        let inputs = ort::inputs![
            "features" => tensor(active, &self.features[..])?,
            "moves_a" => tensor(moves, &self.moves[0][..])?,
            "moves_b" => tensor(moves, &self.moves[1][..])?,
        ];
        let outputs = calls::run(&mut self.session, inputs).map_err(failed)?;
        let policy = extract(&outputs, "policy", n, moves)?;
        let wdl = extract(&outputs, "wdl", n, 3)?;
        let answer = |(index, request): (usize, &Request<'_>)| {
            let mut priors = policy[index * moves..][..request.moves.len()].to_vec();
            softmax(&mut priors);
            let wdl = Wdl::from_logits(std::array::from_fn(|k| wdl[3 * index + k]));
            Answer { wdl, priors }
        };
        Ok(batch.iter().enumerate().map(answer).collect())
    }
}
