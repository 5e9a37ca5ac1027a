use anyhow::Result;
use engine::base::words::counted;
use serde_json::json;

use crate::play::rl::escalation::{GateDecision, VetoResponse};
use crate::play::rl::gate;

use super::RlLoop;

impl RlLoop {
    /// `tested` is `None` if training produced no network.
    pub(super) fn apply(&mut self, decision: GateDecision, why: &str, tested: Option<&str>) -> Result<()> {
        let response = self.state.escalation.arena(decision, &self.config.veto);
        self.note("verdict", json!(decision));
        match decision {
            GateDecision::Promoted => {
                self.state.totals.promotions += 1;
                self.state.best = self.state.current.clone();
                self.log_event(&format!("promoted: {} is the best so far ({why})", self.state.best))?;
            }
            GateDecision::Kept => self.log_event(&format!("{} stays the best ({why})", self.state.best))?,
            GateDecision::Vetoed => {
                self.veto(why, &response.expect("a veto has a response"), tested)?;
            }
        }
        self.conclude(Some(decision))
    }

    fn veto(
        &mut self,
        why: &str,
        VetoResponse { level, purge }: &VetoResponse,
        tested: Option<&str>,
    ) -> Result<()> {
        let best = self.state.best.clone();
        let worse = match tested {
            Some(tested) => self.worse(&best, tested)?,
            None => vec!["everything, because its weights are not finite".to_owned()],
        };
        self.state.vetoed.extend(tested.map(str::to_owned));
        self.state.totals.vetoes += 1;
        let purged = self.state.buffer.purge(*purge);
        let escalation = &self.state.escalation;
        let (rules, base) = (&self.config.veto, self.config.pretrain_mix_ratio);
        let (mix, explore) =
            (escalation.mix(base, rules), escalation.explore(self.config.current_share, rules));
        let lr = self.config.train.lr() * escalation.lr_factor;
        self.log_event(&format!(
            "veto, level {level}: {why}; back to {best} with a fresh optimiser, {purged} of the newest positions purged, \
             pretraining mix {:.0} %, learning rate {lr:.2e}, {:.0} % of games by the current network, for {}",
            if base > 0.0 { 100.0 * mix } else { 0.0 },
            100.0 * explore,
            counted(escalation.left, "iteration")
        ))?;
        let worse = if worse.is_empty() {
            "nothing that canaries or held-out games show".to_owned()
        } else {
            worse.join("; ")
        };
        self.log_event(&format!("what got worse: {worse}"))?;
        self.note("worse", json!(worse));
        Ok(())
    }

    /// Held-out game phases and canary categories in which `now` is worse than `before`.
    fn worse(&self, before: &str, now: &str) -> Result<Vec<String>> {
        let folder = self.games();
        let games = self.loop_games(&folder);
        let [then, measured] = self.learner.validated(&self.context(), &games, [before, now])?;
        let mut worse = gate::less_accurate(&then, &measured);
        let judged = [before, now].map(|name| self.learner.judged(&self.nets, name));
        let [before, now] = judged;
        worse.extend(gate::failed_canaries([before?, now?])?);
        Ok(worse)
    }
}
