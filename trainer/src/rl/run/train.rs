//! Training on the buffer and the pretraining games.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::Result;
use serde_json::{Value, json};

use crate::config::{Schedule, TrainConfig};
use crate::model::Weights;
use crate::record::RngStream;
use crate::rl::escalation::GateDecision;
use crate::rl::networks::RunNetworks;
use crate::rl::state::{START, Stage};
use crate::train::regularise::Reference;
use crate::train::{
    self, Checkpoint, Learner, Run, Sources, TrainError, TrainSummary, batch_number, checkpoint,
};

use super::RlLoop;

/// Batches on which the divergence from the first network is measured.
const MEASURED: usize = 4;

impl RlLoop {
    /// Folder of a training run.
    pub(super) fn training(&self, number: u64) -> PathBuf {
        self.folder.join(format!("train-{number:03}"))
    }

    /// Folder of the current training run's checkpoints.
    pub(super) fn checkpoints(&self) -> PathBuf {
        self.training(self.state.training).join("checkpoints")
    }

    /// The configuration of this iteration's training; the configuration refuses the keys that are set here.
    fn train_config(&self) -> TrainConfig {
        let mut config = self.config.train.clone();
        config.samples = self.state.target.max(1);
        config.schedule = Schedule::Constant;
        (config.minutes, config.epochs, config.early_stop) = (0.0, 0.0, 0);
        config.validate_every = u64::MAX;
        config.lr *= self.state.escalation.lr_factor;
        config.min_lr = config.min_lr.min(config.lr);
        config.seed = self.seed(RngStream::Samples);
        config
    }

    /// The pretraining games and the buffer as sources, with the share of the former.
    pub(super) fn sources(&self) -> Result<(Sources, f64)> {
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

    /// Trains until the iteration's samples are used up; false if it was stopped before.
    pub(super) fn train(&mut self) -> Result<bool> {
        let folder = self.training(self.state.training);
        let config = self.train_config();
        let mut run = if checkpoint::list(&self.checkpoints()).is_empty() {
            Run::start(&folder, &config, self.device, Some(&self.nets.weights(&self.state.current)))
        } else {
            Run::resume(&folder, &config, self.device)
        }?;
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
            // The last iteration's measurements.
            run.learner.drift.clear();
        }
        let (sources, mix) = self.sources()?;
        run.set_sources(&sources);
        let mut feed = sources.feed(&config, batch_number(&run.progress.loader))?;
        let held_out = sources.held_out(&config)?;
        let stop = Arc::clone(&self.stop);
        let trained = run.train_from(from, &mut feed, &held_out, &|_| stop.load(Ordering::Relaxed));
        let summary = match trained {
            Ok((train::TrainEnd::Finished, summary)) => summary,
            Ok((train::TrainEnd::Stopped, _)) => return Ok(false),
            // A network whose weights are not finite needs no test.
            Err(why @ TrainError::NotFinite(_)) => {
                self.state.from = None;
                self.apply(GateDecision::Vetoed, &why.to_string(), None)?;
                return Ok(true);
            }
            Err(why) => return Err(anyhow::Error::msg(why)),
        };
        let mut drift = run.learner.drift.mean();
        if let Some(reference) = &run.learner.reference {
            let batches = (0..MEASURED).map(|_| feed.next_batch()).collect::<Result<Vec<_>, _>>();
            let batches = batches?;
            let kl = reference.measure(&run.learner.net, &run.learner.averaged, &batches);
            if kl.is_finite() {
                drift.kl = kl;
            } else {
                drift.lost += 1;
            }
        }
        self.state.drift = drift;
        self.state.from = None;
        let name = RunNetworks::name(self.state.iteration);
        self.nets.write(&name, &run.learner.net, &run.learner.averaged, &config, &run.progress)?;
        let losses =
            [summary.policy_loss(), summary.wdl_loss(), summary.top1()].map(|x| x.unwrap_or(f64::NAN));
        self.log_event(&format!(
            "network {name}: policy loss {:.3}, WDL loss {:.3}, first choice {:.1} %; KL {:.3} from the first network",
            losses[0],
            losses[1],
            100.0 * losses[2],
            drift.kl
        ))?;
        let alarm = drift.reaches(self.config.kl.alarm);
        if drift.reaches(self.config.kl.warn) && !alarm {
            self.log_event(&format!(
                "warning: the policy diverges from the first network's, KL {:.3}",
                drift.kl
            ))?;
        }
        self.note("learn", metrics(run.progress.step, &summary));
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
            self.log_event(&format!("KL {:.3}{lost}: the network is tested at once", drift.kl))?;
        }
        if alarm || self.state.iteration.is_multiple_of(self.config.arena.every) {
            self.state.stage = Stage::Arena;
        } else {
            self.conclude(None)?;
        }
        Ok(true)
    }

    /// The first network, if divergence from it has a cost.
    fn reference(&self, learner: &Learner) -> Result<Option<Reference>> {
        if self.config.kl.cost.weight == 0.0 {
            return Ok(None);
        }
        let kind = self.config.train.precision.kind(self.device);
        let mut weights = Weights::new(learner.net.layout(), self.device, kind, 0);
        Checkpoint::load(&self.nets.weights(START))
            .and_then(|first| first.restore_weights(&mut weights, false))?;
        Ok(Some(Reference::new(weights, self.config.kl.cost.clone())))
    }
}

/// What an iteration's metrics say of its training, which ended with step `step`.
fn metrics(step: u64, summary: &TrainSummary) -> Value {
    json!({
        "step": step, "policy_loss": summary.policy_loss(), "wdl_loss": summary.wdl_loss(), "top1": summary.top1(),
        "top5": summary.top5(), "samples_per_s": summary.samples_per_s(), "skipped": summary.skipped,
        "validation": summary.validation, "phases": summary.phases,
    })
}
