use std::fmt;
use std::str::FromStr;

use anyhow::{Context, bail};
use fastrand::Rng;

/// Weights of the best, second best … move. With fewer moves the last gets the remaining weights.
#[derive(Clone, Debug, PartialEq)]
pub struct MoveChoice(Vec<f64>);

impl Default for MoveChoice {
    /// From the lesson on imitation learning.
    fn default() -> MoveChoice {
        MoveChoice(vec![80.0, 15.0, 5.0])
    }
}

impl FromStr for MoveChoice {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<MoveChoice> {
        let weights: Result<Vec<f64>, _> = text.split([',', '/']).map(|word| word.trim().parse()).collect();
        let weights = weights.with_context(|| format!("\"{text}\" is not a list of numbers like 80,15,5"))?;
        if weights.iter().any(|weight| !weight.is_finite() || *weight < 0.0)
            || weights.iter().sum::<f64>() <= 0.0
        {
            bail!("\"{text}\": weights must not be negative, and one must be positive");
        }
        Ok(MoveChoice(weights))
    }
}

impl fmt::Display for MoveChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weights: Vec<String> = self.0.iter().map(f64::to_string).collect();
        f.write_str(&weights.join("/"))
    }
}

impl MoveChoice {
    pub fn moves(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn draw(&self, count: usize, rng: &mut Rng) -> usize {
        let mut left = rng.f64() * self.0.iter().sum::<f64>();
        for (index, weight) in self.0[..count.min(self.0.len())].iter().enumerate() {
            if left < *weight {
                return index;
            }
            left -= weight;
        }
        count.min(self.0.len()) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::record::game_rng;

    fn shares(choice: &str, count: usize) -> Vec<u32> {
        let choice: MoveChoice = choice.parse().unwrap();
        let mut rng = game_rng(1, 1, 1);
        let mut drawn = vec![0; count];
        (0..10_000).for_each(|_| drawn[choice.draw(count, &mut rng)] += 1);
        drawn.iter().map(|number| (number + 50) / 100).collect()
    }

    #[test]
    fn moves_are_chosen_by_their_weights() {
        let close = |found: Vec<u32>, expected: &[u32]| {
            assert!(found.iter().zip(expected).all(|(a, b)| a.abs_diff(*b) <= 2), "{found:?} {expected:?}");
        };
        close(shares("80,15,5", 3), &[80, 15, 5]);
        close(shares("80,15,5", 2), &[80, 20]);
        assert_eq!(shares("80,15,5", 1), [100]);
        assert_eq!(shares("100", 1), [100]);
        close(shares("1/1", 2), &[50, 50]);
    }

    #[test]
    fn unusable_weights_are_rejected() {
        for bad in ["", "a", "80,-1", "0,0", "nan", "80,,5"] {
            assert!(bad.parse::<MoveChoice>().is_err(), "{bad}");
        }
        assert_eq!(MoveChoice::default(), "80, 15, 5".parse().unwrap());
        assert_eq!(MoveChoice::default().to_string(), "80/15/5");
    }
}
