//! `import` and `inspect` by the built binary.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use engine::chess::position::PackedMove;
use trainer::data::dataset::{self, Chunk};
use trainer::data::record::{GameRecord, NO_EVAL};

const TWO_GAMES: &str = r#"[Event "first"]
[White "A"]
[Black "B"]
[WhiteElo "2500"]
[BlackElo "2390"]
[Date "2024.05.01"]
[Result "1-0"]

1. e4 e5 2. Qh5 {[%eval 0.25]} Nc6 {[%eval #3]} 3. Bc4 Nf6 (3... g6) 4. Qxf7# {[%eval #1]} 1-0

[Event "second"]
[Result "1/2-1/2"]

1. d4 d5 $1 2. c4 e6 ; a comment to the end of the line
3. Nc3 1/2-1/2
"#;

/// An illegal move on line 9, between two valid games.
const BROKEN: &str = r#"[Event "sound"]
[Result "0-1"]

1. f3 e5 2. g4 Qh4# 0-1

[Event "broken"]
[Result "1-0"]

1. e4 e5 2. Ke3 Nc6 1-0

[Event "sound too"]
[Result "1-0"]

1. e4 d5 2. exd5 1-0
"#;

const CHESS960: &str = r#"[Event "960"]
[Variant "Chess960"]
[SetUp "1"]
[FEN "1rk3r1/pppppppp/8/8/8/8/PPPPPPPP/1RK3R1 w GBgb - 0 1"]
[Result "*"]

1. e3 O-O *

[Event "other rules"]
[Variant "Atomic"]
[Result "1-0"]

1. e4 e5 1-0
"#;

fn trainer(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_philidor-trainer");
    Command::new(program).args(arguments).output().expect("the trainer starts")
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("UTF-8").to_owned()
    }

    fn write(&self, name: &str, contents: &[u8]) -> String {
        std::fs::write(self.path(name), contents).expect("a file");
        self.path(name)
    }

    /// Returns the chunk, stdout and stderr.
    fn import(&self, pgn: &str, arguments: &[&str]) -> (Chunk, String, String) {
        let out = self.path("out");
        let _ = std::fs::remove_dir_all(&out);
        let output = trainer(&[&["import", pgn, "--out", &out, "--name", "x"], arguments].concat());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{stdout}{stderr}");
        let path: PathBuf = Path::new(&out).join("x-00000.h5");
        let chunk = if path.exists() { dataset::read(&path).expect("a sound file") } else { Chunk::new("") };
        (chunk, stdout, stderr)
    }
}

#[test]
fn games_are_imported_with_their_tags_and_evaluations() {
    let folder = Folder::new();
    let pgn = folder.write("two.pgn", TWO_GAMES.as_bytes());
    let (chunk, stdout, _) = folder.import(&pgn, &[]);
    assert!(stdout.contains("2 games, 12 positions in 1 file"), "{stdout}");
    let game = chunk.game(0);
    assert_eq!((game.white_elo, game.black_elo, game.date, game.result.code()), (2500, 2390, 20_240_501, 1));
    // Scores before the move, in centipawns for White; mates count plies.
    let none = NO_EVAL;
    assert_eq!(game.evals, [none, none, 25, 29_997, none, none, 29_999]);
    assert_eq!(chunk.game(1).moves.len(), 5);
    assert_eq!((chunk.game(1).result.code(), chunk.game(1).white_elo), (0, 0));
}

#[test]
fn lichess_scores_belong_to_the_position_after_the_move() {
    let folder = Folder::new();
    let lichess = "[Event \"x\"]\n[Site \"https://lichess.org/abcdefgh\"]\n[Result \"1-0\"]\n\n\
        1. e4 { [%eval 0.3] } e5 { [%eval 0.2] } 2. Qh5 { [%eval #-2] } 1-0\n";
    let pgn = folder.write("lichess.pgn", lichess.as_bytes());
    let (chunk, ..) = folder.import(&pgn, &[]);
    // The score after 1. e4 belongs to the position before 1... e5.
    assert_eq!(chunk.game(0).evals, [NO_EVAL, 30, 20]);
    let (chunk, ..) = folder.import(&pgn, &["--evals", "before"]);
    assert_eq!(chunk.game(0).evals, [30, 20, -29_998]);
}

#[test]
fn a_broken_game_is_reported_with_its_line_and_skipped() {
    let folder = Folder::new();
    let pgn = folder.write("broken.pgn", BROKEN.as_bytes());
    let (chunk, stdout, stderr) = folder.import(&pgn, &[]);
    assert_eq!(chunk.games(), 2, "the games around it survive");
    assert!(stderr.contains("broken.pgn:9:") && stderr.contains("Ke3"), "{stderr}");
    assert!(stderr.contains("game at line 6"), "{stderr}");
    assert!(stdout.contains("broken: 1"), "{stdout}");
}

#[test]
fn a_game_in_numpys_format_is_imported_and_a_broken_row_is_named() {
    let folder = Folder::new();
    let sound = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/movesAndPositions1.npy");
    let mut array = std::fs::read(sound).expect("a file");
    // The third move becomes an illegal one.
    let e4d5: Vec<u8> = "e4d5".chars().flat_map(|letter| u32::from(letter).to_le_bytes()).collect();
    let at = array.windows(e4d5.len()).position(|bytes| bytes == e4d5).expect("the move");
    array[at + 12] = b'6';
    let broken = folder.write("broken.npy", &array);
    let (chunk, stdout, stderr) = folder.import(&broken, &[sound]);
    assert_eq!((chunk.games(), chunk.positions()), (1, 11));
    assert!(stderr.contains("broken.npy:2: illegal or ambiguous move e4d6 in rnbq"), "{stderr}");
    assert!(stderr.contains("(game at row 0), skipped"), "{stderr}");
    assert!(stdout.contains("1 game, 11 positions in 1 file"), "{stdout}");
}

#[test]
fn compressed_files_give_the_same_games() {
    let folder = Folder::new();
    let plain = folder.write("two.pgn", TWO_GAMES.as_bytes());
    let (expected, ..) = folder.import(&plain, &[]);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(TWO_GAMES.as_bytes()).expect("memory");
    let mut bz2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
    bz2.write_all(TWO_GAMES.as_bytes()).expect("memory");
    let packed = [
        ("two.pgn.gz", gz.finish().expect("memory")),
        ("two.pgn.bz2", bz2.finish().expect("memory")),
        ("two.pgn.zst", zstd::encode_all(TWO_GAMES.as_bytes(), 3).expect("memory")),
    ];
    for (name, bytes) in packed {
        let path = folder.write(name, &bytes);
        let (chunk, ..) = folder.import(&path, &[]);
        assert_eq!((chunk.games(), chunk.game(0)), (2, expected.game(0)), "{name}");
    }
}

#[test]
fn a_truncated_file_is_imported_up_to_its_end() {
    let folder = Folder::new();
    let mut whole = zstd::encode_all(TWO_GAMES.repeat(2000).as_bytes(), 1).expect("memory");
    whole.truncate(whole.len() - 20);
    let path = folder.write("cut.pgn.zst", &whole);
    let output = trainer(&["import", &path, "--out", &folder.path("out"), "--name", "x"]);
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(stdout.contains("damaged") && stdout.contains("cut.pgn.zst"), "{stdout}");
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("cut.pgn.zst; what was read before is kept"), "{stderr}");
    let chunk = dataset::read(Path::new(&folder.path("out/x-00000.h5"))).expect("a sound file");
    assert_eq!(chunk.games(), 2);
}

