use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use shakmaty::Color;

use super::*;
use crate::chess::position::Outcome;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/syzygy");

fn tables() -> Tables {
    Tables::open(FOLDER, ProbeRules::default()).unwrap()
}

fn game(fen: &str) -> Game {
    Game::from_fen(fen).unwrap()
}

fn played(fen: &str, moves: &str) -> Game {
    Game::from_uci(Some(fen), moves.split_whitespace()).unwrap()
}

fn kept(tables: &Tables, game: &Game) -> Vec<String> {
    let root = tables.root(game).unwrap();
    root.moves.iter().map(|root| Game::uci(root.m, false)).collect()
}

#[test]
fn tables_are_found_and_counted() {
    let tables = tables();
    assert_eq!(tables.to_string(), "3 WDL and 3 DTZ tables of up to 3 pieces");
    assert_eq!(tables.max_pieces(), 3);
    assert_eq!(tables.with_rules(ProbeRules { pieces: 2, ..ProbeRules::default() }).max_pieces(), 2);
    assert_eq!(Tables::default().max_pieces(), 0);
    assert_eq!(Tables::default().wdl(&game("8/8/8/8/8/4k3/8/4K3 w - - 0 1")), None);
}

#[test]
fn folders_are_separated_by_colon_or_semicolon() {
    for paths in [format!("{FOLDER};{FOLDER}"), format!(" ;{FOLDER} ; ")] {
        assert_eq!(Tables::open(&paths, ProbeRules::default()).unwrap().max_pieces(), 3);
    }
    if !cfg!(windows) {
        assert_eq!(
            Tables::open(&format!("{FOLDER}:{FOLDER}"), ProbeRules::default()).unwrap().max_pieces(),
            3
        );
    }
    let error = |paths: &str| Tables::open(paths, ProbeRules::default()).unwrap_err();
    assert!(matches!(error("/no/such/folder"), TablesError::Folder(..)));
    assert!(matches!(error(env!("CARGO_MANIFEST_DIR")), TablesError::NoTables(_, None)));
}

#[test]
fn workers_can_share_them() {
    fn is_shareable<T: Send + Sync + Clone>(_: &T) {}
    let tables = tables();
    is_shareable(&tables);
    let lost = game("8/8/8/8/8/2k5/8/KQ6 b - - 0 1");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(tables.wdl(&lost), Some(TableResult::Loss)));
        }
    });
}

#[test]
fn results_as_a_table() {
    use TableResult::{Draw, Loss, Win};
    let tables = tables();
    for (fen, result) in [
        ("4k3/8/4K3/4P3/8/8/8/8 w - - 0 1", Win),
        ("4k3/8/4K3/4P3/8/8/8/8 b - - 0 1", Loss),
        ("8/8/4k3/8/4K3/4P3/8/8 w - - 0 1", Draw),
        ("8/8/4k3/8/4K3/4P3/8/8 b - - 0 1", Loss),
        ("4k3/4P3/4K3/8/8/8/8/8 b - - 0 1", Draw),
        ("8/8/8/1k6/7P/8/K7/8 w - - 0 1", Win),
        ("k7/8/1K6/P7/8/8/8/8 w - - 0 1", Draw),
        ("8/8/8/8/8/4k3/4p3/4K3 w - - 0 1", Draw),
        ("8/8/8/8/8/4k3/8/4K2R b - - 0 1", Loss),
        ("8/8/8/8/8/1k6/1Q6/K7 b - - 0 1", Loss),
        ("8/8/8/8/8/4k3/8/4K3 w - - 0 1", Draw),
    ] {
        assert_eq!(tables.wdl(&game(fen)), Some(result), "{fen}");
    }
    assert_eq!(tables.warnings(), [""; 0]);
}

