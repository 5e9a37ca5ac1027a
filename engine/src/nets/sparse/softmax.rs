//! Probabilities from logits, bit-identical on every machine: sums have a fixed order, and no system library is called.

const PARTS: usize = 16;

/// eˣ for `x` ≤ 0 with a relative error of about 2e-7; 0 below −87.
#[inline(always)]
fn exp(x: f32) -> f32 {
    // Adding this rounds to an integer in the lowest bits.
    const MAGIC: f32 = 12_582_912.0;
    // ln 2 in two parts; products of the first part with small integers are exact.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    let x_or_least = x.max(-88.0);
    let shifted = x_or_least * std::f32::consts::LOG2_E + MAGIC;
    let whole = shifted - MAGIC;
    let rest = x_or_least - whole * LN_2[0] - whole * LN_2[1];
    // Taylor series of e^rest for −0.35 to 0.35.
    let mut fraction = 1.0 / 5040.0;
    for factorial in [720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0] {
        fraction = fraction * rest + 1.0 / factorial;
    }
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(1.0f32.to_bits()));
    if x < -87.0 { 0.0 } else { fraction * power }
}

/// Logits are in steps of 1 / `steps`. `scratch` must hold them, rounded up to a multiple of 16.
#[inline(always)]
pub(super) fn softmax(logits: &[i32], steps: f64, scratch: &mut [f32], out: &mut [f32]) {
    let largest = logits.iter().copied().max().unwrap_or(0);
    let scale = (1.0 / steps) as f32;
    let scratch = &mut scratch[..logits.len().next_multiple_of(PARTS)];
    scratch.fill(f32::NEG_INFINITY);
    for (x, logit) in scratch.iter_mut().zip(logits) {
        *x = (logit - largest) as f32 * scale;
    }
    let mut sums = [0.0f32; PARTS];
    for part in scratch.as_chunks_mut::<PARTS>().0 {
        for (x, sum) in part.iter_mut().zip(&mut sums) {
            *x = exp(*x);
            *sum += *x;
        }
    }
    let factor = 1.0 / sums.iter().sum::<f32>();
    assert_eq!(out.len(), logits.len(), "a probability for each logit");
    for (out, x) in out.iter_mut().zip(scratch) {
        *out = *x * factor;
    }
}

#[inline(always)]
pub(super) fn softmax3(logits: [f32; 3]) -> [f32; 3] {
    let largest = logits[0].max(logits[1]).max(logits[2]);
    let powers = logits.map(|logit| exp(logit - largest));
    let factor = 1.0 / (powers[0] + powers[1] + powers[2]);
    powers.map(|power| power * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_the_library() {
        for step in 0..87_000 {
            let x = -(step as f32) / 1000.0;
            let want = f64::from(x).exp();
            assert!((f64::from(exp(x)) - want).abs() <= 3e-7 * want, "{x}: {} {want}", exp(x));
        }
        assert_eq!((exp(0.0), exp(-88.0), exp(f32::NEG_INFINITY)), (1.0, 0.0, 0.0));
    }

    #[test]
    fn shares_are_those_of_the_logits() {
        let steps = 1000.0;
        let logits: Vec<i32> = (1..=20).map(|n| (f64::from(n).ln() * steps).round() as i32).collect();
        let mut scratch = [f32::NAN; 32];
        let mut shares = [f32::NAN; 20];
        softmax(&logits, steps, &mut scratch, &mut shares);
        for (n, share) in (1..=20).zip(shares) {
            assert!((share - n as f32 / 210.0).abs() < 1e-4, "{n}: {share}");
        }
        assert!((shares.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        let shares = softmax3([0.0, 2f32.ln(), 5f32.ln()]);
        for (share, want) in shares.into_iter().zip([0.125, 0.25, 0.625]) {
            assert!((share - want).abs() < 1e-6);
        }
    }
}
