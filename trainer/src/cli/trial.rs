//! Arguments of `overfit` and `lr-finder`: a configuration, no run folder.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;

use super::setting_args::SettingArgs;
use crate::config::LearnerConfig;
use crate::learn::run::metrics::Pulse;

#[derive(Args, Debug)]
pub struct TrialArgs {
    /// Configuration (JSON), as for `train`
    #[arg(long)]
    pub(super) config: PathBuf,
    #[command(flatten)]
    pub(super) settings: SettingArgs,
}

impl TrialArgs {
    pub fn config(&self) -> Result<LearnerConfig> {
        self.settings.config(std::slice::from_ref(&self.config))
    }
}

/// A bar, or a line at least every ten seconds.
pub struct StepsProgress {
    pulse: Pulse,
    steps: u64,
    start: Instant,
}

/// Bounds on rate and time left while the first step takes longer than `seconds`.
fn bounds(steps: u64, seconds: f64) -> String {
    let left = Duration::from_secs_f64((steps as f64 * seconds).min(1e9));
    format!("below {:.2} steps/s, at least {} left", 1.0 / seconds, indicatif::HumanDuration(left))
}

impl StepsProgress {
    pub fn new(steps: u64) -> StepsProgress {
        StepsProgress {
            pulse: Pulse::new(steps, Box::new(move |seconds| bounds(steps, seconds))),
            steps,
            start: Instant::now(),
        }
    }

    /// `more` follows the time left.
    pub fn show(&self, done: u64, more: &str) {
        let rate = done as f64 / self.start.elapsed().as_secs_f64().max(1e-9);
        let left =
            Duration::from_secs_f64((self.steps.saturating_sub(done) as f64 / rate.max(1e-9)).min(1e9));
        let (steps, left) = (self.steps, indicatif::HumanDuration(left));
        self.pulse.show(done, &format!("{done}/{steps} steps · {rate:.1}/s · {left} left{more}"));
    }

    pub fn suspend(&self, print: impl FnOnce()) {
        self.pulse.suspend(print);
    }
}
