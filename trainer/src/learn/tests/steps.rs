//! A network that thinks in steps learns, in groups of steps as all at once.

use super::OPERA;
use crate::learn::overfit::by_heart;
use crate::learn::{HeldOut, Learner, TrainConfig};
use crate::loader::Batch;
use crate::model::trm;
use crate::samples::Phase;
use engine::position::Game;
use shakmaty::Position;
use tch::Device;

/// Every position of one game, as the recursive model sees them.
fn opera() -> Batch {
    let mut game = Game::new();
    let mut batch = Batch::default();
    for (ply, uci) in OPERA.split_whitespace().enumerate() {
        let m = game.parse_uci(uci).unwrap();
        let index = |m| trm::SCHEMES.policy.index(game.turn(), m);
        let mut legal = vec![0u64; trm::SCHEMES.policy.size().div_ceil(64)];
        for m in game.legal_moves() {
            legal[index(m).offset() / 64] |= 1 << (index(m).offset() % 64);
        }
        batch.size += 1;
        trm::SCHEMES.input.read(&game, |masks, _| batch.masks.extend(masks));
        batch.legal.extend(legal);
        batch.policy.push(index(m).0);
        let result = if ply % 2 == 0 { [1.0, 0.0, 0.0] } else { [0.0, 0.0, 1.0] };
        batch.wdl.extend(result);
        batch.results.extend(result);
        batch.source.push(0);
        batch.draw.push(ply as u64);
        batch.tactical.push(m.is_capture());
        batch.phase.push(Phase::of(game.position().board()) as u8);
        game.play(m);
    }
    batch
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
fn it_learns_a_game_by_heart_and_every_step_is_reported() {
    let config = tiny(&[]);
    let point = by_heart(&config, Device::Cpu, &opera(), 400, 0.1, &|_| ()).unwrap();
    assert_eq!(point.judge(&config, 0.1), None);
    let mut learner = Learner::new(&config, Device::Cpu).unwrap();
    for step in 0..60 {
        learner.step(&[opera()], config.learning_rate(step, 0.0));
    }
    let held_out = HeldOut { batches: vec![opera()], names: vec!["opera".to_owned()] };
    let all = learner.validate(&held_out).all;
    assert_eq!(all.steps.len(), 4);
    assert_eq!((all.steps[3].top1, all.steps[3].policy_loss), (all.measures.top1, all.measures.policy_loss));
    assert_ne!(all.steps[0], all.steps[3]);
    let line = serde_json::to_value(&all).unwrap();
    assert!(line["steps"][0]["top1"].is_number(), "{line}");
}

#[test]
fn groups_of_steps_lead_where_all_at_once_does() {
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
        // AdamW makes much of a gradient that is nearly zero, and of how its sums were rounded.
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
