//! Plays the games of many self-play units together, because one unit has too few to fill batches. A game depends only
//! on its number, so results equal those of a unit played alone.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::Result;

use super::own_units::{OwnUnits, POLL_EVERY};
use super::task::{SAVE_EVERY, UnitFiles};
use super::unit::Unit;
use crate::data::dataset::{PendingGame, Store};
use crate::play::selfplay::{FinishedGame, GameQueue, GameSource, SelfPlayContext, SelfPlayWorker};

/// Shared by the threads. The units differ only in their game numbers.
pub struct UnitGames<'a> {
    context: &'a SelfPlayContext,
    queue: &'a OwnUnits<'a>,
    folder: &'a Path,
    at_once: usize,
    state: Mutex<UnitGamesState>,
}

struct UnitGamesState {
    begun: Vec<BegunUnit>,
    /// Games in progress, and the most so far.
    playing: u64,
    most: u64,
    saved: Instant,
}

struct BegunUnit {
    unit: Unit,
    store: Store,
    /// Games not started.
    left: GameQueue,
}

impl<'a> UnitGames<'a> {
    pub fn new(
        context: &'a SelfPlayContext,
        queue: &'a OwnUnits<'a>,
        folder: &'a Path,
        at_once: usize,
    ) -> UnitGames<'a> {
        let state = UnitGamesState { begun: Vec::new(), playing: 0, most: 0, saved: Instant::now() };
        UnitGames { context, queue, folder, at_once, state: Mutex::new(state) }
    }

    /// Plays until `halt` is set; without units it waits. A failure sets `halt`. Unfinished games continue when their
    /// unit is taken again.
    pub fn work(&self, halt: &AtomicBool) -> Result<()> {
        let played = self.play(halt).inspect_err(|_| halt.store(true, Ordering::Relaxed));
        // The last thread to leave saves all unfinished games.
        played.and(self.save(&mut self.lock()))
    }

    fn play(&self, halt: &AtomicBool) -> Result<()> {
        let mut worker = None;
        while !halt.load(Ordering::Relaxed) {
            // A network is opened only for a game, because it takes memory and time.
            if self.with_games(&mut self.lock())?.is_none() {
                thread::sleep(POLL_EVERY);
                continue;
            }
            let worker = match &mut worker {
                Some(worker) => worker,
                none => none.insert(SelfPlayWorker::new(self.context)?),
            };
            worker.play(self.at_once, self, halt)?;
        }
        Ok(())
    }

    pub fn most_at_once(&self) -> u64 {
        self.lock().most
    }

    fn lock(&self) -> MutexGuard<'_, UnitGamesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Index of a begun unit with games left to start. Begins the next unit if there is none.
    fn with_games(&self, state: &mut UnitGamesState) -> Result<Option<usize>> {
        loop {
            let is_left = |begun: &mut BegunUnit| !begun.left.is_empty() && self.queue.is_wanted(&begun.unit);
            if let Some(index) = state.begun.iter_mut().position(is_left) {
                return Ok(Some(index));
            }
            let Some(unit) = self.queue.take() else { return Ok(None) };
            // The unit may be in progress if another machine's result was refused.
            if state.begun.iter().any(|begun| begun.unit == unit) {
                continue;
            }
            let mut store = UnitFiles::of(&unit, self.folder).open()?;
            // Without saved settings the store's games could not be continued.
            store.save()?;
            let left = GameQueue::of(&store, unit.count);
            let begun = BegunUnit { unit, store, left };
            match begun.is_finished() {
                true => self.finish(begun)?,
                false => state.begun.push(begun),
            }
        }
    }

    fn finish(&self, begun: BegunUnit) -> Result<()> {
        let BegunUnit { unit, store, .. } = begun;
        store.close()?;
        let files = UnitFiles::of(&unit, self.folder);
        self.queue.put(&files.games(), &unit)?;
        // If the process is killed before this, the unit is done again.
        files.tidy();
        Ok(())
    }

    fn save(&self, state: &mut UnitGamesState) -> Result<()> {
        state.saved = Instant::now();
        state.begun.iter_mut().try_for_each(|begun| begun.store.save())
    }
}

