//! Elastic weight consolidation (Kirkpatrick et al. 2017): weights that an earlier task needs are held near
//! where that task left them, the more firmly the more they matter to it.

use crate::config::TrainConfig;
use crate::loader::Batch;
use crate::model::{Expander, Net, Weights};
use crate::train::loss;
use tch::{Kind, Tensor};

/// Where the weights were and how much each matters.
pub struct ElasticPenalty {
    /// `[parameters]`: the weights to stay near to.
    pub anchor: Tensor,
    /// `[parameters]`: the diagonal of Fisher's information, at least 0.
    pub importance: Tensor,
    weight: f64,
}

impl ElasticPenalty {
    /// Holds `anchor` by `importance`, times `weight`.
    pub fn new(anchor: Tensor, importance: Tensor, weight: f64) -> ElasticPenalty {
        ElasticPenalty { anchor, importance, weight }
    }

    /// Holds `weights`, by how much the losses on `batches` depend on each of them.
    ///
    /// Fisher's information is the mean square of single samples' gradients. Here it is estimated from whole
    /// batches: the mean of n independent gradients around zero has an n-th of their mean square.
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

    /// The gradient of the penalty `weight/2 · Σ importance · (θ − anchor)²` at `flat`.
    pub fn gradient(&self, flat: &Tensor) -> Tensor {
        (flat - &self.anchor) * &self.importance * self.weight
    }
}
