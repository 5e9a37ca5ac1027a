use std::collections::BTreeMap;

use anyhow::Result;

use super::escalation::GateDecision;
use super::networks::RunNetworks;
use super::state::{RunState, START};
use crate::config::{ArenaRules, Sprt};
use crate::data::record::{RngStream, stream_rng};
use crate::data::samples::Phase;
use crate::judge::evaluate::{self, CATEGORIES, JudgedNetwork, canaries};
use crate::learn::run::metrics::{Validation, Validations};
use crate::play::arena::{MatchResults, SprtDecision};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OpponentRole {
    /// Any trained network should beat the random mover easily.
    Random,
    /// UCT without a network, a sanity check.
    Uct,
    /// The promotion test.
    Best,
    /// A milestone or recent network, to detect forgetting.
    Older,
    Pretrained,
}

impl OpponentRole {
    /// In the order of play.
    pub const ALL: [OpponentRole; 5] = [
        OpponentRole::Random,
        OpponentRole::Uct,
        OpponentRole::Best,
        OpponentRole::Older,
        OpponentRole::Pretrained,
    ];

    pub fn name(self) -> &'static str {
        match self {
            OpponentRole::Random => "random",
            OpponentRole::Uct => "uct",
            OpponentRole::Best => "best",
            OpponentRole::Older => "older",
            OpponentRole::Pretrained => "pretrained",
        }
    }

    /// Expected score, from NeuralMatePlay; only logged.
    pub fn expected(self) -> f64 {
        match self {
            OpponentRole::Random => 0.95,
            OpponentRole::Uct => 0.70,
            OpponentRole::Best => 0.55,
            OpponentRole::Older | OpponentRole::Pretrained => 0.35,
        }
    }

    pub fn is_network(self) -> bool {
        !matches!(self, OpponentRole::Random | OpponentRole::Uct)
    }

    /// Most games, and the SPRT that may end the match early.
    pub fn games(self, rules: &ArenaRules) -> (u64, Option<Sprt>) {
        match self {
            OpponentRole::Random | OpponentRole::Uct => (rules.sanity_games, None),
            OpponentRole::Best => (rules.games, Some(rules.promotion.clone())),
            OpponentRole::Older | OpponentRole::Pretrained => (rules.veto_games, Some(rules.veto.clone())),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opponent {
    pub role: OpponentRole,
    pub name: String,
}

/// Vetoed networks are excluded. No network occurs twice: if the best network is the initial one, its match as the best
/// counts for both.
pub fn opponents(state: &RunState, rules: &ArenaRules, seed: u64, iterations: &[u64]) -> Vec<Opponent> {
    let mut opponents = Vec::new();
    let mut add = |role: OpponentRole, name: String| opponents.push(Opponent { role, name });
    if rules.sanity_games > 0 {
        add(OpponentRole::Random, "random".into());
        if rules.uct_visits > 0 {
            add(OpponentRole::Uct, format!("uct:{}", rules.uct_visits));
        }
    }
    add(OpponentRole::Best, state.best.clone());
    let taken = [&state.best, &state.current];
    let older: Vec<String> = iterations
        .iter()
        .map(|iteration| RunNetworks::name(*iteration))
        .filter(|name| !taken.contains(&name) && !state.vetoed.contains(name))
        .collect();
    if !older.is_empty() {
        let index = stream_rng(RngStream::Older, seed, state.iteration, 0).usize(..older.len());
        add(OpponentRole::Older, older[index].clone());
    }
    if state.best != START {
        add(OpponentRole::Pretrained, START.into());
    }
    opponents
}

/// Also returns the reasons.
pub fn decide(matches: &BTreeMap<String, MatchResults>, rules: &ArenaRules) -> (GateDecision, Vec<String>) {
    let of = |role: OpponentRole| matches.get(role.name());
    // Without a match against the pretrained network, the best network is the pretrained one.
    let earlier = [
        (OpponentRole::Older.name(), of(OpponentRole::Older)),
        (OpponentRole::Pretrained.name(), of(OpponentRole::Pretrained).or(of(OpponentRole::Best))),
    ];
    let forgotten = |results: &MatchResults| match rules.veto.decision(results) {
        SprtDecision::Rejected => true,
        SprtDecision::Open => results.count() > 0 && results.score() < rules.veto_score,
        SprtDecision::Accepted => false,
    };
    let reasons: Vec<String> = earlier
        .into_iter()
        .filter_map(|(name, results)| Some((name, results.filter(|results| forgotten(results))?)))
        .map(|(name, results)| format!("{:.1} % against the {name} network", 100.0 * results.score()))
        .collect();
    if !reasons.is_empty() {
        return (GateDecision::Vetoed, reasons);
    }
    let Some(best) = of(OpponentRole::Best) else { return (GateDecision::Kept, Vec::new()) };
    let llr = format!("LLR {:.2} against the best", rules.promotion.llr(best));
    match rules.promotion.decision(best) {
        SprtDecision::Accepted => (GateDecision::Promoted, vec![llr]),
        SprtDecision::Open | SprtDecision::Rejected => (GateDecision::Kept, vec![llr]),
    }
}

/// The game phases, and the whole game, in which top-1 accuracy on the same held-out samples fell by more than two
/// standard errors. Independent samples are assumed, which overestimates the error.
pub fn less_accurate(before: &Validations, now: &Validations) -> Vec<String> {
    let parts = Phase::ALL.map(Phase::name).into_iter().zip(before.phases.iter().zip(&now.phases));
    let all = std::iter::once(("game", (&before.all, &now.all)));
    let worse = |(part, (before, now)): (&str, (&Validation, &Validation))| {
        let (samples, old, new) = (before.samples, before.measures.top1, now.measures.top1);
        let variance = |share: f64| share * (1.0 - share) / samples.max(1) as f64;
        let chance = 2.0 * (variance(old) + variance(new)).sqrt();
        let [old_percent, new_percent, noise] = [old, new, chance].map(|share| 100.0 * share);
        (old - new > chance).then(|| {
            format!(
                "first choice in the {part} {new_percent:.1} % of {samples} (was {old_percent:.1} %, chance {noise:.1})"
            )
        })
    };
    parts.chain(all).filter_map(worse).collect()
}

/// The categories in which the second network solves fewer positions than the first.
pub fn failed_canaries(mut players: [JudgedNetwork; 2]) -> Result<Vec<String>> {
    let items = canaries();
    let answers = evaluate::judge(&items, &mut players)?;
    let count = |category: &str, player: usize| {
        let own = items.iter().zip(&answers).filter(|(item, _)| item.group == category);
        own.filter(|(_, answers)| answers[player].alone == Some(true)).count()
    };
    let of = |category: &str| items.iter().filter(|item| item.group == category).count();
    let names = CATEGORIES.iter().map(|category| category.name);
    let worse = names.map(|name| (name, count(name, 0), count(name, 1))).filter(|(_, then, now)| now < then);
    Ok(worse.map(|(name, then, now)| format!("{name} {now} of {} (was {then})", of(name))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::run::metrics::Measures;

    fn results(pairs: [u64; 5]) -> MatchResults {
        MatchResults { pairs, ..MatchResults::default() }
    }

    fn judged(of: &[(OpponentRole, [u64; 5])]) -> GateDecision {
        let matches = of.iter().map(|(role, pairs)| (role.name().to_owned(), results(*pairs))).collect();
        decide(&matches, &ArenaRules::default()).0
    }

    #[test]
    fn the_statistics_decide() {
        let level = [5, 10, 20, 10, 5];
        let crushed = [20, 3, 1, 0, 0];
        let crushing = [0, 1, 6, 13, 18];
        assert_eq!(judged(&[(OpponentRole::Best, level), (OpponentRole::Older, level)]), GateDecision::Kept);
        assert_eq!(
            judged(&[(OpponentRole::Best, crushing), (OpponentRole::Older, level)]),
            GateDecision::Promoted
        );
        assert_eq!(
            judged(&[(OpponentRole::Best, level), (OpponentRole::Older, crushed)]),
            GateDecision::Vetoed
        );
        assert_eq!(
            judged(&[(OpponentRole::Best, crushing), (OpponentRole::Pretrained, crushed)]),
            GateDecision::Vetoed
        );
        // A lucky score in twenty games does not promote.
        assert_eq!(
            judged(&[(OpponentRole::Best, [1, 1, 3, 3, 2]), (OpponentRole::Older, level)]),
            GateDecision::Kept
        );
        // The test is undecided, but the score is too low.
        assert_eq!(
            judged(&[(OpponentRole::Best, level), (OpponentRole::Older, [4, 2, 2, 1, 0])]),
            GateDecision::Vetoed
        );
        // The best network is the pretrained one.
        assert_eq!(judged(&[(OpponentRole::Best, crushed)]), GateDecision::Vetoed);
        assert_eq!(
            judged(&[(OpponentRole::Best, crushed), (OpponentRole::Pretrained, level)]),
            GateDecision::Kept
        );
        assert_eq!(
            judged(&[(OpponentRole::Random, crushed), (OpponentRole::Best, level)]),
            GateDecision::Kept,
            "logged, no veto"
        );
    }

    #[test]
    fn what_chance_explains_is_not_reported() {
        let validation = |samples, top1| Validation {
            samples,
            measures: Measures { top1, ..Measures::default() },
            ..Validation::default()
        };
        let all = |samples, top1: [f64; 3]| Validations {
            all: validation(3 * samples, top1.iter().sum::<f64>() / 3.0),
            phases: top1.map(|top1| validation(samples, top1)).into(),
            ..Validations::default()
        };
        // Two standard errors around 40 % are 4.4 points with 1,000 samples, 2.5 with 3,000.
        let before = all(1000, [0.40, 0.40, 0.40]);
        assert_eq!(less_accurate(&before, &all(1000, [0.40, 0.41, 0.37])), Vec::<String>::new());
        let worse = less_accurate(&before, &all(1000, [0.41, 0.40, 0.35]));
        assert_eq!(worse, ["first choice in the endgame 35.0 % of 1000 (was 40.0 %, chance 4.3)"]);
        let worse = less_accurate(&before, &all(1000, [0.37, 0.37, 0.37]));
        assert!(worse.len() == 1 && worse[0].starts_with("first choice in the game 37.0 %"), "{worse:?}");
        assert_eq!(less_accurate(&all(0, [0.0; 3]), &all(0, [0.0; 3])), Vec::<String>::new());
    }

    #[test]
    fn no_network_is_an_opponent_twice() {
        let rules = ArenaRules::default();
        let named = |state: &RunState, iterations: &[u64]| -> Vec<(OpponentRole, String)> {
            opponents(state, &rules, 1, iterations).into_iter().map(|o| (o.role, o.name)).collect()
        };
        let mut state = RunState { iteration: 5, current: RunNetworks::name(5), ..RunState::default() };
        let first = named(&state, &[5]);
        assert_eq!(
            first.iter().map(|(role, _)| *role).collect::<Vec<_>>(),
            [OpponentRole::Random, OpponentRole::Uct, OpponentRole::Best]
        );
        state.best = RunNetworks::name(3);
        let all = named(&state, &[2, 3, 5]);
        assert_eq!(
            all[2..],
            [
                (OpponentRole::Best, RunNetworks::name(3)),
                (OpponentRole::Older, RunNetworks::name(2)),
                (OpponentRole::Pretrained, START.to_owned())
            ]
        );
        state.vetoed.insert(RunNetworks::name(2));
        assert_eq!(
            named(&state, &[2, 3, 5])[2..],
            [all[2].clone(), all[4].clone()],
            "a vetoed network is no opponent"
        );
    }
}
