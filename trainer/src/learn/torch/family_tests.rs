//! Tests of training with families other than the residual network.

use super::learner::Learner;
use super::loss;
use super::tests::{held_out_game, opera_game_batch};
use crate::config::TrainConfig;
use crate::data::loader::{Batch, Origin};
use crate::learn::run::{AverageUpdate, Feed};
use crate::learn::torch::families::Expander;
use anyhow::Result;
use engine::nets::eval::ValueScheme;
use tch::{Device, Kind, Tensor};

const LINEAR: &str = r#"{ "model": { "family": "linear" }, "mask_illegal": false }"#;
const MLP: &str = r#"{ "model": { "family": "mlp", "hidden": [64, 32] } }"#;
const CONVOLUTIONS: &str =
    r#"{ "model": { "family": "mlp", "convolutions": [8, 4], "hidden": [64], "activation": "tanh" } }"#;
const POLICY_ONLY: &str = r#"{ "model": { "family": "mlp", "hidden": [64, 32], "value": false } }"#;

fn config(text: &str) -> TrainConfig {
    // More threads only slow down networks this small.
    tch::set_num_threads(1);
    let common = ["precision=fp32", "batch=33", "warmup_steps=2", "ema=0.9", "weight_decay=0"];
    TrainConfig::parse(text, &common.map(str::to_owned)).unwrap()
}

fn opera(config: &TrainConfig) -> Batch {
    opera_game_batch(&config.model.schemes())
}

/// Returns the weights `[1968, 832]` and biases `[1968]` of a linear network as views into `flat`.
fn matrix(learner: &Learner, flat: &Tensor) -> [Tensor; 2] {
    let mut named = learner.net.layout().named_params(flat);
    assert_eq!((named[0].0.as_str(), named[1].0.as_str()), ("out.weight", "out.bias"));
    let bias = named.pop().unwrap().1;
    [named.pop().unwrap().1, bias]
}

/// Returns the gradient of the mean cross-entropy in closed form: (p − y)·xᵀ for the weights, p − y for the biases.
fn closed_gradient([weight, bias]: &[Tensor; 2], x: &Tensor, played: &Tensor) -> [Tensor; 2] {
    let logits = x.matmul(&weight.tr()) + bias;
    let p = logits.softmax(-1, Kind::Float);
    let y = played.one_hot(1968).to_kind(Kind::Float);
    let e = (p - y) / x.size()[0] as f64;
    [e.tr().matmul(x), e.sum_dim_intlist([0i64].as_slice(), false, Kind::Float)]
}

fn largest_difference(a: &Tensor, b: &Tensor) -> f64 {
    (a - b).abs().max().double_value(&[])
}

#[test]
fn the_linear_gradient_is_the_error_times_the_input() {
    let config = config(LINEAR);
    let learner = Learner::new(&config, Device::Cpu).unwrap();
    let batch = Expander::new(Device::Cpu, Kind::Float, config.model.schemes()).upload(&opera(&config));
    assert_eq!(batch.input.size(), [33, 832]);
    let output = learner.net.forward(&learner.weights, &batch.input, true);
    let gradient = learner.weights.gradient(&loss::losses(&output, &batch, &config).total);
    let _guard = tch::no_grad_guard();
    let by_autograd = matrix(&learner, &gradient);
    let closed = closed_gradient(&matrix(&learner, &learner.weights.flat), &batch.input, &batch.policy);
    for (a, b) in by_autograd.iter().zip(&closed) {
        assert_eq!(a.size(), b.size());
        assert!(b.abs().max().double_value(&[]) > 1e-2, "the gradient is not negligible");
        assert!(largest_difference(a, b) < 1e-6);
    }
}

#[test]
fn descent_by_the_closed_gradient_is_our_loop() {
    let config = TrainConfig {
        optimiser: serde_json::from_value("sgd".into()).unwrap(),
        momentum: 0.0,
        clip: 0.0,
        ..config(LINEAR)
    };
    let mut learner = Learner::new(&config, Device::Cpu).unwrap();
    let game = opera(&config);
    let batch = Expander::new(Device::Cpu, Kind::Float, config.model.schemes()).upload(&game);
    let own = matrix(&learner, &learner.weights.flat.copy()).map(|tensor| tensor.detach().copy());
    let lr = 0.05;
    for _ in 0..60 {
        learner.step(std::slice::from_ref(&game), lr);
        let _guard = tch::no_grad_guard();
        for (mut tensor, gradient) in
            own.iter().map(Tensor::shallow_clone).zip(closed_gradient(&own, &batch.input, &batch.policy))
        {
            _ = tensor.g_sub_(&(gradient * lr));
        }
    }
    for (a, b) in matrix(&learner, &learner.weights.flat).iter().zip(&own) {
        assert!(largest_difference(a, b) < 1e-5);
    }
    let last = learner.report().measures;
    assert!(last.policy_loss < 1968f64.ln() - 1.0, "the mean over the steps fell: {last:?}");
}

#[test]
fn every_family_overfits_a_game() {
    for (text, lr) in [(LINEAR, 0.03), (MLP, 5e-3), (CONVOLUTIONS, 5e-3), (POLICY_ONLY, 5e-3)] {
        let config = config(text);
        let game = opera(&config);
        let mut learner = Learner::new(&config, Device::Cpu).unwrap();
        for _ in 0..200 {
            learner.step(std::slice::from_ref(&game), lr);
        }
        learner.step(std::slice::from_ref(&game), lr);
        learner.average(AverageUpdate::Same);
        let validations = learner.validate(&held_out_game(game));
        let all = &validations.all;
        assert!(all.measures.top1 > 0.95 && all.raw_top1 <= Some(all.measures.top1), "{text}: {all:?}");
        let has_value = config.model.schemes().value == ValueScheme::Wdl;
        assert_eq!(
            (all.measures.wdl_loss.is_some(), validations.calibration.is_some()),
            (has_value, has_value)
        );
        assert!(all.measures.wdl_loss.is_none_or(|loss| loss < 0.1), "{text}: {all:?}");
        assert!(all.steps.is_empty(), "no steps with a single output");
    }
}

#[test]
fn replayed_samples_work_with_every_family() {
    struct SingleBatch(Batch);
    impl Feed for SingleBatch {
        type Batch = Batch;

        fn next_batch(&mut self) -> Result<Batch> {
            Ok(self.0.clone())
        }
        fn again(&mut self, origins: &[Origin]) -> Result<Batch> {
            let mut batch = Batch::default();
            for Origin(_, draw) in origins {
                let row = self.0.draw.iter().position(|other| other == draw).unwrap();
                batch.push(&self.0, row);
            }
            Ok(batch)
        }
        fn position(&self) -> serde_json::Value {
            serde_json::Value::Null
        }
    }
    let config = config(LINEAR);
    let mut feed = SingleBatch(opera(&config));
    let mut batch = feed.next_batch().unwrap();
    let last = batch.origin(batch.size - 1);
    batch.append(feed.again(&[last, last]).unwrap());
    let device = Expander::new(Device::Cpu, Kind::Float, config.model.schemes()).upload(&batch);
    assert_eq!((device.input.size(), device.illegal.size()), (vec![35, 832], vec![35, 1968]));
    for tensor in [&device.input, &device.illegal.to_kind(Kind::Float)] {
        assert_eq!(largest_difference(&tensor.get(32), &tensor.get(34)), 0.0);
    }
}
