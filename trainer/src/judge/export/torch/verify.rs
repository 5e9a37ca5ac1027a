use anyhow::{Result, ensure};
use engine::chess::position::Game;
use engine::nets::onnx::Network;

use super::golden::logits;
use crate::judge::export::golden::softmax;
use crate::learn::torch::families::{Net, Weights};

const BATCH: usize = 32;

/// Largest differences: absolute for probabilities, relative to max(|logit|, 1) for logits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OutputDifference {
    pub policy_logit: f32,
    /// Over legal moves.
    pub policy: f32,
    pub wdl_logit: f32,
    pub wdl: f32,
}

impl OutputDifference {
    pub fn worst(self) -> f32 {
        self.policy_logit.max(self.policy).max(self.wdl_logit).max(self.wdl)
    }
}

/// Fails if the schemes differ.
pub fn compare(net: &Net, weights: &Weights, file: &Network, positions: &[Game]) -> Result<OutputDifference> {
    let schemes = net.schemes();
    ensure!(file.schemes() == schemes, "the file holds another network: {}", file.describe());
    let mut session = file.session()?;
    let mut worst = OutputDifference::default();
    for batch in positions.chunks(BATCH) {
        let (policy, wdl) = logits(net, weights, batch);
        session.run(&schemes.input.tensor(batch), |theirs| {
            widen(&mut worst.policy_logit, &policy, theirs.policy, relative);
            widen(&mut worst.wdl_logit, &wdl, theirs.wdl, relative);
            for (index, game) in batch.iter().enumerate() {
                let legal = |logits: &[f32]| {
                    let own = &logits[index * schemes.policy.size()..][..schemes.policy.size()];
                    let moves = game.legal_moves();
                    let of = |m: &shakmaty::Move| own[schemes.policy.index(game.turn(), *m).offset()];
                    softmax(&moves.iter().map(of).collect::<Vec<_>>())
                };
                widen(&mut worst.policy, &legal(&policy), &legal(theirs.policy), absolute);
            }
            for (ours, theirs) in wdl.chunks_exact(3).zip(theirs.wdl.chunks_exact(3)) {
                widen(&mut worst.wdl, &softmax(ours), &softmax(theirs), absolute);
            }
        })?;
    }
    Ok(worst)
}

fn absolute(a: f32, b: f32) -> f32 {
    (a - b).abs()
}

fn relative(a: f32, b: f32) -> f32 {
    absolute(a, b) / a.abs().max(1.0)
}

fn widen(worst: &mut f32, ours: &[f32], theirs: &[f32], difference: fn(f32, f32) -> f32) {
    assert_eq!(ours.len(), theirs.len(), "equal schemes have equal output sizes");
    for (a, b) in ours.iter().zip(theirs) {
        let difference = difference(*a, *b);
        // NaN counts as infinite.
        if difference.is_nan() || difference > *worst {
            *worst = if difference.is_nan() { f32::INFINITY } else { difference };
        }
    }
}

#[cfg(test)]
mod tests {
    use engine::nets::encoding::Policy;
    use engine::nets::eval::{Evaluator, Request};
    use engine::nets::onnx::StepLimits;
    use tch::{Device, Kind};

    use super::*;
    use crate::config::{ModelConfig, TrainConfig};
    use crate::judge::export::torch::{onnx, unrolled};
    use crate::judge::export::{TOLERANCE, built_in_positions};

    const RESNET: &str = r#"{"model": {"filters": 16, "blocks": 2}}"#;
    const TRM: &str = r#"{"model": {"family": "trm", "width": 16, "heads": 2, "expansion": 2, "steps": 5}}"#;

    type Write = fn(&str, &Net, &Weights, &TrainConfig) -> Vec<u8>;

    fn exported(overrides: &[&str]) -> (Net, Weights, Network, tempfile::TempDir) {
        let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
        exported_of(&TrainConfig::parse(RESNET, &overrides).unwrap())
    }

