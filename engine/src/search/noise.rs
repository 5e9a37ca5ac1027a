use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Gamma};

/// Dirichlet noise on the root's priors: `(1 − epsilon) · prior + epsilon · Dir(alpha)` (AlphaGo Zero, 2017).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// 0..1; 0.25 in AlphaZero.
    pub epsilon: f32,
    /// Above 0; 0.3 in AlphaZero for chess.
    pub alpha: f32,
    pub seed: u64,
}

impl Noise {
    /// Panics unless `alpha` is positive.
    pub(super) fn shares(&self, moves: usize) -> Vec<f32> {
        let mut rng = SmallRng::seed_from_u64(self.seed);
        let gamma = Gamma::new(f64::from(self.alpha), 1.0).expect("alpha is above zero");
        let draws: Vec<f64> = (0..moves).map(|_| gamma.sample(&mut rng).max(f64::MIN_POSITIVE)).collect();
        let total: f64 = draws.iter().sum();
        draws.into_iter().map(|draw| (draw / total) as f32).collect()
    }
}

/// Samples an index in proportion to `visits^(1 / temperature)`; temperature 0 gives the most visited. `None` if all
/// visits are zero.
pub fn sample_by_visits(visits: &[u64], temperature: f32, seed: u64) -> Option<usize> {
    let most = *visits.iter().max().filter(|most| **most > 0)?;
    if temperature <= 0.0 {
        return visits.iter().position(|count| *count == most);
    }
    let weight = |count: &u64| (*count as f64 / most as f64).powf(1.0 / f64::from(temperature));
    let total: f64 = visits.iter().map(weight).sum();
    let mut left = SmallRng::seed_from_u64(seed).random::<f64>() * total;
    let chosen = visits.iter().position(|count| {
        left -= weight(count);
        left < 0.0
    });
    // Rounding may leave `left` at or above 0.
    chosen.or_else(|| visits.iter().rposition(|count| *count > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_a_distribution_determined_by_its_seed() {
        let noise = |alpha, seed| Noise { epsilon: 0.25, alpha, seed }.shares(30);
        let shares = noise(0.3, 1);
        assert!((shares.iter().sum::<f32>() - 1.0).abs() < 1e-4);
        assert_eq!(shares, noise(0.3, 1));
        assert_ne!(shares, noise(0.3, 2));
        let greatest = |alpha| {
            (0..50).map(|seed| noise(alpha, seed).into_iter().fold(0.0, f32::max)).sum::<f32>() / 50.0
        };
        assert!(greatest(0.1) > 0.3 && greatest(100.0) < 0.06, "{} {}", greatest(0.1), greatest(100.0));
    }

    #[test]
    fn temperature_scales_the_influence_of_visits() {
        let visits = [10, 30, 0, 60];
        assert_eq!(sample_by_visits(&visits, 0.0, 7), Some(3));
        assert_eq!(sample_by_visits(&[0, 0], 1.0, 7), None);
        let share = |temperature: f32| {
            let hits =
                (0..2000).filter(|seed| sample_by_visits(&visits, temperature, *seed) == Some(3)).count();
            hits as f32 / 2000.0
        };
        assert!((share(1.0) - 0.6).abs() < 0.04, "{}", share(1.0));
        // Visits squared: 1 : 9 : 36.
        assert!((share(0.5) - 36.0 / 46.0).abs() < 0.04, "{}", share(0.5));
        assert!((0..2000).all(|seed| sample_by_visits(&visits, 10.0, seed) != Some(2)));
    }
}
