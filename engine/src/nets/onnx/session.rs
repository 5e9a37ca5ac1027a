use std::borrow::Cow;

use ort::session::builder::GraphOptimizationLevel;
use ort::session::{Session, SessionInputValue, SessionOutputs};
use ort::value::TensorRef;

use super::calls;
use super::error::NetError;
use super::recurrence::{RecurrentState, StepCard, TOKENS};
use super::runtime::{environment, library, one_line};
use super::tensors::TensorNames;
use crate::nets::eval::{EvalError, Schemes};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// One thread per session.
    #[default]
    Cpu,
    /// The first NVIDIA GPU.
    Cuda,
}

/// Single-threaded, without spinning while idle.
pub struct OnnxSession {
    inner: Session,
    tensors: TensorNames,
    schemes: Schemes,
    step_card: Option<StepCard>,
}

/// Of a batch of `n`.
#[derive(Clone, Copy, Debug)]
pub struct Logits<'a> {
    /// `[n, size]`, by the policy scheme's indices.
    pub policy: &'a [f32],
    /// `[n, 3]`: win, draw, loss for the mover; empty if the network has no value.
    pub wdl: &'a [f32],
}

impl OnnxSession {
    /// Opens a session on the CPU without the checks of [`super::Network`]. A card or the tensors' names must tell the
    /// schemes.
    pub fn open(bytes: &[u8]) -> Result<OnnxSession, NetError> {
        OnnxSession::open_on(Device::Cpu, bytes)
    }

    pub fn open_on(device: Device, bytes: &[u8]) -> Result<OnnxSession, NetError> {
        let failed = |error: &dyn std::fmt::Display| NetError::NotOnnx(one_line(&error.to_string()));
        let inner = open_session(device, bytes)?;
        let tensors = TensorNames::of(&inner);
        let (schemes, step_card) = match tensors {
            TensorNames::Ours => {
                let metadata = inner.metadata().map_err(|error| failed(&error))?;
                let property = |name: &str| metadata.custom(name);
                let is_recurrent = inner.inputs().iter().any(|input| input.name() == ANSWER.0);
                let step_card = is_recurrent.then(|| StepCard::read(property)).transpose()?;
                (Schemes::read(property)?, step_card)
            }
            TensorNames::Lc0(_) => (Schemes::LC0, None),
        };
        Ok(OnnxSession { inner, tensors, schemes, step_card })
    }

    pub(super) fn inner(&self) -> &Session {
        &self.inner
    }

    pub fn schemes(&self) -> Schemes {
        self.schemes
    }

    pub(super) fn tensors(&self) -> TensorNames {
        self.tensors
    }

    pub(super) fn step_card(&self) -> Option<&StepCard> {
        self.step_card.as_ref()
    }

    /// Steps in training; 1 unless recurrent.
    pub fn steps(&self) -> usize {
        self.step_card.as_ref().map_or(1, |card| card.steps)
    }

    pub(super) fn initial_state(&self, input: &[f32]) -> Option<RecurrentState> {
        let positions = input.len() / self.schemes.input.size();
        self.step_card.as_ref().map(|card| card.initial_state(positions))
    }

    /// Passes every float output, row-major, to `read`, for a recurrent network at each step. `input` is `[n] + shape`.
    pub fn run_all(&mut self, input: &[f32], mut read: impl FnMut(&str, &[f32])) -> Result<(), EvalError> {
        let mut state = self.initial_state(input);
        for _ in 0..self.steps() {
            let outputs = self.outputs(input, &state)?;
            for (name, value) in &outputs {
                if let Ok((_, data)) = value.try_extract_tensor::<f32>() {
                    read(name, data);
                }
            }
            update(&mut state, &outputs)?;
        }
        Ok(())
    }

