//! Matches of the network in training against others.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::arena::{Contender, HeadToHead, MatchPlan, MatchResults, play_match, score_of_elo};
use crate::config::MatchRules;
use crate::progress::progress;
use crate::record::RngStream;
use crate::rl::gate::{self, Opponent};

use super::RlLoop;

/// Initial rating of Elo's own update.
const FIRST_RATING: f64 = 1500.0;
/// Its step size.
const K: f64 = 32.0;
/// Time between writes of the results of an unfinished match.
const SAVE_MATCH_EVERY: Duration = Duration::from_secs(2);

impl RlLoop {
    /// Tests the network; false if it was stopped before the end.
    pub(super) fn arena(&mut self) -> Result<bool> {
        let rules = self.config.arena.clone();
        let (name, network) = (self.state.current.clone(), self.player(&self.state.current)?);
        let player = Contender::Network { name: name.clone(), network, visits: rules.visits };
        for opponent in gate::opponents(&self.state, &rules, self.config.seed, &self.nets.iterations()) {
            if self.state.matches.contains_key(opponent.role.name()) {
                continue;
            }
            if !self.meet(&player, &opponent)? {
                return Ok(false);
            }
            self.save()?;
        }
        let (decision, reasons) = gate::decide(&self.state.matches, &rules);
        self.apply(decision, &reasons.join(", "), Some(&name))?;
        Ok(true)
    }

    /// Plays a match; false if it was stopped before the end.
    fn meet(&mut self, player: &Contender, opponent: &Opponent) -> Result<bool> {
        let rules = &self.config.arena;
        let (games, sprt) = opponent.role.games(rules);
        let role = opponent.role.name();
        let earlier = self.state.unfinished.get(role).copied().unwrap_or_default();
        let plan = MatchPlan {
            pairs: games.div_ceil(2),
            sprt,
            rules: MatchRules { workers: self.workers(rules.rules.workers), ..rules.rules.clone() },
            seed: self.seed(RngStream::Matches),
            earlier,
        };
        let bar = progress(2 * plan.pairs, 2 * earlier.count(), &format!("games against {}", opponent.name));
        let other = opponent.contender(|name| self.player(name), rules.visits)?;
        let (state, folder) = (&mut self.state, &self.folder);
        let mut saved = Instant::now();
        let mut counted = |results: &MatchResults| {
            state.unfinished.insert(role.to_owned(), *results);
            if saved.elapsed() < SAVE_MATCH_EVERY {
                return Ok(());
            }
            saved = Instant::now();
            state.save(folder)
        };
        let report = play_match([player, &other], &plan, &bar, &self.stop, &mut counted)?;
        bar.finish_and_clear();
        if report.stopped {
            return Ok(false);
        }
        self.state.unfinished.remove(role);
        let results = report.results;
        let below = if results.score() < opponent.role.expected() { ", below" } else { ", above" };
        self.log_event(&format!(
            "{} against {} ({}): {results}{below} {:.0} %",
            player.name(),
            opponent.name,
            role,
            100.0 * opponent.role.expected()
        ))?;
        self.rate_by_k(&player.name(), &opponent.name, &results);
        self.state.meetings.push(HeadToHead::new(&player.name(), &opponent.name, results));
        self.state.matches.insert(role.to_owned(), results);
        Ok(true)
    }

    /// Updates the ratings of Elo's own method, as if every game had the match's score.
    fn rate_by_k(&mut self, player: &str, opponent: &str, results: &MatchResults) {
        let predecessor = self.state.k32.get(&self.state.best).copied();
        let own = self.state.k32.get(player).copied().or(predecessor).unwrap_or(FIRST_RATING);
        let theirs = self.state.k32.get(opponent).copied().unwrap_or(FIRST_RATING);
        let mut rating = own;
        let (games, score) = (2 * results.count(), results.score());
        (0..games).for_each(|_| rating += K * (score - score_of_elo(rating - theirs)));
        self.state.k32.insert(player.to_owned(), rating);
        self.state.k32.entry(opponent.to_owned()).or_insert(theirs);
    }
}
