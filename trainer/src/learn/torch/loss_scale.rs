//! Dynamic loss scaling for fp16 (Micikevicius et al. 2018): a factor on the loss keeps small gradients from underflow.

use tch::{Device, Kind, Tensor};

/// The initial factor and its bounds, powers of two.
const START: f64 = 65536.0;
const LEAST: f64 = 1.0;
const MOST: f64 = 16_777_216.0;
/// Finite steps after which the factor doubles. A step that is not finite halves it.
const GROWTH_STEPS: f64 = 1000.0;

/// The factor stays on the device, so that no step synchronises with it.
pub struct LossScale {
    /// `[2]`, fp32: the factor, and the finite steps since it changed. The factor is always 1 except for fp16.
    pub state: Tensor,
    fixed: bool,
}

impl LossScale {
    pub fn new(kind: Kind, device: Device) -> LossScale {
        let fixed = kind != Kind::Half;
        let factor = if fixed { 1.0 } else { START };
        LossScale { state: Tensor::from_slice(&[factor as f32, 0.0]).to_device(device), fixed }
    }

    pub fn fixed(&self) -> bool {
        self.fixed
    }

    pub fn factor(&self) -> Tensor {
        self.state.get(0)
    }

    /// `done` is 1 if the step was finite, else 0.
    pub fn update(&mut self, done: &Tensor) {
        if self.fixed {
            return;
        }
        let _guard = tch::no_grad_guard();
        let steps = (self.state.get(1) + 1.0) * done;
        let grows = steps.ge(GROWTH_STEPS).to_kind(Kind::Float);
        let change = (&grows + 1.0) * (done * 0.5 + 0.5);
        let factor = (self.factor() * change).clamp(LEAST, MOST);
        self.state.copy_(&Tensor::stack(&[factor, steps * (1.0 - grows)], 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_halves_after_an_overflow_and_doubles_after_many_finite_steps() {
        let mut scale = LossScale::new(Kind::Half, Device::Cpu);
        let factor = |scale: &LossScale| scale.factor().double_value(&[]);
        let (done, failed) = (Tensor::from(1f32), Tensor::from(0f32));
        scale.update(&failed);
        scale.update(&failed);
        assert_eq!(factor(&scale), START / 4.0);
        for _ in 0..GROWTH_STEPS as usize - 1 {
            scale.update(&done);
        }
        assert_eq!(factor(&scale), START / 4.0);
        scale.update(&done);
        assert_eq!(factor(&scale), START / 2.0);
        for _ in 0..40 {
            scale.update(&failed);
        }
        assert_eq!(factor(&scale), LEAST);
    }

    #[test]
    fn other_dtypes_are_not_scaled() {
        let mut scale = LossScale::new(Kind::BFloat16, Device::Cpu);
        scale.update(&Tensor::from(0f32));
        assert_eq!(scale.factor().double_value(&[]), 1.0);
    }
}
