//! Optimisers over the flat tensor of all parameters. A step on a GPU never waits for the device. A step on a CPU
//! passes over the parameters once, in parts that fit the cache.

use crate::config::OptimiserKind;
use crate::config::TrainConfig;
use crate::learn::torch::families::Weights;
use crate::learn::torch::families::params::Class;
use tch::{Device, Kind, Tensor};

/// Parameters per part on a CPU. Four fp32 arrays of this length fit into a core's L2 cache.
const PART: i64 = 1 << 15;

/// State in the layout of [`Weights::flat`].
pub struct Optimiser {
    /// `[parameters]`: AdamW's first moment, or SGD's momentum buffer.
    pub first: Tensor,
    /// `[parameters]`: AdamW's second moment; zero with SGD.
    pub second: Tensor,
    /// Steps tried, for the moments' bias correction.
    pub steps: u64,
}

impl Optimiser {
    pub fn new(weights: &Weights) -> Optimiser {
        Optimiser { first: weights.flat.zeros_like(), second: weights.flat.zeros_like(), steps: 0 }
    }

    /// The one-dimensional pieces of the fp32 `gradient` together have the layout of [`Weights::flat`]. If the gradient
    /// or the scalar `loss` is not finite, weights and moments stay as they are.
    ///
    /// Returns a scalar on the device: 1 if the weights changed, otherwise 0. Reading it on a GPU would synchronise.
    pub fn step(
        &mut self,
        weights: &mut Weights,
        gradient: &[Tensor],
        loss: &Tensor,
        lr: f64,
        config: &TrainConfig,
    ) -> Tensor {
        let _guard = tch::no_grad_guard();
        self.steps += 1;
        let done = if weights.device() == Device::Cpu {
            self.step_in_parts(weights, gradient, loss, lr, config)
        } else {
            self.step_at_once(weights, &Tensor::cat(gradient, 0), loss, lr, config)
        };
        weights.refresh();
        done
    }

