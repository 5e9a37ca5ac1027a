use std::fmt::Write;

use anyhow::{Context, ensure};
use engine::base::words::counted;
use engine::chess::position::Game;
use shakmaty::{Position, Square};

use super::chunk::Chunk;
use crate::data::record::{
    self, FLAG_ADJUDICATED, FLAG_CHESS960, FLAG_PUZZLE, FLAG_SELF_PLAY, GameRecord, PlayedMove, Split,
};

/// Tags, moves with the evaluation before each, and with `boards` the board after each.
pub fn describe(chunk: &Chunk, index: usize, boards: bool) -> anyhow::Result<String> {
    let last = chunk.games().saturating_sub(1);
    ensure!(index < chunk.games(), "there is no game {index}: the games are 0 to {last}");
    let game = chunk.game(index);
    let moves = record::played_moves(&game).with_context(|| format!("game {index}"))?;
    let mut text = header(&game, index);
    let memory = "writing to memory succeeds";
    for played in &moves {
        let dots = played.mover.fold_wb(".", "...");
        let eval = record::eval_text(played.eval, played.mover);
        let number = format!("{}{dots}", played.number);
        let first_of_line = played.mover.is_white() || boards || std::ptr::eq(played, &moves[0]);
        if first_of_line {
            write!(text, "\n  {number:<7}").expect(memory);
        }
        if boards {
            let opening = record::opening_of(&played.after).map_or_else(String::new, ToString::to_string);
            write!(text, "{:<9}{eval:<9}{opening}", played.san).expect(memory);
            text.truncate(text.trim_end().len());
            write!(text, "\n{}", board(&played.after)).expect(memory);
        } else {
            write!(text, "{:<9}{eval:<9}", played.san).expect(memory);
        }
    }
    let trimmed: Vec<&str> = text.lines().map(str::trim_end).collect();
    Ok(format!("{}\n  {}\n", trimmed.join("\n"), ending(&game, moves.last())))
}

fn header(game: &GameRecord, index: usize) -> String {
    let elo = |elo: u16| if elo == 0 { "unrated".to_owned() } else { elo.to_string() };
    let flags = [
        (FLAG_CHESS960, "Chess960"),
        (FLAG_PUZZLE, "puzzle"),
        (FLAG_SELF_PLAY, "self-play"),
        (FLAG_ADJUDICATED, "adjudicated"),
    ];
    let kinds = flags.into_iter().filter(|(flag, _)| game.flags & flag != 0).map(|(_, name)| name);
    let split = match record::split(game.identity()) {
        Split::Train => "train",
        Split::Validation => "validation",
        Split::Test => "test",
    };
    let kinds: Vec<&str> = kinds.chain([split]).collect();
    let opening = record::opening(game).map_or_else(|| "unnamed".to_owned(), ToString::to_string);
    let [white, black] = [game.white_elo, game.black_elo].map(elo);
    let date = record::date(game.date);
    let mut text = format!(
        "game {index}: {}, {}, White {white}, Black {black}, {date}, {}\n  opening  {opening}\n",
        game.result.pgn(),
        counted(game.moves.len(), "ply"),
        kinds.join(", ")
    );
    if let Some(start) = &game.start {
        writeln!(text, "  start    {start}").expect("writing to memory succeeds");
    }
    text
}

/// With the rule that ended the game, if any.
fn ending(game: &GameRecord, last: Option<&PlayedMove>) -> String {
    use engine::chess::position::{DrawReason, Outcome};
    let by_rule = match last.and_then(|played| played.after.outcome()) {
        None => return game.result.pgn().to_owned(),
        Some(Outcome::Decisive { .. }) => "checkmate",
        Some(Outcome::Draw(DrawReason::Stalemate)) => "stalemate",
        Some(Outcome::Draw(DrawReason::InsufficientMaterial)) => "insufficient material",
        Some(Outcome::Draw(DrawReason::Threefold)) => "threefold repetition",
        Some(Outcome::Draw(DrawReason::FiftyMoves)) => "fifty moves",
    };
    format!("{} ({by_rule})", game.result.pgn())
}

/// White is at the bottom and has capitals.
fn board(game: &Game) -> String {
    let mut text = String::new();
    for rank in (0..8).rev() {
        let pieces = (0..8).map(|file| {
            game.position().board().piece_at(Square::new(rank * 8 + file)).map_or('.', |piece| piece.char())
        });
        let row: Vec<String> = pieces.map(String::from).collect();
        writeln!(text, "    {}  {}", rank + 1, row.join(" ")).expect("writing to memory succeeds");
    }
    text + "       a b c d e f g h\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::record::{GameResult, NO_EVAL};
    use engine::chess::position::PackedMove;

    fn chunk() -> Chunk {
        let mut chunk = Chunk::new("a test");
        let mut replay = Game::new();
        let mut pack = |text: &str| {
            let m = replay.parse_uci(text).unwrap();
            replay.play(m);
            PackedMove::new(m)
        };
        let moves: Vec<PackedMove> = "f2f3 e7e5 g2g4 d8h4".split(' ').map(&mut pack).collect();
        let evals = vec![20, -35, NO_EVAL, -29_999];
        let (result, date) = (GameResult::Black, 20_240_500);
        chunk.push(&GameRecord { moves, evals, result, date, black_elo: 1200, ..GameRecord::default() });
        chunk.push(&GameRecord {
            start: Some("4k3/8/8/8/8/8/4p3/4K3 b - - 0 40".into()),
            moves: vec![PackedMove(60 | 52 << 6)],
            ..GameRecord::default()
        });
        chunk
    }

    #[test]
    fn a_game_is_shown_with_its_opening_and_evaluations() {
        let text = describe(&chunk(), 0, false).unwrap();
        let expected = "game 0: 0-1, 4 plies, White unrated, Black 1200, 2024.05.??, train
  opening  A00 Barnes Opening: Fool's Mate

  1.     f3       +0.20    e5       -0.35
  2.     g4                Qh4#     #-1
  0-1 (checkmate)
";
        assert_eq!(text, expected);
        let other = describe(&chunk(), 1, false).unwrap();
        assert!(
            other.contains("\n  start    4k3/8/8/8/8/8/4p3/4K3 b - - 0 40\n\n  40...  Ke7\n  *\n"),
            "{other}"
        );
    }

    #[test]
    fn boards_follow_the_moves() {
        let text = describe(&chunk(), 0, true).unwrap();
        assert_eq!(text.matches("a b c d e f g h").count(), 4);
        assert!(
            text.contains("  1.     f3       +0.20    A00 Barnes Opening\n    8  r n b q k b n r\n"),
            "{text}"
        );
        assert!(text.contains("    4  . . . . . . P q\n"), "{text}");
    }

    #[test]
    fn a_missing_game_is_named() {
        assert_eq!(
            describe(&chunk(), 2, false).unwrap_err().to_string(),
            "there is no game 2: the games are 0 to 1"
        );
    }
}
