//! UCT: Monte Carlo tree search that treats every choice of a move as a bandit (Kocsis, Szepesvári 2006).
//!
//! Every round selects from the root down the child with the greatest upper confidence bound, gives the leaf that
//! it comes to its children, if it was there before, plays a random game from there, and backs its result up.

use shakmaty::{Move, MoveList};

use super::Task;
use super::rollout::play_on;
use super::tree::{NodeId, ROOT, Tree};
use super::vigil::Vigil;
use crate::position::{Game, Outcome};
use crate::search::{Counters, Ended, Line, MoveStats, Progress, Report, Score};

/// The numbers of UCT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UctParams {
    /// The c of `payout + c · √(ln N / n)`, payouts being 0 to 1: the lesson's is √2.
    pub exploration: f32,
    /// Random plies before the position is valued, for [`Player::UctValue`](super::Player::UctValue).
    pub rollout: u32,
}

impl Default for UctParams {
    fn default() -> UctParams {
        UctParams { exploration: std::f32::consts::SQRT_2, rollout: 4 }
    }
}

/// Random games between two looks of the watcher: a few milliseconds at most.
const PULSE: u64 = 8;

/// Grows a tree until the vigil ends it. Rollouts go on for so many plies, or to the end of the game.
pub fn grow(task: &Task, moves: &MoveList, plies: Option<u32>, vigil: &mut Vigil<'_>) -> Uct {
    let mut uct = Uct::new(task, moves, plies);
    loop {
        uct.round();
        if task.limits.depth.is_some_and(|depth| uct.depth() >= depth) {
            vigil.end(Ended::Limit);
        }
        if vigil.is_spent(uct.games)
            || (uct.games % PULSE == 1 && vigil.ends(&uct))
            || vigil.ended().is_some()
        {
            return uct;
        }
    }
}

/// The tree and all that it grows by.
pub struct Uct {
    root: Game,
    exploration: f32,
    plies: Option<u32>,

    tree: Tree,
    dice: fastrand::Rng,
    /// Random games played.
    games: u64,
    /// The sum of the lengths of the ways to them.
    steps: u64,
    longest: u32,
}

impl Uct {
    fn new(task: &Task, moves: &MoveList, plies: Option<u32>) -> Uct {
        let mut uct = Uct {
            root: task.game.clone(),
            exploration: task.uct.exploration,
            plies,
            tree: Tree::new(task.memory),
            dice: fastrand::Rng::with_seed(task.seed),
            games: 0,
            steps: 0,
            longest: 0,
        };
        uct.expand(ROOT, moves.clone());
        uct
    }

    /// The order of the moves means nothing: which is tried first is for the dice to say.
    fn expand(&mut self, id: NodeId, mut moves: MoveList) -> bool {
        self.dice.shuffle(&mut moves);
        self.tree.expand(id, &moves)
    }

    /// Selects, expands, plays, backs up.
    fn round(&mut self) {
        let mut game = self.root.clone();
        let mut path = vec![ROOT];
        let mut leaf = ROOT;
        loop {
            if self.tree.children(leaf).is_empty() {
                let legal = game.legal_moves();
                let stays = self.tree.node(leaf).visits == 0 || game.outcome_given(&legal).is_some();
                if stays || !self.expand(leaf, legal.clone()) {
                    self.finish(&path, &mut game, legal);
                    return;
                }
            }
            leaf = self.select(leaf);
            game.play(self.tree.node(leaf).m.to_legal_move(game.position()));
            path.push(leaf);
        }
    }

    /// Plays a random game from the end of the path and counts it on the whole of it.
    fn finish(&mut self, path: &[NodeId], game: &mut Game, legal: MoveList) {
        let mut wdl = play_on(game, legal, self.plies, &mut self.dice);
        for id in path.iter().rev() {
            // A node's numbers are those of the side that moved to it.
            wdl = wdl.flipped();
            self.tree.node_mut(*id).count(wdl);
        }
        let steps = path.len() as u32 - 1;
        self.games += 1;
        self.steps += u64::from(steps);
        self.longest = self.longest.max(steps);
    }

