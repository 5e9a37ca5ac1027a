//! What the results of an arena ask for: a new best network, nothing, or a veto.

use serde_json::json;

use crate::rl::escalation::{Remedy, Verdict};
use crate::rl::gate;
use crate::rl::run::Cycle;
use crate::train::Validations;
use crate::train::validate;

/// Held-out samples on which two networks are compared after a veto, at least, if there are so many.
const COMPARED: usize = 8192;

impl Cycle {
    /// Does what a verdict asks for, and ends the iteration; `tested` is the network, none if it came to none.
    pub(super) fn judged(&mut self, verdict: Verdict, why: &str, tested: Option<&str>) -> Result<(), String> {
        let remedy = self.state.escalation.arena(verdict, &self.config.veto);
        self.note("verdict", json!(verdict));
        match verdict {
            Verdict::Promoted => {
                self.state.totals.promotions += 1;
                self.state.best = self.state.current.clone();
                self.say(&format!("promoted: {} is the best so far ({why})", self.state.best))?;
            }
            Verdict::Kept => self.say(&format!("{} stays the best ({why})", self.state.best))?,
            Verdict::Vetoed => {
                self.veto(why, &remedy.expect("a veto has one"), tested)?;
            }
        }
        self.conclude(Some(verdict))
    }

    /// Throws away what is newest, and says what is done and what got worse.
    fn veto(
        &mut self,
        why: &str,
        Remedy { level, purge }: &Remedy,
        tested: Option<&str>,
    ) -> Result<(), String> {
        let best = self.state.best.clone();
        let worse = match tested {
            Some(tested) => self.worse(&best, tested)?,
            None => vec!["everything: its numbers aren't finite".to_owned()],
        };
        self.state.vetoed.extend(tested.map(str::to_owned));
        self.state.totals.vetoes += 1;
        let purged = self.state.buffer.purge(*purge);
        let escalation = &self.state.escalation;
        let (rules, base) = (&self.config.veto, self.config.pretrain_mix_ratio);
        let (mix, explore) =
            (escalation.mix(base, rules), escalation.explore(self.config.current_share, rules));
        let lr = self.config.train.lr * escalation.lr_factor;
        self.say(&format!(
            "veto, level {level}: {why}; back to {best} with a fresh optimiser, {purged} of the newest positions purged, \
             pretraining mix {:.0} %, learning rate {lr:.2e}, {:.0} % of games by the current network, for {} iterations",
            if base > 0.0 { 100.0 * mix } else { 0.0 },
            100.0 * explore,
            escalation.left
        ))?;
        let worse = if worse.is_empty() {
            "nothing that canaries or held-out games show".to_owned()
        } else {
            worse.join("; ")
        };
        self.say(&format!("what got worse: {worse}"))?;
        self.note("worse", json!(worse));
        Ok(())
    }

    /// What network `now` does worse than network `before`: phases of held-out games, and canaries.
    fn worse(&self, before: &str, now: &str) -> Result<Vec<String>, String> {
        let [then, measured] = self.validated([before, now])?;
        let mut worse = gate::less_accurate(&then, &measured);
        worse.extend(gate::unlearnt(&self.nets, before, now)?);
        Ok(worse)
    }

    /// How two networks do on the same held-out games, those of the pretraining, or, without such, of the buffer.
    fn validated(&self, names: [&str; 2]) -> Result<[Validations; 2], String> {
        let mut config = self.config.train.clone();
        let pretrained = self.config.pretrain_mix_ratio > 0.0;
        let sources = if pretrained { self.pretraining.clone() } else { self.sources()?.0 };
        // More than there are would be the same again, and seem surer than they are.
        let there_are = usize::try_from(sources.held_out_samples()).unwrap_or(usize::MAX);
        let wanted = COMPARED.max(config.validation_batches * config.batch);
        config.validation_batches = wanted.min(there_are).div_ceil(config.batch);
        let held_out = sources.held_out(&config).map_err(|error| format!("{error:#}"))?;
        let validated = |name: &str| -> Result<Validations, String> {
            let (net, weights, _) = self.nets.restored(name)?;
            Ok(validate(&net, &weights, &held_out, &config))
        };
        let [before, now] = names;
        Ok([validated(before)?, validated(now)?])
    }
}
