//! The loop of self-play, training and arena matches.

mod units;
mod play;
mod train;
mod arena;
mod decision;
mod cleanup;
mod resume;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use engine::base::words::counted;
use indicatif::HumanDuration;
use serde_json::{Value, json};

use super::escalation::GateDecision;
use super::learner::{LoopContext, LoopLearner};
use super::networks::RunNetworks;
use super::run_log::RunLog;
use super::state::{RunState, START, Stage};
use super::{buffer, curves};
use crate::base::files::write_file;
use crate::base::lock::{Lock, refuse_in_use};
use crate::config::RlConfig;
use crate::data::record::{RngStream, stream_rng};
use crate::play::arena::rate;
use crate::play::units::Inbox;

#[derive(Clone, Debug, Default)]
pub struct Others {
    /// `None` to work alone.
    pub inbox: Option<PathBuf>,
    /// Time without other machines' results before this process plays itself.
    pub patience: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RlOutcome {
    Finished,
    /// Interrupted; can be resumed.
    Stopped,
}

/// Refuses keys of `train.model` that contradict the network of the run or of `start`, whose structure would replace
/// them. `asked` comes from [`RlSettings::model_keys`](crate::config::RlSettings::model_keys).
pub fn check_model_keys(
    learner: &dyn LoopLearner,
    folder: &Path,
    resume: bool,
    config: &RlConfig,
    asked: &Value,
) -> Result<()> {
    let path = match (resume, config.start.as_str()) {
        (true, _) => RunNetworks::of(folder)?.weights(START),
        (false, "") => return Ok(()),
        (false, start) => PathBuf::from(start),
    };
    let model = learner.model(&path, config)?;
    let asked = asked.as_object().into_iter().flatten();
    let refused: Vec<String> = asked
        .filter(|(key, value)| model[key.as_str()] != **value)
        .map(|(key, value)| {
            format!("train.model.{key} = {value} ({} has {})", path.display(), model[key.as_str()])
        })
        .collect();
    ensure!(
        refused.is_empty(),
        "rl would overwrite {}: remove {}, or start another run with a network of that structure",
        refused.join(", "),
        if refused.len() == 1 { "it" } else { "them" }
    );
    Ok(())
}

pub struct RlLoop {
    config: RlConfig,
    folder: PathBuf,
    learner: Box<dyn LoopLearner>,
    state: RunState,
    nets: RunNetworks,
    log: RunLog,
    stop: Arc<AtomicBool>,
    /// Where results of units arrive.
    inbox: Arc<Inbox>,
    patience: Duration,
    /// Held as long as this process may write the state.
    _lock: Lock,
    last: u64,
    /// Run time is counted up to here.
    counted: Instant,
}

impl RlLoop {
    pub fn start(
        folder: &Path,
        config: RlConfig,
        learner: Box<dyn LoopLearner>,
        others: &Others,
        stop: Arc<AtomicBool>,
    ) -> Result<RlLoop> {
        if RunState::exists(folder) {
            refuse_in_use(&folder.join("lock"))?;
            let folder = folder.display();
            bail!("{folder} holds a run already: add --resume, or name another folder with --run");
        }
        learner.begin(&config, &RunNetworks::of(folder)?)?;
        let new = RlLoop::open(folder, RunState::default(), config, learner, others, stop)?;
        // From here on the folder holds a run.
        new.save()?;
        Ok(new)
    }

    /// This iteration's games in the buffer, and their target positions.
    fn new_games(&self) -> [u64; 2] {
        let own = self.state.buffer.entries.last().filter(|entry| entry.name == self.games_name());
        own.map_or([0, 0], |entry| [entry.positions.len() as u64, entry.total()])
    }

    fn open(
        folder: &Path,
        state: RunState,
        mut config: RlConfig,
        mut learner: Box<dyn LoopLearner>,
        others: &Others,
        stop: Arc<AtomicBool>,
    ) -> Result<RlLoop> {
        let lock = Lock::take(&folder.join("lock"))?;
        let nets = RunNetworks::of(folder)?;
        if config.start.is_empty() && config.kl.cost.weight > 0.0 {
            log::warn!(
                "kl.cost.weight is set to 0: there is no pretrained network (`start`) to measure the divergence from"
            );
            config.kl.cost.weight = 0.0;
        }
        learner.open(&mut config, &nets, folder)?;
        log::info!("{}", learner.describe(&config));
        let log = RunLog::open(folder, state.iteration)?;
        // Written last, so that an invalid configuration leaves the run's own unchanged.
        let text = serde_json::to_string_pretty(&config.to_json()).expect("numbers and text make JSON");
        write_file(&folder.join("config.json"), (text + "\n").as_bytes())?;
        let own = folder.join("inbox");
        let inbox = Inbox::open(others.inbox.as_deref().unwrap_or(&own), others.inbox.is_some())?;
        let (folder, counted, patience) = (folder.to_owned(), Instant::now(), others.patience);
        let inbox = Arc::new(inbox);
        Ok(RlLoop {
            config,
            folder,
            learner,
            state,
            nets,
            log,
            stop,
            inbox,
            patience,
            _lock: lock,
            last: u64::MAX,
            counted,
        })
    }

