use std::sync::Arc;

use super::loaded::{LoadError, LoadedNetwork};
use super::settings::{Backend, Settings, processors};
use crate::nets::encoding::Input;
use crate::nets::eval::{CachedEvaluator, EvalCache, Evaluator, Uniform};

/// Workers allowed on any machine; large machines allow four per usable processor.
const MIN_WORKER_LIMIT: usize = 16;

/// Returns `Threads`, bounded because every worker has memory of its own; 1 for a classical player.
pub fn workers(settings: &Settings) -> usize {
    match settings.player {
        None => settings.threads.clamp(1, MIN_WORKER_LIMIT.max(4 * processors())),
        Some(_) => 1,
    }
}

pub struct WorkerEvaluators {
    pub evaluators: Vec<Box<dyn Evaluator>>,
    /// `None` if an evaluation is faster than a look-up.
    pub cache: Option<Arc<EvalCache>>,
    /// The part of `Hash` for trees, in bytes.
    pub tree_memory: usize,
    /// Whether our own kernels run the network.
    pub native: bool,
}

impl WorkerEvaluators {
    /// One evaluator per worker. `network` may be `None` only with [`Backend::Uniform`].
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

/// Without a cache.
pub fn evaluator(
    network: Option<&LoadedNetwork>,
    settings: &Settings,
) -> Result<Box<dyn Evaluator>, LoadError> {
    used(network, settings)
        .map_or_else(|| Ok(Box::new(Uniform) as Box<_>), |network| network.evaluator(settings))
}

fn used<'a>(network: Option<&'a LoadedNetwork>, settings: &Settings) -> Option<&'a LoadedNetwork> {
    network.filter(|_| settings.backend != Backend::Uniform)
}
