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

/// PGN tag with the number of a game in its match, from 1.
pub const NUMBER_TAG: &str = "GameNumber";

/// Finds game `number`, from 0, of a match whose first engine is `first`. Files of earlier versions have no numbers: they
/// have the games in the order of their ends, with the number of their pair as round, and the first engine has White in
/// games with even numbers.
pub fn find(pgn: &[u8], first: &str, number: usize) -> Option<ReplayView> {
    let round = format!("[Round \"{}\"]", number / 2 + 1);
    let starts = game_starts(pgn);
    let ends = starts.iter().skip(1).copied().chain([pgn.len()]);
    let texts = starts.iter().zip(ends).map(|(start, end)| &pgn[*start..end]);
    let tag = format!("[{NUMBER_TAG} \"{}\"]", number + 1);
    if let Some(text) = texts.clone().find(|text| memchr::memmem::find(text, tag.as_bytes()).is_some()) {
        return read_games(text).0.pop().and_then(|(_, game)| view(&game, number));
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn pgn(numbers: [Option<usize>; 2]) -> String {
        let games = ["1. e4 e5 1/2-1/2", "1. d4 d5 1/2-1/2"].into_iter().zip(numbers);
        let tag = |number| format!("[{NUMBER_TAG} \"{number}\"]\n");
        let text = |(moves, number): (&str, Option<usize>)| {
            let tag = number.map_or_else(String::new, tag);
            format!("[Event \"Match\"]\n[Round \"1\"]\n[White \"A\"]\n[Black \"A\"]\n{tag}\n{moves}\n\n")
        };
        games.map(text).collect()
    }

    #[test]
    fn a_game_of_an_engine_against_itself_is_found_by_its_number_however_late_it_ended() {
        let first = |text: &str, number| {
            find(text.as_bytes(), "A", number).map(|game| (game.game, game.moves[0].san.clone()))
        };
        // The second game ended first.
        let numbered = pgn([Some(2), Some(1)]);
        assert_eq!(first(&numbered, 0), Some((0, "d4".into())));
        assert_eq!(first(&numbered, 1), Some((1, "e4".into())));
        assert_eq!(first(&numbered, 10), None);
        // A file of an earlier version.
        assert_eq!(first(&pgn([None, None]), 0), Some((0, "e4".into())));
    }
}
