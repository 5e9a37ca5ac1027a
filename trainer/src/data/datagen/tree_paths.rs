//! Random paths through Philidor's own search trees reach positions that a search meets.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context, Result, ensure};
use engine::chess::position::Game;
use engine::chess::tables::Tables;
use engine::nets::eval::Evaluator;
use engine::search::{Limits, Params, SteppedSearch, Tree};
use fastrand::Rng;
use shakmaty::Move;

use crate::base::network::search_alone;
use crate::base::network::{Backend, load_network};

/// Bytes per tree.
const MEMORY: usize = 32 << 20;

pub struct TreePaths {
    network: Box<dyn Backend>,
    /// Kept because some networks take long to open an evaluator.
    idle: Mutex<Vec<Box<dyn Evaluator>>>,
    visits: u64,
    params: Params,
}

impl TreePaths {
    /// `file` may be `embedded`. Also returns the network's fingerprint. The network needs a value head.
    pub fn load(file: &Path, visits: u64) -> Result<(TreePaths, u64)> {
        let network = load_network(file)?;
        ensure!(network.has_value(), "{}: a network without a value cannot search", file.display());
        let fingerprint = network.fingerprint();
        // Every search makes all of its visits in a new tree.
        let params = if network.is_exact() { Params::native() } else { Params::default() };
        let params = Params { reuse: false, smart_pruning: 0.0, ..params };
        Ok((TreePaths { network: Box::new(network), idle: Mutex::default(), visits, params }, fingerprint))
    }

    pub fn begin(&self) -> Result<PathFollower<'_>> {
        let idle = self.idle.lock().expect("not poisoned").pop();
        let evaluator = idle.map_or_else(|| self.network.evaluator(1), Ok)?;
        let search = SteppedSearch::new(Tables::default(), MEMORY);
        Ok(PathFollower { paths: self, evaluator: Some(evaluator), search, ahead: VecDeque::new() })
    }
}

pub struct PathFollower<'a> {
    paths: &'a TreePaths,
    /// Returned to the pool on drop.
    evaluator: Option<Box<dyn Evaluator>>,
    search: SteppedSearch,
    /// Moves of the current path not yet played.
    ahead: VecDeque<Move>,
}

impl PathFollower<'_> {
    /// The next move of the current path, or the first of a path through a new tree. The previous move must have been
    /// played. Panics if the game is over.
    pub fn next(&mut self, game: &Game, rng: &mut Rng) -> Result<Move> {
        if self.ahead.is_empty() {
            self.search(game)?;
            self.ahead = draw_path(self.search.tree(), rng).into();
        }
        Ok(self.ahead.pop_front().expect("the second visit took a move"))
    }

    fn search(&mut self, game: &Game) -> Result<()> {
        let limits = Limits { visits: Some(self.paths.visits), ..Limits::default() };
        self.search.start(game, limits, self.paths.params.clone());
        let evaluator = self.evaluator.as_mut().expect("there until the end");
        search_alone(&mut self.search, 1, &mut **evaluator).context("our network")
    }
}

impl Drop for PathFollower<'_> {
    fn drop(&mut self) {
        if let Ok(mut idle) = self.paths.idle.lock() {
            idle.extend(self.evaluator.take());
        }
    }
}

/// Draws a path from the root to the node of a random visit. A node's first visit evaluated the node and so ends the
/// path; its others continued with a move. Visits that ended at a proven result count only for the moves above.
fn draw_path(tree: &Tree, rng: &mut Rng) -> Vec<Move> {
    let mut path = Vec::new();
    while let Some(stats) = tree.stats_after(&path) {
        let own = u64::from(!path.is_empty());
        let visits: u64 = own + stats.iter().map(|edge| edge.visits).sum::<u64>();
        if visits == 0 {
            break;
        }
        let mut drawn = rng.u64(..visits);
        let taken = stats.iter().find(|edge| {
            let is_here = drawn < edge.visits;
            drawn = drawn.saturating_sub(edge.visits);
            is_here
        });
        let Some(edge) = taken else { break };
        path.push(edge.m);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::record::game_rng;

    #[test]
    fn every_visit_of_a_tree_is_as_likely_to_end_a_path() {
        let (paths, _) = TreePaths::load(Path::new("embedded"), 300).unwrap();
        let mut follower = paths.begin().unwrap();
        let fen = "r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5Q2/PPPP1PPP/RNB1K1NR b KQkq - 3 3";
        let game = Game::from_fen(fen).unwrap();
        follower.search(&game).unwrap();
        let (tree, mut rng) = (follower.search.tree(), game_rng(1, 1, 1));
        let drawn: Vec<Vec<Move>> = (0..20_000).map(|_| draw_path(tree, &mut rng)).collect();
        let share = |is: &dyn Fn(&Vec<Move>) -> bool| {
            drawn.iter().filter(|path| is(path)).count() as f64 / drawn.len() as f64
        };
        let first = tree.stats();
        let all: u64 = first.iter().map(|edge| edge.visits).sum();
        assert!(all > 250, "{all}");
        for edge in &first {
            let expected = edge.visits as f64 / all as f64;
            let found = share(&|path| path[0] == edge.m);
            assert!((found - expected).abs() < 0.015, "{}: {found} {expected}", edge.m);
        }
        // The best move's first visit is its own evaluation; the others belong to the replies.
        let best = &first[0];
        let replies: u64 = tree.stats_after(&[best.m]).unwrap().iter().map(|edge| edge.visits).sum();
        assert!(replies > 20, "{replies}");
        let into = share(&|path| path[0] == best.m);
        let ends = share(&|path| *path == [best.m]) / into;
        assert!((ends - 1.0 / (replies + 1) as f64).abs() < 0.015, "{ends} of {replies}");
        assert!(drawn.iter().any(|path| path.len() > 4), "deep ones are among them");
    }

    #[test]
    fn a_mate_is_a_path_too() {
        let (paths, _) = TreePaths::load(Path::new("embedded"), 50).unwrap();
        let mut follower = paths.begin().unwrap();
        let mut game = Game::from_fen("7k/8/5K2/6Q1/8/8/8/8 w - - 0 1").unwrap();
        let mut rng = game_rng(1, 2, 3);
        for _ in 0..60 {
            if game.outcome().is_some() {
                return;
            }
            let m = follower.next(&game, &mut rng).unwrap();
            assert!(game.legal_moves().contains(&m));
            game.play(m);
        }
        panic!("sixty plies without an end");
    }
}
