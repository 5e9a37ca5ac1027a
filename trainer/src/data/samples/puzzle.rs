//! Counters and history for puzzles, whose files have neither.

use std::num::NonZeroU32;

use engine::chess::position::{Game, PositionError};
use engine::nets::encoding::planes72;
use fastrand::Rng;
use shakmaty::{Position, fen::Fen};

use super::invented_past::{self, Past};

/// The history of the network's input.
const PAST: usize = planes72::HISTORY - 1;

/// Gives a puzzle the history and counters of a game. Otherwise a network could recognise puzzles by move number 1 and
/// missing history, and would expect tactics only there.
///
/// The last moves are [invented](invented_past); a position that no move can reach stays without history. The counters
/// are drawn from distributions fitted to 2,500 master games by the number of captured pieces: the move number is
/// uniform between the games' first and last decile, which are fitted linearly; the half-move clock at the start of the
/// history is geometric, so that its mean at the puzzle is roughly that of the games.
pub(crate) fn with_context(fen: &str, rng: &mut Rng) -> Result<Game, PositionError> {
    let stored = Game::from_fen(fen)?;
    if !fen.ends_with(" 0 1") {
        return Ok(stored);
    }
    let gone = 32usize.saturating_sub(stored.position().board().occupied().count()) as f64;
    let (first, last) = (1.0 + 1.75 * gone, 10.0 + 2.5 * gone);
    let number = (first + rng.f64() * (last - first)) as u32;
    let clock = geometric(1.0 + 3.0 * (gone / 10.0).powi(2), rng).min(2 * number).min(90);
    let mut with_history = |plies: usize| {
        let Past { mut start, moves } = invented_past::invent(stored.position(), plies, rng);
        start.fullmoves = NonZeroU32::new(number.saturating_sub(plies as u32 / 2)).unwrap_or(NonZeroU32::MIN);
        start.halfmoves = if start.ep_square.is_none() { clock } else { 0 };
        let fen = Fen::try_from_setup(start).expect("taking back moves keeps a position valid");
        let mut game = Game::from_fen(&fen.to_string())?;
        moves.into_iter().for_each(|m| game.play(m));
        Ok(game)
    };
    let game = with_history(PAST)?;
    // An invented double push may add an en-passant capture.
    if game.hash() == stored.hash() { Ok(game) } else { with_history(0) }
}

/// Geometric distribution on 0, 1, 2 … with mean `mean`.
fn geometric(mean: f64, rng: &mut Rng) -> u32 {
    let uniform = 1.0 - rng.f64();
    (uniform.ln() / (mean / (1.0 + mean)).ln()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::Board;

    fn means(fen: &str) -> [f64; 2] {
        let mut rng = Rng::with_seed(1);
        let sums = (0..2000).fold([0.0; 2], |[numbers, clocks], _| {
            let game = with_context(fen, &mut rng).unwrap();
            let position = game.position();
            [numbers + f64::from(position.fullmoves().get()), clocks + f64::from(position.halfmoves())]
        });
        sums.map(|sum| sum / 2000.0)
    }

    #[test]
    fn counters_fit_the_material() {
        let [number, clock] = means("r2qr1k1/1b1n1pbp/p2p1np1/1ppP4/4PB2/2N2N1P/PPBQ1PP1/R3R1K1 w - - 0 1");
        assert!((9.0..15.0).contains(&number) && (1.0..3.5).contains(&clock), "{number} {clock}");
        let [number, clock] = means("8/5pk1/4p1p1/7p/3b1P1P/4P1P1/5BK1/8 b - - 0 1");
        assert!((45.0..52.0).contains(&number) && (2.5..5.5).contains(&clock), "{number} {clock}");
        let [_, clock] = means("4k3/8/8/8/3pP3/8/8/4K3 b - e3 0 1");
        assert_eq!(clock, 0.0);
    }

    /// Some are in check, in double check, or have castling rights or en passant.
    const PUZZLES: [&str; 7] = [
        "Q7/4ppbk/6pp/5q2/P3n3/4PNBP/1r3PP1/3R2K1 b - - 0 1",
        "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 0 1",
        "3r4/1Q3ppk/1p2q2p/1R6/2P1p3/1P2P1PP/5P2/3R3K b - - 0 1",
        "r3k2r/p4ppp/2n5/8/8/2N5/P4PPP/R3K2R w KQkq - 0 1",
        "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 1",
        "4k3/8/8/8/4r3/8/8/4K3 w - - 0 1",
        "r1b2k1r/ppp1bppp/8/1B1Q4/5q2/2P5/PPP2PPP/R3R1K1 b - - 0 1",
    ];

    #[test]
    fn an_invented_past_leads_legally_to_the_puzzle() {
        let mut rng = Rng::with_seed(7);
        for fen in PUZZLES {
            let stored = Game::from_fen(fen).unwrap();
            let mut known = [0; PAST + 1];
            for _ in 0..200 {
                let game = with_context(fen, &mut rng).unwrap();
                assert_eq!(game.hash(), stored.hash(), "{}", game.fen());
                assert_eq!(game.position().board(), stored.position().board());
                known[game.ply()] += 1;
                let Past { start, moves } = invented_past::invent(stored.position(), PAST, &mut rng);
                let mut game = Game::from_fen(&Fen::try_from_setup(start).unwrap().to_string()).unwrap();
                for m in moves {
                    assert!(game.legal_moves().contains(&m), "{m:?} in {}", game.fen());
                    game.play(m);
                }
            }
            assert!(known[PAST] > 150, "{fen}: {known:?}");
        }
    }

    #[test]
    fn the_past_has_captures_pawn_moves_and_quiet_moves() {
        let mut rng = Rng::with_seed(3);
        let pasts: Vec<Game> = (0..500).map(|_| with_context(PUZZLES[0], &mut rng).unwrap()).collect();
        let share = |of: &dyn Fn(&Game) -> bool| {
            pasts.iter().filter(|game| of(game)).count() as f64 / pasts.len() as f64
        };
        let pieces = |board: &Board| board.occupied().count();
        let captured = |game: &Game| {
            game.past().last().is_some_and(|past| pieces(&past.board) > pieces(game.position().board()))
        };
        assert!((0.1..0.4).contains(&share(&captured)));
        assert!((0.2..0.6).contains(&share(&|game| game.position().halfmoves() == 0)));
    }

    #[test]
    fn known_counters_are_kept() {
        let fen = "4k3/8/8/8/8/8/4P3/4K3 w - - 3 40";
        assert_eq!(with_context(fen, &mut Rng::with_seed(1)).unwrap().fen(), fen);
    }
}
