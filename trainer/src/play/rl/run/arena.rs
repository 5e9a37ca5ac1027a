use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use anyhow::Result;
use indicatif::ProgressBar;

use crate::base::progress::{Counted, progress};
use crate::config::Sprt;
use crate::data::record::{GameRecord, RngStream};
use crate::play::arena::{Contender, HeadToHead, MatchResults, SprtDecision, halves_of};
use crate::play::rl::gate::{self, Opponent};
use crate::play::units::{Admission, Gathering, ResultCheck, Unit, UnitKind, UnitTask, check_result};

use super::RlLoop;

/// A match and its remaining units.
struct OpenMatch {
    opponent: Opponent,
    sprt: Option<Sprt>,
    pairs: u64,
    players: [Contender; 2],
    units: Vec<Unit>,
}

impl OpenMatch {
    fn is_decided(&self, results: &MatchResults) -> bool {
        let decided = |sprt: &Sprt| sprt.decision(results) != SprtDecision::Open;
        results.count() >= self.pairs || self.sprt.as_ref().is_some_and(decided)
    }

    /// Counts the next unit's games pair by pair, up to the deciding pair.
    fn count(&self, results: &mut MatchResults, games: &[GameRecord]) {
        for pair in games.chunks(2) {
            if self.is_decided(results) {
                return;
            }
            results.add_pair([halves_of(0, &pair[0]), halves_of(1, &pair[1])]);
        }
    }
}

impl RlLoop {
    /// False if interrupted.
    pub(super) fn arena(&mut self) -> Result<bool> {
        let rules = self.config.arena.clone();
        let name = self.state.current.clone();
        let mut opponents = gate::opponents(&self.state, &rules, self.config.seed, &self.nets.iterations());
        opponents.retain(|opponent| !self.state.matches.contains_key(opponent.role.name()));
        let matches = self.open_matches(&name, opponents)?;
        if !self.meet(&name, &matches)? {
            return Ok(false);
        }
        let (decision, reasons) = gate::decide(&self.state.matches, &rules);
        self.apply(decision, &reasons.join(", "), Some(&name))?;
        Ok(true)
    }

    /// Opens matches, or resumes interrupted ones.
    fn open_matches(&self, name: &str, opponents: Vec<Opponent>) -> Result<Vec<OpenMatch>> {
        let rules = &self.config.arena;
        let own = self.player(name)?;
        let contender = |name: &str, network| Contender::Network {
            name: name.to_owned(),
            network,
            visits: rules.visits,
            params: None,
        };
        let (seed, file) = (self.seed(RngStream::Matches), self.match_rules_file()?);
        // A unit has as many games as are played at once.
        let each = (rules.rules.games as u64 / 2).max(1);
        let open = |opponent: Opponent| {
            let (games, sprt) = opponent.role.games(rules);
            let (input, other) = if opponent.role.is_network() {
                let other = self.player(&opponent.name)?;
                (other.input, contender(&opponent.name, other.network))
            } else {
                (opponent.name.clone(), Contender::named(&opponent.name, rules.visits)?)
            };
            let earlier = self.state.unfinished.get(opponent.role.name()).copied().unwrap_or_default();
            let (pairs, inputs) = (games.div_ceil(2), vec![own.input.clone(), input]);
            let unit = |numbers| Unit::new(UnitKind::Arena, inputs.clone(), file.clone(), seed, numbers);
            let players = [contender(name, own.network.clone()), other];
            let mut open = OpenMatch { opponent, sprt, pairs, players, units: Vec::new() };
            if !open.is_decided(&earlier) {
                open.units = Unit::parts(earlier.count()..pairs, each).map(unit).collect();
            }
            Ok(open)
        };
        opponents.into_iter().map(open).collect()
    }

