//! `train`: a training run.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use tch::Device;

use super::sparse::SparseTrainArgs;
use crate::config::TrainConfig;
use crate::config::layers;
use crate::config::train::TrainPreset;
use crate::files::make_folder;
use crate::train::Learner;
use crate::train::checkpoint;
use crate::train::keep_freed_memory;
use crate::train::regularise::ElasticPenalty;
use crate::train::{Run, TrainEnd};
use crate::train::{Sources, batch_number};

/// The device of the computation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DeviceChoice {
    /// A CUDA GPU if there is one, else the CPU
    #[default]
    Auto,
    /// The CPU
    Cpu,
    /// A CUDA GPU
    Cuda,
}

impl DeviceChoice {
    /// The device.
    ///
    /// # Errors
    /// A GPU is requested and libtorch finds none.
    pub fn device(self) -> Result<Device> {
        match (self, tch::Cuda::is_available()) {
            (DeviceChoice::Cpu, _) | (DeviceChoice::Auto, false) => Ok(Device::Cpu),
            (_, true) => Ok(Device::Cuda(0)),
            (DeviceChoice::Cuda, false) => bail!(
                "libtorch finds no CUDA GPU. With a CUDA build of libtorch, add its lib folder to LD_LIBRARY_PATH and \
                 its libtorch_cuda.so to LD_PRELOAD; otherwise use --device cpu"
            ),
        }
    }
}

impl DeviceChoice {
    /// Prepares the process for training, which on a CPU may restart it, and returns the device.
    ///
    /// # Errors
    /// The device is not available.
    pub fn prepare(self, config: &mut TrainConfig) -> Result<Device> {
        let device = self.device()?;
        if device == Device::Cpu {
            keep_freed_memory();
        }
        if config.torch_threads > 0 {
            tch::set_num_threads(config.torch_threads as i32);
        }
        // Resolved now, so that a resumed run uses the same number format.
        config.precision = config.precision.resolved(device);
        Ok(device)
    }
}

/// The preset below a configuration file, the overrides above it, and the device.
#[derive(Args, Debug)]
pub struct SettingArgs {
    /// Source of the keys that the configuration omits [default: philidor; with --resume the run's own configuration]
    #[arg(long, value_enum)]
    preset: Option<TrainPreset>,
    /// Override a key of the configuration, e.g. model.filters=96
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// The device of the computation
    #[arg(long, value_enum, default_value_t = DeviceChoice::Auto)]
    device: DeviceChoice,
}

impl SettingArgs {
    /// The configuration of `files`, each merged over the previous one.
    ///
    /// # Errors
    /// A file cannot be read, a key is unknown, or a value is invalid.
    pub fn config(&self, files: &[PathBuf]) -> Result<TrainConfig> {
        TrainConfig::load(self.preset.unwrap_or_default(), files, &self.set)
    }

    /// See [`DeviceChoice::prepare`].
    ///
    /// # Errors
    /// The device is not available.
    pub fn prepare(&self, config: &mut TrainConfig) -> Result<Device> {
        self.device.prepare(config)
    }
}

/// Train a network on files of games
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  philidor-trainer train --config config.json --run runs/first\n  \
    philidor-trainer train --run runs/first --resume\n\n\
    A configuration must name its sources; every other key has a default. The resolved configuration is \
    written to RUN/config.json:\n  \
    {\"sources\": [{\"name\": \"engine\", \"paths\": [\"data/engine-*.h5\"], \"weight\": 1}], \"samples\": 10000000}")]
pub struct TrainArgs {
    /// Configuration (JSON); with --resume it is merged over RUN/config.json
    #[arg(long)]
    config: Option<PathBuf>,
    #[command(flatten)]
    settings: SettingArgs,
    /// Folder of the run
    #[arg(long, default_value = "runs/default")]
    run: PathBuf,
    /// Folder for a temporary copy of the games, 2 to 4 bytes per position [default: RUN]
    #[arg(long)]
    cache: Option<PathBuf>,
    /// Resume from the run's last checkpoint
    #[arg(long, conflicts_with = "init")]
    resume: bool,
    /// Initialise the weights from this checkpoint
    #[arg(long)]
    init: Option<PathBuf>,
    /// End after this many minutes, which the learning-rate schedule spans (sets `minutes`)
    #[arg(long)]
    minutes: Option<f64>,
}

impl TrainArgs {
    /// Runs the command. Ctrl-C writes a checkpoint and ends the run; a second Ctrl-C ends it immediately.
    ///
    /// # Errors
    /// The arguments, the configuration or the games are invalid, or [`Run::train`] fails.
    pub fn run(&self) -> Result<()> {
        let sparse = self.as_sparse();
        // A preset on the command line names another family.
        if self.settings.preset.is_none() && sparse.is_meant()? {
            self.check_sparse()?;
            return sparse.train();
        }
        let ended = self.train()?;
        let checkpoint = checkpoint::best_or_last(&self.run.join("checkpoints")).unwrap_or_default();
        let how = if ended == TrainEnd::Finished { "finished:" } else { "stopped:" };
        println!("{how} {}", checkpoint.display());
        Ok(())
    }

