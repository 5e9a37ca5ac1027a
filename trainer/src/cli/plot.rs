//! `plot`: curves of runs.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::judge::plot::plot_runs;

/// Draw the curves of one or several runs
#[derive(Args, Debug)]
#[command(after_help = "Example: philidor-trainer plot runs/first runs/second --out both.svg\n\
    Losses and accuracies (in training, on held-out samples of each source and phase), learning rate, speed, and\n\
    the calibration of expected score, win, draw and loss at the last validation.")]
pub struct PlotArgs {
    /// Folders of runs
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// The picture to write (SVG)
    #[arg(long, default_value = "plot.svg")]
    out: PathBuf,
}

impl PlotArgs {
    /// Draws the picture.
    ///
    /// # Errors
    ///
    /// If a run has no metrics, or the picture cannot be written.
    pub fn run(&self) -> Result<()> {
        plot_runs(&self.runs, &self.out)?;
        say!("{}", self.out.display());
        Ok(())
    }
}
