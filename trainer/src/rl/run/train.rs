//! Learning from the buffer and the pretraining games.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::config::Schedule;
use crate::config::TrainConfig;
use crate::model::Weights;
use crate::record::Purpose;
use crate::rl::escalation::Verdict;
use crate::rl::nets::Nets;
use crate::rl::run::Cycle;
use crate::rl::state::{START, Stage};
use crate::train;
use crate::train::regularise::Reference;
use crate::train::{Checkpoint, checkpoint};
use crate::train::{Learner, Run, Sources, TrainError, batch_number};

/// Batches on which the distance from the first network is measured.
const MEASURED: usize = 4;

impl Cycle {
    /// The folder of a training run.
    pub(super) fn training(&self, number: u64) -> PathBuf {
        self.folder.join(format!("train-{number:03}"))
    }

    /// Where the present one's checkpoints are.
    pub(super) fn checkpoints(&self) -> PathBuf {
        self.training(self.state.training).join("checkpoints")
    }

    fn train_config(&self) -> TrainConfig {
        let mut config = self.config.train.clone();
        config.samples = self.state.target.max(1);
        config.schedule = Schedule::Constant;
        (config.minutes, config.epochs, config.early_stop) = (0.0, 0.0, 0);
        config.validate_every = u64::MAX;
        config.lr *= self.state.escalation.lr_factor;
        config.min_lr = config.min_lr.min(config.lr);
        config.seed = self.seed(Purpose::Samples);
        config
    }

    /// The pretraining games and the buffer, at their shares.
    pub(super) fn sources(&self) -> Result<(Sources, f64), String> {
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

    /// Learns until the iteration's samples are used up; no if it was stopped before.
    pub(super) fn train(&mut self) -> Result<bool, String> {
        let folder = self.training(self.state.training);
        let config = self.train_config();
        let mut run = if checkpoint::list(&self.checkpoints()).is_empty() {
            Run::start(&folder, &config, self.device, Some(&self.nets.weights(&self.state.current)))
                .map_err(|error| format!("{error:#}"))?
        } else {
            Run::resume(&folder, &config, self.device).map_err(|error| format!("{error:#}"))?
        };
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
            // What the last iteration measured.
            run.learner.drift.clear();
        }
        let (sources, mix) = self.sources()?;
        run.set_sources(&sources);
        let mut feed = sources
            .feed(&config, batch_number(&run.progress.loader))
            .map_err(|error| format!("{error:#}"))?;
        let held_out = sources.held_out(&config).map_err(|error| format!("{error:#}"))?;
        let stop = Arc::clone(&self.stop);
        match run.train(&mut feed, &held_out, &|_| stop.load(Ordering::Relaxed)) {
            Ok(train::TrainEnd::Finished) => {}
            Ok(train::TrainEnd::Stopped) => return Ok(false),
            // Nobody needs to play against a network whose numbers aren't finite.
            Err(why @ TrainError::NotFinite(_)) => {
                self.state.from = None;
                self.judged(Verdict::Vetoed, &why.to_string(), None)?;
                return Ok(true);
            }
            Err(why) => return Err(format!("{why:#}")),
        }
        let mut drift = run.learner.drift.mean();
        if let Some(reference) = &run.learner.reference {
            let batches = (0..MEASURED).map(|_| feed.next_batch()).collect::<Result<Vec<_>, String>>()?;
            let kl = reference.measure(&run.learner.net, &run.learner.averaged, &batches);
            if kl.is_finite() {
                drift.kl = kl;
            } else {
                drift.lost += 1;
            }
        }
        self.state.drift = drift;
        self.state.from = None;
        let name = Nets::name(self.state.iteration);
        self.nets.write(&name, &run.learner.net, &run.learner.averaged, &config, &run.progress)?;
        let learnt = last_report(&folder, from);
        let losses = ["policy_loss", "wdl_loss", "top1"].map(|key| learnt[key].as_f64().unwrap_or(f64::NAN));
        self.say(&format!(
            "network {name}: policy loss {:.3}, WDL loss {:.3}, first choice {:.1} %; KL {:.3} from the first network",
            losses[0],
            losses[1],
            100.0 * losses[2],
            drift.kl
        ))?;
        let alarm = drift.reaches(self.config.kl.alarm);
        if drift.reaches(self.config.kl.warn) && !alarm {
            self.say(&format!("warning: the policy drifts away, KL {:.3}", drift.kl))?;
        }
        self.note("learn", learnt);
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
            self.say(&format!("KL {:.3}{lost}: an arena at once", drift.kl))?;
        }
        if alarm || self.state.iteration.is_multiple_of(self.config.arena.every) {
            self.state.stage = Stage::Arena;
        } else {
            self.conclude(None)?;
        }
        Ok(true)
    }

    /// The first network, if going away from it costs.
    fn reference(&self, learner: &Learner) -> Result<Option<Reference>, String> {
        if self.config.kl.cost.weight == 0.0 {
            return Ok(None);
        }
        let kind = self.config.train.precision.kind(self.device);
        let mut weights = Weights::new(learner.net.layout(), self.device, kind, 0);
        Checkpoint::load(&self.nets.weights(START))
            .map_err(|error| format!("{error:#}"))?
            .restore_weights(&mut weights, false)
            .map_err(|error| format!("{error:#}"))?;
        Ok(Some(Reference::new(weights, self.config.kl.cost.clone())))
    }
}