    fn step_at_once(
        &mut self,
        weights: &Weights,
        gradient: &Tensor,
        loss: &Tensor,
        lr: f64,
        config: &TrainConfig,
    ) -> Tensor {
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
        if config.weight_decay > 0.0 {
            let mut decayed = weights.flat.narrow(0, 0, weights.layout().through(Class::Weight));
            _ = decayed.g_mul_(&(1.0 - &done * (lr * config.weight_decay)));
        }
        _ = weights.flat.shallow_clone().g_sub_(&(update * (done.shallow_clone() * lr)));
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

    /// Reads scalars, which costs nothing on a CPU.
    fn step_in_parts(
        &mut self,
        weights: &Weights,
        gradient: &[Tensor],
        loss: &Tensor,
        lr: f64,
        config: &TrainConfig,
    ) -> Tensor {
        let norm = gradient.iter().map(|piece| piece.norm().double_value(&[]).powi(2)).sum::<f64>().sqrt();
        if !(norm.is_finite() && loss.double_value(&[]).is_finite()) {
            return Tensor::zeros([], (Kind::Float, Device::Cpu));
        }
        let scale = if config.clip > 0.0 { (config.clip / (norm + 1e-6)).min(1.0) } else { 1.0 };
        let decayed = weights.layout().through(Class::Weight);
        let mut start = 0;
        for piece in gradient {
            let end = start + piece.size()[0];
            let mut at = start;
            while at < end {
                let bound = if at < decayed { decayed.min(end) } else { end };
                let length = PART.min(bound - at);
                let mut part = weights.flat.narrow(0, at, length);
                if config.weight_decay > 0.0 && at < decayed {
                    _ = part.g_mul_scalar_(1.0 - lr * config.weight_decay);
                }
                let gradient = piece.narrow(0, at - start, length);
                // A copy, because pieces of one gradient may be the same tensor.
                let gradient = if scale < 1.0 { gradient * scale } else { gradient };
                self.update_part(&mut part, &gradient, at, lr, config);
                at += length;
            }
            start = end;
        }
        Tensor::ones([], (Kind::Float, Device::Cpu))
    }

    /// `at` is the first parameter's index.
    fn update_part(&mut self, part: &mut Tensor, gradient: &Tensor, at: i64, lr: f64, config: &TrainConfig) {
        let mut first = self.first.narrow(0, at, gradient.size()[0]);
        let update = match config.optimiser {
            OptimiserKind::AdamW => {
                let mut second = self.second.narrow(0, at, gradient.size()[0]);
                let [beta1, beta2] = config.betas;
                _ = first.lerp_(gradient, 1.0 - beta1);
                _ = second.lerp_(&gradient.square(), 1.0 - beta2);
                let steps = i32::try_from(self.steps).unwrap_or(i32::MAX);
                let mut root = (&second / (1.0 - beta2.powi(steps))).sqrt_();
                _ = root.g_add_scalar_(config.epsilon);
                (&first / root).g_mul_scalar_(lr / (1.0 - beta1.powi(steps)))
            }
            OptimiserKind::Sgd => {
                let _ = first.g_mul_scalar_(config.momentum);
                let _ = first.g_add_(gradient);
                if config.nesterov {
                    (&first * config.momentum).g_add_(gradient).g_mul_scalar_(lr)
                } else {
                    &first * lr
                }
            }
        };
        _ = part.g_sub_(&update);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::torch::families::ParamLayout;
    use crate::learn::torch::families::params::Init;

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
            adam.step(&mut weights, &[gradient], &Tensor::from(1f32), 0.1, &config(OptimiserKind::AdamW));
        assert_eq!(done.double_value(&[]), 1.0);
        // Adam's first step is lr · sign. Before it the weight shrinks by lr · decay · 2 = 0.1.
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
            _ = sgd.step(&mut weights, &[gradient], &Tensor::from(1f32), 0.1, &config);
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
                let done = optimiser.step(&mut weights, &[gradient], &Tensor::from(loss), 0.1, &config(rule));
                assert_eq!(done.double_value(&[]), 0.0);
                assert_eq!(numbers(&weights.flat), [2.0, 2.0]);
                assert_eq!(numbers(&optimiser.first), [0.0, 0.0]);
            }
        }
    }

    /// Both optimisers in fp64. Returns weights and first moment after `steps`.
    fn plainly(
        config: &TrainConfig,
        lr: f64,
        decayed: usize,
        start: &[f32],
        steps: &[Vec<f32>],
    ) -> [Vec<f64>; 2] {
        let mut weights: Vec<f64> = start.iter().copied().map(f64::from).collect();
        let (mut first, mut second) = (vec![0f64; start.len()], vec![0f64; start.len()]);
        for (count, gradient) in (1..).zip(steps) {
            let norm = gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
            let scale = if config.clip > 0.0 { (config.clip / (norm + 1e-6)).min(1.0) } else { 1.0 };
            for (i, weight) in weights.iter_mut().enumerate() {
                let g = f64::from(gradient[i]) * scale;
                if i < decayed {
                    *weight *= 1.0 - lr * config.weight_decay;
                }
                *weight -= lr
                    * match config.optimiser {
                        OptimiserKind::AdamW => {
                            let [one, two] = config.betas;
                            first[i] = one * first[i] + (1.0 - one) * g;
                            second[i] = two * second[i] + (1.0 - two) * g * g;
                            let root = (second[i] / (1.0 - two.powi(count))).sqrt() + config.epsilon;
                            first[i] / (1.0 - one.powi(count)) / root
                        }
                        OptimiserKind::Sgd => {
                            first[i] = config.momentum * first[i] + g;
                            if config.nesterov { g + config.momentum * first[i] } else { first[i] }
                        }
                    };
            }
        }
        [weights, first]
    }

    #[test]
    fn both_ways_of_a_step_are_the_plain_formula() {
        // Spans several parts; weight decay ends within a part, and a piece within another.
        let [matrix, biases] = [2 * PART + 1234, 567];
        let mut layout = ParamLayout::default();
        layout.param("w".to_owned(), Class::Weight, &[matrix], Init::Normal(1.0));
        layout.param("b".to_owned(), Class::Bias, &[biases], Init::Normal(1.0));
        let exact = TrainConfig { optimiser: OptimiserKind::Sgd, nesterov: false, ..TrainConfig::default() };
        let configs = [
            TrainConfig { weight_decay: 0.0, clip: 0.0, ..exact.clone() },
            TrainConfig { nesterov: true, weight_decay: 0.3, clip: 5.0, ..exact },
            TrainConfig { weight_decay: 0.3, clip: 5.0, ..TrainConfig::default() },
            TrainConfig { weight_decay: 0.0, clip: 0.0, ..TrainConfig::default() },
        ];
        let mut random = fastrand::Rng::with_seed(3);
        let steps: Vec<Vec<f32>> =
            (0..3).map(|_| (0..matrix + biases).map(|_| random.f32() - 0.4).collect()).collect();
        for config in configs {
            for (pieces, at_once) in [(1, true), (1, false), (2, false)] {
                let mut weights = Weights::new(&layout, Device::Cpu, Kind::Float, 7);
                let start = numbers(&weights.flat);
                let mut optimiser = Optimiser::new(&weights);
                for gradient in &steps {
                    let gradient = Tensor::from_slice(gradient);
                    let loss = Tensor::from(1f32);
                    if at_once {
                        optimiser.steps += 1;
                        _ = optimiser.step_at_once(&weights, &gradient, &loss, 0.01, &config);
                    } else {
                        let cut = if pieces == 2 {
                            gradient.split_with_sizes([matrix, biases], 0)
                        } else {
                            vec![gradient]
                        };
                        let done = optimiser.step(&mut weights, &cut, &loss, 0.01, &config);
                        assert_eq!(done.double_value(&[]), 1.0);
                    }
                }
                let expected = plainly(&config, 0.01, matrix as usize, &start, &steps);
                for (got, expected) in [&weights.flat, &optimiser.first].into_iter().zip(&expected) {
                    for (i, (got, expected)) in numbers(got).iter().zip(expected).enumerate() {
                        let error = (f64::from(*got) - expected).abs();
                        assert!(error < 1e-5, "{i}: {got}, expected {expected}: {config:?}");
                    }
                }
            }
        }
    }
}
