use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Result, ensure};
use clap::Args;
use engine::base::words::counted;

use super::rl_limits::RlLimits;
use super::{DeviceChoice, interrupt, stop_file, torch};
use crate::base::files::make_folder;
use crate::base::progress::end_at;
use crate::config::bounds::MAX_SECONDS;
use crate::config::{LearnerConfig, RlConfig, RlPreset, RlSettings, Runtime, layers};
use crate::play::gameplay::live;
use crate::play::rl::{LoopLearner, Others, RlLoop, RlOutcome, RunState, SparseLoop, check_model_keys};

/// Improve a network by reinforcement learning: a loop of self-play, training and matches against earlier networks
///
/// Ctrl-C, or a file RUN/stop, stops cleanly. --resume continues with the remaining iterations and hours, also after a
/// kill, which costs the unfinished games and the last seconds of finished ones. RUN has config.json (all keys),
/// state.json, metrics.jsonl (one line per iteration), events.log, games/, nets/ and the current training run. Keys of
/// `train` that the loop sets itself (samples, schedule, seed, …) are refused.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  philidor-trainer rl --preset tiny --run runs/tiny --iterations 40\n  \
    philidor-trainer rl --config rl.json --run runs/rl --hours 8\n  \
    philidor-trainer rl --run runs/rl --resume --hours 16\n  \
    philidor-trainer rl --run runs/rl --resume --inbox runs/inbox\n  \
    philidor-trainer rl --set start=nets/philidor.int8.onnx --set pretrain_mix_ratio=0 --run runs/sparse\n\n\
    A configuration for the CPU preset names a network's weights and the games that it was trained on; every other key \
    has a default, which RUN/config.json shows:\n  \
    {\"start\": \"nets/resnet.safetensors\", \"train\": {\"sources\": [{\"name\": \"engine\", \"paths\": [\"data/engine-*.h5\"]}]}}")]
pub struct RlArgs {
    /// Configuration (JSON); with --resume it is merged over RUN/config.json
    #[arg(long)]
    config: Option<PathBuf>,
    /// Defaults of the keys that the configuration omits [default: cpu; with --resume RUN/config.json]
    #[arg(long, value_enum)]
    preset: Option<RlPreset>,
    /// Override a key: play.visits=100
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Folder of the run
    #[arg(long, default_value = "runs/rl")]
    run: PathBuf,
    /// Resume the run
    #[arg(long)]
    resume: bool,
    /// Stop when the run has this many iterations [default: never; with --resume and without --hours the earlier limit]
    #[arg(long)]
    iterations: Option<u64>,
    /// Stop when the run has taken this many hours in all, including those before --resume [default: never; with
    /// --resume and without --iterations the earlier limit]
    #[arg(long)]
    hours: Option<f64>,
    /// Let other machines play: list units of work in DIR/wanted.json and take results from DIR
    #[arg(long, value_name = "DIR")]
    inbox: Option<PathBuf>,
    /// With --inbox: start playing here after this many seconds without a result
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(..=MAX_SECONDS))]
    patience: u64,
    /// Device for training; a GPU also evaluates the positions of games
    #[arg(long, value_enum, default_value_t = DeviceChoice::Auto)]
    device: DeviceChoice,
}

impl RlArgs {
    pub fn run(&self) -> Result<()> {
        say!("{}", self.run_loop()?);
        Ok(())
    }

