//! Gumbel's way to search a root with few visits (Danihelka, Guez, Schrittwieser, Silver: Policy improvement by
//! planning with Gumbel, 2022): moves are drawn without replacement, visits shared out by sequential halving, and what
//! is learnt is the policy improved by the values that were found.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use shakmaty::Move;

use super::tree::{NodeView, Tree};

/// How a root is searched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gumbel {
    /// Moves that are looked at, at most.
    pub considered: usize,
    /// The values' weight beside the logits of the policy: (this + the visits of the most visited move), …
    pub c_visit: f32,
    /// … times this, times the expected result from 0 to 1. The paper's for chess are 50 and 1.
    pub c_scale: f32,
    /// How much chance has in the draw: 1 draws as likely as the policy says, 0 takes the likeliest moves.
    pub noise: f32,
    /// Where the random numbers begin: the same seed, the same moves.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Improved {
    /// The move to play.
    pub best: Move,
    /// The improved policy, over all moves.
    pub policy: Vec<(Move, f32)>,
}

/// One search of a root.
pub(super) struct Halving {
    gumbel: Gumbel,
    /// The visits that a move must have had to be visited next, visit by visit.
    sequence: Vec<u32>,
    /// Of each root move, in the tree's order: Gumbel's random number, scaled, plus the policy's logit.
    keys: Vec<f32>,
    next: usize,
}

impl Halving {
    /// Orders the root's moves, which must be known and none of them taken, as they were drawn.
    pub fn begin(gumbel: Gumbel, tree: &mut Tree, visits: u64) -> Halving {
        let mut random = SmallRng::seed_from_u64(gumbel.seed);
        let priors: Vec<f32> = tree.children().iter().map(|(_, view)| view.prior).collect();
        let mut key = |prior: &f32| {
            let uniform = random.random::<f32>().max(f32::MIN_POSITIVE);
            logit(*prior) - gumbel.noise * (-uniform.ln()).max(f32::MIN_POSITIVE).ln()
        };
        let mut keys: Vec<f32> = priors.iter().map(&mut key).collect();
        tree.order_root(&keys);
        keys.sort_by(|a, b| b.total_cmp(a));
        let considered = gumbel.considered.min(keys.len());
        Halving { gumbel, sequence: sequence(considered, visits as usize), keys, next: 0 }
    }

    /// The root move that the next visit takes.
    pub fn choose(&mut self, tree: &Tree) -> usize {
        let views: Vec<NodeView> = tree.children().into_iter().map(|(_, view)| view).collect();
        let wanted = self.sequence.get(self.next).copied().unwrap_or(u32::MAX);
        self.next += 1;
        let started = |index: usize| views[index].visits + views[index].pending;
        let among = (0..views.len()).filter(|index| started(*index) == wanted);
        // Where no move has so few visits (the root is proven, or its moves are few), the best is gone on with.
        self.best_of(among, &views)
            .or_else(|| self.best_of(0..views.len(), &views))
            .expect("a root has moves")
    }

    fn best_of(&self, among: impl Iterator<Item = usize>, views: &[NodeView]) -> Option<usize> {
        // Moves can be taken for the first time in their order only.
        let taken = views.iter().take_while(|view| view.visits + view.pending > 0).count();
        let score = |index: &usize| self.keys[*index] + self.value(views, *index);
        among.filter(|index| *index <= taken).max_by(|a, b| score(a).total_cmp(&score(b)).then(b.cmp(a)))
    }

    /// What a visited move's value counts beside its logit; 0 before a visit.
    fn value(&self, views: &[NodeView], index: usize) -> f32 {
        let view = &views[index];
        if view.visits == 0 { 0.0 } else { self.weight(views) * (1.0 + view.q) / 2.0 }
    }

    fn weight(&self, views: &[NodeView]) -> f32 {
        let most = views.iter().map(|view| view.visits).max().unwrap_or(0);
        (self.gumbel.c_visit + most as f32) * self.gumbel.c_scale
    }

    /// What has been found; `priors` are the evaluator's.
    pub fn improved(&self, tree: &Tree, priors: &[(Move, f32)]) -> Option<Improved> {
        let children = tree.children();
        let views: Vec<NodeView> = children.iter().map(|(_, view)| *view).collect();
        let prior = |m: Move| priors.iter().find(|(other, _)| *other == m).map_or(0.0, |(_, prior)| *prior);
        let most = views.iter().map(|view| view.visits).max()?;
        let best = self.best_of((0..views.len()).filter(|index| views[*index].visits == most), &views)?;
        // Moves without a visit are taken to be worth what the root is: its own evaluation, mixed with the visited
        // moves' values by their policy.
        let (mut mass, mut sum, mut visits) = (0.0, 0.0, 0.0);
        for (m, view) in children.iter().filter(|(_, view)| view.visits > 0) {
            mass += prior(*m);
            sum += prior(*m) * view.q;
            visits += view.visits as f32;
        }
        let own = -tree.root().value.unwrap_or_default();
        let mixed = if mass > 0.0 { (own + visits * sum / mass) / (1.0 + visits) } else { own };
        let weight = self.weight(&views);
        let logits = children.iter().map(|(m, view)| {
            let q = if view.visits > 0 { view.q } else { mixed };
            logit(prior(*m)) + weight * (1.0 + q) / 2.0
        });
        let mut policy: Vec<f32> = logits.collect();
        crate::eval::softmax(&mut policy);
        let policy = children.iter().map(|(m, _)| *m).zip(policy).collect();
        Some(Improved { best: children[best].0, policy })
    }
}

fn logit(prior: f32) -> f32 {
    prior.max(1e-9).ln()
}

/// The visits that a move must have had to be next, for `visits` visits: at first all `considered` moves are visited
/// in turn, then the better half of them, and so on down to two.
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
    fn visits_are_halved_in_sequence() {
        // Sixteen visits of four moves: two each, then four each of the better two.
        assert_eq!(sequence(4, 16), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
        assert_eq!(sequence(1, 3), [0, 1, 2]);
        assert_eq!(sequence(8, 3), [0, 0, 0], "too few for a round");
        for (considered, visits) in [(16, 50), (3, 20), (7, 64)] {
            assert_eq!(sequence(considered, visits).len(), visits);
        }
    }
}