#[test]
fn inside_a_tree_only_results_independent_of_history_are_given() {
    let tables = tables();
    let after_a_king_move = game("8/8/8/8/8/2k5/8/KQ6 w - - 1 1");
    assert_eq!(tables.wdl(&after_a_king_move), None);
    let unruly = tables.with_rules(ProbeRules { fifty_moves: false, ..ProbeRules::default() });
    assert_eq!(unruly.wdl(&after_a_king_move), Some(TableResult::Win));
    assert_eq!(tables.wdl(&game("4k3/8/8/8/8/8/8/4K2R w K - 0 1")), None, "castling");
    assert_eq!(tables.wdl(&game("4k3/8/8/8/8/8/3R4/4K2R w - - 0 1")), None, "four pieces");
    let few = tables.with_rules(ProbeRules { pieces: 2, ..ProbeRules::default() });
    assert_eq!(few.wdl(&game("8/8/8/8/8/2k5/8/KQ6 w - - 0 1")), None);
    assert_eq!(tables.warnings(), [""; 0], "none of that is a warning");
}

/// The winner takes the first or the last of the kept moves, the loser the longest defence.
#[test]
fn every_kept_move_wins_in_time() {
    let tables = tables();
    for fen in [
        "8/8/8/3k4/8/8/8/KQ6 w - - 0 1",
        "8/8/8/3k4/8/8/8/KR6 w - - 0 1",
        "8/8/8/3k4/8/8/8/KR6 w - - 40 61",
        "8/8/8/3k4/8/8/8/KQ6 w - - 77 99",
        "8/8/8/1k6/7P/8/K7/8 w - - 0 1",
        "k7/8/7p/8/1K6/8/8/8 b - - 0 1",
    ] {
        for first in [true, false] {
            let mut game = game(fen);
            let winner = game.turn();
            while game.outcome().is_none() {
                let root = tables.root(&game).unwrap();
                let is_winner = game.turn() == winner;
                assert_eq!(
                    root.outcome,
                    if is_winner { TableResult::Win } else { TableResult::Loss },
                    "{fen}"
                );
                let take_first = first || !is_winner;
                game.play(if take_first { root.moves[0].m } else { root.moves.last().unwrap().m });
            }
            assert_eq!(game.outcome(), Some(Outcome::Decisive { winner }), "{fen} {}", game.fen());
            if first {
                assert!(game.ply() <= 70, "{fen} took {} plies", game.ply());
            }
        }
    }
    assert_eq!(tables.warnings(), [""; 0]);
}

#[test]
fn the_fastest_comes_first_and_mate_is_the_fastest() {
    let tables = tables();
    let root = tables.root(&game("7k/8/4K3/8/8/8/8/6Q1 w - - 0 1")).unwrap();
    assert_eq!((root.outcome, root.moves[0].dtz), (TableResult::Win, 3));
    assert!(root.moves.is_sorted_by_key(|root| root.dtz), "{root:?}");
    assert!(root.moves.len() > 10 && root.hits > root.moves.len() as u64, "a stalemate is left out");
    let mate = tables.root(&game("7k/8/6K1/8/8/8/8/R7 w - - 99 80")).unwrap();
    assert_eq!(kept(&tables, &game("7k/8/6K1/8/8/8/8/R7 w - - 99 80")), ["a1a8"]);
    assert_eq!((mate.outcome, mate.moves[0].dtz), (TableResult::Win, 1));
}

#[test]
fn only_the_drawing_moves_are_kept() {
    let tables = tables();
    // The defender has to take the opposition.
    let defence = game("4k3/8/8/4K3/4P3/8/8/8 b - - 0 1");
    assert_eq!(kept(&tables, &defence), ["e8e7"]);
    assert_eq!(tables.root(&defence).unwrap().outcome, TableResult::Draw);
}

