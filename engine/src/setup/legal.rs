//! The last check of moves before they leave the engine.

use shakmaty::Move;

use crate::chess::position::Game;

/// Cuts `line` before a move that is illegal or whose UCI text means another move, and logs the cut as a bug of the
/// search.
pub fn legal_part<'a>(game: &Game, line: &'a [Move], chess960: bool) -> &'a [Move] {
    let mut after = game.clone();
    let is_wrong = |m: &Move| {
        let is_legal = after.parse_uci(&Game::uci(*m, chess960)).is_ok_and(|parsed| parsed == *m);
        if is_legal {
            after.play(*m);
        }
        !is_legal
    };
    match line.iter().position(is_wrong) {
        None => line,
        Some(place) => {
            log::error!("move {} of {line:?} is not legal in {}", place + 1, game.fen());
            line.get(..place).unwrap_or_default()
        }
    }
}

/// `chosen` if legal, else another legal move.
pub fn first_legal(game: &Game, chosen: Option<Move>) -> Option<Move> {
    let legal = game.legal_moves();
    chosen.filter(|m| legal.contains(m)).or_else(|| legal.first().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_before_its_first_wrong_move() {
        let game = Game::new();
        let mut later = game.clone();
        let mut line = Vec::new();
        for text in ["e2e4", "e7e5", "g1f3"] {
            line.push(later.parse_uci(text).unwrap());
            later.play(line[line.len() - 1]);
        }
        assert_eq!(legal_part(&game, &line, false), line);
        line.swap(1, 2);
        assert_eq!(legal_part(&game, &line, false), &line[..1]);
        assert_eq!(first_legal(&game, Some(line[0])), Some(line[0]));
        assert_eq!(first_legal(&game, Some(line[2])), game.legal_moves().first().copied());
    }

    /// Two rooks on one side of the king, only one of which may castle (from a public report).
    #[test]
    fn a_castling_move_of_another_rook_is_wrong() {
        let fen = |right: &str| format!("r1bqk2r/ppp2ppp/2n5/3p4/8/2N2NP1/PPP2PBP/R3K1RR w {right} - 0 1");
        let [g, h] = ["G", "H"].map(|right| Game::from_fen(&fen(right)).unwrap());
        let castles = |game: &Game| game.legal_moves().into_iter().find(|m| m.is_castle());
        let castling = castles(&g).expect("castling with the rook on g1 is legal");
        assert_eq!(castles(&h), None, "the rook on g1 is in the way");
        assert_eq!(legal_part(&g, &[castling], true), [castling]);
        assert_eq!(legal_part(&h, &[castling], true), []);
    }
}
