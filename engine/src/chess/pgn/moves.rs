//! Parses moves and variant names as PGN files write them.

use shakmaty::san::{San, SanPlus};
use shakmaty::uci::UciMove;
use shakmaty::{CastlingSide, Chess, File, Move, Position, Rank, Role, Square};

use super::tree::Step;
use crate::chess::position::Game;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoMove {
    /// Not a move, or not in this game's language.
    Unreadable,
    /// No legal move fits, or several do.
    Illegal,
    Null,
}

/// The piece letters that a game has used: N, B, R, Q (English) or S, L, T, D (German and Nordic languages). A move
/// that brings in the other kind is unreadable, as are other languages: in many of them R is the king.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Language {
    english: bool,
    german: bool,
}

impl Language {
    fn role(&mut self, letter: char) -> Option<Role> {
        let (role, of_language) = match letter {
            'K' => return Some(Role::King),
            'N' => (Role::Knight, &mut self.english),
            'B' => (Role::Bishop, &mut self.english),
            'R' => (Role::Rook, &mut self.english),
            'Q' => (Role::Queen, &mut self.english),
            'S' => (Role::Knight, &mut self.german),
            'L' => (Role::Bishop, &mut self.german),
            'T' => (Role::Rook, &mut self.german),
            'D' => (Role::Queen, &mut self.german),
            _ => return None,
        };
        *of_language = true;
        Some(role)
    }

    fn is_mixed(self) -> bool {
        self.english && self.german
    }
}

pub(super) fn read_san(
    word: &[u8],
    position: &Chess,
    language: &mut Language,
) -> Result<(Move, SanPlus), NoMove> {
    // In Dutch, P is the knight.
    if !word.starts_with(b"P")
        && let Ok(san) = SanPlus::from_ascii(word)
        && let Ok(m) = san.san.to_move(position)
    {
        let letter = char::from(word[0]);
        if letter.is_ascii_uppercase() && language.role(letter).is_some() && language.is_mixed() {
            return Err(NoMove::Unreadable);
        }
        return Ok((m, san));
    }
    let legal = match written(word, language).ok_or(NoMove::Unreadable)? {
        Written::Null => return Err(NoMove::Null),
        Written::Castle(side) => San::Castle(side).to_move(position).ok(),
        Written::PawnCapture { from, to } => {
            let moves = position.legal_moves();
            let mut fitting = moves.iter().filter(|m| {
                m.role() == Role::Pawn && m.from().map(Square::file) == Some(from) && m.to().file() == to
            });
            fitting.next().filter(|_| fitting.next().is_none()).copied()
        }
        Written::Normal(read) => {
            let mut moves = read.iter().filter_map(|normal| normal.to_move(position));
            moves.next().filter(|first| moves.all(|other| other == *first))
        }
    };
    let m = legal.ok_or(NoMove::Illegal)?;
    Ok((m, SanPlus::from_move(position.clone(), m)))
}

/// A move of a variation, where each move may be in its own language. `None` if it is no legal move.
pub(super) fn read_variation(word: &[u8], position: &Chess) -> Option<Step> {
    match read_san(word, position, &mut Language::default()) {
        Ok((m, _)) => Some(Step::Move(m)),
        Err(NoMove::Null) if Step::Null.played(position).is_some() => Some(Step::Null),
        Err(NoMove::Null) => Some(Step::Unread("--".into())),
        Err(_) => None,
    }
}

enum Written {
    Null,
    Castle(CastlingSide),
    PawnCapture {
        from: File,
        to: File,
    },
    /// Several readings: a small b is a file or the bishop.
    Normal(Vec<Normal>),
}

#[derive(Clone, Copy)]
struct Normal {
    /// `None` if only squares are given.
    role: Option<Role>,
    file: Option<File>,
    rank: Option<Rank>,
    to: Square,
    promotion: Option<Role>,
}

impl Normal {
    /// The only legal move that fits; the capture sign is ignored.
    fn to_move(self, position: &Chess) -> Option<Move> {
        if let (None, Some(file), Some(rank)) = (self.role, self.file, self.rank) {
            let from = Square::from_coords(file, rank);
            return UciMove::Normal { from, to: self.to, promotion: self.promotion }.to_move(position).ok();
        }
        let moves = position.san_candidates(self.role.unwrap_or(Role::Pawn), self.to);
        let mut fitting = moves.iter().filter(|m| {
            let from = m.from().expect("chess has no drops");
            !m.is_castle()
                && self.file.is_none_or(|file| file == from.file())
                && self.rank.is_none_or(|rank| rank == from.rank())
                && self.promotion == m.promotion()
        });
        fitting.next().filter(|_| fitting.next().is_none()).copied()
    }
}

