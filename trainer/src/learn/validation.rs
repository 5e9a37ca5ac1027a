//! How a network does on held-out samples.

use super::config::TrainConfig;
use super::loss;
use crate::loader::Batch;
use crate::model::{Net, Output, Weights, input::DeviceBatch, input::Expander};
use serde::Serialize;
use tch::{Kind, Tensor};

/// Means over the samples of a report or validation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Measures {
    /// Cross-entropy of the policy (nat).
    pub policy_loss: f64,
    /// Cross-entropy of win, draw, loss (nat).
    pub wdl_loss: f64,
    /// Share of samples whose move is the first choice among legal moves.
    pub top1: f64,
    /// Share of samples whose move is among the first five choices among legal moves.
    pub top5: f64,
}

/// How a network does on held-out samples of one source, or of all.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Validation {
    /// Number of samples.
    pub samples: u64,
    /// Means over them.
    #[serde(flatten)]
    pub measures: Measures,
    /// Like `top1`, but among all 4672 indices.
    pub raw_top1: f64,
    /// Like `top5`, but among all 4672 indices.
    pub raw_top5: f64,
}

/// Measures fp32 `weights` on `batches`: for each of `sources` sources, then for all together.
pub fn validate(
    net: &Net,
    weights: &Weights,
    batches: &[Batch],
    sources: usize,
    config: &TrainConfig,
) -> Vec<Validation> {
    let _guard = tch::no_grad_guard();
    let device = weights.device();
    let expander = Expander::new(device, Kind::Float);
    let sums = Tensor::zeros([sources as i64, 7], (Kind::Float, device));
    let plain = TrainConfig { label_smoothing: 0.0, ..config.clone() };
    for batch in batches {
        let batch = expander.upload(batch);
        let output = net.forward(weights, &batch.planes, false);
        let per_sample = measures(&output, &batch, &plain);
        let owner = batch.source.one_hot(sources as i64).to_kind(Kind::Float);
        _ = sums.shallow_clone().g_add_(&owner.tr().matmul(&per_sample));
    }
    let all = sums.sum_dim_intlist([0i64].as_slice(), true, Kind::Float);
    let rows = Tensor::cat(&[sums, all], 0);
    (0..=sources as i64).map(|row| validation(&rows.get(row))).collect()
}

/// `[n, 7]`: one, the four measures, the two raw ones.
fn measures(output: &Output, batch: &DeviceBatch, config: &TrainConfig) -> Tensor {
    let losses = loss::losses(output, batch, config);
    let legal = loss::hits(&losses.legal_logits, &batch.policy);
    let raw = loss::hits(&output.policy, &batch.policy);
    let means = Tensor::stack(&[losses.policy.ones_like(), losses.policy, losses.wdl], 1);
    Tensor::cat(&[means, legal, raw], 1)
}

fn validation(sums: &Tensor) -> Validation {
    let sums = Vec::<f32>::try_from(sums).expect("seven numbers");
    let mean = |i: usize| f64::from(sums[i]) / f64::from(sums[0]).max(1.0);
    Validation {
        samples: sums[0] as u64,
        measures: Measures { policy_loss: mean(1), wdl_loss: mean(2), top1: mean(3), top5: mean(4) },
        raw_top1: mean(5),
        raw_top5: mean(6),
    }
}
