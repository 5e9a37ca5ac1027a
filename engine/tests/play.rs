mod folder;

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use folder::Folder;

fn play(arguments: &[&str], input: &str) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_philidor"))
        .args(
            [&["play", "--nodes", "200", "--threads", "1", "--hash", "16", "--board", "ascii"], arguments]
                .concat(),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("lines are read");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{input}");
    String::from_utf8(output.stdout).expect("output is text")
}

#[test]
fn a_game_at_the_terminal_is_played_taken_back_hinted_and_saved() {
    // White mates in one; the move is typed in lower case, after an illegal one.
    let fen = "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1";
    let text = play(&["--fen", fen], "Ra9\nhint\nmoves\nra8\n");
    assert!(text.contains("No legal move: Ra9"), "{text}");
    assert!(text.contains("1. Ra8#   (win probability 100 %)"), "{text}");
    assert!(text.contains("Ra7 Ra8# Rb1"), "{text}");
    assert!(text.contains("1-0: checkmate."), "{text}");
    assert!(
        text.contains(&format!("[FEN \"{fen}\"]")) && text.contains("1. Ra8# 1-0"),
        "it was not saved: {text}"
    );

    let over = play(&["--fen", "8/8/8/8/8/4k3/4p3/4K3 w - - 0 1"], "");
    assert!(over.contains("1/2-1/2: stalemate.") && over.matches(" a  b  c ").count() == 1, "{over}");

    let file = std::env::temp_dir().join(format!("philidor-play-{}.pgn", std::process::id()));
    let path = file.to_str().unwrap();
    let text = play(&["--pgn", path, "--side", "black"], "back\ne5\nback\nd5\nquit\n");
    assert!(text.contains("You play Black") && text.contains("You have not moved yet."), "{text}");
    let saved = std::fs::read_to_string(&file).unwrap();
    assert!(saved.contains(" d5 2. ") && !saved.contains(" e5 "), "{saved}");
    let text = play(&["--pgn", path, "--resume"], "resign\n");
    assert!(text.contains("So far: 1. ") && text.contains("1-0: you resigned."), "{text}");
    let ended = Command::new(env!("CARGO_BIN_EXE_philidor"))
        .args(["play", "--pgn", path, "--resume"])
        .output()
        .expect("the program runs");
    assert!(String::from_utf8_lossy(&ended.stderr).contains("has ended"), "{ended:?}");
    std::fs::remove_file(&file).unwrap();
}

#[cfg(unix)]
#[test]
fn a_wrong_save_neither_ends_the_game_nor_replaces_the_file() {
    let folder = Folder::new();
    let good = folder.path("good.pgn");
    // Before the first move, after one, and with a folder and a device instead of a file.
    for wrong in ["/proc/x/y", &folder.path("none/game.pgn"), &folder.path(""), "/dev/zero"] {
        fs::write(&good, "[Event \"other\"]\n\n1. d4 *\n").unwrap();
        let text = play(&["--pgn", &good], &format!("save {wrong}\ne4\nsave {wrong}\nback\nNf3\nquit\n"));
        let told = text.lines().filter(|line| line.contains(&format!("Not saved: {wrong}: "))).count();
        assert_eq!(told, 2, "{text}");
        assert!(text.contains(&format!("The game stays in {good}.")), "{text}");
        assert!(text.ends_with(&format!("The game is in {good}.\n")), "{text}");
        let saved = fs::read_to_string(&good).unwrap();
        assert!(
            saved.starts_with("[Event \"other\"]\n\n1. d4 *\n\n") && saved.contains("1. Nf3 "),
            "{saved}"
        );
        assert_eq!(fs::read_dir(folder.path("")).unwrap().count(), 1, "nothing is left aside");
    }
    // Without a former file, the game is printed at the end.
    let text = play(&[], "save /proc/x/y\ne4\nquit\n");
    assert!(text.contains("Not saved: /proc/x/y: No such file") && text.contains("\n1. e4 "), "{text}");
}

#[cfg(unix)]
#[test]
fn a_folder_that_goes_away_costs_no_move() {
    let folder = Folder::new();
    fs::create_dir(folder.path("inner")).unwrap();
    let (inner, other) = (folder.path("inner/game.pgn"), folder.path("other.pgn"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_philidor"))
        .args([
            "play",
            "--nodes",
            "20",
            "--threads",
            "1",
            "--hash",
            "16",
            "--board",
            "ascii",
            "--pgn",
            &inner,
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"e4\n").unwrap();
    // Wait until the reply is saved too: "1. e4 c5 *".
    let moves = |pgn: String| pgn.trim_end().lines().last().map_or(0, |line| line.split(' ').count());
    while fs::read_to_string(&inner).map_or(0, moves) < 4 {
        assert!(child.try_wait().unwrap().is_none(), "it plays on");
        std::thread::yield_now();
    }
    fs::remove_dir_all(folder.path("inner")).unwrap();
    input.write_all(format!("a3\nsave {other}\nnew\nquit\n").as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains(&format!("Not saved: {inner}: ")) && text.contains("The game goes on"), "{text}");
    let saved = fs::read_to_string(&other).unwrap();
    assert!(saved.contains("1. e4 ") && saved.contains("2. a3 "), "{saved}");
}

#[test]
fn a_rating_that_sets_the_nodes_takes_no_other_limit() {
    for limit in [["--nodes", "50"], ["--movetime", "50"]] {
        let refused = Command::new(env!("CARGO_BIN_EXE_philidor"))
            .args(["play", "--elo", "1200"])
            .args(limit)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let errors = String::from_utf8(refused.stderr).unwrap();
        assert!(!refused.status.success() && errors.contains(limit[0]), "{errors}");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_game() {
    let refused = Command::new(env!("CARGO_BIN_EXE_philidor"))
        .args(["play", "--pgn", "/nonexistent/game.pgn"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let errors = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && errors.contains("/nonexistent/game.pgn: No such file"), "{errors}");
}

#[test]
fn a_game_in_no_file_is_printed_before_the_next_begins() {
    let text = play(&[], "e4\nnew\nquit\n");
    let (first, second) = text.split_once("You play Black").expect("a second game");
    assert!(first.contains("\n1. e4 ") && first.contains("[White \"Player\"]"), "{first}");
    assert!(second.contains("1. "), "{second}");
}
