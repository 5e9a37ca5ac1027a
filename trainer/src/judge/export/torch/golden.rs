use engine::chess::position::Game;
use engine::nets::eval::Golden;
use tch::{Kind, Tensor};

use crate::judge::export::golden::{golden_games, outputs_of_logits};
use crate::learn::torch::families::{Net, Weights};

pub fn golden_outputs(net: &Net, weights: &Weights) -> Vec<Golden> {
    let games = golden_games();
    let (policies, values) = logits(net, weights, &games);
    outputs_of_logits(net.schemes().policy, &games, &policies, &values)
}

/// fp32 policy logits `[n, size]` and WDL logits `[n, 3]`, empty without a value head.
pub fn logits(net: &Net, weights: &Weights, games: &[Game]) -> (Vec<f32>, Vec<f32>) {
    let _guard = tch::no_grad_guard();
    let input = net.schemes().input;
    let shape: Vec<i64> = [games.len()].iter().chain(input.shape()).map(|n| *n as i64).collect();
    let tensor = Tensor::from_slice(&input.tensor(games)).view(&shape[..]).to_device(weights.device());
    let output = net.forward(weights, &tensor, false);
    let numbers = |tensor: &Tensor| {
        let flat = tensor.to_kind(Kind::Float).to_device(tch::Device::Cpu).contiguous().view([-1]);
        Vec::<f32>::try_from(flat).expect("fp32 numbers")
    };
    (numbers(output.last_policy()), output.last_wdl().map(numbers).unwrap_or_default())
}
