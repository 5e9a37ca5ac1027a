//! Networks that think in steps: what they keep from step to step, and when it is enough.
//!
//! A file of the family `trm` may hold a single step (FORMATS.md). Besides the position it then takes an answer so far,
//! `y` `[n, 1, d]`, and a scratchpad, `z` `[n, 64, d]`, and gives better ones, `y_out` and `z_out`, with the policy and
//! the value that the answer means. The first step takes the card's `philidor.y0` and zeros, so that the same position
//! always leads to the same thoughts.

use super::card::CardError;
use super::{Wdl, softmax};

/// Tokens of a scratchpad: the squares.
pub const TOKENS: usize = 64;

/// The most steps that anybody may ask for.
pub const MAX_STEPS: usize = 256;

/// How long a network that thinks in steps thinks about a position; of no meaning for others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Thinking {
    /// The most steps; 0 is as many as the network was trained with.
    pub steps: usize,
    /// A position whose answer has settled is thought about no longer: neither the chance of a legal move nor that of
    /// win, draw or loss has changed by more than this in its last step. 0 lets every position have all steps.
    pub epsilon: f32,
}

/// What the card of a network's single step says of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Core {
    /// `[d]`: the answer before the first step.
    first_answer: Vec<f32>,
    /// The steps that it was trained with, and that its golden answers come from.
    pub steps: usize,
}

impl Core {
    /// Reads it from a card.
    ///
    /// # Errors
    ///
    /// If a property is missing or isn't what it has to be.
    pub fn read(property: impl Fn(&str) -> Option<String>) -> Result<Core, CardError> {
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
        Ok(Core { first_answer, steps: number })
    }

    /// Numbers of an answer, and of each token of a scratchpad.
    pub fn width(&self) -> usize {
        self.first_answer.len()
    }

    /// What `n` positions' first step takes.
    pub fn begin(&self, n: usize) -> Thoughts {
        Thoughts {
            width: self.width(),
            answers: self.first_answer.repeat(n),
            scratchpads: vec![0.0; n * TOKENS * self.width()],
        }
    }
}

/// What is kept from step to step, position by position.
#[derive(Clone, Debug, PartialEq)]
pub struct Thoughts {
    width: usize,
    /// `y`, `[n, 1, d]`.
    pub answers: Vec<f32>,
    /// `z`, `[n, 64, d]`.
    pub scratchpads: Vec<f32>,
}

impl Thoughts {
    /// Positions thought about.
    pub fn len(&self) -> usize {
        self.answers.len() / self.width
    }

    /// Numbers of an answer.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Goes on with those positions only that `keep` says.
    pub fn retain(&mut self, keep: &[bool]) {
        retain_rows(&mut self.answers, self.width, keep);
        retain_rows(&mut self.scratchpads, TOKENS * self.width, keep);
    }
}

/// Keeps the rows of `size` numbers that `keep` says.
pub fn retain_rows(rows: &mut Vec<f32>, size: usize, keep: &[bool]) {
    let mut end = 0;
    for (row, _) in keep.iter().enumerate().filter(|(_, kept)| **kept) {
        rows.copy_within(row * size..(row + 1) * size, end);
        end += size;
    }
    rows.truncate(end);
}

/// What a step says of a position: the chances of its legal moves, and of win, draw and loss if the network tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Opinion(Vec<f32>);

impl Opinion {
    /// That of these logits.
    pub fn of(mut legal: Vec<f32>, wdl: Option<Wdl>) -> Opinion {
        softmax(&mut legal);
        legal.extend(wdl.into_iter().flat_map(|wdl| [wdl.win, wdl.draw, wdl.loss]));
        Opinion(legal)
    }

    /// Whether no chance is more than `epsilon` from what it was before.
    pub fn settled(&self, before: &Opinion, epsilon: f32) -> bool {
        self.0.iter().zip(&before.0).all(|(now, before)| (now - before).abs() <= epsilon)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(steps: &str, answer: &str) -> Result<Core, CardError> {
        Core::read(|name| match name {
            "philidor.steps" => Some(steps.to_owned()),
            "philidor.y0" => Some(answer.to_owned()),
            _ => None,
        })
    }

    #[test]
    fn a_core_says_where_it_begins_and_how_long_it_thinks() {
        let core = card("8", "[0.5, -1.0]").unwrap();
        assert_eq!((core.steps, core.width()), (8, 2));
        let thoughts = core.begin(3);
        assert_eq!(thoughts.answers, [0.5, -1.0, 0.5, -1.0, 0.5, -1.0]);
        assert_eq!((thoughts.scratchpads.len(), thoughts.len()), (3 * 64 * 2, 3));
        assert!(thoughts.scratchpads.iter().all(|number| *number == 0.0));
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
        assert_eq!(Core::read(|_| None), Err(CardError::Missing("philidor.steps")));
    }

    #[test]
    fn positions_leave_and_the_others_keep_their_thoughts() {
        let mut thoughts = card("1", "[0.0, 0.0]").unwrap().begin(3);
        thoughts.answers = vec![0.0, 0.5, 1.0, 1.5, 2.0, 2.5];
        for (row, pad) in thoughts.scratchpads.chunks_exact_mut(128).enumerate() {
            pad.fill(row as f32);
        }
        thoughts.retain(&[true, false, true]);
        assert_eq!(thoughts.answers, [0.0, 0.5, 2.0, 2.5]);
        assert!(thoughts.scratchpads[..128].iter().all(|number| *number == 0.0));
        assert!(thoughts.scratchpads[128..].iter().all(|number| *number == 2.0));
        assert_eq!(thoughts.len(), 2);
        thoughts.retain(&[false, false]);
        assert_eq!(thoughts.len(), 0);
    }

    #[test]
    fn an_opinion_has_settled_when_no_chance_moves() {
        let even = Opinion::of(vec![0.0, 0.0], Some(Wdl::DRAW));
        let surer = Opinion::of(vec![0.4f32.ln(), 0.6f32.ln()], Some(Wdl::DRAW));
        let other = Opinion::of(vec![0.0, 0.0], Some(Wdl { win: 0.2, draw: 0.8, loss: 0.0 }));
        assert!(even.settled(&even, 0.0));
        assert!(surer.settled(&even, 0.11) && !surer.settled(&even, 0.09));
        assert!(other.settled(&even, 0.21) && !other.settled(&even, 0.19), "the value counts too");
        let broken = Opinion::of(vec![f32::NAN, 0.0], None);
        assert!(!broken.settled(&broken, 1.0));
    }
}
