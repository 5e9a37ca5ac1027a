//! Unusual and broken PGN as found in collections.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use super::*;
use crate::data::import::blocks::TextFormat;
use crate::data::import::reader::{ReadEvent, ReadOptions, read_games};
use crate::data::record::write_pgn;

fn parse(text: &str) -> Vec<ParsedGame> {
    let block = TextBlock { file: 0, format: TextFormat::Pgn, first_line: 1, text: text.as_bytes().to_vec() };
    let filters = Filters { unknown_results: true, ..Filters::default() };
    parse_block(&block, EvalSide::Auto, &filters)
}

fn game(text: &str) -> GameRecord {
    match <[ParsedGame; 1]>::try_from(parse(text)) {
        Ok([ParsedGame::Game(game, _)]) => game,
        other => panic!("not one game: {other:?}"),
    }
}

/// The text's only error, with the lines of the game and of the error.
fn error(text: &str) -> (GameError, u64, u64) {
    match <[ParsedGame; 1]>::try_from(parse(text)) {
        Ok([ParsedGame::Broken(broken)]) => (broken.error, broken.game_line, broken.line),
        other => panic!("not one broken game: {other:?}"),
    }
}

#[test]
fn an_error_names_the_move_its_line_and_its_game() {
    let text = "[Event \"x\"]\n\n1. e4 e5\n2. Nf3 {long\ncomment} Ke6\n3. Bc4 1-0\n";
    let illegal = |text: &str| GameError::Pgn(PgnError::Illegal(text.to_owned()));
    assert_eq!(error(text), (illegal("2...Ke6"), 1, 5));
    // Move numbers begin at the FEN's.
    let text = "[FEN \"4k3/8/8/8/8/8/8/R3K3 b Q - 3 40\"]\n\n40... Kd8 41. O-O-O+ Ke8 42. O-O *\n";
    assert_eq!(error(text).0, illegal("42.O-O"));
    // Two rooks can go to d1.
    let text = "[FEN \"4k3/8/8/8/8/8/4K3/R6R w - - 0 1\"]\n\n1. Rd1 *\n";
    assert_eq!(error(text), (illegal("1.Rd1"), 1, 3));
}

#[test]
fn line_numbers_are_right_after_an_empty_line_in_the_moves() {
    let text = "[Event \"x\"]\n\n1. e4 e5\n\n2. Nf3 Nc6\n3. Bc6 *\n";
    assert_eq!(error(text).2, 6);
    assert_eq!(game(&text.replace("Bc6", "Bc4")).moves.len(), 5, "the game continues");
}

#[test]
fn unusable_starts_and_texts_are_errors() {
    assert!(matches!(error("[FEN \"8/8/8/8/8/8/8/8 w - - 0 1\"]\n\n1. e4 *").0, GameError::Start(_)));
    assert!(matches!(
        error("[Event \"x\"]\n\n1. e4 {no end\n\n e5 1-0").0,
        GameError::Pgn(PgnError::Text(_))
    ));
}

#[test]
fn an_unterminated_comment_breaks_one_game() {
    let parsed = parse("[Event \"x\"]\n\n1. e4 {no end\n\n[Event \"y\"]\n\n1. d4 {an end} *\n");
    assert!(matches!(parsed[..], [ParsedGame::Broken(_), ParsedGame::Game(..)]), "{parsed:?}");
}

#[test]
fn results_are_compared_with_the_tag_and_the_board() {
    assert!(matches!(error("[Result \"0-1\"]\n\n1. e4 1-0").0, GameError::Result(_)));
    assert!(matches!(error("[Result \"1-0\"]\n\n1. f3 e5 2. g4 Qh4# 1-0").0, GameError::Result(_)));
    assert_eq!(game("[Result \"*\"]\n\n1. f3 e5 2. g4 Qh4# *").result, GameResult::Black, "mate decides");
    assert_eq!(game("[Result \"1-0\"]\n\n1. e4").result, GameResult::White, "the tag alone");
    assert_eq!(game("1. e4 1/2-1/2").result, GameResult::Draw, "the movetext alone");
    assert_eq!(game("1. e4 *").result, GameResult::Unknown);
}

