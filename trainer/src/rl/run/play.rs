//! Self-play of an iteration.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use crate::config::SelfPlayRules;
use crate::dataset::{Store, StoreOptions};
use crate::progress::progress;
use crate::record::RngStream;
use crate::rl::buffer::{self, BufferEntry};
use crate::rl::state::{RunState, Stage};
use crate::selfplay::{self, SelfPlayNetworks, SelfPlayPlan, play};

use super::RlLoop;

/// Seconds between writes of finished games.
const SAVE_EVERY: u64 = 5;
/// Approximate number of positions per file of games.
const CHUNK: usize = 1_000_000;

impl RlLoop {
    /// Plays this iteration's games; false if it was stopped before their end.
    pub(super) fn play(&mut self) -> Result<bool> {
        let name = self.games_name();
        let RunState { best, current, escalation, .. } = &self.state;
        let network = self.player(best)?;
        let share = escalation.explore(self.config.current_share, &self.config.veto);
        let other = if share > 0.0 && current != best { Some((self.player(current)?, share)) } else { None };
        let settings = json!({ "best": best, "current": current, "share": share, "seed": self.config.seed });
        let source = format!(
            "self-play: {best}, {} visits, iteration {}",
            self.config.play.visits, self.state.iteration
        );
        let (folder, save_every) = (self.games(), Duration::from_secs(SAVE_EVERY));
        let out = StoreOptions { folder, chunk_size: CHUNK, save_every, resume: true };
        let store = Store::open(&out, &name, &source, settings)?;
        let plan = SelfPlayPlan {
            rules: SelfPlayRules {
                workers: self.workers(self.config.play.workers),
                ..self.config.play.clone()
            },
            seed: self.seed(RngStream::Games),
            games: self.config.games_per_iteration,
        };
        let bar = progress(plan.games, store.games(), "games");
        let session = play(&plan, &SelfPlayNetworks { network, other }, store, &bar, &self.stop)?;
        if session.stopped {
            return Ok(false);
        }
        // Including games that were played before the iteration was interrupted.
        let chunks = buffer::read_all(&self.games(), &name)?;
        let all = chunks.iter().flat_map(|chunk| (0..chunk.games()).map(move |game| chunk.game(game)));
        let stats = selfplay::SelfPlayStats::of(all, &plan.rules);
        let entry = BufferEntry::new(&name, &chunks);
        let games = entry.positions.len() as u64;
        let positions = entry.total();
        self.state.buffer.add(entry, self.config.buffer_size);
        self.state.totals.games += games;
        self.state.totals.positions += positions;
        self.state.target += self.samples_for(positions);
        let hours = session.seconds.max(1e-3) / 3600.0;
        // Rates are those of this call; a call that found all games done has none.
        let rate = |count: u64| (session.stats.games > 0).then(|| (count as f64 / hours).round());
        self.note(
            "play",
            json!({
                "games": stats, "new_positions": positions, "seconds": session.seconds,
                "boards": plan.rules.games * plan.rules.workers,
                "games_per_h": rate(session.stats.games), "positions_per_h": rate(session.stats.plies),
                "evaluations_per_s": (session.evaluated as f64 / session.seconds.max(1e-3)).round(),
                "batch": (session.batch > 0.0).then_some(session.batch),
            }),
        );
        self.log_event(&format!(
            "{stats}; buffer {} positions of {} games",
            self.state.buffer.positions(),
            self.state.buffer.games()
        ))?;
        self.state.stage = Stage::Train;
        Ok(true)
    }
}
