//! A network running in ONNX Runtime on one CPU thread.

use std::borrow::Cow;

use ort::session::builder::GraphOptimizationLevel;
use ort::session::{Session as OrtSession, SessionInputValue, SessionOutputs};
use ort::value::TensorRef;
use shakmaty::{Move, MoveList};

use super::card::Schemes;
use super::network::NetError;
use super::runtime::{environment, one_line};
use super::tensors::Tensors;
use super::thinking::{Core, Opinion, TOKENS, Thinking, Thoughts, retain_rows};
use super::{Answer, EvalError, Evaluator, Request, Wdl, lesson, softmax};
use crate::encoding::Policy;
use crate::position::Game;

/// One ONNX Runtime session: one thread, sequential, not spinning while idle.
pub struct Session {
    inner: OrtSession,
    tensors: Tensors,
    schemes: Schemes,
    /// What the card says if the file holds a single step.
    core: Option<Core>,
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
        let (schemes, core) = match tensors {
            Tensors::Ours => {
                let metadata = inner.metadata().map_err(|error| failed(&error))?;
                let property = |name: &str| metadata.custom(name);
                let in_steps = inner.inputs().iter().any(|input| input.name() == ANSWER.0);
                let core = in_steps.then(|| Core::read(property)).transpose().map_err(NetError::Card)?;
                (Schemes::read(property).map_err(NetError::Card)?, core)
            }
            Tensors::Lc0(_) => (Schemes::LC0, None),
        };
        Ok(Session { inner, tensors, schemes, core })
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

    /// What the file's single step is, if it holds no more than one.
    pub(super) fn core(&self) -> Option<&Core> {
        self.core.as_ref()
    }

    /// The steps that the network was trained with: 1, unless it thinks in steps.
    pub fn steps(&self) -> usize {
        self.core.as_ref().map_or(1, |core| core.steps)
    }

    /// What the first step takes for the positions of `input`.
    fn begin(&self, input: &[f32]) -> Option<Thoughts> {
        self.core.as_ref().map(|core| core.begin(input.len() / self.schemes.input.size()))
    }

    /// Runs the network on `input`, `[n] + shape`, and hands every output that holds floats to `read`,
    /// by name, row-major; a network that thinks in steps hands out those of every step.
    ///
    /// # Errors
    ///
    /// If ONNX Runtime fails, or `input` does not hold whole positions.
    pub fn run_all(&mut self, input: &[f32], mut read: impl FnMut(&str, &[f32])) -> Result<(), EvalError> {
        let mut thoughts = self.begin(input);
        for _ in 0..self.steps() {
            let outputs = self.outputs(input, &thoughts)?;
            for (name, value) in &outputs {
                if let Ok((_, data)) = value.try_extract_tensor::<f32>() {
                    read(name, data);
                }
            }
            keep(&outputs, &mut thoughts)?;
        }
        Ok(())
    }

    /// Runs the network on `input`, `[n] + shape`, and hands its outputs to `read`; a network that thinks in steps
    /// those of the last one that it was trained with.
    ///
    /// # Errors
    ///
    /// If ONNX Runtime fails, or `input` does not hold whole positions.
    pub fn run<T>(&mut self, input: &[f32], read: impl FnOnce(Logits<'_>) -> T) -> Result<T, EvalError> {
        let mut thoughts = self.begin(input);
        for _ in 1..self.steps() {
            self.step(input, &mut thoughts, |_| ())?;
        }
        self.step(input, &mut thoughts, read)
    }

    /// Runs the graph once on `input`, and on the thoughts of these positions if the network thinks in steps; they
    /// are replaced by what it thinks then. What it says meanwhile goes to `read`.
    fn step<T>(
        &mut self,
        input: &[f32],
        thoughts: &mut Option<Thoughts>,
        read: impl FnOnce(Logits<'_>) -> T,
    ) -> Result<T, EvalError> {
        let (schemes, tensors) = (self.schemes, self.tensors);
        let batch = input.len() / schemes.input.size();
        let outputs = self.outputs(input, thoughts)?;
        let extract = |name: &str, width: usize| extract(&outputs, name, batch, width);
        let policy = extract(tensors.policy(), schemes.policy.size())?;
        let value = tensors.value(schemes.value).map(|(value, width)| extract(value, width)).transpose()?;
        let wdl = match (value, tensors) {
            (None, _) => Cow::default(),
            (Some(value), Tensors::Ours) => Cow::Borrowed(value),
            (Some(value), Tensors::Lc0(kind)) => Cow::Owned(kind.logits(value)),
        };
        let said = read(Logits { policy, wdl: &wdl });
        keep(&outputs, thoughts)?;
        Ok(said)
    }

    fn outputs(
        &mut self,
        input: &[f32],
        thoughts: &Option<Thoughts>,
    ) -> Result<SessionOutputs<'_>, EvalError> {
        let tensor = |shape: Vec<usize>, data| {
            TensorRef::from_array_view((shape, data)).map(SessionInputValue::from).map_err(failed)
        };
        let batch = input.len() / self.schemes.input.size();
        let shape = [&[batch], self.schemes.input.shape()].concat();
        let mut inputs = vec![(self.tensors.input(), tensor(shape, input)?)];
        if let Some(thoughts) = thoughts {
            inputs.push((ANSWER.0, tensor(vec![batch, 1, thoughts.width()], &thoughts.answers)?));
            inputs
                .push((SCRATCHPAD.0, tensor(vec![batch, TOKENS, thoughts.width()], &thoughts.scratchpads)?));
        }
        self.inner.run(inputs).map_err(failed)
    }
}

/// The answer so far of a network that thinks in steps: what a step takes, and what it gives.
pub(super) const ANSWER: (&str, &str) = ("y", "y_out");

/// Its scratchpad.
pub(super) const SCRATCHPAD: (&str, &str) = ("z", "z_out");

fn failed(error: ort::Error) -> EvalError {
    EvalError(one_line(&error.to_string()))
}

/// The output `name`, `[batch, width]` or as many numbers in another shape.
fn extract<'a>(
    outputs: &'a SessionOutputs<'_>,
    name: &str,
    batch: usize,
    width: usize,
) -> Result<&'a [f32], EvalError> {
    let value = outputs.get(name).ok_or_else(|| EvalError(format!("no output \"{name}\"")))?;
    let (shape, data) = value.try_extract_tensor::<f32>().map_err(failed)?;
    if data.len() == batch * width {
        Ok(data)
    } else {
        Err(EvalError(format!("output \"{name}\" has shape {shape}, expected [{batch}, {width}]")))
    }
}

