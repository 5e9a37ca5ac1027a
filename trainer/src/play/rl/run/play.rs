use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::Result;
use engine::base::words::counted;
use serde_json::json;

use crate::base::progress::{Counted, progress};
use crate::config::SelfPlayRules;
use crate::data::dataset::{PendingGame, Store, StoreOptions};
use crate::play::rl::buffer::{self, BufferEntry};
use crate::play::rl::state::{Lineup, Stage};
use crate::play::selfplay;
use crate::play::units::{Admission, Gathering, ResultCheck, Unit, UnitTask, check_result};

use super::RlLoop;
use super::units::{IterationGames, Players, show_rate};

/// Seconds between writes of finished games.
const SAVE_EVERY: u64 = 5;
/// Approximate positions per file.
const CHUNK: usize = 1_000_000;

impl RlLoop {
    /// False if interrupted.
    pub(super) fn play(&mut self) -> Result<bool> {
        let name = self.games_name();
        let (now, lineup) = (self.lineup_now(), self.fix_lineups()?);
        let Lineup { best, current, share } = &lineup;
        let settings = json!({ "best": best, "current": current, "share": share, "seed": self.config.seed });
        let source = format!(
            "self-play: {best}, {} visits, iteration {}",
            self.config.play.visits, self.state.iteration
        );
        let (folder, save_every) = (self.games(), Duration::from_secs(SAVE_EVERY));
        // Game numbers continue over the whole run, so that a game does not depend on its iteration.
        let first = self.state.totals.games;
        let games = self.config.games_per_iteration;
        let numbers = first..first + games;
        let out = StoreOptions { folder, chunk_size: CHUNK, save_every, resume: true, numbers };
        let mut store = Store::open(&out, &name, &source, settings)?;
        let mut players = Players::new();
        let IterationGames { mut units, networks } = self.iteration_games(&lineup, first, &mut players)?;
        units.retain(|unit| !unit.numbers().all(|number| store.has(number)));
        let next = self.games_ahead(first + games, &mut players)?;
        let rules = SelfPlayRules { workers: 1, ..self.config.play.clone() };
        let task = UnitTask::SelfPlay(rules.clone(), networks);
        let (ahead, next) = match next {
            Some(IterationGames { units, networks }) => {
                (units, Some(UnitTask::SelfPlay(rules.clone(), networks)))
            }
            None => (Vec::new(), None),
        };
        let seed = self.games_seed();
        let check = ResultCheck::new(task.clone(), seed)?;
        // Results made ahead, during the previous iteration, do not count as this call's work.
        let early = if self.inbox.is_published() { BTreeSet::new() } else { self.inbox.results()? };
        let is_early = |unit: &Unit| early.contains(&unit.file());
        let before = games - units.iter().filter(|unit| !is_early(unit)).map(|unit| unit.count).sum::<u64>();
        let bar = progress(games, before, Counted::Games);
        let (begun, mut new) = (Instant::now(), [0; 2]);
        let (own, about, stop) = (self.own_work(self.config.play.workers), self.about(), self.stop.clone());
        let gathering = Gathering { inbox: &self.inbox, own, ahead: &ahead, about, stop: &stop };
        let progressed = std::cell::Cell::new(new);
        let report = gathering.run(
            &units,
            &|unit| Ok(next.as_ref().filter(|_| unit.number >= first + games).unwrap_or(&task).clone()),
            &mut |unit, path| {
                let records = match check_result(unit, path, &check) {
                    Ok(records) => records,
                    Err(why) => return Ok(Admission::Refused(format!("{why:#}"))),
                };
                for (number, game) in unit.numbers().zip(records) {
                    if !store.has(number) {
                        if !is_early(unit) {
                            new = [new[0] + 1, new[1] + game.moves.len() as u64];
                        }
                        store.push(PendingGame { number, done: game.moves.len(), game, finished: true })?;
                    }
                }
                // The state is saved before the result's file is removed.
                store.save()?;
                progressed.set(new);
                Ok(Admission::Taken(Vec::new()))
            },
            &mut |report| {
                bar.set_position(before + progressed.get()[0]);
                show_rate(&bar, progressed.get(), report, begun.elapsed().as_secs_f64());
            },
        )?;
        bar.finish_and_clear();
        store.close()?;
        if report.stopped {
            return Ok(false);
        }
        // Includes games from before an interruption.
        let chunks = buffer::read_all(&self.games(), &name)?;
        let all = chunks.iter().flat_map(|chunk| (0..chunk.games()).map(move |game| chunk.game(game)));
        let stats = selfplay::SelfPlayStats::of(all, &rules);
        let entry = BufferEntry::new(&name, &chunks);
        let games = entry.positions.len() as u64;
        let positions = entry.total();
        // Games by networks other than those that would play without a lag.
        let older = (first..)
            .zip(&entry.positions)
            .filter(|(number, _)| lineup.of(seed, *number) != now.of(seed, *number));
        let older: u64 = older.map(|(_, positions)| u64::from(*positions)).sum();
        self.state.buffer.add(entry, self.config.buffer_size);
        self.state.totals.games += games;
        self.state.totals.positions += positions;
        self.state.target += self.samples_for(positions);
        // Rates are those of this call; without new games there are none.
        let rate = |count: u64, time: f64| (count > 0).then(|| (count as f64 / time).round());
        let seconds = report.seconds.max(1e-3);
        let hours = seconds / 3600.0;
        self.note(
            "play",
            json!({
                "games": stats, "new_positions": positions, "seconds": report.seconds,
                "boards": (report.boards > 0).then_some(report.boards),
                "games_per_h": rate(progressed.get()[0], hours), "positions_per_h": rate(progressed.get()[1], hours),
                "evaluations_per_s": rate(report.evaluated, seconds),
                "batch": (report.batch > 0.0).then_some(report.batch),
            }),
        );
        self.note("lag", json!({ "networks": u64::from(older > 0), "positions": older }));
        if older > 0 {
            self.log_event(&format!("positions played by earlier networks than these: {older}"))?;
        }
        self.note_work("units", &report)?;
        self.log_event(&format!(
            "{stats}; buffer {} of {}",
            counted(self.state.buffer.positions(), "position"),
            counted(self.state.buffer.games(), "game")
        ))?;
        self.state.stage = Stage::Train;
        Ok(true)
    }
}
