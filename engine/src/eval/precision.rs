//! The precisions of a network, and the measurement that decides between them.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use super::EvalError;
use super::session::Session;
use crate::position::Game;

/// How a network's numbers are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// Floats of 32 bits, as it was trained.
    Fp32,
    /// Integers of 8 bits inside, floats where it answers.
    Int8,
}

impl Precision {
    /// Both.
    pub const ALL: [Precision; 2] = [Precision::Fp32, Precision::Int8];

    /// The name in cards, files and options.
    pub fn name(self) -> &'static str {
        match self {
            Precision::Fp32 => "fp32",
            Precision::Int8 => "int8",
        }
    }

    /// The other one.
    pub fn other(self) -> Precision {
        match self {
            Precision::Fp32 => Precision::Int8,
            Precision::Int8 => Precision::Fp32,
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(text: &str) -> Result<Precision, String> {
        let named = |precision: &Precision| precision.name().eq_ignore_ascii_case(text);
        Precision::ALL.into_iter().find(named).ok_or_else(|| "neither fp32 nor int8".to_owned())
    }
}

/// How long a batch takes in either precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// In fp32, milliseconds.
    pub fp32_ms: f64,
    /// In int8, milliseconds.
    pub int8_ms: f64,
}

/// How much faster int8 has to be: its answers are a little worse.
const WORTH: f64 = 1.1;

/// How long the measurement takes, unless a batch takes longer.
const TIME: Duration = Duration::from_millis(60);

/// The fewest measurements of each.
const LEAST: usize = 3;

/// Beyond this a larger batch says nothing new, and takes long.
const LARGEST_BATCH: usize = 32;

impl Timing {
    /// Runs both in turn and takes the medians, so that a machine that speeds up or slows down meanwhile
    /// does so for both.
    ///
    /// # Errors
    ///
    /// If one of them fails.
    pub fn measure(fp32: &mut Session, int8: &mut Session, batch: usize) -> Result<Timing, EvalError> {
        let positions = vec![Game::new(); batch.clamp(1, LARGEST_BATCH)];
        let input = fp32.schemes().input.tensor(&positions);
        // The first run of a session sets its memory up.
        fp32.run(&input, |_| ())?;
        int8.run(&input, |_| ())?;
        let (mut slow, mut fast) = (Vec::new(), Vec::new());
        let begin = Instant::now();
        while slow.len() < LEAST || begin.elapsed() < TIME {
            for (session, times) in [(&mut *fp32, &mut slow), (&mut *int8, &mut fast)] {
                let start = Instant::now();
                session.run(&input, |_| ())?;
                times.push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
        Ok(Timing { fp32_ms: median(&mut slow), int8_ms: median(&mut fast) })
    }

    /// The precision to play with: int8 if it is worth it.
    pub fn better(self) -> Precision {
        if self.int8_ms * WORTH <= self.fp32_ms { Precision::Int8 } else { Precision::Fp32 }
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn int8_has_to_be_worth_it() {
        let better = |fp32_ms, int8_ms| Timing { fp32_ms, int8_ms }.better();
        assert_eq!(better(3.0, 1.0), Precision::Int8);
        assert_eq!(better(1.1, 1.0), Precision::Int8);
        assert_eq!(better(1.05, 1.0), Precision::Fp32, "not by a tenth");
        assert_eq!(better(1.0, 2.0), Precision::Fp32);
    }

    #[test]
    fn names_are_understood_in_any_case() {
        for precision in Precision::ALL {
            assert_eq!(precision.name().to_uppercase().parse(), Ok(precision));
            assert_eq!(precision.other().other(), precision);
        }
        assert!("fp16".parse::<Precision>().is_err());
    }
}
