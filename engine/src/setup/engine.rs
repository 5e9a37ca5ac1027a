//! What a session searches with: the network and its pool of workers, or a classical player.

use std::sync::Arc;

use super::loaded::{LoadError, LoadedNetwork};
use super::settings::{Backend, Settings, processors};
use crate::chess::position::Game;
use crate::chess::tables::Tables;
use crate::nets::encoding::Input;
use crate::nets::eval::{Answer, CachedEvaluator, EvalCache, EvalError, Evaluator, Request, Uniform};
use crate::search::players::{PlayerTask, PlayerThread};
use crate::search::{Limits, Pool, Report, SearchCounters, SearchObserver};

/// Workers that may be started on any machine; on large ones, four per processor that may be used.
const MIN_WORKER_LIMIT: usize = 16;

/// The network and the workers, created when first needed, and the thread of the classical players.
#[derive(Default)]
pub struct Engine {
    network: Option<LoadedNetwork>,
    pool: Option<Pool>,
    /// The workers' evaluation cache; created with them.
    cache: Option<Arc<EvalCache>>,
    player: PlayerThread,
}

/// One search to be started.
pub struct SearchRequest {
    /// The position with its history.
    pub game: Game,
    /// When the search ends by itself.
    pub limits: Limits,
    /// The endgame tables.
    pub tables: Tables,
    /// Seed of a classical player's random numbers.
    pub seed: u64,
    /// Follows the search and receives its outcome.
    pub observer: Box<dyn SearchObserver>,
}

impl Engine {
    /// Creates the workers, unless they exist or a classical player is set, so that a search can start at once.
    ///
    /// Returns what the user should be told, one line each.
    ///
    /// # Errors
    ///
    /// If the network of the settings cannot be used.
    pub fn prepare(&mut self, settings: &Settings) -> Result<Vec<String>, LoadError> {
        let mut notes = Vec::new();
        if settings.player.is_none() && self.pool.is_none() {
            self.pool = Some(self.new_pool(settings, &mut notes)?);
        }
        Ok(notes)
    }

    /// Starts a search with the player of the settings and returns at once. The workers of the network search must have
    /// been created by [`Engine::prepare`].
    pub fn start(&mut self, settings: &Settings, request: SearchRequest) {
        let SearchRequest { game, limits, tables, seed, observer } = request;
        match (settings.player, &mut self.pool) {
            (Some(player), _) => {
                let (tree, cache) = settings.memory();
                let (lines, memory, uct) = (settings.multipv, tree + cache, settings.uct);
                self.player.start(player, PlayerTask { game, limits, lines, memory, uct, seed }, observer);
            }
            (None, Some(pool)) => {
                pool.set_tables(tables);
                pool.start(game, limits, observer);
            }
            (None, None) => log::error!("there are no workers"),
        }
    }

    fn new_pool(&mut self, settings: &Settings, notes: &mut Vec<String>) -> Result<Pool, LoadError> {
        self.load_missing(settings, notes)?;
        let WorkerEvaluators { evaluators, cache, tree_memory, native } =
            WorkerEvaluators::new(self.network.as_ref(), settings)?;
        self.cache = cache;
        Ok(Pool::new(evaluators, settings.search_params(native), tree_memory))
    }

    /// Loads the network, if it is needed and not loaded yet.
    fn load_missing(&mut self, settings: &Settings, notes: &mut Vec<String>) -> Result<(), LoadError> {
        if self.network.is_none() && settings.backend != Backend::Uniform {
            self.network = Some(LoadedNetwork::load(settings, notes)?);
        }
        Ok(())
    }

    /// The workers, if they exist.
    pub fn existing_pool(&mut self) -> Option<&mut Pool> {
        self.pool.as_mut()
    }

    /// Clears the tree, with everything proven in it.
    pub fn clear_tree(&mut self) {
        self.pool.iter_mut().for_each(Pool::clear);
    }

    /// Clears the tree and the evaluation cache.
    pub fn clear(&mut self) {
        self.clear_tree();
        self.cache.iter().for_each(|cache| cache.clear());
    }

    /// One line on where the visits of the network's search came from.
    pub fn visit_sources(&self, report: &Report) -> String {
        let SearchCounters { playouts, evaluations, transpositions, table_hits, .. } = report.counters;
        let percent = transpositions as f64 * 100.0 / playouts.max(1) as f64;
        let cached = self.cache.as_ref().map_or(0, |cache| cache.hits());
        format!(
            "{playouts} visits: {evaluations} evaluations, {transpositions} transpositions ({percent:.1} %), \
             {table_hits} table hits; {cached} cache hits since the cache was cleared"
        )
    }

