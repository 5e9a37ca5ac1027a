mod folder;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use engine::chess::pgn::{MoveTree, NodeId, PgnGame, read_games};
use folder::Folder;

const GAMES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/review.pgn");

fn philidor() -> Command {
    Command::new(env!("CARGO_BIN_EXE_philidor"))
}

fn run(arguments: &[&str]) -> Output {
    philidor().args(arguments).output().expect("the program runs")
}

fn games(path: &str) -> Vec<PgnGame> {
    read_games(&fs::read(path).unwrap()).0.into_iter().map(|(_, game)| game).collect()
}

/// Whether all moves and notes of `part` are in `whole`.
fn is_in((part, a): (&MoveTree, NodeId), (whole, b): (&MoveTree, NodeId)) -> bool {
    let (ours, theirs) = (part.notes(a), whole.notes(b));
    let same = ours.before == theirs.before
        && theirs.comments.ends_with(&ours.comments)
        && theirs.nags.starts_with(&ours.nags);
    let mut others = whole.children(b);
    same && part.children(a).all(|child| {
        others.any(|other| part.step(child) == whole.step(other) && is_in((part, child), (whole, other)))
    })
}

fn comments(game: &PgnGame) -> Vec<&[String]> {
    game.tree.main_line().map(|node| game.tree.notes(node).comments.as_slice()).collect()
}

#[test]
fn reviewed_games_are_as_they_were_but_for_what_was_added() {
    let folder = Folder::new();
    let out = folder.path("out");
    let output = run(&["review", GAMES, "--out", &out, "--nodes", "4000", "--threads", "1"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{errors}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{out}.pgn\n{out}.html\n"));
    assert!(
        errors.contains("review.pgn: game 2, line 19: illegal or ambiguous move 2.Ke3, skipped"),
        "{errors}"
    );
    let (before, after) = (games(GAMES), games(&format!("{out}.pgn")));
    assert_eq!((before.len(), after.len()), (3, 3));
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.tags[..], after.tags[..before.tags.len()]);
        let (name, value) = after.tags.last().unwrap();
        assert!(name == b"Annotator" && value.starts_with(b"Philidor "));
        assert_eq!(before.moves(), after.moves());
        assert!(is_in((&before.tree, MoveTree::ROOT), (&after.tree, MoveTree::ROOT)), "{:?}", after.tree);
        // Every move but checkmate has an evaluation before all other comments.
        let mates = u8::from(after.tag("White").is_some());
        let has_eval =
            |comments: &&[String]| comments.first().is_some_and(|text| text.starts_with("[%eval "));
        let evals = comments(after).into_iter().filter(has_eval).count();
        assert_eq!(evals + usize::from(mates), after.moves().len());
    }
    let has_mark = |node: &NodeId| after[1].tree.notes(*node).nags.contains(&4);
    assert!(after[1].tree.walk().any(|node| has_mark(&node)), "2. g4 is a blunder");
    // A reviewed game gets nothing twice.
    let (again, reviewed) = (folder.path("again"), format!("{out}.pgn"));
    let output = run(&["review", &reviewed, "--out", &again, "--nodes", "4000", "--threads", "1"]);
    assert!(output.status.success());
    assert_eq!(fs::read_to_string(format!("{again}.pgn")).unwrap(), fs::read_to_string(reviewed).unwrap());
    assert!(fs::read_to_string(format!("{out}.html")).unwrap().contains("M&lt;ü&gt;ller &amp; Son (1500)"));
    assert!(!Path::new(&format!("{out}.part")).exists());
}