#[test]
fn a_win_that_comes_too_late_is_a_draw_and_the_fastest_try_is_kept() {
    let tables = tables();
    let rook = |clock| game(&format!("8/8/8/3k4/8/8/8/KR6 w - - {clock} 80"));
    let fresh = tables.root(&rook(0)).unwrap();
    let fastest = fresh.moves[0].dtz;
    assert_eq!(fresh.outcome, TableResult::Win);
    let late = tables.root(&rook(100 - fastest + 1)).unwrap();
    assert_eq!(late.outcome, TableResult::Draw);
    assert!(late.moves.iter().all(|root| root.dtz == fastest), "{late:?}");
    // One or two plies earlier there is just enough time, for the fastest move only.
    let just = tables.root(&rook(100 - fastest - 1)).unwrap();
    assert_eq!(just.outcome, TableResult::Win);
    assert!(just.moves.iter().all(|root| root.dtz <= fastest + 1), "{just:?}");
    let unruly = tables.with_rules(ProbeRules { fifty_moves: false, ..ProbeRules::default() });
    assert_eq!(unruly.root(&rook(99)).unwrap().outcome, TableResult::Win);
}

#[test]
fn the_loser_runs_for_the_fifty_moves_where_they_are_near() {
    let tables = tables();
    let rook = |clock| game(&format!("8/8/8/3k4/8/8/8/KR6 b - - {clock} 80"));
    let calm = tables.root(&rook(0)).unwrap();
    assert_eq!((calm.outcome, calm.moves.len()), (TableResult::Loss, calm.hits as usize));
    let near = tables.root(&rook(60)).unwrap();
    let longest = near.moves[0].dtz;
    assert_eq!(near.outcome, TableResult::Loss);
    assert!(near.moves.iter().all(|root| root.dtz == longest) && near.moves.len() < calm.moves.len());
    assert_eq!(tables.root(&rook(90)).unwrap().outcome, TableResult::Draw);
}

#[test]
fn who_has_repeated_makes_progress() {
    let tables = tables();
    let start = "8/8/8/3k4/8/8/8/KR6 w - - 0 1";
    let shuffle = "b1b2 d5d6 b2b1 d6d5";
    let once = played(start, "b1b2 d5d6");
    let repeated = played(start, shuffle);
    assert!(tables.root(&once).unwrap().moves.len() > 3);
    let root = tables.root(&repeated).unwrap();
    assert!(root.moves.iter().all(|m| m.dtz == root.moves[0].dtz), "{root:?}");
    // The third occurrence is a draw, which the loser keeps and the winner avoids.
    let third = played(start, &format!("{shuffle} b1b2 d5d6 b2b1"));
    assert_eq!(third.turn(), Color::Black);
    let saved = tables.root(&third).unwrap();
    assert_eq!(saved.outcome, TableResult::Draw);
    assert_eq!(kept(&tables, &third), ["d6d5"]);
}

#[test]
fn no_moves_and_no_tables_have_no_answer() {
    let tables = tables();
    assert_eq!(tables.root(&game("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1")), None, "stalemate");
    assert_eq!(tables.root(&Game::new()), None);
    assert_eq!(Tables::default().root(&game("8/8/8/3k4/8/8/8/KR6 w - - 0 1")), None);
}

/// Removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn with(name: &str, files: &[(&str, Vec<u8>)]) -> Folder {
        let path = std::env::temp_dir().join(format!("philidor-tables-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        for (name, bytes) in files {
            std::fs::write(path.join(name), bytes).unwrap();
        }
        Folder(path)
    }

    fn open(&self) -> Result<Tables, TablesError> {
        Tables::open(self.0.to_str().unwrap(), ProbeRules::default())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn file(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(FOLDER).join(name)).unwrap()
}

