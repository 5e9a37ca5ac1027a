//! Evaluation of positions by libtorch for self-play and matches, in large batches on a GPU.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use engine::encoding::Input;
use engine::eval::{Answer, EvalError, Evaluator, Request, Schemes, Wdl, material, softmax};
use tch::{Device, Kind, Tensor};

use super::input::Expander;
use super::net::Net;
use super::params::Weights;
use crate::config::ModelConfig;
use crate::gameplay::Backend;
use crate::loader::Batch;

/// A network that is evaluated by libtorch on a device.
///
/// A GPU is used best by one worker with many games, whose positions are evaluated in one batch.
pub struct Torch {
    model: ModelConfig,
    weights: Mutex<Weights>,
    device: Device,
    /// The dtype of convolutions and matrix products.
    kind: Kind,
}

impl Torch {
    /// The network of `net` and `weights` on `device`.
    pub fn new(net: &Net, weights: Weights, device: Device) -> Torch {
        // Not bf16, as in training: on 512 positions of engine games the shipped network's expected score differs from
        // fp32's by 0.012 in bf16 and by 0.001 in fp16.
        let kind = if device.is_cuda() { Kind::Half } else { Kind::Float };
        Torch { model: net.config().clone(), weights: Mutex::new(weights), device, kind }
    }
}

impl Backend for Torch {
    fn cached_input(&self) -> Option<Input> {
        Some(self.model.schemes().input)
    }

    fn evaluator(&self, max_batch: usize) -> anyhow::Result<Box<dyn Evaluator>> {
        let net = Net::new(&self.model)?;
        let weights =
            self.weights.lock().unwrap_or_else(PoisonError::into_inner).copy(self.device, self.kind);
        let expander = Expander::new(self.device, self.kind, net.schemes());
        Ok(Box::new(TorchEvaluator { net, weights, expander, max_batch }))
    }
}

/// The evaluator of one worker, with its own copy of the weights; its outputs equal ONNX Runtime's.
struct TorchEvaluator {
    net: Net,
    weights: Weights,
    expander: Expander,
    max_batch: usize,
}

impl TorchEvaluator {
    /// The logits of all requests' moves, concatenated, followed by three value logits per position if the network has
    /// a value head: only these are copied from the device.
    fn logits(&self, batch: &[Request<'_>]) -> Vec<f32> {
        let Schemes { input, policy, .. } = self.net.schemes();
        let mut positions = Batch { size: batch.len(), ..Batch::default() };
        let mut places: Vec<i64> = Vec::new();
        for (row, request) in batch.iter().enumerate() {
            // The input depends on all legal moves, even if only some of them are requested.
            input.read(request.game, |masks, scalars| {
                positions.masks.extend_from_slice(masks);
                positions.scalars.extend_from_slice(scalars);
            });
            let index = |m| policy.index(request.game.turn(), m).offset();
            places.extend(request.moves.iter().map(|m| (row * policy.size() + index(*m)) as i64));
        }
        let _guard = tch::no_grad_guard();
        let places = Tensor::from_slice(&places).to_device(self.weights.device());
        let output = self.net.forward(&self.weights, &self.expander.expand(&positions), false);
        let mut asked = vec![output.last_policy().reshape([-1]).index_select(0, &places)];
        asked.extend(output.last_wdl().map(|wdl| wdl.reshape([-1])));
        let asked = Tensor::cat(&asked, 0).to_kind(Kind::Float).to_device(Device::Cpu);
        asked.try_into().expect("fp32 numbers")
    }
}

impl Evaluator for TorchEvaluator {
    fn max_batch(&self) -> usize {
        self.max_batch
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        // tch panics on libtorch's errors, such as a GPU out of memory.
        let logits = catch_unwind(AssertUnwindSafe(|| self.logits(batch)))
            .map_err(|why| EvalError(format!("libtorch: {}", first_line(&*why))))?;
        let moves = batch.iter().map(|request| request.moves.len()).sum();
        let (mut policy, wdl) = logits.split_at(moves);
        let mut wdl = wdl.as_chunks::<3>().0.iter();
        let answer = |request: &Request<'_>| {
            let (own, others) = policy.split_at(request.moves.len());
            policy = others;
            let mut priors = own.to_vec();
            softmax(&mut priors);
            // A network without a value has none for any position.
            let wdl = wdl
                .next()
                .map_or_else(|| material::wdl(request.game.position()), |wdl| Wdl::from_logits(*wdl));
            Answer { wdl, priors }
        };
        let answers: Vec<Answer> = batch.iter().map(answer).collect();
        let finite =
            |answer: &Answer| answer.wdl.win.is_finite() && answer.priors.iter().all(|p| p.is_finite());
        if answers.iter().all(finite) {
            return Ok(answers);
        }
        if self.weights.kind() == Kind::Float {
            return Err(EvalError("the network's outputs are not finite".into()));
        }
        log::warn!("a network's outputs overflow in fp16: it is evaluated in fp32 from now on");
        let device = self.weights.device();
        self.weights = self.weights.copy(device, Kind::Float);
        self.expander = Expander::new(device, Kind::Float, self.net.schemes());
        self.evaluate(batch)
    }
}

