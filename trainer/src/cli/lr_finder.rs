use std::cell::Cell;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::trial::{StepsProgress, TrialArgs};
use super::{sparse, torch};
use crate::base::files::check_output;
use crate::config::LearnerConfig;
use crate::judge::plot::{Axes, Curve, Panel, figure};
use crate::learn::run::{LrSuggestion, RangeTestStep};

const ROWS: usize = 20;

/// Find a learning rate by a range test: raise it exponentially until the loss diverges
#[derive(Args, Debug)]
#[command(after_help = "Example: philidor-trainer lr-finder --config config.json --out lr.svg\n\
    Prints a table and a suggestion, and plots the loss. Writes no run.")]
pub struct LrFinderArgs {
    #[command(flatten)]
    pub(super) trial: TrialArgs,
    /// Steps from the lowest to the highest learning rate
    #[arg(long, default_value_t = 200)]
    pub(super) steps: u64,
    /// The lowest learning rate
    #[arg(long, default_value_t = 1e-6)]
    pub(super) from: f64,
    /// The highest learning rate
    #[arg(long, default_value_t = 1.0)]
    pub(super) to: f64,
    /// The plot to write (SVG)
    #[arg(long, default_value = "lr-finder.svg")]
    out: PathBuf,
}

impl LrFinderArgs {
    pub fn run(&self) -> Result<()> {
        ensure!(
            self.from > 0.0 && self.from < self.to && self.to.is_finite() && self.steps > 1,
            "--from must be positive, --to larger than --from, and --steps at least 2"
        );
        check_output(&self.out, [&self.trial.config])?;
        figure::check_name(&self.out)?;
        let config = self.trial.config()?;
        let progress = StepsProgress::new(self.steps);
        let made = Cell::new(0);
        let observer = |trial: &RangeTestStep| {
            made.set(made.get() + 1);
            progress.show(made.get(), &format!(" · lr {:.1e}, loss {:.3}", trial.lr, trial.smooth));
        };
        let trials = match config {
            LearnerConfig::Sparse(config) => sparse::lr_range(self, &config, &observer),
            LearnerConfig::Torch(config) => torch::lr_range(self, *config, &observer),
        }?;
        drop(progress);
        print(&trials, self.steps);
        figure::write(&self.out, &[plot(&trials)], 1)?;
        say!("{}", self.out.display());
        let found =
            LrSuggestion::of(&trials).context("the loss never fell: use a lower --from or more --steps")?;
        say!(
            "suggestion: lr={:.1e} (a tenth of {:.1e}, the minimum of the loss; it fell fastest at {:.1e})",
            found.lr,
            10.0 * found.lr,
            found.steepest
        );
        Ok(())
    }
}

fn print(trials: &[RangeTestStep], steps: u64) {
    say!("        lr    loss  smoothed");
    for trial in trials.iter().step_by(trials.len().div_ceil(ROWS).max(1)) {
        say!("{:10.2e}  {:6.3}  {:8.3}", trial.lr, trial.loss, trial.smooth);
    }
    if let Some(last) = trials.last().filter(|_| (trials.len() as u64) < steps) {
        say!("the loss diverged above lr {:.1e}", last.lr);
    }
}

fn plot(trials: &[RangeTestStep]) -> Panel {
    let curve = |label: &str, loss: fn(&RangeTestStep) -> f64| Curve {
        label: label.to_owned(),
        points: trials.iter().map(|trial| (trial.lr, loss(trial))).collect(),
    };
    Panel {
        title: "loss over learning rate".into(),
        x: "learning rate",
        axes: Axes::LogX,
        curves: vec![curve("each step", |trial| trial.loss), curve("smoothed", |trial| trial.smooth)],
    }
}
