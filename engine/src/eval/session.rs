//! A network running in ONNX Runtime on one CPU thread.

use ort::session::builder::GraphOptimizationLevel;
use ort::session::{Session as OrtSession, SessionOutputs};
use ort::value::TensorRef;

use super::network::NetError;
use super::runtime::{environment, one_line};
use super::{Answer, EvalError, Evaluator, Request, Wdl, softmax};
use crate::encoding::planes72::INPUT_SIZE;
use crate::encoding::{az4672, planes72};

/// One ONNX Runtime session: one thread, sequential, not spinning while idle.
pub struct Session {
    inner: OrtSession,
}

/// What a session answers for a batch of `n`.
#[derive(Clone, Copy, Debug)]
pub struct Logits<'a> {
    /// `[n, 4672]`: logits over the policy scheme's indices.
    pub policy: &'a [f32],
    /// `[n, 3]`: logits of win, draw and loss for the mover.
    pub wdl: &'a [f32],
}

impl Session {
    /// Opens a session on the bytes of an ONNX file, whatever it holds; [`super::Network`] is for networks
    /// that are to be played with.
    ///
    /// # Errors
    ///
    /// If ONNX Runtime is missing or refuses the file.
    pub fn open(bytes: &[u8]) -> Result<Session, NetError> {
        let environment = environment().map_err(NetError::Runtime)?;
        let failed = |error: &dyn std::fmt::Display| NetError::NotOnnx(one_line(&error.to_string()));
        let mut builder = OrtSession::builder(environment).map_err(|error| failed(&error))?;
        builder = builder.with_intra_threads(1).map_err(|error| failed(&error))?;
        builder = builder.with_intra_op_spinning(false).map_err(|error| failed(&error))?;
        builder = builder.with_inter_op_spinning(false).map_err(|error| failed(&error))?;
        builder = builder.with_parallel_execution(false).map_err(|error| failed(&error))?;
        builder =
            builder.with_optimization_level(GraphOptimizationLevel::All).map_err(|error| failed(&error))?;
        if !multiplies_bytes_exactly() {
            builder = builder
                .with_config_entry("session.x64quantprecision", "1")
                .map_err(|error| failed(&error))?;
        }
        let inner = builder.commit_from_memory(bytes).map_err(|error| failed(&error))?;
        Ok(Session { inner })
    }

    /// The ONNX Runtime session itself, for a look at its inputs, outputs and metadata.
    pub(super) fn inner(&self) -> &OrtSession {
        &self.inner
    }

    /// Runs the network on `input`, `[n, 72, 8, 8]`, and hands every output that holds floats to `read`,
    /// by name, row-major.
    ///
    /// # Errors
    ///
    /// If ONNX Runtime fails, or `input` does not hold whole positions.
    pub fn run_all(&mut self, input: &[f32], mut read: impl FnMut(&str, &[f32])) -> Result<(), EvalError> {
        for (name, value) in &self.outputs(input)? {
            if let Ok((_, data)) = value.try_extract_tensor::<f32>() {
                read(name, data);
            }
        }
        Ok(())
    }

    /// Runs the network on `input`, `[n, 72, 8, 8]`, and hands its outputs to `read`.
    ///
    /// # Errors
    ///
    /// If ONNX Runtime fails, or `input` does not hold whole positions.
    pub fn run<T>(&mut self, input: &[f32], read: impl FnOnce(Logits<'_>) -> T) -> Result<T, EvalError> {
        let failed = |error: ort::Error| EvalError(one_line(&error.to_string()));
        let batch = input.len() / INPUT_SIZE;
        let outputs = self.outputs(input)?;
        let extract = |name: &str, width: usize| {
            let value = outputs.get(name).ok_or_else(|| EvalError(format!("no output \"{name}\"")))?;
            let (shape, data) = value.try_extract_tensor::<f32>().map_err(failed)?;
            if data.len() == batch * width {
                Ok(data)
            } else {
                Err(EvalError(format!("output \"{name}\" has shape {shape}, expected [{batch}, {width}]")))
            }
        };
        Ok(read(Logits { policy: extract("policy", az4672::SIZE)?, wdl: extract("wdl", 3)? }))
    }

    fn outputs(&mut self, input: &[f32]) -> Result<SessionOutputs<'_>, EvalError> {
        let failed = |error: ort::Error| EvalError(one_line(&error.to_string()));
        let shape = [input.len() / INPUT_SIZE, planes72::PLANES, 8, 8];
        let tensor = TensorRef::from_array_view((shape, input)).map_err(failed)?;
        self.inner.run(ort::inputs!["input" => tensor]).map_err(failed)
    }
}

/// Whether the CPU has instructions that sum up products of bytes in 32 bits. Without them ONNX Runtime's
/// sums of u8 × s8 on x86 stop at 16 bits, unless it is told to take a slower way; with them that way would
/// be three times slower.
fn multiplies_bytes_exactly() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx512vnni") || is_x86_feature_detected!("avxvnni");
    #[cfg(not(target_arch = "x86_64"))]
    true
}

/// The evaluator of one worker: encodes positions, runs its own session, reads the legal moves' priors.
pub struct OnnxEvaluator {
    session: Session,
    max_batch: usize,
    input: Vec<f32>,
}

impl OnnxEvaluator {
    /// Wraps a session; batches of up to `max_batch` positions.
    pub(super) fn new(session: Session, max_batch: usize) -> OnnxEvaluator {
        OnnxEvaluator { session, max_batch, input: Vec::with_capacity(max_batch * INPUT_SIZE) }
    }

    /// The session, for other uses.
    pub(super) fn into_session(self) -> Session {
        self.session
    }
}

impl Evaluator for OnnxEvaluator {
    fn max_batch(&self) -> usize {
        self.max_batch
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        self.input.resize(batch.len() * INPUT_SIZE, 0.0);
        for (request, input) in batch.iter().zip(self.input.chunks_exact_mut(INPUT_SIZE)) {
            // All legal moves shape the input, also where only some of them are asked about.
            planes72::encode(request.game).write(input);
        }
        let answers = self.session.run(&self.input, |logits| read_answers(batch, logits))?;
        if answers
            .iter()
            .all(|answer| answer.wdl.win.is_finite() && answer.priors.iter().all(|p| p.is_finite()))
        {
            Ok(answers)
        } else {
            Err(EvalError("the network answers with numbers that are not finite".into()))
        }
    }
}

fn read_answers(batch: &[Request<'_>], logits: Logits<'_>) -> Vec<Answer> {
    let policies = logits.policy.chunks_exact(az4672::SIZE);
    let values = logits.wdl.as_chunks::<3>().0;
    let answer = |((request, policy), wdl): ((&Request<'_>, &[f32]), &[f32; 3])| {
        let turn = request.game.turn();
        let mut priors: Vec<f32> =
            request.moves.iter().map(|m| policy[az4672::index(turn, *m).offset()]).collect();
        softmax(&mut priors);
        Answer { wdl: Wdl::from_logits(*wdl), priors }
    };
    batch.iter().zip(policies).zip(values).map(answer).collect()
}