#[test]
fn only_what_is_asked_for_is_judged() {
    let folder = Folder::new();
    let out = folder.path("out");
    let judged = ["--nodes", "4000", "--threads", "1", "--side", "black", "--from-ply", "3"];
    let output = run(&[&["review", GAMES, "--out", &out][..], &judged].concat());
    assert!(output.status.success());
    let before = games(GAMES);
    for (before, after) in before.iter().zip(&games(&format!("{out}.pgn"))) {
        let first_is_black = usize::from(before.tag("FEN").is_some());
        for (ply, reviewed) in comments(after).iter().enumerate() {
            let ours = reviewed.iter().filter(|comment| comment.contains("was best")).count();
            let theirs = comments(before)[ply].len();
            assert!(ply >= 3 || reviewed.len() == theirs, "ply {ply} was left out");
            assert!(ours == 0 || (ply + first_is_black) % 2 == 1, "ply {ply} is White's");
        }
    }
    let nothing = folder.path("empty.pgn");
    fs::write(&nothing, "1. e5 *\n").unwrap();
    let output = run(&["review", &nothing, "--nodes", "1"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && errors.contains("no game that can be read"), "{errors}");
    let game = folder.path("game.pgn");
    fs::write(&game, "1. e4 *\n").unwrap();
    let output = run(&["review", &game, "--nodes", "1", "--out", &folder.path("game")]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() == Some(1) && errors.contains("would replace the file that it reads"),
        "{errors}"
    );
    assert_eq!(fs::read_to_string(&game).unwrap(), "1. e4 *\n");
    let binary = folder.path("games.h5");
    fs::write(&binary, b"\x89HDF\r\n\x1a\n\0\0\0 1. e4 *\n").unwrap();
    let output = run(&["review", &binary, "--nodes", "1"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() == Some(1) && errors.contains("games.h5: this is a binary file"),
        "{errors}"
    );
    #[cfg(unix)]
    {
        let output = run(&["review", "/dev/zero", "--nodes", "1"]);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains("/dev/zero: this is a binary file"), "it has no end: {errors}");
    }
    let utf16: Vec<u8> = "1. e4 *\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(&game, [b"\xff\xfe", &utf16[..]].concat()).unwrap();
    let errors = String::from_utf8(run(&["review", &game, "--nodes", "1"]).stderr).unwrap();
    assert!(errors.contains("game.pgn: this text is UTF-16: convert it first"), "{errors}");
}

#[test]
fn a_players_games_in_several_files_are_reviewed_with_a_report() {
    let folder = Folder::new();
    let (first, second, out) = (folder.path("a.pgn"), folder.path("b.pgn"), folder.path("ann"));
    let game = |white: &str, black: &str| {
        format!("[White \"{white}\"]\n[Black \"{black}\"]\n[Result \"0-1\"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n\n")
    };
    fs::write(&first, game("Ann", "Bo") + &game("Cy", "Bo")).unwrap();
    fs::write(&second, game("Cy", "ann")).unwrap();
    let review = |arguments: &[&str]| {
        let effort = ["--nodes", "20000", "--threads", "1"];
        run(&[&["review", first.as_str(), second.as_str()], arguments, &effort].concat())
    };
    let output = review(&["--player", "ANN", "--out", &out]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(games(&format!("{out}.pgn")).len(), 2);
    // 2. g4?? is Ann's in the first game, and Cy's in the other, where it is not marked.
    let marked = |game: &PgnGame| game.tree.walk().any(|node| game.tree.notes(node).nags.contains(&4));
    let reviewed: Vec<bool> = games(&format!("{out}.pgn")).iter().map(marked).collect();
    assert_eq!(reviewed, [true, false]);
    let page = fs::read_to_string(format!("{out}.html")).unwrap();
    assert!(page.contains("<h2>ANN</h2>\n<p>2 games: 1 won, 0 drawn, 1 lost.</p>"), "{page}");
    // Each game has a page, and the errors are exercises.
    for linked in ["0001.html", "0002.html", "exercises.html"] {
        assert!(page.contains(&format!("href=\"ann.pages/{linked}\"")), "{linked}: {page}");
    }
    let of_game = fs::read_to_string(format!("{out}.pages/0001.html")).unwrap();
    assert!(of_game.contains("<input type=\"checkbox\" checked> Find the better moves first"), "{of_game}");
    let exercises = fs::read_to_string(format!("{out}.pages/exercises.html")).unwrap();
    assert!(exercises.contains("White played 2. g4. Find a better move."), "{exercises}");
    // Pages of an earlier review with more games would not belong to this one.
    let stale = format!("{out}.pages/0003.html");
    fs::write(&stale, "").unwrap();
    let output = review(&["--player", "ANN", "--out", &out, "--force"]);
    assert!(output.status.success() && !Path::new(&stale).exists(), "{output:?}");
    for (arguments, error) in [
        (&["--player", "Ann"][..], "a name for the results is needed for several files: --out PATH"),
        (
            &["--player", "Di", "--out", &out],
            "no game has a player called Di; the games are by Bo; Cy; Ann; ann",
        ),
    ] {
        let output = review(arguments);
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains(error), "{output:?}");
    }
}

/// Games of public reports about other programs that annotate games; each game's event names the report.
#[test]
fn what_others_annotated_wrongly_is_right() {
    let folder = Folder::new();
    let (pgn, out) = (GAMES.replace("review.pgn", "review_reports.pgn"), folder.path("out"));
    let output = run(&["review", &pgn, "--out", &out, "--nodes", "20000", "--threads", "2"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all = games(&format!("{out}.pgn"));
    let of = |report: &str| {
        all.iter().find(|game| game.tag("Event").is_some_and(|event| event.starts_with(report))).unwrap()
    };
    // NAGs and comments of a ply, counted from 0.
    let notes = |report: &str, ply: usize| {
        let tree = &of(report).tree;
        let notes = tree.notes(tree.main_line().nth(ply).unwrap());
        // A mate on the board has no evaluation.
        let is_last = ply + 1 == of(report).moves().len();
        assert!(is_last || notes.comments.join(" ").contains("[%eval"), "{report}: ply {ply} is judged");
        (notes.nags.clone(), notes.comments.join(" "))
    };
    let is_error = |nags: &[u8]| nags.iter().any(|nag| [2, 4, 6].contains(nag));
    // An error has a better move, which is another one.
    for (game, node) in all.iter().flat_map(|game| game.tree.main_line().map(move |node| (game, node))) {
        let moves = game.tree.children(game.tree.parent(node).unwrap()).count();
        assert!(!is_error(&game.tree.notes(node).nags) || moves > 1, "lila #7763, pychess #1365");
    }
    let (nags, _) = notes("lila #15616", 2);
    assert!(!is_error(&nags), "33... e4 is mated in two as before");
    let (nags, comment) = notes("lila #4361", 2);
    assert!(is_error(&nags) && comment.contains("Bf4 was best"), "32... Bd5: {comment}");
    assert!(!is_error(&notes("chessmadra #15", 8).0), "5. Bd2 is best");
    assert!(!is_error(&notes("en-croissant #72: the other", 0).0), "26... Bf5");
    assert!(!is_error(&notes("en-croissant #72: the start", 0).0), "the queen was gone before 1... e5");
    assert_eq!(of("python-chess-annotator #34").moves().len(), 2);
    let (nags, comment) = notes("jfxchess #56", 2);
    assert!(nags == [4] && comment.contains("#-1"), "2. g4: {comment}");
    assert!(!is_error(&notes("lila #15360", 0).0), "every move allows mate in one");
    for ply in 0..of("lila #18262").moves().len() {
        assert!(!is_error(&notes("lila #18262", ply).0), "a slower mate, ply {ply}");
    }
    assert!(!notes("freechess #13", 0).0.contains(&3), "a promotion is no sacrifice");
}

#[test]
fn what_is_refused_is_named_and_games_with_null_moves_are_kept() {
    let folder = Folder::new();
    let pgn = folder.path("games.pgn");
    let text = "1. e4 e5 2. -- Nf6 3. Nf3 Nc6 *\n\n[Event \"2\"]\n\n1. e4 e5 2. nf3 nc6 3. Bb5 Z0 *\n\n\
                [Event \"3\"]\n\n1. e4 e5\n2. Cf3 Nc6 *\n";
    fs::write(&pgn, text).unwrap();
    let output = run(&["review", &pgn, "--nodes", "20", "--threads", "1"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("games.pgn: game 3, line 10: unreadable move 2.Cf3, skipped"), "{errors}");
    let written = fs::read_to_string(folder.path("games.review.pgn")).unwrap();
    assert!(!written.contains("Cf3") && written.contains("--"), "{written}");
    let reviewed = games(&folder.path("games.review.pgn"));
    // Moves up to the null move; the rest is unchanged.
    assert_eq!(reviewed.iter().map(|game| game.moves().len()).collect::<Vec<_>>(), [2, 5]);
    assert!(written.contains("Nf6") && written.contains("Nc6"), "{written}");
}

#[cfg(unix)]
#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let folder = Folder::new();
    let out = folder.path("out");
    let mut child = philidor()
        .args(["review", GAMES, "--out", &out, "--nodes", "20", "--threads", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && !errors.contains("pipe"), "{errors}");
    assert!(Path::new(&format!("{out}.html")).exists());
}

#[cfg(unix)]
/// `/dev/stdin` too, beside which nothing can be written.
#[cfg(unix)]
#[test]
fn standard_input_is_reviewed_into_the_working_directory() {
    let folder = Folder::new();
    let limits = ["--nodes", "5", "--threads", "1"];
    let out = folder.path("out");
    assert!(run(&[&["review", GAMES, "--out", &out][..], &limits].concat()).status.success());
    for name in ["-", "/dev/stdin"] {
        let games = fs::File::open(GAMES).unwrap();
        let mut command = philidor();
        command.args(["review", name]).args(limits).current_dir(folder.path("")).stdin(games);
        let output = command.output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{name}: {errors}");
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            "stdin.review.pgn\nstdin.review.html\n",
            "{name}"
        );
        let reviewed = folder.path("stdin.review.pgn");
        assert_eq!(fs::read(&reviewed).unwrap(), fs::read(format!("{out}.pgn")).unwrap(), "{name}");
        let page = fs::read_to_string(folder.path("stdin.review.html")).unwrap();
        assert!(page.contains("Review of stdin"), "{name}");
        fs::remove_file(&reviewed).unwrap();
        fs::remove_dir_all(folder.path("stdin.review.pages")).unwrap();
        fs::remove_file(folder.path("stdin.review.html")).unwrap();
    }
}

#[test]
fn a_finished_review_is_replaced_only_with_force() {
    let folder = Folder::new();
    let (game, page) = (folder.path("game.pgn"), folder.path("game.review.html"));
    fs::write(&game, "1. e4 e5 *\n").unwrap();
    let review = |more: &[&str]| {
        let output = run(&[&["review", &game, "--nodes", "20", "--threads", "1"], more].concat());
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(review(&[]).0, Some(0));
    let mine = "my own remarks";
    fs::write(&page, mine).unwrap();
    let kept = || fs::read_to_string(&page).unwrap();
    let (status, errors) = review(&[]);
    assert!(
        status == Some(1) && errors.contains("game.review.pgn: it exists; choose another --out"),
        "{errors}"
    );
    let (status, errors) = review(&["--resume"]);
    assert!(status == Some(1) && errors.contains("no unfinished review to continue"), "{errors}");
    fs::remove_file(folder.path("game.review.pgn")).unwrap();
    let (status, errors) = review(&[]);
    assert!(status == Some(1) && errors.contains("game.review.html: it exists"), "{errors}");
    assert_eq!(kept(), mine);
    assert_eq!(review(&["--force", "--resume"]).0, Some(2));
    // An unfinished review is given up, too.
    fs::write(folder.path("game.review.part"), "of another command").unwrap();
    assert_eq!(review(&["--force"]).0, Some(0));
    assert!(kept().contains("<html") && !Path::new(&folder.path("game.review.part")).exists());
}

#[test]
fn an_interrupted_review_loses_nothing_and_is_resumed() {
    let folder = Folder::new();
    let out = folder.path("out");
    let part = format!("{out}.part");
    let mut arguments = vec!["review", GAMES, "--out", &out, "--threads", "1", "--nodes", "100000"];
    let child = philidor().args(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = || fs::read_to_string(&part).map_or(0, |text| text.lines().count());
    while lines() < 4 {
        std::thread::yield_now();
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && errors.contains("--resume continues"), "{errors}");
    let kept = fs::read_to_string(&part).unwrap();
    let refused = run(&arguments);
    assert!(!refused.status.success(), "an unfinished review is not overwritten");
    assert!(String::from_utf8(refused.stderr).unwrap().contains("holds an unfinished review"));
    assert_eq!(fs::read_to_string(&part).unwrap(), kept);
    arguments.push("--resume");
    arguments[7] = "99999";
    let other = run(&arguments);
    let errors = String::from_utf8(other.stderr).unwrap();
    let changed = "begun with 100000 nodes a game, now 99999 nodes a game: repeat the earlier command";
    assert!(!other.status.success() && errors.contains(changed), "{errors}");
    arguments[7] = "100000";
    assert!(run(&arguments).status.success());
    assert!(!Path::new(&part).exists());
    let reviewed = games(&format!("{out}.pgn"));
    assert_eq!(reviewed.len(), 3);
    // The review is the same as one that was not interrupted.
    let whole = folder.path("whole");
    arguments[3] = &whole;
    arguments.pop();
    assert!(run(&arguments).status.success());
    let text = |out: &str| fs::read_to_string(format!("{out}.pgn")).unwrap();
    assert_eq!(text(&out), text(&whole));
}

#[test]
fn every_run_with_the_same_nodes_gives_the_same_review() {
    let folder = Folder::new();
    let review = |name: &str, threads: &str| {
        let out = folder.path(name);
        let output = run(&["review", GAMES, "--out", &out, "--nodes", "30000", "--threads", threads]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::read(format!("{out}.pgn")).unwrap()
    };
    let first = review("first", "1");
    assert!(first == review("again", "1"));
    assert!(first == review("on two threads", "2"));
}

#[test]
fn another_engine_judges() {
    // Philidor itself over UCI, with WDL.
    let folder = Folder::new();
    let out = folder.path("out");
    let us = env!("CARGO_BIN_EXE_philidor");
    let judged = ["--judge", us, "--judge-option", "Threads=1", "--nodes", "4000"];
    let output = run(&[&["review", GAMES, "--out", &out][..], &judged].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(games(&format!("{out}.pgn")).len(), 3);
    let by_centipawns = folder.path("by centipawns");
    let judged = [&judged[..], &["--judge-option", "UCI_ShowWDL=false"]].concat();
    assert!(run(&[&["review", GAMES, "--out", &by_centipawns][..], &judged].concat()).status.success());
    let text = |out: &str| fs::read_to_string(format!("{out}.pgn")).unwrap();
    assert_ne!(text(&out), text(&by_centipawns));
    assert!(text(&by_centipawns).contains(", Threads=1, UCI_ShowWDL=false, 4000 nodes a game"));
    let missing = run(&["review", GAMES, "--out", &folder.path("none"), "--judge", "no-such-engine"]);
    let errors = String::from_utf8(missing.stderr).unwrap();
    assert!(!missing.status.success() && errors.contains("cannot start the engine"), "{errors}");
}

/// An engine without MultiPV that searches until `stop`, whatever its limit.
#[cfg(unix)]
const SIMPLE_ENGINE: &str = r#"#!/bin/sh
while read -r word rest; do
    case $word in
        uci) echo "id name Simple $1"; echo uciok ;;
        isready) echo readyok ;;
        position) case $rest in *moves*) move=e7e5 ;; *) move=e2e4 ;; esac ;;
        go) echo "info depth 9 score cp 30 nodes 1000000 pv $move" ;;
        stop) echo "bestmove $move" ;;
    esac
