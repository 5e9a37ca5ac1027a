//! A penalty on the KL divergence of the policy from that of a reference network.

use crate::config::ReferenceConfig;
use crate::data::loader::Batch;
use crate::learn::run::metrics::PolicyDivergence;
use crate::learn::torch::families::{DeviceBatch, Expander};
use crate::learn::torch::families::{Net, Weights};
use crate::learn::torch::loss::ILLEGAL;
use tch::{Device, Kind, Tensor};

pub struct Reference {
    weights: Weights,
    config: ReferenceConfig,
}

/// Sums over batches with a finite divergence (divergence, penalty weight, count), and the count of other batches.
pub struct PolicyDivergenceSums {
    /// `[4]` on the device.
    pub(crate) sums: Tensor,
}

impl PolicyDivergenceSums {
    pub fn new(device: Device) -> PolicyDivergenceSums {
        PolicyDivergenceSums { sums: Tensor::zeros([4], (Kind::Float, device)) }
    }

    /// Does not synchronise with the device.
    fn add(&self, divergence: &Tensor, weight: &Tensor) {
        let finite = divergence.isfinite().to_kind(Kind::Float);
        let known = |number: &Tensor| number.nan_to_num(0.0, 0.0, 0.0) * &finite;
        let measured =
            Tensor::stack(&[known(divergence), known(weight), finite.shallow_clone(), 1.0 - &finite], 0);
        _ = self.sums.shallow_clone().g_add_(&measured);
    }

    pub fn clear(&self) {
        _ = self.sums.shallow_clone().zero_();
    }

    /// Synchronises with the device.
    pub fn mean(&self) -> PolicyDivergence {
        let sums = Vec::<f32>::try_from(&self.sums).expect("four numbers");
        let batches = f64::from(sums[2]);
        let mean = |index: usize| (batches > 0.0).then(|| f64::from(sums[index]) / batches);
        PolicyDivergence { kl: mean(0), weight: mean(1), lost: sums[3] as u64 }
    }
}

impl Reference {
    /// `weights` must have the learner's architecture.
    pub fn new(weights: Weights, config: ReferenceConfig) -> Reference {
        Reference { weights, config }
    }

    /// Mean divergence in nats, both networks in inference mode and fp32. [`Reference::penalty`] runs the learner in
    /// training mode, with the batch's own BatchNorm statistics.
    pub fn measure(&self, net: &Net, weights: &Weights, batches: &[Batch]) -> f64 {
        let _guard = tch::no_grad_guard();
        let device = weights.device();
        let expander = Expander::new(device, Kind::Float, net.schemes());
        let reference = self.weights.copy(device, Kind::Float);
        let mean = |batch: &Batch| {
            let batch = expander.upload(batch);
            divergence(&masked_logits(net, weights, &batch), &masked_logits(net, &reference, &batch))
                .mean(Kind::Float)
                .double_value(&[])
        };
        batches.iter().map(mean).sum::<f64>() / batches.len().max(1) as f64
    }

    /// A scalar with a gradient. Also adds it to `sums`.
    pub fn penalty(
        &self,
        net: &Net,
        batch: &DeviceBatch,
        legal_logits: &Tensor,
        sums: &PolicyDivergenceSums,
    ) -> Tensor {
        let reference = tch::no_grad(|| masked_logits(net, &self.weights, batch));
        let divergence = divergence(legal_logits, &reference).mean(Kind::Float);
        let _guard = tch::no_grad_guard();
        let weight = adapted_weight(&divergence.detach(), &self.config);
        sums.add(&divergence.detach(), &weight);
        drop(_guard);
        divergence * weight
    }
}

/// Policy logits `[n, size]` in inference mode, masked for illegal moves.
fn masked_logits(net: &Net, weights: &Weights, batch: &DeviceBatch) -> Tensor {
    let output = net.forward(weights, &batch.input, false);
    output.last_policy().to_kind(Kind::Float).masked_fill(&batch.illegal, ILLEGAL)
}

