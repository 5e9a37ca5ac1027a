//! Progress in won endgames. Against a bare king, a network's value is near 1 however far the mate is. So
//! [`towards_mate`] adds the distances that textbooks use: of the bare king from the edge, and between the kings.

use shakmaty::{Color, Position};

use crate::chess::position::Game;
use crate::chess::wdl::Wdl;

/// Whether one side has only its king, against pieces without pawns that suffice to mate.
///
/// This lasts to the end of the game unless pieces are lost. If it holds at the root, [`towards_mate`] can apply to
/// every leaf without making the capture of the last man or the promotion of the last pawn look bad.
pub fn is_bare_king(game: &Game) -> bool {
    bare_king(game).is_some()
}

/// Turns a part of a win against a bare king into a draw: `weight` times [`distance_to_mate`]. `wdl` is for the side to
/// move.
pub fn towards_mate(game: &Game, wdl: Wdl, weight: f32) -> Wdl {
    let Some(bare) = bare_king(game) else { return wdl };
    let doubt = weight * distance_to_mate(game, bare);
    let doubtful = |won: f32| Wdl { draw: wdl.draw + won * doubt, ..wdl };
    if bare == game.turn() {
        Wdl { loss: wdl.loss * (1.0 - doubt), ..doubtful(wdl.loss) }
    } else {
        Wdl { win: wdl.win * (1.0 - doubt), ..doubtful(wdl.win) }
    }
}

fn bare_king(game: &Game) -> Option<Color> {
    let position = game.position();
    let board = position.board();
    let bare = Color::ALL.into_iter().find(|side| board.by_color(*side).count() == 1)?;
    (board.pawns().is_empty() && !position.has_insufficient_material(!bare)).then_some(bare)
}

/// 0 at mate, at most 1: half by the bare king's distance from the edges, half by the distance between the kings.
fn distance_to_mate(game: &Game, bare: Color) -> f32 {
    let board = game.position().board();
    let (Some(lone), Some(king)) = (board.king_of(bare), board.king_of(!bare)) else { return 0.0 };
    let to_edge = |line: u32| line.min(7 - line);
    // 6 in the centre, at most 3 on the edge, 0 in a corner.
    let free = (to_edge(lone.file() as u32) + to_edge(lone.rank() as u32)) as f32 / 6.0;
    let apart = lone.distance(king).saturating_sub(2) as f32 / 5.0;
    (free + apart) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(fen: &str, wdl: Wdl) -> Wdl {
        towards_mate(&Game::from_fen(fen).unwrap(), wdl, 0.5)
    }

    /// What remains of a certain win.
    fn won(fen: &str) -> f32 {
        let wdl = value(fen, Wdl::WIN);
        assert!((wdl.win + wdl.draw - 1.0).abs() < 1e-6 && wdl.loss == 0.0, "{wdl:?}");
        wdl.win
    }

    #[test]
    fn distances_worked_out_by_hand() {
        // Three steps from both edges, kings four apart: (6/6 + 2/5) / 2 = 0.7, half of which is lost.
        assert!((won("8/8/8/3k4/8/8/8/K6R w - - 0 1") - 0.65).abs() < 1e-6);
        assert_eq!(won("k7/8/K7/8/8/8/8/3R4 w - - 0 1"), 1.0);
        // On the edge, three steps from the corner, kings five apart: (3/6 + 3/5) / 2 = 0.55.
        assert!((won("3k4/8/8/8/8/3K4/8/1BBN4 w - - 0 1") - 0.725).abs() < 1e-6);
    }

    #[test]
    fn the_bare_side_and_either_colour_see_the_same() {
        let wdl = Wdl { win: 0.1, draw: 0.2, loss: 0.7 };
        let white = value("8/8/8/3k4/8/8/8/K6R w - - 0 1", wdl.flipped());
        assert_eq!(value("8/8/8/3k4/8/8/8/K6R b - - 0 1", wdl), white.flipped());
        assert_eq!(value("k6r/8/8/8/3K4/8/8/8 b - - 0 1", wdl.flipped()), white);
        assert!((white.win + white.draw + white.loss - 1.0).abs() < 1e-6 && white.loss == wdl.win);
    }

    #[test]
    fn nothing_else_is_changed() {
        let wdl = Wdl { win: 0.9, draw: 0.1, loss: 0.0 };
        for fen in [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "8/8/8/3k4/8/8/P7/K6R w - - 0 1",
            "8/8/8/3k3p/8/8/8/K5R1 w - - 0 1",
            "8/8/8/3k4/8/8/8/K2N4 w - - 0 1",
            "8/8/8/3k4/8/8/8/K7 w - - 0 1",
        ] {
            assert_eq!(value(fen, wdl), wdl, "{fen}");
            assert!(!is_bare_king(&Game::from_fen(fen).unwrap()), "{fen}");
        }
        let rook = Game::from_fen("8/8/8/3k4/8/8/8/K6R w - - 0 1").unwrap();
        assert_eq!(towards_mate(&rook, wdl, 0.0), wdl);
    }
}
