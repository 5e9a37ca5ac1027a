//! Not going too far from a network that is known to be good: the divergence from its policy costs.

use crate::config::ReferenceConfig;
use crate::loader::Batch;
use crate::model::{DeviceBatch, Expander};
use crate::model::{Net, Weights};
use crate::train::loss::ILLEGAL;
use serde::{Deserialize, Serialize};
use tch::{Device, Kind, Tensor};

/// The network to stay near to.
pub struct Reference {
    weights: Weights,
    config: ReferenceConfig,
}

/// Means over batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PolicyDivergence {
    /// Divergence of the policy, nat.
    pub kl: f64,
    /// What a nat cost.
    pub weight: f64,
    /// Batches whose divergence wasn't finite, which the means leave out.
    #[serde(default)]
    pub lost: u64,
}

impl PolicyDivergence {
    /// Whether the policy is as far away as that, or nobody knows how far.
    pub fn reaches(&self, divergence: f64) -> bool {
        self.lost > 0 || self.kl >= divergence
    }
}

/// Sums of divergence and weight over batches where they are finite, the number of these, and that of the others.
pub struct PolicyDivergenceSums {
    /// `[4]` on the device.
    pub(crate) sums: Tensor,
}

impl PolicyDivergenceSums {
    /// Nothing yet.
    pub fn new(device: Device) -> PolicyDivergenceSums {
        PolicyDivergenceSums { sums: Tensor::zeros([4], (Kind::Float, device)) }
    }

    /// Counts a batch; doesn't wait for the device.
    fn add(&self, divergence: &Tensor, weight: &Tensor) {
        let finite = divergence.isfinite().to_kind(Kind::Float);
        let known = |number: &Tensor| number.nan_to_num(0.0, 0.0, 0.0) * &finite;
        let measured =
            Tensor::stack(&[known(divergence), known(weight), finite.shallow_clone(), 1.0 - &finite], 0);
        _ = self.sums.shallow_clone().g_add_(&measured);
    }

    /// Begins anew.
    pub fn clear(&self) {
        _ = self.sums.shallow_clone().zero_();
    }

    /// Means over the batches; waits for the device.
    pub fn drift(&self) -> PolicyDivergence {
        let sums = Vec::<f32>::try_from(&self.sums).expect("four numbers");
        let batches = f64::from(sums[2]).max(1.0);
        let mean = |index: usize| f64::from(sums[index]) / batches;
        PolicyDivergence { kl: mean(0), weight: mean(1), lost: sums[3] as u64 }
    }
}

impl Reference {
    /// Stays near `weights`, which are of the same structure as the learner's.
    pub fn new(weights: Weights, config: ReferenceConfig) -> Reference {
        Reference { weights, config }
    }

    /// How far the policy of `weights` (fp32) is from the reference's on these batches, both as they play: nat.
    ///
    /// [`Reference::cost`] sees the network as it learns, whose batch statistics are the batch's own.
    pub fn measure(&self, net: &Net, weights: &Weights, batches: &[Batch]) -> f64 {
        let _guard = tch::no_grad_guard();
        let device = weights.device();
        let expander = Expander::new(device, Kind::Float, net.schemes());
        let reference = self.weights.copy(device, Kind::Float);
        let mean = |batch: &Batch| {
            let batch = expander.upload(batch);
            divergence(&played(net, weights, &batch), &played(net, &reference, &batch))
                .mean(Kind::Float)
                .double_value(&[])
        };
        batches.iter().map(mean).sum::<f64>() / batches.len().max(1) as f64
    }

    /// What the batch's divergence costs, a scalar with its gradient, which `sums` takes note of; `legal_logits` are
    /// the learner's.
    pub fn cost(
        &self,
        net: &Net,
        batch: &DeviceBatch,
        legal_logits: &Tensor,
        sums: &PolicyDivergenceSums,
    ) -> Tensor {
        let reference = tch::no_grad(|| played(net, &self.weights, batch));
        let divergence = divergence(legal_logits, &reference).mean(Kind::Float);
        let _guard = tch::no_grad_guard();
        let weight = adapted(&divergence.detach(), &self.config);
        sums.add(&divergence.detach(), &weight);
        drop(_guard);
        divergence * weight
    }
}

/// `[n, size]`: the logits with which these weights play, illegal moves' set far below.
fn played(net: &Net, weights: &Weights, batch: &DeviceBatch) -> Tensor {
    let output = net.forward(weights, &batch.input, false);
    output.last_policy().to_kind(Kind::Float).masked_fill(&batch.illegal, ILLEGAL)
}

/// `[n]`: Kullback–Leibler divergence (nat) of the policy of `logits` from that of `reference`.
pub fn divergence(logits: &Tensor, reference: &Tensor) -> Tensor {
    let log = logits.log_softmax(-1, Kind::Float);
    let terms = log.exp() * (&log - reference.log_softmax(-1, Kind::Float));
    terms.sum_dim_intlist([-1i64].as_slice(), false, Kind::Float)
}

/// What a nat costs at this divergence, a scalar.
fn adapted(divergence: &Tensor, config: &ReferenceConfig) -> Tensor {
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
    fn what_is_not_finite_is_told_and_spoils_no_mean() {
        let sums = PolicyDivergenceSums::new(Device::Cpu);
        let add = |kl: f32, weight: f32| sums.add(&Tensor::from(kl), &Tensor::from(weight));
        add(0.1, 1.0);
        add(0.3, 2.0);
        let PolicyDivergence { kl, weight, lost } = sums.drift();
        assert!((kl - 0.2).abs() < 1e-6 && (weight - 1.5).abs() < 1e-6 && lost == 0);
        assert!(sums.drift().reaches(0.15) && !sums.drift().reaches(0.3));
        add(f32::NAN, f32::NAN);
        add(f32::INFINITY, 1.0);
        let drift = sums.drift();
        assert_eq!(drift, PolicyDivergence { kl, weight, lost: 2 });
        assert!(drift.reaches(1e9), "nobody knows how far it is");
        let text = serde_json::to_string(&drift).unwrap();
        assert_eq!(serde_json::from_str::<PolicyDivergence>(&text).unwrap(), drift);
        sums.clear();
        assert_eq!(sums.drift(), PolicyDivergence::default());
    }

    #[test]
    fn the_weight_grows_above_the_target_up_to_its_bound() {
        let config = ReferenceConfig { weight: 0.1, target: 0.1, factor: 2.0, most: 0.5 };
        let at = |kl: f64| adapted(&Tensor::from(kl as f32), &config).double_value(&[]);
        for (kl, weight) in [(0.0, 0.1), (0.1, 0.1), (0.15, 0.2), (0.2, 0.3), (0.3, 0.5), (5.0, 0.5)] {
            assert!((at(kl) - weight).abs() < 1e-6, "{kl}: {}", at(kl));
        }
    }
}
