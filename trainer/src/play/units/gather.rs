use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use crossbeam_channel::Receiver;
use serde_json::Value;

use super::inbox::Inbox;
use super::own_units::{OwnReport, OwnUnits, POLL_EVERY};
use super::task::UnitTask;
use super::unit::{Unit, UnitKind};
use super::unit_games::UnitGames;
use crate::config::SelfPlayRules;
use crate::play::selfplay::{SelfPlayContext, SelfPlayNetworks};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Accepted: the result's file is removed. The named other units are obsolete.
    Taken(Vec<String>),
    /// Not yet: the file stays.
    Later,
    Refused(String),
}

/// This process's own work.
#[derive(Clone, Debug)]
pub struct OwnWork {
    pub threads: usize,
    pub folder: PathBuf,
    /// Time without other machines' results before own threads start.
    pub patience: Duration,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct GatherReport {
    pub stopped: bool,
    pub own: u64,
    pub others: u64,
    pub refused: u64,
    /// Results that were no longer needed ([`Inbox::is_past`]).
    pub duplicates: u64,
    pub evaluated: u64,
    pub batch: f64,
    /// Most concurrent self-play games on own threads.
    pub boards: u64,
    pub seconds: f64,
}

pub struct Gathering<'a> {
    pub inbox: &'a Inbox,
    pub own: OwnWork,
    /// Units wanted later, whose results stay in the inbox until then. Without other machines, own threads begin their
    /// self-play while the last games of the present units are played.
    pub ahead: &'a [Unit],
    /// Further fields of the list of wanted units.
    pub about: Value,
    pub stop: &'a AtomicBool,
}

impl Gathering<'_> {
    /// Collects results of all `units`. Own threads do the units in order, unless other machines are faster. Self-play
    /// units must differ only in their game numbers; own threads play them together. `admit` is called once per unit
    /// and file, and again only after [`Admission::Later`]; `shown` after each round.
    pub fn run(
        self,
        units: &[Unit],
        task: &(dyn Fn(&Unit) -> Result<UnitTask> + Sync),
        admit: &mut dyn FnMut(&Unit, &Path) -> Result<Admission>,
        shown: &mut dyn FnMut(&GatherReport),
    ) -> Result<GatherReport> {
        self.inbox.publish(units.iter().chain(self.ahead), &self.about)?;
        let begin = Instant::now();
        let halt = AtomicBool::new(false);
        let is_self_play = |units: &[Unit]| units.first().is_some_and(|unit| unit.kind == UnitKind::SelfPlay);
        let alike =
            |next: &Unit| units.iter().all(|unit| (unit.seed, &unit.rules) == (next.seed, &next.rules));
        let goes_on = is_self_play(units)
            && is_self_play(self.ahead)
            && self.ahead.iter().all(alike)
            && !self.inbox.is_published();
        let next = if goes_on { self.ahead } else { &[] };
        let (own, messages) = OwnUnits::new(self.inbox, units.iter().chain(next), !self.inbox.is_published());
        let context = match units.first().filter(|_| is_self_play(units)) {
            Some(first) => Some(common_context(units, &task(first)?)?),
            None => None,
        };
        let context = match (context, next.first()) {
            (Some(context), Some(first)) => {
                Some(context.and_from(first.number, &networks_of(next, &task(first)?)?.1))
            }
            (context, _) => context,
        };
        // Existing results are made again only if refused.
        self.inbox.results()?.iter().for_each(|name| own.set_done(name));
        let games: u64 = units.iter().map(|unit| unit.count).sum();
        let (name, parts) = match &context {
            Some(_) => ("self-play", games),
            None => ("unit", units.len() as u64),
        };
        let threads = parts.min(self.own.threads as u64);
        // With fewer games than boards, the threads share the games evenly.
        let joint = context.as_ref().map(|context| {
            let each = usize::try_from(games.div_ceil(threads.max(1))).unwrap_or(usize::MAX);
            UnitGames::new(context, &own, &self.own.folder, each.min(context.rules().games))
        });
        let mut report = GatherReport::default();
        let collected = thread::scope(|scope| {
            // Ends the threads however this function ends.
            let _end = Raised(&halt);
            for number in 0..threads {
                let (own, joint, halt, folder) = (&own, &joint, &halt, &self.own.folder);
                let work = move || match joint {
                    Some(games) => games.work(halt),
                    None => own.work(folder, halt, task),
                };
                let work_on = move || own.reported(work);
                let worker = thread::Builder::new().name(format!("{name}-{number}"));
                worker.spawn_scoped(scope, work_on).context("cannot start a thread to work on")?;
            }
            let wanted = units.iter().map(|unit| (unit.file(), unit)).collect();
            let mut collector = Collector { gathering: &self, units, own: &own, wanted };
            collector.collect(&messages, admit, shown, &mut report)
        });
        // Unfinished units are no longer needed: others have finished them.
        if collected.is_ok() && !report.stopped {
            remove_all_but(self.ahead, &self.own.folder);
        }
        if let (Some(context), Some(joint)) = (&context, &joint) {
            report.evaluated = context.evaluated();
            report.batch = context.mean_batch();
            report.boards = joint.most_at_once();
        }
        report.seconds = begin.elapsed().as_secs_f64();
        collected.map(|()| report)
    }
}

