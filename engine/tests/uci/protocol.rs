//! Tests which lines the built program accepts when.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::program::{Program, number};

#[test]
fn handshake() {
    let mut engine = Program::start();
    engine.send("uci");
    let lines = engine.until("uciok");
    assert!(lines[0].starts_with("id name Philidor"), "{lines:?}");
    assert!(lines[1].starts_with("id author "), "{lines:?}");
    let options = &lines[2..lines.len() - 1];
    assert!(options.iter().all(|line| line.starts_with("option name ")), "{options:?}");
    for name in ["Hash", "Threads", "Move Overhead", "UCI_ShowWDL", "MultiPV", "Ponder", "UCI_Chess960"] {
        assert!(options.iter().any(|line| line.starts_with(&format!("option name {name} type "))), "{name}");
    }
    assert!(options.len() <= 32, "{} options are what a person sets", options.len());
    engine.send("isready");
    engine.until("readyok");
    let mut tuned =
        Program::start_with(Command::new(env!("CARGO_BIN_EXE_philidor")).args(["uci", "--tuning"]));
    let mut named =
        Program::start_with(Command::new(env!("CARGO_BIN_EXE_philidor")).env("PHILIDOR_TUNING", "1"));
    let lists = [&mut tuned, &mut named].map(|engine| {
        engine.send("uci");
        engine.until("uciok")
    });
    assert_eq!(lists[0], lists[1]);
    assert!(lists[0].iter().any(|line| line.starts_with("option name CPuct ")), "{lists:?}");
    // Tuners read the ranges of decimal numbers here.
    assert!(lists[0].contains(&"info string option CPuct takes 0 to 100".to_owned()), "{lists:?}");
    assert_eq!(
        engine.answer("setoption name CPuct value 1\nsetoption name EvalFile value <embedded>"),
        [""; 0]
    );
}

/// The forty steps of `fastchess --compliance`.
#[test]
fn fastchess_compliance() {
    let mut engine = Program::start();
    engine.send("uci");
    engine.until("uciok");
    engine.answer("ucinewgame\nposition startpos");
    let black = "position fen rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1";
    for (position, go) in [
        ("position fen 3r2k1/p5n1/1pq1p2p/2p3p1/2P1P1n1/1P1P2pP/PN1Q2K1/5R2 w - - 0 27", "go wtime 100"),
        (black, "go btime 100"),
        (black, "go wtime 100 winc 100 btime 100 binc 100"),
        (black, "go btime 100 binc 100 wtime 100 winc 100"),
        ("ucinewgame\nposition startpos", "go wtime 100 btime 100"),
        ("position startpos moves e2e4 e7e5", "go wtime 100 btime 100"),
    ] {
        let search = engine.search(position, go);
        assert!(search.best().len() >= 4, "{:?}", search.lines);
        let info = search.last();
        for key in ["time", "nps", "nodes", "depth", "seldepth", "multipv", "hashfull", "tbhits"] {
            assert!(number(info, key) >= 0, "{info}");
        }
        assert!(matches!(search.field("score"), Some("cp" | "mate")), "{info}");
        assert_eq!(search.field("pv"), Some(search.best()), "{info}");
    }
}

#[test]
fn a_bad_line_gets_one_info_string_and_changes_nothing() {
    let mut engine = Program::uniform();
    let board = "position startpos moves e2e4 e7e5";
    engine.send(board);
    for bad in [
        "hello",
        "position startpos moves e2e4 e2e4",
        "position fen 8/8/8/8/8/8/8/8 w - - 0 1",
        "position fen rnbqkbnr/pppXpppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        "position fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR x KQkq - 0 1",
        "position fen pppppppp/8/8/8/8/8/8/4K2k w - - 0 1",
        "position fen 9/8/8/8/8/8/8/8 w - - 0 1",
        "setoption name Threads value abc",
        "setoption name Threads value 999999999999",
        "setoption name Threads value -5",
        "setoption name WeightsFile value /no/such/file",
    ] {
        let answer = engine.answer(bad);
        assert_eq!(answer.len(), 1, "{bad}: {answer:?}");
        assert!(answer[0].starts_with("info string "), "{bad}: {answer:?}");
    }
    let fen = engine.answer("d").into_iter().find(|line| line.contains(" fen ")).unwrap();
    assert!(fen.ends_with("rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2"), "{fen}");
    assert_eq!(engine.search("", "go nodes 1").best(), "(none)", "the position was refused");
    assert!(engine.search(board, "go nodes 1").best().len() >= 4);
}

