use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, ensure};
use clap::Args;
use engine::base::words::counted;

use super::setting_args::SettingArgs;
use super::{sparse, stop_file, torch};
use crate::base::progress::grouped;
use crate::config::{LearnerConfig, layers};
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
        // Reading the games takes longer.
        if let Some(init) = &self.init {
            ensure!(init.is_file(), "--init {}: there is no such file", init.display());
        }
        let Trained { outcome, checkpoint } = match self.config()? {
            LearnerConfig::Sparse(config) => sparse::train(self, *config)?,
            LearnerConfig::Torch(config) => torch::train(self, *config)?,
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
    fn config(&self) -> Result<LearnerConfig> {
        let of_run = self.resume.then_some(&*self.run);
        let files = layers::files(of_run, self.settings.preset.is_some(), self.config.as_deref())?;
        let mut config = self.settings.config(&files)?;
        if let Some(minutes) = self.minutes {
            match &mut config {
                LearnerConfig::Torch(config) => {
                    config.minutes = minutes;
                    config.check()?;
                }
                LearnerConfig::Sparse(config) => {
                    config.minutes = minutes;
                    config.check()?;
                }
            }
        }
        Ok(config)
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
    use crate::config::train::TrainPreset;
    use clap::Parser;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: TrainArgs,
    }

    #[test]
    fn a_resumed_run_keeps_what_the_command_line_does_not_override() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let begun = r#"{"batch": 7, "minutes": 5, "sources": [{"name": "games", "paths": ["a"]}]}"#;
        let own = TrainPreset::Neuralmateplay.parse(begun, &["lr=0.25".to_owned()]).unwrap();
        std::fs::write(at("config.json"), serde_json::to_string(&own).unwrap()).unwrap();
        let more = r#"{"batch": 9, "sources": [{"name": "games", "paths": ["b"]}]}"#;
        std::fs::write(at("more.json"), more).unwrap();
        let read = |more: &[&str]| {
            let run = at("");
            let line = ["train", "--run", &run, "--resume"];
            Line::parse_from(line.into_iter().chain(more.iter().copied())).args.config()
        };
        let torch = |more: &[&str]| match read(more).unwrap() {
            LearnerConfig::Torch(config) => *config,
            other => panic!("{other:?}"),
        };
        assert_eq!(torch(&[]), own);
        let file = at("more.json");
        let mut expected = own.clone();
        (expected.batch, expected.sources[0].paths) = (9, vec!["b".to_owned()]);
        assert_eq!(
            expected.sources[0].select.min_elo, 2200,
            "from the preset with which the run was started"
        );
        assert_eq!(torch(&["--config", &file]), expected);
        (expected.lr, expected.minutes) = (0.5, 2.0);
        assert_eq!(torch(&["--config", &file, "--set", "lr=0.5", "--minutes", "2"]), expected);
        // A preset on the command line replaces the run's keys.
        let preset = torch(&["--config", &file, "--preset", "linear"]);
        assert_eq!((preset.batch, preset.model.family(), preset.minutes), (9, "linear", 0.0));
        assert!(read(&["--preset", "linear"]).unwrap_err().to_string().contains("--preset changes nothing"));
    }

    #[test]
    fn what_epochs_replace_is_refused_for_every_family_and_from_every_place() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        for (preset, family) in [("philidor", "resnet"), ("cpu", "sparse")] {
            let sources = r#""sources": [{"name": "games", "paths": ["a"]}]"#;
            let own =
                format!(r#"{{"epochs": 2, "samples": 100, "model": {{"family": "{family}"}}, {sources}}}"#);
            std::fs::write(at("config.json"), own).unwrap();
            std::fs::write(at("less.json"), format!(r#"{{"samples": 40, {sources}}}"#)).unwrap();
            std::fs::write(at("both.json"), format!(r#"{{"samples": 40, "epochs": 0, {sources}}}"#)).unwrap();
            let (run, own, less, both) = (at(""), at("config.json"), at("less.json"), at("both.json"));
            let read =
                |line: &[&str]| Line::parse_from(["train", "--run", &run].iter().chain(line)).args.config();
            let refused = |line: &[&str]| {
                let error = format!("{:#}", read(line).unwrap_err());
                assert!(error.contains("no effect, because epochs 2 sets "), "{family} {line:?}: {error}");
                error
            };
            for begun in [&["--config", &own, "--preset", preset][..], &["--resume"]] {
                read(begun).unwrap();
                let by_option = refused(&[begun, &["--set", "samples=40"]].concat());
                assert!(by_option.starts_with("--set samples=40: "), "{by_option}");
                read(&[begun, &["--set", "samples=40", "--set", "epochs=0"]].concat()).unwrap();
            }
            let by_file = refused(&["--resume", "--config", &less]);
            assert!(by_file.starts_with(&less), "{by_file}");
            read(&["--resume", "--config", &both]).unwrap();
        }
    }

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
