use std::io::Write;
use std::process::{Command, Output, Stdio};

fn philidor(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_philidor")).args(arguments).output().expect("the program runs")
}

fn text(arguments: &[&str]) -> String {
    let output = philidor(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is text")
}

#[test]
fn bench_ends_with_the_same_nodes_every_time() {
    let run = || {
        let text = text(&["bench", "--visits", "300"]);
        let last = text.lines().last().unwrap().to_owned();
        let words: Vec<String> = last.split(' ').map(str::to_owned).collect();
        assert!(matches!(&words[..], [_, nodes, _, nps] if nodes == "nodes" && nps == "nps"), "{last}");
        assert!(words[2].parse::<u64>().is_ok(), "{last}");
        let checksum = text.lines().find(|line| line.starts_with("checksum ")).unwrap().to_owned();
        (words[0].parse::<u64>().unwrap(), checksum)
    };
    assert_eq!(run(), run());
}

#[test]
fn perft_divides_by_move() {
    let text = text(&["perft", "2", "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - -"]);
    assert!(text.contains("b4b1: 16\n"), "{text}");
    assert!(text.lines().last().unwrap().starts_with("191 nodes "), "{text}");
    let bad = philidor(&["perft", "2", "no position"]);
    assert!(!bad.status.success() && bad.stdout.is_empty());
    assert_eq!(bad.stderr.iter().filter(|&&byte| byte == b'\n').count(), 1);
}

#[test]
fn the_lesson_reports_the_notebooks_numbers() {
    let text = text(&["lesson"]);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('|').map(str::trim).collect()).collect();
    assert!(rows[..5].iter().all(|row| row.len() == 9), "{text}");
    let (minimax, plain, alpha_beta) = (&rows[2], &rows[3], &rows[4]);
    assert_eq!((plain[2], plain[4], plain[6], plain[7]), ("119034", "119034", "h5f7", "1000000"));
    assert_eq!((minimax[1], minimax[4], minimax[6], minimax[7]), ("minimax", "1337211", "h5f7", "1000000"));
    assert_eq!((alpha_beta[1], alpha_beta[6], alpha_beta[7]), ("alpha-beta", "h5f7", "1000000"));
    assert!(alpha_beta[4].parse::<u64>().unwrap() < 119_034, "{text}");
    // UCT: the root and 34 moves, each with its sum of payouts and visits.
    let moves: Vec<&Vec<&str>> =
        rows.iter().filter(|row| row.len() == 9 && row[3].parse::<u64>().is_ok()).collect();
    let moves = &moves[moves.len() - 35..];
    assert_eq!(
        (moves[0][1], moves[0][2], moves[0][3], moves[0][6]),
        ("root", "2519.5", "5000", "5000"),
        "{text}"
    );
    let sum =
        |column: usize| -> f64 { moves[1..].iter().map(|row| row[column].parse::<f64>().unwrap()).sum() };
    assert_eq!((sum(2), sum(3), sum(6)), (2519.5, 5000.0, 5000.0), "{text}");
    // White's mean payout is about ½ in the notebook and here, within many standard deviations.
    let payout: f64 = moves[0][5].parse().unwrap();
    assert!((2000.0..3000.0).contains(&payout) && (sum(5) - payout).abs() < 2.0, "{text}");
    assert!(text.contains("\nThe best move by its mean payout is f3h4, with 0.545 for White.\n"), "{text}");
}

