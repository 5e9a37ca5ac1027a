use std::path::{Path, PathBuf};

use engine::chess::position::Game;
use engine::nets::eval::{Answer, EvalError, Evaluator, Request, Wdl, material};
use engine::nets::onnx::Network;
use shakmaty::MoveList;
use tch::{Device, Kind, Tensor};

use super::{network, onnx};
use crate::base::network::Backend;
use crate::config::TrainConfig;
use crate::data::record::INITIAL_FEN;
use crate::learn::torch::Checkpoint;
use crate::learn::torch::families::{Net, Torch, Weights};

/// With and without history: castling, promotions, en passant, a repetition, a check, the fifty-move limit, castling in
/// Chess960.
const POSITIONS: [(&str, &str); 11] = [
    (INITIAL_FEN, ""),
    (INITIAL_FEN, "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1g1 f8e7 f1e1 b7b5 a4b3"),
    (INITIAL_FEN, "g1f3 g8f6 f3g1 f6g8"),
    ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", ""),
    ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq - 0 1", ""),
    ("n1n1k3/PP6/8/2pP4/8/8/6pp/4K1N1 w - c6 0 40", ""),
    ("n1n1k3/PP6/8/2pP4/8/8/6pp/4K1N1 b - - 0 40", ""),
    ("4k3/8/8/8/2pP4/8/8/4K2R b K d3 0 30", ""),
    ("8/5k2/8/3R4/8/2K5/6r1/8 b - - 88 97", "g2g3 c3c4 f7e6"),
    ("1r1k1r2/pppppppp/8/8/8/8/PPPPPPPP/1R1K1R2 w BFbf - 0 1", ""),
    ("1r1k1r2/pppppppp/8/8/8/8/PPPPPPPP/1R1K1R2 w BFbf - 0 1", "d1b1 g7g6"),
];

/// The last position lacks its first legal move.
fn positions() -> Vec<(Game, MoveList)> {
    let replay = |(fen, moves): &(&str, &str)| {
        let game = Game::from_uci(Some(fen), moves.split_whitespace()).unwrap();
        let moves = game.legal_moves();
        (game, moves)
    };
    let mut positions: Vec<_> = POSITIONS.iter().map(replay).collect();
    positions.last_mut().unwrap().1.remove(0);
    positions
}

fn requests(positions: &[(Game, MoveList)]) -> Vec<Request<'_>> {
    positions.iter().map(|(game, moves)| Request { game, moves }).collect()
}

fn apart(ours: &[Answer], theirs: &[Answer]) -> f32 {
    assert_eq!(ours.len(), theirs.len());
    let chances = |answer: &Answer| {
        let Wdl { win, draw, loss } = answer.wdl;
        answer.priors.iter().copied().chain([win, draw, loss]).collect::<Vec<f32>>()
    };
    let mut worst = 0.0;
    for (ours, theirs) in ours.iter().map(chances).zip(theirs.iter().map(chances)) {
        assert_eq!(ours.len(), theirs.len());
        worst = ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(worst, f32::max);
    }
    worst
}

fn shipped(name: &str) -> (Net, Weights, PathBuf) {
    let nets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../nets");
    let loaded = Checkpoint::load(&nets.join(format!("{name}.safetensors"))).unwrap();
    let (net, weights) = network(&loaded, true, None).unwrap();
    (net, weights, nets.join(format!("{name}.onnx")))
}

/// Compares libtorch, in one batch and one position at a time, with ONNX Runtime in one batch.
fn agree(net: &Net, weights: Weights, file: &Path) {
    let torch = Torch::new(net, weights, Device::Cpu);
    let theirs = Network::load(file).unwrap();
    assert_eq!(torch.cached_input(), theirs.cached_input());
    let positions = positions();
    let requests = requests(&positions);
    let mut onnx = Backend::evaluator(&theirs, requests.len()).unwrap();
    let mut evaluator = torch.evaluator(requests.len()).unwrap();
    assert_eq!(evaluator.max_batch(), requests.len());
    let expected = onnx.evaluate(&requests).unwrap();
    let together = evaluator.evaluate(&requests).unwrap();
    let alone = requests.iter().flat_map(|request| evaluator.evaluate(&[*request]).unwrap());
    let alone: Vec<Answer> = alone.collect();
    for answers in [&together, &alone] {
        let apart = apart(answers, &expected);
        assert!(apart < 1e-4, "{}: {apart}", file.display());
    }
    assert!(together != expected, "two runtimes never agree to the last bit: were both run?");
    // Agreement on nearly uniform priors would prove nothing.
    let largest = |answer: &Answer| answer.priors.iter().copied().fold(0.0, f32::max);
    assert!(together.iter().all(|answer| largest(answer) * answer.priors.len() as f32 > 1.5));
    assert_eq!(evaluator.evaluate(&[]), Ok(Vec::new()));
}

