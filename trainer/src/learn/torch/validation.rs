//! Validation: loss, accuracy and calibration on held-out samples, by source and by game phase.

use super::calibration::CalibrationCounts;
use super::loss;
use super::loss::StepLosses;
use crate::config::TrainConfig;
use crate::data::loader::Batch;
use crate::data::samples::Phase;
use crate::learn::run::metrics::{Measures, StepMeasures, Validation, Validations};
use crate::learn::torch::families::{DeviceBatch, Expander, Net, Output, Weights};
use engine::nets::eval::ValueScheme;
use tch::{Kind, Tensor};

#[derive(Default)]
pub struct HeldOut {
    pub batches: Vec<Batch>,
    /// In the order of [`Batch::source`].
    pub names: Vec<String>,
}

/// `weights` are fp32.
pub fn validate(net: &Net, weights: &Weights, held_out: &HeldOut, config: &TrainConfig) -> Validations {
    let _guard = tch::no_grad_guard();
    let device = weights.device();
    let expander = Expander::new(device, Kind::Float, net.schemes());
    let (sources, phases) = (held_out.names.len() as i64, Phase::ALL.len() as i64);
    let has_value = net.schemes().value == ValueScheme::Wdl;
    let steps = config.model.step_weights().len() as i64;
    let mut sums = Tensor::zeros([sources + phases, MEASURED + STEP * steps], (Kind::Float, device));
    let mut counts = CalibrationCounts::new(device);
    let plain = TrainConfig { label_smoothing: 0.0, ..config.clone() };
    for batch in &held_out.batches {
        let phase: Vec<i64> = batch.phase.iter().map(|&phase| i64::from(phase)).collect();
        let phase = Tensor::from_slice(&phase).to_device(device);
        let results = Tensor::from_slice(&batch.results).view([-1, 3]).to_device(device);
        let batch = expander.upload(batch);
        let output = net.forward(weights, &batch.input, false);
        let groups = Tensor::cat(&[batch.source.one_hot(sources), phase.one_hot(phases)], 1);
        let measured = measures(&output, &batch, &plain);
        _ = sums.g_add_(&groups.to_kind(Kind::Float).tr().matmul(&measured));
        if let Some(wdl) = output.last_wdl() {
            counts.add(&wdl.softmax(-1, Kind::Float), &results);
        }
    }
    let all = sums.narrow(0, 0, sources).sum_dim_intlist([0i64].as_slice(), false, Kind::Float);
    let rows = |first: i64, count: i64| {
        (first..first + count).map(|row| validation(&sums.get(row), has_value)).collect()
    };
    Validations {
        all: validation(&all, has_value),
        names: held_out.names.clone(),
        sources: rows(0, sources),
        phases: rows(sources, phases),
        calibration: has_value.then(|| counts.calibration()),
    }
}

/// Columns per sample.
const MEASURED: i64 = 8;
/// Further columns per step of a recursive model.
const STEP: i64 = 3;

/// Returns `[n, 8 + 3 · steps]`: 1, policy loss, WDL loss, top-1, top-5, raw top-1, raw top-5, 1 with a value target or
/// else 0; then policy loss, top-1 and top-5 of each step.
fn measures(output: &Output, batch: &DeviceBatch, config: &TrainConfig) -> Tensor {
    let losses = loss::losses(output, batch, config);
    let legal = |step: &StepLosses| loss::hits(&step.legal_logits, &batch.policy);
    let last = losses.last();
    let raw = loss::hits(output.last_policy(), &batch.policy);
    let means = Tensor::stack(&[&last.policy.ones_like(), &last.policy, &last.wdl], 1);
    let valued = batch.wdl.sum_dim_intlist([1i64].as_slice(), true, Kind::Float);
    let mut columns = vec![means, legal(last), raw, valued];
    for step in &losses.steps {
        columns.extend([step.policy.unsqueeze(1), legal(step)]);
    }
    Tensor::cat(&columns, 1)
}

fn validation(sums: &Tensor, has_value: bool) -> Validation {
    let sums = Vec::<f32>::try_from(sums).expect("fp32 numbers");
    // NaN without samples.
    let mean = |i: usize| f64::from(sums[i]) / f64::from(sums[0]);
    let wdl_loss = has_value.then(|| f64::from(sums[2]) / f64::from(sums[7]));
    let step = |i: usize| StepMeasures { policy_loss: mean(i), top1: mean(i + 1), top5: mean(i + 2) };
    let steps: Vec<StepMeasures> = (MEASURED as usize..sums.len()).step_by(STEP as usize).map(step).collect();
    Validation {
        samples: sums[0] as u64,
        measures: Measures { policy_loss: mean(1), wdl_loss, top1: mean(3), top5: mean(4) },
        raw_top1: Some(mean(5)),
        raw_top5: Some(mean(6)),
        // A single step would repeat the measures above.
        steps: if steps.len() > 1 { steps } else { Vec::new() },
    }
}
