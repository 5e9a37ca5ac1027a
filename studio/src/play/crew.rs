//! The engines at the table: one for each engine's side, and the analysts.

use std::collections::HashMap;
use std::time::Duration;

use shakmaty::Color;
use tokio::sync::mpsc;

use super::played::PlayedGame;
use super::seats::Seat;
use crate::engines::{EngineEvent, EngineHandle, EngineSpec, OptionSpec, SearchOrder, start};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    Player(Color),
    /// Index in [`Analyst::all`](super::analysts::Analyst::all).
    Analyst(usize),
    Hint,
}

pub struct Task {
    pub options: Vec<(String, String)>,
    pub go: String,
    pub longest: Duration,
}

struct Running {
    /// Distinguishes this process from earlier ones in the same role.
    number: u64,
    name: String,
    handle: EngineHandle,
    asked: Option<u64>,
    /// The next search begins another game for this engine.
    fresh: bool,
}

/// Role, number, event.
pub type CrewEvent = (Role, u64, EngineEvent);

pub struct Crew {
    engines: HashMap<Role, Running>,
    next_number: u64,
    events: mpsc::UnboundedSender<CrewEvent>,
}

impl Crew {
    pub fn new(events: mpsc::UnboundedSender<CrewEvent>) -> Crew {
        Crew { engines: HashMap::new(), next_number: 0, events }
    }

    pub fn is_current(&self, role: Role, number: u64) -> bool {
        self.engines.get(&role).is_some_and(|running| running.number == number)
    }

    pub fn was_asked(&self, role: Role, revision: u64) -> bool {
        self.engines.get(&role).is_some_and(|running| running.asked == Some(revision))
    }

    /// Does nothing if this engine has the role. Another engine in the role ends.
    pub fn seat(&mut self, role: Role, spec: &EngineSpec) {
        if self.engines.get(&role).is_some_and(|running| running.name == spec.name) {
            return;
        }
        self.next_number += 1;
        let (number, events) = (self.next_number, self.events.clone());
        let handle = start(spec, move |event| {
            let _ = events.send((role, number, event));
        });
        let running = Running { number, name: spec.name.clone(), handle, asked: None, fresh: true };
        self.engines.insert(role, running);
    }

    /// Does nothing if the engine was asked about this revision before.
    pub fn ask(&mut self, role: Role, game: &PlayedGame, revision: u64, task: Task) {
        let Some(running) = self.engines.get_mut(&role).filter(|running| running.asked != Some(revision))
        else {
            return;
        };
        let mut options = task.options;
        options.push(("UCI_Chess960".to_owned(), game.is_chess960().to_string()));
        running.asked = Some(revision);
        running.handle.search(SearchOrder {
            id: revision,
            options,
            new_game: std::mem::take(&mut running.fresh),
            position: game.position_command(),
            go: task.go,
            longest: task.longest,
        });
    }

    pub fn ask_tree(&self, role: Role, moves: Vec<String>) {
        if let Some(running) = self.engines.get(&role) {
            running.handle.tree(moves);
        }
    }

    /// Stops a search of another revision.
    pub fn stop(&mut self, role: Role, revision: u64) {
        if let Some(running) = self.engines.get_mut(&role)
            && running.asked.is_some_and(|asked| asked != revision)
        {
            running.handle.stop();
            running.asked = None;
        }
    }

    pub fn dismiss(&mut self, role: Role) -> Option<String> {
        self.engines.remove(&role).map(|running| running.name)
    }

    /// The next search of each engine begins another game.
    pub fn new_game(&mut self) {
        self.engines.values_mut().for_each(|running| running.fresh = true);
    }
}

/// False for Philidor's classical players, which list the options of limited strength but ignore them.
pub fn plays_with_a_network(options: &[(String, String)]) -> bool {
    options.iter().all(|(name, value)| name != "Player" || value == "network")
}

/// The range of `UCI_Elo`, if the engine can limit its strength.
pub fn elo_range(options: &[OptionSpec]) -> Option<(i64, i64)> {
    options.iter().find(|option| option.name.eq_ignore_ascii_case("UCI_LimitStrength"))?;
    range_of(options, "UCI_Elo")
}

/// Whether the named levels, which were measured with our network, are this engine's.
pub fn plays_levels(set: &[(String, String)], options: &[OptionSpec]) -> bool {
    let has = |name: &str| options.iter().any(|option| option.name == name);
    let is_ours = set.iter().all(|(name, value)| name == "Player" && value == "network");
    is_ours && has("Player") && has("Temperature") && elo_range(options).is_some()
}

/// The options of an engine's strength, and words to add to `go`.
pub fn player_limits(seat: &Seat) -> (Vec<(String, String)>, &'static str) {
    match seat {
        Seat::Engine { level: Some(level), .. } => level.limits(),
        Seat::Engine { elo, .. } => (player_options(*elo), ""),
        Seat::Person => (Vec::new(), ""),
    }
}

/// `elo` of `None` is full strength.
pub fn player_options(elo: Option<u32>) -> Vec<(String, String)> {
    let mut options = vec![("UCI_LimitStrength".to_owned(), elo.is_some().to_string())];
    options.extend(elo.map(|elo| ("UCI_Elo".to_owned(), elo.to_string())));
    options
}

/// The range of a `spin` option, if the engine has it.
pub fn range_of(options: &[OptionSpec], name: &str) -> Option<(i64, i64)> {
    options.iter().find(|option| option.name.eq_ignore_ascii_case(name))?.range
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratings_are_offered_where_they_mean_something() {
        let option = |name: &str, range| OptionSpec { name: name.into(), range, choices: Vec::new() };
        let both = [option("UCI_LimitStrength", None), option("UCI_Elo", Some((800, 1700)))];
        assert_eq!(elo_range(&both), Some((800, 1700)));
        assert_eq!(elo_range(&both[1..]), None);
        assert!(!plays_with_a_network(&[("Player".into(), "random".into())]));
        let ours = ["UCI_LimitStrength", "Temperature", "Player"].map(|name| option(name, None));
        let ours = [&ours[..], &both[1..]].concat();
        assert!(plays_levels(&[("Player".into(), "network".into())], &ours));
        assert!(!plays_levels(&[], &both), "another engine");
        assert!(!plays_levels(&[("WeightsFile".into(), "other.onnx".into())], &ours), "another network");
    }
}
