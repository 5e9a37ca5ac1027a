//! Finished games of a match, move by move, from its PGN.

use engine::chess::pgn::{PgnGame, game_starts, read_games};
use serde::Serialize;

use super::minds::MoveRecord;
use crate::play::{PlayedGame, PlayedMove, recorded_result};

#[derive(Debug, Serialize)]
pub struct ReplayView {
    /// From 0.
    pub game: usize,
    pub white: String,
    pub black: String,
    pub opening: String,
    pub result: String,
    pub start: String,
    pub moves: Vec<PlayedMove>,
    /// By move; `null` for moves of the opening.
    pub records: Vec<Option<MoveRecord>>,
}

/// Finds game `number` of a match whose first engine is `first`. The file has the games in the order of their ends, with
/// the number of their pair as round; the first engine has White in games with even numbers.
pub fn find(pgn: &[u8], first: &str, number: usize) -> Option<ReplayView> {
    let round = format!("[Round \"{}\"]", number / 2 + 1);
    let starts = game_starts(pgn);
    let ends = starts.iter().skip(1).copied().chain([pgn.len()]);
    let texts = starts.iter().zip(ends).map(|(start, end)| &pgn[*start..end]);
    let pair = texts.filter(|text| memchr::memmem::find(text, round.as_bytes()).is_some());
    let games = pair.filter_map(|text| read_games(text).0.pop()).map(|(_, game)| game);
    let mut games: Vec<PgnGame> = games.collect();
    let is_against_itself = games.iter().all(|game| game.tag("White") == game.tag("Black"));
    let is_wanted =
        |game: &PgnGame| (game.tag("White").as_deref() == Some(first)) == number.is_multiple_of(2);
    let index = if is_against_itself { number % 2 } else { games.iter().position(is_wanted)? };
    (index < games.len()).then(|| view(&games.swap_remove(index), number))?
}

fn view(game: &PgnGame, number: usize) -> Option<ReplayView> {
    let start = game.tag("FEN").is_some().then(|| game.start().fen());
    let mut played = PlayedGame::new(start).ok()?;
    let white_begins = played.turn().is_white();
    let comment = |node| game.tree.notes(node).comments.join(" ");
    let nodes = game.tree.main_line().enumerate();
    let records =
        nodes.map(|(ply, node)| MoveRecord::read(&comment(node), white_begins == ply.is_multiple_of(2)));
    let records = records.collect();
    game.moves().into_iter().try_for_each(|m| played.play(m)).ok()?;
    let name = |tag| game.tag(tag).unwrap_or_else(|| "?".to_owned());
    Some(ReplayView {
        game: number,
        white: name("White"),
        black: name("Black"),
        opening: played.opening().map(|opening| opening.name.clone()).unwrap_or_default(),
        result: recorded_result(game).map_or("*", |end| end.result()).to_owned(),
        start: played.start_fen(),
        moves: played.moves().to_vec(),
        records,
    })
}