    /// The arguments that the family `sparse` has.
    fn as_sparse(&self) -> SparseTrainArgs {
        SparseTrainArgs {
            config: self.config.clone(),
            set: self.settings.set.clone(),
            run: self.run.clone(),
            resume: self.resume,
        }
    }

    /// Checks that there are no others.
    fn check_sparse(&self) -> Result<()> {
        for (argument, given) in [
            ("--init", self.init.is_some()),
            ("--minutes", self.minutes.is_some()),
            ("--cache", self.cache.is_some()),
            ("--device cuda", self.settings.device == DeviceChoice::Cuda),
        ] {
            ensure!(!given, "{argument}: the family sparse, which is trained on the CPU, does not have it");
        }
        Ok(())
    }

    fn train(&self) -> Result<TrainEnd> {
        let mut config = self.read_config()?;
        let device = self.settings.prepare(&mut config)?;
        let stop = super::interrupt::flag()?;
        let cache = self.cache.as_deref().unwrap_or(&self.run);
        make_folder(cache)?;
        let sources = Sources::load(&config.sources, config.validation_percent, cache)?;
        if config.epochs > 0.0 {
            // Replayed samples count as samples, but not towards an epoch.
            let fresh = (config.batch - config.replayed_samples()) as f64 / config.batch as f64;
            config.samples = ((config.epochs * sources.epoch() / fresh).ceil() as u64).max(1);
        }
        let mut run = if self.resume {
            Run::resume(&self.run, &config, device)?
        } else {
            Run::start(&self.run, &config, device, self.init.as_deref())?
        };
        if config.ewc.weight > 0.0 && !self.resume {
            ensure!(
                self.init.is_some(),
                "ewc.weight penalises changes of a run's initial weights: name them with --init"
            );
            run.learner.elastic = Some(earlier_task(&config, cache, &run.learner)?);
        }
        log::info!(
            "{:?}, {} parameters, run {}",
            device,
            run.learner.weights.flat.numel(),
            self.run.display()
        );
        run.set_sources(&sources);
        let mut feed = sources.feed(&config, batch_number(&run.progress.loader))?;
        let held_out = sources.held_out(&config)?;
        let ended = run.train(&mut feed, &held_out, &|_| stop.load(Ordering::Relaxed))?;
        if feed.damaged() > 0 {
            log::warn!("{} samples of damaged games were replaced by others", feed.damaged());
        }
        Ok(ended)
    }

    /// The configuration; a resumed run keeps its own except for what the command line overrides.
    fn read_config(&self) -> Result<TrainConfig> {
        let of_run = self.resume.then_some(&*self.run);
        let files = layers::files(of_run, self.settings.preset.is_some(), self.config.as_deref())?;
        let mut config = self.settings.config(&files)?;
        if let Some(minutes) = self.minutes {
            config.minutes = minutes;
            config.check()?;
        }
        Ok(config)
    }
}

/// The penalty of elastic weight consolidation around the learner's weights, for the games of the earlier task.
fn earlier_task(config: &TrainConfig, folder: &Path, learner: &Learner) -> Result<ElasticPenalty> {
    let sources =
        Sources::load(&config.ewc.sources, config.validation_percent, folder).context("ewc.sources")?;
    // The earlier task had no teacher.
    let config = &TrainConfig { teacher: Default::default(), ..config.clone() };
    let mut feed = sources.feed(config, 0)?;
    let count = config.ewc.samples.div_ceil(config.batch as u64);
    log::info!(
        "estimating the Fisher information from {} samples of the earlier task",
        count * config.batch as u64
    );
    let batches = (0..count).map(|_| feed.next_batch()).collect::<Result<Vec<_>, _>>()?;
    Ok(ElasticPenalty::measure(&learner.net, &learner.weights, &batches, config))
}

#[cfg(test)]
mod tests {
    use super::*;
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
            Line::parse_from(line.into_iter().chain(more.iter().copied())).args.read_config()
        };
        assert_eq!(read(&[]).unwrap(), own);
        let file = at("more.json");
        let mut expected = own.clone();
        (expected.batch, expected.sources[0].paths) = (9, vec!["b".to_owned()]);
        assert_eq!(
            expected.sources[0].select.min_elo, 2200,
            "from the preset with which the run was started"
        );
        assert_eq!(read(&["--config", &file]).unwrap(), expected);
        (expected.lr, expected.minutes) = (0.5, 2.0);
        assert_eq!(read(&["--config", &file, "--set", "lr=0.5", "--minutes", "2"]).unwrap(), expected);
        // A preset on the command line replaces the run's keys.
        let preset = read(&["--config", &file, "--preset", "linear"]).unwrap();
        assert_eq!((preset.batch, preset.model.family(), preset.minutes), (9, "linear", 0.0));
        assert!(read(&["--preset", "linear"]).unwrap_err().to_string().contains("--preset changes nothing"));
    }
}