    fn run_loop(&self) -> Result<String> {
        let asked = RlLimits::new(self.iterations, self.hours)?;
        let settings = self.settings()?;
        let mut config = settings.config()?;
        let (limits, complete) = if self.resume {
            let state = RunState::load(&self.run)?;
            let earlier = layers::read(&self.run.join("config.json"))?;
            let start = earlier["start"].as_str().unwrap_or_default();
            // A preset replaces the run's configuration, and its start may be another.
            ensure!(
                self.preset.is_some() || start == config.start,
                "start is {:?}, but the run began from {start:?}: begin another run with --run",
                config.start
            );
            let limits = asked.resumed(&self.run, state.totals.seconds)?;
            (limits, limits.complete(&self.run, state.iteration - 1))
        } else {
            (asked, None)
        };
        let time = limits.time();
        let others = Others { inbox: self.inbox.clone(), patience: Duration::from_secs(self.patience) };
        if others.inbox.is_some() && config.runtime != Runtime::Onnx && config.train.torch().is_some() {
            log::info!("runtime is set to onnx, in which others play the same games");
            config.runtime = Runtime::Onnx;
        }
        let learner = self.learner(&mut config)?;
        let stop = interrupt::flag()?;
        let watched = Arc::clone(&stop);
        let begun = Instant::now();
        let until = time.map(|time| {
            stop_after(time, Arc::clone(&stop));
            end_at(begun + time);
            begun + time
        });
        make_folder(&self.run)?;
        check_model_keys(&*learner, &self.run, self.resume, &config, &settings.model_keys()?)?;
        let mut rl_loop = if self.resume {
            RlLoop::resume(&self.run, config, learner, &others, stop)?
        } else {
            RlLoop::start(&self.run, config, learner, &others, stop)?
        };
        // Last, so that a complete run too refuses invalid settings.
        if let Some(why) = complete {
            return Ok(why);
        }
        stop_file::watch(&self.run, &watched);
        let kept = limits.keep(&self.run, begun)?;
        live::begin(&self.run, limits.iterations, time.map(|time| SystemTime::now() + time));
        let ended = rl_loop.run(limits.iterations.unwrap_or(u64::MAX), until);
        live::end();
        kept.end()?;
        let ended = ended?;
        let state = rl_loop.state();
        let totals = state.totals;
        let complete = limits.after(begun).complete(&self.run, state.iteration - 1);
        let how = match (ended, complete) {
            (RlOutcome::Finished, _) => "finished:".to_owned(),
            (RlOutcome::Stopped, Some(why)) => format!("{why}\nso far:"),
            (RlOutcome::Stopped, None) => "stopped, --resume continues:".to_owned(),
        };
        Ok(format!(
            "{how} {}, {}, {}, {}, {}; best {}",
            counted(state.iteration - 1, "iteration"),
            counted(totals.games, "game"),
            counted(totals.positions, "position"),
            counted(totals.promotions, "promotion"),
            counted(totals.vetoes, "veto"),
            self.run.join("nets").join(format!("{}.onnx", state.best)).display()
        ))
    }

    fn learner(&self, config: &mut RlConfig) -> Result<Box<dyn LoopLearner>> {
        match &mut config.train {
            LearnerConfig::Sparse(_) => {
                let cuda = self.device == DeviceChoice::Cuda;
                ensure!(!cuda, "--device cuda: the family sparse is trained on the CPU");
                Ok(Box::new(SparseLoop::default()))
            }
            LearnerConfig::Torch(config) => torch::learner(self.device, config),
        }
    }

    /// A resumed run keeps its settings, except for those on the command line.
    fn settings(&self) -> Result<RlSettings> {
        let run = self.resume.then_some(&*self.run);
        let mut files = layers::files(run, self.preset.is_some(), self.config.as_deref())?;
        let own = (self.resume && self.preset.is_none()).then(|| files.remove(0));
        Ok(RlSettings { preset: self.preset.unwrap_or_default(), own, files, overrides: self.set.clone() })
    }
}

fn stop_after(time: Duration, stop: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: RlArgs,
    }

    #[test]
    fn a_resumed_run_keeps_what_the_command_line_does_not_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let no_games = ["pretrain_mix_ratio=0".to_owned(), "play.visits=77".to_owned()];
        let own = RlConfig::load(RlPreset::Tiny, &[], &no_games).unwrap();
        std::fs::write(at("config.json"), own.to_json().to_string()).unwrap();
        std::fs::write(at("more.json"), r#"{"games_per_iteration": 3, "train": {"batch": 5}}"#).unwrap();
        let read = |more: &[&str]| {
            let (run, file) = (at(""), at("more.json"));
            let line = ["rl", "--run", &run, "--resume", "--config", &file];
            Line::parse_from(line.into_iter().chain(more.iter().copied())).args.settings().unwrap().config()
        };
        let mut expected = own.clone();
        expected.games_per_iteration = 3;
        expected.train.torch_mut().unwrap().batch = 5;
        assert_eq!(read(&[]).unwrap(), expected);
        expected.play.visits = 9;
        assert_eq!(read(&["--set", "play.visits=9"]).unwrap(), expected);
        // A preset replaces the run's `config.json`.
        let preset = read(&["--preset", "tiny"]).unwrap();
        assert_eq!((preset.games_per_iteration, preset.play.visits == 77), (3, false));
    }
}
