//! What a run computes in.

use std::time::Instant;

use tch::{Device, Kind, Tensor};

use crate::config::Precision;

impl Precision {
    /// This, or what [`Precision::Auto`] means on `device`: a CPU is timed, for a moment.
    pub fn resolved(self, device: Device) -> Precision {
        match self {
            Precision::Auto if device.is_cuda() || bf16_pays(device) => Precision::Bf16,
            Precision::Auto => Precision::Fp32,
            chosen => chosen,
        }
    }

    /// The kind to compute in on `device`.
    pub fn kind(self, device: Device) -> Kind {
        match self.resolved(device) {
            Precision::Bf16 => Kind::BFloat16,
            Precision::Fp16 => Kind::Half,
            Precision::Auto | Precision::Fp32 => Kind::Float,
        }
    }
}

/// Whether a convolution of the tower, forward and backward, is clearly faster in bf16 than in fp32: the best of
/// a few alternating tries each. Instruction sets don't tell: with AVX-512's bf16 instructions alone, one
/// processor is slower in bf16 and another 1.6 times as fast.
fn bf16_pays(device: Device) -> bool {
    const TRIES: usize = 4;
    let time = |kind: Kind| {
        let x = Tensor::ones([64, 8, 8, 64], (kind, device)).permute([0, 3, 1, 2]).set_requires_grad(true);
        let weight =
            Tensor::ones([64, 3, 3, 64], (kind, device)).permute([0, 3, 1, 2]).set_requires_grad(true);
        let start = Instant::now();
        let y = x.conv2d(&weight, None::<Tensor>, 1, 1, 1, 1).sum(Kind::Float);
        _ = Tensor::run_backward(&[y], &[&x, &weight], false, false);
        start.elapsed().as_secs_f64()
    };
    let best = (0..TRIES).fold([f64::INFINITY; 2], |best, _| {
        [best[0].min(time(Kind::Float)), best[1].min(time(Kind::BFloat16))]
    });
    best[1] < 0.9 * best[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chosen_precision_stays_and_auto_becomes_one() {
        assert_eq!(Precision::Fp32.kind(Device::Cuda(0)), Kind::Float);
        assert_eq!(Precision::Fp16.kind(Device::Cpu), Kind::Half);
        assert_eq!(Precision::Auto.kind(Device::Cuda(0)), Kind::BFloat16);
        assert_ne!(Precision::Auto.resolved(Device::Cpu), Precision::Auto);
    }
}