    /// The first child that has no visit, else that with the greatest upper confidence bound.
    fn select(&self, id: NodeId) -> NodeId {
        let total = (self.tree.node(id).visits as f32).ln();
        let bound = |child: NodeId| {
            let node = self.tree.node(child);
            match node.visits {
                0 => f32::INFINITY,
                visits => node.payout() + self.exploration * (total / visits as f32).sqrt(),
            }
        };
        let children = self.tree.children(id);
        let first = children.start;
        let better = |best: (NodeId, f32), child| {
            let bound = bound(child);
            if bound > best.1 { (child, bound) } else { best }
        };
        children.fold((first, f32::NEG_INFINITY), better).0
    }

    /// The mean length of the ways to the random games, in plies.
    fn depth(&self) -> u32 {
        self.steps.checked_div(self.games).unwrap_or(0) as u32
    }

    fn line(&self, child: NodeId) -> Line {
        let node = self.tree.node(child);
        let mut game = self.root.clone();
        let mut pv = Vec::new();
        let mut next = Some(child);
        while let Some(id) = next {
            let m = self.tree.node(id).m.to_legal_move(game.position());
            game.play(m);
            pv.push(m);
            let over = game.outcome().is_some();
            next = self
                .tree
                .ranked(id)
                .first()
                .copied()
                .filter(|best| !over && self.tree.node(*best).visits > 0);
        }
        let mates = pv.len() == 1 && matches!(game.outcome(), Some(Outcome::Decisive { .. }));
        let score = if mates { Score::Mate(1) } else { Score::from_q(node.wdl().q()) };
        Line { pv, score, wdl: node.wdl(), visits: u64::from(node.visits) }
    }
}

impl Progress for Uct {
    fn visits(&self) -> u64 {
        self.games
    }

    fn lead(&self) -> (u64, u64) {
        let ranked = self.tree.ranked(ROOT);
        let visits = |place: usize| ranked.get(place).map_or(0, |id| u64::from(self.tree.node(*id).visits));
        (visits(0), visits(1))
    }

    fn stats(&self) -> Vec<MoveStats> {
        Vec::new()
    }

    fn expect(&self, _: Option<u64>) {}

    fn best(&self) -> Option<Move> {
        let best = *self.tree.ranked(ROOT).first()?;
        Some(self.tree.node(best).m.to_legal_move(self.root.position()))
    }

    fn report(&self, multipv: usize) -> Report {
        Report {
            visits: self.games,
            counters: Counters::default(),
            depth: self.depth().max(1),
            seldepth: self.longest.max(1),
            hashfull: self.tree.fullness(),
            tbhits: 0,
            lines: self.tree.ranked(ROOT).into_iter().take(multipv).map(|child| self.line(child)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::Wdl;
    use crate::search::Limits;

    #[test]
    fn the_greatest_upper_confidence_bound_is_selected() {
        let game = Game::new();
        let task = Task {
            game: game.clone(),
            limits: Limits::default(),
            lines: 1,
            memory: 1 << 20,
            uct: UctParams::default(),
            seed: 1,
        };
        let moves: MoveList = game.legal_moves().into_iter().take(3).collect();
        let mut uct = Uct::new(&task, &moves, None);
        let [a, b, c] = [1, 2, 3];
        let count = |uct: &mut Uct, id, results: &[Wdl]| {
            for wdl in results {
                uct.tree.node_mut(id).count(*wdl);
                uct.tree.node_mut(ROOT).count(wdl.flipped());
            }
        };
        // Who has no visit comes first.
        count(&mut uct, a, &[Wdl::WIN, Wdl::WIN]);
        assert_eq!(uct.select(ROOT), b);
        count(&mut uct, b, &[Wdl::LOSS]);
        assert_eq!(uct.select(ROOT), c);
        count(&mut uct, c, &[Wdl::DRAW]);
        // N = 4, ln 4 = 1.386: a 1 + √2 · √(1.386 / 2) = 2.18, b 0 + √2 · √1.386 = 1.67, c 0.5 + 1.67 = 2.17.
        assert_eq!(uct.select(ROOT), a);
        count(&mut uct, a, &[Wdl::LOSS]);
        // N = 5, ln 5 = 1.609: a 2/3 + √2 · √(1.609 / 3) = 1.70, b 1.79, c 2.29.
        assert_eq!(uct.select(ROOT), c);
        assert!((uct.tree.node(a).payout() - 2.0 / 3.0).abs() < 1e-6);
        // Without exploration only the payout counts.
        uct.exploration = 0.0;
        assert_eq!(uct.select(ROOT), a);
    }
}