#[test]
fn every_unusable_file_is_reported_once() {
    let mut short = file("KRvK.rtbw");
    short.pop();
    let folder = Folder::with(
        "unusable",
        &[
            ("KRvK.rtbw", short),
            ("KQvK.rtbw", vec![7; 272]),
            ("KQvK.rtbz", file("KQvK.rtbz")),
            ("KPvK.rtbw", file("KPvK.rtbw")),
            ("notes.txt", b"not a table".to_vec()),
        ],
    );
    let tables = folder.open().unwrap();
    assert_eq!(tables.to_string(), "2 WDL and 1 DTZ tables of up to 3 pieces");
    let warnings = tables.warnings();
    assert!(matches!(&warnings[..], [one] if one.contains("KRvK.rtbw")), "{warnings:?}");
    let queen = game("8/8/8/8/8/2k5/8/KQ6 w - - 0 1");
    let pawn = game("4k3/8/4K3/4P3/8/8/8/8 w - - 0 1");
    for _ in 0..3 {
        assert_eq!(tables.wdl(&queen), None);
        assert_eq!(tables.root(&queen), None);
        assert_eq!(tables.wdl(&pawn), Some(TableResult::Win));
        assert_eq!(tables.root(&pawn), None, "its DTZ table is missing");
    }
    let warnings = tables.warnings();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("wdl table KQvK is not a Syzygy table"), "{warnings:?}");
    assert!(warnings[1].contains("missing"), "{warnings:?}");
    assert!(!warnings.iter().any(|warning| warning.contains('\n')));
    assert_eq!(tables.warnings(), [""; 0]);
    let none = Folder::with("none", &[("KRvK.rtbw", vec![1, 2, 3])]);
    assert!(matches!(none.open(), Err(TablesError::NoTables(_, Some(_)))));
}

/// A damaged file may give a wrong result or none, but no panic and no endless loop.
#[test]
fn no_damage_ends_the_program() {
    let mut random = SmallRng::seed_from_u64(9);
    let positions = [
        "8/8/8/8/8/2k5/8/KQ6 w - - 0 1",
        "8/8/8/8/8/2k5/8/KQ6 b - - 0 1",
        "8/8/8/3k4/8/8/8/KR6 w - - 0 1",
        "4k3/8/4K3/4P3/8/8/8/8 w - - 0 1",
    ];
    for round in 0..200 {
        let damaged = |name: &'static str| {
            let mut bytes = file(name);
            // The header decides where the rest is looked for, so most damage goes there.
            for _ in 0..1 + round % 8 {
                let end = if random.random() { 200 } else { bytes.len() };
                let at = random.random_range(4..end);
                bytes[at] = random.random();
            }
            (name, bytes)
        };
        let names = ["KQvK.rtbw", "KQvK.rtbz", "KRvK.rtbw", "KRvK.rtbz", "KPvK.rtbw", "KPvK.rtbz"];
        let folder = Folder::with("damaged", &names.map(damaged));
        let tables = folder.open().unwrap();
        for fen in positions {
            let _ = (tables.wdl(&game(fen)), tables.root(&game(fen)));
        }
    }
}

/// A random position of the material `class`, White to move; `None` if the draw is illegal.
fn random_position(class: &str, random: &mut SmallRng) -> Option<Game> {
    let mut board = shakmaty::Board::empty();
    let mut colour = Color::White;
    for letter in class.chars() {
        let Some(role) = shakmaty::Role::from_char(letter.to_ascii_lowercase()).filter(|_| letter != 'v')
        else {
            colour = Color::Black;
            continue;
        };
        let square = shakmaty::Square::new(random.random_range(0..64));
        if board.piece_at(square).is_some() {
            return None;
        }
        board.set_piece_at(square, role.of(colour));
    }
    Game::from_fen(&format!("{} {} - - 0 1", board, if random.random() { 'w' } else { 'b' })).ok()
}

/// The best result one ply deeper, by rules or tables.
fn result_by_search(tables: &Tables, game: &Game) -> TableResult {
    let legal = game.legal_moves();
    let after = legal.iter().map(|m| {
        let mut after = game.clone();
        after.play(*m);
        let base = &tables.shared.base;
        tables.result(base.probe_wdl_after_zeroing(after.position()).unwrap()).flipped()
    });
    match game.outcome() {
        Some(Outcome::Decisive { .. }) => TableResult::Loss,
        Some(Outcome::Draw(_)) => TableResult::Draw,
        None => after.max().unwrap(),
    }
}

