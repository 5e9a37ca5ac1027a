use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ort::value::{Outlet, TensorElementType, ValueType};

use super::error::NetError;
use super::evaluator::OnnxEvaluator;
use super::recurrence::{StepLimits, TOKENS};
use super::session::{ANSWER, Device, OnnxSession, SCRATCHPAD};
use super::tensors::TensorNames;
use super::timing::PrecisionTiming;
use crate::base::words::counted;
use crate::nets::eval::{Card, Evaluator, Schemes, ValueScheme, golden};

/// A network whose tensors fit its card and whose golden answers were reproduced on this machine.
#[derive(Clone)]
pub struct Network {
    bytes: Arc<[u8]>,
    card: Card,
    source: Option<PathBuf>,
    device: Device,
    /// Steps in training, if recurrent.
    steps: Option<usize>,
    /// The session of the check, for the first caller that needs one.
    checked: Arc<Mutex<Option<OnnxSession>>>,
}

impl Network {
    pub fn load(path: &Path) -> Result<Network, NetError> {
        let bytes = std::fs::read(path).map_err(|error| NetError::Unreadable(error).in_file(path))?;
        Network::read(bytes, path)
    }

    /// As [`load`](Network::load), from the contents of a file that need not be there yet.
    pub fn read(bytes: impl Into<Arc<[u8]>>, path: &Path) -> Result<Network, NetError> {
        Network::from_file(bytes.into(), Some(path.to_owned()), Device::Cpu)
    }

    /// `source` is `None` for embedded bytes.
    pub(super) fn from_file(
        bytes: Arc<[u8]>,
        source: Option<PathBuf>,
        device: Device,
    ) -> Result<Network, NetError> {
        let name = source.clone().unwrap_or_else(|| "<embedded>".into());
        Network::from_bytes(bytes, source, device).map_err(|error| error.in_file(&name))
    }

    fn from_bytes(bytes: Arc<[u8]>, source: Option<PathBuf>, device: Device) -> Result<Network, NetError> {
        if LEELA.iter().any(|beginning| bytes.starts_with(beginning)) {
            return Err(NetError::Leela);
        }
        if is_safetensors(&bytes) {
            return Err(NetError::Checkpoint);
        }
        let session = OnnxSession::open_on(device, &bytes)?;
        let card = match session.tensors() {
            TensorNames::Ours => {
                let metadata =
                    session.inner().metadata().map_err(|error| NetError::NotOnnx(error.to_string()))?;
                Card::read(|name| metadata.custom(name))?
            }
            TensorNames::Lc0(_) => {
                let stem = source.as_deref().and_then(Path::file_stem);
                Card::of_lc0(stem.map_or("lc0".into(), |stem| stem.to_string_lossy().into_owned()))
            }
        };
        check_tensors(&session, card.schemes)?;
        let steps = session.step_card().map(|card| card.steps);
        let mut evaluator = OnnxEvaluator::new(session, card.golden.len().max(1), StepLimits::default());
        golden::check(&mut evaluator, &card)?;
        let checked = Arc::new(Mutex::new(Some(evaluator.into_session())));
        Ok(Network { bytes, card, source, device, steps, checked })
    }

    pub fn card(&self) -> &Card {
        &self.card
    }

    pub fn name(&self) -> &str {
        &self.card.name
    }

    /// One line for users: name, precision, family, schemes, size, source.
    pub fn describe(&self) -> String {
        let Card { name, family, schemes, precision, .. } = &self.card;
        let (input, policy) = (schemes.input.name(), schemes.policy.name());
        let value = if schemes.value == ValueScheme::None { ", without a value" } else { "" };
        let steps = self.steps.map_or(String::new(), |steps| format!(", {}", counted(steps, "step")));
        let size = self.bytes.len() as f64 / 1e6;
        let source = self.source.as_ref().map_or("embedded".to_owned(), |path| path.display().to_string());
        format!("{name} ({precision} {family}, {input} -> {policy}{value}{steps}, {size:.1} MB, {source})")
    }

