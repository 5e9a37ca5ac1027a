//! `train`: a run from the command line.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use clap::{Args, ValueEnum};
use tch::Device;

use crate::config::TrainConfig;
use crate::config::layers;
use crate::config::train::Preset;
use crate::files::make_folder;
use crate::train::Learner;
use crate::train::checkpoint;
use crate::train::keep_freed_memory;
use crate::train::regularise::Elastic;
use crate::train::{Ended, Run};
use crate::train::{Sources, batch_number};

/// Where to compute.
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
    /// The device, if this machine has it.
    ///
    /// # Errors
    /// One line, if a GPU is asked for and libtorch finds none.
    pub fn device(self) -> Result<Device, String> {
        match (self, tch::Cuda::is_available()) {
            (DeviceChoice::Cpu, _) | (DeviceChoice::Auto, false) => Ok(Device::Cpu),
            (_, true) => Ok(Device::Cuda(0)),
            (DeviceChoice::Cuda, false) => Err("no CUDA GPU: libtorch finds none. With a CUDA build of \
                 it, put its lib folder on LD_LIBRARY_PATH and its libtorch_cuda.so in LD_PRELOAD; else use --device cpu"
                .into()),
        }
    }
}

impl DeviceChoice {
    /// Makes the process ready to learn, which on a CPU may start it again; gives the device.
    ///
    /// # Errors
    /// One line, if there is no such device.
    pub fn prepare(self, config: &mut TrainConfig) -> Result<Device, String> {
        let device = self.device()?;
        if device == Device::Cpu {
            keep_freed_memory();
        }
        if config.torch_threads > 0 {
            tch::set_num_threads(config.torch_threads as i32);
        }
        // Written out, so that a resumed run computes as it began.
        config.precision = config.precision.resolved(device);
        Ok(device)
    }
}

/// What a configuration file is laid over and overridden by, and where to compute.
#[derive(Args, Debug)]
pub struct SettingArgs {
    /// Where keys that the configuration leaves out come from [default: philidor; when a run goes on, its own]
    #[arg(long, value_enum)]
    preset: Option<Preset>,
    /// Override a key: model.filters=96
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Where to compute
    #[arg(long, value_enum, default_value_t = DeviceChoice::Auto)]
    device: DeviceChoice,
}

impl SettingArgs {
    /// The configuration of `files`, each laid over the one before it.
    ///
    /// # Errors
    /// One line: what can't be read, or which key is unknown or doesn't fit.
    pub fn config(&self, files: &[PathBuf]) -> Result<TrainConfig, String> {
        TrainConfig::load(self.preset.unwrap_or_default(), files, &self.set)
    }

    /// Makes the process ready to learn, which on a CPU may start it again; gives the device.
    ///
    /// # Errors
    /// One line, if there is no such device.
    pub fn prepare(&self, config: &mut TrainConfig) -> Result<Device, String> {
        self.device.prepare(config)
    }
}

/// Train a network on files of games
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  philidor-trainer train --config config.json --run runs/first\n  \
    philidor-trainer train --run runs/first --resume\n\n\
    A configuration names at least its sources; every other key has a default, and the resolved one is \
    written to RUN/config.json:\n  \
    {\"sources\": [{\"name\": \"engine\", \"paths\": [\"data/engine-*.h5\"], \"weight\": 1}], \"samples\": 10000000}")]
pub struct TrainArgs {
    /// Configuration (JSON); with --resume what it says is laid over RUN/config.json
    #[arg(long)]
    config: Option<PathBuf>,
    #[command(flatten)]
    settings: SettingArgs,
    /// Folder of the run
    #[arg(long, default_value = "runs/default")]
    run: PathBuf,
    /// Folder for a copy of the games while training: some 2 to 4 bytes a position [default: RUN]
    #[arg(long)]
    cache: Option<PathBuf>,
    /// Go on from the run's last checkpoint
    #[arg(long, conflicts_with = "init")]
    resume: bool,
    /// Begin with the weights of this checkpoint
    #[arg(long)]
    init: Option<PathBuf>,
    /// Stop after this many minutes, the learning rate fallen to its end (sets `minutes`)
    #[arg(long)]
    minutes: Option<f64>,
}