/// The means of a training run's reports after step `from`, with the steps since then that were left out and the last
/// validation.
fn last_report(run: &Path, from: u64) -> Value {
    let text = std::fs::read_to_string(run.join("metrics.jsonl")).unwrap_or_default();
    let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let since = || lines.iter().filter(|line| line["step"].as_u64().is_some_and(|step| step > from));
    let mean = |key: &str| {
        let values: Vec<f64> = since().filter_map(|line| line[key].as_f64()).collect();
        if values.is_empty() { Value::Null } else { json!(values.iter().sum::<f64>() / values.len() as f64) }
    };
    let last = since().rfind(|line| !line["validation"].is_null());
    let part = |key: &str| last.map_or(Value::Null, |line| line[key].clone());
    // Counted from the run's beginning.
    let skipped = |to: u64| {
        let until = lines.iter().filter(|line| line["step"].as_u64().is_some_and(|step| step <= to));
        until.rev().find_map(|line| line["skipped"].as_u64()).unwrap_or(0)
    };
    let steps = since().filter_map(|line| line["step"].as_u64()).max().unwrap_or(from);
    json!({
        "step": steps, "policy_loss": mean("policy_loss"), "wdl_loss": mean("wdl_loss"), "top1": mean("top1"),
        "top5": mean("top5"), "samples_per_s": mean("samples_per_s"), "skipped": skipped(u64::MAX).saturating_sub(skipped(from)),
        "validation": part("validation"), "phases": part("phases"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iteration_reports_on_its_own_steps() {
        let folder = tempfile::tempdir().unwrap();
        let lines = [
            json!({ "step": 10, "policy_loss": 9.0, "skipped": 2 }),
            json!({ "step": 20, "policy_loss": 3.0, "skipped": 2 }),
            json!({ "step": 30, "policy_loss": 2.0, "skipped": 7 }),
            json!({ "step": 30, "validation": { "samples": 5 }, "phases": {} }),
        ];
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(folder.path().join("metrics.jsonl"), text).unwrap();
        let report = last_report(folder.path(), 10);
        assert_eq!((&report["step"], &report["policy_loss"]), (&json!(30), &json!(2.5)));
        assert_eq!((&report["skipped"], &report["top1"]), (&json!(5), &Value::Null));
        assert_eq!(report["validation"]["samples"], 5);
        assert_eq!(last_report(folder.path(), 0)["skipped"], 7, "of a run's first iteration all");
        assert_eq!(last_report(folder.path(), 30)["skipped"], 0);
    }
}
