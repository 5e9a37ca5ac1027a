//! Runs with `sparse` networks, trained in plain Rust.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, ensure};
use engine::base::words::counted;
use engine::nets::sparse::SparseNetwork;
use serde_json::Value;

use super::learner::{
    LearntNetwork, LearntPlayer, LoopContext, LoopGames, LoopLearner, TrainOutcome, TrainTask,
};
use super::networks::RunNetworks;
use super::state::START;
use crate::base::files::write_file;
use crate::config::{RlConfig, Schedule, SparseTrainConfig, worker_count};
use crate::data::record::Split;
use crate::judge::evaluate::JudgedNetwork;
use crate::judge::export::{OnnxStorage, sparse_onnx};
use crate::learn::run::metrics::{PolicyDivergence, Validations};
use crate::learn::run::{self, RunFolder, TrainEnd, TrainError};
use crate::learn::sparse::{
    GameStore, InitialWeights, SampleSource, SparseCheckpoint, SparseGames, SparseModel, SparseRecipe,
    SparseRun, SparseSamples, choose, divergence, validate,
};

/// Positions for the policy divergence from the first network.
const MEASURED: usize = 4096;

#[derive(Default)]
pub struct SparseLoop {
    pretraining: SparseGames,
}

fn training(config: &RlConfig) -> Result<&SparseTrainConfig> {
    config.train.sparse().context("the run is of another family than sparse")
}

impl SparseLoop {
    /// Weights first, then the ONNX file.
    fn write(
        &self,
        nets: &RunNetworks,
        name: &str,
        model: &SparseModel,
        config: &SparseTrainConfig,
    ) -> Result<()> {
        let weights =
            SparseCheckpoint { network: model.clone(), average: model.clone(), state: String::new() };
        weights.write_weights(&nets.weights(name))?;
        self.export(nets, name, model, config)
    }

    /// Writes ONNX with the engine's integers.
    fn export(
        &self,
        nets: &RunNetworks,
        name: &str,
        model: &SparseModel,
        config: &SparseTrainConfig,
    ) -> Result<()> {
        let text = serde_json::to_string(&config.without_folders())?;
        write_file(&nets.onnx(name), &sparse_onnx(name, model, &text, OnnxStorage::Integer))
    }

    /// A missing or damaged file is exported again from the weights.
    fn load(&self, nets: &RunNetworks, name: &str, config: &SparseTrainConfig) -> Result<SparseNetwork> {
        let path = nets.onnx(name);
        if let Ok(network) = SparseNetwork::load(&path) {
            return Ok(network);
        }
        self.export(nets, name, &SparseModel::load(&nets.weights(name))?, config)?;
        SparseNetwork::load(&path).with_context(|| path.display().to_string())
    }

    fn games(&self, config: &RlConfig, games: &LoopGames<'_>) -> Result<SparseGames> {
        let train = training(config)?;
        let mut all = self.pretraining.clone();
        if games.mix > 0.0 {
            all.share(games.mix);
        } else {
            all.train.clear();
        }
        // Older games, then recent ones; each for training and validation.
        let mut parts = [(); 2].map(|()| [GameStore::default(), GameStore::default()]);
        games.buffer.visit(games.folder, train.validation_percent, &mut |recent, split, game| {
            match split {
                Split::Train => parts[usize::from(recent)][0].push(game),
                Split::Validation => parts[usize::from(recent)][1].push(game),
                Split::Test => {}
            }
            Ok(())
        })?;
        let masses = [1.0, config.recent_weight];
        let masses: Vec<f64> =
            parts.iter().zip(masses).map(|([train, _], weight)| train.targets() as f64 * weight).collect();
        let (sum, total) = (masses.iter().sum::<f64>(), 1.0 - games.mix);
        for ((part, mass), name) in parts.into_iter().zip(masses).zip(["self-play", "recent"]) {
            if part[0].targets() == 0 {
                continue;
            }
            let mut source = train.self_play.clone().unwrap_or_default();
            source.weight = total * mass / sum;
            all.add(name, part, &source, train.validation_samples, None);
        }
        // A source with share 0 takes no part in training.
        all.train.retain(|source| source.share > 0.0);
        ensure!(!all.train.is_empty(), "there are no positions to learn from");
        Ok(all)
    }

    fn drift(
        &self,
        context: &LoopContext<'_>,
        model: &SparseModel,
        games: &[SampleSource],
        threads: usize,
    ) -> Result<PolicyDivergence> {
        let first = SparseModel::load(&context.nets.weights(START))?;
        let mut samples = SparseSamples::default();
        for source in games {
            samples.append(choose(
                &source.games,
                MEASURED / games.len(),
                // The policy may drift even if it is not trained.
                &SparseRecipe { policy_weight: 1.0, ..source.recipe },
                context.config.seed,
            ));
        }
        let kl = divergence(model, &first, &samples, threads);
        Ok(if kl.is_finite() {
            PolicyDivergence { kl: Some(kl), ..PolicyDivergence::default() }
        } else {
            PolicyDivergence { lost: 1, ..PolicyDivergence::default() }
        })
    }
}

