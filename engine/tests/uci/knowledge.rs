//! The opening book and the endgame tablebases, through the built program.

use std::path::PathBuf;

use engine::chess::position::{Game, Outcome};
use engine::chess::tables::{ProbeRules, Tables};

use crate::program::{Program, Search, number};

const TABLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/syzygy");

/// Contains only 1. Nf3.
fn book() -> PathBuf {
    // Polyglot's key of the initial position; from rank 1, file g, to rank 3, file f; weight 7.
    let key = 0x463b_9618_1691_fc9c_u64.to_be_bytes();
    let bytes = [&key[..], &0o625_u16.to_be_bytes(), &[0, 7], &[0; 4]].concat();
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("book.bin");
    std::fs::write(&path, bytes).expect("the book is written");
    path
}

fn is_from_book(search: &Search) -> bool {
    search.lines.iter().any(|line| line.starts_with("info string book move "))
}

#[test]
fn the_book_is_played_at_once_in_games_and_only_there() {
    let mut engine = Program::uniform();
    let file = book();
    let set = format!("setoption name OwnBook value true\nsetoption name BookFile value {}", file.display());
    assert_eq!(engine.answer(&set), [""; 0]);
    let search = engine.search("position startpos", "go infinite wtime 1\nstop");
    assert!(!is_from_book(&search));
    let search = engine.search("position startpos", "go wtime 100000 btime 100000");
    assert!(is_from_book(&search), "{:?}", search.lines);
    assert_eq!(search.lines.len(), 3);
    assert_eq!(
        (search.best(), search.field("pv"), search.field("score")),
        ("g1f3", Some("g1f3"), Some("cp"))
    );
    assert_eq!(number(search.last(), "nodes"), 0);
    assert!(!is_from_book(&engine.search("position startpos", "go nodes 10 searchmoves e2e4")));
    assert!(!is_from_book(&engine.search("position startpos moves e2e4", "go nodes 10")));
    engine.send("setoption name OwnBook value false");
    assert!(!is_from_book(&engine.search("position startpos", "go nodes 10")));
}

#[test]
fn a_book_or_tables_that_cannot_be_read_are_rejected_once_and_the_engine_plays_on() {
    let mut engine = Program::uniform();
    let missing = ["info string OwnBook is on, but no book is open: set BookFile"];
    assert_eq!(engine.answer("setoption name OwnBook value true"), missing);
    for bad in [
        "setoption name BookFile value /no/such/book.bin".to_owned(),
        format!("setoption name BookFile value {TABLES}/README.md"),
        "setoption name SyzygyPath value /no/such/folder".to_owned(),
        format!("setoption name SyzygyPath value {}", env!("CARGO_TARGET_TMPDIR")),
    ] {
        let answer = engine.answer(&bad);
        assert!(matches!(&answer[..], [line] if line.starts_with("info string ")), "{bad}: {answer:?}");
    }
    let search = engine.search("position startpos", "go nodes 10");
    assert!(!search.lines.iter().any(|line| line.starts_with("info string")), "{:?}", search.lines);
    assert_eq!(number(search.last(), "tbhits"), 0);
}

#[test]
fn the_tables_choose_the_root_moves() {
    let mut engine = Program::uniform();
    let answer = engine.answer(&format!("setoption name SyzygyPath value {TABLES}"));
    let known = "3 WDL and 3 DTZ tables beside the 35 of each that are built in, of up to 4 pieces";
    assert_eq!(answer, [format!("info string {known}")]);
    // Only one move keeps the draw; without tablebases any move might be played.
    let defence = "position fen 4k3/8/8/4K3/4P3/8/8/8 b - - 0 1";
    let search = engine.search(defence, "go nodes 200");
    assert_eq!(search.best(), "e8e7");
    assert!(number(search.last(), "tbhits") >= 5, "{}", search.last());
    assert_eq!(engine.search(defence, "go nodes 20 searchmoves e8d8").best(), "e8d8");
    // The half-move clock leaves 30 plies, so only the fastest win, in 29 plies, counts.
    let rook = "position fen 8/8/8/3k4/8/8/8/KR6 w - - 70 90";
    assert!(["b1e1", "a1b2"].contains(&engine.search(rook, "go nodes 300").best()));
    engine.send("setoption name SyzygyProbeLimit value 2");
    assert_eq!(number(engine.search(rook, "go nodes 20").last(), "tbhits"), 0);
    engine.send("setoption name SyzygyPath value <empty>\nsetoption name SyzygyProbeLimit value 7");
    assert!(number(engine.search(rook, "go nodes 20").last(), "tbhits") > 0, "the built-in tables");
}