/// Takes over what a step thinks.
fn keep(outputs: &SessionOutputs<'_>, thoughts: &mut Option<Thoughts>) -> Result<(), EvalError> {
    let Some(thoughts) = thoughts else { return Ok(()) };
    let (batch, width) = (thoughts.len(), thoughts.width());
    thoughts.answers.copy_from_slice(extract(outputs, ANSWER.1, batch, width)?);
    thoughts.scratchpads.copy_from_slice(extract(outputs, SCRATCHPAD.1, batch, TOKENS * width)?);
    Ok(())
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
    thinking: Thinking,
    input: Vec<f32>,
}

impl OnnxEvaluator {
    /// Wraps a session; batches of up to `max_batch` positions, each thought about as long as `thinking` says.
    pub(super) fn new(session: Session, max_batch: usize, thinking: Thinking) -> OnnxEvaluator {
        let input = Vec::with_capacity(max_batch * session.schemes.input.size());
        OnnxEvaluator { session, max_batch, thinking, input }
    }

    /// The session, for other uses.
    pub(super) fn into_session(self) -> Session {
        self.session
    }

    /// The most steps for a position.
    fn steps(&self) -> usize {
        match (&self.session.core, self.thinking.steps) {
            (None, _) => 1,
            (Some(core), 0) => core.steps,
            (Some(_), steps) => steps,
        }
    }

    /// Thinks about the positions of `batch`, whose tensors lie in `self.input`. Those whose answer has settled leave
    /// the batch, so that the others are thought about faster; none knows of another.
    fn think(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        let schemes = self.session.schemes;
        let (steps, epsilon) = (self.steps(), self.thinking.epsilon);
        let may_settle = epsilon > 0.0 && steps > 1;
        // All legal moves tell whether a position has settled, also where only some of them are asked about.
        let legal: Vec<MoveList> =
            batch.iter().filter(|_| may_settle).map(|request| request.game.legal_moves()).collect();
        let mut opinions: Vec<Option<Opinion>> = vec![None; batch.len()];
        let mut answers: Vec<Option<Answer>> = vec![None; batch.len()];
        let mut open: Vec<usize> = (0..batch.len()).collect();
        let mut thoughts = self.session.begin(&self.input);
        for step in 1..=steps {
            let read = |logits: Logits<'_>| {
                for (row, &place) in open.iter().enumerate() {
                    let row = logits.row(row, schemes);
                    let settled = may_settle && {
                        let now = row.opinion(&batch[place], &legal[place]);
                        let before = opinions[place].replace(now);
                        before
                            .zip(opinions[place].as_ref())
                            .is_some_and(|(before, now)| now.settled(&before, epsilon))
                    };
                    if settled || step == steps {
                        answers[place] = Some(row.answer(&batch[place]));
                    }
                }
            };
            self.session.step(&self.input, &mut thoughts, read)?;
            let keep: Vec<bool> = open.iter().map(|place| answers[*place].is_none()).collect();
            if keep.contains(&false) {
                open.retain(|place| answers[*place].is_none());
                retain_rows(&mut self.input, schemes.input.size(), &keep);
                thoughts.iter_mut().for_each(|thoughts| thoughts.retain(&keep));
            }
            if open.is_empty() {
                break;
            }
        }
        Ok(answers.into_iter().flatten().collect())
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
        let scheme = self.session.schemes.input;
        self.input.resize(batch.len() * scheme.size(), 0.0);
        for (request, input) in batch.iter().zip(self.input.chunks_exact_mut(scheme.size())) {
            // All legal moves shape the input, also where only some of them are asked about.
            scheme.write(request.game, input);
        }
        let answers = self.think(batch)?;
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

impl<'a> Logits<'a> {
    /// Those of one position.
    fn row(&self, row: usize, schemes: Schemes) -> Row<'a> {
        let size = schemes.policy.size();
        let wdl = self.wdl.as_chunks::<3>().0.get(row).map(|wdl| Wdl::from_logits(*wdl));
        Row { scheme: schemes.policy, policy: &self.policy[row * size..(row + 1) * size], wdl }
    }
}

/// What a network says of one position.
struct Row<'a> {
    scheme: Policy,
    /// Logits.
    policy: &'a [f32],
    wdl: Option<Wdl>,
}

impl Row<'_> {
    fn logits(&self, game: &Game, moves: &[Move]) -> Vec<f32> {
        moves.iter().map(|m| self.policy[self.scheme.index(game.turn(), *m).offset()]).collect()
    }

    fn opinion(&self, request: &Request<'_>, legal: &[Move]) -> Opinion {
        Opinion::of(self.logits(request.game, legal), self.wdl)
    }

    fn answer(&self, request: &Request<'_>) -> Answer {
        let mut priors = self.logits(request.game, request.moves);
        softmax(&mut priors);
        Answer { wdl: self.wdl.unwrap_or_else(|| lesson::wdl(request.game.position())), priors }
    }
}