    pub fn is_recurrent(&self) -> bool {
        self.steps.is_some()
    }

    pub fn device(&self) -> Device {
        self.device
    }

    pub fn schemes(&self) -> Schemes {
        self.card.schemes
    }

    /// Opens a session for batches of up to `max_batch`. A recurrent network runs as many steps as in training.
    pub fn evaluator(&self, max_batch: usize) -> Result<Box<dyn Evaluator>, NetError> {
        self.evaluator_with(max_batch, StepLimits::default())
    }

    pub fn evaluator_with(
        &self,
        max_batch: usize,
        limits: StepLimits,
    ) -> Result<Box<dyn Evaluator>, NetError> {
        Ok(Box::new(OnnxEvaluator::new(self.session()?, max_batch, limits)))
    }

    pub fn session(&self) -> Result<OnnxSession, NetError> {
        let checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner).take();
        checked.map_or_else(|| OnnxSession::open_on(self.device, &self.bytes), Ok)
    }

    /// Measures both precisions, reusing the checks' sessions.
    pub(super) fn time(fp32: &Network, int8: &Network, batch: usize) -> Result<PrecisionTiming, NetError> {
        let mut sessions = [fp32.session()?, int8.session()?];
        let [slow, fast] = &mut sessions;
        let timing = PrecisionTiming::measure(slow, fast, batch)?;
        for (network, session) in [fp32, int8].into_iter().zip(sessions) {
            *network.checked.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
        }
        Ok(timing)
    }
}

/// Such a file begins with the length of a JSON object in eight bytes, low byte first, and the object.
fn is_safetensors(bytes: &[u8]) -> bool {
    bytes.split_first_chunk().is_some_and(|(length, rest)| {
        u64::from_le_bytes(*length) <= rest.len() as u64 && rest.starts_with(b"{\"")
    })
}

/// First bytes of lc0 weights: gzip, or the magic number of unpacked weights.
const LEELA: [&[u8]; 2] = [&[0x1f, 0x8b], &[0x0d, 0xc0, 0x01, 0x00, 0x00]];

fn check_tensors(session: &OnnxSession, schemes: Schemes) -> Result<(), NetError> {
    let tensors = session.tensors();
    let (inputs, outputs) = (session.inner().inputs(), session.inner().outputs());
    check_tensor(tensors.input(), inputs, schemes.input.shape())?;
    check_tensor(tensors.policy(), outputs, &[schemes.policy.size()])?;
    if let Some((value, width)) = tensors.value(schemes.value) {
        check_tensor(value, outputs, &[width])?;
    }
    if let Some(card) = session.step_card() {
        let width = card.width();
        for ((input, output), tokens) in [(ANSWER, 1), (SCRATCHPAD, TOKENS)] {
            check_tensor(input, inputs, &[tokens, width])?;
            check_tensor(output, outputs, &[tokens, width])?;
        }
    }
    Ok(())
}

/// Requires a tensor `[batch] + dimensions` of floats.
fn check_tensor(name: &'static str, outlets: &[Outlet], dimensions: &[usize]) -> Result<(), NetError> {
    let dimensions: Vec<i64> = dimensions.iter().map(|dimension| *dimension as i64).collect();
    let wrong = |found: String| {
        let expected = format!("f32 [batch, {}]", join(&dimensions));
        Err(NetError::Shape { name, found, expected })
    };
    let Some(outlet) = outlets.iter().find(|outlet| outlet.name() == name) else {
        let names: Vec<_> = outlets.iter().map(Outlet::name).collect();
        return wrong(format!("missing among {}", names.join(", ")));
    };
    match outlet.dtype() {
        ValueType::Tensor { ty: TensorElementType::Float32, shape, .. }
            if shape.len() == dimensions.len() + 1 && shape[0] == -1 && shape[1..] == dimensions =>
        {
            Ok(())
        }
        ValueType::Tensor { ty, shape, .. } => wrong(format!("{ty} [{}]", join(shape))),
        other => wrong(format!("{other:?}")),
    }
}

fn join(dimensions: &[i64]) -> String {
    dimensions.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}
