//! A network running in ONNX Runtime on one CPU thread.

use std::borrow::Cow;

use ort::session::builder::GraphOptimizationLevel;
use ort::session::{Session as OrtSession, SessionOutputs};
use ort::value::TensorRef;

use super::card::Schemes;
use super::network::NetError;
use super::runtime::{environment, one_line};
use super::tensors::Tensors;
use super::{Answer, EvalError, Evaluator, Request, Wdl, lesson, softmax};
use crate::encoding::Policy;

/// One ONNX Runtime session: one thread, sequential, not spinning while idle.
pub struct Session {
    inner: OrtSession,
    tensors: Tensors,
    schemes: Schemes,
}

/// What a session answers for a batch of `n`.
#[derive(Clone, Copy, Debug)]
pub struct Logits<'a> {
    /// `[n, size]`: logits over the policy scheme's indices.
    pub policy: &'a [f32],
    /// `[n, 3]`: logits of win, draw and loss for the mover; empty if the network has no value.
    pub wdl: &'a [f32],
}

impl Session {
    /// Opens a session on the bytes of an ONNX file; [`super::Network`] is for networks that are to be
    /// played with.
    ///
    /// # Errors
    ///
    /// If ONNX Runtime is missing or refuses the file, or neither its card nor the names of its tensors tell
    /// the schemes.
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
        let tensors = Tensors::of(&inner);
        let schemes = match tensors {
            Tensors::Ours => {
                let metadata = inner.metadata().map_err(|error| failed(&error))?;
                Schemes::read(|name| metadata.custom(name)).map_err(NetError::Card)?
            }
            Tensors::Lc0(_) => Schemes::LC0,
        };
        Ok(Session { inner, tensors, schemes })
    }

    /// The ONNX Runtime session itself, for a look at its inputs, outputs and metadata.
    pub(super) fn inner(&self) -> &OrtSession {
        &self.inner
    }

    /// How the network sees positions and names moves.
    pub fn schemes(&self) -> Schemes {
        self.schemes
    }

    /// What its tensors are called.
    pub(super) fn tensors(&self) -> Tensors {
        self.tensors
    }

    /// Runs the network on `input`, `[n] + shape`, and hands every output that holds floats to `read`,
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

    /// Runs the network on `input`, `[n] + shape`, and hands its outputs to `read`.
    ///
    /// # Errors
    ///
    /// If ONNX Runtime fails, or `input` does not hold whole positions.
    pub fn run<T>(&mut self, input: &[f32], read: impl FnOnce(Logits<'_>) -> T) -> Result<T, EvalError> {
        let failed = |error: ort::Error| EvalError(one_line(&error.to_string()));
        let (schemes, tensors) = (self.schemes, self.tensors);
        let batch = input.len() / schemes.input.size();
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
        let policy = extract(tensors.policy(), schemes.policy.size())?;
        let value = tensors.value(schemes.value).map(|(value, width)| extract(value, width)).transpose()?;
        let wdl = match (value, tensors) {
            (None, _) => Cow::default(),
            (Some(value), Tensors::Ours) => Cow::Borrowed(value),
            (Some(value), Tensors::Lc0(kind)) => Cow::Owned(kind.logits(value)),
        };
        Ok(read(Logits { policy, wdl: &wdl }))
    }

    fn outputs(&mut self, input: &[f32]) -> Result<SessionOutputs<'_>, EvalError> {
        let failed = |error: ort::Error| EvalError(one_line(&error.to_string()));
        let batch = input.len() / self.schemes.input.size();
        let shape = [&[batch], self.schemes.input.shape()].concat();
        let tensor = TensorRef::from_array_view((shape, input)).map_err(failed)?;
        self.inner.run(ort::inputs![self.tensors.input() => tensor]).map_err(failed)
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
        let input = Vec::with_capacity(max_batch * session.schemes.input.size());
        OnnxEvaluator { session, max_batch, input }
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
        let Schemes { input: scheme, policy, .. } = self.session.schemes;
        self.input.resize(batch.len() * scheme.size(), 0.0);
        for (request, input) in batch.iter().zip(self.input.chunks_exact_mut(scheme.size())) {
            // All legal moves shape the input, also where only some of them are asked about.
            scheme.write(request.game, input);
        }
        let answers = self.session.run(&self.input, |logits| read_answers(batch, policy, logits))?;
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

fn read_answers(batch: &[Request<'_>], scheme: Policy, logits: Logits<'_>) -> Vec<Answer> {
    let policies = logits.policy.chunks_exact(scheme.size());
    let values = logits.wdl.as_chunks::<3>().0;
    let answer = |(index, (request, policy)): (usize, (&Request<'_>, &[f32]))| {
        let turn = request.game.turn();
        let mut priors: Vec<f32> =
            request.moves.iter().map(|m| policy[scheme.index(turn, *m).offset()]).collect();
        softmax(&mut priors);
        let valued = values.get(index).map(|wdl| Wdl::from_logits(*wdl));
        Answer { wdl: valued.unwrap_or_else(|| lesson::wdl(request.game.position())), priors }
    };
    batch.iter().zip(policies).enumerate().map(answer).collect()
}
