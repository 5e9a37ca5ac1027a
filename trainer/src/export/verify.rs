//! `verify`: a network file against the checkpoint that it was made from.

use std::path::Path;

use engine::eval::Network;
use engine::position::{Game, PackedMove};

use super::golden::{games, logits, softmax};
use crate::dataset;
use crate::model::{Net, Weights};

/// The most that a probability may differ, or a logit: of its size, if that is above one, as logits of illegal moves
/// are large without meaning anything.
pub const TOLERANCE: f32 = 1e-4;

/// Positions a batch.
const BATCH: usize = 32;

/// The largest differences between two runtimes: absolute ones of probabilities, and of logits, which are divided by
/// their size where it is above one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OutputDifference {
    /// Of a policy logit.
    pub policy_logit: f32,
    /// Of a legal move's probability.
    pub policy: f32,
    /// Of a logit of win, draw, loss.
    pub wdl_logit: f32,
    /// Of the probability of win, draw, loss.
    pub wdl: f32,
}

impl OutputDifference {
    /// The largest of all.
    pub fn worst(self) -> f32 {
        self.policy_logit.max(self.policy).max(self.wdl_logit).max(self.wdl)
    }
}

/// Runs both on `positions` and compares their answers.
///
/// # Errors
/// One line, if ONNX Runtime fails, or the file has other inputs or outputs than `net`.
pub fn compare(
    net: &Net,
    weights: &Weights,
    file: &Network,
    positions: &[Game],
) -> Result<OutputDifference, String> {
    let schemes = net.schemes();
    if file.schemes() != schemes {
        return Err(format!("the file is another network: {}", file.describe()));
    }
    let mut session = file.session().map_err(|error| error.to_string())?;
    let mut worst = OutputDifference::default();
    for batch in positions.chunks(BATCH) {
        let (policy, wdl) = logits(net, weights, batch);
        let ran = session.run(&schemes.input.tensor(batch), |theirs| {
            widen(&mut worst.policy_logit, &policy, theirs.policy, of_size);
            widen(&mut worst.wdl_logit, &wdl, theirs.wdl, of_size);
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
        });
        ran.map_err(|error| error.to_string())?;
    }
    Ok(worst)
}

fn absolute(a: f32, b: f32) -> f32 {
    (a - b).abs()
}

fn of_size(a: f32, b: f32) -> f32 {
    absolute(a, b) / a.abs().max(1.0)
}

fn widen(worst: &mut f32, ours: &[f32], theirs: &[f32], difference: fn(f32, f32) -> f32) {
    assert_eq!(ours.len(), theirs.len(), "the same schemes have as many numbers");
    for (a, b) in ours.iter().zip(theirs) {
        let difference = difference(*a, *b);
        // NaN is the worst there is, and stays.
        if difference.is_nan() || difference > *worst {
            *worst = if difference.is_nan() { f32::INFINITY } else { difference };
        }
    }
}

/// Positions spread over a file's games.
pub fn positions_of(path: &Path, count: usize) -> Result<Vec<Game>, String> {
    let chunk = dataset::read(path).map_err(|error| error.to_string())?;
    let games = chunk.games().max(1);
    let mut positions = Vec::with_capacity(count);
    for number in 0..count.min(chunk.positions()) {
        let stored = chunk.replay(number * 7919 % games);
        if stored.moves.is_empty() {
            continue;
        }
        let mut game = stored.initial().map_err(|error| format!("{}: {error}", path.display()))?;
        for packed in &stored.moves[..number * 31 % stored.moves.len()] {
            game.play(PackedMove(*packed).to_legal_move(game.position()));
        }
        if !game.legal_moves().is_empty() {
            positions.push(game);
        }
    }
    Ok(positions)
}

