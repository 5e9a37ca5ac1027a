//! The network in training: weights, averages, optimiser, and what is measured.

use super::config::TrainConfig;
use super::loss::{self, Losses};
use super::optimiser::AdamW;
use super::validation::{self, HeldOut, Measures, Validations};
use crate::loader::Batch;
use crate::model::{Net, Weights, input::DeviceBatch, input::Expander};
use tch::{Device, Kind, Tensor};

/// What happened since the last report.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrainReport {
    /// Means over the batches.
    pub measures: Measures,
    /// Steps that were left out because loss or gradient weren't finite.
    pub skipped: u64,
}

/// A network in training.
pub struct Learner {
    /// The structure.
    pub net: Net,
    /// What is trained.
    pub weights: Weights,
    /// Running average of `weights`, computed with in fp32: what is validated and exported.
    pub averaged: Weights,
    /// The optimiser's moments.
    pub optimiser: AdamW,
    config: TrainConfig,
    expander: Expander,
    /// `[6]` on the device: sums over steps of the four measures, of steps done, of steps.
    totals: Tensor,
}

impl Learner {
    /// A fresh network on `device`.
    ///
    /// # Errors
    /// One line, if the configuration's numbers don't fit together.
    pub fn new(config: &TrainConfig, device: Device) -> Result<Learner, String> {
        let kind = config.precision.kind(device);
        let net = Net::new(&config.model)?;
        let weights = Weights::new(net.layout(), device, kind, config.seed.cast_signed());
        let averaged = weights.copy(device, Kind::Float);
        Ok(Learner {
            optimiser: AdamW::new(&weights),
            expander: Expander::new(device, kind),
            totals: Tensor::zeros([6], (Kind::Float, device)),
            config: config.clone(),
            net,
            weights,
            averaged,
        })
    }

    /// One step on `batch`. Doesn't wait for the device.
    pub fn step(&mut self, batch: &Batch, lr: f64) {
        let batch = self.expander.upload(batch);
        let stats = tch::no_grad(|| self.weights.stats.copy());
        if self.draws_random_numbers() {
            // Dropout of a step depends on the step alone, so that a resumed run is the same run.
            tch::manual_seed((self.config.seed ^ (self.optimiser.steps << 20)).cast_signed());
        }
        let output = self.net.forward(&self.weights, &batch.planes, true);
        let losses = loss::losses(&output, &batch, &self.config);
        let gradient = self.weights.gradient(&losses.total);
        let done = self.optimiser.step(&mut self.weights, &gradient, &losses.total, lr, &self.config);
        tch::no_grad(|| {
            // A forward pass that wasn't finite has spoilt BatchNorm's statistics already.
            let kept = self.weights.stats.where_self(&done.gt(0.5), &stats);
            self.weights.stats.copy_(&kept);
            self.average();
            self.count(&losses, &batch, &done);
        });
    }

    fn draws_random_numbers(&self) -> bool {
        self.config.model.policy_dropout > 0.0 || self.config.model.value_dropout > 0.0
    }

    fn average(&mut self) {
        // At first the average would be mostly the random start: then it follows faster.
        let steps = self.optimiser.steps as f64;
        let decay = self.config.ema.min((1.0 + steps) / (10.0 + steps));
        _ = self.averaged.flat.lerp_(&self.weights.flat, 1.0 - decay);
        _ = self.averaged.stats.lerp_(&self.weights.stats, 1.0 - decay);
    }

    fn count(&mut self, losses: &Losses, batch: &DeviceBatch, done: &Tensor) {
        let hits =
            loss::hits(&losses.legal_logits, &batch.policy).mean_dim([0i64].as_slice(), false, Kind::Float);
        let step = Tensor::stack(&[losses.policy.mean(Kind::Float), losses.wdl.mean(Kind::Float)], 0);
        let counts = Tensor::stack(&[done.shallow_clone(), done.ones_like()], 0);
        let step = Tensor::cat(&[step, hits], 0).nan_to_num(0.0, 0.0, 0.0) * done;
        _ = self.totals.g_add_(&Tensor::cat(&[step, counts], 0));
    }

    /// Means since the last call; waits for the device.
    pub fn report(&mut self) -> TrainReport {
        let sums = Vec::<f32>::try_from(&self.totals).expect("six numbers");
        _ = self.totals.zero_();
        let done = f64::from(sums[4]).max(1.0);
        let mean = |i: usize| f64::from(sums[i]) / done;
        TrainReport {
            measures: Measures { policy_loss: mean(0), wdl_loss: mean(1), top1: mean(2), top5: mean(3) },
            skipped: (sums[5] - sums[4]).round() as u64,
        }
    }

    /// Measures the averaged weights, in fp32.
    pub fn validate(&self, held_out: &HeldOut) -> Validations {
        validation::validate(&self.net, &self.averaged, held_out, &self.config)
    }
}