/// Without network and table files, the engine mates well within the fifty-move rule against the longest defence.
#[test]
fn elementary_endings_are_won_by_the_program_alone() {
    let mut engine = Program::uniform();
    let tables = Tables::builtin(ProbeRules::default());
    for (fen, plies) in [
        ("8/8/8/3k4/8/8/8/KR6 w - - 0 1", 31),
        ("8/8/8/8/4k3/8/1R6/7K w - - 0 1", 31),
        ("8/8/8/8/8/2k5/3r4/K7 b - - 0 1", 31),
        ("8/8/8/3k4/8/8/8/KQ6 w - - 0 1", 19),
        ("8/8/8/3k4/8/8/8/KBB5 w - - 0 1", 37),
        ("8/8/8/3k4/8/8/8/KBN5 w - - 0 1", 65),
        ("8/8/8/3k4/3r4/8/8/KQ6 w - - 0 1", 80),
        ("8/8/1k6/8/8/8/PP6/K7 w - - 0 1", 60),
    ] {
        let mut game = Game::from_fen(fen).expect("a position");
        let (winner, mut moves) = (game.turn(), String::new());
        while game.outcome().is_none() {
            let m = if game.turn() == winner {
                let search = engine.search(&format!("position fen {fen} moves{moves}"), "go nodes 400");
                game.parse_uci(search.best()).expect("a legal move")
            } else {
                tables.root(&game).expect("a known result").moves[0].m
            };
            moves = format!("{moves} {}", Game::uci(m, false));
            game.play(m);
        }
        assert_eq!(game.outcome(), Some(Outcome::Decisive { winner }), "{fen} moves{moves}");
        assert!(game.ply() <= plies, "{fen} took {} plies:{moves}", game.ply());
    }
}

#[test]
fn a_damaged_table_is_reported_once() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("damaged");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("KQQQvK.rtbw"), [7; 272]).expect("a file");
    let mut engine = Program::uniform();
    engine.answer(&format!("setoption name SyzygyPath value {}", folder.display()));
    let mut count = |go: &str| {
        let search = engine.search("position fen k7/8/8/8/8/8/8/KQQQ4 w - - 0 1", go);
        search.lines.iter().filter(|line| line.contains("KQQQvK")).count()
    };
    assert_eq!([count("go nodes 10"), count("go nodes 10"), count("go nodes 10")], [1, 0, 0]);
}

/// The embedded network scores these positions at 193 and 446 centipawns.
#[test]
fn a_root_that_the_tables_know_has_its_certain_score_and_hardly_any_time() {
    let mut engine = Program::uniform();
    for (fen, score) in [
        ("7N/7K/8/8/8/N6k/8/8 w - - 0 80", "score cp 0 "),
        ("8/8/8/3k4/3r4/8/8/KQ6 w - - 99 80", "score cp 0 "),
        ("8/8/8/3k4/8/8/8/KBN5 w - - 0 1", "score cp 10000 "),
        ("8/8/8/3k4/8/8/8/KBN5 b - - 0 1", "score cp -10000 "),
    ] {
        let position = format!("position fen {fen}");
        let search = engine.search(&position, "go wtime 60000 btime 60000");
        assert!(search.last().contains(score), "{fen}: {}", search.last());
        assert!(number(search.last(), "time") < 3000, "{fen}: {}", search.last());
    }
    // The rook is attacked: moves that leave it draw, the others win. All are shown and ranked.
    engine.send("setoption name MultiPV value 100");
    let fen = "8/8/8/3k4/4R3/8/8/K7 w - - 0 1";
    let game = Game::from_fen(fen).expect("a position");
    let search = engine.search(&format!("position fen {fen}"), "go nodes 300");
    let tables = Tables::builtin(ProbeRules::default());
    let ranked = tables.root(&game).expect("a known result").all;
    let shown = &search.infos()[search.infos().len() - ranked.len()..];
    let first = |info: &str| info.split_once(" pv ").expect("a line").1.split(' ').next().map(str::to_owned);
    let rank = |info: &&str| {
        let m = game.parse_uci(&first(info).expect("a move")).expect("a legal move");
        ranked.iter().find(|known| known.m == m).expect("ranked").rank
    };
    let unproven = shown.iter().filter(|info| info.contains(" score cp "));
    let ranks: Vec<u32> = unproven.map(|info| rank(&&**info)).collect();
    assert!(ranks.len() > 5 && ranks.is_sorted(), "{shown:#?}");
    assert!(shown.iter().any(|info| info.contains("score cp 0 ")), "{shown:#?}");
}
