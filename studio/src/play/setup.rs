//! Positions that a person sets up: what is wrong with them, in words.

use engine::chess::position::Game;
use serde::Serialize;
use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Chess, PositionErrorKinds};

use super::seats::ActionError;

/// Reasons to refuse a position.
const WRONG: [(PositionErrorKinds, &str); 7] = [
    (PositionErrorKinds::EMPTY_BOARD, "the board is empty"),
    (PositionErrorKinds::MISSING_KING, "a king is missing"),
    (PositionErrorKinds::TOO_MANY_KINGS, "a side has more than one king"),
    (PositionErrorKinds::PAWNS_ON_BACKRANK, "a pawn stands on the first or the last rank"),
    (PositionErrorKinds::OPPOSITE_CHECK, "the side that is not to move is in check"),
    (PositionErrorKinds::INVALID_CASTLING_RIGHTS, "castling needs the king and the rook on their squares"),
    (PositionErrorKinds::INVALID_EP_SQUARE, "no pawn can have passed the en passant square just now"),
];

/// What no game leads to. The engine plays it all the same.
const STRANGE: [(PositionErrorKinds, &str); 2] = [
    (PositionErrorKinds::TOO_MUCH_MATERIAL, "a side has more pieces than its pawns can have become"),
    (PositionErrorKinds::IMPOSSIBLE_CHECK, "no move can have given this check"),
];

/// A position that can be played.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetUp {
    pub fen: String,
    /// Why no game leads to it.
    pub strange: Option<String>,
}

fn reasons(kinds: PositionErrorKinds, words: &[(PositionErrorKinds, &str)]) -> Option<String> {
    let found: Vec<&str> =
        words.iter().filter(|(kind, _)| kinds.intersects(*kind)).map(|(_, text)| *text).collect();
    (!found.is_empty()).then(|| found.join(", "))
}

/// An error says all that is wrong with the position.
pub fn set_up(fen: &str) -> Result<SetUp, ActionError> {
    let fen = fen.trim();
    let invalid = |text: String| ActionError::Invalid(text);
    let setup = Fen::from_ascii(fen.as_bytes())
        .map_err(|error| invalid(format!("This is no FEN: {error}.")))?
        .into_setup();
    let checked = setup.clone().position::<Chess>(CastlingMode::detect(&setup));
    let kinds = checked.err().map_or(PositionErrorKinds::empty(), |error| error.kinds());
    if let Some(text) = reasons(kinds, &WRONG) {
        return Err(invalid(format!("This position is not legal: {text}.")));
    }
    let game =
        Game::from_fen(fen).map_err(|error| invalid(format!("This position is not legal: {error}.")))?;
    Ok(SetUp { fen: game.fen(), strange: reasons(kinds, &STRANGE) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_position_is_told() {
        let wrong = |fen: &str| set_up(fen).unwrap_err().to_string();
        assert!(wrong("8/8/8/8/8/8/8/8 w - - 0 1").contains("empty"));
        assert!(wrong("4k3/8/8/8/8/8/8/8 w - - 0 1").contains("a king is missing"));
        assert!(wrong("4k3/8/8/8/8/8/8/K3R3 w - - 0 1").contains("not to move is in check"));
        assert!(wrong("4k2P/8/8/8/8/8/8/4K3 w - - 0 1").contains("pawn"));
        assert!(wrong("4k3/8/8/8/8/8/8/4K3 w K - 0 1").contains("castling"));
        assert!(wrong("4k3/8/8/8/8/8/8/4K3 w - e6 0 1").contains("en passant"));
        assert!(wrong("nonsense").contains("no FEN"));
        let fine = set_up("4k3/8/8/8/8/8/8/4K2R w K - 0 1").unwrap();
        assert_eq!((fine.fen.as_str(), fine.strange), ("4k3/8/8/8/8/8/8/4K2R w K - 0 1", None));
        let queens = set_up("4k3/8/8/8/8/QQQ5/PPPPPPPP/4K3 w - - 0 1").unwrap();
        assert!(queens.strange.unwrap().contains("more pieces"));
    }
}