    pub fn state(&self) -> &RunState {
        &self.state
    }

    /// `until` is the expected end, for the log only. An error loses no finished work.
    pub fn run(&mut self, iterations: u64, until: Option<Instant>) -> Result<RlOutcome> {
        let (begin, first) = (Instant::now(), self.state.iteration);
        self.last = iterations;
        while self.state.iteration <= iterations {
            let done = match self.state.stage {
                Stage::Play => self.play()?,
                Stage::Train => {
                    self.publish_ahead()?;
                    self.train()?
                }
                Stage::Arena => self.arena()?,
            };
            self.clock();
            self.save()?;
            if !done {
                self.log_event("stopped; --resume continues from here")?;
                return Ok(RlOutcome::Stopped);
            }
            let passed = self.state.iteration - first;
            if passed > 0 && self.state.stage == Stage::Play {
                let each = begin.elapsed() / u32::try_from(passed).unwrap_or(u32::MAX);
                let left = (iterations < u64::MAX).then(|| iterations + 1 - self.state.iteration);
                log_time_left(each, left, until);
            }
        }
        self.inbox.publish(std::iter::empty(), &json!({ "finished": true }))?;
        Ok(RlOutcome::Finished)
    }

    fn clock(&mut self) {
        let now = Instant::now();
        self.state.totals.seconds += (now - self.counted).as_secs_f64();
        self.counted = now;
    }

    fn save(&self) -> Result<()> {
        self.state.save(&self.folder)
    }

    fn log_event(&self, line: &str) -> Result<()> {
        self.log.event(self.state.iteration, line)
    }

    fn note(&mut self, key: &str, value: Value) {
        self.state.notes.insert(key.to_owned(), value);
    }

    fn context(&self) -> LoopContext<'_> {
        LoopContext {
            config: &self.config,
            folder: &self.folder,
            nets: &self.nets,
            log: &self.log,
            iteration: self.state.iteration,
            stop: &self.stop,
        }
    }

    fn newest_games(&self) -> Vec<PathBuf> {
        let newest = self.state.buffer.entries.last();
        newest.map_or_else(Vec::new, |entry| buffer::files(&self.games(), &entry.name))
    }

    fn seed(&self, purpose: RngStream) -> u64 {
        stream_rng(purpose, self.config.seed, self.state.iteration, 0).u64(..)
    }

    fn games(&self) -> PathBuf {
        self.folder.join("games")
    }

    fn games_name(&self) -> String {
        self.games_name_of(self.state.iteration)
    }

    fn games_name_of(&self, iteration: u64) -> String {
        format!("iter-{}", RunNetworks::name(iteration))
    }

    fn samples_for(&self, positions: u64) -> u64 {
        (positions as f64 * self.config.samples_per_position).round() as u64
    }

    /// After a veto the next iteration begins from the best weights.
    fn conclude(&mut self, decision: Option<GateDecision>) -> Result<()> {
        let tested = self.state.stage == Stage::Arena;
        if tested {
            // The random mover is no anchor: it is too weak for its distance to be measured.
            let ratings = rate(&self.state.meetings, &[(START, 0.0)]);
            self.note("ratings", json!(ratings));
            self.note("arena", json!(self.state.matches));
            self.note("k32", json!(self.state.k32.get(&self.state.current)));
        }
        if self.state.escalation.iteration(decision) {
            self.log_event("the veto's measures end: learning rate, mix and games are as before")?;
        }
        self.clock();
        let mut line = json!({
            "iteration": self.state.iteration, "time_s": self.state.totals.seconds.round(),
            "buffer": self.state.buffer.positions(), "totals": self.state.totals,
            "best": self.state.best, "current": self.state.current, "escalation": self.state.escalation,
        });
        let notes = std::mem::take(&mut self.state.notes);
        line.as_object_mut().expect("an object").extend(notes);
        self.log.metrics(&line)?;
        if decision == Some(GateDecision::Vetoed) {
            // Games by the vetoed network are no longer wanted.
            self.state.lineups.retain(|at, _| *at <= self.state.iteration);
            // The old training run is deleted after the state is written.
            self.state.training += 1;
            self.state.target = 0;
            self.state.current = self.state.best.clone();
        }
        self.state.iteration += 1;
        self.state.stage = Stage::Play;
        self.state.matches.clear();
        self.state.unfinished.clear();
        self.save()?;
        if tested {
            curves::draw_curves(&self.folder, &self.folder.join("curves.svg"))?;
        }
        self.clean_up()
    }
}

fn log_time_left(each: Duration, iterations: Option<u64>, until: Option<Instant>) {
    let by_clock = until.map(|until| until.saturating_duration_since(Instant::now()));
    let by_count = iterations.map(|count| each.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX)));
    let count =
        iterations.map_or_else(String::new, |count| format!("{} left, ", counted(count, "iteration")));
    if let Some(left) = by_clock.into_iter().chain(by_count).min() {
        log::info!("{count}{} to go, {} an iteration", HumanDuration(left), HumanDuration(each));
    }
}