fn written(word: &[u8], language: &mut Language) -> Option<Written> {
    if matches!(word, b"--" | b"Z0" | b"z0" | b"0000" | b"@@@@" | b"null") {
        return Some(Written::Null);
    }
    let text = without_suffixes(std::str::from_utf8(word).ok()?);
    let castling = text.replace(['-', '–', '—'], "").replace('0', "O").to_ascii_uppercase();
    match castling.as_str() {
        "OO" => return Some(Written::Castle(CastlingSide::KingSide)),
        "OOO" => return Some(Written::Castle(CastlingSide::QueenSide)),
        _ => (),
    }
    let plain = without_figurines(text);
    let first = plain.chars().next()?;
    let (role, squares) = match first {
        // These letters name no file.
        'n' | 'r' | 'q' | 'k' => (language.role(first.to_ascii_uppercase()), &plain[1..]),
        _ if first.is_ascii_uppercase() => (Some(language.role(first)?), &plain[1..]),
        // A pawn's figurine adds nothing.
        _ => (None, plain.as_str()),
    };
    let mut read = Vec::from_iter(normal(role, squares, language));
    // Two squares denote the move of whichever piece stands on the first.
    let is_two_squares = |normal: &Normal| normal.role.is_none();
    if let Some(squares) = plain.strip_prefix('b').filter(|_| !read.iter().any(is_two_squares)) {
        read.extend(normal(Some(Role::Bishop), squares, language));
    }
    if let Some(files) = capture_by_files(&plain) {
        return Some(files);
    }
    (!read.is_empty() && !language.is_mixed()).then_some(Written::Normal(read))
}

/// A pawn's capture as in `exd` or `ed`.
fn capture_by_files(text: &str) -> Option<Written> {
    let mut letters = text.chars();
    let from = File::from_char(letters.next()?)?;
    let to = File::from_char(letters.next().filter(|c| *c != 'x').or_else(|| letters.next())?)?;
    (letters.next().is_none() && from != to).then_some(Written::PawnCapture { from, to })
}

/// Parses squares, as in `f3`, `xd5`, `b1-c3`, `1xf3`, with a promotion, as in `a8=Q`, `xa8N`, `b7a8q`.
fn normal(role: Option<Role>, text: &str, language: &mut Language) -> Option<Normal> {
    let bytes = text.as_bytes();
    let file = |at: usize| bytes.get(at).and_then(|byte| File::from_char(char::from(*byte)));
    let rank = |at: usize| bytes.get(at).and_then(|byte| Rank::from_char(char::from(*byte)));
    let square = |at: usize| Some(Square::from_coords(file(at)?, rank(at + 1)?));
    // The target begins after the origin's square, file or rank, and a sign.
    let sign = |at: usize| {
        ["x", "X", ":", "×", "-", "–"]
            .into_iter()
            .find(|sign| text.get(at..).is_some_and(|rest| rest.starts_with(sign)))
    };
    let origins = [(file(0), rank(1)), (file(0), None), (None, rank(0)), (None, None)];
    for (index, (file, rank)) in origins.into_iter().enumerate() {
        let length = [2, 1, 1, 0][index];
        if usize::from(file.is_some()) + usize::from(rank.is_some()) != length {
            continue;
        }
        let between = sign(length);
        let at = length + between.map_or(0, str::len);
        let Some(to) = square(at) else { continue };
        let promotion = match text[at + 2..].strip_prefix(['=', '/']).unwrap_or(&text[at + 2..]) {
            "" => None,
            letter if letter.len() == 1 => {
                let role = language.role(char::from(letter.as_bytes()[0].to_ascii_uppercase()))?;
                Some(role).filter(|role| *role != Role::King).map(Some)?
            }
            _ => continue,
        };
        if promotion.is_some() && role.is_some() {
            return None;
        }
        let role = if file.is_some() && rank.is_some() { role } else { role.or(Some(Role::Pawn)) };
        return Some(Normal { role, file, rank, to, promotion });
    }
    None
}

fn without_suffixes(mut text: &str) -> &str {
    loop {
        let shorter = text.trim_end_matches(['+', '#', '!', '?', '.', ',', '†', '‡']);
        let shorter = ["ch", "mate", "ep", "e.p"]
            .into_iter()
            .find_map(|end| shorter.strip_suffix(end))
            .unwrap_or(shorter);
        if shorter.len() == text.len() {
            return text;
        }
        text = shorter;
    }
}

