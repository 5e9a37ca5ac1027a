use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::buffer::ReplayBuffer;
use super::escalation::Escalation;
use crate::base::files::write_file;
use crate::learn::run::metrics::PolicyDivergence;
use crate::play::arena::{HeadToHead, MatchResults, score_of_elo};
use crate::play::selfplay::is_others;

const FORMAT: &str = "philidor-learn/1";

/// Initial rating of the K = 32 update.
const FIRST_RATING: f64 = 1500.0;
const K: f64 = 32.0;

/// Name of a run's initial network.
pub const START: &str = "start";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    #[default]
    Play,
    Train,
    Arena,
}

/// Written after every stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    pub(super) format: String,
    /// The current iteration, from 1; earlier ones are complete.
    pub iteration: u64,
    pub stage: Stage,
    /// The best network so far, which plays the games.
    pub best: String,
    /// The network in training, as last exported.
    pub current: String,
    pub escalation: Escalation,
    pub buffer: ReplayBuffer,
    /// Number of the training run. Every veto starts a new one from the best weights.
    pub training: u64,
    /// This iteration's training ends once the run has learnt this many samples in total.
    pub target: u64,
    /// Step of the training run at which this iteration's training began.
    #[serde(default)]
    pub from: Option<u64>,
    /// Of the policy, from the first network.
    pub drift: PolicyDivergence,
    /// Finished matches of this iteration, by the opponent's role.
    pub matches: BTreeMap<String, MatchResults>,
    /// Unfinished matches of this iteration, by the opponent's role.
    #[serde(default, rename = "begun")]
    pub unfinished: BTreeMap<String, MatchResults>,
    pub meetings: Vec<HeadToHead>,
    /// Ratings by Elo's own update with K = 32, for comparison.
    pub k32: BTreeMap<String, f64>,
    /// The networks of an iteration's games, fixed before its first game.
    #[serde(default)]
    pub lineups: BTreeMap<u64, Lineup>,
    /// Fields of the current iteration's line of metrics.
    pub notes: serde_json::Map<String, serde_json::Value>,
    /// Vetoed networks, which are never opponents and are not kept.
    #[serde(default)]
    pub vetoed: BTreeSet<String>,
    pub totals: RunTotals,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lineup {
    pub best: String,
    pub current: String,
    /// Share of games that the network in training plays.
    pub share: f64,
}

impl Lineup {
    pub fn of(&self, seed: u64, number: u64) -> &str {
        if is_others(self.share, seed, number) { &self.current } else { &self.best }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunTotals {
    pub games: u64,
    /// Positions to learn from.
    pub positions: u64,
    pub promotions: u64,
    pub vetoes: u64,
    pub seconds: f64,
}

impl Default for RunState {
    fn default() -> RunState {
        RunState {
            format: FORMAT.to_owned(),
            iteration: 1,
            stage: Stage::Play,
            best: START.to_owned(),
            current: START.to_owned(),
            escalation: Escalation::default(),
            buffer: ReplayBuffer::default(),
            training: 0,
            target: 0,
            from: None,
            drift: PolicyDivergence::default(),
            matches: BTreeMap::new(),
            unfinished: BTreeMap::new(),
            meetings: Vec::new(),
            k32: BTreeMap::new(),
            lineups: BTreeMap::new(),
            notes: serde_json::Map::new(),
            vetoed: BTreeSet::new(),
            totals: RunTotals::default(),
        }
    }
}

impl RunState {
    fn path(folder: &Path) -> PathBuf {
        folder.join("state.json")
    }

    pub fn exists(folder: &Path) -> bool {
        RunState::path(folder).exists()
    }

    pub fn load(folder: &Path) -> Result<RunState> {
        let path = RunState::path(folder);
        let at = || path.display().to_string();
        let text = std::fs::read_to_string(&path).with_context(at)?;
        let state: RunState = serde_json::from_str(&text).with_context(at)?;
        let format = &state.format;
        ensure!(format == FORMAT, "{}: format is \"{format}\", expected \"{FORMAT}\"", path.display());
        Ok(state)
    }

    /// Atomic: a failure leaves the earlier file unchanged.
    pub fn save(&self, folder: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).expect("numbers and text make JSON");
        write_file(&RunState::path(folder), (text + "\n").as_bytes())
    }

    /// Updates the K = 32 ratings as if every game had the match's mean score. A new network starts at the rating of the
    /// best; the opponent keeps its rating.
    pub fn rate_by_k(&mut self, player: &str, opponent: &str, results: &MatchResults) {
        let predecessor = self.k32.get(&self.best).copied();
        let own = self.k32.get(player).copied().or(predecessor).unwrap_or(FIRST_RATING);
        let theirs = self.k32.get(opponent).copied().unwrap_or(FIRST_RATING);
        let (games, score) = (results.total(), results.score());
        let rating = (0..games).fold(own, |rating, _| rating + K * (score - score_of_elo(rating - theirs)));
        self.k32.insert(player.to_owned(), rating);
        self.k32.entry(opponent.to_owned()).or_insert(theirs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratings_by_elos_update_are_those_of_a_calculator() {
        let pair = |halves: usize| {
            let mut results = MatchResults::default();
            results.pairs[halves] = 1;
            results
        };
        let mut state = RunState::default();
        let rated = |state: &RunState, name: &str| state.k32[name];
        // Two games with a mean score of 3/4 from equal ratings. 32 · (0.75 − 0.5) = 8, then 32 · (0.75 − E(8)) with
        // E(8) = 1 / (1 + 10^(−8/400)) = 0.511511.
        state.rate_by_k("00001", START, &pair(3));
        assert!((rated(&state, "00001") - 1515.6317).abs() < 1e-4, "{:?}", state.k32);
        assert_eq!(rated(&state, START), 1500.0, "an opponent's rating stays");
        // Two draws cost the stronger: 32 · (0.5 − E(15.6317)) = −0.7195, then 32 · (0.5 − E(14.9122)) = −0.6864.
        state.rate_by_k("00001", START, &pair(2));
        assert!((rated(&state, "00001") - 1514.2260).abs() < 1e-4, "{:?}", state.k32);
        // The next network starts where the best is.
        state.best = "00001".into();
        state.rate_by_k("00002", "00001", &pair(2));
        assert_eq!(rated(&state, "00002"), rated(&state, "00001"));
    }

    #[test]
    fn a_state_comes_back_and_another_format_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut state = RunState { iteration: 7, stage: Stage::Arena, ..RunState::default() };
        state
            .unfinished
            .insert("best".into(), MatchResults { pairs: [1, 0, 2, 0, 0], games: [1, 3, 2], single: [0; 3] });
        state.vetoed.insert("00006".into());
        state.matches.insert(
            "random".into(),
            MatchResults { pairs: [0, 0, 1, 0, 9], games: [19, 0, 1], single: [0; 3] },
        );
        state.save(folder.path()).unwrap();
        assert_eq!(RunState::load(folder.path()).unwrap(), state);
        state.format = "philidor-learn/2".into();
        state.save(folder.path()).unwrap();
        let error = RunState::load(folder.path()).unwrap_err().to_string();
        assert!(error.contains("expected \"philidor-learn/1\""), "{error}");
    }
}
