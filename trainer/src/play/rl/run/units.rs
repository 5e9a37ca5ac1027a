use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use engine::base::words::counted;
use indicatif::{HumanCount, ProgressBar};
use serde_json::json;

use crate::base::network::Backend;
use crate::base::progress::games_per_hour;
use crate::config::{MatchRules, SelfPlayRules};
use crate::data::record::{RngStream, stream_rng};
use crate::play::rl::state::Lineup;
use crate::play::selfplay::SelfPlayNetworks;
use crate::play::units::{GatherReport, MatchUnitRules, OwnWork, Unit, UnitKind};

use super::RlLoop;

pub(super) type Players = BTreeMap<String, RunPlayer>;

/// A network and its file name among the units' inputs.
#[derive(Clone)]
pub(super) struct RunPlayer {
    pub network: Arc<dyn Backend>,
    pub input: String,
}

pub(super) struct IterationGames {
    pub units: Vec<Unit>,
    pub networks: SelfPlayNetworks,
}

impl RlLoop {
    pub(super) fn player(&self, name: &str) -> Result<RunPlayer> {
        let learnt = self.learner.player(&self.context(), name, &self.newest_games())?;
        learnt.news.map_or(Ok(()), |news| self.log_event(&news))?;
        Ok(RunPlayer { network: learnt.network, input: self.inbox.files().add(&learnt.file)? })
    }

    /// The networks that would play games started now.
    pub(super) fn lineup_now(&self) -> Lineup {
        let state = &self.state;
        let share = state.escalation.explore(self.config.current_share, &self.config.veto);
        Lineup { best: state.best.clone(), current: state.current.clone(), share }
    }

    /// Fixes the networks of this iteration's games and, with `lag`, of the next iteration's, so that a game has the
    /// same players whenever and wherever it is played.
    pub(super) fn fix_lineups(&mut self) -> Result<Lineup> {
        let now = self.lineup_now();
        let (iteration, lag) = (self.state.iteration, self.config.lag);
        let lineups = &mut self.state.lineups;
        lineups.retain(|at, _| (iteration..=iteration + lag).contains(at));
        for at in iteration..=iteration + lag {
            lineups.entry(at).or_insert_with(|| now.clone());
        }
        let own = lineups[&iteration].clone();
        self.save()?;
        Ok(own)
    }

    /// The first game is number `first`. Loads every network once.
    pub(super) fn iteration_games(
        &self,
        lineup: &Lineup,
        first: u64,
        players: &mut Players,
    ) -> Result<IterationGames> {
        let mut player = |name: &String| -> Result<RunPlayer> {
            if !players.contains_key(name) {
                players.insert(name.clone(), self.player(name)?);
            }
            Ok(players[name].clone())
        };
        let best = player(&lineup.best)?;
        let other = match lineup.share > 0.0 && lineup.current != lineup.best {
            true => Some(player(&lineup.current)?),
            false => None,
        };
        let files = self.inbox.files();
        let mut rules = SelfPlayRules { workers: 1, ..self.config.play.clone() };
        if !rules.book.is_empty() {
            rules.book = files.add(rules.book.as_ref())?;
        }
        let rules = files.add_json(&rules)?;
        let seed = self.games_seed();
        let inputs: Vec<String> =
            std::iter::once(&best).chain(&other).map(|player| player.input.clone()).collect();
        let share = if other.is_some() { lineup.share } else { 0.0 };
        let unit = |numbers| Unit {
            share,
            ..Unit::new(UnitKind::SelfPlay, inputs.clone(), rules.clone(), seed, numbers)
        };
        let numbers = first..first + self.config.games_per_iteration;
        let units = Unit::parts(numbers, self.config.games_per_unit).map(unit).collect();
        let other = other.map(|other| (other.network, share));
        Ok(IterationGames { units, networks: SelfPlayNetworks { network: best.network, other } })
    }

    pub(super) fn games_seed(&self) -> u64 {
        stream_rng(RngStream::Games, self.config.seed, 0, 0).u64(..)
    }

    pub(super) fn games_ahead(&self, first: u64, players: &mut Players) -> Result<Option<IterationGames>> {
        let next = self.state.iteration + 1;
        let next = self.state.lineups.get(&next).filter(|_| next <= self.last);
        next.map(|next| self.iteration_games(next, first, players)).transpose()
    }

    pub(super) fn units_ahead(&self, first: u64) -> Result<Vec<Unit>> {
        Ok(self.games_ahead(first, &mut Players::new())?.map_or_else(Vec::new, |next| next.units))
    }

    pub(super) fn match_rules(&self) -> MatchUnitRules {
        let arena = &self.config.arena;
        let rules = MatchRules { workers: 1, ..arena.rules.clone() };
        MatchUnitRules { rules, visits: arena.visits, options: Default::default() }
    }

    pub(super) fn match_rules_file(&self) -> Result<String> {
        let (files, mut rules) = (self.inbox.files(), self.match_rules());
        if !rules.rules.book.is_empty() {
            rules.rules.book = files.add(rules.rules.book.as_ref())?;
        }
        files.add_json(&rules)
    }

    pub(super) fn own_work(&self, workers: usize) -> OwnWork {
        let threads = self.learner.workers(&self.config, workers);
        OwnWork { threads, folder: self.folder.join("units"), patience: self.patience }
    }

    pub(super) fn publish_ahead(&mut self) -> Result<()> {
        let ahead = self.units_ahead(self.state.totals.games)?;
        let about = self.about();
        self.inbox.publish(ahead.iter(), &about)
    }

    /// Further fields of the list of wanted units.
    pub(super) fn about(&self) -> serde_json::Value {
        json!({
            "iteration": self.state.iteration, "stage": self.state.stage, "networks": self.state.lineups,
            "newest": self.state.current, "lag": self.config.lag,
        })
    }

    pub(super) fn note_work(&mut self, key: &str, report: &GatherReport) -> Result<()> {
        let GatherReport { own, others, refused, duplicates, .. } = report;
        if self.inbox.is_published() {
            let note = json!({ "own": own, "others": others, "refused": refused, "duplicates": duplicates });
            self.note(key, note);
            let folder = self.inbox.folder().join("refused");
            self.log_event(&format!(
                "{} by others, {own} own, {duplicates} twice, {refused} refused{}",
                counted(*others, "unit"),
                if *refused > 0 { format!(": see {}", folder.display()) } else { String::new() }
            ))?;
        }
        Ok(())
    }
}

pub(super) fn show_rate(
    bar: &ProgressBar,
    [games, positions]: [u64; 2],
    report: &GatherReport,
    seconds: f64,
) {
    let mut text = games_per_hour(games, Duration::from_secs_f64(seconds));
    if games > 0 {
        let rate = HumanCount((positions as f64 * 3600.0 / seconds.max(1e-3)) as u64);
        text += &format!(", {rate} positions/h");
    }
    if report.others > 0 {
        text += &format!(", {} of {} by others", report.others, counted(report.others + report.own, "unit"));
    }
    bar.set_message(text);
    bar.tick();
}