impl GameSource for UnitGames<'_> {
    fn next(&self) -> Result<Option<PendingGame>> {
        let mut state = self.lock();
        let Some(index) = self.with_games(&mut state)? else { return Ok(None) };
        state.playing += 1;
        state.most = state.most.max(state.playing);
        Ok(state.begun[index].left.deal())
    }

    fn finished(&self, finished: FinishedGame) -> Result<()> {
        let FinishedGame { number, game, .. } = finished;
        let mut state = self.lock();
        let index = state.take(PendingGame { number, done: game.moves.len(), game, finished: true })?;
        if state.begun[index].is_finished() {
            let finished = state.begun.remove(index);
            drop(state);
            self.finish(finished)?;
        }
        Ok(())
    }

    fn unfinished(&self, game: PendingGame) -> Result<()> {
        self.lock().take(game).map(|_| ())
    }

    fn after_round(&self) -> Result<()> {
        let mut state = self.lock();
        if state.saved.elapsed() < SAVE_EVERY { Ok(()) } else { self.save(&mut state) }
    }
}

impl UnitGamesState {
    /// Returns the index of the game's unit.
    fn take(&mut self, game: PendingGame) -> Result<usize> {
        let index = self.begun.iter().position(|begun| begun.unit.numbers().contains(&game.number));
        let index = index.expect("a unit is begun as long as its games are played");
        self.playing -= 1;
        self.begun[index].store.push(game)?;
        Ok(index)
    }
}

impl BegunUnit {
    fn is_finished(&self) -> bool {
        self.store.games() == self.unit.count
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::time::Duration;

    use engine::nets::encoding::Input;
    use engine::nets::eval::HashedEvaluator;
    use engine::nets::eval::{Answer, EvalError, Evaluator, Request};
    use indicatif::ProgressBar;

    use super::*;
    use crate::base::network::Backend;
    use crate::config::{ResignRules, SelfPlayRules};
    use crate::play::selfplay::SelfPlayNetworks;
    use crate::play::units::{Admission, GatherReport, Gathering, Inbox, OwnWork, UnitKind, UnitTask};

    /// Answers with hashes and records batch sizes.
    #[derive(Clone, Default)]
    struct Recording(Arc<Mutex<Vec<usize>>>);

    impl Backend for Recording {
        fn cached_input(&self) -> Option<Input> {
            None
        }

        fn evaluator(&self, _max_batch: usize) -> Result<Box<dyn Evaluator>> {
            Ok(Box::new(self.clone()))
        }
    }

    impl Evaluator for Recording {
        fn max_batch(&self) -> usize {
            1024
        }

        fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
            self.0.lock().unwrap().push(batch.len());
            HashedEvaluator.evaluate(batch)
        }
    }

    fn rules() -> SelfPlayRules {
        SelfPlayRules {
            visits: 8,
            max_plies: 24,
            random_plies: 4,
            resign: ResignRules { threshold: 0.0, moves: 2, played_on: 0.5 },
            games: 16,
            cache: 0,
            ..SelfPlayRules::default()
        }
    }

    fn task(network: &Recording) -> UnitTask {
        UnitTask::SelfPlay(rules(), SelfPlayNetworks { network: Arc::new(network.clone()), other: None })
    }

    /// Units of four games, fewer than are played at once.
    fn units(games: u64) -> Vec<Unit> {
        let unit =
            |numbers| Unit::new(UnitKind::SelfPlay, vec!["n.onnx".into()], "r.json".into(), 1, numbers);
        Unit::parts(100..100 + games, 4).map(unit).collect()
    }

    /// Results by file name; units with a result are not done again.
    type Results = BTreeMap<String, Vec<u8>>;

