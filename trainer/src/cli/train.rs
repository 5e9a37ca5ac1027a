use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use clap::Args;
use engine::base::words::counted;

use super::setting_args::SettingArgs;
use super::{sparse, stop_file, torch};
use crate::base::progress::grouped;
use crate::config::layers;
use crate::learn::run::{Complete, RunFolder, TrainEnd};

pub struct Trained {
    pub outcome: TrainOutcome,
    pub checkpoint: Option<PathBuf>,
}

pub enum TrainOutcome {
    Ended(TrainEnd),
    /// The resumed run was complete: why, and how to go on.
    WasComplete(String),
}

/// Train a network on files of games
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  philidor-trainer train --config config.json --run runs/first\n  \
    philidor-trainer train --run runs/first --resume\n\n\
    A configuration must name its sources; every other key has a default. The resolved configuration is \
    written to RUN/config.json:\n  \
    {\"sources\": [{\"name\": \"engine\", \"paths\": [\"data/engine-*.h5\"], \"weight\": 1}], \"samples\": 10000000}\n\
    With --preset cpu it is a network of the family sparse, made for the CPU, which needs no libtorch.")]
pub struct TrainArgs {
    /// Configuration (JSON); with --resume it is merged over RUN/config.json
    #[arg(long)]
    pub(super) config: Option<PathBuf>,
    #[command(flatten)]
    pub(super) settings: SettingArgs,
    /// Folder of the run
    #[arg(long, default_value = "runs/default")]
    pub(super) run: PathBuf,
    /// Folder for a temporary copy of the games, 2 to 4 bytes per position [default: RUN]
    #[arg(long)]
    pub(super) cache: Option<PathBuf>,
    /// Resume from the run's last checkpoint; a complete run says how to go on
    #[arg(long, conflicts_with = "init")]
    pub(super) resume: bool,
    /// Initialise the weights from this checkpoint
    #[arg(long)]
    pub(super) init: Option<PathBuf>,
    /// End after this many minutes, which the learning-rate schedule spans (sets `minutes`)
    #[arg(long)]
    pub(super) minutes: Option<f64>,
}

impl TrainArgs {
    /// Ctrl-C, SIGTERM or a file `stop` in the run's folder writes a checkpoint and ends the run. A second signal
    /// kills.
    pub fn run(&self) -> Result<()> {
        let Trained { outcome, checkpoint } = match self.settings.sparse(&self.files()?)? {
            Some(config) => sparse::train(self, config)?,
            None => torch::train(self)?,
        };
        let checkpoint = checkpoint.unwrap_or_default();
        let checkpoint = checkpoint.display();
        match outcome {
            TrainOutcome::Ended(TrainEnd::Finished) => say!("finished: {checkpoint}"),
            TrainOutcome::Ended(TrainEnd::Stopped) => say!("stopped: {checkpoint}"),
            TrainOutcome::WasComplete(why) => say!("{why}\nso far: {checkpoint}"),
        }
        Ok(())
    }

    /// What to say of a run that is resumed though complete. `epochs` is 0 if the run's length is given in samples.
    pub(super) fn complete(&self, why: Complete, epochs: f64) -> TrainOutcome {
        let (done, more) = done_and_more(why, epochs);
        let run = self.run.display();
        TrainOutcome::WasComplete(format!(
            "{done}: complete; to go on: philidor-trainer train --run {run} --resume {more}"
        ))
    }

    /// Also watches for the folder's file `stop`.
    pub(super) fn folder(&self, stop: &Arc<AtomicBool>) -> Result<RunFolder> {
        let folder = RunFolder::open(&self.run)?;
        stop_file::watch(&self.run, stop);
        Ok(folder)
    }

    /// A resumed run keeps its configuration, except for what the command line overrides.
    pub(super) fn files(&self) -> Result<Vec<PathBuf>> {
        let of_run = self.resume.then_some(&*self.run);
        layers::files(of_run, self.settings.preset.is_some(), self.config.as_deref())
    }
}

/// What a complete run has done, and the arguments with which it goes on.
fn done_and_more(why: Complete, epochs: f64) -> (String, String) {
    match why {
        Complete::Samples(samples) if epochs > 0.0 => (
            format!("{} ({}) learnt", counted(epochs, "epoch"), grouped(samples, "sample")),
            format!("--set epochs={}", 2.0 * epochs),
        ),
        Complete::Samples(samples) => {
            (format!("{} learnt", grouped(samples, "sample")), format!("--set samples={}", 2 * samples))
        }
        Complete::Minutes(minutes) => {
            (format!("{} used", counted(minutes, "minute")), format!("--minutes {}", 2.0 * minutes))
        }
        Complete::EarlyStop(validations) => (
            format!("ended early after {} without improvement", counted(validations, "validation")),
            format!("--set early_stop={}", 2 * validations),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_is_in_the_singular_only_for_one() {
        let done = |why, epochs| done_and_more(why, epochs).0;
        assert_eq!(done(Complete::Samples(1), 1.0), "1 epoch (1 sample) learnt");
        assert_eq!(done(Complete::Samples(12_800), 0.5), "0.5 epochs (12,800 samples) learnt");
        assert_eq!(done(Complete::Samples(12_800), 0.0), "12,800 samples learnt");
        assert_eq!(done(Complete::Minutes(1.0), 0.0), "1 minute used");
        assert_eq!(done(Complete::Minutes(1.5), 0.0), "1.5 minutes used");
    }
}
