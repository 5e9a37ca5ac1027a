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
use super::escalation::{Remedy, Verdict};
use super::nets::Nets;
use super::state::{START, Stage, State};
use super::trial::{self, Opponent};
use crate::arena::{Contender, Contest, Meeting, Tally, contest, rate, score_of_elo};
use crate::chunks::{OutArgs, Store, progress};
use crate::export::network;
use crate::files::write_file;
use crate::games::{Purpose, dice_for};
use crate::learn::checkpoint::{self, Checkpoint};
use crate::learn::config::Schedule;
use crate::learn::reference::Reference;
use crate::learn::validation::validate;
use crate::learn::{self, Learner, Run, Sources, TrainConfig, TrainError, Validations, batch_number};
use crate::model::Weights;
use crate::selfplay::{self, Plan, Seats, play, worker_count};

/// The rating that Elo's own method begins with.
const FIRST_RATING: f64 = 1500.0;
/// What a game is worth in it.
const K: f64 = 32.0;
/// Batches on which the distance from the first network is measured.
const MEASURED: usize = 4;
/// Seconds after which finished games are written.
const SAVE_EVERY: u64 = 5;
/// Seconds after which the counted games of a match are written.
const SAVE_MATCH_EVERY: Duration = Duration::from_secs(2);
/// Held-out samples on which two networks are compared after a veto, at least, if there are so many.
const COMPARED: usize = 8192;
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
        Cycle::open(folder, State::load(folder)?, config, device, stop)
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
        config.train.model = Checkpoint::load(&nets.weights(START))?.config.model;
        if config.start.is_empty() && config.kl.cost.weight > 0.0 {
            log::warn!(
                "kl.cost.weight is set to 0: there is no pretrained network, `start`, to stay near to"
            );
            config.kl.cost.weight = 0.0;
        }
        let mut pretraining = Sources::default();
        if config.pretrain_mix_ratio > 0.0 {
            pretraining = Sources::load(&config.train.sources, config.train.validation_percent, folder)?;
        }
        let diary = Diary::open(folder, state.iteration)?;
        // Last of all, so that a configuration that doesn't do leaves that of the run as it was.
        let text = serde_json::to_string_pretty(&config).expect("numbers and text make JSON");
        write_file(&folder.join("config.json"), (text + "\n").as_bytes())?;
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

    /// A seed of this iteration's own.
    fn seed(&self, purpose: Purpose) -> u64 {
        dice_for(purpose, self.config.seed, self.state.iteration, 0).u64(..)
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
            seed: self.seed(Purpose::Games),
            games: self.config.games_per_iteration,
        };
        let bar = progress(plan.games, store.games(), "games");
        let session = play(&plan, &Seats { network, other }, store, &bar, &self.stop)?;
        if session.stopped {
            return Ok(false);
        }
        // Of all games, also of those that were played before the iteration was interrupted.
        let chunks = buffer::read_all(&self.games(), &name)?;
        let all = chunks.iter().flat_map(|chunk| (0..chunk.games()).map(move |game| chunk.game(game)));
        let tally = selfplay::Tally::of(all, &plan.rules);
        let entry = Entry::new(&name, &chunks);
        let games = entry.positions.len() as u64;
        let positions = entry.total();
        self.state.buffer.add(entry, self.config.buffer_size);
        self.state.totals.games += games;
        self.state.totals.positions += positions;
        self.state.target += (positions as f64 * self.config.samples_per_position).round() as u64;
        let hours = session.seconds.max(1e-3) / 3600.0;
        // Rates are those of this session; a session that only found games which were there has none.
        let rate = |count: u64| (session.tally.games > 0).then(|| (count as f64 / hours).round());
        self.note(
            "play",
            json!({
                "games": tally, "new_positions": positions, "seconds": session.seconds,
                "boards": self.config.play.games * worker_count(self.config.play.workers),
                "games_per_h": rate(session.tally.games), "positions_per_h": rate(session.tally.plies),
                "evaluations_per_s": (session.evaluated as f64 / session.seconds.max(1e-3)).round(),
            }),
        );
        self.say(&format!(
            "{tally}; buffer {} positions of {} games",
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
        config.seed = self.seed(Purpose::Samples);
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
        let own = (1.0 - mix).max(0.0);
        self.state.buffer.add_to(&mut sources, &self.games(), &self.folder, &self.config, own)?;
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
        let from = match self.state.from {
            Some(from) => from,
            None => {
                self.state.from = Some(run.progress.step);
                self.save()?;
                run.progress.step
            }
        };
        if run.progress.step == from {
            // What the last iteration measured.
            run.learner.drift.clear();
        }
        let (sources, mix) = self.sources()?;
        let mut feed = sources.feed(&config, batch_number(&run.progress.loader))?;
        let held_out = sources.held_out(&config)?;
        let stop = Arc::clone(&self.stop);
        match run.train(&mut feed, &held_out, &|_| stop.load(Ordering::Relaxed)) {
            Ok(learn::Ended::Finished) => {}
            Ok(learn::Ended::Stopped) => return Ok(false),
            // Nobody needs to play against a network whose numbers aren't finite.
            Err(why @ TrainError::NotFinite(_)) => {
                self.state.from = None;
                self.judged(Verdict::Vetoed, &why.to_string(), None)?;
                return Ok(true);
            }
            Err(why) => return Err(why.into()),
        }
        let mut drift = run.learner.drift.drift();
        if let Some(reference) = &run.learner.reference {
            let batches = (0..MEASURED).map(|_| feed.next_batch()).collect::<Result<Vec<_>, String>>()?;
            let kl = reference.measure(&run.learner.net, &run.learner.averaged, &batches);
            if kl.is_finite() {
                drift.kl = kl;
            } else {
                drift.lost += 1;
            }
        }
        self.state.drift = drift;
        self.state.from = None;
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
        let alarm = drift.reaches(self.config.kl.alarm);
        if drift.reaches(self.config.kl.warn) && !alarm {
            self.say(&format!("warning: the policy drifts away, KL {:.3}", drift.kl))?;
        }
        self.note("learn", learnt);
        self.note("lr", json!(config.lr));
        self.note("pretrain_mix", json!(mix));
        self.note("kl", json!(drift.kl));
        self.note("kl_weight", json!(drift.weight));
        self.note("kl_lost", json!(drift.lost));
        self.state.current = name;
        if alarm {
            let lost = match drift.lost {
                0 => String::new(),
                lost => format!(", not finite in {lost} batches"),
            };
            self.say(&format!("KL {:.3}{lost}: an arena at once", drift.kl))?;
        }
        if alarm || self.state.iteration.is_multiple_of(self.config.arena.every) {
            self.state.stage = Stage::Arena;
        } else {
            self.conclude(None)?;
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
        let player = Contender::Network { name: name.clone(), network, visits: rules.visits };
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
        self.judged(verdict, &reasons.join(", "), Some(&name))?;
        Ok(true)
    }

    /// Does what a verdict asks for, and ends the iteration; `tested` is the network, none if it came to none.
    fn judged(&mut self, verdict: Verdict, why: &str, tested: Option<&str>) -> Result<(), String> {
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
                self.veto(why, &remedy.expect("a veto has one"), tested)?;
            }
        }
        self.conclude(Some(verdict))
    }

    /// Throws away what is newest, and says what is done and what got worse.
    fn veto(
        &mut self,
        why: &str,
        Remedy { level, purge }: &Remedy,
        tested: Option<&str>,
    ) -> Result<(), String> {
        let best = self.state.best.clone();
        let worse = match tested {
            Some(tested) => self.worse(&best, tested)?,
            None => vec!["everything: its numbers aren't finite".to_owned()],
        };
        self.state.vetoed.extend(tested.map(str::to_owned));
        self.state.totals.vetoes += 1;
        let purged = self.state.buffer.purge(*purge);
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
        let worse = if worse.is_empty() {
            "nothing that canaries or held-out games show".to_owned()
        } else {
            worse.join("; ")
        };
        self.say(&format!("what got worse: {worse}"))?;
        self.note("worse", json!(worse));
        Ok(())
    }

    /// What network `now` does worse than network `before`: phases of held-out games, and canaries.
    fn worse(&self, before: &str, now: &str) -> Result<Vec<String>, String> {
        let [then, measured] = self.validated([before, now])?;
        let mut worse = trial::less_accurate(&then, &measured);
        worse.extend(trial::unlearnt(&self.nets, before, now)?);
        Ok(worse)
    }

    /// How two networks do on the same held-out games, those of the pretraining, or, without such, of the buffer.
    fn validated(&self, names: [&str; 2]) -> Result<[Validations; 2], String> {
        let mut config = self.config.train.clone();
        let pretrained = self.config.pretrain_mix_ratio > 0.0;
        let sources = if pretrained { self.pretraining.clone() } else { self.sources()?.0 };
        // More than there are would be the same again, and seem surer than they are.
        let there_are = usize::try_from(sources.held_out_samples()).unwrap_or(usize::MAX);
        let wanted = COMPARED.max(config.validation_batches * config.batch);
        config.validation_batches = wanted.min(there_are).div_ceil(config.batch);
        let held_out = sources.held_out(&config)?;
        let validated = |name: &str| -> Result<Validations, String> {
            let (net, weights) = network(&Checkpoint::load(&self.nets.weights(name))?, true, None)?;
            Ok(validate(&net, &weights, &held_out, &config))
        };
        let [before, now] = names;
        Ok([validated(before)?, validated(now)?])
    }

    /// A match; no if it was stopped.
    fn meet(&mut self, player: &Contender, opponent: &Opponent) -> Result<bool, String> {
        let rules = &self.config.arena;
        let (games, sprt) = opponent.role.games(rules);
        let role = opponent.role.name();
        let begun = self.state.begun.get(role).copied().unwrap_or_default();
        let plan = Contest {
            pairs: games.div_ceil(2),
            sprt,
            rules: rules.rules.clone(),
            seed: self.seed(Purpose::Matches),
            begun,
        };
        let bar = progress(2 * plan.pairs, 2 * begun.count(), &format!("games against {}", opponent.name));
        let other = opponent.contender(&self.nets, rules.visits)?;
        let (state, folder) = (&mut self.state, &self.folder);
        let mut saved = Instant::now();
        let mut counted = |tally: &Tally| {
            state.begun.insert(role.to_owned(), *tally);
            if saved.elapsed() < SAVE_MATCH_EVERY {
                return Ok(());
            }
            saved = Instant::now();
            state.save(folder)
        };
        let report = contest([player, &other], &plan, &bar, &self.stop, &mut counted)?;
        bar.finish_and_clear();
        if report.stopped {
            return Ok(false);
        }
        self.state.begun.remove(role);
        let tally = report.tally;
        let below = if tally.score() < opponent.role.expected() { ", below" } else { ", above" };
        self.say(&format!(
            "{} against {} ({}): {tally}{below} {:.0} %",
            player.name(),
            opponent.name,
            role,
            100.0 * opponent.role.expected()
        ))?;
        self.rate_by_k(&player.name(), &opponent.name, &tally);
        self.state.meetings.push(Meeting {
            first: player.name(),
            second: opponent.name.clone(),
            games: 2.0 * tally.count() as f64,
            points: 2.0 * tally.count() as f64 * tally.score(),
        });
        self.state.matches.insert(role.to_owned(), tally);
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

    /// Removes networks and games that aren't needed any more, and more of them if the disk's share is used up.
    fn tidy(&mut self) -> Result<(), String> {
        let milestone = |iteration: &u64| iteration.is_multiple_of(self.config.milestone_every);
        let mut iterations = self.nets.iterations();
        iterations.retain(|iteration| !self.state.vetoed.contains(&Nets::name(*iteration)));
        let mut kept: BTreeSet<String> =
            [&self.state.best, &self.state.current].into_iter().cloned().collect();
        let recent = iterations.iter().rev().take(2).copied();
        let worthy = recent.chain(iterations.iter().copied().filter(milestone)).map(Nets::name);
        kept.extend(worthy);
        self.nets.keep(&kept);
        let used: BTreeSet<String> = self.state.buffer.names().into_iter().map(str::to_owned).collect();
        // What a kill may have left: a list of unfinished games, an older training run.
        (0..self.state.training).for_each(|number| _ = std::fs::remove_dir_all(self.training(number)));
        for iteration in 1..self.state.iteration {
            let name = format!("iter-{}", Nets::name(iteration));
            _ = std::fs::remove_file(self.games().join(format!("{name}.json")));
            if !used.contains(&name) {
                self.remove_games(&name);
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
        let games = self.games();
        let of = |name: &str| buffer::files(&games, name).iter().map(|path| bytes(path)).sum::<u64>();
        let gone = self.state.buffer.release(size(&self.folder).saturating_sub(bound), of);
        if !gone.is_empty() {
            // First nothing refers to them any more, then they go.
            self.save()?;
            gone.iter().for_each(|name| self.remove_games(name));
            let left = self.state.buffer.positions();
            self.say(&format!(
                "the games of {} iterations went, the oldest, as `disk` is used up; {left} positions are left",
                gone.len()
            ))?;
        }
        if size(&self.folder) > bound {
            log::warn!(
                "{} takes more than the {} MiB that `disk` allows, and nothing more can go",
                self.folder.display(),
                self.config.disk
            );
        }
        Ok(())
    }

    fn remove_games(&self, name: &str) {
        buffer::files(&self.games(), name).iter().for_each(|path| _ = std::fs::remove_file(path));
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

/// The size of a file.
fn bytes(path: &Path) -> u64 {
    path.metadata().map_or(0, |metadata| metadata.len())
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