#[test]
fn games_without_tags_are_separated_by_empty_lines() {
    let parsed = parse("1. e4 e5 1-0\n\n1. e4 Ke7 2. d4 *\n\n1. d4 d5 *\n\n*\n\n1. c4 *\n");
    use ParsedGame::*;
    assert!(
        matches!(parsed[..], [Game(..), Broken(_), Game(..), Excluded(super::Exclusion::TooShort), Game(..)]),
        "{parsed:?}"
    );
    let Broken(broken) = &parsed[1] else { unreachable!("matched above") };
    assert_eq!((broken.game_line, broken.line), (3, 3));
}

#[test]
fn what_is_no_move_is_ignored() {
    let text = "\u{feff}[Event \"x\"]\r\n[Result \"*\"]\r\n\r\n% escaped\r\n1. e4 $1 (1. d4 {x} (1. c4 c5) d5) e5!? \
        ; 2. Qh5\r\n2.Nf3! Nc6 3. 0-0?? *\r\n";
    let castling = GameError::Pgn(PgnError::Illegal("3.0-0".into()));
    assert_eq!(error(text).0, castling, "castling with zeros is castling");
    assert_eq!(game(&text.replace("0-0??", "Bb5??")).moves.len(), 5);
}

#[test]
fn names_with_quotes_are_repaired() {
    let game =
        game("[White \"Smith, John \"The King\"\"]\n[WhiteElo \"2500\"]\n[Result \"0-1\"]\n\n1. e4 e5 0-1\n");
    assert_eq!((game.white_elo, game.moves.len()), (2500, 2));
}

#[test]
fn moves_may_be_written_as_both_squares() {
    let game = game("e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 e1g1 *");
    // Castling is stored as king takes rook: e1 to h1.
    assert_eq!((game.moves.len(), game.moves[6]), (7, PackedMove(4 | 7 << 6)));
}

#[test]
fn chess960_by_name_or_by_geometry() {
    let named = "[Variant \"Fischerandom\"]\n\n1. e4 *";
    assert_eq!((game(named).flags, game(named).start), (FLAG_CHESS960, None));
    let double = "[FEN \"1rk3r1/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQgb - 0 1\"]\n\n1. O-O O-O-O *";
    let game = game(double);
    assert_eq!(game.flags, FLAG_CHESS960);
    assert_eq!(game.moves, [PackedMove(4 | 7 << 6), PackedMove(58 | 57 << 6)]);
    let start = game.start.expect("a start of its own");
    assert_eq!(start_position(&start).expect("it can be read again").0.as_deref(), Some(&*start));
}

#[test]
fn other_variants_are_excluded() {
    let excluded = |text| matches!(parse(text)[..], [ParsedGame::Excluded(Exclusion::Variant)]);
    assert!(excluded("[Variant \"Crazyhouse\"]\n\n1. e4 e5 2. N@f3 *"));
    assert!(!excluded("[Variant \"From Position\"]\n\n1. e4 *"));
}

#[test]
fn the_initial_position_is_no_start_of_its_own() {
    assert_eq!(game(&format!("[SetUp \"1\"]\n[FEN \"{INITIAL_FEN}\"]\n\n1. e4 *")).start, None);
}

#[test]
fn dates_and_ratings_as_far_as_they_are_known() {
    assert_eq!(date(b"2017.06.24"), Some(20_170_624));
    assert_eq!(date(b"1996.??.??"), Some(19_960_000));
    assert_eq!(date(b"????.??.??"), None);
    assert_eq!((elo(b"2801"), elo(b"?"), elo(b"-"), elo(b"99999")), (2801, 0, 0, 0));
    let game = game(
        "[Termination \"Adjudication: 6 men\"]\n[UTCDate \"2020.01.02\"]\n[Date \"????.??.??\"]\n\n1. e4 *",
    );
    assert_eq!((game.date, game.flags), (20_200_102, FLAG_ADJUDICATED));
}

fn read_all(
    files: &[PathBuf],
    threads: usize,
) -> (Vec<GameRecord>, Vec<BrokenGame>, crate::data::import::ReadReport) {
    let options = ReadOptions { threads, ..ReadOptions::default() };
    let (mut games, mut errors) = (Vec::new(), Vec::new());
    let report = read_games::<String>(files, &options, &AtomicBool::new(false), |event| {
        match event {
            ReadEvent::Game(game) => games.push(game),
            ReadEvent::Broken(_, broken) => errors.push(broken.clone()),
            ReadEvent::Bytes(_) => (),
        }
        Ok(())
    });
    (games, errors, report.expect("the files are there"))
}