    /// False if interrupted.
    fn meet(&mut self, name: &str, matches: &[OpenMatch]) -> Result<bool> {
        let units: Vec<Unit> = matches.iter().flat_map(|open| open.units.iter().cloned()).collect();
        let of: BTreeMap<String, usize> = (0..)
            .zip(matches)
            .flat_map(|(index, open)| open.units.iter().map(move |unit| (unit.name(), index)))
            .collect();
        let rules = self.match_rules();
        let task =
            |unit: &Unit| Ok(UnitTask::Match(rules.clone(), matches[of[&unit.name()]].players.clone()));
        let mut check = match matches.first() {
            Some(open) => {
                let task = UnitTask::Match(rules.clone(), open.players.clone());
                Some(ResultCheck::new(task, self.seed(RngStream::Matches))?)
            }
            None => None,
        };
        let ahead = self.units_ahead(self.state.totals.games)?;
        let (own, about, stop) =
            (self.own_work(self.config.arena.rules.workers), self.about(), self.stop.clone());
        let mut results: Vec<MatchResults> = matches
            .iter()
            .map(|open| self.state.unfinished.get(open.opponent.role.name()).copied().unwrap_or_default())
            .collect();
        let bar = progress(matches.iter().map(|open| 2 * open.pairs).sum(), 0, Counted::Games);
        let counted = |results: &[MatchResults]| results.iter().map(|results| 2 * results.count()).sum();
        bar.set_position(counted(&results));
        // Games of units that arrived before their predecessors.
        let mut early: BTreeMap<(usize, u64), Vec<GameRecord>> = BTreeMap::new();
        let inbox = Arc::clone(&self.inbox);
        let gathering = Gathering { inbox: &inbox, own, ahead: &ahead, about, stop: &stop };
        let gathered = gathering.run(
            &units,
            &task,
            &mut |unit, path| {
                let index = of[&unit.name()];
                let (open, own) = (&matches[index], &mut results[index]);
                let at = (index, unit.number);
                if let Entry::Vacant(place) = early.entry(at) {
                    let with = check.take().expect("there is a match").for_task(task(unit)?);
                    let checked = check_result(unit, path, &with);
                    check = Some(with);
                    match checked {
                        Ok(games) => _ = place.insert(games),
                        Err(why) => return Ok(Admission::Refused(format!("{why:#}"))),
                    }
                }
                // Pairs count in order, so that the order of arrival does not matter.
                if unit.number != own.count() {
                    return Ok(Admission::Later);
                }
                open.count(own, &early.remove(&at).expect("checked"));
                let decided = open.is_decided(own);
                self.counted(name, open, *own, decided)?;
                show(&bar, open, own);
                bar.set_position(counted(&results));
                Ok(Admission::Taken(match decided {
                    true => open.units.iter().map(Unit::file).collect(),
                    false => Vec::new(),
                }))
            },
            &mut |_| bar.tick(),
        );
        self.inbox = inbox;
        bar.finish_and_clear();
        let report = gathered?;
        if report.stopped {
            return Ok(false);
        }
        // Matches without pairs, or decided earlier.
        for (open, results) in matches.iter().zip(&results) {
            if !self.state.matches.contains_key(open.opponent.role.name()) {
                self.counted(name, open, *results, true)?;
            }
        }
        self.note_work("arena_units", &report)?;
        Ok(true)
    }

    fn counted(&mut self, name: &str, open: &OpenMatch, results: MatchResults, decided: bool) -> Result<()> {
        let (opponent, role) = (&open.opponent.name, open.opponent.role);
        if !decided {
            self.state.unfinished.insert(role.name().to_owned(), results);
            return self.save();
        }
        self.state.unfinished.remove(role.name());
        let below = if results.score() < role.expected() { ", below" } else { ", above" };
        self.log_event(&format!(
            "{name} against {opponent} ({}): {results}{below} {:.0} %",
            role.name(),
            100.0 * role.expected()
        ))?;
        self.state.rate_by_k(name, opponent, &results);
        self.state.meetings.push(HeadToHead::new(name, opponent, results));
        self.state.matches.insert(role.name().to_owned(), results);
        self.save()
    }
}

fn show(bar: &ProgressBar, open: &OpenMatch, results: &MatchResults) {
    let llr = open.sprt.as_ref().map_or(String::new(), |sprt| {
        format!(", LLR {:.2} of {:.2}", sprt.llr(results), sprt.bounds().upper)
    });
    bar.set_message(format!("{:.1} % against {}{llr}", 100.0 * results.score(), open.opponent.name));
}
