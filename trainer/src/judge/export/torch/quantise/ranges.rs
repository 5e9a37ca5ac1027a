//! Calibration: activation ranges on positions of games.

use std::collections::HashMap;

use anyhow::Result;
use engine::chess::position::Game;
use engine::nets::encoding::Input;
use engine::nets::onnx::OnnxSession;
use prost::Message;

use super::plan::QuantisationPlan;
use engine::nets::onnx_file::proto::{FLOAT, ModelProto, TensorTypeProto, TypeProto, ValueInfoProto};

pub const BATCH: usize = 16;

const BINS: usize = 2048;

/// Steps between the 256 values of 8 bits.
const STEPS: f32 = 255.0;

/// Clipping limits tried at each end.
const LIMITS: usize = 24;

/// Unsigned 8-bit quantisation: value = scale · (integer − zero).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantisationRange {
    scale: f32,
    zero: u8,
}

impl QuantisationRange {
    /// Covers `low` (≤ 0) to `high` (≥ 0); 0 is exact.
    fn between(low: f32, high: f32) -> QuantisationRange {
        // An all-zero tensor can have any range.
        let width = if high > low { high - low } else { 1.0 };
        let scale = width / STEPS;
        QuantisationRange { scale, zero: (-low / scale).round() as u8 }
    }

    /// The network's input values are exact in this range.
    fn of_input(scheme: Input) -> QuantisationRange {
        let limit = match scheme {
            // Multiples of 1/200.
            Input::Planes72 => 255.0 / 200.0,
            // Integers: ones, and the half-move clock in lc0's input.
            _ => 255.0,
        };
        QuantisationRange::between(0.0, limit)
    }

    /// Enlarges the range so that 1 is a whole number of steps, because most input planes are binary.
    fn with_one(self) -> QuantisationRange {
        if self.scale > 1.0 {
            self
        } else {
            QuantisationRange { scale: (1.0 / self.scale).floor().recip(), ..self }
        }
    }

    pub fn scale(self) -> f32 {
        self.scale
    }

    pub fn zero(self) -> u8 {
        self.zero
    }
}

#[derive(Clone, Debug)]
struct ActivationHistogram {
    low: f32,
    high: f32,
    bins: Vec<u32>,
}

/// Values outside a range are clipped; its limits minimise the mean squared error of clipping and rounding together.
/// This measured better than percentiles and than the full range (three quarters of its policy divergence).
pub fn ranges(
    model: &ModelProto,
    plan: &QuantisationPlan,
    games: &[Game],
) -> Result<HashMap<String, QuantisationRange>> {
    let tensors = &plan.tensors;
    let mut session = OnnxSession::open(&with_outputs(model, tensors))?;
    let scheme = session.schemes().input;
    let mut histograms: HashMap<&str, ActivationHistogram> = HashMap::new();
    for tensor in tensors {
        histograms.insert(tensor, ActivationHistogram { low: 0.0, high: 0.0, bins: vec![0; BINS] });
    }
    // The first pass finds the histograms' limits, the second fills their bins.
    for update in [ActivationHistogram::widen, ActivationHistogram::count] {
        for batch in games.chunks(BATCH) {
            let take = |name: &str, data: &[f32]| {
                if let Some(histogram) = histograms.get_mut(name) {
                    update(histogram, data);
                }
            };
            session.run_all(&scheme.tensor(batch), take)?;
        }
    }
    let range = |name: &str, histogram: ActivationHistogram| {
        if name == plan.input { histogram.range().with_one() } else { histogram.range() }
    };
    let ranges = histograms.into_iter().map(|(name, histogram)| (name.to_owned(), range(name, histogram)));
    Ok(ranges.chain([("input".to_owned(), QuantisationRange::of_input(scheme))]).collect())
}

