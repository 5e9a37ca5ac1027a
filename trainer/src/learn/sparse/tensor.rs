//! Parameters, their moments, and Adam.

use super::lanes::LANES;
use crate::config::SparseAdam;

impl SparseAdam {
    /// `number` is the step's, from 1.
    pub fn step(&self, number: u64, rate: f32) -> SparseAdamStep {
        let correction = |beta: f32| (1.0 / (1.0 - f64::from(beta).powf(number as f64))) as f32;
        SparseAdamStep { adam: *self, rate, first: correction(self.beta1), second: correction(self.beta2) }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct SparseAdamStep {
    pub adam: SparseAdam,
    rate: f32,
    // Bias corrections of the moments.
    first: f32,
    second: f32,
}

/// A table `[rows, width]` of parameters and moments. It lies in blocks of columns `[rows, block]`, so that a pass over
/// many rows of one block stays in a core's cache.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseTensor {
    pub name: &'static str,
    /// 1 for a vector.
    pub rows: usize,
    pub width: usize,
    /// Columns per block.
    pub block: usize,
    /// Largest magnitude that quantisation can represent.
    pub clip: f32,
    /// Whether weight decay applies.
    pub decays: bool,
    pub w: Vec<f32>,
    pub m: Vec<f32>,
    pub v: Vec<f32>,
}

/// Some rows of one block.
pub struct TensorPart<'a> {
    pub block: usize,
    pub first: usize,
    /// Columns per row.
    pub width: usize,
    pub clip: f32,
    decays: bool,
    w: &'a mut [f32],
    m: &'a mut [f32],
    v: &'a mut [f32],
}

/// The largest divisor of `width` up to `limit`, preferring multiples of [`LANES`].
pub(super) fn block_of(width: usize, limit: usize) -> usize {
    let mut divisors = (1..=limit.min(width)).rev().filter(|block| width.is_multiple_of(*block));
    let greatest = divisors.clone().next().unwrap_or(1);
    divisors.find(|block| block.is_multiple_of(LANES)).unwrap_or(greatest)
}

impl SparseTensor {
    pub fn zeros(name: &'static str, [rows, width]: [usize; 2], block: usize, clip: f32) -> SparseTensor {
        let zeros = vec![0.0; rows * width];
        let (m, v) = (zeros.clone(), zeros.clone());
        SparseTensor {
            name,
            rows,
            width,
            block: block_of(width, block),
            clip,
            decays: rows > 1,
            w: zeros,
            m,
            v,
        }
    }

    /// Uniform in `centre ± radius`.
    pub fn fill(&mut self, centre: f32, radius: f32, rng: &mut fastrand::Rng) {
        // Random numbers are drawn in row order, whatever the block size.
        let random: Vec<f32> = (0..self.w.len()).map(|_| centre + radius * (2.0 * rng.f32() - 1.0)).collect();
        self.w = self.blocked(&random);
    }

    /// If all weights are multiples of 1/`steps`, moves each at random by less than half a step. One beyond the clip
    /// does not grow, and none within it leaves it.
    pub fn dither(&mut self, steps: f32, rng: &mut fastrand::Rng) {
        let is_integer = |w: &f32| (w * steps - (w * steps).round()).abs() < 1e-3;
        if self.w.iter().all(is_integer) {
            let clip = self.clip;
            let spread = |w: &f32| {
                let limit = clip.max(w.abs());
                (w + 0.998 * (rng.f32() - 0.5) / steps).clamp(-limit, limit)
            };
            let spread: Vec<f32> = self.plain(&self.w).iter().map(spread).collect();
            self.w = self.blocked(&spread);
        }
    }

    pub fn blocks(&self) -> usize {
        self.width / self.block
    }

    /// `[rows, block]`.
    pub fn weights(&self, block: usize) -> &[f32] {
        let size = self.rows * self.block;
        &self.w[block * size..][..size]
    }

    pub fn get(&self, row: usize, column: usize) -> f32 {
        self.w[(column / self.block * self.rows + row) * self.block + column % self.block]
    }

    /// Parts of at most `rows` rows, block after block.
    pub fn parts(&mut self, rows: usize) -> Vec<TensorPart<'_>> {
        let (size, chunk, width) = (self.rows * self.block, rows * self.block, self.block);
        let (clip, decays) = (self.clip, self.decays);
        let blocks = self.w.chunks_mut(size).zip(self.m.chunks_mut(size)).zip(self.v.chunks_mut(size));
        let parts = blocks.enumerate().flat_map(|(block, ((w, m), v))| {
            let parts = w.chunks_mut(chunk).zip(m.chunks_mut(chunk)).zip(v.chunks_mut(chunk));
            parts.enumerate().map(move |(index, ((w, m), v))| TensorPart {
                block,
                first: index * rows,
                width,
                clip,
                decays,
                w,
                m,
                v,
            })
        });
        parts.collect()
    }

    /// From row-major to blocks of columns, the layout of `w`.
    pub fn blocked(&self, plain: &[f32]) -> Vec<f32> {
        let block =
            |k: usize| plain.chunks(self.width).flat_map(move |row| &row[k * self.block..][..self.block]);
        (0..self.blocks()).flat_map(block).copied().collect()
    }

    /// From blocks of columns to row-major.
    pub fn plain(&self, blocked: &[f32]) -> Vec<f32> {
        let size = self.rows * self.block;
        let row = |row: usize| {
            (0..self.blocks()).flat_map(move |k| &blocked[k * size + row * self.block..][..self.block])
        };
        (0..self.rows).flat_map(row).copied().collect()
    }

    /// `gradient` has the layout of `w`.
    pub fn update(&mut self, gradient: &[f32], step: &SparseAdamStep) {
        let (rows, size) = (self.rows, self.rows * self.block);
        for (part, gradient) in self.parts(rows).iter_mut().zip(gradient.chunks(size)) {
            part.update(0..gradient.len(), gradient, step);
        }
    }
}

