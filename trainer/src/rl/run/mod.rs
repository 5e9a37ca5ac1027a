//! The loop: play, learn, be tested.
//!
//! Here a run begins and goes on, stage by stage, until each iteration is concluded. What the stages do stands beside
//! it: `play` has games played, `train` learns from them, `arena` plays the matches, `verdict` does what these ask for,
//! and `tidy` keeps the folder within its bounds.

mod play;
mod train;
mod arena;
mod verdict;
mod tidy;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use indicatif::HumanDuration;
use serde_json::{Value, json};
use tch::Device;

use super::buffer;
use super::curves;
use super::diary::Diary;
use super::escalation::Verdict;
use super::nets::Nets;
use super::state::{START, Stage, State};
use crate::arena::rate;
use crate::config::LearnConfig;
use crate::config::TrainConfig;
use crate::export::network;
use crate::files::write_file;
use crate::gameplay::Backend;
use crate::record::{RngStream, stream_rng};
use crate::train::{Checkpoint, checkpoint};
use crate::train::{Learner, Sources};

/// Why the cycle stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All iterations are done.
    Finished,
    /// It was asked to stop; it can be resumed.
    Stopped,
}

/// A run of self-play and learning, and its folder.
pub struct Cycle {
    config: LearnConfig,
    folder: PathBuf,
    device: Device,
    state: State,
    nets: Nets,
    diary: Diary,
    pretraining: Sources,
    stop: Arc<AtomicBool>,
    /// Up to when the time of work is counted.
    counted: Instant,
}

impl Cycle {
    /// A new run in `folder`.
    ///
    /// # Errors
    ///
    /// One line: there is a run already, the folder can't be written, or the network to begin with can't be used.
    pub fn start(
        folder: &Path,
        mut config: LearnConfig,
        device: Device,
        stop: Arc<AtomicBool>,
    ) -> Result<Cycle, String> {
        if State::exists(folder) {
            let folder = folder.display();
            return Err(format!(
                "{folder} holds a run already: add --resume, or name another folder with --run"
            ));
        }
        let nets = Nets::of(folder)?;
        let none = checkpoint::TrainProgress::default();
        if config.start.is_empty() {
            let learner =
                Learner::new(&TrainConfig { seed: config.seed, ..config.train.clone() }, Device::Cpu)
                    .map_err(|error| format!("{error:#}"))?;
            nets.write(START, &learner.net, &learner.averaged, &config.train, &none)?;
        } else {
            let loaded = Checkpoint::load(Path::new(&config.start))?;
            let (net, weights) = network(&loaded, true, None).map_err(|error| format!("{error:#}"))?;
            config.train.model = loaded.config.model.clone().trained_as(&config.train.model);
            nets.write(START, &net, &weights, &loaded.config, &none)?;
        }
        nets.load(START)?;
        let cycle = Cycle::open(folder, State::default(), config, device, stop)?;
        // The state is what makes it a run.
        cycle.save()?;
        Ok(cycle)
    }

    /// Goes on with the run in `folder`.
    ///
    /// # Errors
    ///
    /// One line: there is none, or it can't be read.
    pub fn resume(
        folder: &Path,
        config: LearnConfig,
        device: Device,
        stop: Arc<AtomicBool>,
    ) -> Result<Cycle, String> {
        let mut cycle = Cycle::open(folder, State::load(folder)?, config, device, stop)?;
        cycle.recover()?;
        Ok(cycle)
    }

    /// Goes on without what is gone from the folder, and says so: games that can't be read, or the training run, of
    /// which the weights of the last network are left then.
    fn recover(&mut self) -> Result<(), String> {
        let [games, positions] = self.new_games();
        for lost in self.state.buffer.drop_lost(&self.games())? {
            self.say(&lost)?;
        }
        if self.state.stage == Stage::Train && self.new_games() == [0, 0] {
            // They are played again.
            self.state.stage = Stage::Play;
            self.state.totals.games -= games;
            self.state.totals.positions -= positions;
            self.state.target = self.state.target.saturating_sub(self.samples_for(positions));
            self.state.from = None;
        }
        // What is still to be learnt of this iteration; a training run has come as far as what lies before it.
        let left = if self.state.stage == Stage::Train { self.samples_for(self.new_games()[1]) } else { 0 };
        if self.state.target > left && checkpoint::list(&self.checkpoints()).is_empty() {
            self.say(&format!(
                "the training run is gone: {} is trained on with a fresh optimiser",
                self.state.current
            ))?;
            self.state.target = left;
            self.state.from = None;
        }
        self.save()
    }

