//! What a stored puzzle lacks and a game has.

use engine::position::{Game, PositionError};
use fastrand::Rng;

/// A puzzle's position, with counters as a game would have them.
///
/// Puzzles come without: were all of them at move 1, the move number would give them away. The
/// bounds of the move number are linear fits to its first and last decile over the number of pieces
/// gone, the clock's distribution (geometric) to its mean, in 2,500 games of masters.
pub(super) fn puzzle(fen: &str, rng: &mut Rng) -> Result<Game, PositionError> {
    let Some(bare) = fen.strip_suffix(" 0 1") else { return Game::from_fen(fen) };
    let board = bare.split(' ').next().unwrap_or_default();
    let pieces = board.bytes().filter(u8::is_ascii_alphabetic).count();
    let gone = 32usize.saturating_sub(pieces) as f64;
    let (first, last) = (1.0 + 1.75 * gone, 10.0 + 2.5 * gone);
    let number = (first + rng.f64() * (last - first)) as u32;
    // An en-passant square: a pawn has just moved.
    let clock = if bare.ends_with('-') { geometric(1.0 + (gone / 10.0).powi(2), rng) } else { 0 };
    Game::from_fen(&format!("{bare} {} {number}", clock.min(2 * number)))
}

/// A number from a geometric distribution, from 0, of this mean.
fn geometric(mean: f64, rng: &mut Rng) -> u32 {
    let uniform = 1.0 - rng.f64();
    (uniform.ln() / (mean / (1.0 + mean)).ln()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::Position;

    /// Means of move number and half-move clock.
    fn means(fen: &str) -> [f64; 2] {
        let mut rng = Rng::with_seed(1);
        let sums = (0..2000).fold([0.0; 2], |[numbers, clocks], _| {
            let game = puzzle(fen, &mut rng).unwrap();
            assert!(game.fen().starts_with(&fen[..fen.len() - 4]), "only the counters differ");
            let position = game.position();
            [numbers + f64::from(position.fullmoves().get()), clocks + f64::from(position.halfmoves())]
        });
        sums.map(|sum| sum / 2000.0)
    }

    #[test]
    fn counters_fit_the_material() {
        let [number, clock] = means("r2qr1k1/1b1n1pbp/p2p1np1/1ppP4/4PB2/2N2N1P/PPBQ1PP1/R3R1K1 w - - 0 1");
        assert!((9.0..15.0).contains(&number) && (0.7..1.5).contains(&clock), "{number} {clock}");
        let [number, clock] = means("8/5pk1/4p1p1/7p/3b1P1P/4P1P1/5BK1/8 b - - 0 1");
        assert!((45.0..52.0).contains(&number) && (4.0..6.0).contains(&clock), "{number} {clock}");
        let [_, clock] = means("4k3/8/8/8/3pP3/8/8/4K3 b - e3 0 1");
        assert_eq!(clock, 0.0);
    }

    #[test]
    fn counters_that_are_known_stay() {
        let fen = "4k3/8/8/8/8/8/4P3/4K3 w - - 3 40";
        assert_eq!(puzzle(fen, &mut Rng::with_seed(1)).unwrap().fen(), fen);
    }
}