struct Raised<'a>(&'a AtomicBool);

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The units may differ only in their game numbers.
fn common_context(units: &[Unit], task: &UnitTask) -> Result<SelfPlayContext> {
    let (rules, networks) = networks_of(units, task)?;
    SelfPlayContext::new(&rules, units[0].seed, &networks)
}

/// The units may differ only in their game numbers.
fn networks_of(units: &[Unit], task: &UnitTask) -> Result<(SelfPlayRules, SelfPlayNetworks)> {
    let first = &units[0];
    let is_like =
        |unit: &&Unit| Unit { number: first.number, count: first.count, ..(*unit).clone() } == *first;
    let other = units.iter().find(|unit| !is_like(unit)).map(Unit::name);
    ensure!(
        other.is_none(),
        "{} has other networks, rules or seed than the units before it",
        other.unwrap_or_default()
    );
    let UnitTask::SelfPlay(rules, networks) = task else { bail!("{} is not of self-play", first.name()) };
    Ok((rules.clone(), networks.clone()))
}

fn remove_all_but(kept: &[Unit], folder: &Path) {
    let names: Vec<String> = kept.iter().map(Unit::name).collect();
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let file = entry.file_name();
        if !names.iter().any(|name| file.to_string_lossy().starts_with(name)) {
            let path = entry.path();
            _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path));
        }
    }
    // Fails if the folder is not empty.
    _ = std::fs::remove_dir(folder);
}

struct Collector<'a> {
    gathering: &'a Gathering<'a>,
    units: &'a [Unit],
    own: &'a OwnUnits<'a>,
    /// Units without an accepted result, by file name.
    wanted: BTreeMap<String, &'a Unit>,
}

