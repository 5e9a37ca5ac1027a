//! Iterative deepening over the root moves, for minimax and alpha-beta.

use std::cmp::Reverse;
use std::sync::atomic::AtomicBool;

use shakmaty::{Chess, Move, MoveList, Position};

use super::PlayerTask;
use super::alpha_beta::{Window, mvv_lva};
use super::root_moves::{INFINITE, MinimaxValue, ScoredMove, ScoredMoves, mated};
use super::stop_check::StopCheck;
use crate::chess::position::Game;
use crate::search::{EndReason, SearchObserver};

const NODES_PER_CHECK: u64 = 1024;

const MAX_DEPTH: u32 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullWidthMethod {
    Minimax,
    AlphaBeta,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FullWidthResult {
    /// Root moves, best first, with values for the side that makes them: centipawns, or 1,000,000 for mate in one ply,
    /// less one per further ply. With alpha-beta, values other than the best are upper bounds.
    pub values: Vec<(Move, i32)>,
    pub nodes: u64,
}

/// A search of `depth` plies (at least 1) with [material and squares](crate::nets::eval::material) at the leaves.
/// `None` if the observer or `stop` ended it.
pub fn full_width(
    method: FullWidthMethod,
    game: &Game,
    depth: u32,
    observer: &mut dyn SearchObserver,
    stop: &AtomicBool,
) -> Option<FullWidthResult> {
    let moves = game.legal_moves();
    let mut stop_check = StopCheck::new(observer, stop, None);
    let roots = ScoredMoves::new(game, &moves);
    let mut search = DepthSearch { method, lines: 1, roots, stop_check: Some(&mut stop_check) };
    search.iteration(depth.max(1))?;
    let values = search.roots.moves.iter().map(|root| (root.m, root.value)).collect();
    Some(FullWidthResult { values, nodes: search.roots.nodes - moves.len() as u64 })
}

pub fn deepen(
    method: FullWidthMethod,
    task: &PlayerTask,
    moves: &MoveList,
    stop_check: &mut StopCheck<'_>,
) -> ScoredMoves {
    let roots = ScoredMoves::new(&task.game, moves);
    let mut search = DepthSearch { method, lines: task.lines.max(1), roots, stop_check: None };
    let max_depth = task.limits.depth.unwrap_or(MAX_DEPTH).clamp(1, MAX_DEPTH);
    // The first depth always completes, so that there is a move.
    let completed = search.iteration(1);
    debug_assert!(completed.is_some(), "nothing stops it");
    search.stop_check = Some(stop_check);
    while search.continues(max_depth) && search.iteration(search.roots.depth + 1).is_some() {}
    search.roots
}

pub struct DepthSearch<'s, 'o> {
    method: FullWidthMethod,
    lines: usize,
    roots: ScoredMoves,
    stop_check: Option<&'s mut StopCheck<'o>>,
}

impl DepthSearch<'_, '_> {
    fn continues(&mut self, max_depth: u32) -> bool {
        let ScoredMoves { depth, .. } = self.roots;
        let Some(stop_check) = &mut self.stop_check else { return true };
        if depth >= max_depth {
            stop_check.end(EndReason::Limit);
        } else if self.roots.are_mates(self.lines) {
            stop_check.end(EndReason::Exhausted);
        }
        !stop_check.should_stop(&self.roots)
    }

    /// `None` if stopped early; moves already searched keep their new values.
    fn iteration(&mut self, depth: u32) -> Option<()> {
        self.roots.current_depth = depth;
        if self.roots.depth == 0 && self.method == FullWidthMethod::AlphaBeta {
            self.roots.moves.sort_by_key(|root| Reverse(mvv_lva(root.m)));
        }
        for index in 0..self.roots.moves.len() {
            let before = self.roots.nodes;
            self.count_node()?;
            let root = self.roots.moves[index].clone();
            let mut pv = Vec::new();
            let value = match self.method {
                _ if root.drawn => 0,
                FullWidthMethod::Minimax => -self.minimax(&root.after, depth - 1, 1, &mut pv)?,
                FullWidthMethod::AlphaBeta => {
                    // Only moves better than the last wanted line need an exact value.
                    let alpha = match index.checked_sub(self.lines) {
                        Some(_) => self.roots.moves[self.lines - 1].value,
                        None => -INFINITE,
                    };
                    let window = Window { alpha: -INFINITE, beta: -alpha };
                    -self.alpha_beta(&root.after, depth - 1, 1, window, &mut pv)?
                }
            };
            pv.insert(0, root.m);
            let nodes = root.nodes + self.roots.nodes - before;
            self.roots.moves[index] = ScoredMove { value, pv, nodes, ..root };
            self.roots.rank(index);
        }
        self.roots.depth = depth;
        Some(())
    }

    /// Counts a move about to be made; `None` if the search must end.
    pub(super) fn count_node(&mut self) -> Option<()> {
        let nodes = self.roots.nodes;
        if let Some(stop_check) = &mut self.stop_check
            && (stop_check.limit_reached(nodes)
                || (nodes.is_multiple_of(NODES_PER_CHECK) && stop_check.should_stop(&self.roots)))
        {
            return None;
        }
        self.roots.nodes += 1;
        Some(())
    }
}

/// For the side to move; `ply` counts from the root.
pub fn terminal_value(position: &Chess, legal: &MoveList, ply: u32) -> Option<MinimaxValue> {
    if legal.is_empty() {
        return Some(if position.is_check() { mated(ply) } else { 0 });
    }
    position.is_insufficient_material().then_some(0)
}
