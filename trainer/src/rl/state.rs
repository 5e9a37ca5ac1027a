//! Where a run stands.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::buffer::Buffer;
use super::escalation::Escalation;
use crate::arena::{Meeting, Tally};
use crate::files::write_file;
use crate::train::regularise::PolicyDivergence;

/// Of a state's file.
const FORMAT: &str = "philidor-learn/1";

/// The network that a run begins with.
pub const START: &str = "start";

/// What is done next in an iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Games are played.
    #[default]
    Play,
    /// The network learns.
    Train,
    /// It is tested.
    Arena,
}

/// Where a run stands; written aside and renamed after every step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub(super) format: String,
    /// The iteration that is under way, from 1; those before it are complete.
    pub iteration: u64,
    /// What is next in it.
    pub stage: Stage,
    /// The best network so far: games are played by it.
    pub best: String,
    /// The network in training, as it was last exported.
    pub current: String,
    /// Where forgetting is.
    pub escalation: Escalation,
    /// What is learnt from.
    pub buffer: Buffer,
    /// The number of the training run: another after every return to the best weights.
    pub training: u64,
    /// The samples that it has learnt from when the iteration's training is done.
    pub target: u64,
    /// The step of the training run at which the iteration's training began; none while there is none.
    #[serde(default)]
    pub from: Option<u64>,
    /// How far the network has gone from the pretrained one.
    pub drift: PolicyDivergence,
    /// The matches of this iteration's arena that are finished, by opponent.
    pub matches: BTreeMap<String, Tally>,
    /// What is counted so far of the match that is under way, by opponent.
    #[serde(default)]
    pub begun: BTreeMap<String, Tally>,
    /// All matches' results.
    pub meetings: Vec<Meeting>,
    /// Ratings by Elo's own method with K = 32, for comparison.
    pub k32: BTreeMap<String, f64>,
    /// What the present iteration's metrics will say.
    pub notes: serde_json::Map<String, serde_json::Value>,
    /// Networks that were vetoed: they are no opponents, and aren't kept.
    #[serde(default)]
    pub vetoed: BTreeSet<String>,
    /// Sums over the run.
    pub totals: Totals,
}

/// Sums over a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// Games of self-play.
    pub games: u64,
    /// Positions learnt from for the first time.
    pub positions: u64,
    /// Promotions.
    pub promotions: u64,
    /// Vetoes.
    pub vetoes: u64,
    /// Seconds of work.
    pub seconds: f64,
}

impl Default for State {
    fn default() -> State {
        State {
            format: FORMAT.to_owned(),
            iteration: 1,
            stage: Stage::Play,
            best: START.to_owned(),
            current: START.to_owned(),
            escalation: Escalation::default(),
            buffer: Buffer::default(),
            training: 0,
            target: 0,
            from: None,
            drift: PolicyDivergence::default(),
            matches: BTreeMap::new(),
            begun: BTreeMap::new(),
            meetings: Vec::new(),
            k32: BTreeMap::new(),
            notes: serde_json::Map::new(),
            vetoed: BTreeSet::new(),
            totals: Totals::default(),
        }
    }
}

impl State {
    fn path(folder: &Path) -> PathBuf {
        folder.join("state.json")
    }

    /// Whether there is a run in the folder.
    pub fn exists(folder: &Path) -> bool {
        State::path(folder).exists()
    }

    /// Reads a run's state.
    ///
    /// # Errors
    ///
    /// One line: there is none, or it isn't one that this program knows.
    pub fn load(folder: &Path) -> Result<State, String> {
        let path = State::path(folder);
        let at = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(&path).map_err(|error| at(&error))?;
        let state: State = serde_json::from_str(&text).map_err(|error| at(&error))?;
        if state.format == FORMAT {
            Ok(state)
        } else {
            Err(at(&format!("format is \"{}\", expected \"{FORMAT}\"", state.format)))
        }
    }

    /// Writes it.
    ///
    /// # Errors
    ///
    /// One line: it can't be written; what was there before is unharmed.
    pub fn save(&self, folder: &Path) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).expect("numbers and text make JSON");
        write_file(&State::path(folder), (text + "\n").as_bytes()).map_err(|error| format!("{error:#}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_comes_back_and_another_format_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut state = State { iteration: 7, stage: Stage::Arena, ..State::default() };
        state.begun.insert("best".into(), Tally { pairs: [1, 0, 2, 0, 0], games: [1, 3, 2] });
        state.vetoed.insert("00006".into());
        state.matches.insert("random".into(), Tally { pairs: [0, 0, 1, 0, 9], games: [19, 0, 1] });
        state.save(folder.path()).unwrap();
        assert_eq!(State::load(folder.path()).unwrap(), state);
        state.format = "philidor-learn/2".into();
        state.save(folder.path()).unwrap();
        let error = State::load(folder.path()).unwrap_err();
        assert!(error.contains("expected \"philidor-learn/1\""), "{error}");
    }
}