impl Collector<'_> {
    fn collect(
        &mut self,
        messages: &Receiver<OwnReport>,
        admit: &mut dyn FnMut(&Unit, &Path) -> Result<Admission>,
        shown: &mut dyn FnMut(&GatherReport),
        report: &mut GatherReport,
    ) -> Result<()> {
        let Gathering { inbox, stop, .. } = *self.gathering;
        let ahead: BTreeSet<String> = self.gathering.ahead.iter().map(Unit::file).collect();
        let mut heard = Instant::now();
        loop {
            let before = self.wanted.len();
            for name in inbox.results()? {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let Some(unit) = self.wanted.get(&name).copied() else {
                    // Without a published list nobody else works: this process made the result ahead, and it is no
                    // longer wanted.
                    let is_own = !inbox.is_published() && !ahead.contains(&name);
                    if inbox.is_past(&name) || is_own {
                        inbox.remove(&name);
                        report.duplicates += 1;
                    } else if !ahead.contains(&name) {
                        refuse(inbox, &name, "no unit with this name is wanted now", report)?;
                    }
                    continue;
                };
                self.own.set_done(&name);
                match admit(unit, &inbox.path(&name))? {
                    Admission::Taken(obsolete) => {
                        // Without a published list, this process itself made existing results, in an earlier stage.
                        let is_own = self.own.have_made(&name) || !inbox.is_published();
                        *(if is_own { &mut report.own } else { &mut report.others }) += 1;
                        heard = if is_own { heard } else { Instant::now() };
                        inbox.remove(&name);
                        for name in obsolete.into_iter().chain([name]) {
                            self.wanted.remove(&name);
                            self.own.set_done(&name);
                            inbox.set_past(&name);
                        }
                    }
                    Admission::Later => {}
                    Admission::Refused(reason) => {
                        refuse(inbox, &name, &reason, report)?;
                        self.own.do_again(unit);
                    }
                }
            }
            shown(report);
            if self.wanted.is_empty() {
                return Ok(());
            }
            if self.wanted.len() < before {
                let left = self.units.iter().filter(|unit| self.wanted.contains_key(&unit.file()));
                inbox.publish(left.chain(self.gathering.ahead), &self.gathering.about)?;
            }
            if stop.load(Ordering::Relaxed) {
                report.stopped = true;
                return Ok(());
            }
            if inbox.is_published() {
                self.own.set_active(heard.elapsed() >= self.gathering.own.patience);
            }
            // The channel never closes, because `OwnUnits` holds a sender.
            for done in messages.recv_timeout(POLL_EVERY).into_iter().chain(messages.try_iter()) {
                done?;
            }
        }
    }
}

fn refuse(inbox: &Inbox, name: &str, reason: &str, report: &mut GatherReport) -> Result<()> {
    log::warn!("{name} is refused: {reason}");
    report.refused += 1;
    inbox.refuse(name, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_comes_after_its_stage_has_ended_is_a_duplicate_and_not_refused() {
        let folder = tempfile::tempdir().unwrap();
        let inbox = Inbox::open(&folder.path().join("inbox"), true).unwrap();
        let unit = |number| Unit::new(UnitKind::Match, Vec::new(), "rules".to_owned(), 1, number..number + 1);
        let units = [0, 1, 2].map(unit);
        let bring = |unit: &Unit| std::fs::write(inbox.path(&unit.file()), "a result").unwrap();
        let stop = AtomicBool::new(false);
        let gather = |units: &[Unit], obsolete: &[&Unit]| {
            let own = OwnWork { threads: 0, folder: folder.path().join("own"), patience: Duration::MAX };
            let gathering = Gathering { inbox: &inbox, own, ahead: &[], about: Value::Null, stop: &stop };
            let task = |_: &Unit| bail!("nobody works here");
            let mut admit =
                |_: &Unit, _: &Path| Ok(Admission::Taken(obsolete.iter().map(|unit| unit.file()).collect()));
            gathering.run(units, &task, &mut admit, &mut |_| ()).unwrap()
        };
        // The first result makes the second unit obsolete.
        bring(&units[0]);
        let first = gather(&units[..2], &[&units[1]]);
        assert_eq!((first.others, first.duplicates, first.refused), (1, 0, 0));
        bring(&units[1]);
        bring(&units[2]);
        let second = gather(&units[2..], &[]);
        assert_eq!((second.others, second.duplicates, second.refused), (1, 1, 0));
        // A unit that was never wanted is refused.
        bring(&unit(9));
        bring(&units[2]);
        let other = Unit { seed: 2, ..unit(0) };
        bring(&other);
        let third = gather(&[other], &[]);
        assert_eq!((third.others, third.duplicates, third.refused), (1, 1, 1));
    }
}
