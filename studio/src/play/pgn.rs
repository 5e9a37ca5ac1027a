use engine::chess::pgn::PgnGame;
use shakmaty::{Color, KnownOutcome, Outcome};

use super::played::{EndReason, GameEnd, PlayedGame, Winner};

pub fn result(game: &PgnGame) -> Option<GameEnd> {
    let winner = match game.outcome() {
        Outcome::Known(KnownOutcome::Decisive { winner }) => winner.into(),
        Outcome::Known(KnownOutcome::Draw) => Winner::Draw,
        Outcome::Unknown => return None,
    };
    Some(GameEnd { winner, reason: EndReason::Recorded })
}

#[derive(Clone, Copy, Debug)]
pub struct PgnHeader<'a> {
    pub event: &'a str,
    /// The games of a pair share their round.
    pub round: &'a str,
    /// `YYYY.MM.DD`.
    pub date: &'a str,
}

impl PgnHeader<'_> {
    pub fn casual(date: &str) -> PgnHeader<'_> {
        PgnHeader { event: "Casual game", round: "-", date }
    }
}

pub fn pgn_game(game: &PlayedGame, names: [&str; 2], end: Option<GameEnd>, header: PgnHeader<'_>) -> PgnGame {
    let mut tags = vec![
        ("Event", header.event),
        ("Site", "Philidor's studio"),
        ("Date", header.date),
        ("Round", header.round),
        ("White", names[0]),
        ("Black", names[1]),
        ("Result", end.map_or("*", GameEnd::result)),
    ];
    if let Some(fen) = game.start() {
        tags.extend([("SetUp", "1"), ("FEN", fen)]);
    }
    if game.is_chess960() {
        tags.push(("Variant", "Chess960"));
    }
    if let Some(opening) = game.opening() {
        tags.extend([("ECO", opening.eco.as_str()), ("Opening", opening.name.as_str())]);
    }
    let result = match end.map(|end| end.winner) {
        Some(Winner::White) => Outcome::Known(KnownOutcome::Decisive { winner: Color::White }),
        Some(Winner::Black) => Outcome::Known(KnownOutcome::Decisive { winner: Color::Black }),
        Some(Winner::Draw) => Outcome::Known(KnownOutcome::Draw),
        None => Outcome::Unknown,
    };
    let tags = tags.into_iter().map(|(name, value)| (name, value.to_owned()));
    let (start, moves) = game.start_and_moves();
    PgnGame::from_moves(tags, start, moves, |_| None, result)
}

/// Without an empty line at the end.
pub fn pgn_text(game: &PgnGame) -> String {
    let mut text = Vec::new();
    game.write(&mut text).expect("memory can be written");
    text.pop();
    String::from_utf8(text).expect("games are written in UTF-8")
}

pub fn write_pgn(game: &PlayedGame, names: [&str; 2], end: Option<GameEnd>, header: PgnHeader<'_>) -> String {
    pgn_text(&pgn_game(game, names, end, header))
}

/// Plies before the game's first move, by the move number of its start position.
pub fn first_ply(game: &PlayedGame) -> usize {
    let fen = game.start_fen();
    let mut words = fen.split(' ');
    let black = words.nth(1) == Some("b");
    let number: usize = words.nth(3).and_then(|word| word.parse().ok()).unwrap_or(1);
    2 * number.max(1) - 2 + usize::from(black)
}

pub const SIDES: [Color; 2] = [Color::White, Color::Black];

#[cfg(test)]
mod tests {
    use super::super::file::{LoadedGame, PgnFile};
    use super::*;

    const PGN: &str = "[Event \"?\"]\n[White \"A \\\"B\\\"\"]\n[Black \"C\"]\n\n1. e4 {best} e5 (1... c5 2. Nf3) 2. Nf3 $1 Nc6 1-0\n";

    fn first(text: &[u8]) -> LoadedGame {
        PgnFile::read(text).unwrap().game(0).unwrap()
    }

    #[test]
    fn a_game_is_read_without_variations_and_written_back() {
        let read = first(PGN.as_bytes());
        assert_eq!(read.names, ["A \"B\"", "C"]);
        assert_eq!(read.end.unwrap().result(), "1-0");
        let text = write_pgn(&read.game, ["A \"B\"", "C"], read.end, PgnHeader::casual("2026.01.02"));
        assert!(text.contains("[White \"A \\\"B\\\"\"]\n"), "{text}");
        assert!(text.contains("[ECO \"C44\"]"), "{text}");
        assert!(text.ends_with("\n\n1. e4 e5 2. Nf3 Nc6 1-0\n"), "{text}");
        assert_eq!(first(text.as_bytes()).game.ply(), 4);
        let first = read.source.tree.main_line().next().unwrap();
        assert_eq!(read.source.tree.notes(first).comments, ["best"]);
    }

    #[test]
    fn a_game_from_a_position_keeps_it() {
        let mut game = PlayedGame::new(Some("4k3/8/8/8/8/8/4P3/4K3 b - - 0 20".into())).unwrap();
        for text in ["Kd7", "e4"] {
            game.play(game.parse(text).unwrap()).unwrap();
        }
        let text = write_pgn(&game, ["A", "B"], None, PgnHeader::casual("????.??.??"));
        assert!(text.ends_with("\n\n20... Kd7 21. e4 *\n"), "{text}");
        assert_eq!(first(text.as_bytes()).game.game().fen(), game.game().fen());
    }

    #[test]
    fn long_games_are_wrapped() {
        let mut game = PlayedGame::new(None).unwrap();
        for _ in 0..30 {
            for text in ["Nf3", "Nf6", "Ng1", "Ng8"] {
                game.play(game.parse(text).unwrap()).unwrap();
            }
        }
        let text = write_pgn(&game, ["A", "B"], game.end(), PgnHeader::casual("????.??.??"));
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        assert_eq!(first(text.as_bytes()).game.ply(), 120);
    }
}
