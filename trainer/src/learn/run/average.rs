//! How the averaged weights, which are validated and exported, follow the network's.

use super::TrainProgress;
use crate::config::RunConfig;

/// What a step does to the averaged weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AverageUpdate {
    /// They become the network's weights.
    Same,
    /// They move this share of the way to the network's weights.
    Towards(f64),
}

impl TrainProgress {
    /// Switches the average to the arithmetic mean over the following steps (stochastic weight averaging, Izmailov et
    /// al. 2018, but BatchNorm's statistics are averaged instead of recomputed).
    pub fn start_swa(&mut self) {
        self.swa_steps = self.swa_steps.max(1);
    }

    /// Returns the update after the step just counted; none where a learner that updates its average every `every`
    /// steps leaves it as it is.
    pub fn average_update(&mut self, config: &RunConfig, every: u64) -> Option<AverageUpdate> {
        if self.swa_steps > 0 {
            self.swa_steps += 1;
            return Some(AverageUpdate::Towards(1.0 / (self.swa_steps - 1) as f64));
        }
        if !config.averages() {
            return Some(AverageUpdate::Same);
        }
        // During the first steps from random weights the average follows the network at every step.
        if !self.step.is_multiple_of(every) && (self.trained || self.step >= every) {
            return None;
        }
        Some(self.towards(config, every))
    }

    /// Returns the update at a run's end for the steps since the last one; none if there are none.
    pub fn last_average_update(&self, config: &RunConfig, every: u64) -> Option<AverageUpdate> {
        let steps = self.step % every;
        let is_open = self.swa_steps == 0 && config.averages() && (self.trained || self.step >= every);
        (is_open && steps > 0).then(|| self.towards(config, steps))
    }

    fn towards(&self, config: &RunConfig, steps: u64) -> AverageUpdate {
        let most = if self.trained { f64::INFINITY } else { 0.1 * self.samples as f64 };
        let share = steps as f64 * config.step_samples as f64 / config.average_samples.min(most);
        AverageUpdate::Towards(share.min(1.0))
    }
}

/// What to warn of when a run that begins with trained weights is too short for its average.
pub fn little_averaged(config: &RunConfig) -> Option<String> {
    let (samples, averaged) = (config.samples, config.average_samples);
    let is_short = config.minutes == 0.0 && config.swa_from >= 1.0 && (samples as f64) < 2.0 * averaged;
    is_short.then(|| {
        format!(
            "{samples} samples, averaged over {averaged:.0} (average_samples): the averaged weights will be largely \
             those that the run begins with"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::AverageUpdate::{Same, Towards};
    use super::*;

    fn config() -> RunConfig {
        let (step_samples, average_samples) = (10, 1000.0);
        RunConfig { step_samples, average_samples, swa_from: 1.0, ..RunConfig::default() }
    }

    fn after(step: u64, trained: bool, config: &RunConfig, every: u64) -> Option<AverageUpdate> {
        let mut progress = TrainProgress { step, samples: 10 * step, trained, ..TrainProgress::default() };
        progress.average_update(config, every)
    }

    #[test]
    fn the_average_reaches_back_its_samples_and_at_first_a_tenth_of_those_seen() {
        let untrained = |step| after(step, false, &config(), 1);
        assert_eq!([untrained(1), untrained(10)], [Some(Towards(1.0)); 2]);
        assert_eq!([untrained(40), untrained(5000)], [Some(Towards(0.25)), Some(Towards(0.01))]);
        assert_eq!(after(1, true, &config(), 1), Some(Towards(0.01)), "from trained weights it continues");
    }

    #[test]
    fn a_learner_that_updates_rarely_moves_as_far() {
        let every = |step| after(step, false, &config(), 16);
        assert_eq!([every(1), every(15), every(16)], [Some(Towards(1.0)); 3], "at first at every step");
        assert_eq!([every(17), every(4999)], [None; 2]);
        assert_eq!(every(16 * 1000), Some(Towards(0.16)));
        assert_eq!([after(1, true, &config(), 16), after(15, true, &config(), 16)], [None; 2]);
        assert_eq!(after(16, true, &config(), 16), Some(Towards(0.16)));
    }

    #[test]
    fn the_steps_since_the_last_update_count_at_the_end() {
        let last = |step, trained| {
            let progress = TrainProgress { step, samples: 10 * step, trained, ..TrainProgress::default() };
            progress.last_average_update(&config(), 16)
        };
        assert_eq!([last(16, true), last(15, false), last(0, true)], [None; 3], "nothing is left out");
        assert_eq!(last(1003, true), Some(Towards(0.11)), "eleven steps of ten samples of a thousand");
    }

    #[test]
    fn an_average_over_one_step_is_the_network_itself() {
        let config = RunConfig { average_samples: 10.0, ..config() };
        assert_eq!([after(3, true, &config, 16), after(99, false, &config, 1)], [Some(Same); 2]);
    }

    #[test]
    fn the_mean_over_the_last_steps_gives_each_the_same_weight() {
        let mut progress = TrainProgress { step: 500, samples: 5000, ..TrainProgress::default() };
        progress.start_swa();
        let mut average = 7.0;
        for weight in [3.0, 5.0, 10.0] {
            progress.start_swa();
            let Some(Towards(share)) = progress.average_update(&config(), 1) else { panic!("an update") };
            average += share * (weight - average);
        }
        assert!((average - 6.0f64).abs() < 1e-12 && progress.swa_steps == 4);
    }

    #[test]
    fn a_run_too_short_for_its_average_is_named() {
        let warned = |samples, minutes| little_averaged(&RunConfig { samples, minutes, ..config() });
        assert!(warned(1999, 0.0).is_some_and(|text| text.contains("averaged over 1000 (average_samples)")));
        assert_eq!((warned(2000, 0.0), warned(1999, 5.0)), (None, None));
    }
}