impl TensorPart<'_> {
    pub fn rows(&self) -> usize {
        self.w.len() / self.width
    }

    #[inline(always)]
    pub fn update_row(&mut self, row: usize, gradient: &[f32], step: &SparseAdamStep) {
        let start = row * self.width;
        self.update(start..start + self.width, gradient, step);
    }

    #[inline(always)]
    fn update(&mut self, range: std::ops::Range<usize>, gradient: &[f32], step: &SparseAdamStep) {
        let SparseAdamStep {
            adam: SparseAdam { beta1, beta2, epsilon, weight_decay, .. },
            rate,
            first,
            second,
        } = *step;
        let (w, m, v) = (&mut self.w[range.clone()], &mut self.m[range.clone()], &mut self.v[range]);
        let n = w.len();
        let (m, v, g) = (&mut m[..n], &mut v[..n], &gradient[..n]);
        let (rest1, rest2, clip) = (1.0 - beta1, 1.0 - beta2, self.clip);
        let keep = if self.decays { 1.0 - rate * weight_decay } else { 1.0 };
        let rate = rate * first;
        for i in 0..n {
            m[i] = beta1 * m[i] + rest1 * g[i];
            v[i] = beta2 * v[i] + rest2 * (g[i] * g[i]);
            let new = keep * w[i] - rate * m[i] / ((v[i] * second).sqrt() + epsilon);
            w[i] = new.max(-clip).min(clip);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_make_no_difference() {
        let mut rng = fastrand::Rng::with_seed(1);
        let plain: Vec<f32> = (0..5 * 12).map(|_| rng.f32()).collect();
        for block in [1, 4, 5, 12, 100] {
            let mut tensor = SparseTensor::zeros("test", [5, 12], block, f32::INFINITY);
            assert_eq!(tensor.block, block_of(12, block));
            tensor.w = tensor.blocked(&plain);
            assert_eq!(tensor.plain(&tensor.w), plain);
            let in_block = tensor.weights(7 / tensor.block)[3 * tensor.block + 7 % tensor.block];
            assert_eq!([tensor.get(3, 7), in_block], [plain[3 * 12 + 7]; 2]);
            let blocks = tensor.blocks();
            let parts = tensor.parts(2);
            assert_eq!(parts.len(), 3 * blocks);
            assert_eq!(parts.iter().map(TensorPart::rows).sum::<usize>(), 5 * blocks);
        }
    }

    #[test]
    fn adam_by_hand() {
        let mut tensor = SparseTensor::zeros("test", [1, 2], 2, 0.15);
        let adam = SparseAdam::default();
        tensor.update(&[0.5, -2.0], &adam.step(1, 0.1));
        // The first step has the size of the learning rate, whatever the gradient.
        assert!((tensor.w[0] + 0.1).abs() < 1e-6 && (tensor.w[1] - 0.1).abs() < 1e-6, "{:?}", tensor.w);
        tensor.update(&[0.5, 2.0], &adam.step(2, 0.1));
        // For the same gradient, the second step is as large and is clipped. For the opposite gradient, m = 0.9 ·
        // (−0.2) + 0.2 = 0.02, divided by 1 − 0.81; v averages 4.
        assert_eq!(tensor.w[0], -0.15);
        assert!((tensor.w[1] - (0.1 - 0.1 * (0.02 / 0.19) / 2.0)).abs() < 1e-5, "{:?}", tensor.w);
    }

    #[test]
    fn weight_decay_is_decoupled_and_spares_vectors() {
        let step = SparseAdam { weight_decay: 0.5, ..SparseAdam::default() }.step(1, 0.1);
        let mut table = SparseTensor::zeros("test", [2, 1], 1, f32::INFINITY);
        table.w.fill(1.0);
        table.update(&[0.0, 0.0], &step);
        assert_eq!(table.w, [0.95, 0.95]);
        let mut vector = SparseTensor::zeros("test", [1, 2], 2, f32::INFINITY);
        vector.w.fill(1.0);
        vector.update(&[0.0, 0.0], &step);
        assert_eq!(vector.w, [1.0, 1.0]);
    }
}
