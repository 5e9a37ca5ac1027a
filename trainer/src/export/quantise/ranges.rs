//! What values the tensors of a network take on real positions.

use std::collections::HashMap;

use engine::encoding::Input;
use engine::eval::Session;
use engine::position::Game;
use prost::Message;

use super::plan::Plan;

use crate::export::proto::{FLOAT, Model, TensorType, Type, ValueInfo};

/// Positions a batch.
pub const BATCH: usize = 16;

/// Bins of a histogram of absolute values.
const BINS: usize = 2048;

/// The range of values that a tensor's 8-bit form has to tell apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Nothing is below zero.
    pub unsigned: bool,
    /// The largest absolute value that is kept; larger ones are clipped to it.
    pub limit: f32,
}

impl Range {
    /// Of the input: its values stay exact.
    fn of_input(scheme: Input) -> Range {
        let limit = match scheme {
            // Multiples of 1/200.
            Input::Planes72 => 255.0 / 200.0,
            // Integers: ones, and in Leela's the half-move clock.
            _ => 255.0,
        };
        Range { unsigned: true, limit }
    }

    /// A little more, so that 1 is a whole number of steps: most planes of an input hold nothing else.
    fn with_one(self) -> Range {
        Range { limit: self.steps() / (self.steps() / self.limit).floor().max(1.0), ..self }
    }

    /// The value of one step.
    pub fn scale(self) -> f32 {
        self.limit / self.steps()
    }

    /// The step that stands for zero.
    pub fn zero(self) -> u8 {
        if self.unsigned { 0 } else { 128 }
    }

    fn steps(self) -> f32 {
        if self.unsigned { 255.0 } else { 127.0 }
    }
}

/// What a tensor was seen to hold.
#[derive(Clone, Debug)]
struct Seen {
    low: f32,
    high: f32,
    bins: Vec<u32>,
}

/// Runs the network on `games` and gives the ranges of the plan's tensors.
///
/// Values beyond a range are clipped to it; the limit is where clipping and rounding together have the least
/// mean square, which measured better than keeping everything
/// (three quarters of its divergence) and than percentiles.
///
/// # Errors
///
/// One line, if ONNX Runtime fails or a tensor is not one of the network's.
pub fn ranges(model: &Model, plan: &Plan, games: &[Game]) -> Result<HashMap<String, Range>, String> {
    let tensors = &plan.tensors;
    let mut session = Session::open(&with_outputs(model, tensors)).map_err(|error| error.to_string())?;
    let scheme = session.schemes().input;
    let mut seen: HashMap<&str, Seen> = HashMap::new();
    for tensor in tensors {
        seen.insert(tensor, Seen { low: 0.0, high: 0.0, bins: vec![0; BINS] });
    }
    // The bins need to know how far they have to reach.
    for look in [Seen::widen, Seen::count] {
        for batch in games.chunks(BATCH) {
            let take = |name: &str, data: &[f32]| {
                if let Some(seen) = seen.get_mut(name) {
                    look(seen, data);
                }
            };
            session.run_all(&scheme.tensor(batch), take).map_err(|error| error.to_string())?;
        }
    }
    let range =
        |name: &str, seen: Seen| if name == plan.input { seen.range().with_one() } else { seen.range() };
    let ranges = seen.into_iter().map(|(name, seen)| (name.to_owned(), range(name, seen)));
    Ok(ranges.chain([("input".to_owned(), Range::of_input(scheme))]).collect())
}

/// The file with `tensors` as further outputs, where they aren't outputs already.
pub fn with_outputs(model: &Model, tensors: &[String]) -> Vec<u8> {
    let mut model = model.clone();
    let graph = model.graph.get_or_insert_default();
    let known = |name: &String| name == "input" || graph.output.iter().any(|output| output.name == *name);
    let new: Vec<&String> = tensors.iter().filter(|name| !known(name)).collect();
    for name in new {
        let float = TensorType { elem_type: FLOAT, shape: None };
        graph.output.push(ValueInfo { name: name.clone(), r#type: Some(Type { tensor_type: Some(float) }) });
    }
    model.encode_to_vec()
}

impl Seen {
    fn widen(&mut self, data: &[f32]) {
        self.low = data.iter().copied().fold(self.low, f32::min);
        self.high = data.iter().copied().fold(self.high, f32::max);
    }

    fn largest(&self) -> f32 {
        self.high.max(-self.low)
    }

    fn count(&mut self, data: &[f32]) {
        let scale = BINS as f32 / self.largest().max(f32::MIN_POSITIVE);
        for x in data {
            self.bins[((x.abs() * scale) as usize).min(BINS - 1)] += 1;
        }
    }

    fn range(&self) -> Range {
        let range = Range { unsigned: self.low >= 0.0, limit: self.largest() };
        let limit = range.limit * self.best_clip(range.steps()) as f32 / BINS as f32;
        // A tensor that was zero throughout can have any range.
        Range { limit: if limit > 0.0 { limit } else { 1.0 }, ..range }
    }

    /// The number of bins to keep so that rounding and clipping together cost the least mean square.
    fn best_clip(&self, steps: f32) -> usize {
        let cost = |kept: usize| {
            let step = kept as f64 / f64::from(steps);
            let inside: f64 =
                self.bins[1..kept].iter().map(|count| f64::from(*count)).sum::<f64>() * step * step / 12.0;
            let outside: f64 = self.bins[kept..]
                .iter()
                .zip(0..)
                .map(|(count, over)| f64::from(*count) * (f64::from(over) + 0.5).powi(2))
                .sum();
            inside + outside
        };
        (BINS / 8..=BINS).step_by(8).min_by(|a, b| cost(*a).total_cmp(&cost(*b))).unwrap_or(BINS)
    }
}
