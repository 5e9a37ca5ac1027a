//! `learn`: a run from the command line.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;

use super::interrupt;
use super::train::DeviceChoice;
use crate::config::LearnConfig;
use crate::config::layers;
use crate::config::rl::Preset;
use crate::files::make_folder;
use crate::rl::{Cycle, Ended};

/// Let a network get stronger by its own games: it plays against itself, learns, and is tested, again and again
///
/// Ctrl-C stops at a clean point; --resume goes on from there, also after a kill, which costs the games in flight and
/// the last seconds of what was finished. RUN holds config.json (resolved), state.json, metrics.jsonl (a line an iteration), events.log (in words),
/// games/, nets/ and the present training run.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  philidor-trainer rl --preset tiny --run runs/tiny --iterations 40\n  \
    philidor-trainer rl --config rl.json --run runs/rl --hours 8\n  \
    philidor-trainer rl --run runs/rl --resume --hours 8\n\n\
    A configuration for the CPU preset names a network's weights and the games that it came from; every other key has \
    a default, which RUN/config.json shows:\n  \
    {\"start\": \"nets/philidor.safetensors\", \"train\": {\"sources\": [{\"name\": \"engine\", \"paths\": [\"data/engine-*.h5\"]}]}}")]
pub struct RlArgs {
    /// Configuration (JSON); with --resume what it says is laid over RUN/config.json
    #[arg(long)]
    config: Option<PathBuf>,
    /// Where keys that the configuration leaves out come from [default: cpu; with --resume RUN/config.json]
    #[arg(long, value_enum)]
    preset: Option<Preset>,
    /// Override a key: play.visits=100
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Folder of the run
    #[arg(long, default_value = "runs/learn")]
    run: PathBuf,
    /// Go on with the run
    #[arg(long)]
    resume: bool,
    /// Stop when the run has so many iterations [default: never]
    #[arg(long)]
    iterations: Option<u64>,
    /// Stop after so many hours
    #[arg(long)]
    hours: Option<f64>,
    /// Where to learn; on a GPU positions of games are evaluated there too
    #[arg(long, value_enum, default_value_t = DeviceChoice::Auto)]
    device: DeviceChoice,
}

impl RlArgs {
    /// Learns; says where the run stands.
    ///
    /// # Errors
    ///
    /// One line: the arguments or the configuration don't do, or what [`Cycle::run`] says.
    pub fn run(&self) -> Result<(), String> {
        println!("{}", self.learn()?);
        Ok(())
    }

    fn learn(&self) -> Result<String, String> {
        let time = self.hours.map(duration).transpose()?;
        let mut config = self.read_config()?;
        let device = self.device.prepare(&mut config.train)?;
        let stop = interrupt::flag()?;
        let until = time.map(|time| {
            stop_after(time, Arc::clone(&stop));
            Instant::now() + time
        });
        make_folder(&self.run)?;
        let mut cycle = if self.resume {
            Cycle::resume(&self.run, config, device, stop)?
        } else {
            Cycle::start(&self.run, config, device, stop)?
        };
        let ended = cycle.run(self.iterations.unwrap_or(u64::MAX), until)?;
        let state = cycle.state();
        let totals = state.totals;
        Ok(format!(
            "{} {} iterations, {} games, {} positions, {} promotions, {} vetoes; best {}",
            if ended == Ended::Finished { "finished:" } else { "stopped, --resume goes on:" },
            state.iteration - 1,
            totals.games,
            totals.positions,
            totals.promotions,
            totals.vetoes,
            self.run.join("nets").join(format!("{}.onnx", state.best)).display()
        ))
    }

    /// The configuration: a run that goes on keeps its own, but for what the command line names.
    fn read_config(&self) -> Result<LearnConfig, String> {
        let of_run = self.resume.then_some(&*self.run);
        let files = layers::files(of_run, self.preset.is_some(), self.config.as_deref())?;
        LearnConfig::load(self.preset.unwrap_or_default(), &files, &self.set)
    }
}

/// Most hours that a run can be given: a hundred years.
const MOST_HOURS: f64 = 876_000.0;

fn duration(hours: f64) -> Result<Duration, String> {
    if hours > 0.0 && hours <= MOST_HOURS {
        Ok(Duration::from_secs_f64(3600.0 * hours))
    } else {
        Err(format!("--hours is {hours}, must be positive and at most {MOST_HOURS}"))
    }
}

/// Raises the flag when the time is up.
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
    fn a_run_that_goes_on_keeps_what_the_command_line_does_not_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let no_games = ["pretrain_mix_ratio=0".to_owned(), "play.visits=77".to_owned()];
        let own = LearnConfig::load(Preset::Tiny, &[], &no_games).unwrap();
        std::fs::write(at("config.json"), serde_json::to_string(&own).unwrap()).unwrap();
        std::fs::write(at("more.json"), r#"{"games_per_iteration": 3, "train": {"batch": 5}}"#).unwrap();
        let read = |more: &[&str]| {
            let (run, file) = (at(""), at("more.json"));
            let line = ["rl", "--run", &run, "--resume", "--config", &file];
            Line::parse_from(line.into_iter().chain(more.iter().copied())).args.read_config()
        };
        let mut expected = own.clone();
        (expected.games_per_iteration, expected.train.batch) = (3, 5);
        assert_eq!(read(&[]).unwrap(), expected);
        expected.play.visits = 9;
        assert_eq!(read(&["--set", "play.visits=9"]).unwrap(), expected);
        // Who names a preset wants its keys, not the run's.
        let preset = read(&["--preset", "tiny"]).unwrap();
        assert_eq!((preset.games_per_iteration, preset.play.visits == 77), (3, false));
    }

    #[test]
    fn hours_are_some_and_not_too_many() {
        assert_eq!(duration(0.5), Ok(Duration::from_secs(1800)));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e18] {
            assert!(duration(bad).unwrap_err().starts_with("--hours is "), "{bad}");
        }
    }
}