    fn exported_of(config: &TrainConfig) -> (Net, Weights, Network, tempfile::TempDir) {
        written(config, onnx)
    }

    fn written(config: &TrainConfig, write: Write) -> (Net, Weights, Network, tempfile::TempDir) {
        let net = Net::new(&config.model).unwrap();
        let weights = Weights::new(net.layout(), Device::Cpu, Kind::Float, 3);
        // Training starts near the identity; here every weight must affect the outputs.
        tch::no_grad(|| {
            let noise = |like: &tch::Tensor| like.ones_like().cumsum(0, Kind::Float).square().sin() * 0.1;
            _ = weights.flat.shallow_clone().g_add_(&noise(&weights.flat));
            _ = weights.stats.shallow_clone().g_add_(&noise(&weights.stats).abs());
        });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("net.onnx");
        std::fs::write(&path, write("net", &net, &weights, config)).unwrap();
        let file = Network::load(&path).unwrap();
        (net, weights, file, folder)
    }

    fn check(overrides: &[&str]) {
        let (net, weights, file, _folder) = exported(overrides);
        let difference = compare(&net, &weights, &file, &built_in_positions(100)).unwrap();
        assert!(difference.worst() <= TOLERANCE, "{overrides:?}: {difference:?}");
        assert!(difference.worst() > 0.0, "two runtimes never agree exactly: were both run?");
    }

    #[test]
    fn export_matches_libtorch_with_batch_norm_relu_and_a_convolutional_head() {
        check(&[]);
        check(&["model.se_ratio=0"]);
    }

    #[test]
    fn export_matches_libtorch_with_group_norm_gelu_attention_and_a_dense_head() {
        let attention = ["model.attention_blocks=1", "model.attention_heads=4"];
        check(
            &[
                &attention[..],
                &[
                    "model.norm=group",
                    "model.activation=gelu",
                    "model.se_activation=gelu",
                    "model.policy_head=dense",
                ],
            ]
            .concat(),
        );
        check(&attention);
    }

    fn exported_family(model: &str) -> (Net, Weights, Network, tempfile::TempDir) {
        exported_of(&TrainConfig::parse(model, &[]).unwrap())
    }

    const LINEAR: &str = r#"{"model": {"family": "linear"}}"#;
    const MLP: &str = r#"{"model": {"family": "mlp", "hidden": [40, 30]}}"#;
    const SQUARES: &str =
        r#"{"model": {"family": "mlp", "encoding": "squares", "hidden": [40], "value": false}}"#;
    const POLICY_ONLY: &str = r#"{"model": {"family": "mlp", "hidden": [40], "value": false}}"#;

    #[test]
    fn export_matches_libtorch_for_fully_connected_families() {
        for model in [LINEAR, MLP, POLICY_ONLY, SQUARES] {
            let (net, weights, file, _folder) = exported_family(model);
            assert_eq!((file.card().family.as_str(), file.schemes()), (net.config().family(), net.schemes()));
            let difference = compare(&net, &weights, &file, &built_in_positions(100)).unwrap();
            assert!((0.0..=TOLERANCE).contains(&difference.worst()), "{model}: {difference:?}");
            assert!(difference.policy_logit > 0.0, "two runtimes never agree exactly: were both run?");
            assert_eq!(difference.wdl_logit > 0.0, model == MLP);
        }
    }

    #[test]
    fn export_matches_libtorch_with_every_activation_and_with_convolutions_before_the_layers() {
        let mut outputs = Vec::new();
        for activation in ["relu", "gelu", "tanh", "sigmoid"] {
            check(&[&format!("model.activation={activation}"), &format!("model.se_activation={activation}")]);
            for convolutions in ["[]", "[8,4]"] {
                let keys =
                    [format!("model.activation={activation}"), format!("model.convolutions={convolutions}")];
                let (net, weights, file, _folder) = exported_of(&TrainConfig::parse(MLP, &keys).unwrap());
                let difference = compare(&net, &weights, &file, &built_in_positions(100)).unwrap();
                assert!(
                    difference.worst() <= TOLERANCE && difference.worst() > 0.0,
                    "{keys:?}: {difference:?}"
                );
                outputs.push(logits(&net, &weights, &built_in_positions(1)).0);
            }
        }
        let alike = |a: &Vec<f32>| outputs.iter().filter(|b| *b == a).count();
        assert!(outputs.iter().all(|output| alike(output) == 1), "every key changes the outputs");
    }

