use std::path::{Path, PathBuf};

use anyhow::Result;
use engine::base::words::counted;
use serde_json::json;

use crate::data::record::RngStream;
use crate::play::rl::escalation::GateDecision;
use crate::play::rl::learner::{LoopContext, LoopGames, TrainOutcome, TrainTask};
use crate::play::rl::networks::RunNetworks;
use crate::play::rl::state::Stage;

use super::RlLoop;

impl RlLoop {
    pub(super) fn training(&self, number: u64) -> PathBuf {
        self.folder.join(format!("train-{number:03}"))
    }

    /// Share of pretraining games; 0 if there are none.
    fn mix(&self) -> f64 {
        match self.config.pretrain_mix_ratio {
            base if base > 0.0 => self.state.escalation.mix(base, &self.config.veto),
            _ => 0.0,
        }
    }

    /// `folder` must hold the games' files.
    pub(super) fn loop_games<'a>(&'a self, folder: &'a Path) -> LoopGames<'a> {
        LoopGames { buffer: &self.state.buffer, folder, mix: self.mix() }
    }

    pub(super) fn train(&mut self) -> Result<bool> {
        let (name, mix) = (RunNetworks::name(self.state.iteration), self.mix());
        let (buffer, init) = (self.state.buffer.clone(), self.state.current.clone());
        let folder = self.games();
        let task = TrainTask {
            folder: self.training(self.state.training),
            init: &init,
            name: &name,
            samples: self.state.target,
            lr_factor: self.state.escalation.lr_factor,
            seed: self.seed(RngStream::Samples),
            games: LoopGames { buffer: &buffer, folder: &folder, mix },
            from: self.state.from,
        };
        let RlLoop { config, folder, learner, state, nets, log, stop, .. } = self;
        let iteration = state.iteration;
        let context = LoopContext { config, folder, nets, log, iteration, stop };
        let trained = learner.train(&context, &task, &mut |step| {
            state.from = Some(step);
            state.save(folder)
        })?;
        let learnt = match trained {
            TrainOutcome::Stopped => return Ok(false),
            TrainOutcome::NotFinite(why) => {
                self.state.from = None;
                self.apply(GateDecision::Vetoed, &why, None)?;
                return Ok(true);
            }
            TrainOutcome::Learnt(learnt) => learnt,
        };
        let (summary, drift) = (&learnt.summary, learnt.drift);
        self.state.drift = drift;
        self.state.from = None;
        // A batch may lack targets of a kind.
        let known = |what: &str, value: Option<f64>, unit| value.map(|x| format!("{what} {x:.3}{unit}"));
        let measured = [
            known("policy loss", summary.policy_loss(), ""),
            known("WDL loss", summary.wdl_loss(), ""),
            known("first choice", summary.top1().map(|share| 100.0 * share), " %"),
            known("KL", drift.kl, " from the first network"),
        ];
        let measured: Vec<String> = measured.into_iter().flatten().collect();
        self.log_event(&format!("network {name}: {}", measured.join(", ")))?;
        let alarm = drift.reaches(self.config.kl.alarm);
        let diverges = known("KL", drift.kl, "").unwrap_or_else(|| "KL unknown".to_owned());
        if drift.reaches(self.config.kl.warn) && !alarm {
            self.log_event(&format!("warning: the policy diverges from the first network's, {diverges}"))?;
        }
        self.note("learn", learnt.metrics());
        self.note("lr", json!(learnt.lr));
        self.note("pretrain_mix", json!(mix));
        self.note("kl", json!(drift.kl));
        self.note("kl_weight", json!(drift.weight));
        self.note("kl_lost", json!(drift.lost));
        self.state.current = name;
        if alarm {
            let lost = match drift.lost {
                0 => String::new(),
                lost => format!(", not finite in {}", counted(lost, "batch")),
            };
            self.log_event(&format!("{diverges}{lost}: the network is tested at once"))?;
        }
        if alarm || self.state.iteration.is_multiple_of(self.config.arena.every) {
            self.state.stage = Stage::Arena;
        } else {
            self.conclude(None)?;
        }
        Ok(true)
    }
}