#[test]
fn a_go_that_is_not_understood_is_answered_all_the_same() {
    let mut engine = Program::uniform();
    for go in
        ["go nodes -1", "go movetime 12.5", "go swiftly", "go nodes 5 swiftly", "go searchmoves e2e5 nodes 5"]
    {
        let search = engine.search("position startpos", go);
        let strings = search.lines.iter().filter(|line| line.starts_with("info string ")).count();
        assert_eq!((strings, search.best().len()), (1, 4), "{go}: {:?}", search.lines);
    }
    assert_eq!(engine.answer("joho debug off"), [""; 0]);
}

#[test]
fn invalid_bytes_get_one_info_string() {
    let mut engine = Program::uniform();
    for bad in [b"position \xff\xfe\n".to_vec(), [vec![b'x'; 1 << 20], vec![b'\n']].concat()] {
        engine.send_bytes(&bad);
        let answer = engine.answer("");
        assert_eq!(answer.len(), 1, "{answer:?}");
        assert!(answer[0].starts_with("info string "), "{answer:?}");
        assert!(answer[0].len() < 1000);
    }
    engine.send_bytes(b"  isready \r\n");
    assert_eq!(engine.line(), "readyok");
    engine.send_bytes(b"isready");
    assert_eq!(engine.close().0, ["readyok"], "the last line needs no end");
}

#[test]
fn stop_without_a_search_says_nothing() {
    let mut engine = Program::uniform();
    assert_eq!(engine.answer("stop\nstop\nponderhit\nstop"), [""; 0]);
    engine.search("position startpos", "go nodes 10");
    assert_eq!(engine.answer("stop"), [""; 0]);
}

#[test]
fn every_go_has_one_bestmove_however_often_stop_is_sent() {
    let mut engine = Program::uniform();
    let round = "go infinite\nstop\nstop\ngo nodes 50\nstop\ngo movetime 100000\nisready\nstop\n";
    engine.send(&round.repeat(20));
    engine.send("uci");
    let lines = engine.until("uciok");
    let of = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!((of("bestmove"), of("readyok"), of("info string")), (60, 20, 0));
    // No line of a search may come between a bestmove and the next go.
    let search = lines.iter().position(|line| line.starts_with("id name")).unwrap();
    assert!(lines[search - 1].starts_with("bestmove"), "{:?}", &lines[..search]);
}

#[test]
fn isready_is_answered_during_a_search_and_other_things_are_refused() {
    let mut engine = Program::uniform();
    engine.send("position startpos\ngo infinite");
    for refused in ["setoption name Hash value 5", "ucinewgame", "eval"] {
        let answer = engine.answer(refused);
        let strings: Vec<_> = answer.iter().filter(|line| line.starts_with("info string")).collect();
        assert_eq!(strings.len(), 1, "{refused}: {answer:?}");
        assert!(!answer.iter().any(|line| line.starts_with("bestmove")), "{answer:?}");
    }
    // The position is for the next go; the running search keeps its own.
    engine.answer("position startpos moves e2e4");
    engine.send("stop");
    let lines = engine.until("bestmove");
    let best = lines.last().unwrap().split(' ').nth(1).unwrap();
    assert!(best.ends_with(['3', '4']), "White's move: {best}");
    assert!(engine.search("", "go nodes 10").best().ends_with(['5', '6']), "Black's move");
}

