//! Self-play of an iteration.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use crate::config::SelfPlayRules;
use crate::dataset::{KeptGames, Store, StoreOptions};
use crate::progress::progress;
use crate::record::{RngStream, stream_rng};
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
        // Games are numbered over the whole run, so that a game is the same whichever iteration plays it.
        let first = self.state.totals.games;
        let games = self.config.games_per_iteration;
        let numbers = first..first + games;
        let out = StoreOptions { folder, chunk_size: CHUNK, save_every, resume: true, numbers };
        let mut store = Store::open(&out, &name, &source, settings.clone())?;
        if store.is_new() {
            self.carry_over(&mut store, &settings)?;
        }
        let plan = SelfPlayPlan {
            rules: SelfPlayRules {
                workers: self.workers(self.config.play.workers),
                ..self.config.play.clone()
            },
            seed: stream_rng(RngStream::Games, self.config.seed, 0, 0).u64(..),
            games,
            // Of the next iteration only, so that no game is begun by a network before the last one.
            ahead: games,
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

    /// Takes over the games that were begun while the last iteration's last games were played, and notes how much of
    /// them other networks have played than those that play now.
    fn carry_over(&mut self, store: &mut Store, settings: &Value) -> Result<()> {
        let KeptGames { settings: before, mut games } =
            KeptGames::read(&self.games(), &self.games_name_of(self.state.iteration - 1))?;
        games.retain(|pending| pending.number >= store.numbers().start);
        let positions: usize = games.iter().map(|pending| pending.game.moves.len()).sum();
        let finished = games.iter().filter(|pending| pending.finished).count();
        let count = games.len();
        games.into_iter().try_for_each(|pending| store.push(pending))?;
        store.save()?;
        let share = |settings: &Value| settings["share"].as_f64().unwrap_or(0.0);
        let is_older = before["best"] != settings["best"]
            || (share(&before) > 0.0 && before["current"] != settings["current"]);
        let older = if is_older { positions } else { 0 };
        self.note(
            "carried",
            json!({ "games": count, "finished": finished, "positions": positions, "older_network": older }),
        );
        if older > 0 {
            self.log_event(&format!(
                "{count} games were begun by the last iteration's network, which played {older} of their positions"
            ))?;
        }
        self.save()
    }
}
