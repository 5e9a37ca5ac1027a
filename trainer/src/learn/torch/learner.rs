//! A network in training, with its average, optimiser and metrics.

use anyhow::Result;
use engine::nets::eval::ValueScheme;
use tch::{Device, Kind, Tensor};

use super::loss;
use super::loss::{Losses, StepLosses};
use super::loss_scale::LossScale;
use super::optimiser::Optimiser;
use super::validation;
use super::validation::HeldOut;
use crate::config::TrainConfig;
use crate::data::loader::Batch;
use crate::learn::run::AverageUpdate;
use crate::learn::run::metrics::{Measures, TrainReport, Validations};
use crate::learn::torch::families::{DeviceBatch, Expander, Net, Weights, seed_generator};
use crate::learn::torch::regularise::HardPositions;
use crate::learn::torch::regularise::ewc::ElasticPenalty;
use crate::learn::torch::regularise::reference::{PolicyDivergenceSums, Reference};

pub struct Learner {
    pub net: Net,
    pub weights: Weights,
    /// Running average of `weights` in fp32, which is validated and exported. While nothing is averaged it shares the
    /// tensors of `weights`.
    pub averaged: Weights,
    pub optimiser: Optimiser,
    /// Whether `averaged` has tensors of its own.
    averages: bool,
    config: TrainConfig,
    expander: Expander,
    /// EWC penalty.
    pub elastic: Option<ElasticPenalty>,
    /// Reference network of the KL penalty.
    pub reference: Option<Reference>,
    /// Policy divergence from the reference since the last report.
    pub drift: PolicyDivergenceSums,
    /// The feed's position at the checkpoint that was resumed.
    pub position: serde_json::Value,
    /// Buffer of tactical replay.
    pub hard: HardPositions,
    /// Fingerprint of the training games that `hard` refers to.
    pub sources: Option<u64>,
    /// Factor on the loss in fp16.
    pub(super) loss_scale: LossScale,
    /// `[6]` on the device: sums over steps of the four measures, number of finite steps, number of steps.
    pub(super) totals: Tensor,
}

impl Learner {
    pub fn new(config: &TrainConfig, device: Device) -> Result<Learner> {
        let kind = config.precision.kind(device);
        let net = Net::new(&config.model)?;
        let weights = Weights::new(net.layout(), device, kind, config.seed.cast_signed());
        let averages = config.run().averages();
        let averaged = if averages { weights.copy(device, Kind::Float) } else { weights.shared() };
        Ok(Learner {
            averages,
            optimiser: Optimiser::new(&weights),
            expander: Expander::new(device, kind, net.schemes()),
            elastic: None,
            reference: None,
            drift: PolicyDivergenceSums::new(device),
            position: serde_json::Value::Null,
            hard: HardPositions::default(),
            sources: None,
            loss_scale: LossScale::new(kind, device),
            totals: Tensor::zeros([6], (Kind::Float, device)),
            config: config.clone(),
            net,
            weights,
            averaged,
        })
    }

    pub fn config(&self) -> &TrainConfig {
        &self.config
    }

    /// Whether there were steps since the last report.
    pub fn has_counted(&self) -> bool {
        self.totals.get(5).double_value(&[]) > 0.0
    }

    /// Makes an optimiser step with the mean gradient of `batches`, without synchronising with the device. Returns each
    /// batch's policy losses, `[n]`, on the device.
    pub fn step(&mut self, batches: &[Batch], lr: f64) -> Vec<Tensor> {
        self.step_shown(batches, lr, &|_| ())
    }

    /// [`Learner::step`] that calls `during` with the share of it that is done. On a GPU, which computes later, the
    /// shares come too early.
    pub fn step_shown(&mut self, batches: &[Batch], lr: f64, during: &dyn Fn(f64)) -> Vec<Tensor> {
        let share = 1.0 / batches.len() as f64;
        let stats = tch::no_grad(|| self.weights.stats.copy());
        let mut sums: Option<(Vec<Tensor>, [Tensor; 2])> = None;
        let mut policy_losses = Vec::with_capacity(batches.len());
        for (i, batch) in batches.iter().enumerate() {
            // Dropout depends only on the seed and the step, so that a resumed run equals an uninterrupted one.
            let draw = (self.optimiser.steps << 20) + i as u64;
            let seed = (self.config.seed ^ draw).cast_signed();
            let batch = self.expander.upload(batch);
            let (gradient, losses) =
                self.gradient(&batch, seed, share, &|done| during((i as f64 + done) * share));
            policy_losses.push(losses.last().policy.detach());
            let _guard = tch::no_grad_guard();
            let terms = [losses.total.detach() * share, measured(&losses, &batch) * share];
            sums = Some(match sums {
                None => (gradient, terms),
                Some((pieces, sums)) => (
                    pieces.iter().zip(gradient).map(|(sum, term)| sum + term).collect(),
                    std::array::from_fn(|i| &sums[i] + &terms[i]),
                ),
            });
        }
        let (mut gradient, [loss, measures]) = sums.expect("at least one batch");
        let _guard = tch::no_grad_guard();
        if !self.loss_scale.fixed() {
            gradient.iter_mut().for_each(|piece| *piece = &*piece / self.loss_scale.factor());
        }
        if let Some(elastic) = &self.elastic {
            gradient = vec![Tensor::cat(&gradient, 0) + elastic.gradient(&self.weights.flat)];
        }
        let done = self.optimiser.step(&mut self.weights, &gradient, &loss, lr, &self.config);
        self.loss_scale.update(&done);
        // A non-finite forward pass has already updated BatchNorm's statistics.
        if self.weights.stats.numel() > 0 {
            let kept = self.weights.stats.where_self(&done.gt(0.5), &stats);
            self.weights.stats.copy_(&kept);
        }
        let counts = Tensor::stack(&[done.shallow_clone(), done.ones_like()], 0);
        let measures = measures.nan_to_num(0.0, 0.0, 0.0) * done;
        _ = self.totals.g_add_(&Tensor::cat(&[measures, counts], 0));
        policy_losses
    }

