//! What is done when a network turns out to have forgotten: four levels, each with those below it.

use serde::{Deserialize, Serialize};

use crate::config::VetoRules;

/// What an arena says of the network in training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It is stronger than the best so far.
    Promoted,
    /// It isn't, but it hasn't forgotten anything.
    Kept,
    /// It has become too weak against an earlier one.
    Vetoed,
}

/// What a veto asks for at once, besides going back to the best weights and a fresh optimiser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Remedy {
    /// 1 to 4.
    pub level: u32,
    /// The share of the buffer's positions to throw away, the newest.
    pub purge: f64,
}

/// Where the escalation stands.
///
/// A veto is one in a row as long as no arena without a veto lies between. What it changes lasts for
/// [`VetoRules::recovery`] iterations after the last one; a promotion ends it at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Escalation {
    /// Vetoes in a row.
    pub streak: u32,
    /// The level of the measures that last, 0 for none.
    pub level: u32,
    /// What the learning rate is multiplied by.
    pub lr_factor: f64,
    /// Iterations that they last.
    pub left: u64,
}

impl Default for Escalation {
    fn default() -> Escalation {
        Escalation { streak: 0, level: 0, lr_factor: 1.0, left: 0 }
    }
}

impl Escalation {
    /// Takes note of an arena; gives what is to be done if it is a veto.
    pub fn arena(&mut self, verdict: Verdict, rules: &VetoRules) -> Option<Remedy> {
        match verdict {
            Verdict::Promoted => {
                *self = Escalation::default();
                None
            }
            Verdict::Kept => {
                self.streak = 0;
                None
            }
            Verdict::Vetoed => {
                self.streak += 1;
                let level = self.streak.min(4);
                if level >= 2 {
                    self.lr_factor *= rules.lr_factor;
                }
                // Measures of an earlier row of vetoes that still last aren't taken back by a milder one.
                self.level = self.level.max(level);
                self.left = rules.recovery;
                Some(Remedy { level, purge: if level == 4 { rules.critical_purge } else { rules.purge } })
            }
        }
    }

    /// Takes note of the end of an iteration and of its verdict, if it had one; says whether the measures end with it.
    ///
    /// The iteration of a veto isn't one of those that the measures last: they begin with the next.
    pub fn iteration(&mut self, verdict: Option<Verdict>) -> bool {
        if verdict == Some(Verdict::Vetoed) {
            return false;
        }
        let ends = self.left == 1;
        self.left = self.left.saturating_sub(1);
        if ends {
            *self = Escalation { streak: self.streak, ..Escalation::default() };
        }
        ends
    }

    /// The share of the pretraining games, which is otherwise `base`.
    pub fn mix(&self, base: f64, rules: &VetoRules) -> f64 {
        match self.level {
            0 => base,
            1..=3 => (base + rules.mix_step).min(1.0),
            _ => rules.critical_mix,
        }
    }

    /// The share of games by the current network, which is otherwise `base`.
    pub fn explore(&self, base: f64, rules: &VetoRules) -> f64 {
        if self.level >= 3 { base.max(rules.explore) } else { base }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Kept, Promoted, Vetoed};

    /// What holds after these arenas: purge, mix of 0.5, learning rate, games by the current network.
    fn after(arenas: &[Verdict]) -> (Option<f64>, f64, f64, f64) {
        let (mut state, rules) = (Escalation::default(), VetoRules::default());
        let last = arenas.iter().map(|verdict| state.arena(*verdict, &rules)).last().flatten();
        let round = |x: f64| (x * 1e9).round() / 1e9;
        (
            last.map(|remedy| remedy.purge),
            round(state.mix(0.5, &rules)),
            state.lr_factor,
            state.explore(0.0, &rules),
        )
    }

