//! Puzzle tables with tabs or commas, one puzzle per line; among them Lichess's CSV.

use engine::chess::position::{Game, PackedMove};
use engine::chess::puzzles::{PuzzleColumns, PuzzleError};

use super::blocks::TextBlock;
use super::pgn::{BrokenGame, Exclusion, GameError, ParsedGame, start_position};
use super::reader::Filters;
use crate::data::record::{EvalCounts, FLAG_PUZZLE, GameRecord, NO_EVAL};

impl From<PuzzleError> for GameError {
    fn from(error: PuzzleError) -> GameError {
        match error {
            PuzzleError::Text(text) => GameError::Text(text),
            PuzzleError::Start(text) => GameError::Start(text),
            PuzzleError::Move(text) => GameError::Move(text),
        }
    }
}

pub(super) fn parse_block(block: &TextBlock, columns: PuzzleColumns, filters: &Filters) -> Vec<ParsedGame> {
    let mut reader = columns.reader(&block.text, block.first_line == 1);
    let records = reader.byte_records().map(|record| {
        let record = record.expect("reading from memory succeeds, and lines of any length are allowed");
        let line = block.first_line - 1 + record.position().map_or(1, csv::Position::line);
        parse_puzzle(&record, columns, filters).unwrap_or_else(|error| {
            ParsedGame::Broken(BrokenGame { unit: "line", game_line: line, line, error })
        })
    });
    records.collect()
}

/// The game begins with the solver's move.
///
/// The start has no counters, so that a puzzle is the same game in every table. The result is unknown, so that puzzles
/// have no value target: otherwise a network would expect a win in every such position.
fn parse_puzzle(
    record: &csv::ByteRecord,
    columns: PuzzleColumns,
    filters: &Filters,
) -> Result<ParsedGame, GameError> {
    let facts = columns.facts(record)?;
    let rating = facts.rating.unwrap_or(0);
    if let Some(why) = filters.exclude_ratings(rating, rating) {
        return Ok(ParsedGame::Excluded(why));
    }
    if facts.popularity.is_some_and(|popularity| popularity < filters.min_popularity) {
        return Ok(ParsedGame::Excluded(Exclusion::Unpopular));
    }
    if facts.plays.is_some_and(|plays| plays < filters.min_plays) {
        return Ok(ParsedGame::Excluded(Exclusion::Untried));
    }
    let puzzle = columns.puzzle(record)?;
    let start = puzzle_start(&puzzle.start)?;
    let packed: Vec<PackedMove> = puzzle.moves.into_iter().map(PackedMove::new).collect();
    if packed.len() > usize::from(u16::MAX) {
        return Err(GameError::TooLong);
    }
    if let Some(why) = filters.exclude_length(packed.len()) {
        return Ok(ParsedGame::Excluded(why));
    }
    let game = GameRecord {
        start,
        evals: vec![NO_EVAL; packed.len()],
        moves: packed,
        white_elo: rating,
        black_elo: rating,
        flags: FLAG_PUZZLE,
        ..GameRecord::default()
    };
    Ok(ParsedGame::Game(game, EvalCounts::default()))
}

