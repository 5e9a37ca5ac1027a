//! Gumbel search at the root (Danihelka, Guez, Schrittwieser, Silver: Policy improvement by planning with Gumbel,
//! 2022): Gumbel-top-k sampling of root moves, sequential halving, and the improved policy.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use shakmaty::Move;

use crate::search::tree::{NodeView, Tree};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gumbel {
    pub considered: usize,
    /// The paper's c_visit, 50 for chess. A value q in 0..1 adds `(c_visit + max N) · c_scale · q` to a logit, where N
    /// are the moves' visits.
    pub c_visit: f32,
    /// The paper's c_scale, 1 for chess.
    pub c_scale: f32,
    /// 1 samples by the policy, 0 takes the highest priors.
    pub noise: f32,
    pub seed: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ImprovedPolicy {
    pub best: Move,
    pub policy: Vec<(Move, f32)>,
    /// Σ π′ · completed Q for the root's side to move. The mean over visits is lower, because halving also visits moves
    /// that the policy avoids.
    pub q: f32,
}

pub(in crate::search) struct SequentialHalving {
    gumbel: Gumbel,
    /// For each visit, how many visits its move must already have.
    sequence: Vec<u32>,
    /// Each root move's logit plus scaled Gumbel noise, in tree order.
    keys: Vec<f32>,
    next: usize,
    views: Vec<NodeView>,
}

impl SequentialHalving {
    /// The root must be expanded and have no edges yet.
    pub fn begin(gumbel: Gumbel, tree: &mut Tree, visits: u64) -> SequentialHalving {
        let mut rng = SmallRng::seed_from_u64(gumbel.seed);
        let priors: Vec<f32> = tree.children().iter().map(|(_, view)| view.prior).collect();
        let mut key = |prior: &f32| {
            let uniform = rng.random::<f32>().max(f32::MIN_POSITIVE);
            logit(*prior) - gumbel.noise * (-uniform.ln()).max(f32::MIN_POSITIVE).ln()
        };
        let mut keys: Vec<f32> = priors.iter().map(&mut key).collect();
        tree.sort_root_moves(&keys);
        keys.sort_by(|a, b| b.total_cmp(a));
        let considered = gumbel.considered.min(keys.len());
        let sequence = sequence(considered, visits as usize);
        SequentialHalving { gumbel, sequence, keys, next: 0, views: Vec::new() }
    }

    pub fn choose(&mut self, tree: &Tree) -> usize {
        let mut views = std::mem::take(&mut self.views);
        tree.root_views(&mut views);
        let wanted = self.sequence.get(self.next).copied().unwrap_or(u32::MAX);
        self.next += 1;
        let started = |index: usize| views[index].visits + views[index].in_flight;
        let among = (0..views.len()).filter(|index| started(*index) == wanted);
        // Without a move of `wanted` visits (a proven root or few moves), the best move gets the visit.
        let chosen = self.best_of(among, &views).or_else(|| self.best_of(0..views.len(), &views));
        self.views = views;
        chosen.expect("a root has moves")
    }

    fn best_of(&self, among: impl Iterator<Item = usize>, views: &[NodeView]) -> Option<usize> {
        // Moves get their edges in order.
        let taken = views.iter().take_while(|view| view.visits + view.in_flight > 0).count();
        let weight = self.weight(views);
        let value = |view: &NodeView| if view.visits == 0 { 0.0 } else { weight * (1.0 + view.q) / 2.0 };
        let score = |index: &usize| self.keys[*index] + value(&views[*index]);
        among.filter(|index| *index <= taken).max_by(|a, b| score(a).total_cmp(&score(b)).then(b.cmp(a)))
    }

    fn weight(&self, views: &[NodeView]) -> f32 {
        let most = views.iter().map(|view| view.visits).max().unwrap_or(0);
        (self.gumbel.c_visit + most as f32) * self.gumbel.c_scale
    }

    /// `priors` are the evaluator's, without noise.
    pub fn improved_policy(&self, tree: &Tree, priors: &[(Move, f32)]) -> Option<ImprovedPolicy> {
        let children = tree.children();
        let views: Vec<NodeView> = children.iter().map(|(_, view)| *view).collect();
        let prior = |m: Move| priors.iter().find(|(other, _)| *other == m).map_or(0.0, |(_, prior)| *prior);
        let most = views.iter().map(|view| view.visits).max()?;
        let best = self.best_of((0..views.len()).filter(|index| views[*index].visits == most), &views)?;
        // The paper's mixed value for unvisited moves: averages the root's evaluation with the prior-weighted values of
        // visited moves.
        let (mut mass, mut sum, mut visits) = (0.0, 0.0, 0.0);
        for (m, view) in children.iter().filter(|(_, view)| view.visits > 0) {
            mass += prior(*m);
            sum += prior(*m) * view.q;
            visits += view.visits as f32;
        }
        let own = -tree.root().value.unwrap_or_default();
        let mixed = if mass > 0.0 { (own + visits * sum / mass) / (1.0 + visits) } else { own };
        let weight = self.weight(&views);
        let completed = |view: &NodeView| if view.visits > 0 { view.q } else { mixed };
        let logits =
            children.iter().map(|(m, view)| logit(prior(*m)) + weight * (1.0 + completed(view)) / 2.0);
        let mut policy: Vec<f32> = logits.collect();
        crate::nets::eval::softmax(&mut policy);
        let q = policy.iter().zip(&views).map(|(share, view)| share * completed(view)).sum();
        let policy = children.iter().map(|(m, _)| *m).zip(policy).collect();
        Some(ImprovedPolicy { best: children[best].0, policy, q })
    }
}

fn logit(prior: f32) -> f32 {
    prior.max(1e-9).ln()
}

/// [`SequentialHalving::sequence`]: all `considered` moves in turn, then the better half, and so on down to two.
fn sequence(considered: usize, visits: usize) -> Vec<u32> {
    if considered <= 1 {
        return (0..visits as u32).collect();
    }
    let rounds = considered.next_power_of_two().ilog2() as usize;
    let (mut sequence, mut had, mut left) = (Vec::with_capacity(visits), vec![0u32; considered], considered);
    while sequence.len() < visits {
        for _ in 0..(visits / (rounds * left)).max(1) {
            sequence.extend_from_slice(&had[..left]);
            had[..left].iter_mut().for_each(|visits| *visits += 1);
        }
        left = (left / 2).max(2);
    }
    sequence.truncate(visits);
    sequence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_visits_see_the_root_in_the_same_memory() {
        use crate::chess::position::Game;
        use crate::nets::eval::HashedEvaluator;
        use crate::nets::eval::{Evaluator, Request};
        use crate::search::{Limits, Params, SteppedSearch};
        let mut search = SteppedSearch::new(crate::chess::tables::Tables::default(), 1 << 22);
        let limits = Limits { visits: Some(60), ..Limits::default() };
        search.start(&Game::new(), limits, Params::default());
        let gumbel = Gumbel { considered: 4, c_visit: 50.0, c_scale: 1.0, noise: 1.0, seed: 1 };
        let keys = vec![0.0; 20];
        let mut halving =
            SequentialHalving { gumbel, sequence: sequence(4, 60), keys, next: 0, views: Vec::new() };
        let mut memory = None;
        while search.gather(1) > 0 {
            let requests: Vec<Request<'_>> = search.requests().collect();
            let answers = HashedEvaluator.evaluate(&requests).unwrap();
            drop(requests);
            search.answer(&answers);
            halving.choose(search.tree());
            let expected: Vec<NodeView> =
                search.tree().children().into_iter().map(|(_, view)| view).collect();
            assert_eq!(halving.views, expected);
            let now = (halving.views.as_ptr(), halving.views.capacity());
            assert_eq!(*memory.get_or_insert(now), now);
        }
        assert!(halving.views.iter().map(|view| view.visits).sum::<u32>() > 50);
    }

    #[test]
    fn visits_are_halved_in_sequence() {
        // Sixteen visits of four moves: two each, then four each for the better two.
        assert_eq!(sequence(4, 16), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
        assert_eq!(sequence(1, 3), [0, 1, 2]);
        assert_eq!(sequence(8, 3), [0, 0, 0], "too few for a round");
        for (considered, visits) in [(16, 50), (3, 20), (7, 64)] {
            assert_eq!(sequence(considered, visits).len(), visits);
        }
    }
}
