//! An iteration's arena: who is played against, and what the results mean.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::escalation::Verdict;
use super::nets::Nets;
use super::state::{START, State};
use crate::arena::{Contender, Decision, Tally};
use crate::config::ArenaRules;
use crate::config::Sprt;
use crate::evaluate;
use crate::evaluate::{CATEGORIES, JudgedNetwork, canaries};
use crate::gameplay::Backend;
use crate::record::{RngStream, stream_rng};
use crate::samples::Phase;
use crate::train::Validation;
use crate::train::Validations;

/// What an opponent is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The random mover: any trained network should crush it.
    Random,
    /// UCT without a network: does the network help at all?
    Uct,
    /// The best network so far: the gate of promotion.
    Best,
    /// An older one, a milestone or a recent one: has something been unlearnt?
    Older,
    /// The network that the run began with.
    Pretrained,
}

impl Role {
    /// In the order in which they are played.
    pub const ALL: [Role; 5] = [Role::Random, Role::Uct, Role::Best, Role::Older, Role::Pretrained];

    /// What state, metrics and log call it.
    pub fn name(self) -> &'static str {
        match self {
            Role::Random => "random",
            Role::Uct => "uct",
            Role::Best => "best",
            Role::Older => "older",
            Role::Pretrained => "pretrained",
        }
    }

    /// NeuralMatePlay's threshold of the score, which only is told.
    pub fn expected(self) -> f64 {
        match self {
            Role::Random => 0.95,
            Role::Uct => 0.70,
            Role::Best => 0.55,
            Role::Older | Role::Pretrained => 0.35,
        }
    }

    /// Most games, and what may end them earlier.
    pub fn games(self, rules: &ArenaRules) -> (u64, Option<Sprt>) {
        match self {
            Role::Random | Role::Uct => (rules.sanity_games, None),
            Role::Best => (rules.games, Some(rules.promotion.clone())),
            Role::Older | Role::Pretrained => (rules.veto_games, Some(rules.veto.clone())),
        }
    }
}

/// An opponent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opponent {
    /// What it is there for.
    pub role: Role,
    /// The name of a network of the run, or of a classical player.
    pub name: String,
}

impl Opponent {
    /// The player; `load` gives a network of the run.
    ///
    /// # Errors
    ///
    /// One line: its network can't be used.
    pub fn contender(
        &self,
        load: impl Fn(&str) -> Result<Arc<dyn Backend>, String>,
        visits: u64,
    ) -> Result<Contender, String> {
        match self.role {
            Role::Random | Role::Uct => Contender::named(&self.name, visits),
            Role::Best | Role::Older | Role::Pretrained => {
                Ok(Contender::Network { name: self.name.clone(), network: load(&self.name)?, visits })
            }
        }
    }
}

/// The opponents of the present iteration's network. None was vetoed; no network is among them twice: if the best is the one that the
/// run began with, it stands for both.
pub fn opponents(state: &State, rules: &ArenaRules, seed: u64, iterations: &[u64]) -> Vec<Opponent> {
    let mut opponents = Vec::new();
    let mut add = |role: Role, name: String| opponents.push(Opponent { role, name });
    if rules.sanity_games > 0 {
        add(Role::Random, "random".into());
        if rules.uct_visits > 0 {
            add(Role::Uct, format!("uct:{}", rules.uct_visits));
        }
    }
    add(Role::Best, state.best.clone());
    let taken = [&state.best, &state.current];
    let older: Vec<String> = iterations
        .iter()
        .map(|iteration| Nets::name(*iteration))
        .filter(|name| !taken.contains(&name) && !state.vetoed.contains(name))
        .collect();
    if !older.is_empty() {
        let index = stream_rng(RngStream::Older, seed, state.iteration, 0).usize(..older.len());
        add(Role::Older, older[index].clone());
    }
    if state.best != START {
        add(Role::Pretrained, START.into());
    }
    opponents
}

