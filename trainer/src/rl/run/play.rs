//! Games of the best network against itself.

use std::time::Duration;

use serde_json::json;

use crate::config::Rules;
use crate::dataset::{Store, StoreOptions};
use crate::progress::progress;
use crate::record::RngStream;
use crate::rl::buffer;
use crate::rl::buffer::Entry;
use crate::rl::run::Cycle;
use crate::rl::state::{Stage, State};
use crate::selfplay;
use crate::selfplay::{Plan, Seats, play};

/// Seconds after which finished games are written.
const SAVE_EVERY: u64 = 5;
/// Positions a file of games, about.
const CHUNK: usize = 1_000_000;

impl Cycle {
    /// Plays this iteration's games; no if it was stopped before their end.
    pub(super) fn play(&mut self) -> Result<bool, String> {
        let name = self.games_name();
        let State { best, current, escalation, .. } = &self.state;
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
        let store = Store::open(&out, &name, &source, settings).map_err(|error| format!("{error:#}"))?;
        let plan = Plan {
            rules: Rules { workers: self.workers(self.config.play.workers), ..self.config.play.clone() },
            seed: self.seed(RngStream::Games),
            games: self.config.games_per_iteration,
        };
        let bar = progress(plan.games, store.games(), "games");
        let session = play(&plan, &Seats { network, other }, store, &bar, &self.stop)?;
        if session.stopped {
            return Ok(false);
        }
        // Of all games, also of those that were played before the iteration was interrupted.
        let chunks = buffer::read_all(&self.games(), &name)?;
        let all = chunks.iter().flat_map(|chunk| (0..chunk.games()).map(move |game| chunk.game(game)));
        let tally = selfplay::Tally::of(all, &plan.rules);
        let entry = Entry::new(&name, &chunks);
        let games = entry.positions.len() as u64;
        let positions = entry.total();
        self.state.buffer.add(entry, self.config.buffer_size);
        self.state.totals.games += games;
        self.state.totals.positions += positions;
        self.state.target += self.samples_for(positions);
        let hours = session.seconds.max(1e-3) / 3600.0;
        // Rates are those of this session; a session that only found games which were there has none.
        let rate = |count: u64| (session.tally.games > 0).then(|| (count as f64 / hours).round());
        self.note(
            "play",
            json!({
                "games": tally, "new_positions": positions, "seconds": session.seconds,
                "boards": plan.rules.games * plan.rules.workers,
                "games_per_h": rate(session.tally.games), "positions_per_h": rate(session.tally.plies),
                "evaluations_per_s": (session.evaluated as f64 / session.seconds.max(1e-3)).round(),
                "batch": (session.batch > 0.0).then_some(session.batch),
            }),
        );
        self.say(&format!(
            "{tally}; buffer {} positions of {} games",
            self.state.buffer.positions(),
            self.state.buffer.games()
        ))?;
        self.state.stage = Stage::Train;
        Ok(true)
    }
}