    /// Does the units that lack a result, until there are `most` results.
    fn gather(
        folder: &Path,
        network: &Recording,
        units: &[Unit],
        threads: usize,
        (results, most): (&mut Results, usize),
    ) -> GatherReport {
        let inbox = Inbox::open(&folder.join("inbox"), false).unwrap();
        let stop = AtomicBool::new(false);
        let own = OwnWork { threads, folder: folder.join("units"), patience: Duration::ZERO };
        let about = serde_json::Value::Null;
        let left: Vec<Unit> =
            units.iter().filter(|unit| !results.contains_key(&unit.file())).cloned().collect();
        let gathering = Gathering { inbox: &inbox, own, ahead: &[], about, stop: &stop };
        let mut admit = |unit: &Unit, path: &Path| {
            results.insert(unit.file(), std::fs::read(path)?);
            stop.store(results.len() >= most, Ordering::Relaxed);
            Ok(Admission::Taken(Vec::new()))
        };
        gathering.run(&left, &|_| Ok(task(network)), &mut admit, &mut |_| ()).unwrap()
    }

    #[test]
    fn small_units_fill_the_batches_together() {
        let folder = tempfile::tempdir().unwrap();
        let network = Recording::default();
        let (units, mut results) = (units(240), Results::new());
        let report = gather(folder.path(), &network, &units, 1, (&mut results, usize::MAX));
        assert_eq!((results.len(), report.own, report.stopped, report.boards), (60, 60, false, 16));
        let sizes = network.0.lock().unwrap();
        assert_eq!(report.batch, report.evaluated as f64 / sizes.len() as f64);
        // The place of a finished game stays empty for a round only if the game ends at the start of a search.
        let full = |sizes: &[usize]| sizes.iter().filter(|size| **size >= 15).count();
        assert!(
            full(&sizes) * 100 > sizes.len() * 85,
            "{} of {} batches are full",
            full(&sizes),
            sizes.len()
        );
        // The other batches belong to the last games, none longer than 24 plies of 8 visits.
        let before = &sizes[..sizes.len().saturating_sub(24 * 8)];
        assert!(
            full(before) * 100 > before.len() * 98,
            "{} of {} batches are full",
            full(before),
            before.len()
        );
        assert!(!folder.path().join("units").exists());

        // With fewer games than places, both threads get the same number.
        let network = Recording::default();
        let report = gather(folder.path(), &network, &units[..3], 2, (&mut Results::new(), usize::MAX));
        assert!(report.boards <= 12, "{}", report.boards);
        assert!(network.0.lock().unwrap().iter().all(|size| *size <= 6));
    }