#[test]
fn an_infinite_search_that_ends_by_itself_waits_for_stop() {
    let mut engine = Program::uniform();
    for (position, go) in [
        ("position startpos", "go infinite nodes 20"),
        ("position fen 7k/8/5KQ1/8/8/8/8/8 w - - 0 1", "go infinite"),
        ("position fen 7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "go infinite"),
    ] {
        engine.send(&format!("{position}\n{go}"));
        engine.until("info depth");
        let answer = engine.answer("");
        assert!(!answer.iter().any(|line| line.starts_with("bestmove")), "{answer:?}");
        engine.send("stop");
        // The search printed its last lines when it ended.
        engine.until("bestmove");
    }
    // The search may end before or after the answer.
    let mut all = engine.answer("position startpos\ngo infinite nodes 20");
    if !all.iter().any(|line| line.starts_with("info depth")) {
        all.extend(engine.until("info depth"));
    }
    all.extend(engine.answer(""));
    engine.send("stop");
    all.extend(engine.until("bestmove"));
    let without_time = |line: &String| {
        let (before, after) = (line.split(" nps ").next().unwrap(), line.split(" pv ").nth(1));
        (before.to_owned(), after.map(str::to_owned))
    };
    let infos: Vec<_> = all.iter().filter(|line| line.starts_with("info depth")).map(without_time).collect();
    assert!(infos.windows(2).all(|pair| pair[0] != pair[1]), "a line is repeated: {all:#?}");
}

#[test]
fn pondering_waits_for_ponderhit_or_stop() {
    let mut engine = Program::uniform();
    for (go, end) in [
        ("go ponder nodes 20", "ponderhit"),
        ("go ponder nodes 20", "stop"),
        ("go ponder wtime 1 btime 1", "ponderhit"),
        ("go ponder wtime 60000 btime 60000 winc 1000 binc 1000", "stop"),
        ("go ponder movetime 20", "ponderhit"),
    ] {
        engine.send(&format!("position startpos moves e2e4\n{go}"));
        engine.until("info depth");
        let answer = engine.answer("");
        assert!(!answer.iter().any(|line| line.starts_with("bestmove")), "{go}: {answer:?}");
        engine.send(end);
        engine.until("bestmove");
    }
    // `infinite` still holds after ponderhit.
    engine.send("go ponder infinite nodes 10");
    engine.until("info depth");
    let answer = engine.answer("ponderhit");
    assert!(!answer.iter().any(|line| line.starts_with("bestmove")), "{answer:?}");
    engine.send("stop");
    engine.until("bestmove");
}

#[test]
fn the_end_of_the_input_ends_a_search_with_its_bestmove() {
    for go in ["go infinite", "go ponder wtime 1000 btime 1000", "go nodes 1000000000", "go infinite nodes 5"]
    {
        for quit in ["", "quit\n"] {
            let mut engine = Program::uniform();
            engine.send(go);
            engine.until("info depth");
            engine.send_bytes(quit.as_bytes());
            let (lines, status) = engine.close();
            assert!(lines.last().is_some_and(|line| line.starts_with("bestmove")), "{go} {quit}: {lines:?}");
            assert!(status.success());
        }
    }
    let (lines, status) = Program::uniform().close();
    assert!(lines.is_empty() && status.success());
}

/// Runs the program without ONNX Runtime, with `lines` as stdin.
fn without_onnx_runtime(lines: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_philidor"))
        .env("ORT_DYLIB_PATH", "/no/such/library.so")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The program may end before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(lines.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn a_network_that_cannot_run_ends_the_program_with_an_error() {
    let network =
        concat!("setoption name WeightsFile value ", env!("CARGO_MANIFEST_DIR"), "/../nets/mlp.int8.onnx\n");
    for lines in ["uci\nisready\n", "position startpos\ngo nodes 20\n", "isready\nquit\n"] {
        let Output { status, stdout, stderr } = without_onnx_runtime(&format!("{network}{lines}"));
        let (stdout, stderr) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
        assert_eq!(status.code(), Some(1), "{lines:?}: {stdout}");
        for text in [stdout.lines().last().unwrap(), &stderr] {
            assert!(text.contains("ONNX Runtime") && text.contains("ORT_DYLIB_PATH"), "{text}");
        }
        assert!(!stdout.contains("readyok") && !stdout.contains("bestmove"), "{stdout}");
        assert!(stderr.starts_with("philidor: "), "{stderr}");
    }
}

#[test]
fn a_network_that_was_refused_is_not_replaced_by_accident() {
    let refused = "setoption name WeightsFile value /no/such/file.onnx\n";
    let Output { status, stdout, .. } =
        without_onnx_runtime(&format!("{refused}position startpos\ngo nodes 20\n"));
    let stdout = String::from_utf8(stdout).unwrap();
    assert!(status.code() == Some(1) && !stdout.contains("bestmove"), "{stdout}");
    let sparse = concat!("WeightsFile value ", env!("CARGO_MANIFEST_DIR"), "/../nets/philidor.int8.onnx");
    for setting in ["Backend value uniform", "Player value random", sparse] {
        let lines = format!("{refused}setoption name {setting}\nposition startpos\ngo nodes 20\n");
        let Output { status, stdout, .. } = without_onnx_runtime(&lines);
        let stdout = String::from_utf8(stdout).unwrap();
        assert!(status.success() && stdout.contains("bestmove"), "{stdout}");
    }
}

/// `Backend onnx-cuda` is refused here, as on a machine without a GPU.
#[test]
fn no_other_setting_replaces_a_network_that_was_refused() {
    let mlp = concat!("WeightsFile value ", env!("CARGO_MANIFEST_DIR"), "/../nets/mlp.int8.onnx");
    let (cuda, auto, nowhere) =
        ("Backend value onnx-cuda", "Backend value auto", "WeightsFile value nope.onnx");
    let played = |settings: &[&str]| {
        let lines: String = settings.iter().map(|setting| format!("setoption name {setting}\n")).collect();
        let Output { status, stdout, .. } =
            without_onnx_runtime(&format!("{lines}position startpos\ngo nodes 20\n"));
        let stdout = String::from_utf8(stdout).unwrap();
        assert_eq!(status.success(), stdout.contains("bestmove"), "{settings:?}: {stdout}");
        assert!(status.success() || status.code() == Some(1), "{settings:?}: {stdout}");
        assert!(status.success() || stdout.lines().last().unwrap().starts_with("info string "), "{stdout}");
        status.success()
    };
    for refused in [
        &[cuda, mlp][..],
        &[mlp, cuda],
        &[cuda, "Threads value 1"],
        &[nowhere, "Precision value int8"],
        &[nowhere, auto],
        &["Precision value int8", nowhere, "ThinkSteps value 4", "Hash value 16"],
        &["Backend value steam"],
    ] {
        assert!(!played(refused), "{refused:?}");
    }
    for withdrawn in [
        &[nowhere, "WeightsFile value <embedded>"][..],
        &[cuda, auto],
        &[cuda, mlp, auto, "EvalFile value <embedded>"],
        &["Backend value steam", auto],
    ] {
        assert!(played(withdrawn), "{withdrawn:?}");
    }
}

#[test]
fn what_needs_no_onnx_runtime_plays_without_it() {
    let sparse = concat!("WeightsFile value ", env!("CARGO_MANIFEST_DIR"), "/../nets/philidor.int8.onnx");
    for setting in ["Backend value uniform", "Player value alpha-beta", sparse] {
        let lines = format!("setoption name {setting}\nisready\nposition startpos\ngo nodes 20\n");
        let Output { status, stdout, .. } = without_onnx_runtime(&lines);
        let stdout = String::from_utf8(stdout).unwrap();
        assert!(status.success() && stdout.contains("readyok") && stdout.contains("bestmove"), "{stdout}");
    }
}

#[test]
fn a_missing_precision_is_reported_in_one_line() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("alone");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("alone.onnx");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../nets/resnet.onnx"), &file).unwrap();
    let mut engine = Program::start();
    let weights = format!("setoption name WeightsFile value {}", file.display());
    let missing =
        format!("info string {} is missing: playing in fp32", folder.join("alone.int8.onnx").display());
    assert_eq!(engine.answer(&weights), [missing.as_str()]);
    assert_eq!(engine.answer("setoption name Precision value fp32"), [""; 0], "nothing else is wanted");
    assert_eq!(engine.answer("setoption name Precision value int8"), [missing.as_str()]);
    assert_eq!(engine.answer("setoption name WeightsFile value <embedded>"), [""; 0]);
    assert!(engine.search("position startpos", "go nodes 20").best().len() >= 4);
    // In the other order, the embedded network only says that it has no fp32, and refuses nothing.
    let mut engine = Program::start();
    let notes = engine.answer("setoption name Precision value fp32");
    assert!(notes.len() == 1 && notes[0].ends_with("it will apply to the next WeightsFile"), "{notes:?}");
    assert_eq!(engine.answer(&weights), [""; 0]);
    assert!(engine.search("position startpos", "go nodes 20").best().len() >= 4);
}

#[test]
fn a_log_has_both_directions() {
    let log = std::env::temp_dir().join(format!("philidor-uci-{}.log", std::process::id()));
    let mut engine = Program::uniform();
    engine.answer(&format!("setoption name Debug Log File value {}", log.display()));
    engine.search("position startpos", "go nodes 10");
    engine.answer("setoption name LogFile value <empty>");
    engine.answer("debug on");
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    assert!(text.contains(">> go nodes 10\n") && text.contains("<< bestmove "), "{text}");
    assert!(!text.contains("debug on"), "{text}");
}
