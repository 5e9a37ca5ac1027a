//! Puzzle tables with tabs or commas, one puzzle per line; among them Lichess's CSV.

use std::str::FromStr;

use engine::chess::position::{Game, PackedMove};
use shakmaty::uci::UciMove;
use shakmaty::{Chess, Position};

use super::blocks::TextBlock;
use super::pgn::{BrokenGame, Exclusion, GameError, ParsedGame, start_position};
use super::reader::Filters;
use crate::data::record::{EvalCounts, FLAG_PUZZLE, GameRecord, NO_EVAL};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PuzzleColumns {
    delimiter: u8,
    quoted: bool,
    /// The puzzle begins after a line's first move, the opponent's.
    set_up: bool,
    header: bool,
    fen: usize,
    moves: usize,
    rating: Option<usize>,
    popularity: Option<usize>,
    plays: Option<usize>,
}

const LICHESS_COLUMNS: [&str; 6] =
    ["puzzleid", "ratingdeviation", "nbplays", "gameurl", "gameid", "openingtags"];

/// The error if a table without Lichess's column names may nevertheless be Lichess's.
const SET_UP_UNNAMED: &str = "an even number of moves, where the solver's is the first and the last: if the opponent's \
                              is the first, as in Lichess's table, the header must name one of its columns, such as \
                              PuzzleId";

impl PuzzleColumns {
    /// Columns by their names in the first line; `None` if this is no puzzle table. Lichess's names imply `set_up`.
    pub fn detect(line: &[u8]) -> Result<Option<PuzzleColumns>, String> {
        let Ok(line) = std::str::from_utf8(line) else { return Ok(None) };
        let line = line.trim_end().to_ascii_lowercase();
        let delimiter = if line.contains('\t') { '\t' } else { ',' };
        let names: Vec<&str> = line.split(delimiter).map(|name| name.trim().trim_matches('"')).collect();
        let column = |name: &str| names.iter().position(|entry| *entry == name);
        let lichess = names.iter().any(|name| LICHESS_COLUMNS.contains(name));
        let is_name =
            |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_ ".contains(&byte));
        let is_header = names.len() > 1 && names.iter().all(is_name);
        match (column("fen"), column("moves")) {
            (Some(fen), Some(moves)) => Ok(Some(PuzzleColumns {
                delimiter: delimiter as u8,
                quoted: line.contains('"'),
                set_up: lichess,
                header: true,
                fen,
                moves,
                rating: column("rating"),
                popularity: column("popularity"),
                plays: column(if lichess { "nbplays" } else { "plays" }),
            })),
            (fen, moves) if is_header && (lichess || fen.is_some() || moves.is_some()) => {
                let missing = if fen.is_none() { "fen" } else { "moves" };
                Err(format!("a table of puzzles without a column named \"{missing}\": {line}"))
            }
            _ => PuzzleColumns::without_header(delimiter, &names),
        }
    }

    /// Lichess's older tables have no header.
    fn without_header(delimiter: char, values: &[&str]) -> Result<Option<PuzzleColumns>, String> {
        let is_fen = |value: &&str| value.split(' ').count() == 6 && value.matches('/').count() == 7;
        match values.iter().position(is_fen) {
            Some(1) if delimiter == ',' && values.len() >= 8 => Ok(Some(PuzzleColumns {
                delimiter: b',',
                quoted: false,
                set_up: true,
                header: false,
                fen: 1,
                moves: 2,
                rating: Some(3),
                popularity: Some(5),
                plays: Some(6),
            })),
            Some(_) if values.len() > 1 => {
                Err("a table of puzzles without a header that names its columns, among them fen and moves"
                    .into())
            }
            _ => Ok(None),
        }
    }
}

pub(super) fn parse_block(block: &TextBlock, columns: PuzzleColumns, filters: &Filters) -> Vec<ParsedGame> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(columns.delimiter)
        .has_headers(columns.header && block.first_line == 1)
        .flexible(true)
        .quoting(columns.quoted)
        .from_reader(block.text.as_slice());
    let records = reader.byte_records().map(|record| {
        let record = record.expect("reading from memory succeeds, and lines of any length are allowed");
        let line = block.first_line - 1 + record.position().map_or(1, csv::Position::line);
        parse_puzzle(&record, columns, filters)
            .unwrap_or_else(|error| ParsedGame::Broken(BrokenGame { game_line: line, line, error }))
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
    let field = |column: usize, name: &str| {
        let bytes = record.get(column).ok_or_else(|| GameError::Text(format!("no column \"{name}\"")))?;
        std::str::from_utf8(bytes).map_err(|_| GameError::Text(format!("column \"{name}\" is not UTF-8")))
    };
    let rating: u16 = number(record, columns.rating, "rating")?.unwrap_or(0);
    if let Some(why) = filters.exclude_ratings(rating, rating) {
        return Ok(ParsedGame::Excluded(why));
    }
    if number(record, columns.popularity, "popularity")?.is_some_and(|n: i16| n < filters.min_popularity) {
        return Ok(ParsedGame::Excluded(Exclusion::Unpopular));
    }
    if number(record, columns.plays, "plays")?.is_some_and(|n: u32| n < filters.min_plays) {
        return Ok(ParsedGame::Excluded(Exclusion::Untried));
    }
    let mut moves = field(columns.moves, "moves")?.split_ascii_whitespace();
    let set_up = if columns.set_up { moves.next() } else { None };
    let (start, mut position) = puzzle_start(field(columns.fen, "fen")?, set_up)?;
    let mut packed = Vec::with_capacity(8);
    for text in moves {
        let m = UciMove::from_ascii(text.as_bytes()).ok().and_then(|uci| uci.to_move(&position).ok());
        let m = m.ok_or_else(|| GameError::Move(text.to_owned()))?;
        if packed.len() == usize::from(u16::MAX) {
            return Err(GameError::TooLong);
        }
        packed.push(PackedMove::new(m));
        position.play_unchecked(m);
    }
    // A puzzle ends with the solver's move, so an even number of moves begins with the opponent's.
    if !columns.set_up && !packed.is_empty() && packed.len().is_multiple_of(2) {
        return Err(GameError::Text(SET_UP_UNNAMED.to_owned()));
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

/// The position after the opponent's move `set_up`, if any.
fn puzzle_start(fen: &str, set_up: Option<&str>) -> Result<(Option<String>, Chess), GameError> {
    let mut game = Game::from_fen(fen).map_err(|error| GameError::Start(error.to_string()))?;
    if let Some(text) = set_up {
        let m = game.parse_uci(text).map_err(|error| GameError::Start(error.to_string()))?;
        game.play(m);
    }
    let fen = game.fen();
    let without_counters = fen.rsplitn(3, ' ').last().unwrap_or(&fen);
    start_position(without_counters)
}

/// `None` if the column or its value is missing.
fn number<T: FromStr>(
    record: &csv::ByteRecord,
    column: Option<usize>,
    name: &str,
) -> Result<Option<T>, GameError> {
    let Some(bytes) = column.and_then(|column| record.get(column)).filter(|bytes| !bytes.is_empty()) else {
        return Ok(None);
    };
    let value = std::str::from_utf8(bytes).ok().and_then(|text| text.trim().parse().ok());
    value.map(Some).ok_or_else(|| GameError::Text(format!("{name} is not a number in range")))
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
        assert_eq!(fault(&values[1..4].join(",")), (2, SET_UP_UNNAMED.to_owned()));
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