    /// This iteration's games in the buffer, and their positions to learn from.
    fn new_games(&self) -> [u64; 2] {
        let own = self.state.buffer.entries.last().filter(|entry| entry.name == self.games_name());
        own.map_or([0, 0], |entry| [entry.positions.len() as u64, entry.total()])
    }

    fn open(
        folder: &Path,
        state: State,
        mut config: LearnConfig,
        device: Device,
        stop: Arc<AtomicBool>,
    ) -> Result<Cycle, String> {
        let nets = Nets::of(folder)?;
        // Whatever a configuration says, the structure is that of the networks which are there.
        let first =
            Checkpoint::load(&nets.weights(START)).map_err(|error| format!("{error:#}"))?.config.model;
        config.train.model = first.trained_as(&config.train.model);
        if config.start.is_empty() && config.kl.cost.weight > 0.0 {
            log::warn!(
                "kl.cost.weight is set to 0: there is no pretrained network, `start`, to stay near to"
            );
            config.kl.cost.weight = 0.0;
        }
        let mut pretraining = Sources::default();
        if config.pretrain_mix_ratio > 0.0 {
            pretraining = Sources::load(&config.train.sources, config.train.validation_percent, folder)
                .map_err(|error| format!("{error:#}"))?;
        }
        let runtime = if config.runtime.is_torch(device) {
            format!("libtorch on {device:?}")
        } else {
            "ONNX Runtime on the CPU".into()
        };
        log::info!("networks learn on {device:?} and play in {runtime}");
        let diary = Diary::open(folder, state.iteration)?;
        // Last of all, so that a configuration that doesn't do leaves that of the run as it was.
        let text = serde_json::to_string_pretty(&config).expect("numbers and text make JSON");
        write_file(&folder.join("config.json"), (text + "\n").as_bytes())
            .map_err(|error| format!("{error:#}"))?;
        let (folder, counted) = (folder.to_owned(), Instant::now());
        Ok(Cycle { config, folder, device, state, nets, diary, pretraining, stop, counted })
    }

    /// Where the run stands.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Goes on until so many iterations of the run are done, or it is told to stop; `until` says when it will be, if
    /// that is known, and is only told.
    ///
    /// # Errors
    ///
    /// One line: a file can't be read or written, or a network fails. What was done before is kept.
    pub fn run(&mut self, iterations: u64, until: Option<Instant>) -> Result<Ended, String> {
        let (begin, first) = (Instant::now(), self.state.iteration);
        while self.state.iteration <= iterations {
            let done = match self.state.stage {
                Stage::Play => self.play()?,
                Stage::Train => self.train()?,
                Stage::Arena => self.arena()?,
            };
            self.clock();
            self.save()?;
            if !done {
                self.say("stopped; --resume goes on from here")?;
                return Ok(Ended::Stopped);
            }
            let passed = self.state.iteration - first;
            if passed > 0 && self.state.stage == Stage::Play {
                let each = begin.elapsed() / u32::try_from(passed).unwrap_or(u32::MAX);
                let left = (iterations < u64::MAX).then(|| iterations + 1 - self.state.iteration);
                tell_time_left(each, left, until);
            }
        }
        Ok(Ended::Finished)
    }

    /// Counts the time of work since it was last counted.
    fn clock(&mut self) {
        let now = Instant::now();
        self.state.totals.seconds += (now - self.counted).as_secs_f64();
        self.counted = now;
    }

    fn save(&self) -> Result<(), String> {
        self.state.save(&self.folder)
    }

