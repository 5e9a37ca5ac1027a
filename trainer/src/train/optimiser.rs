//! Optimisers over the flat tensor of all parameters, with gradient clipping and without synchronising with the device.

use crate::config::OptimiserKind;
use crate::config::TrainConfig;
use crate::model::Weights;
use crate::model::params::Class;
use tch::{Kind, Tensor};

/// The state of an optimiser, with the layout of [`Weights::flat`].
pub struct Optimiser {
    /// `[parameters]`: AdamW's first moment, or the momentum buffer of `sgd`.
    pub first: Tensor,
    /// `[parameters]`: AdamW's second moment; zero with `sgd`.
    pub second: Tensor,
    /// Number of steps, for the bias correction of the moments.
    pub steps: u64,
}

impl Optimiser {
    /// Zero moments for `weights`.
    pub fn new(weights: &Weights) -> Optimiser {
        Optimiser { first: weights.flat.zeros_like(), second: weights.flat.zeros_like(), steps: 0 }
    }

    /// One step along the negative `gradient` (`[parameters]`, fp32) of `loss` (scalar).
    ///
    /// If either is not finite, nothing changes. Returns a scalar on the device, 1 if the step was finite and otherwise
    /// 0; reading it here would synchronise with the device.
    pub fn step(
        &mut self,
        weights: &mut Weights,
        gradient: &Tensor,
        loss: &Tensor,
        lr: f64,
        config: &TrainConfig,
    ) -> Tensor {
        let _guard = tch::no_grad_guard();
        self.steps += 1;
        let norm = gradient.norm();
        let finite = norm.isfinite().logical_and(&loss.isfinite());
        let done = finite.to_kind(Kind::Float);
        let mut gradient = gradient.nan_to_num(0.0, 0.0, 0.0);
        if config.clip > 0.0 {
            let scale = ((&norm + 1e-6).reciprocal() * config.clip).clamp_max(1.0);
            gradient *= scale.nan_to_num(0.0, 0.0, 0.0);
        }
        let update = match config.optimiser {
            OptimiserKind::AdamW => self.adam(&gradient, &done, config),
            OptimiserKind::Sgd => self.momentum(&gradient, &done, config),
        };
        let mut decayed = weights.flat.narrow(0, 0, weights.layout().through(Class::Weight));
        _ = decayed.g_mul_(&(1.0 - &done * (lr * config.weight_decay)));
        _ = weights.flat.g_sub_(&(update * (done.shallow_clone() * lr)));
        weights.refresh();
        done
    }

    fn adam(&mut self, gradient: &Tensor, done: &Tensor, config: &TrainConfig) -> Tensor {
        let [beta1, beta2] = config.betas;
        _ = self.first.lerp_tensor_(gradient, &(done * (1.0 - beta1)));
        _ = self.second.lerp_tensor_(&gradient.square(), &(done * (1.0 - beta2)));
        let steps = i32::try_from(self.steps).unwrap_or(i32::MAX);
        let root = (&self.second / (1.0 - beta2.powi(steps))).sqrt() + config.epsilon;
        &self.first / root / (1.0 - beta1.powi(steps))
    }

    fn momentum(&mut self, gradient: &Tensor, done: &Tensor, config: &TrainConfig) -> Tensor {
        let change = &self.first * (config.momentum - 1.0) + gradient;
        _ = self.first.g_add_(&(change * done));
        if config.nesterov { gradient + &self.first * config.momentum } else { self.first.copy() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ParamLayout;
    use crate::model::params::Init;
    use tch::Device;

    fn two_parameters() -> Weights {
        let mut layout = ParamLayout::default();
        layout.param("w".to_owned(), Class::Weight, &[1], Init::Constant(2.0));
        layout.param("b".to_owned(), Class::Bias, &[1], Init::Constant(2.0));
        Weights::new(&layout, Device::Cpu, Kind::Float, 0)
    }

    fn numbers(tensor: &Tensor) -> Vec<f32> {
        tensor.try_into().unwrap()
    }

    fn config(optimiser: OptimiserKind) -> TrainConfig {
        TrainConfig { optimiser, weight_decay: 0.5, ..TrainConfig::default() }
    }

    #[test]
    fn adams_first_step_is_the_learning_rate_and_only_weights_decay() {
        let mut weights = two_parameters();
        let mut adam = Optimiser::new(&weights);
        let gradient = Tensor::from_slice(&[0.3f32, -0.3]);
        let done =
            adam.step(&mut weights, &gradient, &Tensor::from(1f32), 0.1, &config(OptimiserKind::AdamW));
        assert_eq!(done.double_value(&[]), 1.0);
        // Adam's first step is lr · sign; the weight first shrinks by lr · decay · 2 = 0.1.
        let got = numbers(&weights.flat);
        assert!((got[0] - 1.8).abs() < 1e-5 && (got[1] - 2.1).abs() < 1e-5, "{got:?}");
    }

    #[test]
    fn momentum_accumulates_gradients() {
        let mut weights = two_parameters();
        let mut sgd = Optimiser::new(&weights);
        let config = TrainConfig { weight_decay: 0.0, momentum: 0.5, ..config(OptimiserKind::Sgd) };
        let mut step = |gradient: [f32; 2]| {
            let gradient = Tensor::from_slice(&gradient);
            _ = sgd.step(&mut weights, &gradient, &Tensor::from(1f32), 0.1, &config);
            numbers(&weights.flat)
        };
        // Nesterov: the buffer is 0.2, the step 0.1 · (0.2 + 0.5 · 0.2); then the buffer is 0.1, the step 0.1 · 0.05.
        for (gradient, expected) in [([0.2, 0.0], 1.97), ([0.0, 0.0], 1.965)] {
            let got = step(gradient);
            assert!((got[0] - expected).abs() < 1e-6 && got[1] == 2.0, "{got:?}");
        }
    }

    #[test]
    fn a_step_that_is_not_finite_changes_nothing() {
        for rule in [OptimiserKind::AdamW, OptimiserKind::Sgd] {
            let mut weights = two_parameters();
            let mut optimiser = Optimiser::new(&weights);
            for (gradient, loss) in [(f32::NAN, 1.0), (f32::INFINITY, 1.0), (0.3, f32::NAN)] {
                let gradient = Tensor::from_slice(&[gradient, 0.1]);
                let done = optimiser.step(&mut weights, &gradient, &Tensor::from(loss), 0.1, &config(rule));
                assert_eq!(done.double_value(&[]), 0.0);
                assert_eq!(numbers(&weights.flat), [2.0, 2.0]);
                assert_eq!(numbers(&optimiser.first), [0.0, 0.0]);
            }
        }
    }
}