    #[test]
    fn a_network_of_another_family_is_an_error() {
        let (net, weights, ..) = exported_family(MLP);
        let (_, _, file, _folder) = exported_family(POLICY_ONLY);
        let error = compare(&net, &weights, &file, &built_in_positions(4)).unwrap_err().to_string();
        assert!(error.contains("another network") && error.contains("without a value"), "{error}");
    }

    #[test]
    fn export_matches_libtorch_for_a_recursive_model_as_one_step_and_unrolled() {
        let positions = built_in_positions(100);
        let mut sizes = Vec::new();
        for (rank, write) in [(0, onnx as Write), (0, unrolled), (4, onnx), (4, unrolled)] {
            let rank = format!("model.policy_rank={rank}");
            let (net, weights, file, folder) = written(&TrainConfig::parse(TRM, &[rank]).unwrap(), write);
            let difference = compare(&net, &weights, &file, &positions).unwrap();
            assert!(difference.worst() <= TOLERANCE && difference.worst() > 0.0, "{difference:?}");
            assert_eq!(file.describe().contains(", 5 steps"), sizes.len() % 2 == 0, "{}", file.describe());
            sizes.push(std::fs::metadata(folder.path().join("net.onnx")).unwrap().len());
        }
        // The steps share their weights.
        assert!(sizes[1] < sizes[0] * 3 / 2 && sizes[3] < sizes[2] * 2, "{sizes:?}");
        // 4 of 17 numbers a move, in fp32.
        assert!(sizes[2] + 4 * 11 * 1968 < sizes[0], "{sizes:?}");
    }

    #[test]
    fn the_engine_with_n_steps_matches_libtorch_with_n_steps() {
        let positions = built_in_positions(20);
        let legal: Vec<_> = positions.iter().map(Game::legal_moves).collect();
        let requests: Vec<_> =
            positions.iter().zip(&legal).map(|(game, moves)| Request { game, moves }).collect();
        let (_, weights, core, _folder) = exported_family(TRM);
        for steps in [1, 3, 9] {
            // The same weights with another number of steps.
            let model: ModelConfig = serde_json::from_str(&format!(
                r#"{{"family": "trm", "width": 16, "heads": 2, "expansion": 2, "steps": {steps}}}"#
            ))
            .unwrap();
            let net = Net::new(&model).unwrap();
            let (policy, _) = logits(&net, &weights, &positions);
            let thinking = StepLimits { steps, epsilon: 0.0 };
            let answers =
                core.evaluator_with(positions.len(), thinking).unwrap().evaluate(&requests).unwrap();
            for ((game, answer), policy) in positions.iter().zip(&answers).zip(policy.chunks_exact(1968)) {
                let index = |m: &shakmaty::Move| Policy::Uci1968m.index(game.turn(), *m).offset();
                let expected =
                    softmax(&game.legal_moves().iter().map(|m| policy[index(m)]).collect::<Vec<_>>());
                let difference =
                    answer.priors.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(difference < TOLERANCE, "{steps} steps: {difference}");
            }
        }
    }

    #[test]
    fn other_weights_exceed_the_tolerance() {
        let (net, _, file, _folder) = exported(&[]);
        let others = Weights::new(net.layout(), Device::Cpu, Kind::Float, 4);
        assert!(compare(&net, &others, &file, &built_in_positions(20)).unwrap().worst() > TOLERANCE);
    }
}