    fn say(&self, line: &str) -> Result<(), String> {
        self.diary.say(self.state.iteration, line)
    }

    fn note(&mut self, key: &str, value: Value) {
        self.state.notes.insert(key.to_owned(), value);
    }

    /// A network of the run, as it plays.
    fn player(&self, name: &str) -> Result<Arc<dyn Backend>, String> {
        if self.config.runtime.is_torch(self.device) {
            return Ok(Arc::new(self.nets.load_torch(name, self.device)?));
        }
        let files = self.newest_games();
        if !self.config.quantise || files.is_empty() {
            return Ok(Arc::new(self.nets.load(name)?));
        }
        let (network, news) = self.nets.load_int8(name, &files)?;
        news.map_or(Ok(()), |news| self.say(&news))?;
        Ok(Arc::new(network))
    }

    /// Threads to play on.
    fn workers(&self, wished: usize) -> usize {
        self.config.runtime.workers(self.device, wished)
    }

    /// The files of the newest iteration in the buffer.
    fn newest_games(&self) -> Vec<PathBuf> {
        let newest = self.state.buffer.entries.last();
        newest.map_or_else(Vec::new, |entry| buffer::files(&self.games(), &entry.name))
    }

    /// A seed of this iteration's own.
    fn seed(&self, purpose: RngStream) -> u64 {
        stream_rng(purpose, self.config.seed, self.state.iteration, 0).u64(..)
    }

    fn games(&self) -> PathBuf {
        self.folder.join("games")
    }

    /// The name of this iteration's files of games.
    fn games_name(&self) -> String {
        format!("iter-{}", Nets::name(self.state.iteration))
    }

    /// The samples that are learnt from for so many new positions.
    fn samples_for(&self, positions: u64) -> u64 {
        (positions as f64 * self.config.samples_per_position).round() as u64
    }

    /// Ends an iteration: its line of the metrics, and on to the next; after a veto from the best weights.
    fn conclude(&mut self, verdict: Option<Verdict>) -> Result<(), String> {
        let tested = self.state.stage == Stage::Arena;
        if tested {
            // The random mover is too far away to measure others from: its own distance is hardly known.
            let ratings = rate(&self.state.meetings, START);
            self.note("ratings", json!(ratings));
            self.note("arena", json!(self.state.matches));
            self.note("k32", json!(self.state.k32.get(&self.state.current)));
        }
        if self.state.escalation.iteration(verdict) {
            self.say("recovered: learning rate, mix and games are as before the veto")?;
        }
        self.clock();
        let mut line = json!({
            "iteration": self.state.iteration, "time_s": self.state.totals.seconds.round(),
            "buffer": self.state.buffer.positions(), "totals": self.state.totals,
            "best": self.state.best, "current": self.state.current, "escalation": self.state.escalation,
        });
        let notes = std::mem::take(&mut self.state.notes);
        line.as_object_mut().expect("an object").extend(notes);
        self.diary.measure(&line)?;
        if verdict == Some(Verdict::Vetoed) {
            // The old training run stays until the state has been written.
            self.state.training += 1;
            self.state.target = 0;
            self.state.current = self.state.best.clone();
        }
        self.state.iteration += 1;
        self.state.stage = Stage::Play;
        self.state.matches.clear();
        self.state.begun.clear();
        self.save()?;
        if tested {
            curves::draw(&self.folder)?;
        }
        self.tidy()
    }
}

/// Says how long it will go on, by the time that an iteration takes and by when it will be told to stop.
fn tell_time_left(each: Duration, iterations: Option<u64>, until: Option<Instant>) {
    let told = until.map(|until| until.saturating_duration_since(Instant::now()));
    let wanted = iterations.map(|count| each.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX)));
    let count = iterations.map_or_else(String::new, |count| format!("{count} iterations left, "));
    if let Some(left) = told.into_iter().chain(wanted).min() {
        log::info!("{count}{} to go, {} an iteration", HumanDuration(left), HumanDuration(each));
    }
}