/// [`RlConfig`] refuses the keys that are set here.
fn train_config(config: &RlConfig, task: &TrainTask<'_>) -> Result<SparseTrainConfig> {
    let mut train = training(config)?.clone();
    train.samples = task.samples.max(1);
    train.minutes = 0.0;
    train.schedule = Schedule::Constant;
    train.validate_every = u64::MAX;
    train.lr *= task.lr_factor;
    train.min_lr = train.min_lr.min(train.lr);
    train.seed = task.seed;
    Ok(train)
}

impl LoopLearner for SparseLoop {
    fn describe(&self, config: &RlConfig) -> String {
        let threads = training(config).map_or(1, SparseTrainConfig::thread_count);
        format!(
            "networks of the family sparse are trained on {} and play in integers",
            counted(threads, "thread")
        )
    }

    fn model(&self, path: &Path, _config: &RlConfig) -> Result<Value> {
        Ok(serde_json::to_value(SparseModel::load(path)?.shape.config())?)
    }

    fn begin(&self, config: &RlConfig, nets: &RunNetworks) -> Result<()> {
        let train = training(config)?;
        let model = match config.start.as_str() {
            "" => SparseModel::new(train.shape(), config.seed),
            start => SparseModel::load(Path::new(start))?,
        };
        let train = SparseTrainConfig { model: model.shape.config(), ..train.clone() };
        self.write(nets, START, &model, &train)?;
        self.load(nets, START, &train).map(drop)
    }

    fn open(&mut self, config: &mut RlConfig, nets: &RunNetworks, _folder: &Path) -> Result<()> {
        let first = SparseModel::load(&nets.weights(START))?.shape.config();
        let mix = config.pretrain_mix_ratio;
        let train = config.train.sparse_mut().context("the run is of another family than sparse")?;
        train.model = first;
        if mix > 0.0 {
            self.pretraining = SparseGames::load(train)?;
        }
        Ok(())
    }

    fn player(&self, context: &LoopContext<'_>, name: &str, _games: &[PathBuf]) -> Result<LearntPlayer> {
        let network = Arc::new(self.load(context.nets, name, training(context.config)?)?);
        Ok(LearntPlayer { network, file: context.nets.onnx(name), news: None })
    }

    fn judged(&self, nets: &RunNetworks, name: &str) -> Result<JudgedNetwork> {
        JudgedNetwork::load(&nets.onnx(name), 0)
    }

    fn workers(&self, _config: &RlConfig, workers: usize) -> usize {
        worker_count(workers)
    }

    fn has_checkpoint(&self, folder: &Path) -> bool {
        !run::folder::list(folder).is_empty()
    }

    fn train(
        &self,
        context: &LoopContext<'_>,
        task: &TrainTask<'_>,
        begun: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<TrainOutcome> {
        let config = train_config(context.config, task)?;
        let begun_before = self.has_checkpoint(&task.folder);
        let folder = RunFolder::open(&task.folder)?;
        let mut run = if begun_before {
            SparseRun::go_on(folder, &config)?
        } else {
            let init = SparseModel::load(&context.nets.weights(task.init))?;
            let random = task.init == START && context.config.start.is_empty();
            let init = if random { InitialWeights::Untrained(init) } else { InitialWeights::Trained(init) };
            SparseRun::start(folder, &config, init)?
        };
        let from = task.from.unwrap_or(run.progress.step);
        if task.from.is_none() {
            begun(from)?;
        }
        let SparseGames { train, held_out } = self.games(context.config, &task.games)?;
        run.begin_part(from);
        let mut feed = run.learner.feed(train.clone())?;
        match run.train(&mut feed, &held_out, &|_| context.stop.load(Ordering::Relaxed)) {
            Ok(TrainEnd::Finished) => {}
            Ok(TrainEnd::Stopped) => return Ok(TrainOutcome::Stopped),
            // Such a network needs no arena.
            Err(why @ TrainError::NotFinite(_)) => return Ok(TrainOutcome::NotFinite(why.to_string())),
            Err(why) => return Err(anyhow::Error::msg(why)),
        }
        let drift = self.drift(context, run.learner.averaged(), &train, config.thread_count())?;
        self.write(context.nets, task.name, run.learner.averaged(), &config)?;
        let (step, summary) = (run.progress.step, run.progress.summary.clone());
        Ok(TrainOutcome::Learnt(Box::new(LearntNetwork { step, summary, drift, lr: config.lr })))
    }

    fn validated(
        &self,
        context: &LoopContext<'_>,
        games: &LoopGames<'_>,
        names: [&str; 2],
    ) -> Result<[Validations; 2]> {
        let threads = training(context.config)?.thread_count();
        let own;
        let held_out = match context.config.pretrain_mix_ratio > 0.0 {
            true => &self.pretraining.held_out,
            false => {
                own = self.games(context.config, games)?.held_out;
                &own
            }
        };
        let of = |name: &str| -> Result<Validations> {
            Ok(validate(&SparseModel::load(&context.nets.weights(name))?, held_out, threads))
        };
        let [before, now] = names;
        Ok([of(before)?, of(now)?])
    }
}