/// Without counters; `None` is the initial position.
fn puzzle_start(game: &Game) -> Result<Option<String>, GameError> {
    let fen = game.fen();
    let without_counters = fen.rsplitn(3, ' ').last().unwrap_or(&fen);
    Ok(start_position(without_counters)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::import::blocks::TextFormat;

    const TABLE: &str = "id\trating\tpopularity\tplays\tfen\tmoves\tthemes
00ymq\t1500\t93\t3396\tQ7/4ppbk/6pp/5q2/P3n3/4PNBP/1r3PP1/3R2K1 b - -\te4g3 f2g3 f5c2\tcrushing
bad\t1500\t93\t3396\tQ7/4ppbk/6pp/5q2/P3n3/4PNBP/1r3PP1/3R2K1 b - -\te4g3 f2g4\tcrushing
08oBe\t1900\t60\t12\tr2q1rk1/1p2nppp/p1n1p2b/3p4/3P4/P1NQ1N2/1PB2PPP/R4RK1 w - -\td3h7\tmateIn1
";
    /// The first puzzle of [`TABLE`] in Lichess's form.
    const LICHESS: &str = "PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags
00ymq,Q7/4ppbk/6pp/5q2/P3n3/4PNBP/1r3PPK/3R4 w - - 4 29,h2g1 e4g3 f2g3 f5c2,1500,77,93,3396,crushing,https://lichess.org/x#57,
";

    fn parse(text: &str, filters: &Filters) -> Vec<ParsedGame> {
        let first = text.lines().next().unwrap_or_default();
        let columns = PuzzleColumns::detect(first.as_bytes()).unwrap().expect("puzzles");
        let format = TextFormat::Puzzles(columns);
        let block = TextBlock { file: 0, format, first_line: 1, text: text.as_bytes().to_vec() };
        parse_block(&block, columns, filters)
    }

    #[test]
    fn the_solver_begins_and_broken_lines_are_reported() {
        let parsed = parse(TABLE, &Filters::default());
        let [ParsedGame::Game(first, _), ParsedGame::Broken(broken), ParsedGame::Game(mate, _)] = &parsed[..]
        else {
            panic!("{parsed:?}")
        };
        assert_eq!(first.start_fen(), "Q7/4ppbk/6pp/5q2/P3n3/4PNBP/1r3PP1/3R2K1 b - - 0 1");
        assert_eq!((first.moves.len(), first.flags, first.result.code()), (3, FLAG_PUZZLE, 2));
        assert_eq!((first.white_elo, first.black_elo), (1500, 1500));
        assert_eq!((broken.line, &broken.error), (3, &GameError::Move("f2g4".into())));
        assert_eq!((mate.moves.len(), mate.result.code()), (1, 2), "no result even after mate");
    }

    #[test]
    fn lichess_lists_the_opponents_move_first() {
        let same = &parse(TABLE, &Filters::default())[0];
        let first_line = LICHESS.len() - LICHESS.lines().last().map_or(0, |line| line.len() + 1);
        for text in [LICHESS, &LICHESS[first_line..]] {
            assert_eq!(&parse(text, &Filters::default())[..], std::slice::from_ref(same), "the same game");
        }
    }

    #[test]
    fn filters_exclude_puzzles() {
        let excluded = |filters: Filters| match parse(TABLE, &filters).pop() {
            Some(ParsedGame::Excluded(why)) => why,
            other => panic!("{other:?}"),
        };
        let all = Filters::default();
        assert_eq!(excluded(Filters { max_elo: 1800, ..all.clone() }), Exclusion::Rating);
        assert_eq!(excluded(Filters { min_elo: 2000, ..all.clone() }), Exclusion::Rating);
        assert_eq!(excluded(Filters { min_popularity: 90, ..all.clone() }), Exclusion::Unpopular);
        assert_eq!(excluded(Filters { min_plays: 100, ..all.clone() }), Exclusion::Untried);
        assert_eq!(excluded(Filters { min_plies: 3, ..all }), Exclusion::TooShort);
    }

    #[test]
    fn missing_and_malformed_columns_are_named() {
        let fault = |line: &str| match parse(&format!("fen,moves,rating\n{line}"), &Filters::default()).pop()
        {
            Some(ParsedGame::Broken(broken)) => (broken.line, broken.error.to_string()),
            other => panic!("{other:?}"),
        };
        assert_eq!(fault("8/8"), (2, "no column \"moves\"".to_owned()));
        assert!(fault("8/8,e2e4,").1.starts_with("not a FEN") || fault("8/8,e2e4,").1.contains("impossible"));
        assert_eq!(fault("8/8,e2e4,high").1, "rating is not a number in range");
        // Lichess's puzzle in a table without Lichess's names.
        let values: Vec<&str> = LICHESS.lines().last().unwrap().split(',').collect();
        let (line, reason) = fault(&values[1..4].join(","));
        assert!(line == 2 && reason.contains("such as PuzzleId"), "{reason}");
    }

    #[test]
    fn games_are_no_puzzles() {
        for line in
            ["[Event \"fen, moves\"]", "1. e4 e5", "", "White,Black,Result", "1. e4 {see, fen, there}"]
        {
            assert_eq!(PuzzleColumns::detect(line.as_bytes()), Ok(None), "{line}");
        }
    }

    #[test]
    fn lichess_columns_are_found_by_their_names() {
        let same = &parse(TABLE, &Filters::default())[0];
        let (header, line) = LICHESS.trim_end().split_once('\n').unwrap();
        let table = |edit: &dyn Fn(Vec<&str>, &'static str) -> String| {
            let [header, line] = [(header, "GameId"), (line, "5Zc3gJkT")]
                .map(|(text, value)| edit(text.split(',').collect(), value));
            format!("{header}\n{line}\n")
        };
        let with_game_id = table(&|mut values, id| {
            values.insert(1, id);
            values.join(",")
        });
        assert!(with_game_id.starts_with("PuzzleId,GameId,FEN,Moves,"), "{with_game_id}");
        let without_tags = table(&|values, _| values[..8].join(","));
        let reversed = table(&|mut values, _| {
            values.reverse();
            values.join(",")
        });
        let tabs = table(&|values, _| values.join("\t"));
        let quoted = table(&|values, _| {
            values.iter().map(|value| format!("\"{value}\"")).collect::<Vec<_>>().join(",")
        });
        for text in [with_game_id, without_tags, reversed, tabs, quoted] {
            assert_eq!(&parse(&text, &Filters::default())[..], std::slice::from_ref(same), "{text}");
        }
    }

    #[test]
    fn tables_with_unknown_columns_are_rejected() {
        let error = |line: &str| PuzzleColumns::detect(line.as_bytes()).unwrap_err();
        assert!(error("PuzzleId,Position,Moves,Rating").contains("named \"fen\": puzzleid,position"));
        assert!(error("fen\tsolution").contains("named \"moves\""));
        let line = LICHESS.lines().last().unwrap();
        assert!(error(&line.replacen(',', ",5Zc3gJkT,", 1)).contains("without a header"));
    }
}