    /// Ends the workers; new ones are created with the settings of that time.
    pub fn drop_pool(&mut self) {
        (self.pool, self.cache) = (None, None);
    }

    /// Loads the network of the settings for the next workers and returns what the user should be told.
    ///
    /// # Errors
    ///
    /// If it cannot be loaded; the previous network and the workers are then kept.
    pub fn load(&mut self, settings: &Settings) -> Result<Vec<String>, LoadError> {
        let mut notes = Vec::new();
        if settings.backend == Backend::Uniform && settings.weights.is_none() {
            (self.pool, self.network) = (None, None);
            return Ok(notes);
        }
        let network = LoadedNetwork::load(settings, &mut notes)?;
        self.pool = None;
        self.network = Some(network);
        Ok(notes)
    }

    /// Evaluates one position without a search; what the user should be told goes to `notes`.
    ///
    /// # Errors
    ///
    /// One line, if the network cannot be loaded or fails.
    pub fn evaluate(
        &mut self,
        game: &Game,
        settings: &Settings,
        notes: &mut Vec<String>,
    ) -> Result<Answer, String> {
        let mut evaluator = self
            .load_missing(settings, notes)
            .and_then(|()| evaluator(self.network.as_ref(), settings))
            .map_err(|error| error.to_string())?;
        let moves = game.legal_moves();
        let request = [Request { game, moves: &moves }];
        let answers = evaluator.evaluate(&request).map_err(|error: EvalError| error.to_string())?;
        answers.into_iter().next().ok_or_else(|| "the evaluator returned no answer".to_owned())
    }
}

/// The number of workers to start: as set, bounded because each has a session with memory of its own. A
/// classical player has one thread.
pub fn workers(settings: &Settings) -> usize {
    match settings.player {
        None => settings.threads.clamp(1, MIN_WORKER_LIMIT.max(4 * processors())),
        Some(_) => 1,
    }
}

/// The evaluators of the workers, with what they share.
pub struct WorkerEvaluators {
    /// One for each worker.
    pub evaluators: Vec<Box<dyn Evaluator>>,
    /// The cache of their answers, if that is faster than asking again.
    pub cache: Option<Arc<EvalCache>>,
    /// The bytes of `Hash` that are left for trees.
    pub tree_memory: usize,
    /// Whether the network is run by our own kernels.
    pub native: bool,
}

impl WorkerEvaluators {
    /// As many as the settings say, of this network; it may be missing only with [`Backend::Uniform`].
    ///
    /// # Errors
    ///
    /// If an evaluator cannot be made.
    pub fn new(network: Option<&LoadedNetwork>, settings: &Settings) -> Result<WorkerEvaluators, LoadError> {
        let workers = workers(settings);
        if workers < settings.threads {
            log::warn!("{} workers are too many for this machine: starting {workers}", settings.threads);
        }
        let evaluators = match used(network, settings) {
            Some(network) => network.evaluators(settings, workers)?,
            None => (0..workers).map(|_| Box::new(Uniform) as Box<_>).collect(),
        };
        let native = matches!(used(network, settings), Some(LoadedNetwork::Native(_)));
        let (tree, cache) = settings.memory();
        let input = used(network, settings).map_or(Some(Input::Planes72), LoadedNetwork::cached_input);
        let Some(input) = input.filter(|_| cache > 0) else {
            return Ok(WorkerEvaluators { evaluators, cache: None, tree_memory: tree + cache, native });
        };
        let shared = Arc::new(EvalCache::new(cache));
        let cached = |inner| Box::new(CachedEvaluator::new(inner, input, Arc::clone(&shared))) as Box<_>;
        let evaluators = evaluators.into_iter().map(cached).collect();
        Ok(WorkerEvaluators { evaluators, cache: Some(shared), tree_memory: tree, native })
    }
}

fn evaluator(network: Option<&LoadedNetwork>, settings: &Settings) -> Result<Box<dyn Evaluator>, LoadError> {
    used(network, settings)
        .map_or_else(|| Ok(Box::new(Uniform) as Box<_>), |network| network.evaluator(settings))
}

/// The network, unless the settings do without.
fn used<'a>(network: Option<&'a LoadedNetwork>, settings: &Settings) -> Option<&'a LoadedNetwork> {
    network.filter(|_| settings.backend != Backend::Uniform)
}
