//! Matches of the newest network against others.

use std::time::{Duration, Instant};

use crate::arena::{Contender, Contest, Meeting, Tally, contest, score_of_elo};
use crate::config::MatchRules;
use crate::progress::progress;
use crate::record::RngStream;
use crate::rl::gate;
use crate::rl::gate::Opponent;
use crate::rl::run::Cycle;

/// The rating that Elo's own method begins with.
const FIRST_RATING: f64 = 1500.0;
/// What a game is worth in it.
const K: f64 = 32.0;
/// Seconds after which the counted games of a match are written.
const SAVE_MATCH_EVERY: Duration = Duration::from_secs(2);

impl Cycle {
    /// Tests the network; no if it was stopped before the end.
    pub(super) fn arena(&mut self) -> Result<bool, String> {
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
        let (verdict, reasons) = gate::verdict(&self.state.matches, &rules);
        self.judged(verdict, &reasons.join(", "), Some(&name))?;
        Ok(true)
    }

    /// A match; no if it was stopped.
    fn meet(&mut self, player: &Contender, opponent: &Opponent) -> Result<bool, String> {
        let rules = &self.config.arena;
        let (games, sprt) = opponent.role.games(rules);
        let role = opponent.role.name();
        let begun = self.state.begun.get(role).copied().unwrap_or_default();
        let plan = Contest {
            pairs: games.div_ceil(2),
            sprt,
            rules: MatchRules { workers: self.workers(rules.rules.workers), ..rules.rules.clone() },
            seed: self.seed(RngStream::Matches),
            begun,
        };
        let bar = progress(2 * plan.pairs, 2 * begun.count(), &format!("games against {}", opponent.name));
        let other = opponent.contender(|name| self.player(name), rules.visits)?;
        let (state, folder) = (&mut self.state, &self.folder);
        let mut saved = Instant::now();
        let mut counted = |tally: &Tally| {
            state.begun.insert(role.to_owned(), *tally);
            if saved.elapsed() < SAVE_MATCH_EVERY {
                return Ok(());
            }
            saved = Instant::now();
            state.save(folder)
        };
        let report = contest([player, &other], &plan, &bar, &self.stop, &mut counted)?;
        bar.finish_and_clear();
        if report.stopped {
            return Ok(false);
        }
        self.state.begun.remove(role);
        let tally = report.tally;
        let below = if tally.score() < opponent.role.expected() { ", below" } else { ", above" };
        self.say(&format!(
            "{} against {} ({}): {tally}{below} {:.0} %",
            player.name(),
            opponent.name,
            role,
            100.0 * opponent.role.expected()
        ))?;
        self.rate_by_k(&player.name(), &opponent.name, &tally);
        self.state.meetings.push(Meeting {
            first: player.name(),
            second: opponent.name.clone(),
            games: 2.0 * tally.count() as f64,
            points: 2.0 * tally.count() as f64 * tally.score(),
        });
        self.state.matches.insert(role.to_owned(), tally);
        Ok(true)
    }

    /// Elo's own method, a match as one event of as many points as games.
    fn rate_by_k(&mut self, player: &str, opponent: &str, tally: &Tally) {
        let predecessor = self.state.k32.get(&self.state.best).copied();
        let own = self.state.k32.get(player).copied().or(predecessor).unwrap_or(FIRST_RATING);
        let theirs = self.state.k32.get(opponent).copied().unwrap_or(FIRST_RATING);
        let mut rating = own;
        let (games, score) = (2 * tally.count(), tally.score());
        (0..games).for_each(|_| rating += K * (score - score_of_elo(rating - theirs)));
        self.state.k32.insert(player.to_owned(), rating);
        self.state.k32.entry(opponent.to_owned()).or_insert(theirs);
    }
}