/// The first line of a panic's message.
fn first_line(why: &(dyn Any + Send)) -> &str {
    let text = why.downcast_ref::<String>().map(String::as_str).or(why.downcast_ref::<&str>().copied());
    text.and_then(|text| text.lines().next()).unwrap_or("an error")
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use engine::onnx::Network;
    use engine::position::Game;
    use shakmaty::MoveList;

    use super::*;
    use crate::config::TrainConfig;
    use crate::export::{network, onnx};
    use crate::record::INITIAL_FEN;
    use crate::train::Checkpoint;

    /// White and Black to move, with and without history: castling on both sides, promotions, en passant, a repetition,
    /// a check, the fifty-move limit, castling in Chess960.
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

    /// The positions with their legal moves; the last position without its first move.
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

    /// The largest difference of a probability.
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

    /// A shipped network: structure, weights, ONNX file.
    fn shipped(name: &str) -> (Net, Weights, PathBuf) {
        let nets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../nets");
        let loaded = Checkpoint::load(&nets.join(format!("{name}.safetensors"))).unwrap();
        let (net, weights) = network(&loaded, true, None).unwrap();
        (net, weights, nets.join(format!("{name}.onnx")))
    }

    /// Compares both runtimes, with all positions in one batch and one at a time.
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
        // Nearly uniform priors would agree trivially.
        let largest = |answer: &Answer| answer.priors.iter().copied().fold(0.0, f32::max);
        assert!(together.iter().all(|answer| largest(answer) * answer.priors.len() as f32 > 1.5));
        assert_eq!(evaluator.evaluate(&[]), Ok(Vec::new()));
    }

    #[test]
    fn libtorch_answers_like_onnx_runtime() {
        for name in ["philidor", "trm"] {
            let (net, weights, file) = shipped(name);
            agree(&net, weights, &file);
        }
    }

    #[test]
    fn a_network_without_a_value_head_gets_the_material_evaluation() {
        let model = r#"{"model": {"family": "mlp", "hidden": [40], "value": false}}"#;
        let config = TrainConfig::parse(model, &[]).unwrap();
        let net = Net::new(&config.model).unwrap();
        let weights = Weights::new(net.layout(), Device::Cpu, Kind::Float, 3);
        tch::no_grad(|| {
            // The initial weights give nearly uniform outputs.
            let noise = weights.flat.ones_like().cumsum(0, Kind::Float).square().sin();
            _ = weights.flat.shallow_clone().g_add_(&noise);
        });
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("net.onnx");
        std::fs::write(&file, onnx("net", &net, &weights, &config)).unwrap();
        let positions = positions();
        let copy = weights.copy(Device::Cpu, Kind::Float);
        let mut evaluator = Torch::new(&net, copy, Device::Cpu).evaluator(16).unwrap();
        for ((game, _), answer) in positions.iter().zip(evaluator.evaluate(&requests(&positions)).unwrap()) {
            assert_eq!(answer.wdl, material::wdl(game.position()));
        }
        agree(&net, weights, &file);
    }

    /// The outputs of a shipped network in dtype `kind` after `change` of its weights.
    fn answers(kind: Kind, change: impl Fn(&Tensor)) -> Result<Vec<Answer>, EvalError> {
        let (net, weights, _) = shipped("philidor");
        tch::no_grad(|| change(&weights.flat));
        let torch = Torch { kind, ..Torch::new(&net, weights, Device::Cpu) };
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
        let (net, weights, _) = shipped("philidor");
        // An input of another scheme has the wrong shape.
        let other = shipped("trm").0.schemes();
        let expander = Expander::new(Device::Cpu, Kind::Float, other);
        let mut evaluator = TorchEvaluator { net, weights, expander, max_batch: 16 };
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
}
