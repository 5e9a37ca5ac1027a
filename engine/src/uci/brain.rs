//! What a session thinks with: the network, and the pool of workers that use it; or a classical player.

use std::path::Path;
use std::sync::Arc;

use super::io::Writer;
use super::settings::{Backend, Settings};
use crate::encoding::Input;
use crate::eval::{Answer, CachedEvaluator, EvalCache, EvalError, Evaluator, Request, Uniform};
use crate::onnx::{NetError, Network, NetworkPair, PrecisionCache};
use crate::players::{PlayerTask, PlayerThread};
use crate::position::Game;
use crate::search::{Limits, Pool, Report, SearchCounters, SearchObserver};
use crate::tables::Tables;

/// Workers that are started however few cores there are; beyond, four for each.
const ALWAYS_FINE: usize = 16;

/// The network and the workers, both made when they are first needed, and the thread of a classical player.
#[derive(Default)]
pub struct Brain {
    network: Option<Network>,
    pool: Option<Pool>,
    /// The workers' answers; made anew with them.
    cache: Option<Arc<EvalCache>>,
    player: PlayerThread,
}

/// What is to be thought about.
pub struct Question {
    /// The position and its past.
    pub game: Game,
    /// When to end.
    pub limits: Limits,
    /// What is known of endgames.
    pub tables: Tables,
    /// Seed of a classical player's random numbers.
    pub seed: u64,
    /// Who looks on, and is told of the end.
    pub watch: Box<dyn SearchObserver>,
}

impl Brain {
    /// Makes what is needed to think, so that thinking can begin at once.
    pub fn prepare(&mut self, settings: &Settings, out: &Writer) {
        if settings.player.is_none() {
            self.pool(settings, out);
        }
    }

    /// Lets the player of the settings begin to think, and returns at once.
    pub fn think(&mut self, settings: &Settings, question: Question, out: &Writer) {
        let Question { game, limits, tables, seed, watch } = question;
        match settings.player {
            None => {
                let pool = self.pool(settings, out);
                pool.set_tables(tables);
                pool.start(game, limits, watch);
            }
            Some(player) => {
                let (tree, answers) = settings.memory();
                let (lines, memory, uct) = (settings.multipv, tree + answers, settings.uct);
                self.player.start(player, PlayerTask { game, limits, lines, memory, uct, seed }, watch);
            }
        }
    }

    /// The workers, made now if need be. What is missing for them is said once, in one line; they
    /// then play without a network.
    pub fn pool(&mut self, settings: &Settings, out: &Writer) -> &mut Pool {
        let (network, cache) = (&mut self.network, &mut self.cache);
        self.pool.get_or_insert_with(|| {
            let workers = workers(settings);
            if workers < settings.threads {
                log::warn!("{} workers are too many for this machine: starting {workers}", settings.threads);
            }
            let evaluators = match evaluators(network, settings, workers, out) {
                Ok(evaluators) => evaluators,
                Err(error) => {
                    out.say(format!("playing without a network: {error}"));
                    without_network(workers)
                }
            };
            let (tree, answers) = settings.memory();
            let shared = Arc::new(EvalCache::new(answers));
            let input = network.as_ref().map_or(Input::Planes72, |network| network.schemes().input);
            let cached = |inner| {
                Box::new(CachedEvaluator::new(inner, input, Arc::clone(&shared))) as Box<dyn Evaluator>
            };
            let evaluators =
                if answers > 0 { evaluators.into_iter().map(cached).collect() } else { evaluators };
            *cache = Some(shared);
            Pool::new(evaluators, settings.search_params(), tree)
        })
    }

    /// The workers, if there are any yet.
    pub fn existing_pool(&mut self) -> Option<&mut Pool> {
        self.pool.as_mut()
    }

    /// Forgets the tree, and what it takes for proven.
    pub fn forget_tree(&mut self) {
        self.pool.iter_mut().for_each(Pool::clear);
    }

    /// Forgets the tree and all answers.
    pub fn clear(&mut self) {
        self.forget_tree();
        self.cache.iter().for_each(|cache| cache.clear());
    }

    /// Where the visits of the network's search came from, in words.
    pub fn shares(&self, report: &Report) -> String {
        let SearchCounters { playouts, evaluations, transpositions, table_hits, .. } = report.counters;
        let share = |part: u64, of: u64| part as f64 * 100.0 / of.max(1) as f64;
        let cached = self.cache.as_ref().map_or(0, |cache| cache.hits());
        format!(
            "{playouts} visits: {evaluations} evaluations, {transpositions} by other ways ({:.1} %), {table_hits} \
             from tables; {cached} evaluations from the cache since it was emptied",
            share(transpositions, playouts)
        )
    }

    /// Ends the workers; the next ones are made to the settings of then.
    pub fn drop_pool(&mut self) {
        self.pool = None;
    }

    /// Loads the network that the settings name, for the workers to come. If it isn't what was to be
    /// expected, that is said.
    ///
    /// # Errors
    ///
    /// If it can't be loaded; the previous network and the workers then stay.
    pub fn load(&mut self, settings: &Settings, out: &Writer) -> Result<(), NetError> {
        let network = load(settings, out)?;
        self.pool = None;
        self.network = Some(network);
        Ok(())
    }

    /// What the evaluator says about one position.
    ///
    /// # Errors
    ///
    /// In words, if there is no network or it fails.
    pub fn opinion(&mut self, game: &Game, settings: &Settings, out: &Writer) -> Result<Answer, String> {
        let mut evaluators =
            evaluators(&mut self.network, settings, 1, out).map_err(|error| error.to_string())?;
        let moves = game.legal_moves();
        let request = [Request { game, moves: &moves }];
        let answers = match evaluators.first_mut() {
            Some(evaluator) => evaluator.evaluate(&request).map_err(|error: EvalError| error.to_string())?,
            None => Vec::new(),
        };
        answers.into_iter().next().ok_or_else(|| "no answer".to_owned())
    }
}

/// As many as are asked for, unless they could only get into each other's way: every worker has a
/// session with memory of its own. A classical player thinks alone.
pub fn workers(settings: &Settings) -> usize {
    match settings.player {
        None => settings.threads.clamp(1, ALWAYS_FINE.max(4 * num_cpus::get())),
        Some(_) => 1,
    }
}

fn load(settings: &Settings, out: &Writer) -> Result<Network, NetError> {
    let pair = match &settings.weights {
        Some(file) => NetworkPair::beside(Path::new(file))?,
        None => NetworkPair::embedded(),
    };
    let chosen = pair.choose(settings.precision, settings.params.batch, &PrecisionCache::of_user())?;
    if let Some(note) = chosen.note {
        out.say(note);
    }
    log::info!("thinking with {}", chosen.network.describe());
    Ok(chosen.network)
}

fn evaluators(
    network: &mut Option<Network>,
    settings: &Settings,
    workers: usize,
    out: &Writer,
) -> Result<Vec<Box<dyn Evaluator>>, NetError> {
    match settings.backend {
        Backend::Uniform => Ok(without_network(workers)),
        Backend::OnnxCpu => {
            let network = match network {
                Some(network) => network,
                none => none.insert(load(settings, out)?),
            };
            (0..workers).map(|_| network.evaluator_with(settings.params.batch, settings.thinking)).collect()
        }
    }
}

fn without_network(workers: usize) -> Vec<Box<dyn Evaluator>> {
    (0..workers).map(|_| Box::new(Uniform) as Box<dyn Evaluator>).collect()
}
