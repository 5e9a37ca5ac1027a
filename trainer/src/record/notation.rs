//! Games written as text: moves in standard notation, whole games as PGN.

use std::io::{self, Write};

use engine::position::Game;
use shakmaty::san::SanPlus;
use shakmaty::{Color, Position};

use super::evals::NO_EVAL;
use super::evals::{self, EvalSide};
use super::{FLAG_ADJUDICATED, FLAG_CHESS960, GameRecord, GameResult, openings};

/// The longest line of movetext (PGN standard, 8.2.1).
const COLUMNS: usize = 79;

/// A move of a game as it is written.
#[derive(Clone, Debug)]
pub struct PlayedMove {
    /// The full-move number.
    pub number: u32,
    /// Who moved.
    pub mover: Color,
    /// The move, as in `Nbd7+`.
    pub san: String,
    /// The score of the position before it, as in `games/1`.
    pub eval: i16,
    /// Where it led.
    pub after: Game,
}

/// The moves of a game, one after the other.
///
/// # Errors
///
/// One line: the start is no position, or a move isn't legal, and which.
pub fn played_moves(game: &GameRecord) -> Result<Vec<PlayedMove>, String> {
    let mut replay = Game::from_fen(&game.start_fen()).map_err(|error| error.to_string())?;
    let mut steps = Vec::with_capacity(game.moves.len());
    for (ply, packed) in game.moves.iter().enumerate() {
        let m = packed.to_move(replay.position());
        let m = m.ok_or_else(|| format!("no legal move at ply {ply} in {}", replay.fen()))?;
        let (number, mover) = (replay.position().fullmoves().get(), replay.turn());
        let san = SanPlus::from_move(replay.position().clone(), m).to_string();
        replay.play(m);
        let eval = game.evals.get(ply).copied().unwrap_or(NO_EVAL);
        steps.push(PlayedMove { number, mover, san, eval, after: replay.clone() });
    }
    Ok(steps)
}

/// A score for people: pawns for White, or the moves to a mate; empty if there is none.
pub fn eval_text(eval: i16, turn: Color) -> String {
    match evals::write(eval, EvalSide::After, turn) {
        Some(text) if text.starts_with(['-', '#']) => text,
        Some(text) => format!("+{text}"),
        None => String::new(),
    }
}

impl GameResult {
    /// As PGN writes it.
    pub fn pgn(self) -> &'static str {
        match self {
            GameResult::White => "1-0",
            GameResult::Black => "0-1",
            GameResult::Draw => "1/2-1/2",
            GameResult::Unknown => "*",
        }
    }
}

/// Writes a game as PGN, with its opening's name and its evaluations, and an empty line behind it.
///
/// `event` is where it is from, `round` tells it from others of the same event. With [`EvalSide::After`] the
/// comment behind a move is the score of the position after it, as Lichess writes it and most programs read it;
/// else it is that of the position before, as `games/1` has it, and nothing is lost.
///
/// # Errors
///
/// If it can't be written; a game with an illegal move is invalid data.
pub fn write_pgn(
    game: &GameRecord,
    event: &str,
    round: &str,
    side: EvalSide,
    out: &mut impl Write,
) -> io::Result<()> {
    let steps = played_moves(game).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
    let mut tag = |name: &str, value: &str| {
        writeln!(out, "[{name} \"{}\"]", value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " "))
    };
    tag("Event", event)?;
    tag("Site", "?")?;
    tag("Date", &date(game.date))?;
    tag("Round", round)?;
    tag("White", "?")?;
    tag("Black", "?")?;
    tag("Result", game.result.pgn())?;
    for (name, elo) in [("WhiteElo", game.white_elo), ("BlackElo", game.black_elo)] {
        if elo > 0 {
            tag(name, &elo.to_string())?;
        }
    }
    if game.flags & FLAG_CHESS960 != 0 {
        tag("Variant", "Chess960")?;
    }
    if let Some(fen) = &game.start {
        tag("SetUp", "1")?;
        tag("FEN", fen)?;
    }
    if let Some(opening) = openings::opening(game) {
        tag("ECO", &opening.eco)?;
        tag("Opening", &opening.name)?;
    }
    if game.flags & FLAG_ADJUDICATED != 0 {
        tag("Termination", "adjudication")?;
    }
    let mut text = Wrapped { out, column: 0 };
    text.line_break()?;
    for (index, step) in steps.iter().enumerate() {
        if step.mover.is_white() {
            text.word(&format!("{}.", step.number))?;
        } else if index == 0 {
            text.word(&format!("{}...", step.number))?;
        }
        text.word(&step.san)?;
        let (eval, turn) = match side {
            EvalSide::After => (steps.get(index + 1).map_or(NO_EVAL, |next| next.eval), !step.mover),
            EvalSide::Before | EvalSide::Auto => (step.eval, step.mover),
        };
        if let Some(score) = evals::write(eval, side, turn) {
            text.word(&format!("{{[%eval {score}]}}"))?;
        }
    }
    text.word(game.result.pgn())?;
    text.line_break()?;
    writeln!(out)
}