/// Imports bytes through a pipe, in two parts.
fn piped(folder: &Folder, source: &str, bytes: &[u8]) -> (Chunk, String) {
    let out = folder.path("out");
    let _ = std::fs::remove_dir_all(&out);
    let mut command = Command::new(env!("CARGO_BIN_EXE_philidor-trainer"));
    command.args(["import", source, "--out", &out, "--name", "x"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("piped");
    // The first part is too short to recognise the compression.
    let (first, rest) = bytes.split_at(1);
    input
        .write_all(first)
        .and_then(|()| input.flush())
        .and_then(|()| input.write_all(rest))
        .expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let chunk = dataset::read(Path::new(&format!("{out}/x-00000.h5"))).expect("a sound file");
    (chunk, String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn pipes_are_read_once_and_to_their_end() {
    let folder = Folder::new();
    let text = many_games(300);
    let packed = zstd::encode_all(text.as_bytes(), 3).expect("memory");
    let sources: &[&str] = if cfg!(unix) { &["-", "/dev/stdin"] } else { &["-"] };
    for source in sources {
        for bytes in [text.as_bytes(), &packed] {
            let (chunk, stdout) = piped(&folder, source, bytes);
            assert_eq!(chunk.games(), 300, "{source}: {stdout}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_read_like_a_file() {
    let folder = Folder::new();
    let (pipe, out) = (folder.path("games.pgn.zst"), folder.path("out"));
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("coreutils").success());
    let packed = zstd::encode_all(many_games(300).as_bytes(), 3).expect("memory");
    let writer = {
        let pipe = pipe.clone();
        std::thread::spawn(move || std::fs::write(pipe, packed))
    };
    let output = trainer(&["import", &pipe, "--out", &out]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    writer.join().expect("no panic").expect("it is read to its end");
    let chunk = dataset::read(Path::new(&format!("{out}/games-00000.h5"))).expect("a sound file");
    assert_eq!(chunk.games(), 300);
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_reading_of_a_pipe_that_stays_open() {
    let folder = Folder::new();
    let (pipe, out) = (folder.path("games.pgn"), folder.path("out"));
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("coreutils").success());
    let written = folder.path("out.pgn");
    for (signal, code, arguments, expected) in [
        ("INT", 130, &["import", &pipe, "--out", &out, "--name", "a"][..], "stopped before the end"),
        ("TERM", 143, &["import", &pipe, "--out", &out, "--name", "b"], "stopped before the end"),
        ("TERM", 143, &["export-pgn", &pipe, "--out", &written], "stopped"),
    ] {
        let child = Command::new(env!("CARGO_BIN_EXE_philidor-trainer"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the trainer starts");
        // Waits until the pipe is opened for reading.
        let mut end = std::fs::File::options().write(true).open(&pipe).expect("it is there");
        end.write_all(many_games(3).as_bytes()).expect("it is read");
        let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
        assert!(sent.expect("kill is there").success());
        let output = child.wait_with_output().expect("it ends though the pipe is open");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
        drop(end);
    }
}

#[test]
fn values_that_have_no_sense_are_refused_by_option() {
    let folder = Folder::new();
    let (pgn, out) = (folder.write("games.pgn", many_games(2).as_bytes()), folder.path("out"));
    for (arguments, expected) in [
        ("--chunk-size 0", "'--chunk-size <CHUNK_SIZE>': 0 is not in 1..="),
        ("--threads 0", "0 is not in 1..=256"),
        ("--max-games 0", "0 is not in 1.."),
        ("--min-popularity 500", "500 is not in -100..=100"),
        ("--name a/b", "a name, not a path: --out is the folder"),
        ("--name=", "--name"),
        (
            "--min-elo 2500 --max-elo 100",
            "--min-elo 2500 is above --max-elo 100: no rated game would be kept",
        ),
        ("--min-plies 9 --max-plies 8", "--min-plies 9 is above --max-plies 8"),
    ] {
        let line: Vec<&str> =
            ["import", &pgn, "--out", &out].into_iter().chain(arguments.split(' ')).collect();
        let output = trainer(&line);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(expected), "{arguments}: {said}");
        assert!(!Path::new(&out).exists(), "{arguments}");
    }
}

#[test]
fn no_command_replaces_what_it_reads() {
    let folder = Folder::new();
    let (pgn, out) = (folder.write("games.pgn", many_games(20).as_bytes()), folder.path("out"));
    assert!(trainer(&["import", &pgn, "--out", &out]).status.success());
    let games = format!("{out}/games-00000.h5");
    let nets = concat!(env!("CARGO_MANIFEST_DIR"), "/../nets");
    let copy = |name: &str, of: &str| {
        let path = folder.path(name);
        std::fs::copy(format!("{nets}/{of}"), &path).expect("a shipped file");
        path
    };
    let net = copy("net.int8.onnx", "philidor.int8.onnx");
    let config = folder.write("config.json", b"{\"model\": {\"family\": \"sparse\"}}");
    let by = folder.path("by.onnx");
    for (read, arguments) in [
        (&games, &["export-pgn", &games, "--out", &games][..]),
        (&net, &["heatmap", &net, "--move", "e2e4", "--out", &net]),
        (&net, &["evaluate", "canaries", &net, "--nodes", "0", "--json", &net]),
        (&games, &["evaluate", "accuracy", "embedded", "--games", &games, "--json", &games]),
        (&net, &["arena", &net, "uct:5", "--games", "2", "--out", &net]),
        (&config, &["lr-finder", "--config", &config, "--out", &config]),
        (&net, &["convert-lc0", &net, "--out", &net]),
        (&net, &["export", "--checkpoint", &net, "--out", &net]),
        (&net, &["export", "--checkpoint", &config, "--policy", &net, "--out", &folder.path("net.onnx")]),
        (&config, &["export", "--checkpoint", &config, "--out", &by, "--weights", &config]),
    ] {
        let before = std::fs::read(read).expect("it is there");
        let output = trainer(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains("would be replaced, but is read"), "{arguments:?}: {said}");
        assert!(std::fs::read(read).expect("it is there") == before, "{arguments:?}");
    }
    let integers = std::path::Path::new(&by).with_extension("int8.onnx").display().to_string();
    for weights in [&by, &integers, &folder.path("./by.onnx")] {
        let same = trainer(&["export", "--checkpoint", &config, "--out", &by, "--weights", weights]);
        let said = String::from_utf8_lossy(&same.stderr);
        assert!(said.contains("--weights would replace "), "{weights}: {said}");
    }
    for (out, why) in [("by", "name a file that ends in .onnx"), ("by.int8.onnx", "name the fp32 file")] {
        let refused = trainer(&["export", "--checkpoint", &net, "--out", &folder.path(out)]);
        assert!(String::from_utf8_lossy(&refused.stderr).contains(why), "{out}");
    }
    let earlier = folder.write("earlier.h5", b"the games of a match");
    for (out, why) in [(&earlier, "exists"), (&pgn, "name a .h5 file")] {
        let refused = trainer(&["arena", "random", "random", "--games", "2", "--out", out]);
        assert!(String::from_utf8_lossy(&refused.stderr).contains(why), "{out}");
    }
    assert_eq!(std::fs::read(&earlier).expect("it is there"), b"the games of a match");
    let file = trainer(&["import", &pgn, "--out", &pgn]);
    assert!(
        String::from_utf8_lossy(&file.stderr)
            .contains("games.pgn: cannot be written: it is a file: name a folder")
    );
    // A match of hours is not lost to a wrong path.
    let match_out = trainer(&["arena", "embedded", "embedded", "--games", "9999", "--out", &out]);
    assert!(String::from_utf8_lossy(&match_out.stderr).contains("it is a folder; name a file"));
}

/// HDF5 is read in any order, which a pipe does not allow.
#[test]
fn stored_games_are_read_from_standard_input() {
    let folder = Folder::new();
    let (pgn, out) = (folder.path("games.pgn"), folder.path("out"));
    std::fs::write(&pgn, many_games(20)).expect("a temporary folder");
    assert!(trainer(&["import", &pgn, "--out", &out]).status.success());
    let file = format!("{out}/games-00000.h5");
    let sources: &[&str] = if cfg!(unix) { &["-", "/dev/stdin"] } else { &["-"] };
    // `inspect` names the file first.
    fn unnamed<'a>(text: &'a str, name: &str) -> &'a str {
        text.strip_prefix(name).unwrap_or(text)
    }
    for arguments in [&["inspect"][..], &["inspect", "--game", "3"], &["export-pgn"]] {
        let expected = trainer(&[arguments, &[&file]].concat());
        assert!(expected.status.success());
        let expected = String::from_utf8(expected.stdout).expect("text");
        for source in sources {
            let mut command = Command::new(env!("CARGO_BIN_EXE_philidor-trainer"));
            command.args(arguments).arg(source).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().expect("it starts");
            let stored = std::fs::read(&file).expect("it was written");
            child.stdin.take().expect("piped").write_all(&stored).expect("it reads");
            let output = child.wait_with_output().expect("it ends");
            assert!(output.status.success(), "{arguments:?} {source}");
            let text = String::from_utf8(output.stdout).expect("text");
            assert_eq!(unnamed(&text, source), unnamed(&expected, &file), "{arguments:?} {source}");
        }
    }
}

#[test]
fn files_that_are_no_games_are_named_with_what_to_do() {
    let folder = Folder::new();
    let pgn = folder.write("two.pgn", TWO_GAMES.as_bytes());
    folder.import(&pgn, &[]);
    let refused = |path: &str| {
        let output = trainer(&["import", path, "--out", &folder.path("refused")]);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let stderr = refused(&folder.path("out/x-00000.h5"));
    assert!(stderr.contains("x-00000.h5: this is HDF5") && stderr.contains("ready for training"), "{stderr}");
    let stderr = refused(&folder.write("a.npy", b"\x93NUMPY\x01\0v\0{'descr'"));
    assert!(stderr.contains("a.npy: this is a NumPy array"), "{stderr}");
}

#[test]
fn what_evaluations_mean_is_said_with_their_count() {
    let folder = Folder::new();
    let study = "[ChapterURL \"https://lichess.org/study/a/b\"]\n[Result \"1-0\"]\n\n1. e4 {[%eval 0.3]} 1-0\n\n\
        [Event \"ChessBase\"]\n[Result \"1-0\"]\n\n1. d4 {[%eval 23,14]} d5 1-0\n\n\
        [Event \"ours\"]\n[Result \"1-0\"]\n\n1. c4 {[%eval 0.1]} 1-0\n";
    let pgn = folder.write("mixed.pgn", study.as_bytes());
    let (chunk, stdout, _) = folder.import(&pgn, &[]);
    let expected =
        "evaluations: 1 taken as of the position before the move, 2 taken as of the position after the move";
    assert!(stdout.contains(expected), "{stdout}");
    assert_eq!((chunk.game(1).evals[1], chunk.game(2).evals[0]), (23, 10));
    let (chunk, stdout, _) = folder.import(&pgn, &["--evals", "mover"]);
    assert!(
        stdout.contains("evaluations: 3 taken as of the position before the move, for the side"),
        "{stdout}"
    );
    assert_eq!(chunk.game(0).evals, [30]);
}

#[test]
fn a_game_with_an_unreadable_word_is_named_and_nothing_of_it_is_kept() {
    let folder = Folder::new();
    let pgn = "[Result \"1-0\"]\n\n1. e4 e5 2. Cf3 Cc6\n3. Bb5 1-0\n[Result \"1-0\"]\n1. d4 d5\n2. -- e6 1-0\n\n\
        1. c4 o-o 1-0\n1. e2-e4 e7-e5 2. nf3 nc6 3. Bb5 a6 4. 0-0 1-0\n";
    let pgn = folder.write("words.pgn", pgn.replace('\n', "\r").as_bytes());
    let (chunk, stdout, stderr) = folder.import(&pgn, &[]);
    assert_eq!((chunk.games(), chunk.game(0).moves.len()), (1, 7), "{stdout}");
    for expected in [
        "words.pgn:3: unreadable move 2.Cf3",
        "words.pgn:7: null move 2.--",
        "words.pgn:9: illegal or ambiguous move 1...o-o",
    ] {
        assert!(stderr.contains(expected), "{stderr}");
    }
}

#[test]
fn filters_and_duplicates() {
    let folder = Folder::new();
    let pgn = folder.write("many.pgn", TWO_GAMES.repeat(3).as_bytes());
    let (chunk, stdout, _) = folder.import(&pgn, &[]);
    assert_eq!(chunk.games(), 2);
    assert!(stdout.contains("4 (duplicates)"), "{stdout}");
    assert_eq!(folder.import(&pgn, &["--min-elo", "2400"]).0.games(), 1, "unrated games are kept");
    assert_eq!(folder.import(&pgn, &["--rated-only"]).0.games(), 1);
    let (chunk, stdout, _) = folder.import(&pgn, &["--decisive-only"]);
    assert_eq!(chunk.games(), 1);
    assert!(stdout.contains("(drawn: --decisive-only)"), "{stdout}");
    assert_eq!(folder.import(&pgn, &["--min-plies", "6"]).0.games(), 1);
    assert_eq!(folder.import(&pgn, &["--max-games", "1"]).0.games(), 1);
}

/// The file names the report of each game.
#[test]
fn games_that_other_readers_misread_are_read_whole() {
    let folder = Folder::new();
    let pgn = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/pgn_reports.pgn");
    let (chunk, _, stderr) = folder.import(pgn, &["--unknown-results"]);
    assert!(!stderr.contains("skipped"), "{stderr}");
    let plies: Vec<usize> = (0..chunk.games()).map(|game| chunk.game(game).moves.len()).collect();
    assert_eq!(plies, [4, 13, 3, 5, 9, 2, 5, 4, 24, 7, 17, 11, 2, 3, 4, 6, 1, 11, 1]);
    let starts = (12..16).map(|game| chunk.game(game).start);
    assert!(starts.flatten().filter(|fen| fen.contains("RNBQKB1R")).count() == 4, "all without a knight");
}

#[test]
fn chess960_is_kept_and_other_variants_are_left_out() {
    let folder = Folder::new();
    let pgn = folder.write("960.pgn", CHESS960.as_bytes());
    let (chunk, stdout, _) = folder.import(&pgn, &["--unknown-results"]);
    assert_eq!(chunk.games(), 1);
    assert_eq!((chunk.game(0).flags, chunk.game(0).moves.len()), (1, 2));
    assert!(chunk.game(0).start.is_some_and(|fen| fen.starts_with("1rk3r1")));
    assert!(stdout.contains("1 (other variants)"), "{stdout}");
    // Castling is king takes rook: c8 (58) to g8 (62).
    assert_eq!(chunk.game(0).moves[1].0, 58 | 62 << 6);
}

#[test]
fn inspect_describes_sound_files_and_fails_on_others() {
    let folder = Folder::new();
    let pgn = folder.write("two.pgn", TWO_GAMES.as_bytes());
    folder.import(&pgn, &[]);
    let file = folder.path("out/x-00000.h5");
    let sound = trainer(&["inspect", &file]);
    let text = String::from_utf8_lossy(&sound.stdout).into_owned();
    assert!(sound.status.success());
    assert!(text.contains("games       2 (12 positions") && text.contains("every move replayed"), "{text}");

    let bytes = std::fs::read(&file).expect("the file");
    let cut = folder.write("cut.h5", &bytes[..bytes.len() - 500]);
    let broken = trainer(&["inspect", &file, &cut]);
    assert!(!broken.status.success());
    assert!(String::from_utf8_lossy(&broken.stderr).contains("cut.h5"));
    assert!(!broken.stdout.is_empty(), "the sound file is still described");
}

#[test]
fn a_closed_output_ends_nothing_but_what_only_prints() {
    let folder = Folder::new();
    let pgn = folder.write("two.pgn", TWO_GAMES.as_bytes());
    folder.import(&pgn, &[]);
    let file = folder.path("out/x-00000.h5");
    let unread = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_philidor-trainer"));
        command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the trainer starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(unread(&["inspect", &file, &file]), (true, String::new()));
    let (imported, stderr) = unread(&["import", &pgn, "--out", &folder.path("unread"), "--name", "x"]);
    assert!(imported && !stderr.contains("panicked"), "{stderr}");
    let [read, unread] = ["out/x-00000.h5", "unread/x-00000.h5"].map(|file| std::fs::read(folder.path(file)));
    assert!(read.expect("a file") == unread.expect("a file"), "other games");
}

#[cfg_attr(not(feature = "libtorch"), ignore = "needs libtorch")]
#[test]
fn training_names_a_damaged_file_and_skips_it() {
    let folder = Folder::new();
    let pgn = folder.write("two.pgn", TWO_GAMES.as_bytes());
    folder.import(&pgn, &[]);
    let bytes = std::fs::read(folder.path("out/x-00000.h5")).expect("the file");
    folder.write("out/cut.h5", &bytes[..bytes.len() / 2]);
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 4..bytes.len() / 2].iter_mut().for_each(|byte| *byte ^= 0x55);
    folder.write("out/flipped.h5", &flipped);
    let config = serde_json::json!({
        "sources": [{ "name": "two", "paths": [folder.path("out/*.h5")] }],
        "model": { "filters": 16, "blocks": 1, "value_hidden": 16 },
        "batch": 4, "samples": 8, "precision": "fp32", "torch_threads": 1
    });
    let config = folder.write("config.json", config.to_string().as_bytes());
    let output = trainer(&["train", "--config", &config, "--run", &folder.path("run"), "--device", "cpu"]);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    for name in ["cut.h5", "flipped.h5"] {
        assert!(stderr.lines().any(|line| line.contains(name) && line.contains("skipped")), "{stderr}");
    }
    assert!(stderr.contains("two: 2 training games with 12 positions"), "{stderr}");
}

#[cfg_attr(not(feature = "libtorch"), ignore = "needs libtorch")]
#[test]
fn training_names_a_file_with_illegal_moves() {
    let folder = Folder::new();
    // 1. e4, and 1. e4 e5 2. e2-e4 again. The checksums are valid.
    let mut illegal = Chunk::new("a test");
    for moves in [vec![12 | 28 << 6], vec![12 | 28 << 6, 52 | 36 << 6, 12 | 28 << 6]] {
        let moves = moves.into_iter().map(PackedMove).collect();
        illegal.push(&GameRecord { moves, ..GameRecord::default() });
    }
    std::fs::create_dir(folder.path("data")).expect("a folder");
    dataset::write(&illegal, Path::new(&folder.path("data/illegal.h5"))).expect("a file");
    let config = serde_json::json!({
        "sources": [{ "name": "all", "paths": [folder.path("data/*.h5")] }],
        "model": { "filters": 16, "blocks": 1, "value_hidden": 16 },
        "batch": 4, "samples": 8, "precision": "fp32", "torch_threads": 1
    });
    let config = folder.write("config.json", config.to_string().as_bytes());
    let train = |run: &str| {
        let output = trainer(&["train", "--config", &config, "--run", &folder.path(run), "--device", "cpu"]);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(stderr.contains("illegal.h5: damaged: game 1: no legal move at ply 2"), "{stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        output.status.success()
    };
    assert!(!train("alone"), "no game is left");
    let pgn = folder.write("two.pgn", TWO_GAMES.as_bytes());
    assert!(trainer(&["import", &pgn, "--out", &folder.path("data")]).status.success());
    assert!(train("both"), "the other file is used");
}

#[test]
fn a_table_of_puzzles_becomes_games() {
    let folder = Folder::new();
    let table = "id\trating\tpopularity\tplays\tfen\tmoves\tthemes\n\
        a\t1500\t93\t3396\tQ7/4ppbk/6pp/5q2/P3n3/4PNBP/1r3PP1/3R2K1 b - -\te4g3 f2g3 f5c2\tshort\n\
        b\t1500\t93\t3396\tQ7/4ppbk/6pp/5q2/P3n3/4PNBP/1r3PP1/3R2K1 b - -\te4g3 f2g4\tshort\n\
        c\t900\t93\t3396\t6k1/5ppp/8/8/8/8/8/R5K1 w - -\ta1a8\tmate\n";
    let packed = folder.write("puzzles.tsv.zst", &zstd::encode_all(table.as_bytes(), 3).expect("memory"));
    let (chunk, stdout, stderr) = folder.import(&packed, &["--min-elo", "1000"]);
    assert!(stderr.contains("puzzles.tsv.zst:3: illegal or ambiguous move f2g4"), "{stderr}");
    assert!(stdout.contains("1 game, 3 positions"), "{stdout}");
    assert!(stdout.contains("left out: 1 (rating out of bounds)"), "{stdout}");
    let game = chunk.game(0);
    assert_eq!((game.flags, game.result.code(), game.white_elo), (2, 2, 1500));
    let inspected = trainer(&["inspect", &folder.path("out/x-00000.h5")]);
    let text = String::from_utf8_lossy(&inspected.stdout).into_owned();
    assert!(text.contains("puzzles 1") && text.contains("none, 3 missing"), "{text}");
}

#[test]
fn lichess_puzzles_are_imported_whatever_their_columns() {
    let folder = Folder::new();
    let table = "PuzzleId,GameId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes\n\
        00ymq,abcdefgh,Q7/4ppbk/6pp/5q2/P3n3/4PNBP/1r3PPK/3R4 w - - 4 29,h2g1 e4g3 f2g3 f5c2,1500,77,93,3396,crushing\n";
    let puzzles = folder.write("puzzles.csv", table.as_bytes());
    let (chunk, ..) = folder.import(&puzzles, &[]);
    let game = chunk.game(0);
    assert_eq!(
        game.start_fen(),
        "Q7/4ppbk/6pp/5q2/P3n3/4PNBP/1r3PP1/3R2K1 b - - 0 1",
        "after the opponent's move"
    );
    assert_eq!((game.moves.len(), game.white_elo), (3, 1500));
    let unknown = folder.write("unknown.csv", table.replace("FEN", "Position").as_bytes());
    let refused = trainer(&["import", &unknown, "--out", &folder.path("unknown")]);
    let stderr = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && stderr.contains("unknown.csv: a table of puzzles without"),
        "{stderr}"
    );
}

#[test]
fn an_import_without_games_fails_and_says_why() {
    let folder = Folder::new();
    let fails = |pgn: &str, arguments: &[&str]| {
        let out = folder.path("none");
        let output = trainer(&[&["import", pgn, "--out", &out], arguments].concat());
        assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        assert!(!Path::new(&out).join("two-00000.h5").exists());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let two = folder.write("two.pgn", TWO_GAMES.as_bytes());
    let stderr = fails(&two, &["--min-elo", "2600", "--rated-only"]);
    assert!(
        stderr.contains("no games imported: 1 left out (rating out of bounds), 1 left out (unrated)"),
        "{stderr}"
    );
    let broken = folder.write("broken.pgn", b"[Event \"x\"]\n\n1. e5 1-0\n");
    let stderr = fails(&broken, &[]);
    assert!(stderr.contains("no games imported: 1 broken (illegal or ambiguous move)"), "{stderr}");
    let empty = folder.write("empty.pgn", b"");
    assert!(fails(&empty, &[]).contains("no games imported: the files have none"));
}

#[test]
fn files_are_not_overwritten_and_missing_files_are_named() {
    let folder = Folder::new();
    let pgn = folder.write("two.pgn", TWO_GAMES.as_bytes());
    folder.import(&pgn, &[]);
    let out = folder.path("out");
    let again = trainer(&["import", &pgn, "--out", &out, "--name", "x"]);
    assert!(!again.status.success());
    assert!(String::from_utf8_lossy(&again.stderr).contains("it exists"));
    let missing = trainer(&["import", "nowhere.pgn", "--out", &out]);
    assert!(!missing.status.success());
    assert!(String::from_utf8_lossy(&missing.stderr).contains("nowhere.pgn"));
}

/// A PGN of `count` different games.
fn many_games(count: usize) -> String {
    let game = |number: usize| {
        let knights = "Nf3 Nf6 Ng1 Ng8 ".repeat(number % 40);
        let pawns = ["a3 h6", "a4 h5", "b3 g6", "b4 g5", "c3 f6", "c4 f5", "d3 e6", "d4 e5"][number / 40 % 8];
        format!(
            "[Event \"{number}\"]\n[WhiteElo \"{}\"]\n[Result \"1-0\"]\n\n{knights}{pawns} 1-0\n\n",
            number * 7
        )
    };
    (0..count).map(game).collect()
}

/// Runs the trainer with a limit on file sizes: a write beyond it fails, as on a full disk.
#[cfg(unix)]
fn trainer_on_a_full_disk(bytes: u64, arguments: &[&str]) -> Output {
    let script = "trap '' XFSZ && ulimit -f \"$1\" && shift && exec \"$@\"";
    let blocks = (bytes / 512).to_string();
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", &blocks, env!("CARGO_BIN_EXE_philidor-trainer")]).args(arguments);
    command.output().expect("there is a shell")
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_an_error() {
    let folder = Folder::new();
    let pgn = folder.write("many.pgn", many_games(300).as_bytes());
    let (chunk, ..) = folder.import(&pgn, &[]);
    assert_eq!(chunk.games(), 300);
    let size = std::fs::metadata(folder.path("out/x-00000.h5")).expect("the file").len();
    // The disk is full in the header, in any dataset, or at the end.
    let limits = (1..=4).map(|part| size * part / 5).chain([512, size - 512]);
    for (number, limit) in limits.enumerate() {
        let out = folder.path(&format!("full-{number}"));
        let output = trainer_on_a_full_disk(limit, &["import", &pgn, "--out", &out, "--name", "x"]);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success(),
            "{limit} of {size} bytes: {}",
            String::from_utf8_lossy(&output.stdout)
        );
        let expected = "x-00000.h5: cannot be written: File too large";
        assert!(stderr.contains(expected), "{limit} of {size} bytes: {stderr}");
        assert!(output.status.code().is_some(), "{limit} of {size} bytes: {}", output.status);
        let left = std::fs::read_dir(&out).expect("the folder").count();
        assert_eq!(left, 0, "{limit} of {size} bytes: no file is left");
    }
    let output =
        trainer_on_a_full_disk(size + 512, &["import", &pgn, "--out", &folder.path("enough"), "--name", "x"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[cfg(target_os = "linux")]
#[test]
fn results_that_cannot_be_printed_are_a_failure_and_a_binary_file_is_named_once() {
    let folder = Folder::new();
    let (games, out) = (folder.write("a.pgn", CHESS960.as_bytes()), folder.path("data"));
    for arguments in [
        &["import", &games, "--unknown-results", "--out", &out][..],
        &["--help"],
        &["--version"],
        &["train", "--help"],
        &["help"],
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
        let done = Command::new(env!("CARGO_BIN_EXE_philidor-trainer"))
            .args(arguments)
            .stdout(full)
            .output()
            .expect("the trainer starts");
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains("cannot print to the standard output: No space left"), "{arguments:?}: {said}");
    }
    let weights =
        folder.write("net.safetensors", &[&2_000_u64.to_le_bytes()[..], b"{\"a\": 1}\n1. e4 *\n"].concat());
    let refused = trainer(&["import", &weights, "--out", &folder.path("more")]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(said.matches("this is a binary file, not PGN").count(), 1, "{said}");
}