impl TrainArgs {
    /// Trains; Ctrl-C writes a checkpoint and ends, a second one ends at once.
    ///
    /// # Errors
    ///
    /// One line: the arguments, configuration or games don't do, or what [`Run::train`] says.
    pub fn run(&self) -> Result<(), String> {
        let ended = self.train()?;
        let checkpoint = checkpoint::best_or_last(&self.run.join("checkpoints")).unwrap_or_default();
        let how = if ended == Ended::Finished { "finished:" } else { "stopped:" };
        println!("{how} {}", checkpoint.display());
        Ok(())
    }

    fn train(&self) -> Result<Ended, String> {
        let mut config = self.read_config()?;
        let device = self.settings.prepare(&mut config)?;
        let stop = super::interrupt::flag()?;
        let cache = self.cache.as_deref().unwrap_or(&self.run);
        make_folder(cache)?;
        let sources = Sources::load(&config.sources, config.validation_percent, cache)?;
        if config.epochs > 0.0 {
            // What is shown again counts as a sample too, but not for an epoch.
            let fresh = (config.batch - config.shown_again()) as f64 / config.batch as f64;
            config.samples = ((config.epochs * sources.epoch() / fresh).ceil() as u64).max(1);
        }
        let mut run = if self.resume {
            Run::resume(&self.run, &config, device)?
        } else {
            Run::start(&self.run, &config, device, self.init.as_deref())?
        };
        if config.ewc.weight > 0.0 && !self.resume {
            if self.init.is_none() {
                return Err(
                    "ewc.weight holds the weights that a run begins with: name them with --init".into()
                );
            }
            run.learner.elastic = Some(earlier_task(&config, cache, &run.learner)?);
        }
        log::info!(
            "{:?}, {} parameters, run {}",
            device,
            run.learner.weights.flat.numel(),
            self.run.display()
        );
        let mut feed = sources.feed(&config, batch_number(&run.progress.loader))?;
        let held_out = sources.held_out(&config)?;
        let ended = run.train(&mut feed, &held_out, &|_| stop.load(Ordering::Relaxed))?;
        if feed.damaged() > 0 {
            log::warn!("{} samples came from damaged games and were replaced", feed.damaged());
        }
        Ok(ended)
    }

    /// The configuration: a run that goes on keeps its own, but for what the command line names.
    fn read_config(&self) -> Result<TrainConfig, String> {
        let of_run = self.resume.then_some(&*self.run);
        let files = layers::files(of_run, self.settings.preset.is_some(), self.config.as_deref())
            .map_err(|error| format!("{error:#}"))?;
        let mut config = self.settings.config(&files)?;
        if let Some(minutes) = self.minutes {
            config.minutes = minutes;
            config.check()?;
        }
        Ok(config)
    }
}

/// What holds the learner's weights near what they are, for the games of the earlier task.
fn earlier_task(config: &TrainConfig, folder: &Path, learner: &Learner) -> Result<Elastic, String> {
    let sources = Sources::load(&config.ewc.sources, config.validation_percent, folder)
        .map_err(|error| format!("ewc.sources: {error}"))?;
    // The earlier task had no teacher.
    let config = &TrainConfig { teacher: Default::default(), ..config.clone() };
    let mut feed = sources.feed(config, 0)?;
    let count = config.ewc.samples.div_ceil(config.batch as u64);
    log::info!(
        "measuring how much each weight matters to {} samples of the earlier task",
        count * config.batch as u64
    );
    let batches = (0..count).map(|_| feed.next_batch()).collect::<Result<Vec<_>, _>>()?;
    Ok(Elastic::measure(&learner.net, &learner.weights, &batches, config))
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
    fn a_run_that_goes_on_keeps_what_the_command_line_does_not_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let begun = r#"{"batch": 7, "minutes": 5, "sources": [{"name": "games", "paths": ["a"]}]}"#;
        let own = Preset::Neuralmateplay.parse(begun, &["lr=0.25".to_owned()]).unwrap();
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
        assert_eq!(expected.sources[0].select.min_elo, 2200, "which the preset said when the run began");
        assert_eq!(read(&["--config", &file]).unwrap(), expected);
        (expected.lr, expected.minutes) = (0.5, 2.0);
        assert_eq!(read(&["--config", &file, "--set", "lr=0.5", "--minutes", "2"]).unwrap(), expected);
        // Who names a preset wants its keys, not the run's.
        let preset = read(&["--config", &file, "--preset", "linear"]).unwrap();
        assert_eq!((preset.batch, preset.model.family(), preset.minutes), (9, "linear", 0.0));
        assert!(read(&["--preset", "linear"]).unwrap_err().contains("--preset changes nothing"));
    }
}
