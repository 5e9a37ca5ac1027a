//! Alpha-beta exactly as in the notebook, so that it tries as many moves: python-chess's move order, a full window of
//! ±10,000 for every root move, fail-soft values, no draws, mate values independent of the ply, piece-square tables
//! read by files.

use std::cmp::Reverse;

use shakmaty::{Chess, Move, Position, Role, Square};

use crate::nets::eval::material;

const WINDOW: i32 = 10_000;
const WORST: i32 = 9_999;
/// Values for White of a mate by White and by Black.
const MATED: [i32; 2] = [1_000_000, -100_000];

/// At most a few milliseconds.
const MOVES_PER_CHECK: u64 = 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainResult {
    pub best: Option<Move>,
    /// For White.
    pub value: i32,
    /// Moves tried below the root.
    pub tried: u64,
}

/// `depth` in plies, at least 1. Calls `goes_on` regularly with the number of root moves searched; `None` if it says no.
pub fn search(position: &Chess, depth: u32, goes_on: &mut dyn FnMut(usize) -> bool) -> Option<PlainResult> {
    let white = position.turn().is_white();
    let mut search = PlainSearch { tried: 0, roots: 0, goes_on };
    let (mut best, mut best_value) = (None, if white { -WORST } else { WORST });
    for m in in_order(position) {
        let value = search.alpha_beta(&after(position, m), depth.max(1) - 1, [-WINDOW, WINDOW])?;
        if if white { value > best_value } else { value < best_value } {
            (best, best_value) = (Some(m), value);
        }
        search.roots += 1;
    }
    Some(PlainResult { best, value: best_value, tried: search.tried })
}

struct PlainSearch<'a> {
    tried: u64,
    /// Root moves searched.
    roots: usize,
    goes_on: &'a mut dyn FnMut(usize) -> bool,
}

impl PlainSearch<'_> {
    /// For White; a bound if outside the window.
    fn alpha_beta(&mut self, position: &Chess, depth: u32, [mut alpha, mut beta]: [i32; 2]) -> Option<i32> {
        let white = position.turn().is_white();
        if position.is_checkmate() {
            return Some(MATED[usize::from(white)]);
        }
        if depth == 0 {
            return Some(material::by_files_for_white(position.board()));
        }
        let mut best = if white { -WORST } else { WORST };
        for m in in_order(position) {
            if self.tried.is_multiple_of(MOVES_PER_CHECK) && !(self.goes_on)(self.roots) {
                return None;
            }
            self.tried += 1;
            let value = self.alpha_beta(&after(position, m), depth - 1, [alpha, beta])?;
            if white {
                best = best.max(value);
                alpha = alpha.max(best);
            } else {
                best = best.min(value);
                beta = beta.min(best);
            }
            if alpha >= beta {
                break;
            }
        }
        Some(best)
    }
}

fn after(position: &Chess, m: Move) -> Chess {
    let mut after = position.clone();
    after.play_unchecked(m);
    after
}

/// python-chess's order: squares from h8 down to a1; pieces by origin (in check the king first), castling, pawn
/// captures by origin, single and double steps by target, en passant.
fn in_order(position: &Chess) -> Vec<Move> {
    let in_check = position.is_check();
    let mut moves = position.legal_moves().to_vec();
    moves.sort_by_key(|m| {
        let from = m.from().unwrap_or(Square::A1);
        let double = from.rank().distance(m.to().rank()) == 2;
        let (group, first) = match *m {
            Move::Castle { rook, .. } => (2, rook),
            Move::EnPassant { from, .. } => (6, from),
            _ if m.role() == Role::King && in_check => (0, from),
            _ if m.role() != Role::Pawn => (1, from),
            _ if m.is_capture() => (3, from),
            _ if double => (5, m.to()),
            _ => (4, m.to()),
        };
        let promotion = m.promotion().map(Reverse);
        (group, Reverse(first), Reverse(m.to()), promotion)
    });
    moves
}

#[cfg(test)]
mod tests {
    use super::super::notebook;
    use super::*;
    use crate::chess::position::Game;

    fn order(fen: &str) -> String {
        let game = Game::from_fen(fen).unwrap();
        let moves: Vec<String> = in_order(game.position()).iter().map(|m| Game::uci(*m, false)).collect();
        moves.join(" ")
    }

    /// Expected by python-chess 1.11.2.
    #[test]
    fn moves_come_in_python_chesss_order() {
        assert_eq!(order("r3k2r/8/8/3pP3/8/8/P6P/R3K2R w KQ d6 0 1"), EXPECTED_QUIET);
        assert_eq!(order("4r1k1/8/8/3P4/8/1Q6/P2B1P2/R3K3 w Q - 0 1"), EXPECTED_CHECK);
        assert_eq!(order("1r2k3/P7/8/8/8/8/8/4K3 w - - 0 1"), EXPECTED_PROMOTION);
    }

    const EXPECTED_QUIET: &str =
        "h1g1 h1f1 e1f2 e1e2 e1d2 e1f1 e1d1 a1d1 a1c1 a1b1 e1g1 e1c1 e5e6 h2h3 a2a3 h2h4 a2a4 e5d6";
    const EXPECTED_CHECK: &str = "e1f1 e1d1 b3e3 d2e3";
    const EXPECTED_PROMOTION: &str =
        "e1f2 e1e2 e1d2 e1f1 e1d1 a7b8q a7b8r a7b8b a7b8n a7a8q a7a8r a7a8b a7a8n";

    #[test]
    fn as_many_moves_are_tried_as_in_the_notebook() {
        let game = Game::from_fen(notebook::FEN).unwrap();
        let mut roots = Vec::new();
        let found = search(game.position(), notebook::DEPTH, &mut |searched| {
            roots.push(searched);
            true
        });
        let found = found.unwrap();
        assert_eq!((found.tried, found.value), (119_034, 1_000_000));
        assert_eq!(Game::uci(found.best.unwrap(), false), "h5f7");
        assert!(roots.len() == 119_034 / 1024 + 1 && roots.is_sorted() && roots[0] == 0, "{roots:?}");
        assert!(roots.last().is_some_and(|last| *last < game.legal_moves().len()), "{roots:?}");
    }

    #[test]
    fn a_search_told_to_stop_has_no_result() {
        assert_eq!(search(&Chess::default(), 20, &mut |_| false), None);
    }

    #[test]
    fn black_minimises() {
        // 1. f3 e5 2. g4 allows Qh4#, which is −100,000 in the notebook at any depth.
        let game = Game::from_uci(None, ["f2f3", "e7e5", "g2g4"]).unwrap();
        let found = search(game.position(), 2, &mut |_| true).unwrap();
        assert_eq!((Game::uci(found.best.unwrap(), false).as_str(), found.value), ("d8h4", -100_000));
    }

    #[test]
    fn no_move_is_named_where_all_lose_by_mate() {
        // 1. Kg1 Qg2#, and with colours changed.
        for (fen, value) in
            [("8/8/8/8/8/5qk1/8/7K w - - 0 1", -9_999), ("7k/8/5QK1/8/8/8/8/8 b - - 0 1", 9_999)]
        {
            let game = Game::from_fen(fen).unwrap();
            let found = search(game.position(), 2, &mut |_| true).unwrap();
            assert_eq!((found.best, found.value), (None, value), "{fen}");
        }
    }
}