/// The golden positions and what follows them by a fixed choice of moves.
pub fn built_in(count: usize) -> Vec<Game> {
    let mut positions = Vec::with_capacity(count);
    let mut starts = games().into_iter().cycle();
    while positions.len() < count {
        let mut game = starts.next().expect("a cycle never ends");
        for step in 0..40 {
            let legal = game.legal_moves();
            if legal.is_empty() || positions.len() == count {
                break;
            }
            positions.push(game.clone());
            game.play(legal[(step * 7 + positions.len() * 13) % legal.len()]);
        }
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ModelConfig;
    use crate::config::TrainConfig;
    use crate::export::file::{onnx, unrolled};
    use engine::encoding::Policy;
    use engine::eval::{Evaluator, Request, Thinking};
    use tch::{Device, Kind};

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
        // Not the gentle start that training wants: every number must count.
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
        let difference = compare(&net, &weights, &file, &built_in(100)).unwrap();
        assert!(difference.worst() <= TOLERANCE, "{overrides:?}: {difference:?}");
        assert!(difference.worst() > 0.0, "two runtimes never agree to the last bit: were both run?");
    }

    #[test]
    fn batch_norm_relu_and_a_convolutional_head_are_exported_faithfully() {
        check(&[]);
        check(&["model.se_ratio=0"]);
    }

    #[test]
    fn group_norm_gelu_attention_and_a_dense_head_are_exported_faithfully() {
        let attention = ["model.attention_blocks=1", "model.attention_heads=4"];
        check(
            &[&attention[..], &["model.norm=group", "model.activation=gelu", "model.policy_head=dense"]]
                .concat(),
        );
        check(&attention);
    }

    fn exported_family(model: &str) -> (Net, Weights, Network, tempfile::TempDir) {
        exported_of(&TrainConfig::parse(model, &[]).unwrap())
    }

    const LINEAR: &str = r#"{"model": {"family": "linear"}}"#;
    const MLP: &str = r#"{"model": {"family": "mlp", "hidden": [40, 30]}}"#;
    const POLICY_ONLY: &str = r#"{"model": {"family": "mlp", "hidden": [40], "value": false}}"#;

    #[test]
    fn fully_connected_families_are_exported_faithfully() {
        for model in [LINEAR, MLP, POLICY_ONLY] {
            let (net, weights, file, _folder) = exported_family(model);
            assert_eq!((file.card().family.as_str(), file.schemes()), (net.config().family(), net.schemes()));
            let difference = compare(&net, &weights, &file, &built_in(100)).unwrap();
            assert!((0.0..=TOLERANCE).contains(&difference.worst()), "{model}: {difference:?}");
            assert!(
                difference.policy_logit > 0.0,
                "two runtimes never agree to the last bit: were both run?"
            );
            assert_eq!(difference.wdl_logit > 0.0, model == MLP);
        }
    }

    #[test]
    fn another_family_is_refused() {
        let (net, weights, ..) = exported_family(MLP);
        let (_, _, file, _folder) = exported_family(POLICY_ONLY);
        let error = compare(&net, &weights, &file, &built_in(4)).unwrap_err();
        assert!(error.contains("another network") && error.contains("without a value"), "{error}");
    }

    #[test]
    fn a_recursive_model_is_exported_faithfully_as_one_step_and_as_all() {
        let positions = built_in(100);
        let mut sizes = Vec::new();
        for write in [onnx as Write, unrolled] {
            let (net, weights, file, folder) = written(&TrainConfig::parse(TRM, &[]).unwrap(), write);
            let difference = compare(&net, &weights, &file, &positions).unwrap();
            assert!(difference.worst() <= TOLERANCE && difference.worst() > 0.0, "{difference:?}");
            assert_eq!(
                file.describe().contains("thinks in 5 steps"),
                sizes.is_empty(),
                "{}",
                file.describe()
            );
            sizes.push(std::fs::metadata(folder.path().join("net.onnx")).unwrap().len());
        }
        // The steps share their numbers.
        assert!(sizes[1] < sizes[0] * 3 / 2, "{sizes:?}");
    }

    #[test]
    fn steps_chosen_at_play_are_those_of_training() {
        let positions = built_in(20);
        let legal: Vec<_> = positions.iter().map(Game::legal_moves).collect();
        let requests: Vec<_> =
            positions.iter().zip(&legal).map(|(game, moves)| Request { game, moves }).collect();
        let (_, weights, core, _folder) = exported_family(TRM);
        for steps in [1, 3, 9] {
            // The same numbers, laid out for so many steps.
            let model: ModelConfig = serde_json::from_str(&format!(
                r#"{{"family": "trm", "width": 16, "heads": 2, "expansion": 2, "steps": {steps}}}"#
            ))
            .unwrap();
            let net = Net::new(&model).unwrap();
            let (policy, _) = logits(&net, &weights, &positions);
            let thinking = Thinking { steps, epsilon: 0.0 };
            let answers = core.thinker(positions.len(), thinking).unwrap().evaluate(&requests).unwrap();
            for ((game, answer), policy) in positions.iter().zip(&answers).zip(policy.chunks_exact(1968)) {
                let index = |m: &shakmaty::Move| Policy::Uci1968m.index(game.turn(), *m).offset();
                let expected =
                    softmax(&game.legal_moves().iter().map(|m| policy[index(m)]).collect::<Vec<_>>());
                let apart =
                    answer.priors.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(apart < TOLERANCE, "{steps} steps: {apart}");
            }
        }
    }

    #[test]
    fn other_weights_are_noticed() {
        let (net, _, file, _folder) = exported(&[]);
        let others = Weights::new(net.layout(), Device::Cpu, Kind::Float, 4);
        assert!(compare(&net, &others, &file, &built_in(20)).unwrap().worst() > TOLERANCE);
    }
}
