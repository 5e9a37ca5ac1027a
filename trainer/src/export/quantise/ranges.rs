//! What values the tensors of a network take on real positions.

use std::collections::HashMap;

use engine::encoding::Input;
use engine::eval::Session;
use engine::position::Game;
use prost::Message;

use crate::export::quantise::plan::QuantisationPlan;

use crate::export::proto::{FLOAT, ModelProto, TensorTypeProto, TypeProto, ValueInfoProto};

/// Positions a batch.
pub const BATCH: usize = 16;

/// Bins of a histogram.
const BINS: usize = 2048;

/// Steps between the 256 values of 8 bits.
const STEPS: f32 = 255.0;

/// Limits that are tried at either end.
const LIMITS: usize = 24;

/// What the 256 values of a tensor's 8-bit form stand for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantisationRange {
    scale: f32,
    zero: u8,
}

impl QuantisationRange {
    /// From `low`, at most 0, to `high`, at least 0, with 0 itself among the values.
    fn between(low: f32, high: f32) -> QuantisationRange {
        // A tensor that was zero throughout can have any range.
        let width = if high > low { high - low } else { 1.0 };
        let scale = width / STEPS;
        QuantisationRange { scale, zero: (-low / scale).round() as u8 }
    }

    /// Of the input: its values stay exact.
    fn of_input(scheme: Input) -> QuantisationRange {
        let limit = match scheme {
            // Multiples of 1/200.
            Input::Planes72 => 255.0 / 200.0,
            // Integers: ones, and in Leela's the half-move clock.
            _ => 255.0,
        };
        QuantisationRange::between(0.0, limit)
    }

    /// A little more, so that 1 is a whole number of steps: most planes of an input hold nothing else.
    fn with_one(self) -> QuantisationRange {
        if self.scale > 1.0 {
            self
        } else {
            QuantisationRange { scale: (1.0 / self.scale).floor().recip(), ..self }
        }
    }

    /// The value of one step.
    pub fn scale(self) -> f32 {
        self.scale
    }

    /// The step that stands for zero.
    pub fn zero(self) -> u8 {
        self.zero
    }
}

/// What a tensor was seen to hold.
#[derive(Clone, Debug)]
struct ActivationHistogram {
    low: f32,
    high: f32,
    bins: Vec<u32>,
}

/// Runs the network on `games` and gives the ranges of the plan's tensors.
///
/// Values beyond a range are clipped to it; the limits are where clipping and rounding together have the least
/// mean square, which measured better than keeping everything
/// (three quarters of its divergence) and than percentiles.
///
/// # Errors
///
/// One line, if ONNX Runtime fails or a tensor is not one of the network's.
pub fn ranges(
    model: &ModelProto,
    plan: &QuantisationPlan,
    games: &[Game],
) -> Result<HashMap<String, QuantisationRange>, String> {
    let tensors = &plan.tensors;
    let mut session = Session::open(&with_outputs(model, tensors)).map_err(|error| error.to_string())?;
    let scheme = session.schemes().input;
    let mut seen: HashMap<&str, ActivationHistogram> = HashMap::new();
    for tensor in tensors {
        seen.insert(tensor, ActivationHistogram { low: 0.0, high: 0.0, bins: vec![0; BINS] });
    }
    // The bins need to know how far they have to reach.
    for look in [ActivationHistogram::widen, ActivationHistogram::count] {
        for batch in games.chunks(BATCH) {
            let take = |name: &str, data: &[f32]| {
                if let Some(seen) = seen.get_mut(name) {
                    look(seen, data);
                }
            };
            session.run_all(&scheme.tensor(batch), take).map_err(|error| error.to_string())?;
        }
    }
    let range = |name: &str, seen: ActivationHistogram| {
        if name == plan.input { seen.range().with_one() } else { seen.range() }
    };
    let ranges = seen.into_iter().map(|(name, seen)| (name.to_owned(), range(name, seen)));
    Ok(ranges.chain([("input".to_owned(), QuantisationRange::of_input(scheme))]).collect())
}

/// The file with `tensors` as further outputs, where they aren't outputs already.
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
        // Zero is exact in every range.
        for x in data.iter().filter(|x| **x != 0.0) {
            self.bins[(((x - self.low) * scale) as usize).min(BINS - 1)] += 1;
        }
    }

    /// Where rounding and clipping together cost the least mean square.
    fn range(&self) -> QuantisationRange {
        let limits = || (1..=LIMITS).map(|part| part as f32 / LIMITS as f32);
        let lows = limits().map(|part| self.low * part).skip(if self.low < 0.0 { 0 } else { LIMITS - 1 });
        let pairs = lows.flat_map(|low| limits().map(move |part| (low, self.high * part)));
        let best = pairs.min_by(|a, b| self.cost(*a).total_cmp(&self.cost(*b)));
        let (low, high) = best.unwrap_or((self.low, self.high));
        QuantisationRange::between(low, high)
    }

    /// The sum of squared changes if values are kept from `low` to `high`.
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

    fn seen(data: &[f32]) -> ActivationHistogram {
        let mut seen = ActivationHistogram { low: 0.0, high: 0.0, bins: vec![0; BINS] };
        seen.widen(data);
        seen.count(data);
        seen
    }

    #[test]
    fn zero_is_one_of_the_values() {
        let range = QuantisationRange::between(-1.0, 2.0);
        assert_eq!((range.zero(), range.scale()), (85, 3.0 / 255.0));
        assert_eq!(QuantisationRange::between(0.0, 0.0).zero(), 0);
        let exact = QuantisationRange::between(0.0, 1.5).with_one();
        assert!((1.0 / exact.scale()).fract() < 1e-4, "{exact:?}");
        let wide = QuantisationRange::between(0.0, 1000.0);
        assert_eq!(wide.with_one().scale(), wide.scale(), "1 is less than a step");
    }

    #[test]
    fn evenly_spread_values_are_all_kept_and_a_lonely_one_is_not() {
        let even: Vec<f32> = (-100..=300).map(|x| x as f32 / 100.0).collect();
        let range = seen(&even).range();
        assert!((range.scale() - 4.0 / 255.0).abs() < 0.05 * 4.0 / 255.0, "{range:?}");
        assert!(range.zero().abs_diff(64) <= 2, "{range:?}");
        let mut lonely = even.repeat(2000);
        lonely.push(12.0);
        let range = seen(&lonely).range();
        assert!(range.scale() < 7.0 / 255.0, "{range:?}");
    }
}
