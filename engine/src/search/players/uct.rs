//! UCT: MCTS with upper confidence bounds. A leaf is evaluated by a random rollout and expanded on its second visit.

use std::num::NonZeroU64;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use shakmaty::{Move, MoveList};

use super::PlayerTask;
use super::rollout::roll_out;
use super::stop_check::StopCheck;
use super::uct_tree::{ROOT, UctNodeId, UctTree};
use crate::chess::position::{Game, Outcome};
use crate::search::{EndReason, MoveStats, PvLine, Report, Score, SearchCounters, SearchView};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UctParams {
    /// c in `payout + c · √(ln N / n)`, with payouts 0..1; √2 in the notebook.
    pub exploration: f32,
    /// Plies before the static evaluation, for [`Player::UctValue`](super::Player::UctValue).
    pub rollout: u32,
    /// Between two calls of the observer.
    pub games_per_round: NonZeroU64,
}

impl Default for UctParams {
    fn default() -> UctParams {
        // Eight games take at most a few milliseconds.
        let games_per_round = const { NonZeroU64::new(8).unwrap() };
        UctParams { exploration: std::f32::consts::SQRT_2, rollout: 4, games_per_round }
    }
}

pub fn run(
    task: &PlayerTask,
    moves: &MoveList,
    rollout_plies: Option<u32>,
    stop_check: &mut StopCheck<'_>,
) -> UctSearch {
    let mut uct = UctSearch::new(task, moves, rollout_plies);
    loop {
        uct.iterate();
        if task.limits.depth.is_some_and(|depth| uct.depth() >= depth) {
            stop_check.end(EndReason::Limit);
        }
        if stop_check.limit_reached(uct.games)
            || ((uct.games - 1).is_multiple_of(task.uct.games_per_round.get())
                && stop_check.should_stop(&uct))
            || stop_check.end_reason().is_some()
        {
            return uct;
        }
    }
}

pub struct UctSearch {
    root: Game,
    exploration: f32,
    rollout_plies: Option<u32>,

    tree: UctTree,
    rng: SmallRng,
    games: u64,
    /// Rollouts excluded.
    path_plies: u64,
    longest_path: u32,
}

impl UctSearch {
    fn new(task: &PlayerTask, moves: &MoveList, rollout_plies: Option<u32>) -> UctSearch {
        let mut uct = UctSearch {
            root: task.game.clone(),
            exploration: task.uct.exploration,
            rollout_plies,
            tree: UctTree::new(task.memory),
            rng: SmallRng::seed_from_u64(task.seed),
            games: 0,
            path_plies: 0,
            longest_path: 0,
        };
        uct.expand(ROOT, moves.clone());
        uct
    }

    /// Returns false if the memory is full.
    fn expand(&mut self, id: UctNodeId, mut moves: MoveList) -> bool {
        moves.shuffle(&mut self.rng);
        self.tree.expand(id, &moves)
    }

    fn iterate(&mut self) {
        let mut game = self.root.clone();
        let mut path = vec![ROOT];
        let mut leaf = ROOT;
        loop {
            if self.tree.children(leaf).is_empty() {
                let legal = game.legal_moves();
                let is_leaf = self.tree.node(leaf).visits == 0 || game.outcome_given(&legal).is_some();
                if is_leaf || !self.expand(leaf, legal.clone()) {
                    self.roll_out(&path, &mut game, legal);
                    return;
                }
            }
            leaf = self.select(leaf);
            game.play(self.tree.node(leaf).m.to_legal_move(game.position()));
            path.push(leaf);
        }
    }

    fn roll_out(&mut self, path: &[UctNodeId], game: &mut Game, legal: MoveList) {
        let mut wdl = roll_out(game, legal, self.rollout_plies, &mut self.rng);
        for id in path.iter().rev() {
            wdl = wdl.flipped();
            self.tree.node_mut(*id).add_result(wdl);
        }
        let plies = path.len() as u32 - 1;
        self.games += 1;
        self.path_plies += u64::from(plies);
        self.longest_path = self.longest_path.max(plies);
    }

