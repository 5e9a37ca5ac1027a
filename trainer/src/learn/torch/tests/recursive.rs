//! Tests of training a recursive model, with and without activation checkpointing.

use crate::config::TrainConfig;
use crate::config::model::trm;
use crate::data::loader::Batch;
use crate::learn::run::AverageUpdate;
use crate::learn::torch::learner::Learner;
use crate::learn::torch::overfit::overfit;
use crate::learn::torch::tests::{held_out_game, opera_game_batch};
use tch::Device;

fn opera() -> Batch {
    opera_game_batch(&trm::SCHEMES)
}

fn tiny(overrides: &[&str]) -> TrainConfig {
    tch::set_num_threads(1);
    let text = r#"{
        "model": {"family": "trm", "width": 16, "heads": 2, "expansion": 2, "steps": 4, "dropout": 0.0,
            "kept_steps": 0},
        "precision": "fp32", "warmup_steps": 2, "lr": 5e-3, "schedule": "constant", "ema": 0.9
    }"#;
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    TrainConfig::parse(text, &overrides).unwrap()
}

#[test]
fn it_overfits_a_game_and_every_step_is_reported() {
    let config = tiny(&[]);
    let point = overfit(&config, Device::Cpu, &opera(), 400, 0.1, &|_| ()).unwrap();
    assert_eq!(point.advice(&config, 0.1), None);
    let mut learner = Learner::new(&config, Device::Cpu).unwrap();
    for step in 0..60 {
        learner.step(&[opera()], config.learning_rate(step, 0.0));
        learner.average(AverageUpdate::Towards(0.1));
    }
    let all = learner.validate(&held_out_game(opera())).all;
    assert_eq!(all.steps.len(), 4);
    assert_eq!((all.steps[3].top1, all.steps[3].policy_loss), (all.measures.top1, all.measures.policy_loss));
    assert_ne!(all.steps[0], all.steps[3]);
    let line = serde_json::to_value(&all).unwrap();
    assert!(line["steps"][0]["top1"].is_number(), "{line}");
}

#[test]
fn checkpointed_training_equals_plain_training() {
    let learnt = |overrides: &[&str]| {
        let mut learner = Learner::new(&tiny(overrides), Device::Cpu).unwrap();
        for _ in 0..5 {
            learner.step(&[opera()], 1e-3);
        }
        (Vec::<f32>::try_from(&learner.weights.flat).unwrap(), learner.report())
    };
    let (whole, report) = learnt(&[]);
    for kept in ["model.kept_steps=1", "model.kept_steps=3"] {
        let (flat, again) = learnt(&[kept]);
        // AdamW amplifies rounding differences of gradients near zero.
        let apart: Vec<f32> = whole.iter().zip(&flat).map(|(a, b)| (a - b).abs()).collect();
        let mean = apart.iter().sum::<f32>() / apart.len() as f32;
        assert!(mean < 2e-5, "{kept}: {mean}");
        assert!((report.measures.policy_loss - again.measures.policy_loss).abs() < 1e-3);
        assert_eq!(again.skipped, 0);
    }
    let (other, _) = learnt(&["model.step_weights=decaying"]);
    let apart = whole.iter().zip(&other).map(|(a, b)| (a - b).abs()).sum::<f32>() / whole.len() as f32;
    assert!(apart > 1e-4, "the weights of the steps matter: {apart}");
}

#[test]
fn a_step_shows_how_far_it_is() {
    let shares = |overrides: &[&str]| {
        let shares = std::cell::RefCell::new(vec![0.0]);
        let mut learner = Learner::new(&tiny(overrides), Device::Cpu).unwrap();
        learner.step_shown(&[opera(), opera()], 1e-3, &|share| shares.borrow_mut().push(share));
        shares.into_inner()
    };
    for (overrides, each) in
        [(&[][..], 2), (&["model.kept_steps=1"], 3 + 4), (&["model.kept_steps=3"], 3 + 2)]
    {
        let shares = shares(overrides);
        assert_eq!(shares.len(), 1 + 2 * each, "{shares:?}");
        assert!(shares.is_sorted_by(|a, b| a < b), "{shares:?}");
        assert!((shares[each] - 0.5).abs() < 1e-9 && (shares[2 * each] - 1.0).abs() < 1e-9, "{shares:?}");
    }
}
