use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use engine::apps::uci_client::find_program;
use indicatif::ProgressBar;
use serde_json::Value;

use super::hashed_files::HashedFiles;
use super::match_result::match_json;
use super::unit::{Unit, UnitKind};
use super::unit_rules::{AnnotateRules, MatchUnitRules};
use crate::base::files::{make_folder, write_file};
use crate::base::network::load_network;
use crate::base::progress::{Counted, progress};
use crate::config::{MatchRules, SelfPlayRules};
use crate::data::datagen::{Annotate, EngineCommand, UciEngine, run_tasks};
use crate::data::dataset::{self, Chunk, Store, StoreOptions};
use crate::data::record::EvalSide;
use crate::play::arena::{Contender, MatchPlan, play_match};
use crate::play::selfplay::{SelfPlayNetworks, SelfPlayPlan, play};

/// How often an unfinished unit is saved.
pub(super) const SAVE_EVERY: Duration = Duration::from_secs(5);

/// Files of a unit whose games are stored as they finish.
pub(super) struct UnitFiles<'a> {
    unit: &'a Unit,
    folder: &'a Path,
}

impl<'a> UnitFiles<'a> {
    pub fn of(unit: &'a Unit, folder: &'a Path) -> UnitFiles<'a> {
        UnitFiles { unit, folder }
    }

    pub fn open(&self) -> Result<Store> {
        self.open_for(self.unit.numbers())
    }

    fn open_for(&self, numbers: Range<u64>) -> Result<Store> {
        make_folder(self.folder)?;
        let out = StoreOptions {
            folder: self.folder.to_owned(),
            chunk_size: usize::MAX,
            save_every: SAVE_EVERY,
            resume: true,
            numbers,
        };
        Store::open(&out, &self.unit.name(), &self.unit.source(), Value::Null)
    }

    pub fn games(&self) -> PathBuf {
        self.folder.join(format!("{}-00000.h5", self.unit.name()))
    }

    pub fn tidy(&self) {
        _ = std::fs::remove_file(self.folder.join(format!("{}.json", self.unit.name())));
    }
}

/// A unit's rules and inputs, loaded.
#[derive(Clone)]
pub enum UnitTask {
    SelfPlay(SelfPlayRules, SelfPlayNetworks),
    /// For `arena` and `match`.
    Match(MatchUnitRules, [Contender; 2]),
    /// Labels for the games of this file.
    Annotate(AnnotateRules, PathBuf),
}

impl UnitTask {
    pub fn load(unit: &Unit, files: &HashedFiles) -> Result<UnitTask> {
        let network = |name: &String| load_network(&files.path(name)?);
        // Opening books are also named by hash.
        let book = |book: &mut String| -> Result<()> {
            if !book.is_empty() {
                *book = files.path(book)?.display().to_string();
            }
            Ok(())
        };
        match unit.kind {
            UnitKind::SelfPlay => {
                let mut rules: SelfPlayRules = files.json(&unit.rules)?;
                book(&mut rules.book)?;
                let others = usize::from(unit.share > 0.0);
                ensure!(unit.inputs.len() == 1 + others, "it names {} networks", unit.inputs.len());
                let network = |name: &String| Ok::<_, anyhow::Error>(Arc::new(network(name)?));
                let first = network(&unit.inputs[0])?;
                let other = match unit.inputs.get(1) {
                    Some(name) => Some((network(name)? as _, unit.share)),
                    None => None,
                };
                Ok(UnitTask::SelfPlay(rules, SelfPlayNetworks { network: first, other }))
            }
            UnitKind::Arena | UnitKind::Match => {
                let mut rules: MatchUnitRules = files.json(&unit.rules)?;
                book(&mut rules.rules.book)?;
                let [first, second] = unit.inputs.as_slice() else {
                    bail!("it names {} players, not two", unit.inputs.len());
                };
                let player = |index: usize, name: &String| match name.contains('.') {
                    true => rules.network_player(index, name, Arc::new(network(name)?)),
                    false => Contender::named(name, rules.visits),
                };
                let players = [player(0, first)?, player(1, second)?];
                Ok(UnitTask::Match(rules, players))
            }
            UnitKind::Annotate => {
                let games = unit.inputs.first().context("it names no games")?;
                Ok(UnitTask::Annotate(files.json(&unit.rules)?, files.path(games)?))
            }
        }
    }

    pub fn progress(&self, unit: &Unit) -> Result<ProgressBar> {
        Ok(match self {
            UnitTask::SelfPlay(..) => progress(unit.count, 0, Counted::Games),
            UnitTask::Match(..) => progress(2 * unit.count, 0, Counted::Games),
            UnitTask::Annotate(_, games) => {
                progress(dataset::read(games)?.positions() as u64, 0, Counted::Plies)
            }
        })
    }

    /// Does a unit on one thread. Returns the result file in `folder`, or `None` if interrupted; the next call
    /// continues.
    pub fn finish(
        &self,
        unit: &Unit,
        folder: &Path,
        bar: &ProgressBar,
        stop: &AtomicBool,
    ) -> Result<Option<PathBuf>> {
        make_folder(folder)?;
        let files = UnitFiles::of(unit, folder);
        let file = match self {
            UnitTask::SelfPlay(rules, networks) => {
                let rules = SelfPlayRules { workers: 1, ..rules.clone() };
                let plan = SelfPlayPlan { rules, seed: unit.seed, games: unit.count };
                let report = play(&plan, networks, files.open()?, bar, stop)?;
                (!report.stopped).then(|| files.games())
            }
            UnitTask::Match(rules, [first, second]) => {
                let plan = MatchPlan {
                    first: unit.number,
                    pairs: unit.count,
                    sprt: None,
                    rules: MatchRules { workers: 1, ..rules.rules.clone() },
                    seed: unit.seed,
                };
                let played = play_match([first, second], &plan, bar, stop, &mut |_| Ok(()))?;
                let file = folder.join(unit.file());
                match unit.kind {
                    _ if played.stopped => None,
                    UnitKind::Match => {
                        write_file(&file, match_json(unit, &played.games)?.as_bytes())?;
                        Some(file)
                    }
                    _ => {
                        let mut chunk = Chunk::new(&unit.source());
                        played.games.iter().for_each(|game| chunk.push(game));
                        dataset::write(&chunk, &file)?;
                        Some(file)
                    }
                }
            }
            UnitTask::Annotate(rules, games) => {
                let command = EngineCommand {
                    program: find_program(Path::new(&rules.program)),
                    arguments: Vec::new(),
                    options: rules.options.clone(),
                    timeout: Duration::from_secs(rules.patience),
                };
                let name = UciEngine::start(&command, stop)?.name().to_owned();
                ensure!(name == rules.engine, "{} is {name}, not {}", rules.program, rules.engine);
                let task = Annotate {
                    files: vec![games.clone()],
                    eval: EvalSide::Auto,
                    keep_known: rules.keep_known,
                    best_moves: rules.best_moves,
                    limit: rules.limit()?,
                };
                let done = run_tasks(&task, (&command, 1), files.open_for(0..unit.count)?, bar, stop)?;
                (!done.stopped).then(|| files.games())
            }
        };
        if file.is_some() && !matches!(self, UnitTask::Match(..)) {
            files.tidy();
        }
        Ok(file)
    }
}