    fn select(&self, id: UctNodeId) -> UctNodeId {
        let total = (self.tree.node(id).visits as f32).ln();
        let bound = |child: UctNodeId| {
            let node = self.tree.node(child);
            match node.visits {
                0 => f32::INFINITY,
                visits => node.payout() + self.exploration * (total / visits as f32).sqrt(),
            }
        };
        let children = self.tree.children(id);
        let first = children.start;
        let better = |best: (UctNodeId, f32), child| {
            let bound = bound(child);
            if bound > best.1 { (child, bound) } else { best }
        };
        children.fold((first, f32::NEG_INFINITY), better).0
    }

    fn depth(&self) -> u32 {
        self.path_plies.checked_div(self.games).unwrap_or(0) as u32
    }

    fn line(&self, child: UctNodeId) -> PvLine {
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
        PvLine { pv, score, wdl: node.wdl(), visits: u64::from(node.visits) }
    }
}

impl SearchView for UctSearch {
    /// U is doubled, as Q is `2 · payout − 1`: the greatest Q + U is selected next.
    fn shown_stats(&self) -> Vec<MoveStats> {
        let total = (self.tree.node(ROOT).visits.max(1) as f32).ln();
        let ranked = self.tree.ranked(ROOT);
        let prior = 1.0 / ranked.len().max(1) as f32;
        let stats = |id: &UctNodeId| {
            let node = self.tree.node(*id);
            let exploration = self.exploration * (total / node.visits.max(1) as f32).sqrt();
            MoveStats {
                m: node.m.to_legal_move(self.root.position()),
                visits: u64::from(node.visits),
                in_flight: 0,
                prior,
                q: if node.visits > 0 { node.wdl().q() } else { 0.0 },
                wdl: node.wdl(),
                u: 2.0 * exploration,
                value: None,
                proof: None,
            }
        };
        ranked.iter().map(stats).collect()
    }

    fn visits(&self) -> u64 {
        self.games
    }

    fn lead(&self) -> (u64, u64) {
        let ranked = self.tree.ranked(ROOT);
        let visits = |rank: usize| ranked.get(rank).map_or(0, |id| u64::from(self.tree.node(*id).visits));
        (visits(0), visits(1))
    }

    fn best(&self) -> Option<Move> {
        let best = *self.tree.ranked(ROOT).first()?;
        Some(self.tree.node(best).m.to_legal_move(self.root.position()))
    }

    fn report(&self, multipv: usize) -> Report {
        Report {
            visits: self.games,
            counters: SearchCounters::default(),
            depth: self.depth().max(1),
            seldepth: self.longest_path.max(1),
            hashfull: self.tree.hashfull(),
            tbhits: 0,
            lines: self.tree.ranked(ROOT).into_iter().take(multipv).map(|child| self.line(child)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nets::eval::Wdl;
    use crate::search::Limits;

    #[test]
    fn the_greatest_upper_confidence_bound_is_selected() {
        let game = Game::new();
        let task = PlayerTask {
            game: game.clone(),
            limits: Limits::default(),
            lines: 1,
            memory: 1 << 20,
            uct: UctParams::default(),
            seed: 1,
        };
        let moves: MoveList = game.legal_moves().into_iter().take(3).collect();
        let mut uct = UctSearch::new(&task, &moves, None);
        let [a, b, c] = [1, 2, 3];
        let count = |uct: &mut UctSearch, id, results: &[Wdl]| {
            for wdl in results {
                uct.tree.node_mut(id).add_result(*wdl);
                uct.tree.node_mut(ROOT).add_result(wdl.flipped());
            }
        };
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
        uct.exploration = 0.0;
        assert_eq!(uct.select(ROOT), a);
    }
}