/// What the results mean, and why.
pub fn verdict(matches: &BTreeMap<String, Tally>, rules: &ArenaRules) -> (Verdict, Vec<String>) {
    let of = |role: Role| matches.get(role.name());
    // Without a match of its own, the pretrained network is the best one.
    let earlier = [
        (Role::Older.name(), of(Role::Older)),
        (Role::Pretrained.name(), of(Role::Pretrained).or(of(Role::Best))),
    ];
    let forgotten = |tally: &Tally| match rules.veto.decision(tally) {
        Decision::Rejected => true,
        Decision::Open => tally.count() > 0 && tally.score() < rules.veto_score,
        Decision::Accepted => false,
    };
    let reasons: Vec<String> = earlier
        .into_iter()
        .filter_map(|(name, tally)| Some((name, tally.filter(|tally| forgotten(tally))?)))
        .map(|(name, tally)| format!("{:.1} % against the {name} network", 100.0 * tally.score()))
        .collect();
    if !reasons.is_empty() {
        return (Verdict::Vetoed, reasons);
    }
    let Some(best) = of(Role::Best) else { return (Verdict::Kept, Vec::new()) };
    let llr = format!("LLR {:.2} against the best", rules.promotion.llr(best));
    match rules.promotion.decision(best) {
        Decision::Accepted => (Verdict::Promoted, vec![llr]),
        Decision::Open | Decision::Rejected => (Verdict::Kept, vec![llr]),
    }
}

/// The phases of the game, and the whole of it, in which `now` has the move that was played as its first choice less
/// often than `before` on the same held-out samples, by more than chance explains.
///
/// What is left to chance is taken to be that of two independent samples, at two standard errors: as the samples are
/// the same, it is less.
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

/// The categories of canaries that `now` gets right less often than `before`, and how often of how many.
///
/// # Errors
///
/// One line: a network can't be used.
pub fn unlearnt(nets: &Nets, before: &str, now: &str) -> Result<Vec<String>, String> {
    let load = |name: &str| {
        nets.load(name)?;
        JudgedNetwork::load(&nets.onnx(name), 0).map_err(|error| format!("{error:#}"))
    };
    let mut players = [load(before)?, load(now)?];
    let items = canaries();
    let answers = evaluate::judge(&items, &mut players).map_err(|error| format!("{error:#}"))?;
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
    use crate::train::Measures;

    fn tally(pairs: [u64; 5]) -> Tally {
        Tally { pairs, ..Tally::default() }
    }

    fn judged(of: &[(Role, [u64; 5])]) -> Verdict {
        let matches = of.iter().map(|(role, pairs)| (role.name().to_owned(), tally(*pairs))).collect();
        verdict(&matches, &ArenaRules::default()).0
    }

    #[test]
    fn the_statistics_decide() {
        let level = [5, 10, 20, 10, 5];
        let crushed = [20, 3, 1, 0, 0];
        let crushing = [0, 1, 6, 13, 18];
        assert_eq!(judged(&[(Role::Best, level), (Role::Older, level)]), Verdict::Kept);
        assert_eq!(judged(&[(Role::Best, crushing), (Role::Older, level)]), Verdict::Promoted);
        assert_eq!(judged(&[(Role::Best, level), (Role::Older, crushed)]), Verdict::Vetoed);
        assert_eq!(judged(&[(Role::Best, crushing), (Role::Pretrained, crushed)]), Verdict::Vetoed);
        // Twenty games' luck promotes nobody.
        assert_eq!(judged(&[(Role::Best, [1, 1, 3, 3, 2]), (Role::Older, level)]), Verdict::Kept);
        // Nothing proven, but too few points.
        assert_eq!(judged(&[(Role::Best, level), (Role::Older, [4, 2, 2, 1, 0])]), Verdict::Vetoed);
        // The best is the pretrained one.
        assert_eq!(judged(&[(Role::Best, crushed)]), Verdict::Vetoed);
        assert_eq!(judged(&[(Role::Best, crushed), (Role::Pretrained, level)]), Verdict::Kept);
        assert_eq!(judged(&[(Role::Random, crushed), (Role::Best, level)]), Verdict::Kept, "told, no veto");
    }

    #[test]
    fn what_chance_explains_is_not_called_worse() {
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
        // Two standard errors of 1,000 samples around 40 % are 4.4 points, of three times as many 2.5.
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
        let named = |state: &State, iterations: &[u64]| -> Vec<(Role, String)> {
            opponents(state, &rules, 1, iterations).into_iter().map(|o| (o.role, o.name)).collect()
        };
        let mut state = State { iteration: 5, current: Nets::name(5), ..State::default() };
        let first = named(&state, &[5]);
        assert_eq!(
            first.iter().map(|(role, _)| *role).collect::<Vec<_>>(),
            [Role::Random, Role::Uct, Role::Best]
        );
        state.best = Nets::name(3);
        let all = named(&state, &[2, 3, 5]);
        assert_eq!(
            all[2..],
            [(Role::Best, Nets::name(3)), (Role::Older, Nets::name(2)), (Role::Pretrained, START.to_owned())]
        );
        state.vetoed.insert(Nets::name(2));
        assert_eq!(
            named(&state, &[2, 3, 5])[2..],
            [all[2].clone(), all[4].clone()],
            "a vetoed one is no opponent"
        );
    }
}