/// KL divergence in nats `[n]` of `logits` from `reference`.
pub fn divergence(logits: &Tensor, reference: &Tensor) -> Tensor {
    let log = logits.log_softmax(-1, Kind::Float);
    let terms = log.exp() * (&log - reference.log_softmax(-1, Kind::Float));
    terms.sum_dim_intlist([-1i64].as_slice(), false, Kind::Float)
}

fn adapted_weight(divergence: &Tensor, config: &ReferenceConfig) -> Tensor {
    let excess = (divergence / config.target.max(1e-9) - 1.0).clamp_min(0.0);
    ((excess * config.factor + 1.0) * config.weight).clamp_max(config.most.max(config.weight))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(numbers: &[f32]) -> Tensor {
        Tensor::from_slice(numbers).view([1, -1])
    }

    #[test]
    fn the_divergence_is_the_current_networks_from_the_reference() {
        let logits = |p: &[f32]| row(&p.iter().map(|p| p.ln()).collect::<Vec<_>>());
        let got = divergence(&logits(&[0.5, 0.5]), &logits(&[0.25, 0.75])).double_value(&[0]);
        let expected = 0.5 * (0.5f64 / 0.25).ln() + 0.5 * (0.5f64 / 0.75).ln();
        assert!((got - expected).abs() < 1e-6, "{got} {expected}");
        let masked = row(&[1.0, -1e9, 2.0]);
        assert!(divergence(&masked, &masked).double_value(&[0]).abs() < 1e-6);
    }

    #[test]
    fn its_gradient_pulls_towards_the_reference() {
        let logits = row(&[1.0, 0.0, 0.0]).set_requires_grad(true);
        divergence(&logits, &row(&[0.0, 0.0, 0.0])).sum(Kind::Float).backward();
        let pull = Vec::<f32>::try_from(logits.grad().view([3])).unwrap();
        assert!(pull[0] > 0.0 && pull[1] < 0.0 && pull[2] < 0.0, "{pull:?}");
    }

    #[test]
    fn batches_that_are_not_finite_are_counted_and_excluded_from_the_means() {
        let sums = PolicyDivergenceSums::new(Device::Cpu);
        let add = |kl: f32, weight: f32| sums.add(&Tensor::from(kl), &Tensor::from(weight));
        add(0.1, 1.0);
        add(0.3, 2.0);
        let PolicyDivergence { kl: Some(kl), weight: Some(weight), lost } = sums.mean() else {
            panic!("it was measured")
        };
        assert!((kl - 0.2).abs() < 1e-6 && (weight - 1.5).abs() < 1e-6 && lost == 0);
        assert!(sums.mean().reaches(0.15) && !sums.mean().reaches(0.3));
        add(f32::NAN, f32::NAN);
        add(f32::INFINITY, 1.0);
        let drift = sums.mean();
        assert_eq!(drift, PolicyDivergence { kl: Some(kl), weight: Some(weight), lost: 2 });
        assert!(drift.reaches(1e9), "the divergence is unknown");
        let text = serde_json::to_string(&drift).unwrap();
        assert_eq!(serde_json::from_str::<PolicyDivergence>(&text).unwrap(), drift);
        sums.clear();
        assert_eq!(sums.mean(), PolicyDivergence::default());
    }

    #[test]
    fn the_weight_grows_above_the_target_up_to_its_bound() {
        let config = ReferenceConfig { weight: 0.1, target: 0.1, factor: 2.0, most: 0.5 };
        let at = |kl: f64| adapted_weight(&Tensor::from(kl as f32), &config).double_value(&[]);
        for (kl, weight) in [(0.0, 0.1), (0.1, 0.1), (0.15, 0.2), (0.2, 0.3), (0.3, 0.5), (5.0, 0.5)] {
            assert!((at(kl) - weight).abs() < 1e-6, "{kl}: {}", at(kl));
        }
    }
}