/// Replaces figurines by English letters, those of pawns by nothing.
fn without_figurines(text: &str) -> String {
    let letter = |figure: char| match figure {
        '♔' | '♚' => Some('K'),
        '♕' | '♛' => Some('Q'),
        '♖' | '♜' => Some('R'),
        '♗' | '♝' => Some('B'),
        '♘' | '♞' => Some('N'),
        // Variation selectors choose a figurine's look.
        '♙' | '♟' | '\u{fe0e}' | '\u{fe0f}' => None,
        other => Some(other),
    };
    if text.is_ascii() { text.to_owned() } else { text.chars().filter_map(letter).collect() }
}

/// Also accepts two squares (`g1f3`), which the SAN parser takes for a pawn move.
pub fn san_to_move(san: &San, position: &Chess) -> Option<Move> {
    san.to_move(position).ok().or_else(|| match *san {
        San::Normal { role: Role::Pawn, file: Some(file), rank: Some(rank), to, promotion, .. } => {
            let from = Square::from_coords(file, rank);
            UciMove::Normal { from, to, promotion }.to_move(position).ok()
        }
        _ => None,
    })
}

/// Reads a move as people type it: SAN, UCI notation (`g1f3`), or in any case if only one move fits.
pub fn read_move(game: &Game, text: &str) -> Option<Move> {
    let text = text.trim().trim_end_matches(['!', '?', '+', '#']);
    let read = read_san(text.as_bytes(), game.position(), &mut Language::default());
    read.ok()
        .map(|(m, _)| m)
        .or_else(|| game.parse_uci(text).ok())
        .or_else(|| game.parse_uci(&text.to_ascii_lowercase()).ok())
        .or_else(|| loosely_written(game, text))
}

/// The only legal move whose SAN has these letters and digits, compared exactly, then in lower case.
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

