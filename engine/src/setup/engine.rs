//! [`Engine`] holds the settings and what they configure: network, workers, classical players, book, tablebases.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use shakmaty::Move;
use thiserror::Error;

use super::book_and_tables::BookAndTables;
use super::evaluators::{WorkerEvaluators, evaluator};
use super::loaded::{LoadError, LoadedNetwork};
use super::options::{self, OptionEffect, OptionError};
use super::settings::{Backend, Settings};
use super::traffic_log::TrafficLog;
use crate::base::threads;
use crate::chess::position::Game;
use crate::nets::eval::{Answer, EvalCache, EvalError, Request};
use crate::search::players::{PlayerTask, PlayerThread};
use crate::search::{Limits, MultiPool, Params, Pool, Report, SearchCounters, SearchObserver};

/// Least batch of a worker that several searches share; measured in `docs/results/speed.md`.
const SHARED_BATCH: usize = 64;

const NO_THREADS: &str = "there are no threads here (they need a page that is cross-origin isolated)";

/// Loads the network and starts the workers when first needed. If the network settings (`WeightsFile`, `Backend`,
/// `Precision`, `ThinkSteps`, `ThinkEpsilon`) cannot be met together, no other network plays instead.
#[derive(Default)]
pub struct Engine {
    settings: Settings,
    book_and_tables: BookAndTables,
    traffic: TrafficLog,

    refused: Refusals,
    network: Option<LoadedNetwork>,
    /// Notes that the last loading of a network gave. Those that the next one gives again are not repeated.
    noted: Vec<String>,
    pool: Option<Pool>,
    cache: Option<Arc<EvalCache>>,
    player: PlayerThread,
}

#[derive(Debug, Default)]
struct Refusals {
    values: BTreeMap<&'static str, String>,
    load: Option<LoadRefusal>,
}

/// Of the last attempt to load the network.
#[derive(Debug, PartialEq, Eq)]
struct LoadRefusal {
    /// The option at which it was said.
    option: &'static str,
    why: String,
}

impl Refusals {
    fn first(&self) -> Option<&String> {
        self.values.values().next().or(self.load.as_ref().map(|load| &load.why))
    }
}

