use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use engine::nets::encoding::Input;
use engine::nets::eval::{Answer, EvalError, Evaluator, Request, Schemes, Wdl, material, softmax};
use tch::{Device, Kind, Tensor};

use super::input::Expander;
use super::net::Net;
use super::params::Weights;
use crate::base::network::Backend;
use crate::config::ModelConfig;
use crate::data::loader::Batch;

/// Best for a GPU: one worker with many games, which fill its batches.
pub struct Torch {
    model: ModelConfig,
    weights: Mutex<Weights>,
    device: Device,
    /// Dtype of convolutions and matrix products.
    pub(crate) kind: Kind,
}

impl Torch {
    pub fn new(net: &Net, weights: Weights, device: Device) -> Torch {
        // Not bf16 as in training: on 512 positions of engine games the shipped network's expected score differs from
        // fp32 by 0.012 in bf16, by 0.001 in fp16.
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

/// Has its own copy of the weights.
struct TorchEvaluator {
    net: Net,
    weights: Weights,
    expander: Expander,
    max_batch: usize,
}

impl TorchEvaluator {
    /// Policy logits of all requests' moves, then, with a value head, three value logits per position. Nothing else is
    /// copied from the device.
    fn logits(&self, batch: &[Request<'_>]) -> Vec<f32> {
        let Schemes { input, policy, .. } = self.net.schemes();
        let mut positions = Batch { size: batch.len(), ..Batch::default() };
        let mut places: Vec<i64> = Vec::new();
        for (row, request) in batch.iter().enumerate() {
            // The input depends on all legal moves, even if only some are requested.
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
            // Without a value head, the material gives the value.
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

fn first_line(why: &(dyn Any + Send)) -> &str {
    let text = why.downcast_ref::<String>().map(String::as_str).or(why.downcast_ref::<&str>().copied());
    text.and_then(|text| text.lines().next()).unwrap_or("an error")
}