    /// Returns the gradient of `share` · loss · loss scale in consecutive pieces, and the losses. `seed` determines the
    /// dropout. `during` is called with the share of the work that is done.
    fn gradient(
        &self,
        batch: &DeviceBatch,
        seed: i64,
        share: f64,
        during: &dyn Fn(f64),
    ) -> (Vec<Tensor>, Losses) {
        let scaled = |total: Tensor| match (self.loss_scale.fixed(), share) {
            (true, 1.0) => total,
            _ => total * (self.loss_scale.factor() * share),
        };
        if let Some(net) = self.net.checkpointed() {
            let weights = self.config.model.step_weights();
            let mut steps: Vec<Option<StepLosses>> = weights.iter().map(|_| None).collect();
            let input = batch.input.to_kind(self.weights.kind());
            let gradient = net.gradient(&self.weights, &input, seed, during, |step, answer| {
                let losses = loss::step_losses(&answer.policy, Some(&answer.wdl), batch, &self.config);
                let mut total = &losses.total * weights[step];
                if step + 1 == weights.len() {
                    total = self.with_reference_penalty(total, batch, &losses);
                }
                steps[step] = Some(losses.detach());
                scaled(total)
            });
            return (vec![gradient], Losses::of(steps.into_iter().flatten().collect(), &self.config));
        }
        let _generator = self.draws_random_numbers().then(|| seed_generator(seed));
        let output = self.net.forward(&self.weights, &batch.input, true);
        let losses = loss::losses(&output, batch, &self.config);
        let total = self.with_reference_penalty(losses.total.shallow_clone(), batch, losses.last());
        // The backward pass takes twice as long as the forward pass.
        during(1.0 / 3.0);
        let gradient = self.weights.gradient_pieces(&scaled(total));
        during(1.0);
        (gradient, losses)
    }

    /// Adds the KL penalty of the last step's policy if there is a reference.
    fn with_reference_penalty(&self, loss: Tensor, batch: &DeviceBatch, answer: &StepLosses) -> Tensor {
        match &self.reference {
            Some(reference) => loss + reference.penalty(&self.net, batch, &answer.legal_logits, &self.drift),
            None => loss,
        }
    }

    fn draws_random_numbers(&self) -> bool {
        self.config.model.dropouts().iter().any(|(_, share)| *share > 0.0)
    }

    /// Gives `averaged` tensors of its own.
    pub(super) fn own_average(&mut self) {
        if !self.averages {
            self.averaged = self.weights.copy(self.weights.device(), Kind::Float);
            self.averages = true;
        }
    }

    pub(super) fn averages(&self) -> bool {
        self.averages
    }

    pub fn average(&mut self, update: AverageUpdate) {
        let _guard = tch::no_grad_guard();
        match update {
            AverageUpdate::Same if self.averages => {
                self.averaged = self.weights.shared();
                self.averages = false;
            }
            AverageUpdate::Same => {}
            AverageUpdate::Towards(share) => {
                self.own_average();
                _ = self.averaged.flat.lerp_(&self.weights.flat, share);
                _ = self.averaged.stats.lerp_(&self.weights.stats, share);
            }
        }
    }

    /// Returns means since the last call; synchronises with the device.
    pub fn report(&mut self) -> TrainReport {
        let sums = Vec::<f32>::try_from(&self.totals).expect("six numbers");
        _ = self.totals.zero_();
        // NaN if no step was finite.
        let done = f64::from(sums[4]);
        let mean = |i: usize| f64::from(sums[i]) / done;
        TrainReport {
            measures: Measures {
                policy_loss: mean(0),
                wdl_loss: (self.net.schemes().value == ValueScheme::Wdl).then(|| mean(1)),
                top1: mean(2),
                top5: mean(3),
            },
            steps: sums[5].round() as u64,
            skipped: (sums[5] - sums[4]).round() as u64,
        }
    }

    /// Validates the averaged weights in fp32.
    pub fn validate(&self, held_out: &HeldOut) -> Validations {
        validation::validate(&self.net, &self.averaged, held_out, &self.config)
    }
}

/// `[4]`: the four measures of the last recursive step's output for a batch.
fn measured(losses: &Losses, batch: &DeviceBatch) -> Tensor {
    let losses = losses.last();
    let hits =
        loss::hits(&losses.legal_logits, &batch.policy).mean_dim([0i64].as_slice(), false, Kind::Float);
    let means = Tensor::stack(&[losses.policy.mean(Kind::Float), losses.mean_wdl.shallow_clone()], 0);
    Tensor::cat(&[means, hits], 0)
}
