//! The gradient of a loss over all steps, with the inner values of a few steps in memory at a time.
//!
//! The way forth keeps `y` and `z` where groups of [`TrmConfig::kept_steps`](super::TrmConfig::kept_steps) begin. The way
//! back computes one group again after another, the last first, and hands the gradient of its `y` and `z` to the one
//! before. Dropout draws the same numbers both times, so that the gradient is that of a single pass, but for the order
//! in which its sums are added up (Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost").

use crate::model::layers::ForwardPass;
use crate::model::params::Weights;
use crate::model::trm::{StepAnswer, StepState, Trm};
use tch::Tensor;

impl StepState {
    /// The same numbers, as a beginning that gradients stop at.
    fn leaf(&self) -> StepState {
        let leaf = |tensor: &Tensor| tensor.detach().set_requires_grad(true);
        StepState { y: leaf(&self.y), z: leaf(&self.z) }
    }

    fn shallow_clone(&self) -> StepState {
        StepState { y: self.y.shallow_clone(), z: self.z.shallow_clone() }
    }
}

impl Trm {
    /// The gradient `[parameters]`, fp32, of a loss that is a sum over steps: `loss` gives the share of one, counted from
    /// 0, by what that step says. It is called once for each step, and later groups come before earlier ones. `seed`
    /// decides the dropout.
    pub fn gradient(
        &self,
        weights: &Weights,
        planes: &Tensor,
        seed: i64,
        mut loss: impl FnMut(usize, &StepAnswer) -> Tensor,
    ) -> Tensor {
        let pass = &ForwardPass { weights, train: true, rounding: false };
        let (steps, group) = (self.config.steps, self.config.group());
        let starts: Vec<usize> = (0..steps).step_by(group).collect();
        let n = planes.size()[0];
        // Where every group but the first begins.
        let mut begins = Vec::with_capacity(starts.len());
        tch::no_grad(|| {
            let x = self.embed(pass, planes);
            let mut state = self.initial_state(weights, n);
            for step in 0..*starts.last().expect("at least one step") {
                state = self.seeded_step(pass, &x, &state, seed, step);
                if (step + 1) % group == 0 {
                    begins.push(state.shallow_clone());
                }
            }
        });
        let mut sum: Option<Tensor> = None;
        // By the `y` and `z` that the group hands on.
        let mut passed_back: Option<[Tensor; 2]> = None;
        for start in starts.into_iter().rev() {
            let begin = match start {
                0 => self.initial_state(weights, n),
                _ => begins.pop().expect("a beginning for each group").leaf(),
            };
            let x = self.embed(pass, planes);
            let mut state = begin.shallow_clone();
            let mut total: Option<Tensor> = None;
            let mut add = |share: Tensor| {
                total = Some(total.take().map_or(share.shallow_clone(), |total| total + share))
            };
            for step in start..(start + group).min(steps) {
                state = self.seeded_step(pass, &x, &state, seed, step);
                add(loss(step, &self.answer(pass, &state)));
            }
            if let Some([by_y, by_z]) = &passed_back {
                add((&state.y * by_y).sum(tch::Kind::Float));
                add((&state.z * by_z).sum(tch::Kind::Float));
            }
            let total = total.expect("a group has steps");
            let inputs: Vec<&Tensor> = if start == 0 { Vec::new() } else { vec![&begin.y, &begin.z] };
            let (gradient, mut by_inputs) = weights.gradient_with(&total, &inputs);
            passed_back = by_inputs.pop().zip(by_inputs.pop()).map(|(by_z, by_y)| [by_y, by_z]);
            sum = Some(tch::no_grad(|| match sum.take() {
                Some(sum) => sum + gradient,
                None => gradient,
            }));
        }
        sum.expect("at least one group")
    }

    /// A step whose dropout is that of its number, whenever it is computed.
    fn seeded_step(
        &self,
        pass: &ForwardPass,
        x: &Tensor,
        state: &StepState,
        seed: i64,
        step: usize,
    ) -> StepState {
        if self.config.dropout > 0.0 {
            tch::manual_seed(seed.wrapping_mul(1009).wrapping_add(step as i64));
        }
        self.step(pass, x, state)
    }
}
