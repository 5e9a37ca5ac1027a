//! Activation checkpointing for the loss over all steps (Chen et al. 2016, "Training Deep Nets with Sublinear Memory
//! Cost").
//!
//! The forward pass stores `y` and `z` at the start of each group of
//! [`TrmConfig::kept_steps`](super::TrmConfig::kept_steps) steps. The backward pass recomputes the groups from last to
//! first and hands the gradients of a group's initial `y` and `z` to the previous group. Dropout draws the same random
//! numbers both times.

use crate::learn::torch::families::layers::{ForwardPass, seed_generator};
use crate::learn::torch::families::params::Weights;
use crate::learn::torch::families::trm::{StepAnswer, StepState, Trm};
use tch::Tensor;

impl StepState {
    /// Detached, a leaf of the autograd graph.
    fn leaf(&self) -> StepState {
        let leaf = |tensor: &Tensor| tensor.detach().set_requires_grad(true);
        StepState { y: leaf(&self.y), z: leaf(&self.z) }
    }

    fn shallow_clone(&self) -> StepState {
        StepState { y: self.y.shallow_clone(), z: self.z.shallow_clone() }
    }
}

impl Trm {
    /// fp32 gradient `[parameters]` of the sum of `loss(step, answer)` over the steps from 0. `loss` is called once per
    /// step, later groups first, and `during` with the share of the work that is done.
    pub fn gradient(
        &self,
        weights: &Weights,
        planes: &Tensor,
        seed: i64,
        during: &dyn Fn(f64),
        mut loss: impl FnMut(usize, &StepAnswer) -> Tensor,
    ) -> Tensor {
        let pass = &ForwardPass { weights, train: true, rounding: false };
        let (steps, group) = (self.config.steps, self.config.group());
        let starts: Vec<usize> = (0..steps).step_by(group).collect();
        // In forward passes of a step: without gradients to the last group's start, then each step with its gradient,
        // whose backward pass takes twice as long.
        let forward = *starts.last().expect("at least one step");
        let work = forward + 3 * steps;
        let n = planes.size()[0];
        // The states at the start of every group but the first.
        let mut begins = Vec::with_capacity(starts.len());
        tch::no_grad(|| {
            let x = self.embed(pass, planes);
            let mut state = self.initial_state(weights, n);
            for step in 0..forward {
                state = self.seeded_step(pass, &x, &state, seed, step);
                if (step + 1) % group == 0 {
                    begins.push(state.shallow_clone());
                }
                during((step + 1) as f64 / work as f64);
            }
        });
        let mut sum: Option<Tensor> = None;
        // Gradients by the group's final `y` and `z`.
        let mut passed_back: Option<[Tensor; 2]> = None;
        for start in starts.into_iter().rev() {
            let begin = match start {
                0 => self.initial_state(weights, n),
                _ => begins.pop().expect("a state for each group").leaf(),
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
            let total = total.expect("at least one step");
            let inputs: Vec<&Tensor> = if start == 0 { Vec::new() } else { vec![&begin.y, &begin.z] };
            let (gradient, mut by_inputs) = weights.gradient_with(&total, &inputs);
            passed_back = by_inputs.pop().zip(by_inputs.pop()).map(|(by_z, by_y)| [by_y, by_z]);
            sum = Some(tch::no_grad(|| match sum.take() {
                Some(sum) => sum + gradient,
                None => gradient,
            }));
            during((forward + 3 * (steps - start)) as f64 / work as f64);
        }
        sum.expect("at least one group")
    }

    /// Dropout depends only on `seed` and `step`, so that the step can be recomputed.
    fn seeded_step(
        &self,
        pass: &ForwardPass,
        x: &Tensor,
        state: &StepState,
        seed: i64,
        step: usize,
    ) -> StepState {
        let seed = seed.wrapping_mul(1009).wrapping_add(step as i64);
        let _generator = (self.config.dropout > 0.0).then(|| seed_generator(seed));
        self.step(pass, x, state)
    }
}