#[test]
fn the_order_does_not_depend_on_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    // The number determines how many knight moves come first. Every ninth game is broken.
    let text: String = (0..12_000)
        .map(|number| {
            let knights = "1. Nf3 Nf6 2. Ng1 Ng8 ".repeat(number % 97);
            let pawn = char::from(b'a' + (number % 8) as u8);
            let end = if number % 9 == 0 { "Ke8" } else { "Nc6" };
            format!("[Event \"{number}\"]\n[Result \"1-0\"]\n\n{knights}\n1. {pawn}3 {end} 1-0\n\n")
        })
        .collect();
    let files: Vec<PathBuf> = ["a.pgn", "b.pgn"].iter().map(|name| folder.path().join(name)).collect();
    std::fs::write(&files[0], &text).expect("a file");
    std::fs::write(&files[1], "[Event \"last\"]\n\n1. h4 h5 2. Rh3 1-0\n").expect("a file");
    let one = read_all(&files, 1);
    assert_eq!(one, read_all(&files, 3));
    let (games, errors, report) = one;
    assert_eq!(errors.len(), 12_000usize.div_ceil(9));
    assert_eq!((errors[1].game_line, errors[1].line), (9 * 6 + 1, 9 * 6 + 5), "six lines a game");
    assert_eq!(games.len(), 97 * 8 + 1, "each pair of knight and pawn moves once, and the last game");
    assert!(report.excluded.contains_key(&Exclusion::Duplicate));
    assert_eq!(games.last().map(|game| game.moves.len()), Some(3), "the second file comes last");
}

fn read(pgn: &str, evals: EvalSide) -> Vec<GameRecord> {
    let file = tempfile::Builder::new().suffix(".pgn").tempfile().unwrap();
    std::fs::write(file.path(), pgn).unwrap();
    let filters = Filters { unknown_results: true, ..Filters::default() };
    let options = ReadOptions { evals, filters, threads: 1, ..ReadOptions::default() };
    let mut games = Vec::new();
    let report = read_games(&[file.path().to_owned()], &options, &AtomicBool::new(false), |event| {
        if let ReadEvent::Game(game) = event {
            games.push(game);
        }
        Ok::<(), String>(())
    });
    assert!(report.unwrap().broken.is_empty());
    games
}

