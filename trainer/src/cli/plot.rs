use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;

use crate::base::files::check_output;
use crate::judge::plot::plot_runs;
use crate::play::rl;

/// Draw the curves of one or several runs
#[derive(Args, Debug)]
#[command(after_help = "Example: philidor-trainer plot runs/first runs/second --out both.svg\n\
    Losses and accuracies (in training, on held-out samples of each source and phase), learning rate, speed, and\n\
    the calibration of expected score, win, draw and loss at the last validation. Of a run of `rl`, given alone: Elo,\n\
    scores in the arena, losses and results by iteration.")]
pub struct PlotArgs {
    /// Folders of runs
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// The picture to write (SVG)
    #[arg(long, default_value = "plot.svg")]
    out: PathBuf,
}

impl PlotArgs {
    pub fn run(&self) -> Result<()> {
        check_output(&self.out, self.runs.iter().map(|run| run.join("metrics.jsonl")))?;
        match self.runs.iter().find(|run| rl::is_run(run)) {
            None => plot_runs(&self.runs, &self.out)?,
            Some(run) => {
                ensure!(
                    self.runs.len() == 1,
                    "{0} is a run of `rl`, whose curves are by iteration: plot it alone, or the training runs in it, \
                     {0}/train-*",
                    run.display()
                );
                rl::draw_curves(run, &self.out)?;
            }
        }
        say!("{}", self.out.display());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_run_of_rl_is_drawn_alone() {
        let root = tempfile::tempdir().unwrap();
        let run = |name: &str, line: &str| {
            let folder = root.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("metrics.jsonl"), line).unwrap();
            folder
        };
        let train = run("train", r#"{"samples": 10, "policy_loss": 2.0, "top1": 0.1}"#);
        let rl = run("loop", r#"{"iteration": 3, "learn": {"policy_loss": 2.0}, "kl": 0.1}"#);
        fs::write(rl.join("state.json"), "{}").unwrap();
        let out = root.path().join("plot.svg");
        let plot = |runs: &[&PathBuf]| {
            PlotArgs { runs: runs.iter().copied().cloned().collect(), out: out.clone() }.run()
        };
        plot(&[&rl]).unwrap();
        assert!(fs::read_to_string(&out).unwrap().contains("KL divergence"));
        plot(&[&train]).unwrap();
        assert!(fs::read_to_string(&out).unwrap().contains("policy loss"));
        let error = plot(&[&train, &rl]).unwrap_err().to_string();
        assert!(error.contains("is a run of `rl`") && error.contains("loop/train-*"), "{error}");
        fs::write(rl.join("metrics.jsonl"), "").unwrap();
        assert!(plot(&[&rl]).unwrap_err().to_string().contains("no metrics yet"));
    }
}
