//! AdamW over the flat tensor of all parameters, with clipping, and without any wait for the device.

use super::config::TrainConfig;
use crate::model::{Weights, params::Class};
use tch::{Kind, Tensor};

/// AdamW (Loshchilov and Hutter 2019), its moments laid out like [`Weights::flat`].
pub struct AdamW {
    /// `[parameters]`: running mean of the gradient.
    pub first: Tensor,
    /// `[parameters]`: running mean of its square.
    pub second: Tensor,
    /// Steps done, for the correction of the moments' start at zero.
    pub steps: u64,
}

impl AdamW {
    /// Moments of zero for `weights`.
    pub fn new(weights: &Weights) -> AdamW {
        AdamW { first: weights.flat.zeros_like(), second: weights.flat.zeros_like(), steps: 0 }
    }

    /// One step down `gradient` (`[parameters]`, fp32) of a loss `loss` (scalar).
    ///
    /// If either isn't finite, nothing changes. Returns whether it was, a scalar of 0 or 1 on the
    /// device: asking for it here would hold up the queue of operations.
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
        let [beta1, beta2] = config.betas;
        let norm = gradient.norm();
        let finite = norm.isfinite().logical_and(&loss.isfinite());
        let done = finite.to_kind(Kind::Float);
        let mut gradient = gradient.nan_to_num(0.0, 0.0, 0.0);
        if config.clip > 0.0 {
            let scale = ((&norm + 1e-6).reciprocal() * config.clip).clamp_max(1.0);
            gradient *= scale.nan_to_num(0.0, 0.0, 0.0);
        }
        _ = self.first.lerp_tensor_(&gradient, &(&done * (1.0 - beta1)));
        _ = self.second.lerp_tensor_(&gradient.square(), &(&done * (1.0 - beta2)));

        let steps = i32::try_from(self.steps).unwrap_or(i32::MAX);
        let root = (&self.second / (1.0 - beta2.powi(steps))).sqrt() + config.epsilon;
        let update = &self.first / root * (&done * (lr / (1.0 - beta1.powi(steps))));
        let mut decayed = weights.flat.narrow(0, 0, weights.layout().through(Class::Weight));
        _ = decayed.g_mul_(&(1.0 - &done * (lr * config.weight_decay)));
        _ = weights.flat.g_sub_(&update);
        weights.refresh();
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::params::{Init, Layout};
    use tch::Device;

    fn two_parameters() -> Weights {
        let mut layout = Layout::default();
        layout.param("w".to_owned(), Class::Weight, &[1], Init::Constant(2.0));
        layout.param("b".to_owned(), Class::Bias, &[1], Init::Constant(2.0));
        Weights::new(&layout, Device::Cpu, Kind::Float, 0)
    }

    fn numbers(tensor: &Tensor) -> Vec<f32> {
        tensor.try_into().unwrap()
    }

    #[test]
    fn the_first_step_is_the_learning_rate_and_only_weights_decay() {
        let mut weights = two_parameters();
        let mut adam = AdamW::new(&weights);
        let config = TrainConfig { weight_decay: 0.5, ..TrainConfig::default() };
        let gradient = Tensor::from_slice(&[0.3f32, -0.3]);
        let done = adam.step(&mut weights, &gradient, &Tensor::from(1f32), 0.1, &config);
        assert_eq!(done.double_value(&[]), 1.0);
        // Adam's first step is lr · sign; the weight first shrinks by lr · decay · 2 = 0.1.
        let got = numbers(&weights.flat);
        assert!((got[0] - 1.8).abs() < 1e-5 && (got[1] - 2.1).abs() < 1e-5, "{got:?}");
    }

    #[test]
    fn a_step_that_is_not_finite_changes_nothing() {
        let mut weights = two_parameters();
        let mut adam = AdamW::new(&weights);
        let config = TrainConfig::default();
        for (gradient, loss) in [(f32::NAN, 1.0), (f32::INFINITY, 1.0), (0.3, f32::NAN)] {
            let gradient = Tensor::from_slice(&[gradient, 0.1]);
            let done = adam.step(&mut weights, &gradient, &Tensor::from(loss), 0.1, &config);
            assert_eq!(done.double_value(&[]), 0.0);
            assert_eq!(numbers(&weights.flat), [2.0, 2.0]);
            assert_eq!(numbers(&adam.first), [0.0, 0.0]);
        }
    }
}
