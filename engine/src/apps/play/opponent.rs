use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use shakmaty::Move;

use super::PlayConfig;
use crate::apps::review::{JudgeError, JudgedLine, OwnJudge, judged_line, own_judge};
use crate::apps::uci_client::Limit;
use crate::chess::position::Game;
use crate::setup::first_legal;
use crate::setup::settings::Settings;
use crate::setup::strength::{self, Strength};

pub(super) struct Opponent {
    judge: OwnJudge,
    name: String,
    strength: Option<Strength>,
    /// Seed of the move choice at limited strength.
    seed: u64,
}

impl Opponent {
    pub fn new(config: &PlayConfig) -> Result<Opponent, String> {
        let settings = Settings {
            limit_strength: config.elo.is_some(),
            elo: config.elo.unwrap_or(strength::STRONGEST),
            ..config.engine.settings()
        };
        let strength = settings.strength();
        let limit = match (&strength, config.nodes) {
            (Some(strength), _) => Limit::Nodes(strength.visits),
            (None, Some(nodes)) => Limit::Nodes(nodes),
            (None, None) => Limit::Movetime(config.movetime),
        };
        let judge = own_judge(&settings, limit)?;
        let rating = config.elo.map_or(String::new(), |elo| format!(" at {elo}"));
        let name = format!("Philidor {}{rating}", env!("CARGO_PKG_VERSION"));
        Ok(Opponent { judge, name, strength, seed: strength::game_seed() })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The position must have a legal move.
    pub fn choose(&mut self, game: &Game, stop: &Arc<AtomicBool>) -> Result<Move, JudgeError> {
        let report = self.judge.search(game, &[], stop)?.report;
        let index =
            self.strength.map_or(0, |strength| strength.choose(&report, strength::seed(game, self.seed)));
        let line = report.lines.get(index).and_then(|line| line.pv.first().copied());
        first_legal(game, line).ok_or_else(|| JudgeError::Failed("the search found no move".to_owned()))
    }

    /// Returns the best line at full strength.
    pub fn advise(&mut self, game: &Game, stop: &Arc<AtomicBool>) -> Result<JudgedLine, JudgeError> {
        let report = self.judge.search(game, &[], stop)?.report;
        let best = report.lines.first().filter(|line| !line.pv.is_empty());
        best.map(|line| judged_line(line, game.turn()))
            .ok_or_else(|| JudgeError::Failed("the search found no move".to_owned()))
    }
}