/// Detects damaged or misnamed tables: each result must follow from the results one ply deeper.
#[test]
fn the_built_in_tables_agree_with_a_search_of_one_ply() {
    // With the fifty-move rule, results depend on more than the position.
    let tables = Tables::builtin(ProbeRules { fifty_moves: false, ..ProbeRules::default() });
    assert_eq!(tables.max_pieces(), 4);
    let mut random = SmallRng::seed_from_u64(4);
    let mut classes = 0;
    for path in builtin::paths().filter(|path| path.extension().unwrap() == "rtbw") {
        let class = path.file_stem().unwrap().to_str().unwrap();
        let draws = (0..150).filter_map(|_| random_position(class, &mut random));
        let positions: Vec<Game> = draws.collect();
        assert!(positions.len() > 30, "{class}");
        for game in positions {
            let (got, want) = (tables.wdl(&game), result_by_search(&tables, &game));
            assert_eq!(got, Some(want), "{}", game.fen());
            let root = tables.root(&game).map(|root| root.outcome);
            assert!(root.is_none_or(|root| root == want), "{}: {root:?}", game.fen());
            assert!(root.is_some() || game.legal_moves().is_empty(), "{}", game.fen());
        }
        classes += 1;
    }
    assert_eq!((classes, builtin::count()), (35, 35));
    assert_eq!(tables.warnings(), [""; 0]);
}

#[test]
fn damaged_files_do_not_replace_built_in_tables() {
    let files = [("KQvK.rtbw", vec![7; 272]), ("KQvK.rtbz", vec![7; 272]), ("KQQQvK.rtbw", vec![7; 272])];
    let folder = Folder::with("beside", &files);
    let tables = Tables::open_beside_builtin(folder.0.to_str().unwrap(), ProbeRules::default()).unwrap();
    let known = "2 WDL and 1 DTZ tables beside the 35 of each that are built in, of up to 5 pieces";
    assert_eq!(tables.to_string(), known);
    let queen = game("8/8/8/8/8/2k5/8/KQ6 w - - 0 1");
    assert_eq!(tables.wdl(&queen), Some(TableResult::Win));
    assert!(tables.root(&queen).is_some() && tables.warnings().is_empty());
    let missing = Tables::open_beside_builtin("/no/such/folder", ProbeRules::default());
    assert!(matches!(missing, Err(TablesError::Folder(..))));
}

/// With any fastest win, DTZ shrinks with every move until the next capture or pawn move.
#[test]
fn every_fastest_win_comes_closer() {
    let tables = Tables::builtin(ProbeRules::default());
    let mut random = SmallRng::seed_from_u64(5);
    for class in ["KRvK", "KBNvK", "KQvKR", "KRvKN", "KRvKB", "KPPvK", "KQvKP", "KPvKP"] {
        let mut games = 0;
        while games < 4 {
            let Some(mut game) = random_position(class, &mut random) else { continue };
            let winner = game.turn();
            if tables.root(&game).is_none_or(|root| root.outcome != TableResult::Win) {
                continue;
            }
            games += 1;
            let (start, mut last) = (game.fen(), i32::MAX);
            while game.outcome().is_none() {
                let root = tables.root(&game).unwrap();
                if game.turn() == winner {
                    let zeroed = game.position().halfmoves() < 2;
                    assert!(zeroed || root.moves[0].dtz < last, "{start}: {} after {last}", game.fen());
                    last = root.moves[0].dtz;
                    let fastest = root.fastest(|_| true);
                    game.play(fastest[random.random_range(0..fastest.len())]);
                } else {
                    game.play(root.moves[0].m);
                }
            }
            assert_eq!(game.outcome(), Some(Outcome::Decisive { winner }), "{start}: {}", game.fen());
        }
    }
}