fn written(game: &GameRecord, side: EvalSide) -> String {
    let mut text = Vec::new();
    write_pgn(game, "a \"test\"", "1", ["?"; 2], side, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn evaluations_belong_to_the_position_that_their_writer_means() {
    let score = |text: &str, side| {
        let block =
            TextBlock { file: 0, format: TextFormat::Pgn, first_line: 1, text: text.as_bytes().to_vec() };
        let filters = Filters { unknown_results: true, ..Filters::default() };
        match parse_block(&block, side, &filters).pop() {
            Some(ParsedGame::Game(game, counts)) => (game.evals, (counts.before, counts.after, counts.mover)),
            other => panic!("{other:?}"),
        }
    };
    let moves = "1. e4 {[%eval 0.31]} e5 {[%eval 0.2]} 2. Nf3 *\n";
    let (before, after) = ((vec![31, 20, NO_EVAL], (2, 0, 0)), (vec![NO_EVAL, 31, 20], (0, 2, 0)));
    for tag in [
        "Site \"https://lichess.org/abcdefgh\"",
        "BroadcastURL \"https://lichess.org/broadcast/x\"",
        "ChapterURL \"https://lichess.org/study/x/y\"",
        "StudyName \"My study\"",
        "Annotator \"https://lichess.org/@/somebody\"",
        "Event \"Rated Blitz game on lichess.org\"",
    ] {
        assert_eq!(score(&format!("[{tag}]\n\n{moves}"), EvalSide::Auto), after, "{tag}");
        assert_eq!(score(&format!("[{tag}]\n\n{moves}"), EvalSide::Before), before, "{tag}");
    }
    let plain = format!("[Site \"?\"]\n\n{moves}");
    assert_eq!(score(&plain, EvalSide::Auto), before);
    assert_eq!(score(&plain, EvalSide::After), after);
    assert_eq!(score(&plain, EvalSide::Mover), (vec![31, -20, NO_EVAL], (0, 0, 2)), "for Black");
    let chessbase = "1. e4 {[%eval 23,14] best} e5 {[%eval -5,20]} 2. Nf3 *\n";
    assert_eq!(score(chessbase, EvalSide::Auto), (vec![NO_EVAL, 23, -5], (0, 2, 0)));
    let python = "1. e4 {[%eval 0.23,14]} e5 {[%eval -0.05]} 2. Nf3 *\n";
    assert_eq!(score(python, EvalSide::Auto), (vec![NO_EVAL, 23, -5], (0, 2, 0)), "one side for a game");
    // White mates in four moves after 1... e5, thus in seven plies before 2. Nf3.
    let mate = "1. e4 {[%eval 23,14]} e5 {[%eval #4,12]} 2. Nf3 {[%eval -5,3]} *\n";
    assert_eq!(score(mate, EvalSide::Auto).0, [NO_EVAL, 23, 29_993]);
}

#[test]
fn evaluations_that_cannot_be_read_are_counted() {
    let pgn = "1. e4 {[%eval mate 5]} e5 {[%eval abc]} 2. Nf3 {[%evaluated x]} Nc6 {[%eval 0.31} 3. d4 {[%eval 0.2]} *\n";
    let block = TextBlock { file: 0, format: TextFormat::Pgn, first_line: 1, text: pgn.as_bytes().to_vec() };
    let filters = Filters { unknown_results: true, ..Filters::default() };
    let Some(ParsedGame::Game(game, counts)) = parse_block(&block, EvalSide::Auto, &filters).pop() else {
        panic!("the game is read");
    };
    assert_eq!(game.evals, [NO_EVAL, NO_EVAL, NO_EVAL, NO_EVAL, 20]);
    assert_eq!((counts.before, counts.unreadable), (1, 3));
    assert!(counts.to_string().contains(", 3 left out, because"), "{counts}");
}

#[test]
fn games_survive_writing_and_reading_pgn() {
    let pgn = "[Date \"2024.05.??\"]\n[WhiteElo \"2500\"]\n[Termination \"adjudication\"]\n[Result \"1-0\"]\n\n\
        1. e4 {[%eval 0.31]} e5 2. Qh5 {[%eval -0.4]} Nc6 3. Bc4 Nf6 {[%eval #2]} 4. Qxf7# {[%eval #1]} 1-0\n\n\
        [Variant \"Chess960\"]\n[FEN \"1rk3r1/pppppppp/8/8/8/8/PPPPPPPP/1RK3R1 b GBgb - 0 31\"]\n\n31... O-O 32. O-O *\n";
    let games = read(pgn, EvalSide::Before);
    assert_eq!(games.len(), 2);
    for game in &games {
        assert_eq!(&read(&written(game, EvalSide::Before), EvalSide::Auto), std::slice::from_ref(game));
        assert_eq!(&read(&written(game, EvalSide::Mover), EvalSide::Mover), std::slice::from_ref(game));
        let after = &read(&written(game, EvalSide::After), EvalSide::After)[0];
        // Only the first position's score cannot be written in this way.
        assert_eq!(after.evals[1..], game.evals[1..]);
    }
    let text = written(&games[0], EvalSide::Before);
    assert!(text.starts_with("[Event \"a \\\"test\\\"\"]\n[Site \"?\"]\n[Date \"2024.05.??\"]\n"), "{text}");
    assert!(text.contains("[ECO \"C20\"]\n[Opening \"King's Pawn Game: Wayward Queen Attack\"]\n"), "{text}");
    assert!(text.contains("\n\n1. e4 {[%eval 0.31]} 1... e5 2. Qh5"), "{text}");
    assert!(text.lines().all(|line| line.len() < 80), "{text}");
    assert!(written(&games[1], EvalSide::Before).contains("\n\n31... O-O 32. O-O *\n\n"));
}

#[test]
fn dates_are_stored_as_far_as_they_are_certain() {
    for (text, stored) in [
        ("2017.06.24", Some(20_170_624)),
        ("1996.??.??", Some(19_960_000)),
        ("2018.07.17 12:00", Some(20_180_717)),
        ("2023.02.30", Some(20_230_200)),
        ("2020.13.01", Some(20_200_000)),
        ("31.12.2020", Some(20_200_000)),
        ("12/31/2020", Some(20_200_000)),
        ("2020", Some(20_200_000)),
        ("192", None),
        ("????.??.??", None),
        ("", None),
    ] {
        assert_eq!(date(text.as_bytes()), stored, "{text}");
    }
}
