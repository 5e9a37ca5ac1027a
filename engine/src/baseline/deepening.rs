//! Searches by depth: all of the root's moves, to one depth after another.

use std::cmp::Reverse;

use shakmaty::{Chess, Move, MoveList, Position};

use super::Task;
use super::alpha_beta::{Window, promise};
use super::roots::{INFINITE, RootMove, Roots, Value, mated};
use super::vigil::Vigil;
use crate::position::Game;
use crate::search::Ended;

/// Moves between two looks of the watcher: some tenths of a millisecond.
const PULSE: u64 = 1024;

/// No search goes deeper.
const DEEPEST: u32 = 64;

/// How a search by depth goes about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Every sequence of moves.
    Minimax,
    /// Captures first, and without what can't change the result.
    AlphaBeta,
}

/// What a search to one depth has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FullWidth {
    /// The root's moves and their values for the side that makes them, best first: centipawns, or 1,000,000 for
    /// a mate at once, less one for every ply that it takes longer. Alpha-beta's are exact for the best move;
    /// the others' are at least as large as the true ones.
    pub values: Vec<(Move, i32)>,
    /// Moves made below the root; the root's own aren't counted.
    pub tried: u64,
}

/// Searches all moves to one depth in plies (at least 1) and values the positions by
/// [`lesson`](crate::eval::lesson), as the lesson does. Nothing ends it early.
pub fn full_width(method: Method, game: &Game, depth: u32) -> FullWidth {
    let moves = game.legal_moves();
    let mut search = Search { method, lines: 1, roots: Roots::new(game, &moves), vigil: None };
    let done = search.iteration(depth.max(1));
    debug_assert!(done.is_some(), "nobody ends it");
    let values = search.roots.moves.iter().map(|root| (root.m, root.value)).collect();
    FullWidth { values, tried: search.roots.nodes - moves.len() as u64 }
}

/// Searches `moves` deeper and deeper until the vigil or the task's depth ends it, or mates are all that there is.
pub fn deepen(method: Method, task: &Task, moves: &MoveList, vigil: &mut Vigil<'_>) -> Roots {
    let roots = Roots::new(&task.game, moves);
    let mut search = Search { method, lines: task.lines.max(1), roots, vigil: Some(vigil) };
    let deepest = task.limits.depth.unwrap_or(DEEPEST).clamp(1, DEEPEST);
    while search.goes_on(deepest) && search.iteration(search.roots.depth + 1).is_some() {}
    search.roots
}

/// A search under way.
pub struct Search<'v, 'w> {
    method: Method,
    /// How many of the best moves need exact values.
    lines: usize,
    roots: Roots,
    /// Who may end it, if anybody.
    vigil: Option<&'v mut Vigil<'w>>,
}

impl Search<'_, '_> {
    /// Whether another depth is to be searched.
    fn goes_on(&mut self, deepest: u32) -> bool {
        let Roots { depth, .. } = self.roots;
        let Some(vigil) = self.vigil.as_mut().filter(|_| depth > 0) else { return true };
        if depth >= deepest {
            vigil.end(Ended::Limit);
        } else if self.roots.are_mates(self.lines) {
            vigil.end(Ended::Exhausted);
        }
        !vigil.ends(&self.roots)
    }

    /// Searches all moves to `depth` plies. `None` if the search ends before; what is known then stands in the
    /// roots all the same.
    fn iteration(&mut self, depth: u32) -> Option<()> {
        self.roots.under_way = depth;
        // Later depths begin with the order of those before.
        if self.roots.depth == 0 && self.method == Method::AlphaBeta {
            self.roots.moves.sort_by_key(|root| Reverse(promise(root.m)));
        }
        for place in 0..self.roots.moves.len() {
            self.count()?;
            let root = self.roots.moves[place].clone();
            let mut pv = Vec::new();
            let value = match self.method {
                _ if root.drawn => 0,
                Method::Minimax => -self.minimax(&root.after, depth - 1, 1, &mut pv)?,
                Method::AlphaBeta => {
                    // What a move must be worth to be of interest: more than the last of those wanted.
                    let alpha = match place.checked_sub(self.lines) {
                        Some(_) => self.roots.moves[self.lines - 1].value,
                        None => -INFINITE,
                    };
                    let window = Window { alpha: -INFINITE, beta: -alpha };
                    -self.alpha_beta(&root.after, depth - 1, 1, window, &mut pv)?
                }
            };
            pv.insert(0, root.m);
            self.roots.moves[place] = RootMove { value, pv, ..root };
            self.roots.rank(place);
        }
        self.roots.depth = depth;
        Some(())
    }

    /// Counts a move that is about to be made. `None` if it may not be made any more; the first depth of all
    /// goes through in any case: it takes microseconds, and gives something to play.
    pub(super) fn count(&mut self) -> Option<()> {
        let nodes = self.roots.nodes;
        if self.roots.depth > 0
            && let Some(vigil) = &mut self.vigil
            && (vigil.is_spent(nodes) || (nodes.is_multiple_of(PULSE) && vigil.ends(&self.roots)))
        {
            return None;
        }
        self.roots.nodes += 1;
        Some(())
    }
}

/// The value of a position in which the game is over, for the side to move: mate first, then stalemate and
/// material that mates nobody.
pub fn ending(position: &Chess, legal: &MoveList, ply: u32) -> Option<Value> {
    if legal.is_empty() {
        return Some(if position.is_check() { mated(ply) } else { 0 });
    }
    position.is_insufficient_material().then_some(0)
}