#[test]
fn libtorch_answers_like_onnx_runtime() {
    for name in ["resnet", "trm"] {
        let (net, weights, file) = shipped(name);
        agree(&net, weights, &file);
    }
}

/// Noisy weights and their file. Initial weights would give nearly uniform outputs.
fn noisy(config: &str, folder: &Path) -> (Net, Weights, PathBuf) {
    let config = TrainConfig::parse(config, &[]).unwrap();
    let net = Net::new(&config.model).unwrap();
    let weights = Weights::new(net.layout(), Device::Cpu, Kind::Float, 3);
    tch::no_grad(|| {
        let noise = weights.flat.ones_like().cumsum(0, Kind::Float).square().sin();
        _ = weights.flat.shallow_clone().g_add_(&noise);
    });
    let file = folder.join("net.onnx");
    std::fs::write(&file, onnx("net", &net, &weights, &config)).unwrap();
    (net, weights, file)
}

#[test]
fn a_scalar_value_is_written_as_a_win_or_a_loss() {
    let folder = tempfile::tempdir().unwrap();
    let model = r#"{"model": {"filters": 8, "blocks": 1, "value_head": "scalar"}}"#;
    let (net, weights, file) = noisy(model, folder.path());
    let network = Network::load(&file).unwrap();
    let positions = positions();
    let mut evaluator = Backend::evaluator(&network, positions.len()).unwrap();
    for answer in evaluator.evaluate(&requests(&positions)).unwrap() {
        let Wdl { win, draw, loss } = answer.wdl;
        assert!(draw < 1e-8 && (win + loss - 1.0).abs() < 1e-6, "{:?}", answer.wdl);
    }
    agree(&net, weights, &file);
}

#[test]
fn a_network_without_a_value_head_gets_the_material_evaluation() {
    let folder = tempfile::tempdir().unwrap();
    let model = r#"{"model": {"family": "mlp", "hidden": [40], "value": false}}"#;
    let (net, weights, file) = noisy(model, folder.path());
    let positions = positions();
    let copy = weights.copy(Device::Cpu, Kind::Float);
    let mut evaluator = Torch::new(&net, copy, Device::Cpu).evaluator(16).unwrap();
    for ((game, _), answer) in positions.iter().zip(evaluator.evaluate(&requests(&positions)).unwrap()) {
        assert_eq!(answer.wdl, material::wdl(game.position()));
    }
    agree(&net, weights, &file);
}

/// Answers of a shipped network after `change` of its weights.
fn answers(kind: Kind, change: impl Fn(&Tensor)) -> Result<Vec<Answer>, EvalError> {
    let (net, weights, _) = shipped("resnet");
    tch::no_grad(|| change(&weights.flat));
    let mut torch = Torch::new(&net, weights, Device::Cpu);
    torch.kind = kind;
    torch.evaluator(16).unwrap().evaluate(&requests(&positions()))
}

#[test]
fn fp16_is_close_to_fp32_and_falls_back_on_overflow() {
    let exact = answers(Kind::Float, |_| ()).unwrap();
    let half = apart(&exact, &answers(Kind::Half, |_| ()).unwrap());
    assert!(half > 1e-5 && half < 0.01, "{half}");
    let large = |weights: &Tensor| _ = weights.shallow_clone().g_mul_scalar_(20.0);
    let exact = answers(Kind::Float, large).unwrap();
    assert_eq!(apart(&exact, &answers(Kind::Half, large).unwrap()), 0.0, "computed in fp32");
}

#[test]
fn an_error_of_libtorch_is_returned() {
    // These weights belong to another network.
    let torch = Torch::new(&shipped("trm").0, shipped("resnet").1, Device::Cpu);
    let mut evaluator = torch.evaluator(16).unwrap();
    let error = evaluator.evaluate(&requests(&positions())).unwrap_err();
    assert!(error.0.starts_with("libtorch: ") && error.0.len() > 20, "{error}");
}

#[test]
fn outputs_that_are_not_finite_are_an_error() {
    for kind in [Kind::Float, Kind::Half] {
        let error = answers(kind, |weights| _ = weights.shallow_clone().fill_(f64::NAN)).unwrap_err();
        assert!(error.0.contains("not finite"), "{error}");
    }
}
