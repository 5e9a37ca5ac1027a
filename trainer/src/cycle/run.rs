//! The loop: play, learn, be tested.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::HumanDuration;
use serde_json::{Value, json};
use tch::Device;

use super::buffer::{self, Entry};
use super::config::LearnConfig;
use super::curves;
use super::diary::Diary;
use super::escalation::Verdict;
use super::nets::Nets;
use super::state::{START, Stage, State};
use super::trial::{self, Opponent, Role};
use crate::arena::{Contender, Contest, Meeting, Tally, contest, rate, score_of_elo};
use crate::chunks::{OutArgs, Store, progress};
use crate::export::network;
use crate::files::write_file;
use crate::learn::checkpoint::{self, Checkpoint};
use crate::learn::config::Schedule;
use crate::learn::reference::Reference;
use crate::learn::{self, Learner, Run, Sources, TrainConfig, batch_number};
use crate::model::Weights;
use crate::selfplay::{Plan, Seats, play};

/// The rating that Elo's own method begins with.
const FIRST_RATING: f64 = 1500.0;
/// What a game is worth in it.
const K: f64 = 32.0;
/// Batches on which the distance from the first network is measured.
const MEASURED: usize = 4;
/// Seconds after which finished games are written.
const SAVE_EVERY: u64 = 20;
/// Positions a file of games, about.
const CHUNK: usize = 1_000_000;

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
        let none = checkpoint::Progress::default();
        if config.start.is_empty() {
            let learner =
                Learner::new(&TrainConfig { seed: config.seed, ..config.train.clone() }, Device::Cpu)?;
            nets.write(START, &learner.net, &learner.averaged, &config.train, &none)?;
        } else {
            let loaded = Checkpoint::load(Path::new(&config.start))?;
            let (net, weights) = network(&loaded, true, None)?;
            config.train.model = loaded.config.model.clone();
            nets.write(START, &net, &weights, &loaded.config, &none)?;
        }
        nets.load(START)?;
        State::default().save(folder)?;
        Cycle::open(folder, config, device, stop)
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
        Cycle::open(folder, config, device, stop)
    }

    fn open(
        folder: &Path,
        config: LearnConfig,
        device: Device,
        stop: Arc<AtomicBool>,
    ) -> Result<Cycle, String> {
        let state = State::load(folder)?;
        let text = serde_json::to_string_pretty(&config).expect("numbers and text make JSON");
        write_file(&folder.join("config.json"), (text + "\n").as_bytes())?;
        let mut pretraining = Sources::default();
        if config.pretrain_mix_ratio > 0.0 {
            pretraining = Sources::load(&config.train.sources, config.train.validation_percent, folder)?;
        }
        Ok(Cycle {
            nets: Nets::of(folder)?,
            diary: Diary::open(folder, state.iteration)?,
            folder: folder.to_owned(),
            config,
            device,
            state,
            pretraining,
            stop,
        })
    }

    /// Where the run stands.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Goes on until so many iterations of the run are done, or it is told to stop.
    ///
    /// # Errors
    ///
    /// One line: a file can't be read or written, or a network fails. What was done before is kept.
    pub fn run(&mut self, iterations: u64) -> Result<Ended, String> {
        let (begin, first) = (Instant::now(), self.state.iteration);
        while self.state.iteration <= iterations {
            let started = Instant::now();
            let done = match self.state.stage {
                Stage::Play => self.play()?,
                Stage::Train => self.train()?,
                Stage::Arena => self.arena()?,
            };
            self.state.totals.seconds += started.elapsed().as_secs_f64();
            if !done {
                self.save()?;
                self.say("stopped; --resume goes on from here")?;
                return Ok(Ended::Stopped);
            }
            self.save()?;
            let passed = self.state.iteration - first;
            if passed > 0 && self.state.stage == Stage::Play && iterations < u64::MAX {
                let left = (iterations + 1 - self.state.iteration) as f64;
                let seconds = begin.elapsed().as_secs_f64() / passed as f64 * left;
                log::info!("{} iterations left: {}", left, HumanDuration(Duration::from_secs_f64(seconds)));
            }
        }
        Ok(Ended::Finished)
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

    /// A seed of this iteration's own.
    fn seed(&self) -> u64 {
        crate::games::dice(self.config.seed, self.state.iteration, 0).u64(..)
    }

    fn games(&self) -> PathBuf {
        self.folder.join("games")
    }

    /// Plays this iteration's games; no if it was stopped before their end.
    fn play(&mut self) -> Result<bool, String> {
        let name = format!("iter-{}", Nets::name(self.state.iteration));
        let State { best, current, escalation, .. } = &self.state;
        let network = self.nets.load(best)?;
        let share = escalation.explore(self.config.current_share, &self.config.veto);
        let other =
            if share > 0.0 && current != best { Some((self.nets.load(current)?, share)) } else { None };
        let settings = json!({ "best": best, "current": current, "share": share, "seed": self.config.seed });
        let source = format!(
            "self-play: {best}, {} visits, iteration {}",
            self.config.play.visits, self.state.iteration
        );
        let out = OutArgs { out: self.games(), chunk_size: CHUNK, save_every: SAVE_EVERY, resume: true };
        let store = Store::open(&out, &name, &source, settings)?;
        let plan = Plan {
            rules: self.config.play.clone(),
            seed: self.seed(),
            games: self.config.games_per_iteration,
        };
        let bar = progress(plan.games, store.games(), "games");
        let session = play(&plan, &Seats { network, other }, store, &bar, &self.stop)?;
        if session.stopped {
            return Ok(false);
        }
        let entry = Entry::read(&self.games(), &name)?;
        let games = entry.positions.len() as u64;
        let positions = entry.total();
        self.state.buffer.add(entry, self.config.buffer_size);
        self.state.totals.games += games;
        self.state.totals.positions += positions;
        self.state.target += (positions as f64 * self.config.samples_per_position).round() as u64;
        let hours = session.seconds.max(1e-3) / 3600.0;
        let rate = |count: u64| (count as f64 / hours).round();
        self.note(
            "play",
            json!({
                "games": session.tally, "new_positions": positions, "seconds": session.seconds,
                "boards": self.config.play.games * self.config.play.worker_count(),
                "games_per_h": rate(session.tally.games), "positions_per_h": rate(session.tally.plies),
                "evaluations_per_s": (session.evaluated as f64 / session.seconds.max(1e-3)).round(),
            }),
        );
        self.say(&format!(
            "{}; buffer {} positions of {} games",
            session.tally,
            self.state.buffer.positions(),
            self.state.buffer.games()
        ))?;
        self.state.stage = Stage::Train;
        Ok(true)
    }

    /// The folder of a training run.
    fn training(&self, number: u64) -> PathBuf {
        self.folder.join(format!("train-{number:03}"))
    }

    fn train_config(&self) -> TrainConfig {
        let mut config = self.config.train.clone();
        config.samples = self.state.target.max(1);
        config.schedule = Schedule::Constant;
        (config.minutes, config.epochs, config.early_stop) = (0.0, 0.0, 0);
        config.validate_every = u64::MAX;
        config.lr *= self.state.escalation.lr_factor;
        config.min_lr = config.min_lr.min(config.lr);
        config.seed = self.seed();
        config
    }

    /// The pretraining games and the buffer, at their shares.
    fn sources(&self) -> Result<(Sources, f64), String> {
        let mut sources = self.pretraining.clone();
        let mut mix = 0.0;
        if self.config.pretrain_mix_ratio > 0.0 {
            mix = self.state.escalation.mix(self.config.pretrain_mix_ratio, &self.config.veto);
            sources.share(mix);
        }
        let LearnConfig { recent_weight, .. } = self.config;
        let own = (1.0 - mix).max(0.0);
        self.state.buffer.add_to(&mut sources, &self.games(), &self.folder, recent_weight, own)?;
        Ok((sources, mix))
    }

    /// Learns until the iteration's samples are used up; no if it was stopped before.
    fn train(&mut self) -> Result<bool, String> {
        let folder = self.training(self.state.training);
        let config = self.train_config();
        let mut run = if checkpoint::list(&folder.join("checkpoints")).is_empty() {
            Run::start(&folder, &config, self.device, Some(&self.nets.weights(&self.state.best)))?
        } else {
            Run::resume(&folder, &config, self.device)?
        };
        run.learner.reference = self.reference(&run.learner)?;
        let from = run.progress.step;
        let (sources, mix) = self.sources()?;
        let mut feed = sources.feed(&config, batch_number(&run.progress.loader))?;
        let held_out = sources.held_out(&config)?;
        let stop = Arc::clone(&self.stop);
        let skipped = run.progress.skipped;
        match run.train(&mut feed, &held_out, &|_| stop.load(Ordering::Relaxed)) {
            Ok(learn::Ended::Finished) => {}
            Ok(learn::Ended::Stopped) => return Ok(false),
            // Nobody needs to play against a network whose numbers aren't finite.
            Err(why) if run.progress.skipped > skipped => {
                self.judged(Verdict::Vetoed, &why)?;
                return Ok(true);
            }
            Err(why) => return Err(why),
        }
        let mut drift = run.learner.reference.as_ref().map(Reference::drift).unwrap_or_default();
        if let Some(reference) = &run.learner.reference {
            let batches = (0..MEASURED).map(|_| feed.next_batch()).collect::<Result<Vec<_>, String>>()?;
            drift.kl = reference.measure(&run.learner.net, &run.learner.averaged, &batches);
        }
        self.state.drift = drift;
        let name = Nets::name(self.state.iteration);
        self.nets.write(&name, &run.learner.net, &run.learner.averaged, &config, &run.progress)?;
        let learnt = last_report(&folder, from);
        let losses = ["policy_loss", "wdl_loss", "top1"].map(|key| learnt[key].as_f64().unwrap_or(f64::NAN));
        self.say(&format!(
            "network {name}: policy loss {:.3}, WDL loss {:.3}, first choice {:.1} %; KL {:.3} from the first network",
            losses[0],
            losses[1],
            100.0 * losses[2],
            drift.kl
        ))?;
        if drift.kl >= self.config.kl.warn && drift.kl < self.config.kl.alarm {
            self.say(&format!("warning: the policy drifts away, KL {:.3}", drift.kl))?;
        }
        let accuracy = learnt["phases"].as_object().into_iter().flatten();
        let accuracy = accuracy.filter_map(|(phase, values)| Some((phase.clone(), values["top1"].as_f64()?)));
        self.state.accuracy.insert(name.clone(), accuracy.collect());
        self.note("learn", learnt);
        self.note("lr", json!(config.lr));
        self.note("pretrain_mix", json!(mix));
        self.note("kl", json!(drift.kl));
        self.note("kl_weight", json!(drift.weight));
        self.state.current = name;
        let alarm = drift.kl >= self.config.kl.alarm;
        if alarm {
            self.say(&format!("KL {:.3}: an arena at once", drift.kl))?;
        }
        if alarm || self.state.iteration.is_multiple_of(self.config.arena.every) {
            self.state.stage = Stage::Arena;
        } else {
            self.conclude()?;
        }
        Ok(true)
    }

    /// The first network, if going away from it costs.
    fn reference(&self, learner: &Learner) -> Result<Option<Reference>, String> {
        if self.config.kl.cost.weight == 0.0 {
            return Ok(None);
        }
        let kind = self.config.train.precision.kind(self.device);
        let mut weights = Weights::new(learner.net.layout(), self.device, kind, 0);
        Checkpoint::load(&self.nets.weights(START))?.restore_weights(&mut weights, false)?;
        Ok(Some(Reference::new(weights, self.config.kl.cost.clone())))
    }

    /// Tests the network; no if it was stopped before the end.
    fn arena(&mut self) -> Result<bool, String> {
        let rules = self.config.arena.clone();
        let (name, network) = (self.state.current.clone(), Box::new(self.nets.load(&self.state.current)?));
        let player = Contender::Network { name, network, visits: rules.visits };
        for opponent in trial::opponents(&self.state, &rules, self.config.seed, &self.nets.iterations()) {
            if self.state.matches.contains_key(opponent.role.name()) {
                continue;
            }
            if !self.meet(&player, &opponent)? {
                return Ok(false);
            }
            self.save()?;
        }
        let (verdict, reasons) = trial::verdict(&self.state.matches, &rules);
        self.judged(verdict, &reasons.join(", "))?;
        Ok(true)
    }

    /// Does what a verdict asks for, and ends the iteration.
    fn judged(&mut self, verdict: Verdict, why: &str) -> Result<(), String> {
        let remedy = self.state.escalation.arena(verdict, &self.config.veto);
        self.note("verdict", json!(verdict));
        match verdict {
            Verdict::Promoted => {
                self.state.totals.promotions += 1;
                self.state.best = self.state.current.clone();
                self.say(&format!("promoted: {} is the best so far ({why})", self.state.best))?;
            }
            Verdict::Kept => self.say(&format!("{} stays the best ({why})", self.state.best))?,
            Verdict::Vetoed => {
                let remedy = remedy.expect("a veto has one");
                self.veto(why, remedy.level, remedy.purge)?;
            }
        }
        self.conclude()
    }

    /// Goes back to the best weights, and throws away what is newest.
    fn veto(&mut self, why: &str, level: u32, share: f64) -> Result<(), String> {
        let (best, current) = (self.state.best.clone(), self.state.current.clone());
        self.state.totals.vetoes += 1;
        let purged = self.state.buffer.purge(share);
        let escalation = &self.state.escalation;
        let (rules, base) = (&self.config.veto, self.config.pretrain_mix_ratio);
        let (mix, explore) =
            (escalation.mix(base, rules), escalation.explore(self.config.current_share, rules));
        let lr = self.config.train.lr * escalation.lr_factor;
        self.say(&format!(
            "veto, level {level}: {why}; back to {best} with a fresh optimiser, {purged} of the newest positions purged, \
             pretraining mix {:.0} %, learning rate {lr:.2e}, {:.0} % of games by the current network, for {} iterations",
            if base > 0.0 { 100.0 * mix } else { 0.0 },
            100.0 * explore,
            escalation.left
        ))?;
        let mut worse = self.less_accurate(&best, &current);
        worse.extend(trial::unlearnt(&self.nets, &best, &current)?);
        let worse =
            if worse.is_empty() { "nothing that the canaries show".to_owned() } else { worse.join("; ") };
        self.say(&format!("what got worse: {worse}"))?;
        self.note("worse", json!(worse));
        // The old training run stays until the state has been written.
        self.state.training += 1;
        self.state.target = 0;
        self.state.current = best;
        self.state.discarded.insert(current);
        self.conclude()
    }

    /// The phases of the game in which held-out moves are found less often.
    fn less_accurate(&self, before: &str, now: &str) -> Vec<String> {
        let (Some(before), Some(now)) = (self.state.accuracy.get(before), self.state.accuracy.get(now))
        else {
            return Vec::new();
        };
        let pairs = before.iter().filter_map(|(phase, then)| Some((phase, *then, *now.get(phase)?)));
        pairs
            .filter(|(_, then, now)| *now < then - 0.005)
            .map(|(phase, then, now)| {
                format!("first choice in the {phase} {:.1} % (was {:.1} %)", 100.0 * now, 100.0 * then)
            })
            .collect()
    }

    /// A match; no if it was stopped.
    fn meet(&mut self, player: &Contender, opponent: &Opponent) -> Result<bool, String> {
        let rules = &self.config.arena;
        let (games, sprt) = opponent.role.games(rules);
        let plan = Contest { pairs: games.div_ceil(2), sprt, rules: rules.rules.clone(), seed: self.seed() };
        let bar = progress(2 * plan.pairs, 0, &format!("games against {}", opponent.name));
        let other = opponent.contender(&self.nets, rules.visits)?;
        let report = contest([player, &other], &plan, &bar, &self.stop)?;
        bar.finish_and_clear();
        if report.stopped {
            return Ok(false);
        }
        let tally = report.tally;
        let below = if tally.score() < opponent.role.expected() { ", below" } else { ", above" };
        self.say(&format!(
            "{} against {} ({}): {tally}{below} {:.0} %",
            player.name(),
            opponent.name,
            opponent.role.name(),
            100.0 * opponent.role.expected()
        ))?;
        self.rate_by_k(&player.name(), &opponent.name, &tally);
        self.state.meetings.push(Meeting {
            first: player.name(),
            second: opponent.name.clone(),
            games: 2.0 * tally.count() as f64,
            points: 2.0 * tally.count() as f64 * tally.score(),
        });
        self.state.matches.insert(opponent.role.name().to_owned(), tally);
        Ok(true)
    }

    /// Elo's own method, a match as one event of as many points as games.
    fn rate_by_k(&mut self, player: &str, opponent: &str, tally: &Tally) {
        let predecessor = self.state.k32.get(&self.state.best).copied();
        let own = self.state.k32.get(player).copied().or(predecessor).unwrap_or(FIRST_RATING);
        let theirs = self.state.k32.get(opponent).copied().unwrap_or(FIRST_RATING);
        let mut rating = own;
        let (games, score) = (2 * tally.count(), tally.score());
        (0..games).for_each(|_| rating += K * (score - score_of_elo(rating - theirs)));
        self.state.k32.insert(player.to_owned(), rating);
        self.state.k32.entry(opponent.to_owned()).or_insert(theirs);
    }

    /// Ends an iteration: its line of the metrics, and on to the next. A veto has done so already.
    fn conclude(&mut self) -> Result<(), String> {
        if self.state.stage == Stage::Play {
            return Ok(());
        }
        if self.state.stage == Stage::Arena {
            let anchor = if self.config.arena.sanity_games > 0 { Role::Random.name() } else { START };
            let ratings = rate(&self.state.meetings, anchor);
            self.note("ratings", json!(ratings));
            self.note("arena", json!(self.state.matches));
            self.note("k32", json!(self.state.k32.get(&self.state.current)));
        }
        if self.state.escalation.iteration() {
            self.say("recovered: learning rate, mix and games are as before the veto")?;
        }
        let mut line = json!({
            "iteration": self.state.iteration, "time_s": self.state.totals.seconds.round(),
            "buffer": self.state.buffer.positions(), "totals": self.state.totals,
            "best": self.state.best, "current": self.state.current, "escalation": self.state.escalation,
        });
        let notes = std::mem::take(&mut self.state.notes);
        line.as_object_mut().expect("an object").extend(notes);
        self.diary.measure(&line)?;
        let tested = self.state.stage == Stage::Arena;
        self.state.iteration += 1;
        self.state.stage = Stage::Play;
        self.state.matches.clear();
        self.save()?;
        if tested {
            curves::draw(&self.folder)?;
        }
        self.tidy();
        Ok(())
    }

    /// Removes networks and games that aren't needed any more, and more of them if the disk's share is used up.
    fn tidy(&mut self) {
        let milestone = |iteration: &u64| iteration.is_multiple_of(self.config.milestone_every);
        let iterations = self.nets.iterations();
        let mut kept: BTreeSet<String> =
            [&self.state.best, &self.state.current].into_iter().cloned().collect();
        let recent = iterations.iter().rev().take(2).copied();
        let worthy = recent.chain(iterations.iter().copied().filter(milestone)).map(Nets::name);
        kept.extend(worthy.filter(|name| !self.state.discarded.contains(name)));
        self.nets.keep(&kept);
        self.state.accuracy.retain(|name, _| kept.contains(name));
        let used: BTreeSet<String> = self.state.buffer.names().into_iter().map(str::to_owned).collect();
        // What a kill may have left: a list of unfinished games, an older training run.
        (0..self.state.training).for_each(|number| _ = std::fs::remove_dir_all(self.training(number)));
        for iteration in 1..self.state.iteration {
            let name = format!("iter-{}", Nets::name(iteration));
            _ = std::fs::remove_file(self.games().join(format!("{name}.json")));
            if !used.contains(&name) {
                buffer::files(&self.games(), &name).iter().for_each(|path| _ = std::fs::remove_file(path));
            }
        }
        let bound = self.config.disk << 20;
        for iteration in iterations.into_iter().filter(milestone) {
            let name = Nets::name(iteration);
            if size(&self.folder) > bound && name != self.state.best && name != self.state.current {
                kept.remove(&name);
                self.nets.keep(&kept);
            }
        }
        if size(&self.folder) > bound {
            log::warn!(
                "{} takes more than the {} MiB that `disk` allows, and nothing more can go",
                self.folder.display(),
                self.config.disk
            );
        }
    }
}

/// Bytes of the files in a folder.
fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

/// The means of a training run's reports after step `from`, with its last validation.
fn last_report(run: &Path, from: u64) -> Value {
    let text = std::fs::read_to_string(run.join("metrics.jsonl")).unwrap_or_default();
    let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let since = || lines.iter().filter(|line| line["step"].as_u64().is_some_and(|step| step > from));
    let mean = |key: &str| {
        let values: Vec<f64> = since().filter_map(|line| line[key].as_f64()).collect();
        if values.is_empty() { Value::Null } else { json!(values.iter().sum::<f64>() / values.len() as f64) }
    };
    let last = since().rfind(|line| !line["validation"].is_null());
    let part = |key: &str| last.map_or(Value::Null, |line| line[key].clone());
    let steps = since().filter_map(|line| line["step"].as_u64()).max().unwrap_or(from);
    json!({
        "step": steps, "policy_loss": mean("policy_loss"), "wdl_loss": mean("wdl_loss"), "top1": mean("top1"),
        "top5": mean("top5"), "samples_per_s": mean("samples_per_s"), "skipped": mean("skipped"),
        "validation": part("validation"), "phases": part("phases"),
    })
}