/// Whether a Variant tag means Chess960; `None` if it is not chess.
pub fn is_chess960(variant: &[u8]) -> Option<bool> {
    let name: Vec<u8> =
        variant.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect();
    let name = name.strip_suffix(b"chess").unwrap_or(&name);
    match name {
        b"" | b"standard" | b"normal" | b"classical" | b"orthodox" | b"regular" | b"fromposition" => {
            Some(false)
        }
        b"chess960"
        | b"960"
        | b"fischerandom"
        | b"fischerrandom"
        | b"fischer"
        | b"frc"
        | b"dfrc"
        | b"doublechess960"
        | b"doublefischerandom"
        | b"doublefischerrandom"
        | b"chess960fischerrandom"
        | b"fischerrandomchess960"
        | b"wildfr"
        | b"freestyle" => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIDDLE: &str = "r3k2r/1P6/8/3p4/2P1P3/1B6/8/R3K2R w KQkq - 0 1";

    fn read(fen: &str, text: &str) -> Option<String> {
        let game = Game::from_fen(fen).unwrap();
        read_move(&game, text).map(|m| Game::uci(m, false))
    }

    #[test]
    fn moves_are_read_as_people_write_them() {
        for (text, uci) in [
            ("cxd5", "c4d5"),
            ("cd5", "c4d5"),
            ("cd", "c4d5"),
            ("ab", ""),
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
            assert_eq!(read(MIDDLE, text).unwrap_or_default(), uci, "{text}");
        }
    }

    #[test]
    fn words_of_games_are_read_as_other_readers_read_them() {
        let san = |fen: &str, text: &str| {
            let position = Game::from_fen(fen).unwrap().position().clone();
            read_san(text.as_bytes(), &position, &mut Language::default()).map(|(m, _)| Game::uci(m, false))
        };
        let ep = "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1";
        let knights = "4k3/8/8/8/8/8/8/1N2KN2 w - - 0 1";
        for (fen, text, uci) in [
            (MIDDLE, "e4-e5", "e4e5"),
            (MIDDLE, "c4xd5", "c4d5"),
            (MIDDLE, "c4:d5", "c4d5"),
            (MIDDLE, "Bb3-a4++", "b3a4"),
            (MIDDLE, "bxa8N", "b7a8n"),
            (MIDDLE, "b7a8n", "b7a8n"),
            (MIDDLE, "b7xa8=Q#", "b7a8q"),
            (MIDDLE, "b8/R", "b7b8r"),
            (MIDDLE, "o-o-o", "e1c1"),
            (MIDDLE, "0-0+", "e1g1"),
            (MIDDLE, "Ra8", "a1a8"),
            (MIDDLE, "Rxa7", "a1a7"),
            (MIDDLE, "♗a4", "b3a4"),
            (MIDDLE, "bxa8=♕", "b7a8q"),
            (MIDDLE, "La4", "b3a4"),
            (MIDDLE, "Th1-h8", "h1h8"),
            (MIDDLE, "b8D", "b7b8q"),
            (MIDDLE, "e1-g1", "e1g1"),
            (ep, "exd6ep", "e5d6"),
            (ep, "exd6e.p.", "e5d6"),
            (ep, "e5d6", "e5d6"),
            (ep, "exd", "e5d6"),
            (ep, "ed+", "e5d6"),
            (ep, "exd6!?", "e5d6"),
            ("1nb1k3/8/8/8/8/8/8/4K3 b - - 0 1", "b8d7", "b8d7"),
            ("1nb1k3/8/8/8/8/8/8/4K3 b - - 0 1", "bd7", "c8d7"),
            (knights, "Nb1-c3", "b1c3"),
            (knights, "Nb1c3+", "b1c3"),
            (knights, "nbd2", "b1d2"),
            (knights, "Sbd2", "b1d2"),
            (knights, "♘c3", "b1c3"),
            (knights, "N1d2", ""),
            (knights, "Nd2", ""),
        ] {
            assert_eq!(san(fen, text).unwrap_or_default(), uci, "{text}");
        }
        for text in ["b8", "Qe5", "Bb3", "cxe5", "c4d5q"] {
            assert_eq!(san(MIDDLE, text), Err(NoMove::Illegal), "{text}");
        }
        for text in ["Pe5", "Cf3", "e-5", "e9", "xyz", "Nf3=X", "e4e", "a", "=", "\u{e9}4", "bxa8=K", "@e4"] {
            assert_eq!(san(MIDDLE, text), Err(NoMove::Unreadable), "{text}");
        }
        for text in ["--", "Z0", "0000"] {
            assert_eq!(san(MIDDLE, text), Err(NoMove::Null), "{text}");
        }
        // A small b is a pawn or a bishop.
        let both = "4k3/8/8/2p5/1P6/4B3/8/4K3 w - - 0 1";
        assert_eq!(san(both, "bc5"), Err(NoMove::Illegal));
        let two = "4k3/8/3p4/2P5/3p4/2P5/8/4K3 w - - 0 1";
        assert_eq!(san(two, "cxd"), Err(NoMove::Illegal), "two captures fit");
        assert_eq!(san(two, "dxc"), Err(NoMove::Illegal));
        assert_eq!(san(both, "bxc5").as_deref(), Ok("b4c5"), "as the standard says");
        assert_eq!(san(both, "bd4").as_deref(), Ok("e3d4"));
        assert_eq!(san(both, "bb5").as_deref(), Ok("b4b5"));
    }

    #[test]
    fn the_letters_of_two_languages_are_not_mixed() {
        let mut language = Language::default();
        let position = Game::from_fen(MIDDLE).unwrap().position().clone();
        assert!(read_san(b"La4+", &position, &mut language).is_ok());
        assert!(read_san(b"Kf2", &position, &mut language).is_ok());
        assert_eq!(read_san(b"Rf1", &position, &mut language), Err(NoMove::Unreadable));
        let mut language = Language::default();
        assert!(read_san(b"Rf1", &position, &mut language).is_ok());
        assert_eq!(read_san(b"Dd8", &position, &mut language), Err(NoMove::Unreadable));
    }

    #[test]
    fn chess960_has_many_names() {
        for name in [
            "Fischer Random Chess",
            "Chess 960",
            "fischerandom",
            "Chess960",
            "chess 960 ",
            "FRC",
            "Freestyle Chess",
            "Chess960 (Fischer Random)",
            "wild/fr",
        ] {
            assert_eq!(is_chess960(name.as_bytes()), Some(true), "{name}");
        }
        for name in ["", "Standard", "chess", "From Position", "Standard Chess"] {
            assert_eq!(is_chess960(name.as_bytes()), Some(false), "{name}");
        }
        for name in ["Crazyhouse", "Atomic", "antichess", "Three-check", "King of the Hill"] {
            assert_eq!(is_chess960(name.as_bytes()), None, "{name}");
        }
    }
}