    #[test]
    fn every_level_includes_those_below_it() {
        assert_eq!(after(&[Kept]), (None, 0.5, 1.0, 0.0));
        assert_eq!(after(&[Vetoed]), (Some(0.25), 0.7, 1.0, 0.0), "level 1");
        assert_eq!(after(&[Vetoed; 2]), (Some(0.25), 0.7, 0.5, 0.0), "level 2");
        assert_eq!(after(&[Vetoed; 3]), (Some(0.25), 0.7, 0.25, 0.3), "level 3");
        assert_eq!(after(&[Vetoed; 4]), (Some(0.5), 0.8, 0.125, 0.3), "level 4");
        assert_eq!(after(&[Vetoed; 5]), (Some(0.5), 0.8, 0.0625, 0.3), "there is no fifth level");
    }

    #[test]
    fn levels_are_told() {
        let (mut state, rules) = (Escalation::default(), VetoRules::default());
        let levels: Vec<u32> = (0..6).map(|_| state.arena(Vetoed, &rules).unwrap().level).collect();
        assert_eq!(levels, [1, 2, 3, 4, 4, 4]);
    }

    #[test]
    fn a_promotion_ends_everything() {
        assert_eq!(after(&[Vetoed, Vetoed, Vetoed, Promoted]), (None, 0.5, 1.0, 0.0));
        assert_eq!(after(&[Vetoed, Vetoed, Promoted, Vetoed]), (Some(0.25), 0.7, 1.0, 0.0));
    }

    #[test]
    fn an_arena_without_a_veto_breaks_the_row_but_not_the_measures() {
        assert_eq!(after(&[Vetoed, Vetoed, Vetoed, Kept]), (None, 0.7, 0.25, 0.3));
        // The next one is the first in a row again: no lower rate, a smaller purge. What lasts stays.
        assert_eq!(after(&[Vetoed, Vetoed, Vetoed, Kept, Vetoed]), (Some(0.25), 0.7, 0.25, 0.3));
    }

    #[test]
    fn measures_last_for_the_recovery() {
        let (mut state, rules) = (Escalation::default(), VetoRules { recovery: 3, ..VetoRules::default() });
        (0..4).for_each(|_| _ = state.arena(Vetoed, &rules));
        assert!(!state.iteration(Some(Vetoed)), "the measures begin with the next iteration");
        assert_eq!([state.iteration(None), state.iteration(Some(Kept))], [false, false]);
        assert_eq!((state.mix(0.5, &rules), state.level), (0.8, 4));
        assert!(state.iteration(None));
        assert_eq!((state.mix(0.5, &rules), state.lr_factor, state.explore(0.1, &rules)), (0.5, 1.0, 0.1));
        assert!(!state.iteration(None), "it is told once");
        // Another veto without a good arena between is still in the row.
        assert_eq!(state.arena(Vetoed, &rules).map(|remedy| remedy.level), Some(4));
    }

    #[test]
    fn a_veto_begins_the_recovery_anew() {
        let (mut state, rules) = (Escalation::default(), VetoRules { recovery: 2, ..VetoRules::default() });
        _ = state.arena(Vetoed, &rules);
        state.iteration(Some(Vetoed));
        state.iteration(None);
        _ = state.arena(Vetoed, &rules);
        state.iteration(Some(Vetoed));
        assert!(!state.iteration(None));
        assert!(state.iteration(None));
    }

    /// As the cycle goes: an arena at the end of some iterations, then the iteration's end.
    #[test]
    fn as_many_iterations_are_played_with_the_measures_as_the_recovery_says() {
        for recovery in 1..5 {
            let (mut state, rules) = (Escalation::default(), VetoRules { recovery, ..VetoRules::default() });
            let (mut mixes, mut ended) = (Vec::new(), Vec::new());
            for iteration in 1..=8 {
                mixes.push(state.mix(0.5, &rules));
                let verdict = (iteration == 2).then_some(Vetoed);
                if let Some(verdict) = verdict {
                    _ = state.arena(verdict, &rules);
                }
                ended.extend(state.iteration(verdict).then_some(iteration));
            }
            let raised: Vec<usize> = (1..=8).filter(|iteration| mixes[iteration - 1] > 0.5).collect();
            assert_eq!(raised, (3..3 + recovery as usize).collect::<Vec<_>>());
            assert_eq!(ended, [2 + recovery], "told once");
        }
    }
}
