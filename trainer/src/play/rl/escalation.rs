//! Escalation after vetoes: four levels of measures, each including the lower levels.

use serde::{Deserialize, Serialize};

use crate::config::VetoRules;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateDecision {
    /// Stronger than the best network.
    Promoted,
    /// Not stronger: the best network stays.
    Kept,
    /// Too weak against an earlier network.
    Vetoed,
}

/// What a veto changes besides the return to the best weights with a fresh optimiser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VetoResponse {
    pub level: u32,
    /// Purges this share of the buffer, the newest positions.
    pub purge: f64,
}

/// Vetoes are consecutive if every arena between them was a veto. Measures last for [`VetoRules::recovery`] iterations
/// after the last veto, or until a promotion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Escalation {
    pub streak: u32,
    /// Level in force; 0 for none.
    pub level: u32,
    pub lr_factor: f64,
    /// Iterations for which the measures remain in force.
    pub left: u64,
}

impl Default for Escalation {
    fn default() -> Escalation {
        Escalation { streak: 0, level: 0, lr_factor: 1.0, left: 0 }
    }
}

impl Escalation {
    /// Updates the state after an arena.
    pub fn arena(&mut self, decision: GateDecision, rules: &VetoRules) -> Option<VetoResponse> {
        match decision {
            GateDecision::Promoted => {
                *self = Escalation::default();
                None
            }
            GateDecision::Kept => {
                self.streak = 0;
                None
            }
            GateDecision::Vetoed => {
                self.streak += 1;
                let level = self.streak.min(4);
                if level >= 2 {
                    self.lr_factor *= rules.lr_factor;
                }
                // A milder veto does not lower measures in force.
                self.level = self.level.max(level);
                self.left = rules.recovery;
                Some(VetoResponse {
                    level,
                    purge: if level == 4 { rules.critical_purge } else { rules.purge },
                })
            }
        }
    }

    /// Returns whether the measures end now. The iteration of the veto does not count.
    pub fn iteration(&mut self, decision: Option<GateDecision>) -> bool {
        if decision == Some(GateDecision::Vetoed) {
            return false;
        }
        let ends = self.left == 1;
        self.left = self.left.saturating_sub(1);
        if ends {
            *self = Escalation { streak: self.streak, ..Escalation::default() };
        }
        ends
    }

    /// Share of pretraining games: `base`, or more while measures are in force.
    pub fn mix(&self, base: f64, rules: &VetoRules) -> f64 {
        match self.level {
            0 => base,
            1..=3 => (base + rules.mix_step).min(1.0),
            _ => rules.critical_mix,
        }
    }

    /// Share of games by the current network: `base`, or more while measures are in force.
    pub fn explore(&self, base: f64, rules: &VetoRules) -> f64 {
        if self.level >= 3 { base.max(rules.explore) } else { base }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use GateDecision::{Kept, Promoted, Vetoed};

    /// After these arenas: purge, mix (base 0.5), learning-rate factor, share of the current network.
    fn after(arenas: &[GateDecision]) -> (Option<f64>, f64, f64, f64) {
        let (mut state, rules) = (Escalation::default(), VetoRules::default());
        let last = arenas.iter().map(|decision| state.arena(*decision, &rules)).last().flatten();
        let round = |x: f64| (x * 1e9).round() / 1e9;
        (
            last.map(|response| response.purge),
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
    fn a_veto_names_its_level() {
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
    fn an_arena_without_a_veto_ends_the_streak_but_not_the_measures() {
        assert_eq!(after(&[Vetoed, Vetoed, Vetoed, Kept]), (None, 0.7, 0.25, 0.3));
        // The next veto counts as a first veto: same learning rate, smaller purge. Measures in force stay.
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
        assert!(!state.iteration(None), "it is reported once");
        // Another veto with no other arena in between is consecutive.
        assert_eq!(state.arena(Vetoed, &rules).map(|response| response.level), Some(4));
    }

    #[test]
    fn a_veto_restarts_the_recovery() {
        let (mut state, rules) = (Escalation::default(), VetoRules { recovery: 2, ..VetoRules::default() });
        _ = state.arena(Vetoed, &rules);
        state.iteration(Some(Vetoed));
        state.iteration(None);
        _ = state.arena(Vetoed, &rules);
        state.iteration(Some(Vetoed));
        assert!(!state.iteration(None));
        assert!(state.iteration(None));
    }

    /// As in the loop, only some iterations end with an arena.
    #[test]
    fn as_many_iterations_are_played_with_the_measures_as_the_recovery_says() {
        for recovery in 1..5 {
            let (mut state, rules) = (Escalation::default(), VetoRules { recovery, ..VetoRules::default() });
            let (mut mixes, mut ended) = (Vec::new(), Vec::new());
            for iteration in 1..=8 {
                mixes.push(state.mix(0.5, &rules));
                let decision = (iteration == 2).then_some(Vetoed);
                if let Some(decision) = decision {
                    _ = state.arena(decision, &rules);
                }
                ended.extend(state.iteration(decision).then_some(iteration));
            }
            let raised: Vec<usize> = (1..=8).filter(|iteration| mixes[iteration - 1] > 0.5).collect();
            assert_eq!(raised, (3..3 + recovery as usize).collect::<Vec<_>>());
            assert_eq!(ended, [2 + recovery], "reported once");
        }
    }
}
