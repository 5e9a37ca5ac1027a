use crate::config::model::TrmConfig;
use crate::learn::torch::families::layers::ForwardPass;
use crate::learn::torch::families::params::{ParamLayout, Weights};
use crate::learn::torch::families::trm::{StepAnswer, Trm};
use engine::chess::position::Game;
use engine::nets::encoding::Input;
use tch::{Device, Kind, Tensor};

fn small(overrides: &str) -> (Trm, Weights) {
    let mut json: serde_json::Value =
        serde_json::from_str(r#"{"width": 16, "heads": 2, "expansion": 2, "steps": 5, "kept_steps": 0}"#)
            .unwrap();
    let overrides: serde_json::Value = serde_json::from_str(overrides).unwrap();
    for (key, value) in overrides.as_object().unwrap() {
        json[key] = value.clone();
    }
    let config: TrmConfig = serde_json::from_value(json).unwrap();
    let mut layout = ParamLayout::default();
    let trm = Trm::new(&mut layout, &config);
    let weights = Weights::new(&layout, Device::Cpu, Kind::Float, 7);
    (trm, weights)
}

/// Of five positions of a game.
fn planes() -> Tensor {
    let mut game = Game::new();
    let mut games = vec![game.clone()];
    for uci in ["e2e4", "c7c5", "g1f3", "d7d6"] {
        game.play(game.parse_uci(uci).unwrap());
        games.push(game.clone());
    }
    Tensor::from_slice(&Input::Planes19.tensor(&games)).view([5, 19, 8, 8])
}

fn step_answers(trm: &Trm, weights: &Weights, planes: &Tensor, steps: usize) -> Vec<StepAnswer> {
    let output = trm.forward_steps(&ForwardPass { weights, train: false, rounding: false }, planes, steps);
    output.policy.into_iter().zip(output.wdl).map(|(policy, wdl)| StepAnswer { policy, wdl }).collect()
}

fn largest(tensor: &Tensor) -> f64 {
    tensor.abs().max().double_value(&[])
}

fn policy_loss(answer: &StepAnswer) -> Tensor {
    let played = Tensor::from_slice(&[930i64, 7, 1402, 0, 11]);
    let log = answer.policy.to_kind(Kind::Float).log_softmax(-1, Kind::Float);
    let value = answer.wdl.to_kind(Kind::Float).log_softmax(-1, Kind::Float).select(1, 0).mean(Kind::Float);
    -log.gather(1, &played.unsqueeze(1), false).mean(Kind::Float) - value
}

#[test]
fn the_default_network_has_its_number_of_parameters() {
    let mut layout = ParamLayout::default();
    Trm::new(&mut layout, &TrmConfig::default());
    let (width, squares, logits) = (256, 64, 1968);
    let layer = 12 * width * width + (3 + 1 + 4 + 1) * width + 4 * width;
    let heads = (width + 1) * (logits + 3) + (width + 1) * width;
    assert_eq!(layout.len(), 20 * width + squares * width + width + 2 * layer + 2 * width + heads);
    let whole = layout.len();
    let mut layout = ParamLayout::default();
    Trm::new(&mut layout, &TrmConfig { policy_rank: 64, ..TrmConfig::default() });
    let factors = (width + 1) * 64 + (64 + 1) * logits;
    assert_eq!((whole, layout.len()), (2_174_131, whole - (width + 1) * logits + factors));
}

#[test]
fn outputs_do_not_depend_on_the_batch_and_are_deterministic() {
    let (trm, weights) = small("{}");
    let planes = planes();
    let all = tch::no_grad(|| step_answers(&trm, &weights, &planes, 7));
    assert_eq!(all.len(), 7);
    assert_eq!((all[0].policy.size(), all[0].wdl.size()), (vec![5, 1968], vec![5, 3]));
    let alone = tch::no_grad(|| step_answers(&trm, &weights, &planes.narrow(0, 3, 1), 7));
    for (all, alone) in all.iter().zip(&alone) {
        assert!(largest(&(all.policy.narrow(0, 3, 1) - &alone.policy)) < 1e-5);
        assert!(largest(&(all.wdl.narrow(0, 3, 1) - &alone.wdl)) < 1e-5);
    }
    // Later steps continue from earlier steps and differ from the first.
    assert!(largest(&(&all[6].policy - &all[0].policy)) > 1e-4);
    let again = tch::no_grad(|| step_answers(&trm, &weights, &planes, 3));
    assert_eq!(largest(&(&again[2].policy - &all[2].policy)), 0.0);
}

#[test]
fn outputs_stay_bounded_over_many_steps() {
    let (trm, weights) = small("{}");
    let answer = tch::no_grad(|| step_answers(&trm, &weights, &planes(), 200));
    assert!(largest(&answer[199].policy) < 10.0 * largest(&answer[4].policy).max(1.0));
}

/// Compares the checkpointed gradient with that of one graph over all steps.
#[test]
fn recomputing_steps_gives_the_same_gradient() {
    let planes = planes();
    let weight = [0.1, 0.2, 0.5, 0.15, 0.05];
    let (trm, weights) = small(r#"{"dropout": 0.0}"#);
    let whole = step_answers(&trm, &weights, &planes, 5);
    let shares: Vec<Tensor> =
        whole.iter().zip(weight).map(|(answer, weight)| policy_loss(answer) * weight).collect();
    let expected = weights.gradient(&Tensor::stack(&shares, 0).sum(Kind::Float));
    assert!(largest(&expected) > 1e-3);
    for kept in [0, 1, 2, 3, 5, 9] {
        let (trm, _) = small(&format!(r#"{{"dropout": 0.0, "kept_steps": {kept}}}"#));
        let mut seen = Vec::new();
        let gradient = trm.gradient(&weights, &planes, 1, &|_| (), |step, answer| {
            seen.push(step);
            policy_loss(answer) * weight[step]
        });
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2, 3, 4]);
        let apart = largest(&(&gradient - &expected)) / largest(&expected);
        assert!(apart < 1e-5, "{kept} steps at a time: {apart}");
    }
}

#[test]
fn dropout_is_the_same_when_steps_are_recomputed() {
    let planes = planes();
    let gradient = |kept: usize, seed: i64| {
        let (trm, weights) = small(&format!(r#"{{"dropout": 0.3, "kept_steps": {kept}}}"#));
        trm.gradient(&weights, &planes, seed, &|_| (), |_, answer| policy_loss(answer))
    };
    // libtorch's generator is global, so other tests may draw from it in between.
    let agree = |a: &Tensor, b: &Tensor| largest(&(a - b)) < 1e-4 * largest(a);
    let same = (0..5).any(|seed| {
        let whole = gradient(0, seed);
        [1, 2, 4].into_iter().all(|kept| agree(&whole, &gradient(kept, seed)))
    });
    assert!(same);
    assert!(!agree(&gradient(1, 1), &gradient(1, 2)), "another seed, other dropout");
}

#[test]
fn bf16_is_near_fp32() {
    let (trm, weights) = small("{}");
    let rough = weights.copy(Device::Cpu, Kind::BFloat16);
    let [exact, near] =
        [&weights, &rough].map(|weights| tch::no_grad(|| step_answers(&trm, weights, &planes(), 5)));
    let apart = largest(&(&exact[4].policy - near[4].policy.to_kind(Kind::Float)));
    assert!(apart < 0.1 * largest(&exact[4].policy).max(1.0), "{apart}");
}
