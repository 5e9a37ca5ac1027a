use std::path::Path;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result};
use tch::Kind;

use super::TorchLoop;
use crate::config::{RlConfig, Schedule, TrainConfig};
use crate::data::loader::{Corpus, CorpusBuilder};
use crate::data::record::Split;
use crate::learn::run::{self, RunFolder, TrainEnd, TrainError};
use crate::learn::torch::families::Weights;
use crate::learn::torch::regularise::{ElasticPenalty, Reference};
use crate::learn::torch::{Checkpoint, Learner, Sources, TorchRun, batch_number, earlier_task};
use crate::play::rl::buffer::ReplayBuffer;
use crate::play::rl::learner::{LearntNetwork, LoopContext, LoopGames, TrainOutcome, TrainTask};
use crate::play::rl::state::START;

/// Batches for the policy divergence from the first network.
const MEASURED: usize = 4;

/// The run's configuration refuses the keys that are set here.
fn train_config(config: &RlConfig, task: &TrainTask<'_>) -> Result<TrainConfig> {
    let mut config = super::training(config)?.clone();
    config.samples = task.samples.max(1);
    config.schedule = Schedule::Constant;
    (config.minutes, config.epochs, config.early_stop) = (0.0, 0.0, 0);
    config.validate_every = u64::MAX;
    config.lr *= task.lr_factor;
    config.min_lr = config.min_lr.min(config.lr);
    config.seed = task.seed;
    Ok(config)
}

impl TorchLoop {
    pub(super) fn sources(&self, context: &LoopContext<'_>, games: &LoopGames<'_>) -> Result<Sources> {
        let mut sources = self.pretraining.clone();
        if context.config.pretrain_mix_ratio > 0.0 {
            sources.share(games.mix);
        }
        let own = (1.0 - games.mix).max(0.0);
        add_to(games.buffer, &mut sources, games.folder, context.folder, context.config, own)?;
        Ok(sources)
    }

    pub(super) fn learn(
        &self,
        context: &LoopContext<'_>,
        task: &TrainTask<'_>,
        begun: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<TrainOutcome> {
        let config = train_config(context.config, task)?;
        let begun_before = !run::folder::list(&task.folder).is_empty();
        let folder = RunFolder::open(&task.folder)?;
        let mut run = if !begun_before {
            let weights = context.nets.weights(task.init);
            let mut run = TorchRun::start(folder, &config, self.device, Some(&weights))?;
            run.progress.trained = task.init != START || !context.config.start.is_empty();
            run.learner.elastic = self.penalty(context, &run.learner, &config)?;
            run
        } else {
            TorchRun::resume(folder, &config, self.device)?
        };
        run.learner.reference = self.reference(context, &run.learner)?;
        let from = task.from.unwrap_or(run.progress.step);
        if task.from.is_none() {
            begun(from)?;
        }
        if run.progress.step == from {
            // Drop the last iteration's measurements.
            run.learner.drift.clear();
        }
        let sources = self.sources(context, &task.games)?;
        run.learner.set_sources(&sources);
        run.begin_part(from);
        let next = batch_number(&run.learner.position).or_else(|_| {
            context
                .log_event("the rest of an earlier version's iteration learns from samples in another order")
                .map(|()| 0)
        });
        let mut feed = sources.feed(&config, next?)?;
        let held_out = sources.held_out(&config)?;
        let stop = context.stop;
        match run.train(&mut feed, &held_out, &|_| stop.load(Ordering::Relaxed)) {
            Ok(TrainEnd::Finished) => {}
            Ok(TrainEnd::Stopped) => return Ok(TrainOutcome::Stopped),
            // Such a network needs no arena.
            Err(why @ TrainError::NotFinite(_)) => return Ok(TrainOutcome::NotFinite(why.to_string())),
            Err(why) => return Err(anyhow::Error::msg(why)),
        }
        let mut drift = run.learner.drift.mean();
        if let Some(reference) = &run.learner.reference {
            let batches = (0..MEASURED).map(|_| feed.next_batch()).collect::<Result<Vec<_>, _>>();
            let batches = batches?;
            let kl = reference.measure(&run.learner.net, &run.learner.averaged, &batches);
            if kl.is_finite() {
                drift.kl = Some(kl);
            } else {
                drift.lost += 1;
            }
        }
        context.nets.write(task.name, &run.learner.net, &run.learner.averaged, &config, &run.progress)?;
        let (step, summary, lr) = (run.progress.step, run.progress.summary.clone(), config.lr);
        Ok(TrainOutcome::Learnt(Box::new(LearntNetwork { step, summary, drift, lr })))
    }

    /// The first network, if divergence from it has a cost.
    fn reference(&self, context: &LoopContext<'_>, learner: &Learner) -> Result<Option<Reference>> {
        if context.config.kl.cost.weight == 0.0 {
            return Ok(None);
        }
        let kind = super::training(context.config)?.precision.kind(self.device);
        let first = self.first_weights(context, learner, kind)?;
        Ok(Some(Reference::new(first, context.config.kl.cost.clone())))
    }

    /// Elastic weight consolidation around the first network, if used.
    fn penalty(
        &self,
        context: &LoopContext<'_>,
        learner: &Learner,
        config: &TrainConfig,
    ) -> Result<Option<ElasticPenalty>> {
        if config.ewc.weight == 0.0 {
            return Ok(None);
        }
        let first = self.first_weights(context, learner, Kind::Float)?;
        earlier_task(config, context.folder, &learner.net, &first).map(Some)
    }

    fn first_weights(&self, context: &LoopContext<'_>, learner: &Learner, kind: Kind) -> Result<Weights> {
        let mut weights = Weights::new(learner.net.layout(), self.device, kind, 0);
        Checkpoint::load(&context.nets.weights(START))
            .and_then(|first| first.restore_weights(&mut weights, false))?;
        Ok(weights)
    }
}

/// Two sources, older and recent games, whose shares sum to `total`. A recent position is sampled `recent_weight` times
/// as often. Validation games are held out. Games are copied to unnamed files in `cache`.
pub fn add_to(
    buffer: &ReplayBuffer,
    sources: &mut Sources,
    folder: &Path,
    cache: &Path,
    config: &RlConfig,
    total: f64,
) -> Result<()> {
    let full = || format!("cannot copy games to {}", cache.display());
    let builder = || CorpusBuilder::new(cache).with_context(full);
    let mut parts = [[builder()?, builder()?], [builder()?, builder()?]];
    let percent = super::training(config)?.validation_percent;
    buffer.visit(folder, percent, &mut |recent, split, game| {
        let part = &mut parts[usize::from(recent)];
        match split {
            Split::Train => part[0].push(game).with_context(full),
            Split::Validation => part[1].push(game).with_context(full),
            Split::Test => Ok(()),
        }
    })?;
    let mut built: Vec<(Corpus, Corpus)> = Vec::new();
    for [train, validation] in parts {
        built.push((train.build().with_context(full)?, validation.build().with_context(full)?));
    }
    // Shares are proportional to weighted positions; a source without games gets none.
    let mass = |index: usize, weight: f64| built[index].0.positions() as f64 * weight;
    let masses = [mass(0, 1.0), mass(1, config.recent_weight)];
    let sum: f64 = masses.iter().sum();
    for (((train, validation), mass), name) in built.into_iter().zip(masses).zip(["self-play", "recent"]) {
        sources.add(name, total * mass / sum.max(1.0), train, validation);
    }
    Ok(())
}