    /// Passes the logits to `read`, for a recurrent network after as many steps as in training. `input` is `[n] +
    /// shape`.
    pub fn run<T>(&mut self, input: &[f32], read: impl FnOnce(Logits<'_>) -> T) -> Result<T, EvalError> {
        let mut state = self.initial_state(input);
        for _ in 1..self.steps() {
            self.step(input, &mut state, |_| ())?;
        }
        self.step(input, &mut state, read)
    }

    /// Also updates a recurrent network's `state`.
    pub(super) fn step<T>(
        &mut self,
        input: &[f32],
        state: &mut Option<RecurrentState>,
        read: impl FnOnce(Logits<'_>) -> T,
    ) -> Result<T, EvalError> {
        let (schemes, tensors) = (self.schemes, self.tensors);
        let batch = input.len() / schemes.input.size();
        let outputs = self.outputs(input, state)?;
        let extract = |name: &str, width: usize| extract(&outputs, name, batch, width);
        let policy = extract(tensors.policy(), schemes.policy.size())?;
        let value = tensors.value(schemes.value).map(|(value, width)| extract(value, width)).transpose()?;
        let wdl = match (value, tensors) {
            (None, _) => Cow::default(),
            (Some(value), TensorNames::Ours) => Cow::Borrowed(value),
            (Some(value), TensorNames::Lc0(kind)) => Cow::Owned(kind.logits(value)),
        };
        let result = read(Logits { policy, wdl: &wdl });
        update(state, &outputs)?;
        Ok(result)
    }

    fn outputs(
        &mut self,
        input: &[f32],
        state: &Option<RecurrentState>,
    ) -> Result<SessionOutputs<'_>, EvalError> {
        let tensor = |shape: Vec<usize>, data| {
            TensorRef::from_array_view((shape, data)).map(SessionInputValue::from).map_err(failed)
        };
        let batch = input.len() / self.schemes.input.size();
        let shape = [&[batch], self.schemes.input.shape()].concat();
        let mut inputs = vec![(self.tensors.input(), tensor(shape, input)?)];
        if let Some(state) = state {
            inputs.push((ANSWER.0, tensor(vec![batch, 1, state.width()], &state.answers)?));
            inputs.push((SCRATCHPAD.0, tensor(vec![batch, TOKENS, state.width()], &state.scratchpads)?));
        }
        calls::run(&mut self.inner, inputs).map_err(failed)
    }
}

pub(super) fn open_session(device: Device, bytes: &[u8]) -> Result<Session, NetError> {
    let environment = environment()?;
    let failed = |error: &dyn std::fmt::Display| NetError::NotOnnx(one_line(&error.to_string()));
    let mut builder = Session::builder(environment).map_err(|error| failed(&error))?;
    builder = builder.with_intra_threads(1).map_err(|error| failed(&error))?;
    builder = builder.with_intra_op_spinning(false).map_err(|error| failed(&error))?;
    builder = builder.with_inter_op_spinning(false).map_err(|error| failed(&error))?;
    builder = builder.with_parallel_execution(false).map_err(|error| failed(&error))?;
    builder = builder.with_optimization_level(GraphOptimizationLevel::All).map_err(|error| failed(&error))?;
    if !has_exact_int8_dot_product() {
        builder =
            builder.with_config_entry("session.x64quantprecision", "1").map_err(|error| failed(&error))?;
    }
    if device == Device::Cuda {
        builder = calls::on_cuda(builder, library().ok().as_deref()).map_err(|error| gpu_error(&error))?;
    }
    calls::commit(&mut builder, bytes).map_err(|error| {
        let text = error.to_string();
        // The GPU is first used here.
        let is_gpus =
            device == Device::Cuda && ["CUDA", "CUDNN", "CUBLAS"].iter().any(|at| text.contains(at));
        if is_gpus { gpu_error(&text) } else { failed(&error) }
    })
}

/// Strips the source location.
fn gpu_error(text: &str) -> NetError {
    let text = one_line(text);
    let why = text.rsplit_once("FAIL : ").map_or(text.as_str(), |(_, why)| why);
    NetError::Gpu(why.trim_end_matches('.').to_owned())
}

/// Input and output tensors of a recurrent network's answer and scratchpad.
pub(super) const ANSWER: (&str, &str) = ("y", "y_out");

pub(super) const SCRATCHPAD: (&str, &str) = ("z", "z_out");

pub(super) fn failed(error: ort::Error) -> EvalError {
    EvalError(one_line(&error.to_string()))
}

/// Returns the output `name`: `batch · width` numbers in any shape.
pub(super) fn extract<'a>(
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

fn update(state: &mut Option<RecurrentState>, outputs: &SessionOutputs<'_>) -> Result<(), EvalError> {
    let Some(state) = state else { return Ok(()) };
    let (batch, width) = (state.len(), state.width());
    state.answers.copy_from_slice(extract(outputs, ANSWER.1, batch, width)?);
    state.scratchpads.copy_from_slice(extract(outputs, SCRATCHPAD.1, batch, TOKENS * width)?);
    Ok(())
}

/// Whether the CPU accumulates int8 products in 32 bits. On x86 CPUs that do not, ONNX Runtime's u8 × s8 sums saturate
/// at 16 bits, unless a kernel is requested that takes three times as long.
fn has_exact_int8_dot_product() -> bool {
    #[cfg(target_arch = "x86_64")]
    let levels = [is_x86_feature_detected!("avx512vnni"), is_x86_feature_detected!("avxvnni")];
    #[cfg(not(target_arch = "x86_64"))]
    let levels = [true];
    levels.contains(&true)
}