    #[test]
    fn the_next_units_are_begun_while_the_last_games_are_played() {
        let folder = tempfile::tempdir().unwrap();
        let (units, networks) = (units(160), [Recording::default(), Recording::default()]);
        let (now, next) = units.split_at(20);
        let inbox = Inbox::open(&folder.path().join("inbox"), false).unwrap();
        let gather = |units: &[Unit], ahead: &[Unit], results: &mut Results| {
            let own = OwnWork { threads: 1, folder: folder.path().join("units"), patience: Duration::ZERO };
            let (about, stop) = (serde_json::Value::Null, AtomicBool::new(false));
            let mut admit = |unit: &Unit, path: &Path| {
                results.insert(unit.file(), std::fs::read(path)?);
                Ok(Admission::Taken(Vec::new()))
            };
            let task = |unit: &Unit| Ok(task(&networks[usize::from(unit.number >= next[0].number)]));
            let gathering = Gathering { inbox: &inbox, own, ahead, about, stop: &stop };
            gathering.run(units, &task, &mut admit, &mut |_| ()).unwrap()
        };
        let sizes = |network: &Recording| network.0.lock().unwrap().clone();
        let mut results = Results::new();
        let report = gather(now, next, &mut results);
        assert_eq!((results.len(), report.own, report.boards), (20, 20, 16));
        let [first, ahead] = [&networks[0], &networks[1]].map(sizes);
        // The next units take the places of finished games; each is played by its own network.
        let mean = first.iter().chain(&ahead).sum::<usize>() as f64 / first.len() as f64;
        assert!(mean > 15.5, "{mean} positions a round");
        assert!(!ahead.is_empty());
        // Another stage of work leaves the begun games unchanged.
        let begun = || folder.path().join("units").exists();
        let before = begun();
        let none = gather(&[], next, &mut Results::new());
        assert_eq!((none.own, none.refused, begun()), (0, 0, before));

        // Games in progress continue with the same moves as without an interruption.
        let report = gather(next, &[], &mut results);
        assert_eq!((results.len(), report.own, report.others, report.refused), (40, 20, 0, 0));
        assert_eq!(sizes(&networks[0]), first, "the first network plays no more");
        assert!(!folder.path().join("units").exists());
        let evaluated: usize = sizes(&networks[1]).iter().sum();
        let (alone, never) = (Recording::default(), AtomicBool::new(false));
        for unit in &units {
            let file = task(&alone)
                .finish(unit, &folder.path().join("alone"), &ProgressBar::hidden(), &never)
                .unwrap()
                .unwrap();
            assert!(results[&unit.file()] == std::fs::read(file).unwrap(), "{}: other bytes", unit.name());
        }
        let alone: usize = sizes(&alone).iter().sum();
        let both = evaluated + first.iter().sum::<usize>();
        assert!(both < alone + 16 * 8, "only searches in progress are done again: {both} of {alone}");
    }

    #[test]
    fn a_unit_has_the_same_bytes_alone_and_beside_others_also_after_a_stop() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (network, units, never) = (Recording::default(), units(80), AtomicBool::new(false));
        let alone = |unit: &Unit| {
            let file =
                task(&network).finish(unit, &at("alone"), &ProgressBar::hidden(), &never).unwrap().unwrap();
            (unit.file(), std::fs::read(file).unwrap())
        };
        let alone: Results = units.iter().map(alone).collect();
        for threads in [1, 2] {
            let mut results = Results::new();
            gather(&at("together"), &network, &units, threads, (&mut results, usize::MAX));
            assert_eq!(results.len(), 20);
            assert!(results == alone, "{threads} threads: other bytes");
        }
        // After each interruption, games in progress continue.
        let mut results = Results::new();
        let mut begun = 0;
        for most in [2, 7, 12, usize::MAX] {
            let report = gather(&at("stopped"), &network, &units, 2, (&mut results, most));
            assert_eq!(report.stopped, results.len() < 20);
            begun += usize::from(at("stopped/units").exists());
        }
        assert!(begun > 0, "games were in progress");
        assert!(results == alone, "other bytes after a stop");
    }

    #[test]
    fn a_network_that_fails_ends_it_with_its_error() {
        struct Failing;
        impl Backend for Failing {
            fn cached_input(&self) -> Option<Input> {
                None
            }

            fn evaluator(&self, _max_batch: usize) -> Result<Box<dyn Evaluator>> {
                anyhow::bail!("no such device")
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let inbox = Inbox::open(&folder.path().join("inbox"), false).unwrap();
        let own = OwnWork { threads: 2, folder: folder.path().join("units"), patience: Duration::ZERO };
        let (about, stop) = (serde_json::Value::Null, AtomicBool::new(false));
        let gathering = Gathering { inbox: &inbox, own, ahead: &[], about, stop: &stop };
        let networks = SelfPlayNetworks { network: Arc::new(Failing), other: None };
        let task = |_: &Unit| Ok(UnitTask::SelfPlay(rules(), networks.clone()));
        let error = gathering.run(&units(8), &task, &mut |_, _| unreachable!(), &mut |_| ()).unwrap_err();
        assert!(format!("{error:#}").contains("no such device"), "{error:#}");
    }
}
