//! Rules files of units, by kind. For `self-play` see [`SelfPlayRules`](crate::config::SelfPlayRules).

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use engine::search::Params;
use engine::setup::options::{self, OptionEffect};
use engine::setup::settings::Settings;
use serde::{Deserialize, Serialize};

use crate::base::network::Backend;
use crate::config::MatchRules;
use crate::data::datagen::Limit;
use crate::play::arena::Contender;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatchUnitRules {
    pub rules: MatchRules,
    pub visits: u64,
    /// UCI options of each player's search (name, value); a `match` compares them.
    #[serde(default)]
    pub options: [Vec<(String, String)>; 2],
}

impl MatchUnitRules {
    pub fn params(&self, player: usize) -> Result<Option<Params>> {
        let own = &self.options[player];
        if own.is_empty() {
            return Ok(None);
        }
        let mut settings = Settings { params: self.rules.params().into(), ..Settings::default() };
        for (name, value) in own {
            let change = options::set(&mut settings, name, Some(value));
            let change = change.with_context(|| format!("option {name}"))?;
            if change.effect != OptionEffect::Params {
                bail!("option {name} is no parameter of the search; a match compares only those");
            }
        }
        Ok(Some(Params { reuse: false, batch: 1, ..settings.params.resolve(false) }))
    }

    /// `player` is the number whose search parameters apply.
    pub fn network_player(&self, player: usize, name: &str, network: Arc<dyn Backend>) -> Result<Contender> {
        let params = self.params(player)?.map(Box::new);
        Ok(Contender::Network { name: name.to_owned(), network, visits: self.visits, params })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnnotateRules {
    /// The engine's program, which every machine looks up itself.
    pub program: String,
    pub engine: String,
    pub options: Vec<(String, String)>,
    /// Per position: `depth 8` or `nodes 1000`.
    pub limit: String,
    /// Seconds without an answer before the engine is restarted.
    pub patience: u64,
    pub keep_known: bool,
    pub best_moves: usize,
}

impl AnnotateRules {
    /// Only depth and nodes are reproducible on every machine.
    pub fn limit(&self) -> Result<Limit> {
        let parsed = self.limit.split_once(' ').and_then(|(kind, number)| match kind {
            "depth" => Some(Limit::Depth(number.parse().ok()?)),
            "nodes" => Some(Limit::Nodes(number.parse().ok()?)),
            _ => None,
        });
        parsed.with_context(|| {
            format!("limit \"{}\": other machines label by --depth or --nodes, not by time", self.limit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_parameters_of_the_search_are_compared() {
        let with = |name: &str, value: &str| MatchUnitRules {
            options: [vec![(name.to_owned(), value.to_owned())], Vec::new()],
            ..MatchUnitRules::default()
        };
        let params = with("CPuct", "2.5").params(0).unwrap().unwrap();
        assert_eq!((params.puct.c, params.batch), (2.5, 1));
        assert!(with("CPuct", "2.5").params(1).unwrap().is_none());
        let why = |name, value| format!("{:#}", with(name, value).params(0).unwrap_err());
        assert!(why("Threads", "2").contains("is no parameter of the search"), "{}", why("Threads", "2"));
        assert!(why("CPuct", "many").starts_with("option CPuct: "));
        assert!(why("Nothing", "1").starts_with("option Nothing: "));
    }
}
