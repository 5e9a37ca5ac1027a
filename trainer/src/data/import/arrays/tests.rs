use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use engine::chess::position::{Game, PackedMove};
use engine::nets::encoding::{Input, Policy};
use hdf5::types::{FixedAscii, VarLenUnicode};
use hdf5::{File, H5Type};
use ndarray::Array;
use shakmaty::Move;

use crate::data::import::pgn::BrokenGame;
use crate::data::import::reader::{Filters, ReadEvent, ReadOptions, ReadReport, read_games};
use crate::data::record::{FLAG_CHESS960, GameRecord, GameResult};

fn try_read(path: &str, filters: Filters) -> Result<(Vec<GameRecord>, Vec<BrokenGame>, ReadReport), String> {
    let (mut games, mut broken) = (Vec::new(), Vec::new());
    let options = ReadOptions { filters, threads: 1, ..ReadOptions::default() };
    let report = read_games::<String>(&[PathBuf::from(path)], &options, &AtomicBool::new(false), |event| {
        match event {
            ReadEvent::Game(game) => games.push(game),
            ReadEvent::Broken(_, fault) => broken.push(fault.clone()),
            ReadEvent::Bytes(_) => {}
        }
        Ok(())
    });
    report.map(|report| (games, broken, report)).map_err(|error| error.to_string())
}

fn read(path: &str) -> (Vec<GameRecord>, Vec<BrokenGame>) {
    let (games, broken, report) = try_read(path, Filters::default()).unwrap();
    assert!(report.damaged_files.is_empty(), "{report:?}");
    (games, broken)
}

/// A file of the format's version 1.0 with text of four-byte characters.
fn npy(folder: &tempfile::TempDir, rows: &[[&str; 2]], by_columns: bool, big_endian: bool) -> String {
    let cells: Vec<&str> = match by_columns {
        true => rows.iter().map(|row| row[0]).chain(rows.iter().map(|row| row[1])).collect(),
        false => rows.iter().flatten().copied().collect(),
    };
    let mut data = Vec::new();
    for cell in cells {
        let letters = cell.chars().map(u32::from).chain(std::iter::repeat(0)).take(90);
        data.extend(letters.flat_map(|letter| match big_endian {
            true => letter.to_be_bytes(),
            false => letter.to_le_bytes(),
        }));
    }
    let (order, end) = (if by_columns { "True" } else { "False" }, if big_endian { '>' } else { '<' });
    let header =
        format!("{{'descr': '{end}U90', 'fortran_order': {order}, 'shape': ({}, 2), }}\n", rows.len());
    raw_npy(folder, &header, &data)
}

