//! Moves and variants as they are written in PGN.

use shakmaty::san::San;
use shakmaty::uci::UciMove;
use shakmaty::{Chess, Move, Role, Square};

/// The legal move of a SAN, or of both squares (`g1f3`), which the parser takes for a pawn move.
pub fn san_to_move(san: &San, position: &Chess) -> Option<Move> {
    san.to_move(position).ok().or_else(|| match *san {
        San::Normal { role: Role::Pawn, file: Some(file), rank: Some(rank), to, promotion, .. } => {
            let from = Square::from_coords(file, rank);
            UciMove::Normal { from, to, promotion }.to_move(position).ok()
        }
        _ => None,
    })
}

/// Whether a Variant tag means Chess960; `None` for games other than chess.
pub fn is_chess960(variant: &[u8]) -> Option<bool> {
    let name: Vec<u8> =
        variant.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect();
    match name.as_slice() {
        b"" | b"standard" | b"chess" | b"normal" | b"classical" | b"fromposition" => Some(false),
        b"chess960"
        | b"fischerandom"
        | b"fischerrandom"
        | b"fischerandomchess"
        | b"frc"
        | b"dfrc"
        | b"doublechess960"
        | b"doublefischerandom"
        | b"freestyle" => Some(true),
        _ => None,
    }
}
