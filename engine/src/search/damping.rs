//! Wins and losses that count less: the closer the fifty-move rule is, and the fewer pieces are left.

use shakmaty::{Position, Role};

use super::params::Params;
use crate::chess::position::Game;
use crate::nets::eval::Wdl;

/// The pieces of the initial position, in pawns.
const ALL_PIECES: f32 = 62.0;

/// `wdl` with a part of win and loss counted as a draw, by
/// [`fifty_moves_damping`](Params::fifty_moves_damping) and [`material_damping`](Params::material_damping).
pub(super) fn damped(game: &Game, wdl: Wdl, params: &Params) -> Wdl {
    let mut part = 1.0;
    if params.fifty_moves_damping > 0.0 {
        part *= 1.0 - params.fifty_moves_damping * fifty_moves(game.position().halfmoves());
    }
    if params.material_damping > 0.0 {
        part *= 1.0 - params.material_damping * (1.0 - pieces(game) / ALL_PIECES).max(0.0);
    }
    let part = part.clamp(0.0, 1.0);
    let (win, loss) = (wdl.win * part, wdl.loss * part);
    Wdl { win, draw: 1.0 - win - loss, loss }
}

/// Nothing for the first 20 plies, 1/8 at 52, 1/2 at 100 (Princhess).
fn fifty_moves(plies: u32) -> f32 {
    (plies.saturating_sub(20) + plies.saturating_sub(52)) as f32 / 256.0
}

/// The pieces of both sides without pawns, in pawns: 3, 3, 5, 9.
fn pieces(game: &Game) -> f32 {
    let board = game.position().board();
    let worth = [(Role::Knight, 3), (Role::Bishop, 3), (Role::Rook, 5), (Role::Queen, 9)];
    worth.iter().map(|(role, pawns)| board.by_role(*role).count() * pawns).sum::<usize>() as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    const WDL: Wdl = Wdl { win: 0.5, draw: 0.3, loss: 0.2 };

    fn win(fen: &str, fifty_moves_damping: f32, material_damping: f32) -> f32 {
        let params = Params { fifty_moves_damping, material_damping, ..Params::default() };
        let wdl = damped(&Game::from_fen(fen).unwrap(), WDL, &params);
        assert!((wdl.win + wdl.draw + wdl.loss - 1.0).abs() < 1e-6);
        assert!((wdl.loss / wdl.win - 0.4).abs() < 1e-6, "win and loss in the same proportion");
        wdl.win
    }

    #[test]
    fn parts_by_hand() {
        let rooks = |plies: u32| format!("r3k3/p7/8/8/8/8/P7/R3K3 w - - {plies} 90");
        for (plies, part) in [(0, 1.0), (20, 1.0), (52, 0.875), (100, 0.5)] {
            assert!((win(&rooks(plies), 1.0, 0.0) - 0.5 * part).abs() < 1e-6, "{plies}");
        }
        // Two rooks are 10 of 62: 52/62 of the weight is lost.
        assert!((win(&rooks(90), 0.0, 0.5) - 0.5 * (1.0 - 0.5 * 52.0 / 62.0)).abs() < 1e-6);
        assert_eq!(win("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 1.0, 1.0), 0.5);
    }
}