fn raw_npy(folder: &tempfile::TempDir, header: &str, data: &[u8]) -> String {
    let path = folder.path().join("game.npy");
    let length = (header.len() as u16).to_le_bytes();
    std::fs::write(&path, [b"\x93NUMPY\x01\0", &length[..], header.as_bytes(), data].concat()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// As NumPy wrote it: 1. e4 d5 2. exd5 c5 3. dxc6 Nf6 4. cxb7 Qxd2+ 5. Bxd2 e5 6. bxa8=Q.
const BY_NUMPY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/movesAndPositions1.npy");

#[test]
fn a_game_of_the_imitation_article_is_read() {
    let (games, broken) = read(BY_NUMPY);
    let [game] = games.as_slice() else { panic!("{broken:?}") };
    assert_eq!((game.start.clone(), game.moves.len(), game.result), (None, 11, GameResult::Unknown));
    let mut board = Game::new();
    for m in &game.moves {
        board.play(m.to_move(board.position()).expect("a legal move"));
    }
    assert_eq!(board.fen(), "Qnb1kb1r/p4ppp/5n2/4p3/8/8/PPPB1PPP/RN1QKBNR b KQk - 0 6");
    let left_out = try_read(BY_NUMPY, Filters { max_plies: 10, ..Filters::default() }).unwrap().2;
    assert_eq!(left_out.reasons(), "1 left out (too long)");
}

const FOOL: [[&str; 2]; 4] = [
    ["f2f3", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"],
    ["e7e5", "rnbqkbnr/pppppppp/8/8/8/5P2/PPPPP1PP/RNBQKBNR b KQkq - 0 1"],
    ["g2g4", "rnbqkbnr/pppp1ppp/8/4p3/8/5P2/PPPPP1PP/RNBQKBNR w KQkq e6 0 2"],
    ["d8h4", "rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq g3 0 2"],
];

#[test]
fn arrays_of_either_order_hold_the_same_game_and_its_end_is_the_result() {
    let folder = tempfile::tempdir().unwrap();
    for (by_columns, big_endian) in [(false, false), (true, false), (false, true)] {
        let (games, _) = read(&npy(&folder, &FOOL, by_columns, big_endian));
        assert_eq!((games[0].moves.len(), games[0].result), (4, GameResult::Black));
    }
    // From a position of its own, in ASCII.
    let cell = |text: &str| format!("{text:\0<40}").into_bytes();
    let data = [cell("a7a8q"), cell("7k/P7/6K1/8/8/8/8/8 w - - 0 1")].concat();
    let path = raw_npy(&folder, "{'descr': '|S40', 'fortran_order': False, 'shape': (1, 2), }", &data);
    let (games, _) = read(&path);
    assert_eq!(games[0].start.as_deref(), Some("7k/P7/6K1/8/8/8/8/8 w - - 0 1"));
    assert_eq!((games[0].result, games[0].flags), (GameResult::White, 0));
}

#[test]
fn a_game_of_chess960_is_marked() {
    let folder = tempfile::tempdir().unwrap();
    let start = "1rk3r1/pppppppp/8/8/8/8/PPPPPPPP/1RK3R1 w GBgb - 0 1";
    let (games, _) = read(&npy(&folder, &[["e2e3", start]], false, false));
    assert_eq!((games[0].moves.len(), games[0].flags), (1, FLAG_CHESS960));
}

#[test]
fn a_broken_row_of_a_game_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for (row, cells, part) in [
        (2, ["g2g5", FOOL[2][1]], "illegal or ambiguous move g2g5 in rnbq"),
        (3, ["d8h4", FOOL[1][1]], "the moves before do not lead to"),
        (1, ["e7e5", "nonsense"], "nonsense"),
    ] {
        let mut rows = FOOL;
        rows[row] = cells;
        let (games, broken) = read(&npy(&folder, &rows, false, false));
        assert!(games.is_empty());
        assert_eq!((broken[0].unit, broken[0].game_line, broken[0].line), ("row", 0, row as u64));
        assert!(broken[0].error.to_string().contains(part), "{}", broken[0].error);
    }
}

#[test]
fn an_array_of_another_kind_is_refused_with_what_was_found_and_is_expected() {
    let folder = tempfile::tempdir().unwrap();
    for (header, found) in [
        ("{'descr': '|O', 'fortran_order': False, 'shape': (7, 2), }", "stored by pickle"),
        ("{'descr': '<i8', 'fortran_order': False, 'shape': (7,), }", "dtype <i8 and shape (7,)"),
        ("{'descr': '<U9', 'fortran_order': False, 'shape': (7, 3), }", "dtype <U9 and shape (7, 3)"),
        ("{'descr': [('a', '<U9')], 'fortran_order': False, 'shape': (7, 2), }", "a structure"),
        ("{'descr': '<U9', 'fortran_order': False, 'shape': (x, 7, 2), }", "shape (x, 7, 2)"),
        (
            "{'descr': '<U4611686018427387904', 'fortran_order': False, 'shape': (2, 2), }",
            "dtype <U4611686018427387904",
        ),
        (
            "{'descr': '|S4611686018427387904', 'fortran_order': False, 'shape': (2, 2), }",
            "dtype |S4611686018427387904",
        ),
    ] {
        let error = try_read(&raw_npy(&folder, header, b""), Filters::default()).unwrap_err();
        assert!(error.contains(found) && error.contains("of shape (moves, 2)"), "{error}");
    }
    let error = try_read(&raw_npy(&folder, &"x".repeat(9), b""), Filters::default()).unwrap_err();
    assert!(error.contains("game.npy") && error.contains("NumPy array of dtype"), "{error}");
    let whole = std::fs::read(npy(&folder, &FOOL, false, false)).unwrap();
    let path = folder.path().join("game.npy");
    let twice = whole.repeat(2);
    for (data, part) in
        [(&whole[..whole.len() - 1], "2879 of 2880 bytes"), (&twice[..], "more than one array")]
    {
        std::fs::write(&path, data).unwrap();
        let (games, _, report) = try_read(path.to_str().unwrap(), Filters::default()).unwrap();
        assert!(games.is_empty() && report.reasons().contains(part), "{}", report.reasons());
    }
    // A header of version 2.0 longer than 64 KiB.
    let header =
        format!("{{'descr': '<U9', 'fortran_order': False, 'shape': (0, 2), }}{}", " ".repeat(1 << 16));
    let length = (header.len() as u32).to_le_bytes();
    std::fs::write(&path, [b"\x93NUMPY\x02\0", &length[..], header.as_bytes()].concat()).unwrap();
    let error = try_read(path.to_str().unwrap(), Filters::default()).unwrap_err();
    assert!(error.contains("damaged header"), "{error}");
}

/// Positions of random games with the moves played.
fn samples(games: usize) -> Vec<(Game, Move)> {
    let mut random = fastrand::Rng::with_seed(5);
    let mut samples = Vec::new();
    for _ in 0..games {
        let mut game = Game::new();
        while let Some(m) = random.choice(game.legal_moves()).filter(|_| game.outcome().is_none()) {
            samples.push((game.clone(), m));
            game.play(m);
        }
    }
    samples
}

fn planes(samples: &[(Game, Move)]) -> Vec<f32> {
    samples.iter().flat_map(|(game, _)| Input::Planes19.tensor(std::slice::from_ref(game))).collect()
}

fn indices(samples: &[(Game, Move)]) -> Vec<u16> {
    samples.iter().map(|(game, m)| Policy::Uci1968m.index(game.turn(), *m).0).collect()
}

fn write<P: H5Type + Clone, T: H5Type>(folder: &tempfile::TempDir, planes: &[P], targets: &[T]) -> String {
    let path = folder.path().join("planes.h5");
    let shape = [planes.len() / (19 * 64), 19, 8, 8];
    let file = File::create(&path).unwrap();
    let planes = Array::from_shape_vec(shape, planes.to_vec()).unwrap();
    let inner = file.create_group("data").unwrap();
    inner.new_dataset_builder().with_data(&planes).create("x").unwrap();
    file.new_dataset_builder().with_data(targets).create("moves").unwrap();
    path.to_str().unwrap().to_owned()
}

/// What the planes hold: no counters, and an en-passant square only if it is captured on.
fn expected((game, m): &(Game, Move)) -> (String, PackedMove) {
    let fen = game.fen();
    let words: Vec<&str> = fen.split(' ').collect();
    let en_passant = if m.is_en_passant() { words[3] } else { "-" };
    (format!("{} {en_passant} 0 1", words[..3].join(" ")), PackedMove::new(*m))
}

#[test]
fn positions_in_planes_become_games_of_one_ply() {
    let folder = tempfile::tempdir().unwrap();
    let samples = samples(60);
    assert!(samples.len() > 2000, "more than a batch");
    for kind in [Move::is_en_passant, Move::is_castle, Move::is_promotion] {
        assert!(samples.iter().any(|(_, m)| kind(*m)));
    }
    let mut unique: Vec<(String, PackedMove)> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for sample in samples.iter().map(expected) {
        if seen.insert((sample.0.clone(), sample.1.0)) {
            unique.push(sample);
        }
    }
    let (numbers, indices) = (planes(&samples), indices(&samples));
    let texts: Vec<String> = samples.iter().map(|(_, m)| Game::uci(*m, false)).collect();
    let bits: Vec<bool> = numbers.iter().map(|number| *number == 1.0).collect();
    let bytes: Vec<u8> = numbers.iter().map(|number| *number as u8).collect();
    let fixed: Vec<FixedAscii<5>> = texts.iter().map(|text| FixedAscii::from_ascii(text).unwrap()).collect();
    let variable: Vec<VarLenUnicode> = texts.iter().map(|text| text.parse().unwrap()).collect();
    let wide: Vec<i64> = indices.iter().map(|index| i64::from(*index)).collect();
    for path in [
        write(&folder, &numbers, &indices),
        write(&folder, &bytes, &wide),
        write(&folder, &bits, &fixed),
        write(&folder, &numbers, &variable),
    ] {
        let (games, broken) = read(&path);
        assert!(broken.is_empty(), "{:?}", broken.first());
        let games: Vec<_> = games.iter().map(|game| (game.start_fen().into_owned(), game.moves[0])).collect();
        assert!(games == unique, "{} of {}", games.len(), unique.len());
    }
}

#[test]
fn inconsistent_rows_are_named_and_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let start = (Game::new(), Game::new().parse_uci("e2e4").unwrap());
    let samples = vec![start; 8];
    let (mut numbers, mut targets) = (planes(&samples), indices(&samples));
    let mut set = |row: usize, plane: usize, square: usize, value: f32| {
        numbers[(row * 19 + plane) * 64 + square] = value;
    };
    set(1, 0, 20, f32::NAN);
    set(2, 5, 4, 0.0);
    // A knight on the rook's square, and half a plane of castling rights.
    set(3, 1, 0, 1.0);
    set(4, 14, 9, 0.0);
    targets[5] = 1967;
    // The rook of a castling right goes to the knight's square.
    set(6, 1, 6, 0.0);
    set(6, 3, 7, 0.0);
    set(6, 3, 6, 1.0);
    let (games, broken) = read(&write(&folder, &numbers, &targets));
    assert_eq!(games.len(), 1, "the sound rows are the same position");
    let faults: Vec<(u64, String)> =
        broken.iter().map(|fault| (fault.line, fault.error.to_string())).collect();
    let parts = [
        "plane 0 has the number NaN",
        "king",
        "plane 1 is not",
        "plane 14 is not",
        "1967 of uci1968m/1",
        "without king and rook at home",
    ];
    assert_eq!(faults.len(), parts.len(), "{faults:?}");
    for ((row, fault), (number, part)) in faults.iter().zip((1..).zip(parts)) {
        assert!(*row == number && fault.contains(part), "{row}: {fault}");
    }
}

#[test]
fn hdf5_without_planes_is_refused_with_its_datasets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("planes.h5");
    let refused = |make: &dyn Fn(&File)| {
        make(&File::create(&path).unwrap());
        try_read(path.to_str().unwrap(), Filters::default()).unwrap_err()
    };
    let error = refused(&|file| {
        file.new_dataset::<u8>().shape([4, 14, 8, 8]).create("boards").unwrap();
    });
    assert!(error.contains("/boards [4, 14, 8, 8]") && error.contains("[n, 19, 8, 8]"), "{error}");
    let error = refused(&|file| {
        file.new_dataset::<u8>().shape([4, 19, 8, 8]).create("x").unwrap();
        file.new_dataset::<i32>().shape([3]).create("y").unwrap();
        file.new_dataset::<f32>().shape([4]).create("value").unwrap();
    });
    assert!(error.contains("0 datasets of 4 numbers or texts"), "{error}");
    // The attribute is another program's.
    let sample = (Game::new(), Game::new().parse_uci("e2e4").unwrap());
    let other = write(&folder, &planes(std::slice::from_ref(&sample)), &indices(&[sample]));
    let mark: VarLenUnicode = "planes".parse().unwrap();
    let attribute = File::append(&other).unwrap().new_attr::<VarLenUnicode>().create("format").unwrap();
    attribute.write_scalar(&mark).unwrap();
    drop(attribute);
    assert_eq!(read(&other).0.len(), 1);
    crate::data::dataset::write(&crate::data::dataset::Chunk::new("x"), &path).unwrap();
    let error = try_read(path.to_str().unwrap(), Filters::default()).unwrap_err();
    assert!(error.contains("ready for training as they are"), "{error}");
}
