//! Resumes a run of reinforcement learning. Missing games are dropped or played again, and a missing training run begins
//! with a fresh optimiser.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Others, RlLoop};
use crate::config::RlConfig;
use crate::learn::run::same_split;
use crate::play::rl::buffer;
use crate::play::rl::learner::LoopLearner;
use crate::play::rl::state::{RunState, Stage};

impl RlLoop {
    pub fn resume(
        folder: &Path,
        config: RlConfig,
        learner: Box<dyn LoopLearner>,
        others: &Others,
        stop: Arc<AtomicBool>,
    ) -> Result<RlLoop> {
        ensure_same_start(folder, &config)?;
        let mut resumed = RlLoop::open(folder, RunState::load(folder)?, config, learner, others, stop)?;
        resumed.recover()?;
        Ok(resumed)
    }

    /// Continues without missing files: drops unreadable games and replaces a missing training run with a new one from
    /// the last network's weights.
    fn recover(&mut self) -> Result<()> {
        let [games, positions] = self.new_games();
        for lost in self.state.buffer.drop_lost(&self.games())? {
            self.log_event(&lost)?;
        }
        if self.state.stage == Stage::Train && self.new_games() == [0, 0] {
            // The games are played again, from the first if none of their files is left.
            self.state.stage = Stage::Play;
            if buffer::files(&self.games(), &self.games_name()).is_empty() {
                _ = std::fs::remove_file(self.games().join(format!("{}.json", self.games_name())));
            }
            self.state.totals.games -= games;
            self.state.totals.positions -= positions;
            self.state.target = self.state.target.saturating_sub(self.samples_for(positions));
            self.state.from = None;
        }
        // Samples that this iteration still has to learn.
        let left = if self.state.stage == Stage::Train { self.samples_for(self.new_games()[1]) } else { 0 };
        let has_checkpoint = self.learner.has_checkpoint(&self.training(self.state.training));
        if self.state.target > left && !has_checkpoint {
            self.log_event(&format!(
                "the training run is missing: {} is trained on with a fresh optimiser",
                self.state.current
            ))?;
            self.state.target = left;
            self.state.from = None;
        }
        self.save()
    }
}

/// Refuses two changes. `validation_percent` decides which games are held out: with another value, a resumed run would
/// train on games that it validates with. Every game is drawn from `seed` and its number: with another one, an iteration
/// would mix two series of games.
fn ensure_same_start(folder: &Path, config: &RlConfig) -> Result<()> {
    let path = folder.join("config.json");
    let read = || anyhow::Ok(serde_json::from_slice::<Value>(&std::fs::read(&path)?)?);
    let before = read().with_context(|| path.display().to_string())?;
    let now = config.to_json();
    let percent = |config: &Value| config["train"]["validation_percent"].as_u64();
    if let (Some(before), Some(now)) = (percent(&before), percent(&now)) {
        same_split(before, now)?;
    }
    let [before, now] = [&before["seed"], &now["seed"]];
    ensure!(
        before.is_null() || before == now,
        "seed was {before} and cannot become {now} in a run that is resumed: keep it, or begin another run with --run"
    );
    Ok(())
}
