//! All parameters of a network in one flat tensor, so that the optimiser, clipping, averaging and checkpoints need few
//! operations. The forward pass uses views.

use tch::{Device, Kind, Tensor};

/// Orders the flat tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Matrices and kernels: in the run's precision, with weight decay.
    Weight,
    /// Biases and embeddings: in the run's precision, without weight decay.
    Bias,
    /// Scale and shift of normalisations: always fp32, without weight decay.
    Norm,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    Constant(f64),
    /// Normal distribution with mean 0 and this standard deviation.
    Normal(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParamId(usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatId(usize);

/// A named range of a flat tensor.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Unique, for example `blocks.0.first.conv.weight`.
    pub name: String,
    /// Logical shape; kernels are `[out, in, height, width]`.
    pub shape: Vec<i64>,
    pub offset: i64,
    class: Class,
    init: Init,
}

impl Slot {
    fn len(&self) -> i64 {
        self.shape.iter().product()
    }

    /// Logical view of this slot in `flat`. Kernels are stored channels-last: `[out, height, width, in]`.
    fn view(&self, flat: &Tensor) -> Tensor {
        let piece = flat.narrow(0, self.offset, self.len());
        match self.shape[..] {
            [o, i, h, w] => piece.view([o, h, w, i]).permute([0, 3, 1, 2]),
            _ => piece.view(&self.shape[..]),
        }
    }

    /// Flattens `tensor`, which has the logical shape, in memory order.
    fn flatten(&self, tensor: &Tensor) -> Tensor {
        match self.shape.len() {
            4 => tensor.permute([0, 2, 3, 1]).reshape([-1]),
            _ => tensor.reshape([-1]),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct ParamLayout {
    params: Vec<Slot>,
    stats: Vec<Slot>,
    /// Indices into `params`, in memory order.
    order: Vec<usize>,
}

impl ParamLayout {
    pub fn param(&mut self, name: String, class: Class, shape: &[i64], init: Init) -> ParamId {
        self.params.push(Slot { name, shape: shape.to_vec(), offset: 0, class, init });
        self.place();
        ParamId(self.params.len() - 1)
    }

    pub fn stat(&mut self, name: String, shape: &[i64], start: f64) -> StatId {
        let offset = self.stats.last().map_or(0, |slot| slot.offset + slot.len());
        let init = Init::Constant(start);
        self.stats.push(Slot { name, shape: shape.to_vec(), offset, class: Class::Norm, init });
        StatId(self.stats.len() - 1)
    }

    fn place(&mut self) {
        self.order = (0..self.params.len()).collect();
        self.order.sort_by_key(|&i| (self.params[i].class, i));
        let mut offset = 0;
        for &i in &self.order {
            self.params[i].offset = offset;
            offset += self.params[i].len();
        }
    }

    /// Trainable scalars.
    pub fn len(&self) -> i64 {
        self.params.iter().map(Slot::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.params.is_empty()
    }

    pub fn stats_len(&self) -> i64 {
        self.stats.iter().map(Slot::len).sum()
    }

    /// Leading elements of the flat tensor, up to those of `class`.
    pub fn through(&self, class: Class) -> i64 {
        self.params.iter().filter(|slot| slot.class <= class).map(Slot::len).sum()
    }

    pub fn named_params(&self, flat: &Tensor) -> Vec<(String, Tensor)> {
        named(&self.params, flat)
    }

    pub fn named_stats(&self, flat: &Tensor) -> Vec<(String, Tensor)> {
        named(&self.stats, flat)
    }
}

/// Standard normal distribution (Box and Muller 1958).
fn normal(random: &mut fastrand::Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}

fn named(slots: &[Slot], flat: &Tensor) -> Vec<(String, Tensor)> {
    slots.iter().map(|slot| (slot.name.clone(), slot.view(flat))).collect()
}

pub struct Weights {
    /// fp32 parameters, `[layout.len()]`.
    pub flat: Tensor,
    /// fp32 running statistics, `[layout.stats_len()]`.
    pub stats: Tensor,
    layout: ParamLayout,
    kind: Kind,
    /// Weights and biases in the compute dtype: `flat` itself for fp32, otherwise a copy.
    compute: Tensor,
    /// Leaves of the autograd graph by `ParamId`: views into `compute` or, for normalisations, `flat`.
    leaves: Vec<Tensor>,
    stat_views: Vec<Tensor>,
}

impl Weights {
    /// `kind` is the compute dtype (bf16, fp16 or fp32). Values depend only on the seed.
    pub fn new(layout: &ParamLayout, device: Device, kind: Kind, seed: i64) -> Weights {
        let _guard = tch::no_grad_guard();
        // libtorch's generator is global: draws of other threads would change the values.
        let mut random = fastrand::Rng::with_seed(seed.cast_unsigned());
        let mut draw = |slots: &[Slot], len: i64| {
            let mut numbers = vec![0f32; len as usize];
            for slot in slots {
                let piece = &mut numbers[slot.offset as usize..][..slot.len() as usize];
                match slot.init {
                    Init::Constant(value) => piece.fill(value as f32),
                    Init::Normal(deviation) => piece.fill_with(|| (normal(&mut random) * deviation) as f32),
                }
            }
            Tensor::from_slice(&numbers)
        };
        let start = draw(&layout.params, layout.len());
        let stats = draw(&layout.stats, layout.stats_len());
        Weights::over(layout, start.to_device(device), stats.to_device(device), kind)
    }

    fn over(layout: &ParamLayout, flat: Tensor, stats: Tensor, kind: Kind) -> Weights {
        let computed = layout.through(Class::Bias);
        let compute = if kind == Kind::Float {
            flat.shallow_clone()
        } else {
            flat.narrow(0, 0, computed).to_kind(kind)
        };
        let leaves = layout
            .params
            .iter()
            .map(|slot| {
                let home = if slot.class == Class::Norm { &flat } else { &compute };
                slot.view(home).detach().set_requires_grad(true)
            })
            .collect();
        let stat_views = layout.stats.iter().map(|slot| slot.view(&stats)).collect();
        Weights { flat, stats, layout: layout.clone(), kind, compute, leaves, stat_views }
    }

    /// fp32 weights that share memory with these.
    pub fn shared(&self) -> Weights {
        let _guard = tch::no_grad_guard();
        Weights::over(&self.layout, self.flat.shallow_clone(), self.stats.shallow_clone(), Kind::Float)
    }

    pub fn copy(&self, device: Device, kind: Kind) -> Weights {
        let _guard = tch::no_grad_guard();
        let fresh = |tensor: &Tensor| tensor.to_device(device).copy();
        Weights::over(&self.layout, fresh(&self.flat), fresh(&self.stats), kind)
    }

    pub fn layout(&self) -> &ParamLayout {
        &self.layout
    }

    /// Dtype of convolutions and matrix products.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn device(&self) -> Device {
        self.flat.device()
    }

    /// Updates the copy in the compute dtype. Must be called after [`Weights::flat`] changes in place.
    pub fn refresh(&mut self) {
        if self.kind != Kind::Float {
            let _guard = tch::no_grad_guard();
            let source = self.flat.narrow(0, 0, self.compute.size()[0]);
            self.compute.copy_(&source);
        }
    }

    pub fn assign(&mut self, flat: &Tensor, stats: &Tensor) {
        let _guard = tch::no_grad_guard();
        self.flat.copy_(flat);
        self.stats.copy_(stats);
        self.refresh();
    }

    /// For the forward pass: a view in the compute dtype.
    pub(crate) fn get(&self, id: ParamId) -> &Tensor {
        &self.leaves[id.0]
    }

    /// A view that BatchNorm updates in place.
    pub(crate) fn stat(&self, id: StatId) -> &Tensor {
        &self.stat_views[id.0]
    }

    /// For export: fp32, in logical shape.
    pub(crate) fn master(&self, id: ParamId) -> Tensor {
        self.layout.params[id.0].view(&self.flat)
    }

    /// Gradient of `loss` by all parameters: fp32, with the layout of `flat`.
    pub fn gradient(&self, loss: &Tensor) -> Tensor {
        self.gradient_with(loss, &[]).0
    }

    /// [`Weights::gradient`] in consecutive one-dimensional pieces.
    pub fn gradient_pieces(&self, loss: &Tensor) -> Vec<Tensor> {
        self.pieces_with(loss, &[]).0
    }

    /// Zero for tensors that `loss` does not depend on.
    pub(crate) fn gradient_with(&self, loss: &Tensor, inputs: &[&Tensor]) -> (Tensor, Vec<Tensor>) {
        let (pieces, by_inputs) = self.pieces_with(loss, inputs);
        (tch::no_grad(|| Tensor::cat(&pieces, 0)), by_inputs)
    }

    fn pieces_with(&self, loss: &Tensor, inputs: &[&Tensor]) -> (Vec<Tensor>, Vec<Tensor>) {
        let all: Vec<&Tensor> = self.leaves.iter().chain(inputs.iter().copied()).collect();
        let mut grads = Tensor::run_backward(&[loss], &all, false, false);
        let _guard = tch::no_grad_guard();
        for (grad, leaf) in grads.iter_mut().zip(&all) {
            if !grad.defined() {
                *grad = leaf.zeros_like();
            }
        }
        let by_inputs = grads.split_off(self.leaves.len());
        let piece = |&i: &usize| self.layout.params[i].flatten(&grads[i]).to_kind(Kind::Float);
        (self.layout.order.iter().map(piece).collect(), by_inputs)
    }
}
