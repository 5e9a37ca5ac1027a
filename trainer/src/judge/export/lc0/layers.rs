//! Decodes the layers of an lc0 file and folds BatchNorm into convolutions.

use anyhow::{Context, Result, bail, ensure};

use super::proto::{ProtoConvBlock, ProtoLayer};

/// Added to BatchNorm's variance, as in lc0.
const EPSILON: f32 = 1e-5;

/// Stride 1; padding keeps the board's size.
#[derive(Clone, Debug, PartialEq)]
pub struct Lc0Conv {
    /// `[out, in, kernel, kernel]`
    pub weight: Vec<f32>,
    /// `[out]`
    pub bias: Vec<f32>,
    pub kernel: usize,
}

impl Lc0Conv {
    pub fn out(&self) -> usize {
        self.bias.len()
    }

    pub fn first(mut self, out: usize) -> Lc0Conv {
        let row = self.weight.len() / self.out();
        self.weight.truncate(out * row);
        self.bias.truncate(out);
        self
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Lc0Dense {
    /// `[out, in]`
    pub weight: Vec<f32>,
    /// `[out]`
    pub bias: Vec<f32>,
}

impl Lc0Dense {
    pub fn out(&self) -> usize {
        self.bias.len()
    }

    pub fn rows(&self, range: std::ops::Range<usize>) -> Lc0Dense {
        let row = self.weight.len() / self.out();
        Lc0Dense {
            weight: self.weight[range.start * row..range.end * row].to_vec(),
            bias: self.bias[range].to_vec(),
        }
    }
}

/// `place` names the layer in errors.
pub fn conv(block: Option<&ProtoConvBlock>, place: &str, inputs: usize, kernel: usize) -> Result<Lc0Conv> {
    let block = block.with_context(|| format!("{place} is missing"))?;
    let part = |layer: &Option<ProtoLayer>, part: &str| numbers(layer.as_ref(), &format!("{place}.{part}"));
    let mut weight = part(&block.weights, "weights")?;
    let row = inputs * kernel * kernel;
    ensure!(
        !weight.is_empty() && weight.len().is_multiple_of(row),
        "{place}.weights has {} numbers, expected a multiple of {row}",
        weight.len()
    );
    let out = weight.len() / row;
    let sized = |layer: &Option<ProtoLayer>, name: &str, default: f32| {
        if layer.as_ref().is_none_or(ProtoLayer::is_empty) {
            return Ok(vec![default; out]);
        }
        part(layer, name).and_then(|numbers| exactly(numbers, out, &format!("{place}.{name}")))
    };
    let mut bias = sized(&block.biases, "biases", 0.0)?;
    if block.bn_means.as_ref().is_some_and(|means| !means.is_empty()) {
        let means = sized(&block.bn_means, "bn_means", 0.0)?;
        let variances = sized(&block.bn_stddivs, "bn_stddivs", 1.0)?;
        let gammas = sized(&block.bn_gammas, "bn_gammas", 1.0)?;
        let betas = sized(&block.bn_betas, "bn_betas", 0.0)?;
        for (channel, weights) in weight.chunks_exact_mut(row).enumerate() {
            let scale = gammas[channel] / (variances[channel] + EPSILON).sqrt();
            weights.iter_mut().for_each(|x| *x *= scale);
            bias[channel] = (bias[channel] - means[channel]) * scale + betas[channel];
        }
    }
    Ok(Lc0Conv { weight, bias, kernel })
}

pub fn dense(
    (weight, weight_place): (&Option<ProtoLayer>, &str),
    (bias, bias_place): (&Option<ProtoLayer>, &str),
    inputs: usize,
) -> Result<Lc0Dense> {
    let bias = numbers(bias.as_ref(), bias_place)?;
    let weight = exactly(numbers(weight.as_ref(), weight_place)?, inputs * bias.len(), weight_place)?;
    Ok(Lc0Dense { weight, bias })
}

fn exactly(numbers: Vec<f32>, expected: usize, place: &str) -> Result<Vec<f32>> {
    ensure!(numbers.len() == expected, "{place} has {} numbers, expected {expected}", numbers.len());
    Ok(numbers)
}

impl ProtoLayer {
    fn is_empty(&self) -> bool {
        self.params.as_ref().is_none_or(Vec::is_empty)
    }
}

/// Decodes as lc0 does (`utils/weights_adapter.cc`).
fn numbers(layer: Option<&ProtoLayer>, place: &str) -> Result<Vec<f32>> {
    let layer = layer.filter(|layer| !layer.is_empty()).with_context(|| format!("{place} is missing"))?;
    let bytes = layer.params.as_deref().unwrap_or_default();
    let encoding = layer.encoding.unwrap_or(LINEAR16);
    let size = if encoding == FLOAT32 { 4 } else { 2 };
    ensure!(
        bytes.len().is_multiple_of(size),
        "{place} has {} bytes, expected a multiple of {size}",
        bytes.len()
    );
    let words = || bytes.as_chunks::<2>().0.iter().map(|bytes| u16::from_le_bytes(*bytes));
    let (min, max) = (layer.min_val.unwrap_or(0.0), layer.max_val.unwrap_or(0.0));
    let linear = |word: u16| {
        let fraction = f32::from(word) / f32::from(u16::MAX);
        min * (1.0 - fraction) + max * fraction
    };
    let numbers: Vec<f32> = match encoding {
        LINEAR16 => words().map(linear).collect(),
        FLOAT16 => words().map(half).collect(),
        BFLOAT16 => words().map(|word| f32::from_bits(u32::from(word) << 16)).collect(),
        FLOAT32 => bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(),
        other => bail!("{place} is in encoding {other}, expected 1 to 4"),
    };
    ensure!(numbers.iter().all(|x| x.is_finite()), "{place} has a number that is not finite");
    Ok(numbers)
}

const LINEAR16: i32 = 1;
const FLOAT16: i32 = 2;
const BFLOAT16: i32 = 3;
const FLOAT32: i32 = 4;

fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    sign * match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2f32.powi(exponent - 25),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(numbers: &[f32]) -> Option<ProtoLayer> {
        let params = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        Some(ProtoLayer { params: Some(params), encoding: Some(FLOAT32), ..ProtoLayer::default() })
    }

    #[test]
    fn numbers_are_read_in_every_encoding() {
        let read = |words: &[u16], encoding, range: Option<(f32, f32)>| {
            let params = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let (min_val, max_val) = range.unzip();
            numbers(Some(&ProtoLayer { min_val, max_val, params: Some(params), encoding }), "it").unwrap()
        };
        assert_eq!(read(&[0, 65535, 13107], None, Some((-1.0, 4.0))), [-1.0, 4.0, 0.0]);
        let halves = [0x3c00, 0xc000, 0x3555, 0x0001, 0x7bff];
        let expected = [1.0, -2.0, 0.333_251_95, 5.960_464_5e-8, 65504.0];
        assert_eq!(read(&halves, Some(FLOAT16), None), expected);
        assert_eq!(read(&[0x3f80, 0xc049], Some(BFLOAT16), None), [1.0, -3.140_625]);
        assert_eq!(numbers(layer(&[1.5, -2.0]).as_ref(), "it").unwrap(), [1.5, -2.0]);
    }

    #[test]
    fn errors_name_the_layer() {
        let error =
            |layer: Option<ProtoLayer>| numbers(layer.as_ref(), "value.weights").unwrap_err().to_string();
        assert_eq!(error(None), "value.weights is missing");
        let odd = ProtoLayer { params: Some(vec![0; 3]), ..ProtoLayer::default() };
        assert_eq!(error(Some(odd)), "value.weights has 3 bytes, expected a multiple of 2");
        let foreign = ProtoLayer { params: Some(vec![0; 4]), encoding: Some(9), ..ProtoLayer::default() };
        assert_eq!(error(Some(foreign)), "value.weights is in encoding 9, expected 1 to 4");
        assert_eq!(error(layer(&[f32::NAN])), "value.weights has a number that is not finite");
        let short = dense((&layer(&[1.0; 5]), "ip1_val_w"), (&layer(&[0.0; 2]), "ip1_val_b"), 3);
        assert_eq!(short.unwrap_err().to_string(), "ip1_val_w has 5 numbers, expected 6");
    }

    #[test]
    fn batch_norm_is_folded_into_the_convolution() {
        let block = ProtoConvBlock {
            weights: layer(&[2.0, 3.0]),
            biases: layer(&[0.5]),
            bn_means: layer(&[1.5]),
            bn_stddivs: layer(&[0.25 - EPSILON]),
            bn_gammas: layer(&[3.0]),
            bn_betas: layer(&[0.125]),
        };
        // ((2a + 3b + 0.5) − 1.5) · 3/0.5 + 0.125
        let folded = conv(Some(&block), "input", 2, 1).unwrap();
        let close =
            |ours: &[f32], expected: &[f32]| ours.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4);
        assert!(close(&folded.weight, &[12.0, 18.0]) && close(&folded.bias, &[-5.875]), "{folded:?}");
        let bare = ProtoConvBlock { weights: layer(&[2.0, 3.0]), ..ProtoConvBlock::default() };
        assert_eq!(conv(Some(&bare), "input", 1, 1).unwrap().bias, [0.0, 0.0]);
    }
}