/// The model's file with `tensors` as additional outputs.
pub fn with_outputs(model: &ModelProto, tensors: &[String]) -> Vec<u8> {
    let mut model = model.clone();
    let graph = model.graph.get_or_insert_default();
    let known = |name: &String| name == "input" || graph.output.iter().any(|output| output.name == *name);
    let new: Vec<&String> = tensors.iter().filter(|name| !known(name)).collect();
    for name in new {
        let float = TensorTypeProto { elem_type: FLOAT, shape: None };
        graph.output.push(ValueInfoProto {
            name: name.clone(),
            r#type: Some(TypeProto { tensor_type: Some(float) }),
        });
    }
    model.encode_to_vec()
}

impl ActivationHistogram {
    fn widen(&mut self, data: &[f32]) {
        self.low = data.iter().copied().fold(self.low, f32::min);
        self.high = data.iter().copied().fold(self.high, f32::max);
    }

    fn count(&mut self, data: &[f32]) {
        let scale = BINS as f32 / (self.high - self.low).max(f32::MIN_POSITIVE);
        for x in data.iter().filter(|x| **x != 0.0) {
            self.bins[(((x - self.low) * scale) as usize).min(BINS - 1)] += 1;
        }
    }

    /// The range with the least squared error of rounding and clipping.
    fn range(&self) -> QuantisationRange {
        let limits = || (1..=LIMITS).map(|part| part as f32 / LIMITS as f32);
        let lows = limits().map(|part| self.low * part).skip(if self.low < 0.0 { 0 } else { LIMITS - 1 });
        let pairs = lows.flat_map(|low| limits().map(move |part| (low, self.high * part)));
        let best = pairs.min_by(|a, b| self.cost(*a).total_cmp(&self.cost(*b)));
        let (low, high) = best.unwrap_or((self.low, self.high));
        QuantisationRange::between(low, high)
    }

    /// Sum of squared errors of clipping to `low`..`high` and rounding.
    fn cost(&self, (low, high): (f32, f32)) -> f64 {
        let width = (self.high - self.low) / BINS as f32;
        let rounding = f64::from((high - low) / STEPS).powi(2) / 12.0;
        let of_bin = |(place, count): (usize, &u32)| {
            let x = self.low + (place as f32 + 0.5) * width;
            let over = f64::from((low - x).max(x - high).max(0.0));
            f64::from(*count) * if over > 0.0 { over * over } else { rounding }
        };
        self.bins.iter().enumerate().filter(|(_, count)| **count > 0).map(of_bin).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(data: &[f32]) -> ActivationHistogram {
        let mut histogram = ActivationHistogram { low: 0.0, high: 0.0, bins: vec![0; BINS] };
        histogram.widen(data);
        histogram.count(data);
        histogram
    }

    #[test]
    fn zero_is_exact() {
        let range = QuantisationRange::between(-1.0, 2.0);
        assert_eq!((range.zero(), range.scale()), (85, 3.0 / 255.0));
        assert_eq!(QuantisationRange::between(0.0, 0.0).zero(), 0);
        let exact = QuantisationRange::between(0.0, 1.5).with_one();
        assert!((1.0 / exact.scale()).fract() < 1e-4, "{exact:?}");
        let wide = QuantisationRange::between(0.0, 1000.0);
        assert_eq!(wide.with_one().scale(), wide.scale(), "1 is smaller than a step");
    }

    #[test]
    fn uniform_values_are_not_clipped_and_an_outlier_is() {
        let even: Vec<f32> = (-100..=300).map(|x| x as f32 / 100.0).collect();
        let range = histogram(&even).range();
        assert!((range.scale() - 4.0 / 255.0).abs() < 0.05 * 4.0 / 255.0, "{range:?}");
        assert!(range.zero().abs_diff(64) <= 2, "{range:?}");
        let mut outlier = even.repeat(2000);
        outlier.push(12.0);
        let range = histogram(&outlier).range();
        assert!(range.scale() < 7.0 / 255.0, "{range:?}");
    }
}