/// Words with blanks between them, in lines that aren't too long.
struct Wrapped<'a, W> {
    out: &'a mut W,
    column: usize,
}

impl<W: Write> Wrapped<'_, W> {
    fn word(&mut self, word: &str) -> io::Result<()> {
        if self.column > 0 && self.column + 1 + word.len() > COLUMNS {
            self.line_break()?;
        }
        let blank = if self.column > 0 { " " } else { "" };
        self.column += blank.len() + word.len();
        write!(self.out, "{blank}{word}")
    }

    fn line_break(&mut self) -> io::Result<()> {
        self.column = 0;
        writeln!(self.out)
    }
}

/// `yyyymmdd` as PGN writes it; unknown parts are question marks.
pub fn date(date: u32) -> String {
    let part = |number: u32, width: usize| {
        if number == 0 { "?".repeat(width) } else { format!("{number:0width$}") }
    };
    format!("{}.{}.{}", part(date / 10_000, 4), part(date / 100 % 100, 2), part(date % 100, 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::{Filters, ReadEvent, ReadOptions, read_games};
    use std::sync::atomic::AtomicBool;

    fn read(pgn: &str, evals: EvalSide) -> Vec<GameRecord> {
        let file = tempfile::Builder::new().suffix(".pgn").tempfile().unwrap();
        std::fs::write(file.path(), pgn).unwrap();
        let filters = Filters { unknown_results: true, ..Filters::default() };
        let options = ReadOptions { evals, filters, threads: 1, ..ReadOptions::default() };
        let mut games = Vec::new();
        let report = read_games(&[file.path().to_owned()], &options, &AtomicBool::new(false), |progress| {
            if let ReadEvent::Game(game) = progress {
                games.push(game);
            }
            Ok::<(), String>(())
        });
        assert!(report.unwrap().broken.is_empty());
        games
    }

    fn written(game: &GameRecord, side: EvalSide) -> String {
        let mut text = Vec::new();
        write_pgn(game, "a \"test\"", "1", side, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn games_come_back_from_pgn_as_they_were() {
        let pgn = "[Date \"2024.05.??\"]\n[WhiteElo \"2500\"]\n[Termination \"adjudication\"]\n[Result \"1-0\"]\n\n\
            1. e4 {[%eval 0.31]} e5 2. Qh5 {[%eval -0.4]} Nc6 3. Bc4 Nf6 {[%eval #2]} 4. Qxf7# {[%eval #1]} 1-0\n\n\
            [Variant \"Chess960\"]\n[FEN \"1rk3r1/pppppppp/8/8/8/8/PPPPPPPP/1RK3R1 b GBgb - 0 31\"]\n\n31... O-O 32. O-O *\n";
        let games = read(pgn, EvalSide::Before);
        assert_eq!(games.len(), 2);
        for game in &games {
            assert_eq!(&read(&written(game, EvalSide::Before), EvalSide::Auto), std::slice::from_ref(game));
            let after = &read(&written(game, EvalSide::After), EvalSide::After)[0];
            // Only the score of the first position has no place in Lichess's spelling.
            assert_eq!(after.evals[1..], game.evals[1..]);
        }
        let text = written(&games[0], EvalSide::Before);
        assert!(
            text.starts_with("[Event \"a \\\"test\\\"\"]\n[Site \"?\"]\n[Date \"2024.05.??\"]\n"),
            "{text}"
        );
        assert!(
            text.contains("[ECO \"C20\"]\n[Opening \"King's Pawn Game: Wayward Queen Attack\"]\n"),
            "{text}"
        );
        assert!(text.contains("\n\n1. e4 {[%eval 0.31]} e5 2. Qh5"), "{text}");
        assert!(text.lines().all(|line| line.len() < 80), "{text}");
        assert!(written(&games[1], EvalSide::Before).contains("\n\n31... O-O 32. O-O *\n\n"));
    }

    #[test]
    fn an_illegal_move_is_named() {
        let game =
            GameRecord { moves: vec![engine::position::PackedMove(12 | 36 << 6)], ..GameRecord::default() };
        assert!(played_moves(&game).unwrap_err().starts_with("no legal move at ply 0 in "));
        assert!(write_pgn(&game, "", "", EvalSide::Before, &mut Vec::new()).is_err());
    }

    #[test]
    fn scores_for_people_count_moves() {
        assert_eq!(eval_text(31, Color::White), "+0.31");
        assert_eq!(eval_text(-29_996, Color::White), "#-2");
        assert_eq!(eval_text(NO_EVAL, Color::White), "");
    }
}
