//! Results of `match` units: games as JSON.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use engine::chess::pgn::san_to_move;
use engine::chess::position::{Game, PackedMove};
use engine::chess::tables::Tables;
use serde::{Deserialize, Serialize};
use shakmaty::san::SanPlus;

use super::unit::Unit;
use crate::data::record::{FLAG_ADJUDICATED, GameRecord, GameResult, played_moves};
use crate::play::gameplay::known_result;

const FORMAT: &str = "philidor-match/1";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MatchFile {
    format: String,
    games: Vec<MatchFileGame>,
    source: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MatchFileGame {
    moves: String,
    result: i8,
    start: String,
}

/// The first player has White in each pair's first game.
pub fn match_json(unit: &Unit, games: &[GameRecord]) -> Result<String> {
    let game = |game: &GameRecord| -> Result<MatchFileGame> {
        let moves: Vec<String> = played_moves(game)?.into_iter().map(|played| played.san).collect();
        let start = game.start_fen().into_owned();
        Ok(MatchFileGame { moves: moves.join(" "), result: game.result.code(), start })
    };
    let games = games.iter().map(game).collect::<Result<Vec<MatchFileGame>>>()?;
    let file = MatchFile { format: FORMAT.to_owned(), games, source: unit.source() };
    Ok(serde_json::to_string(&file).expect("numbers and text make JSON") + "\n")
}

/// Replays the games. A game that rules and tables leave undecided counts as adjudicated.
pub fn read_match(path: &Path, source: &str, tables: &Tables) -> Result<Vec<GameRecord>> {
    let at = || path.display().to_string();
    let file: MatchFile = serde_json::from_slice(&std::fs::read(path).with_context(at)?)
        .context("it is not the result of a match")?;
    ensure!(file.format == FORMAT, "its format is \"{}\", not \"{FORMAT}\"", file.format);
    ensure!(file.source == source, "it is \"{}\", not \"{source}\"", file.source);
    let games = file.games.iter().enumerate();
    games.map(|(index, game)| read_game(game, tables).with_context(|| format!("game {index}"))).collect()
}

fn read_game(stored: &MatchFileGame, tables: &Tables) -> Result<GameRecord> {
    let mut game = Game::from_fen(&stored.start)?;
    let mut moves = Vec::new();
    for (ply, text) in stored.moves.split_whitespace().enumerate() {
        let legal = || {
            let san: SanPlus = text.parse().ok()?;
            san_to_move(&san.san, game.position())
        };
        let m = legal().with_context(|| format!("\"{text}\" at ply {ply} is no legal move"))?;
        moves.push(PackedMove::new(m));
        game.play(m);
    }
    let result = GameResult::from_code(stored.result).context("its result code is unknown")?;
    let flags = known_result(&game, tables).map_or(FLAG_ADJUDICATED, |(_, flags)| flags);
    let is_initial = stored.start == Game::new().fen();
    let start = (!is_initial).then(|| stored.start.clone());
    Ok(GameRecord { start, moves, result, flags, ..GameRecord::default() })
}