/// Lines of a Markdown table as cells.
fn cells(text: &str) -> Vec<Vec<&str>> {
    let rows = text.lines().filter(|line| line.starts_with('|'));
    rows.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

#[test]
fn the_lesson_is_given_on_a_position_of_ones_own() {
    // Rd8# and, with colours changed, Rd1#. Values and payouts are White's.
    for (fen, mate, value, plain, payout) in [
        ("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", "d1d8", "1000000", "1000000", 1.0),
        ("3r2k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 1", "d8d1", "-1000000", "-100000", 0.0),
    ] {
        let text = text(&["lesson", "--fen", fen, "--depth", "2", "--games", "60", "--every", "25"]);
        assert!(!text.contains("notebook:"), "{text}");
        let rows = cells(&text);
        assert_eq!(rows[0], ["depth 2", "moves made", "time", "best", "value"], "{text}");
        for (row, [name, value]) in
            rows[2..5].iter().zip([["minimax", value], ["alpha-beta, plain", plain], ["alpha-beta", value]])
        {
            assert_eq!([row[0], row[3], row[4]], [name, mate, value], "{text}");
        }
        let roots: Vec<&str> = rows.iter().filter(|row| row[0] == "root").map(|row| row[2]).collect();
        assert_eq!(roots, ["25", "50", "60"], "{text}");
        assert!(text.contains("After 25 of 60 games:") && text.contains("UCT: 60 random games"), "{text}");
        let last = &rows[rows.iter().rposition(|row| row[0] == "root").unwrap() + 1..];
        assert_eq!(last[0][0], mate, "the most visited comes first: {text}");
        let mean: f64 = last[0][3].parse().unwrap();
        assert_eq!(mean, payout, "the mate wins every game: {text}");
        let visits: u64 = last.iter().map(|row| row[2].parse::<u64>().unwrap()).sum();
        assert_eq!(visits, 60, "{text}");
        let best = format!("The best move by its mean payout is {mate}, with {payout:.3} for White.");
        assert!(text.ends_with(&format!("\n\n{best}\n")), "{text}");
    }
}

#[test]
fn other_numbers_in_the_lesson_have_none_of_the_notebook_beside_them() {
    let text = text(&["lesson", "--depth", "2", "--games", "40"]);
    assert!(!text.contains("1337211") && !text.contains("119034") && !text.contains("2519.5"), "{text}");
    let rows = cells(&text);
    assert_eq!((rows[2][0], rows[2][3], rows[2].len()), ("minimax", "h5f7", 5), "{text}");
    assert!(rows.iter().any(|row| row[..] == ["move", "M", "V", "M/V"]), "{text}");
}

#[test]
fn the_lesson_says_what_it_cannot_do() {
    for (arguments, words) in [
        (vec!["--fen", "no position"], "not a FEN"),
        (vec!["--fen", "8/8/8/8/8/8/8/8 w - - 0 1"], "impossible position"),
        (vec!["--fen", "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"], "the game is over in this position: checkmate"),
        (vec!["--fen", "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"], "stalemate"),
        (vec!["--depth", "0"], "0 is not in 1..=10"),
        (vec!["--depth", "11"], "11 is not in 1..=10"),
        (vec!["--games", "0"], "0 is not in 1..=10000000"),
        (vec!["--every", "0"], "0 is not in 1.."),
    ] {
        let refused = philidor(&[vec!["lesson"], arguments].concat());
        let error = String::from_utf8(refused.stderr).unwrap();
        assert!(!refused.status.success() && refused.stdout.is_empty() && error.contains(words), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_lesson_with_what_it_has_found() {
    use std::io::{BufRead, BufReader, Read};
    for (arguments, in_errors, seen, printed) in [
        (["--depth", "10", "--games", "1", "--every", "1"], true, "Ctrl-C ends it", "| depth 10"),
        (
            ["--depth", "1", "--games", "10000000", "--every", "9"],
            false,
            "After 9 of",
            " of 10000000 random games",
        ),
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_philidor"))
            .arg("lesson")
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
        let (mut shown, mut error) = (String::new(), String::new());
        let (awaited, text): (&mut dyn BufRead, _) =
            if in_errors { (&mut errors, &mut error) } else { (&mut output, &mut shown) };
        while !text.contains(seen) {
            assert!(awaited.read_line(text).expect("text") > 0, "{text}");
        }
        let sent = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status();
        assert!(sent.expect("kill is there").success());
        output.read_to_string(&mut shown).expect("text");
        errors.read_to_string(&mut error).expect("text");
        assert_eq!(child.wait().expect("it ends").code(), Some(130), "{error}");
        assert!(shown.contains(printed) && error.contains("interrupted"), "{shown}{error}");
    }
}

#[test]
fn version_names_commit_encodings_and_network() {
    let text = text(&["--version"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("philidor ") && lines[0].ends_with(')'), "{text}");
    assert_eq!(lines[1], "inputs: planes72/1, planes19/1, planes14/1, onehot832/1, lc0-112/1, planes119/1");
    assert_eq!(lines[2], "policies: az4672/1, gym4672/1, uci1968/1, uci1968m/1, lc0-1858/1");
    assert!(lines[3].starts_with("network: "), "{text}");
}

#[test]
fn help_lists_every_command_and_options_prints_a_table() {
    let help = text(&["--help"]);
    for command in
        ["uci", "analyse", "bench", "backendbench", "perft", "encode", "lesson", "options", "Example"]
    {
        assert!(help.contains(command), "{help}");
    }
    assert!(text(&["options"]).starts_with("| option |"));
    assert!(!philidor(&["nonsense"]).status.success());
}

#[test]
fn the_docs_show_the_table_of_options() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/uci.md");
    let docs = std::fs::read_to_string(docs).expect("docs/uci.md");
    let after = docs.split("<!-- philidor options: begin -->\n").nth(1).expect("the table's begin");
    let shown = after.split("<!-- philidor options: end -->").next().expect("the table's end");
    assert_eq!(shown.trim(), text(&["options"]).trim(), "copy the output of `philidor options` there");
}

#[test]
fn encode_goes_forth_and_back() {
    let fen = "4k3/8/8/8/8/8/8/4K2R b K - 5 20";
    let file = std::env::temp_dir().join(format!("philidor-encode-{}", std::process::id()));
    let path = file.to_str().unwrap();
    for (scheme, expected) in [
        ("planes119/1", fen),
        // In Black's view the king on e8 is on e1, and White's rook on h8.
        ("sparse/1", "4k2r/8/8/8/8/8/8/4K3 w k - 2 1"),
    ] {
        std::fs::write(&file, text(&["encode", fen, "--scheme", scheme])).unwrap();
        let back = text(&["encode", "--decode", path, "--scheme", scheme]);
        assert_eq!(back.lines().next(), Some(expected), "{back}");
    }
    std::fs::remove_file(&file).unwrap();
    for (scheme, number) in [("az4672/1", "877"), ("moves/1", "37 225")] {
        let there = text(&["encode", "e2e4", "--scheme", scheme]);
        assert!(there.contains(number), "{there}");
        assert_eq!(text(&["encode", number, "--scheme", scheme]), there);
    }
    for (scheme, number, last) in
        [("sparse/1", "3297", 3296), ("moves/1", "37 3328", 3327), ("az4672/1", "4672", 4671)]
    {
        let refused = philidor(&["encode", number, "--scheme", scheme]);
        let message = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && refused.stdout.is_empty(), "{message}");
        assert!(message.contains(&format!("its indices are 0 to {last}")), "{message}");
    }
}

#[test]
fn pages_and_completions_are_written_for_every_command() {
    let folder = std::env::temp_dir().join(format!("philidor-manual-{}", std::process::id()));
    text(&["manual", folder.to_str().unwrap()]);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_else(|_| panic!("{name}"));
    assert!(read("man1/philidor.1").contains("philidor\\-play"));
    let mut pages = 0;
    for entry in std::fs::read_dir(folder.join("man1")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let page = read(&format!("man1/{name}")).replace("\\-", "-");
        assert!(page.contains(concat!("\"philidor ", env!("CARGO_PKG_VERSION"), "\"")), "{name}: {page}");
        let command = name.strip_suffix(".1").unwrap();
        let help = text(&command.split('-').skip(1).chain(["--help"]).collect::<Vec<_>>());
        for line in help.lines().map(str::trim_start).filter(|line| line.starts_with('-')) {
            for option in line.split_whitespace().take_while(|word| word.starts_with('-')) {
                assert!(page.contains(option.trim_end_matches(',')), "{name} lacks {option}");
            }
        }
        pages += 1;
    }
    assert!(pages >= 17, "{pages}");
    for file in ["philidor.bash", "_philidor", "philidor.fish"] {
        assert!(read(&format!("completions/{file}")).contains("backendbench"), "{file}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn onnx_runtime_leaves_nothing_in_the_home_folder() {
    let home = std::env::temp_dir().join(format!("philidor-home-{}", std::process::id()));
    std::fs::create_dir_all(&home).unwrap();
    let network = concat!(env!("CARGO_MANIFEST_DIR"), "/../nets/mlp.int8.onnx");
    let output = Command::new(env!("CARGO_BIN_EXE_philidor"))
        .args(["net", "check", network])
        .env("HOME", &home)
        .env_remove("XDG_CACHE_HOME")
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read_dir(&home).unwrap().count(), 0);
    std::fs::remove_dir_all(&home).unwrap();
}

/// As in `philidor perft 3 | head -1`.
#[test]
fn a_reader_that_leaves_ends_a_command_quietly() {
    let game = std::env::temp_dir().join(format!("philidor-pipe-{}.pgn", std::process::id()));
    std::fs::write(&game, "1. e4 e5 *\n").unwrap();
    let game = game.to_str().unwrap();
    for arguments in [
        &["bench", "--visits", "10"][..],
        &["perft", "3"],
        &["net", "list"],
        &["net", "check"],
        &["options"],
        &["encode", "--scheme", "az4672/1"],
        &["--version"],
        &["--help"],
        &["review", game, "--nodes", "5"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_philidor"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        drop(child.stdout.take());
        let Output { status, stderr, .. } = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&stderr);
        assert!(status.success() && !stderr.to_lowercase().contains("pipe"), "{arguments:?}: {stderr}");
    }
    for end in ["pgn", "review.pgn", "review.html"] {
        let _ = std::fs::remove_file(std::path::Path::new(game).with_extension(end));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn answers_that_cannot_be_written_are_a_failure() {
    for (arguments, input) in [
        (&["perft", "2"][..], ""),
        (&["options"], ""),
        (&["--version"], ""),
        (&["--help"], ""),
        (&["review", "-h"], ""),
        (&["analyse"], "{\"id\": 1, \"nodes\": 10}\n"),
        (&[], "uci\n"),
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
        let mut child = Command::new(env!("CARGO_BIN_EXE_philidor"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(full)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        // The program may end before it has read everything.
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        let Output { status, stderr, .. } = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&stderr);
        assert_eq!(status.code(), Some(1), "{arguments:?}: {stderr}");
        assert!(stderr.contains("No space left"), "{arguments:?}: {stderr}");
    }
    let unwritable = Command::new(env!("CARGO_BIN_EXE_philidor"))
        .args(["doctor", "--write"])
        .env("XDG_CACHE_HOME", "/proc/x")
        .output()
        .expect("the program runs");
    let stderr = String::from_utf8_lossy(&unwritable.stderr);
    assert_eq!(unwritable.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("--write: /proc/x/philidor/precision.json: "), "{stderr}");
    let refused = philidor(&["manual", "/proc/x"]);
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(1) && stderr.contains("/proc/x"), "{stderr}");
}

#[test]
fn what_would_do_nothing_is_refused() {
    let game = std::env::temp_dir().join(format!("philidor-nothing-{}.pgn", std::process::id()));
    std::fs::write(&game, "1. e4 e5 *\n").unwrap();
    for (arguments, expected) in [
        (&["review", game.to_str().unwrap(), "--from-ply", "2"][..], "--from-ply 2: no game has more plies"),
        (&["bench", "--visits", "0"], "0 is not in 1.."),
    ] {
        let output = philidor(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(expected), "{arguments:?}: {stderr}");
    }
    std::fs::remove_file(&game).unwrap();
}

/// Ctrl-C and `kill` have different exit codes.
#[cfg(unix)]
#[test]
fn signals_end_a_command_cleanly() {
    use std::io::{BufRead, BufReader, Read};
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_philidor"))
            .args(["play", "--nodes", "10", "--threads", "1", "--hash", "16", "--board", "ascii"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut input = child.stdin.take().expect("a pipe");
        input.write_all(b"e4\n").expect("lines are read");
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut shown = String::new();
        while !shown.contains("1...") {
            assert!(stdout.read_line(&mut shown).expect("text") > 0, "{shown}");
        }
        let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
        assert!(sent.expect("kill is there").success());
        stdout.read_to_string(&mut shown).expect("text");
        assert_eq!(child.wait().expect("it ends").code(), Some(code), "{shown}");
        assert!(shown.contains("1. e4"), "the game is printed, since no file was named: {shown}");
        drop(input);
    }
}
