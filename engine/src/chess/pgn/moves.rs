//! Moves and variants as they are written in PGN.

use shakmaty::san::San;
use shakmaty::uci::UciMove;
use shakmaty::{Chess, Move, Role, Square};

use crate::chess::position::Game;

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

/// A legal move as people write it: SAN (`Nf3`, `exd5`, `O-O`, `0-0`, `e8=Q`), with or without `+`, `#`, `x`, `=`, `!` and
/// `?`, in capitals or not where that leaves one move, or UCI notation (`g1f3`).
pub fn read_move(game: &Game, text: &str) -> Option<Move> {
    let text = text.trim().trim_end_matches(['!', '?', '+', '#']);
    let san = San::from_ascii(text.as_bytes()).ok().and_then(|san| san_to_move(&san, game.position()));
    san.or_else(|| game.parse_uci(text).ok())
        .or_else(|| game.parse_uci(&text.to_ascii_lowercase()).ok())
        .or_else(|| loosely_written(game, text))
}

/// The legal move whose SAN has these letters and digits; as written, or else in small letters, if only one has.
fn loosely_written(game: &Game, text: &str) -> Option<Move> {
    let letters = |text: &str| -> String {
        text.replace('0', "O").chars().filter(char::is_ascii_alphanumeric).filter(|c| *c != 'x').collect()
    };
    let wanted = letters(text);
    let moves: Vec<(Move, String)> = game
        .legal_moves()
        .into_iter()
        .map(|m| (m, letters(&San::from_move(game.position(), m).to_string())))
        .collect();
    let only = |same: &dyn Fn(&str) -> bool| {
        let mut found = moves.iter().filter(|(_, san)| same(san));
        found.next().filter(|_| found.next().is_none()).map(|(m, _)| *m)
    };
    only(&|san| san == wanted).or_else(|| only(&|san| san.eq_ignore_ascii_case(&wanted)))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fen: &str, text: &str) -> Option<String> {
        let game = Game::from_fen(fen).unwrap();
        read_move(&game, text).map(|m| Game::uci(m, false))
    }

    #[test]
    fn moves_are_read_as_people_write_them() {
        let fen = "r3k2r/1P6/8/3p4/2P1P3/1B6/8/R3K2R w KQkq - 0 1";
        for (text, uci) in [
            ("cxd5", "c4d5"),
            ("cd5", "c4d5"),
            ("cd", ""),
            ("exd5!?", "e4d5"),
            ("Ba4+", "b3a4"),
            ("ba4", "b3a4"),
            ("O-O", "e1g1"),
            ("0-0-0", "e1c1"),
            ("o-o", "e1g1"),
            ("oo", "e1g1"),
            ("b8=Q", "b7b8q"),
            ("b8Q+", "b7b8q"),
            ("b8q", "b7b8q"),
            ("bxa8=n", "b7a8n"),
            ("e1g1", "e1g1"),
            ("E4E5", "e4e5"),
            ("Rxa8", "a1a8"),
            ("rf1", "h1f1"),
            ("Ke9", ""),
            ("", ""),
        ] {
            assert_eq!(read(fen, text).unwrap_or_default(), uci, "{text}");
        }
    }
}