done
"#;

#[cfg(unix)]
#[test]
fn an_engine_judges_without_multipv_and_without_node_limits() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let (engine, pgn) = (folder.path("engine"), folder.path("game.pgn"));
    fs::write(&engine, SIMPLE_ENGINE).unwrap();
    fs::set_permissions(&engine, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(&pgn, "1. e4 *\n").unwrap();
    let with_argument = format!("'{engine}' --uci");
    let output = run(&["review", &pgn, "--judge", &with_argument, "--nodes", "1000"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        fs::read_to_string(folder.path("game.review.pgn"))
            .unwrap()
            .contains("Simple --uci, 1000 nodes a game")
    );
    let reviewed = games(&folder.path("game.review.pgn"));
    // 30 centipawns for Black, written for White, who might have stood 30 better: not enough for a mark.
    assert_eq!(comments(&reviewed[0]), [["[%eval -0.30]"]]);
    // After 1. e4 e5, which is searched first, the engine answers with the illegal e7e5.
    fs::write(&pgn, "1. e4 e5 *\n").unwrap();
    let output = run(&["review", &pgn, "--judge", &engine, "--nodes", "1000", "--force"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        errors.contains("bestmove e7e5") && errors.contains("after 0 of 1 game; --resume continues"),
        "{errors}"
    );
    assert_eq!(fs::read_to_string(folder.path("game.review.part")).unwrap().lines().count(), 1);
}

#[test]
fn a_move_is_explained_in_words_and_as_json() {
    let fen = "6k1/Rp3ppp/8/8/8/1r6/5PPP/6K1 w - - 0 1";
    let asked = ["explain", "--fen", fen, "--move", "Ra6", "--nodes", "300", "--threads", "1"];
    let output = run(&asked);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Ra6??: Black mates in 1. It misses a forced mate in 1."), "{text}");
    assert!(text.contains("Ra8# is checkmate."), "{text}");
    let output = run(&[&asked[..], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["move"]["mate"], &json["move"]["mark"]), (&(-1).into(), &"??".into()));
    assert_eq!(json["best"][0]["uci"], "a7a8");
    let fen = "rnb1kbnr/pppp1ppp/8/4p3/4P2q/5N2/PPPP1PPP/RNBQKB1R w KQkq - 0 1";
    let output = run(&["explain", "--fen", fen, "--move", "a3", "--nodes", "1000", "--threads", "1"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("It misses Nxh4, which wins the queen"), "{text}");
    for (bad, why) in [
        (vec!["explain", "--move", "Ke4"], "no legal move here: Ke4"),
        (vec!["explain", "--moves", "e4 e7e5 Ke3"], "--moves, ply 3: no legal move there: Ke3"),
        (vec!["explain", "--fen", "x"], "not a FEN"),
        (vec!["explain", "--fen", "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"], "the game is over"),
    ] {
        let output = run(&bad);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && errors.contains(why), "{errors}");
    }
}

#[cfg(unix)]
#[test]
fn a_signal_ends_a_review_that_waits_for_its_games() {
    use std::os::unix::process::ExitStatusExt;

    let folder = Folder::new();
    let (pipe, out) = (folder.path("games.pgn"), folder.path("out"));
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("coreutils").success());
    let mut child = philidor().args(["review", &pipe, "--out", &out]).spawn().unwrap();
    // Waits until the pipe is opened for reading.
    let end = fs::File::options().write(true).open(&pipe).unwrap();
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().signal(), Some(15), "it ends though the pipe is open");
    drop(end);
    assert!(!Path::new(&format!("{out}.pgn")).exists());
}
