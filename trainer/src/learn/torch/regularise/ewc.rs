//! Elastic weight consolidation (Kirkpatrick et al. 2017): a quadratic penalty on the distance from an earlier task's
//! weights, weighted by their importance for that task.

use crate::config::TrainConfig;
use crate::data::loader::Batch;
use crate::learn::torch::families::{Expander, Net, Weights};
use crate::learn::torch::loss;
use tch::{Kind, Tensor};

pub struct ElasticPenalty {
    /// `[parameters]`: the weights after the earlier task.
    pub anchor: Tensor,
    /// `[parameters]`: the diagonal of the Fisher information, at least 0.
    pub importance: Tensor,
    weight: f64,
}

impl ElasticPenalty {
    pub fn new(anchor: Tensor, importance: Tensor, weight: f64) -> ElasticPenalty {
        ElasticPenalty { anchor, importance, weight }
    }

    /// The Fisher information, the mean square of single-sample gradients, is estimated from whole batches: the mean of
    /// n independent zero-mean gradients has 1/n of their mean square.
    pub fn measure(net: &Net, weights: &Weights, batches: &[Batch], config: &TrainConfig) -> ElasticPenalty {
        let device = weights.device();
        let expander = Expander::new(device, Kind::Float, net.schemes());
        let weights = weights.copy(device, Kind::Float);
        let mut importance = weights.flat.zeros_like();
        for batch in batches {
            let n = batch.size as f64;
            let batch = expander.upload(batch);
            let output = net.forward(&weights, &batch.input, false);
            let gradient = weights.gradient(&loss::losses(&output, &batch, config).total);
            _ = importance.g_add_(&(gradient.square() * (n / batches.len() as f64)));
        }
        ElasticPenalty::new(weights.flat.detach().copy(), importance, config.ewc.weight)
    }

    /// Gradient of `weight/2 · Σ importance · (θ − anchor)²` at θ = `flat`.
    pub fn gradient(&self, flat: &Tensor) -> Tensor {
        (flat - &self.anchor) * &self.importance * self.weight
    }
}