#[derive(Debug, Error)]
pub enum SetupError {
    #[error(transparent)]
    Option(#[from] OptionError),
    #[error("option {0}: {1}")]
    Unusable(&'static str, String),
    #[error(transparent)]
    Network(#[from] LoadError),
}

pub struct SearchRequest {
    pub game: Game,
    pub limits: Limits,
    /// Used by classical players only.
    pub seed: u64,
    pub observer: Box<dyn SearchObserver>,
}

#[derive(Default)]
pub struct EngineBuilder {
    settings: Settings,
    traffic: TrafficLog,
}

impl EngineBuilder {
    pub fn new(settings: Settings) -> EngineBuilder {
        EngineBuilder { settings, traffic: TrafficLog::default() }
    }

    /// Clamps a number out of range and logs a warning.
    pub fn option(mut self, name: &str, value: &str) -> Result<EngineBuilder, OptionError> {
        if let Some(note) = options::set(&mut self.settings, name, Some(value))?.note {
            log::warn!("{note}");
        }
        Ok(self)
    }

    #[must_use]
    pub fn analysing(mut self) -> EngineBuilder {
        self.settings.analyse = true;
        self
    }

    #[must_use]
    pub fn traffic(mut self, traffic: TrafficLog) -> EngineBuilder {
        self.traffic = traffic;
        self
    }

    /// Opens book, tablebases and log, loads the network, and logs notes to the user.
    pub fn build(self) -> Result<Engine, SetupError> {
        self.build_with_batch(1)
    }

    /// Like [`EngineBuilder::build`], with larger batches for [`Engine::multi_pool`].
    pub fn build_shared(self) -> Result<Engine, SetupError> {
        self.build_with_batch(SHARED_BATCH)
    }

    fn build_with_batch(self, batch: usize) -> Result<Engine, SetupError> {
        let EngineBuilder { mut settings, traffic } = self;
        settings.least_batch = batch;
        let unusable = |option: &'static str| move |error: String| SetupError::Unusable(option, error);
        let log_file = settings.log_file.as_deref().map(Path::new);
        traffic.log_to(log_file).map_err(|error| unusable("Debug Log File")(error.to_string()))?;
        let mut book_and_tables = BookAndTables::default();
        book_and_tables.open_tables(&settings).map_err(|error| unusable("SyzygyPath")(error.to_string()))?;
        book_and_tables.open_book(&settings).map_err(|error| unusable("BookFile")(error.to_string()))?;
        if let Some(note) = book_and_tables.missing_book(&settings) {
            log::warn!("{note}");
        }
        let mut engine = Engine { settings, book_and_tables, traffic, ..Engine::default() };
        if engine.needs_network() {
            engine.load_missing()?.iter().for_each(|note| log::warn!("{note}"));
        }
        Ok(engine)
    }
}

impl Engine {
    pub fn new(traffic: TrafficLog) -> Engine {
        Engine { traffic, ..Engine::default() }
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn book_and_tables(&self) -> &BookAndTables {
        &self.book_and_tables
    }

    pub fn book_move(&mut self, game: &Game) -> Option<Move> {
        self.book_and_tables.book_move(game, &self.settings)
    }

    fn needs_network(&self) -> bool {
        self.settings.player.is_none() && self.settings.backend != Backend::Uniform
    }

    /// Returns notes to the user, one line each. After a refused network setting, [`Engine::prepare`] fails until a
    /// valid one replaces it. Any other refused setting changes nothing.
    pub fn set_option(&mut self, name: &str, value: Option<&str>) -> Result<Vec<String>, String> {
        let mut settings = self.settings.clone();
        let change = match options::set(&mut settings, name, value) {
            Ok(change) => change,
            Err(error) => {
                let text = error.to_string();
                if let Some((option, OptionEffect::Network)) = error.option() {
                    self.refused.values.insert(option, text.clone());
                }
                return Err(text);
            }
        };
        if !threads::AVAILABLE && settings.player.is_some() {
            return Err(format!("option Player: classical players need a thread, and {NO_THREADS}"));
        }
        let mut notes = match change.effect {
            OptionEffect::Network => {
                let before = self.refused.values.remove(change.option);
                self.request_network(change.option, settings, before.is_some())?
            }
            effect => {
                let notes = self.apply(effect, &settings)?;
                self.settings = settings;
                notes
            }
        };
        let is_short = !threads::AVAILABLE && change.option == "Threads";
        notes.extend(
            change.note.map(|note| if is_short { format!("{note}, because {NO_THREADS}") } else { note }),
        );
        Ok(notes)
    }

    /// What was said of a refusal at another option is not repeated.
    fn request_network(
        &mut self,
        option: &'static str,
        settings: Settings,
        was_refused: bool,
    ) -> Result<Vec<String>, String> {
        // A file is loaded again, because it may have been overwritten; the embedded network is not.
        let is_same = settings == self.settings && settings.weights.is_none();
        if is_same && !was_refused && self.refused.first().is_none() {
            return Ok(Vec::new());
        }
        self.settings = settings;
        (self.pool, self.cache, self.network) = (None, None, None);
        let said = self.refused.load.take();
        let needs_none = self.settings.backend == Backend::Uniform && self.settings.weights.is_none();
        if needs_none {
            return Ok(Vec::new());
        }
        self.load_missing().or_else(|error| {
            if matches!(error, LoadError::Refused(_)) {
                return Ok(Vec::new());
            }
            let why = error.to_string();
            let is_said = said.as_ref().is_some_and(|said| said.option != option && said.why == why);
            self.refused.load =
                said.filter(|_| is_said).or_else(|| Some(LoadRefusal { option, why: why.clone() }));
            if is_said { Ok(Vec::new()) } else { Err(why) }
        })
    }

    fn apply(&mut self, effect: OptionEffect, settings: &Settings) -> Result<Vec<String>, String> {
        match effect {
            OptionEffect::None | OptionEffect::Network => {}
            OptionEffect::Params => {
                if let Some(pool) = &mut self.pool {
                    pool.set_params(settings.search_params(pool.is_native()));
                }
            }
            OptionEffect::Clear => self.clear(),
            OptionEffect::Memory | OptionEffect::Workers => (self.pool, self.cache) = (None, None),
            OptionEffect::Book => {
                self.book_and_tables.open_book(settings).map_err(|error| error.to_string())?
            }
            OptionEffect::Tables => {
                self.book_and_tables.open_tables(settings).map_err(|error| error.to_string())?;
                self.clear_tree();
                if settings.tables.is_some() {
                    return Ok(vec![self.book_and_tables.tables().to_string()]);
                }
            }
            OptionEffect::TableRules => {
                self.book_and_tables.set_rules(settings);
                self.clear_tree();
            }
            OptionEffect::Log => {
                let path = settings.log_file.as_deref();
                let failed = |error| format!("cannot write the log {}: {error}", path.unwrap_or_default());
                self.traffic.log_to(path.map(Path::new)).map_err(failed)?;
            }
        }
        Ok(Vec::new())
    }

    /// Creates the workers of a network search. Returns notes to the user, one line each.
    pub fn prepare(&mut self) -> Result<Vec<String>, LoadError> {
        if self.settings.player.is_some() || self.pool.is_some() && self.refused.first().is_none() {
            return Ok(Vec::new());
        }
        let notes = self.load_missing()?;
        if self.pool.is_none() {
            let made = WorkerEvaluators::new(self.network.as_ref(), &self.settings)?;
            let WorkerEvaluators { evaluators, cache, tree_memory, native } = made;
            self.cache = cache;
            let params = self.settings.search_params(native);
            self.pool = Some(if threads::AVAILABLE {
                Pool::new(evaluators, params, tree_memory)
            } else {
                let evaluator = evaluators.into_iter().next().ok_or(LoadError::NoWorkers)?;
                Pool::driven(evaluator, params, tree_memory)
            });
        }
        Ok(notes)
    }

    fn load_missing(&mut self) -> Result<Vec<String>, LoadError> {
        let mut notes = Vec::new();
        if !self.needs_network() && self.settings.weights.is_none() {
            return Ok(notes);
        }
        if let Some(why) = self.refused.first().filter(|_| self.needs_network()) {
            return Err(LoadError::Refused(why.clone()));
        }
        if self.network.is_none() && self.refused.load.is_none() {
            self.network = Some(LoadedNetwork::load(&self.settings, &mut notes)?);
            let noted = std::mem::replace(&mut self.noted, notes.clone());
            notes.retain(|note| !noted.contains(note));
        }
        Ok(notes)
    }

    /// Returns at once. A network search needs [`Engine::prepare`] first.
    pub fn start(&mut self, request: SearchRequest) {
        let SearchRequest { game, limits, seed, observer } = request;
        match (self.settings.player, &mut self.pool) {
            (Some(player), _) => {
                let (tree, cache) = self.settings.memory();
                let (lines, memory, uct) = (self.settings.multipv, tree + cache, self.settings.uct);
                self.player.start(player, PlayerTask { game, limits, lines, memory, uct, seed }, observer);
            }
            (None, Some(pool)) => {
                pool.set_tables(self.book_and_tables.tables().clone());
                pool.start(game, limits, observer);
            }
            (None, None) => log::error!("there are no workers"),
        }
    }

    /// Drives a search where there are no threads, as [`Pool::advance`] does. Returns whether it goes on.
    pub fn advance(&mut self, pause: &mut dyn FnMut() -> bool) -> bool {
        self.pool.as_mut().is_some_and(|pool| pool.advance(pause))
    }

    pub fn into_pool(mut self) -> Result<Pool, LoadError> {
        self.prepare()?.iter().for_each(|note| log::info!("{note}"));
        let mut pool = self.pool.take().ok_or(LoadError::NoWorkers)?;
        pool.set_tables(self.book_and_tables.tables().clone());
        Ok(pool)
    }

    /// Returns shared workers, search parameters, and the memory of all trees in bytes. Needs
    /// [`EngineBuilder::build_shared`].
    pub fn multi_pool(&self) -> Result<(MultiPool, Params, usize), LoadError> {
        let batch =
            self.network.as_ref().map_or(self.settings.batch(), |network| network.batch(&self.settings));
        let WorkerEvaluators { evaluators, tree_memory, native, .. } =
            WorkerEvaluators::new(self.network.as_ref(), &self.settings)?;
        let pool = MultiPool::new(evaluators, self.book_and_tables.tables().clone(), batch);
        Ok((pool, self.settings.search_params(native), tree_memory))
    }

    pub fn existing_pool(&mut self) -> Option<&mut Pool> {
        self.pool.as_mut().filter(|_| self.settings.player.is_none())
    }

    /// Whether our own kernels run the network.
    pub fn is_native(&self) -> bool {
        matches!(self.network, Some(LoadedNetwork::Native(_)))
    }

    pub fn network_name(&self) -> &str {
        self.network.as_ref().map_or("none", LoadedNetwork::name)
    }

    pub fn describe_network(&self) -> String {
        self.network.as_ref().map_or_else(|| "none".to_owned(), LoadedNetwork::describe)
    }

    /// Must follow a change of the tablebases, on which the tree's proofs depend.
    fn clear_tree(&mut self) {
        self.pool.iter_mut().for_each(Pool::clear);
    }

    pub fn clear(&mut self) {
        self.clear_tree();
        self.cache.iter().for_each(|cache| cache.clear());
    }

    pub fn visit_sources(&self, report: &Report) -> String {
        let SearchCounters { playouts, evaluations, transpositions, table_hits, .. } = report.counters;
        let percent = transpositions as f64 * 100.0 / playouts.max(1) as f64;
        let cached = self.cache.as_ref().map_or(0, |cache| cache.hits());
        format!(
            "{playouts} visits: {evaluations} evaluations, {transpositions} transpositions ({percent:.1} %), \
             {table_hits} table hits; {cached} cache hits since the cache was cleared"
        )
    }

    pub fn evaluate(&mut self, game: &Game, notes: &mut Vec<String>) -> Result<Answer, String> {
        notes.extend(self.load_missing().map_err(|error| error.to_string())?);
        let evaluator = evaluator(self.network.as_ref(), &self.settings);
        let mut evaluator = evaluator.map_err(|error| error.to_string())?;
        let moves = game.legal_moves();
        let request = [Request { game, moves: &moves }];
        let answers = evaluator.evaluate(&request).map_err(|error: EvalError| error.to_string())?;
        answers.into_iter().next().ok_or_else(|| "the evaluator returned no answer".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MLP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../nets/mlp.int8.onnx");

    fn orders<T: Clone>(all: &[T]) -> Vec<Vec<T>> {
        if all.is_empty() {
            return vec![Vec::new()];
        }
        let mut orders = Vec::new();
        for first in 0..all.len() {
            let mut rest = all.to_vec();
            let head = rest.remove(first);
            orders.extend(orders_after(&head, &rest));
        }
        orders
    }

    fn orders_after<T: Clone>(head: &T, rest: &[T]) -> Vec<Vec<T>> {
        orders(rest).into_iter().map(|order| [vec![head.clone()], order].concat()).collect()
    }

    fn set(engine: &mut Engine, (name, value): (&str, &str)) -> bool {
        engine.set_option(name, Some(value)).is_ok()
    }

    /// Holds for every order of the settings.
    #[test]
    fn a_refused_request_stays_refused_until_it_is_valid_or_withdrawn() {
        let (threads, hash, steps) = (("Threads", "1"), ("Hash", "16"), ("ThinkSteps", "2"));
        let auto = ("Backend", "auto");
        let int8 = ("Precision", "int8");
        let nowhere = ("WeightsFile", "no/such.onnx");
        for (request, withdrawal) in [
            ([nowhere, auto, int8, steps], ("WeightsFile", "<embedded>")),
            ([("Backend", "gpu"), ("WeightsFile", "<embedded>"), int8, steps], auto),
            // This network needs ONNX Runtime.
            ([("WeightsFile", MLP), ("Backend", "native"), int8, steps], ("WeightsFile", "<embedded>")),
            ([("Precision", "fp16"), ("WeightsFile", "<embedded>"), auto, steps], int8),
        ] {
            for (number, order) in orders(&request).into_iter().enumerate() {
                let mut engine = Engine::default();
                let place = number % (order.len() + 1);
                let mut refused = 0;
                for (index, setting) in order.iter().enumerate() {
                    if index == place {
                        assert!(set(&mut engine, threads) && set(&mut engine, hash));
                    }
                    refused += usize::from(!set(&mut engine, *setting));
                }
                assert!(set(&mut engine, threads) && set(&mut engine, hash) && refused > 0, "{order:?}");
                for _ in 0..2 {
                    let why = engine.prepare().expect_err("refused").to_string();
                    assert!(why.contains("the engine plays no other network instead"), "{order:?}: {why}");
                }
                assert!(engine.evaluate(&Game::new(), &mut Vec::new()).is_err(), "{order:?}");
                if number == 0 {
                    engine.set_option(withdrawal.0, Some(withdrawal.1)).unwrap();
                    engine.prepare().unwrap();
                    assert!(engine.existing_pool().is_some());
                    // The same request is refused again.
                    assert!(!set(&mut engine, request[0]) || !set(&mut engine, request[1]), "{request:?}");
                    assert!(engine.prepare().is_err(), "{request:?}");
                }
            }
        }
    }

    #[test]
    fn a_refusal_is_said_at_its_option_only() {
        let mut engine = Engine::default();
        let nowhere = ("WeightsFile", "no/such.onnx");
        assert!(!set(&mut engine, nowhere), "said");
        for other in [("Precision", "int8"), ("ThinkSteps", "2"), ("Backend", "auto")] {
            assert_eq!(engine.set_option(other.0, Some(other.1)), Ok(Vec::new()), "{other:?}");
            assert!(engine.prepare().is_err(), "{other:?}");
        }
        assert!(!set(&mut engine, nowhere), "said again");
        assert!(!set(&mut engine, ("WeightsFile", "no/other.onnx")), "another reason");
        assert!(!set(&mut engine, ("Backend", "gpu")), "no such value");
        assert!(set(&mut engine, ("ThinkSteps", "3")) && engine.prepare().is_err());
        assert!(!set(&mut engine, ("Backend", "native")), "the file is still missing");
    }

    #[test]
    fn a_setting_without_effect_is_said_once_until_it_is_withdrawn() {
        let mut engine = Engine::default();
        let mut notes = |name, value| engine.set_option(name, Some(value)).unwrap();
        let said = notes("ThinkSteps", "8");
        assert!(said.len() == 1 && said[0].contains("does not think in steps"), "{said:?}");
        for (name, value) in
            [("Backend", "native"), ("Precision", "int8"), ("ThinkSteps", "9"), ("Hash", "9")]
        {
            assert_eq!(notes(name, value), Vec::<String>::new(), "{name}");
        }
        let precision = notes("Precision", "fp32");
        assert!(
            precision.len() == 1 && precision[0].starts_with("Precision fp32 has no effect"),
            "{precision:?}"
        );
        assert_eq!((notes("ThinkSteps", "0"), notes("ThinkSteps", "8")), (Vec::new(), said));
    }

    #[test]
    fn all_orders_of_the_settings_that_can_be_met_ask_for_the_same() {
        let request = [("Threads", "2"), ("Hash", "8"), ("Precision", "int8"), ("Backend", "uniform")];
        for order in orders(&request) {
            let mut engine = Engine::default();
            assert!(order.iter().all(|setting| set(&mut engine, *setting)), "{order:?}");
            engine.prepare().unwrap();
            let settings = engine.settings();
            assert_eq!((settings.threads, settings.hash, settings.backend), (2, 8, Backend::Uniform));
        }
    }

    #[test]
    fn what_needs_no_network_plays_although_one_was_refused() {
        for setting in [("Backend", "uniform"), ("Player", "random")] {
            let mut engine = Engine::default();
            assert!(!set(&mut engine, ("WeightsFile", "no/such.onnx")));
            let _ = engine.set_option(setting.0, Some(setting.1));
            engine.prepare().unwrap();
            let back = if setting.0 == "Backend" { ("Backend", "auto") } else { ("Player", "network") };
            let _ = engine.set_option(back.0, Some(back.1));
            assert!(engine.prepare().is_err(), "{setting:?}");
        }
    }

    #[test]
    fn a_builder_names_the_option_that_cannot_be_used() {
        let built = |name, value| EngineBuilder::default().option(name, value).unwrap().build();
        for (name, value) in [
            ("SyzygyPath", "/no/such/folder"),
            ("BookFile", "/no/such/book"),
            ("WeightsFile", "/no/such.onnx"),
        ] {
            let error = built(name, value).err().expect("refused").to_string();
            assert!(error.contains(value) && (name == "WeightsFile" || error.contains(name)), "{error}");
        }
        assert!(EngineBuilder::default().option("Threads", "many").is_err());
        assert_eq!(built("Backend", "uniform").unwrap().network_name(), "none");
    }
}
