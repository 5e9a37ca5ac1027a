use std::io::{self, Write};

use anyhow::Context;
use engine::chess::pgn::PgnGame;
use engine::chess::position::Game;
use shakmaty::san::SanPlus;
use shakmaty::{Color, KnownOutcome, Outcome, Position};

use super::evals::{self, EvalSide, NO_EVAL};
use super::{FLAG_ADJUDICATED, FLAG_CHESS960, GameRecord, GameResult, openings};

#[derive(Clone, Debug)]
pub struct PlayedMove {
    pub number: u32,
    pub mover: Color,
    /// As in `Nbd7+`.
    pub san: String,
    /// Score before the move, as in `games/1`.
    pub eval: i16,
    pub after: Game,
}

pub fn played_moves(game: &GameRecord) -> anyhow::Result<Vec<PlayedMove>> {
    let mut replay = Game::from_fen(&game.start_fen())?;
    let mut played = Vec::with_capacity(game.moves.len());
    for (ply, packed) in game.moves.iter().enumerate() {
        let m = packed.to_move(replay.position());
        let m = m.with_context(|| format!("no legal move at ply {ply} in {}", replay.fen()))?;
        let (number, mover) = (replay.position().fullmoves().get(), replay.turn());
        let san = SanPlus::from_move(replay.position().clone(), m).to_string();
        replay.play(m);
        let eval = game.evals.get(ply).copied().unwrap_or(NO_EVAL);
        played.push(PlayedMove { number, mover, san, eval, after: replay.clone() });
    }
    Ok(played)
}

/// For display: pawns for White, or moves to a mate; empty without a score.
pub fn eval_text(eval: i16, turn: Color) -> String {
    match evals::write(eval, EvalSide::After, turn) {
        Some(text) if text.starts_with(['-', '#']) => text,
        Some(text) => format!("+{text}"),
        None => String::new(),
    }
}

impl GameResult {
    pub fn pgn(self) -> &'static str {
        match self {
            GameResult::White => "1-0",
            GameResult::Black => "0-1",
            GameResult::Draw => "1/2-1/2",
            GameResult::Unknown => "*",
        }
    }

    fn outcome(self) -> Outcome {
        let decisive = |winner| Outcome::Known(KnownOutcome::Decisive { winner });
        match self {
            GameResult::White => decisive(Color::White),
            GameResult::Black => decisive(Color::Black),
            GameResult::Draw => Outcome::Known(KnownOutcome::Draw),
            GameResult::Unknown => Outcome::Unknown,
        }
    }
}

/// Writes a game as PGN with its opening and evaluations, and an empty line after it. An illegal move is
/// [`io::ErrorKind::InvalidData`].
///
/// `players` are White and Black. A move's comment is the score before it, as in `games/1`, which loses nothing; with
/// [`EvalSide::After`] the score after it, as in Lichess's files and most programs.
pub fn write_pgn(
    game: &GameRecord,
    event: &str,
    round: &str,
    players: [&str; 2],
    side: EvalSide,
    out: &mut impl Write,
) -> io::Result<()> {
    let start = Game::from_fen(&game.start_fen())
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
    let played = played_moves(game).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    let mut tags = vec![
        ("Event", event.to_owned()),
        ("Site", "?".to_owned()),
        ("Date", date(game.date)),
        ("Round", round.to_owned()),
        ("White", players[0].to_owned()),
        ("Black", players[1].to_owned()),
        ("Result", game.result.pgn().to_owned()),
    ];
    for (name, elo) in [("WhiteElo", game.white_elo), ("BlackElo", game.black_elo)] {
        tags.extend((elo > 0).then(|| (name, elo.to_string())));
    }
    if game.flags & FLAG_CHESS960 != 0 {
        tags.push(("Variant", "Chess960".to_owned()));
    }
    if let Some(fen) = &game.start {
        tags.extend([("SetUp", "1".to_owned()), ("FEN", fen.clone())]);
    }
    if let Some(opening) = openings::opening(game) {
        tags.extend([("ECO", opening.eco.clone()), ("Opening", opening.name.clone())]);
    }
    if game.flags & FLAG_ADJUDICATED != 0 {
        tags.push(("Termination", "adjudication".to_owned()));
    }
    let comment = |ply: usize| {
        let step = &played[ply];
        let (eval, turn) = match side {
            EvalSide::After => (played.get(ply + 1).map_or(NO_EVAL, |next| next.eval), !step.mover),
            EvalSide::Before | EvalSide::Auto | EvalSide::Mover => (step.eval, step.mover),
        };
        evals::write(eval, side, turn).map(|score| format!("[%eval {score}]"))
    };
    let moves = played.iter().filter_map(|step| step.after.last_move());
    let pgn = PgnGame::from_moves(tags, start, moves, comment, game.result.outcome());
    pgn.write(out)
}

/// From `yyyymmdd` to PGN; unknown parts become question marks.
pub fn date(date: u32) -> String {
    let part = |number: u32, width: usize| {
        if number == 0 { "?".repeat(width) } else { format!("{number:0width$}") }
    };
    format!("{}.{}.{}", part(date / 10_000, 4), part(date / 100 % 100, 2), part(date % 100, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_illegal_move_is_named() {
        let game = GameRecord {
            moves: vec![engine::chess::position::PackedMove(12 | 36 << 6)],
            ..GameRecord::default()
        };
        assert!(played_moves(&game).unwrap_err().to_string().starts_with("no legal move at ply 0 in "));
        assert!(write_pgn(&game, "", "", ["?"; 2], EvalSide::Before, &mut Vec::new()).is_err());
    }

    #[test]
    fn displayed_mates_count_moves() {
        assert_eq!(eval_text(31, Color::White), "+0.31");
        assert_eq!(eval_text(-29_996, Color::White), "#-2");
        assert_eq!(eval_text(NO_EVAL, Color::White), "");
    }
}
