//! Recurrent networks: the state that steps pass on, and when to stop.
//!
//! A file of the family `trm` may hold a single step (`docs/formats.md`). Besides the position it takes the answer so
//! far, `y` `[n, 1, d]`, and a scratchpad, `z` `[n, 64, d]`. It returns both refined, `y_out` and `z_out`, with the
//! policy and value read off the answer. The first step takes the card's `philidor.y0` and zeros.

use crate::nets::eval::{CardError, Wdl, softmax};

/// Tokens of a scratchpad: one per square.
pub const TOKENS: usize = 64;

pub const MAX_STEPS: usize = 256;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepLimits {
    /// Most steps; 0 means as many as in training.
    pub steps: usize,
    /// A position stops when no probability (legal moves, WDL) changed by more than this in the last step. 0 never
    /// stops early.
    pub epsilon: f32,
}

/// Card entries of a single-step file.
#[derive(Clone, Debug, PartialEq)]
pub struct StepCard {
    /// `y0`, `[d]`: the answer before the first step.
    first_answer: Vec<f32>,
    /// Steps in training, after which the golden answers are taken.
    pub steps: usize,
}

impl StepCard {
    pub fn read(property: impl Fn(&str) -> Option<String>) -> Result<StepCard, CardError> {
        let get = |name: &'static str| property(name).ok_or(CardError::Missing(name));
        let wrong = |property: &'static str, found: String, expected: String| {
            let found = found.chars().take(40).collect();
            CardError::Unknown { property, found, expected }
        };
        let steps = get("philidor.steps")?;
        let number = steps.parse().ok().filter(|number| (1..=MAX_STEPS).contains(number));
        let expected = || format!("a whole number from 1 to {MAX_STEPS}");
        let number = number.ok_or_else(|| wrong("philidor.steps", steps, expected()))?;
        let answer = get("philidor.y0")?;
        let numbers = serde_json::from_str(&answer).ok();
        let numbers = numbers.filter(|numbers: &Vec<f32>| numbers.iter().all(|number| number.is_finite()));
        let numbers = numbers.filter(|numbers| !numbers.is_empty());
        let first_answer =
            numbers.ok_or_else(|| wrong("philidor.y0", answer, "a list of numbers".to_owned()))?;
        Ok(StepCard { first_answer, steps: number })
    }

    /// `d`: floats of an answer and of each token.
    pub fn width(&self) -> usize {
        self.first_answer.len()
    }

    pub fn initial_state(&self, n: usize) -> RecurrentState {
        RecurrentState {
            width: self.width(),
            answers: self.first_answer.repeat(n),
            scratchpads: vec![0.0; n * TOKENS * self.width()],
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct RecurrentState {
    width: usize,
    /// `y`, `[n, 1, d]`.
    pub answers: Vec<f32>,
    /// `z`, `[n, 64, d]`.
    pub scratchpads: Vec<f32>,
}

impl RecurrentState {
    pub fn len(&self) -> usize {
        self.answers.len() / self.width
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn retain(&mut self, keep: &[bool]) {
        retain_rows(&mut self.answers, self.width, keep);
        retain_rows(&mut self.scratchpads, TOKENS * self.width, keep);
    }
}

pub fn retain_rows(rows: &mut Vec<f32>, size: usize, keep: &[bool]) {
    let mut end = 0;
    for (row, _) in keep.iter().enumerate().filter(|(_, kept)| **kept) {
        rows.copy_within(row * size..(row + 1) * size, end);
        end += size;
    }
    rows.truncate(end);
}

/// Probabilities of the legal moves, then WDL if the network has a value.
#[derive(Clone, Debug, PartialEq)]
pub struct StepProbabilities(Vec<f32>);

impl StepProbabilities {
    pub fn of(mut legal: Vec<f32>, wdl: Option<Wdl>) -> StepProbabilities {
        softmax(&mut legal);
        legal.extend(wdl.into_iter().flat_map(|wdl| [wdl.win, wdl.draw, wdl.loss]));
        StepProbabilities(legal)
    }

    pub fn settled(&self, before: &StepProbabilities, epsilon: f32) -> bool {
        self.0.iter().zip(&before.0).all(|(now, before)| (now - before).abs() <= epsilon)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(steps: &str, answer: &str) -> Result<StepCard, CardError> {
        StepCard::read(|name| match name {
            "philidor.steps" => Some(steps.to_owned()),
            "philidor.y0" => Some(answer.to_owned()),
            _ => None,
        })
    }

    #[test]
    fn a_card_gives_the_initial_state_and_the_number_of_steps() {
        let step = card("8", "[0.5, -1.0]").unwrap();
        assert_eq!((step.steps, step.width()), (8, 2));
        let state = step.initial_state(3);
        assert_eq!(state.answers, [0.5, -1.0, 0.5, -1.0, 0.5, -1.0]);
        assert_eq!((state.scratchpads.len(), state.len()), (3 * 64 * 2, 3));
        assert!(state.scratchpads.iter().all(|number| *number == 0.0));
        for (steps, answer, complaint) in [
            ("0", "[1.0]", "philidor.steps is \"0\", expected a whole number from 1 to 256"),
            ("257", "[1.0]", "philidor.steps is \"257\", expected a whole number from 1 to 256"),
            ("many", "[1.0]", "philidor.steps is \"many\", expected a whole number from 1 to 256"),
            ("8", "[]", "philidor.y0 is \"[]\", expected a list of numbers"),
            ("8", "[1e99]", "philidor.y0 is \"[1e99]\", expected a list of numbers"),
            ("8", "{}", "philidor.y0 is \"{}\", expected a list of numbers"),
        ] {
            assert_eq!(card(steps, answer).unwrap_err().to_string(), complaint);
        }
        assert_eq!(StepCard::read(|_| None), Err(CardError::Missing("philidor.steps")));
    }

    #[test]
    fn dropping_positions_keeps_the_state_of_the_others() {
        let mut state = card("1", "[0.0, 0.0]").unwrap().initial_state(3);
        state.answers = vec![0.0, 0.5, 1.0, 1.5, 2.0, 2.5];
        for (row, pad) in state.scratchpads.chunks_exact_mut(128).enumerate() {
            pad.fill(row as f32);
        }
        state.retain(&[true, false, true]);
        assert_eq!(state.answers, [0.0, 0.5, 2.0, 2.5]);
        assert!(state.scratchpads[..128].iter().all(|number| *number == 0.0));
        assert!(state.scratchpads[128..].iter().all(|number| *number == 2.0));
        assert_eq!(state.len(), 2);
        state.retain(&[false, false]);
        assert_eq!(state.len(), 0);
    }

    #[test]
    fn probabilities_have_settled_when_none_changes() {
        let even = StepProbabilities::of(vec![0.0, 0.0], Some(Wdl::DRAW));
        let surer = StepProbabilities::of(vec![0.4f32.ln(), 0.6f32.ln()], Some(Wdl::DRAW));
        let other = StepProbabilities::of(vec![0.0, 0.0], Some(Wdl { win: 0.2, draw: 0.8, loss: 0.0 }));
        assert!(even.settled(&even, 0.0));
        assert!(surer.settled(&even, 0.11) && !surer.settled(&even, 0.09));
        assert!(other.settled(&even, 0.21) && !other.settled(&even, 0.19), "the value counts too");
        let broken = StepProbabilities::of(vec![f32::NAN, 0.0], None);
        assert!(!broken.settled(&broken, 1.0));
    }
}
