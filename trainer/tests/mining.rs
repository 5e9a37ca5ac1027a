//! `mine` and `annotate` by the built binary: complete, interrupted and resumed runs.
//!
//! The engine is a toy in this program, the ignored test `toy_engine`. It scores moves by a hash of position and move.

mod workers;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use engine::chess::position::{Game, PackedMove};
use trainer::base::files::write_file;
use trainer::data::dataset;
use trainer::data::dataset::Chunk;
use trainer::data::record::{GameRecord, GameResult, NO_EVAL, wdl_of_eval};
use xxhash_rust::xxh3::xxh3_64;

/// Environment variable: the toy stops answering after this many searches.
const SILENT_AFTER: &str = "TOY_SILENT_AFTER";
/// Environment variable: the toy's name.
const NAME: &str = "TOY_NAME";

/// A UCI engine. Exits at the search number `Fail`, and reports WDL with `UCI_ShowWDL`.
#[test]
#[ignore = "the engine of the other tests"]
fn toy_engine() {
    let (mut game, mut lines, mut fail, mut searches, mut shows_wdl) = (Game::new(), 1, u64::MAX, 0, false);
    let silent_after = std::env::var(SILENT_AFTER).map_or(u64::MAX, |count| count.parse().expect("a number"));
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["uci"] => {
                say(&format!("id name {}", std::env::var(NAME).expect("a name")));
                say("option name MultiPV type spin default 1 min 1 max 9\n\
                    option name Fail type spin default 0 min 0 max 99999\n\
                    option name UCI_ShowWDL type check default false\n\
                    option name UCI_Chess960 type check default false\nuciok");
            }
            ["isready"] => say("readyok"),
            ["setoption", "name", "MultiPV", "value", count] => lines = count.parse().expect("a number"),
            ["setoption", "name", "Fail", "value", at] => fail = at.parse().expect("a number"),
            ["setoption", "name", "UCI_ShowWDL", "value", shown] => shows_wdl = shown == "true",
            ["position", ..] => game = position(&line),
            ["go", ..] => {
                searches += 1;
                if searches == fail {
                    std::process::exit(3);
                }
                if searches > silent_after {
                    continue;
                }
                let favourites = favourites(&game);
                for (index, (score, uci)) in favourites.iter().take(lines).enumerate() {
                    let [win, draw, loss] = wdl(*score);
                    let wdl = if shows_wdl { format!(" wdl {win} {draw} {loss}") } else { String::new() };
                    say(&format!(
                        "info depth 1 multipv {} score cp {score}{wdl} nodes 1 pv {uci}",
                        index + 1
                    ));
                }
                say(&format!("bestmove {}", favourites[0].1));
            }
            ["quit"] => return,
            _ => (),
        }
    }
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).expect("stdout is open");
}

fn position(line: &str) -> Game {
    let (start, moves) = line.split_once(" moves ").unwrap_or((line, ""));
    Game::from_uci(start.strip_prefix("position fen "), moves.split_whitespace()).expect("a legal game")
}

/// WDL for the mover in thousandths. `score` is at most 150.
fn wdl(score: i16) -> [i16; 3] {
    [400 + score, 200, 400 - score]
}

/// Legal moves with scores for the mover, best first.
fn favourites(game: &Game) -> Vec<(i16, String)> {
    let fen = game.fen();
    let chess960 = fen.starts_with("1rk");
    let like = |uci: String| ((xxh3_64(format!("{fen}{uci}").as_bytes()) % 300) as i16 - 150, uci);
    let mut moves: Vec<_> = game.legal_moves().into_iter().map(|m| like(Game::uci(m, chess960))).collect();
    moves.sort_by_key(|(score, uci)| (-score, uci.clone()));
    moves
}

struct Folder(tempfile::TempDir);

impl Folder {
    /// The toy as a program, and the same program under Stockfish's name.
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a folder"));
        let tests = std::env::current_exe().expect("this program");
        for (program, name) in [("toy", "Toy 1"), ("recent", "Stockfish of the tests")] {
            let toy = format!("'{}' toy_engine --exact --ignored --nocapture", tests.display());
            folder.write(program, &format!("#!/bin/sh\nexport {NAME}='{name}'\nexec {toy}\n"));
            let run = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(folder.at(program), run).expect("our file");
        }
        folder
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.at(name), text).expect("a file");
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_philidor-trainer"));
        command.current_dir(self.0.path()).args(line.split_whitespace());
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().expect("the trainer starts")
    }

    /// Returns stdout.
    fn succeed(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Returns stderr.
    fn fail(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(!output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    fn games(&self, name: &str) -> Vec<GameRecord> {
        let read = |number: usize| {
            let path = self.at(&format!("data/{name}-{number:05}.h5"));
            path.exists().then(|| dataset::read(&path).expect("a sound file"))
        };
        let of = |chunk: Chunk| (0..chunk.games()).map(|index| chunk.game(index)).collect::<Vec<_>>();
        (0..).map_while(read).flat_map(of).collect()
    }
}

const MINE: &str = "mine --engine ./toy --depth 1 --plies 60";

#[test]
fn games_depend_on_the_seed_alone() {
    let folder = Folder::new();
    let summary = folder.succeed(&format!("{MINE} --games 12 --name one --engines 1"));
    assert!(summary.starts_with("12 games in 1 file: data/one-*.h5"), "{summary}");
    folder.succeed(&format!("{MINE} --games 12 --name three --engines 3 --chunk-size 200"));
    folder.succeed(&format!("{MINE} --games 12 --name other --seed 2"));
    let games = folder.games("one");
    assert_eq!(games, folder.games("three"));
    assert_ne!(games, folder.games("other"));
    assert!(folder.at("data/three-00001.h5").exists(), "cut at the chunk's size");

    // The evaluation is the best move's, for White, whichever move was played.
    let (mut best, mut plies) = (0, 0);
    for game in &games {
        assert!(game.start.is_none() && (1..=60).contains(&game.moves.len()));
        let mut replay = Game::new();
        for (packed, eval) in game.moves.iter().zip(&game.evals) {
            let favourites = favourites(&replay);
            let for_white = replay.turn().fold_wb(favourites[0].0, -favourites[0].0);
            assert_eq!(*eval, for_white);
            let m = packed.to_move(replay.position()).expect("a legal move");
            let rank = favourites.iter().position(|(_, uci)| *uci == Game::uci(m, false)).expect("legal");
            assert!(rank < 3);
            best += u32::from(rank == 0);
            plies += 1;
            replay.play(m);
        }
        assert_eq!(game.result.code() == 2, replay.outcome().is_none(), "no result only if it is not over");
    }
    assert!((0.7..0.9).contains(&(f64::from(best) / f64::from(plies))), "{best} of {plies}");
    assert!(
        folder.succeed("inspect data/one-00000.h5").contains("mined: Toy 1, depth 1, choice 80/15/5, seed 1")
    );
}

/// Starts a command, sends a signal as soon as it reports progress, and returns its status. It cannot finish before,
/// because its two engines answer only `searches` times each.
fn interrupted(folder: &Folder, line: &str, searches: u64, signal: &str) -> Option<i32> {
    let mut command = folder.command(&format!("{line} --engines 2"));
    command.env(SILENT_AFTER, searches.to_string());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let said = BufReader::new(child.stderr.take().expect("piped"));
    let mut said = said.lines().map_while(Result::ok);
    let is_none = |line: &str| line.contains("saved: 0/");
    // A game takes at most 60 searches.
    let is_due = |line: String| {
        if searches > 60 { line.contains("saved: ") && !is_none(&line) } else { is_none(&line) }
    };
    assert!(said.any(is_due), "progress");
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("there is kill");
    assert!(sent.success());
    child.wait().expect("it ends").code()
}

#[test]
fn an_interrupted_run_is_resumed_with_the_same_result() {
    let folder = Folder::new();
    folder.succeed(&format!("{MINE} --games 200 --name whole"));
    let line = format!("{MINE} --games 200 --name parts --save-every 0");
    let refused = || {
        let refused = folder.fail(&line);
        assert!(refused.contains("it exists") && refused.contains("--resume"), "{refused}");
    };
    // No game is over after three plies, so there is no game file yet.
    assert_eq!(interrupted(&folder, &line, 3, "-INT"), Some(130));
    assert!(folder.at("data/parts.json").exists() && folder.games("parts").is_empty());
    refused();
    let on = format!("{line} --resume");
    assert_eq!(interrupted(&folder, &on, 100, "-TERM"), Some(143), "as Ctrl-C: nothing is lost");
    let first = folder.games("parts").len();
    assert!(first < 200, "it was not finished");
    assert_eq!(interrupted(&folder, &on, 100, "-KILL"), None);
    assert!(folder.games("parts").len() >= first, "written games are kept");
    refused();
    let refused = folder.fail(&format!("{on} --seed 2 --choice 1"));
    assert!(
        refused.contains("seed was 1, is now 2") && refused.contains("choice was \"80/15/5\""),
        "{refused}"
    );
    folder.succeed(&on);
    assert_eq!(folder.games("parts"), folder.games("whole"));
    folder.succeed(&format!("{MINE} --games 203 --name parts --resume"));
    assert_eq!(folder.games("parts").len(), 203);
}

#[test]
#[cfg(unix)]
fn what_is_read_twice_is_no_pipe() {
    let folder = Folder::new();
    assert!(Command::new("mkfifo").arg(folder.at("pipe")).status().expect("coreutils").success());
    for (option, file) in [("--book", "pipe"), ("--from-games", "pipe"), ("--from-games", "-")] {
        let said = folder.fail(&format!("{MINE} {option} {file}"));
        assert!(
            said.contains(&format!("{file}: mine reads its files twice; write it to a file first")),
            "{said}"
        );
    }
}

#[test]
fn begun_games_beyond_fewer_games_wait_for_more() {
    let folder = Folder::new();
    folder.succeed(&format!("{MINE} --games 9 --name whole"));
    let line = |games: u64| format!("{MINE} --games {games} --name parts --save-every 0 --resume");
    // Games 0 and 1 are begun.
    assert_eq!(interrupted(&folder, &line(9), 3, "-TERM"), Some(143));
    let fewer = folder.run(&line(1));
    let said = String::from_utf8_lossy(&fewer.stderr);
    assert!(fewer.status.success(), "{said}");
    assert!(said.contains("1 begun game beyond --games 1 stay"), "{said}");
    assert!(!said.contains("saved: 2/1"), "{said}");
    assert_eq!(folder.games("parts"), folder.games("whole")[..1]);
    folder.succeed(&line(9));
    assert_eq!(folder.games("parts"), folder.games("whole"));
}

#[cfg(unix)]
#[test]
fn a_full_disk_destroys_no_games() {
    let folder = Folder::new();
    folder.succeed(&format!("{MINE} --games 20 --name full"));
    let games = folder.games("full");
    let size = std::fs::metadata(folder.at("data/full-00000.h5")).expect("the file").len();
    // Files are limited to this file's size: a write beyond it fails, as on a full disk.
    let script = format!("trap '' XFSZ && ulimit -f {} && exec \"$@\"", size.div_ceil(512));
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_philidor-trainer")]);
    let more = format!("{MINE} --games 200 --name full --resume --save-every 0");
    let output =
        command.args(more.split(' ')).current_dir(folder.0.path()).output().expect("there is a shell");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let named = stderr.contains("full-00000.h5: cannot be written")
        || stderr.contains("cannot write data/full.journal");
    assert!(!output.status.success() && named, "{stderr}");
    let kept = folder.games("full");
    assert!(kept.len() >= games.len() && kept.starts_with(&games), "{} of {} games", kept.len(), games.len());
    // With space again the run continues.
    folder.succeed(&more);
    assert_eq!(folder.games("full").len(), 200);
}

#[test]
fn an_engine_that_exits_is_restarted() {
    let folder = Folder::new();
    folder.succeed(&format!("{MINE} --games 5 --name sound"));
    folder.succeed(&format!("{MINE} --games 5 --name shaky --option Fail=37"));
    assert_eq!(folder.games("shaky"), folder.games("sound"));
    let error = folder.fail(&format!("{MINE} --games 5 --name broken --option Fail=1"));
    assert!(error.contains("ended (exit status: 3), 3 times in game"), "{error}");
    let error = folder.fail("mine --engine ./nothing");
    assert!(error.contains("./nothing") && error.contains("--engine"), "{error}");
    let error = folder.fail(&format!("{MINE} --option Hsah=3"));
    assert!(error.contains("has no option \"Hsah\""), "{error}");
    let error = folder.fail("mine --engine /bin/cat --patience 0");
    assert!(error.contains("did not answer"), "{error}");
}

/// Moves before the first position with an evaluation.
fn unlabelled(game: &GameRecord) -> usize {
    game.evals.iter().take_while(|eval| **eval == NO_EVAL).count()
}

fn first_labelled(game: &GameRecord) -> String {
    let mut replay = Game::from_fen(&game.start_fen()).expect("a position");
    game.moves[..unlabelled(game)].iter().for_each(|m| replay.play(m.to_legal_move(replay.position())));
    replay.fen()
}

#[test]
fn games_begin_at_the_configured_positions() {
    let folder = Folder::new();
    let book = "4k2r/8/8/8/8/8/8/R3K3 w Qk - 0 1\n1rk3r1/pppppppp/8/8/8/8/PPPPPPPP/1RK3R1 w GBgb - 0 1\n";
    folder.write("book.epd", book);
    folder.succeed(&format!("{MINE} --games 6 --name book --book book.epd"));
    let games = folder.games("book");
    let starts: Vec<&str> = games.iter().filter_map(|game| game.start.as_deref()).collect();
    let of = |start: &str| starts.iter().filter(|fen| fen.starts_with(start)).count();
    assert_eq!((of("4k2r"), of("1rk3r1")), (3, 3), "equally often");
    assert!(games.iter().all(|game| (game.flags == 1) == game.start_fen().starts_with("1rk")), "Chess960");

    folder.succeed(&format!("{MINE} --games 20 --name careless --careless --choice 100"));
    let pieces = |game: &GameRecord| {
        let board = first_labelled(game).split(' ').next().unwrap_or_default().to_owned();
        board.bytes().filter(u8::is_ascii_alphabetic).count()
    };
    let games = folder.games("careless");
    assert!(
        games.iter().all(|game| (6..=8).contains(&unlabelled(game))),
        "with the last moves of careless play"
    );
    let (most, least) = (games.iter().map(pieces).max(), games.iter().map(pieces).min());
    assert!(most > least && least >= Some(2), "{least:?} to {most:?} pieces");
    folder.succeed(&format!("{MINE} --games 20 --name random --random-plies 6"));
    let games = folder.games("random");
    assert!(games.iter().all(|game| first_labelled(game).ends_with(" 4")), "after six plies it is move 4");
    for game in &games {
        assert!(game.start.is_none() && unlabelled(game) == 6, "the random moves are stored: {game:?}");
        // Random moves are not targets: the first search is at the first position with an evaluation.
        assert!(game.searches[..6].iter().all(|search| search.shares.is_empty()));
        assert!(game.searches[6..].iter().all(|search| !search.shares.is_empty()));
    }

    // Every move draws by the fifty-move rule, so a restart of the engine would not help.
    folder.write("last.epd", "8/8/8/4k3/8/4K3/4R3/8 w - - 99 80\n");
    let error = folder.fail(&format!("{MINE} --games 1 --name none --book last.epd --random-plies 1"));
    assert!(error.contains("in game 0 at ply 0: no start position found"), "{error}");
    assert!(!error.contains("restarted") && !error.contains("the engine"), "{error}");
}

#[test]
fn games_follow_the_trees_of_our_own_searches() {
    let folder = Folder::new();
    folder.succeed(&format!("{MINE} --games 20 --name first"));
    let line =
        "mine --engine ./toy --depth 1 --plies 9 --games 12 --from-games data/first-00000.h5 --best-move";
    folder.succeed(&format!("{line} --tree-paths 40 --name one --engines 1"));
    folder.succeed(&format!("{line} --tree-paths 40 --name three --engines 3"));
    folder.succeed(&format!("{line} --name engine"));
    let games = folder.games("one");
    assert_eq!(games, folder.games("three"));
    // The games begin in positions of games, not always in the initial one.
    let mut known = std::collections::BTreeSet::new();
    for game in &folder.games("first") {
        let mut replay = Game::new();
        for packed in &game.moves {
            known.insert(replay.fen());
            replay.play(packed.to_legal_move(replay.position()));
        }
    }
    assert!(games.iter().all(|game| known.contains(&*game.start_fen())));
    assert!(games.iter().filter(|game| unlabelled(game) > 0).count() > 8, "with the moves that led there");
    assert!(games.iter().all(|game| game.result == GameResult::Unknown));
    // The engine labels the positions, but does not choose the moves.
    check_best_moves(&games, |score, white| {
        let [win, draw, loss] = wdl_of_eval(score);
        if white { [win, draw, loss] } else { [loss, draw, win] }
    });
    let engine = folder.games("engine");
    let starts = |games: &[GameRecord]| games.iter().map(|game| game.start.clone()).collect::<Vec<_>>();
    assert_eq!(starts(&games), starts(&engine));
    let is_choice = |game: &GameRecord| {
        let judged = game.searches.iter().zip(&game.moves).filter(|(search, _)| !search.shares.is_empty());
        judged.filter(|(search, m)| search.shares[0].0 == **m).count()
    };
    let [ours, its] = [&games, &engine].map(|games| games.iter().map(is_choice).sum::<usize>());
    assert!(ours * 2 < its, "{ours} and {its} moves are the engine's best");
    let source = folder.succeed("inspect data/one-00000.h5");
    assert!(
        source.contains("paths of trees of 40 visits by embedded, seed 1, from positions of first-00000.h5"),
        "{source}"
    );

    let refused = folder.fail(&format!("{line} --tree-paths 41 --name one --resume"));
    assert!(refused.contains("tree_paths was 40, is now 41"), "{refused}");
    let refused = folder.fail(&format!("{line} --tree-paths 40 --choice 80,20 --name x"));
    assert!(refused.contains("cannot be used with"), "{refused}");
    let refused = folder.fail(&format!("{line} --network nothing.onnx --tree-paths 40 --name x"));
    assert!(refused.contains("nothing.onnx"), "{refused}");
    // The result of a path that mates is unknown.
    let start = "7k/8/5K2/8/6Q1/8/8/8 w - - 0 1";
    let m = Game::from_fen(start).expect("a position").legal_moves()[0];
    let mut mates = Chunk::new("a test");
    mates.push(&GameRecord {
        start: Some(start.to_owned()),
        moves: vec![PackedMove::new(m)],
        ..GameRecord::default()
    });
    dataset::write(&mates, &folder.at("mates.h5")).expect("a file");
    folder.succeed("mine --engine ./toy --depth 1 --games 8 --from-games mates.h5 --tree-paths 40 --best-move --name won");
    let won = folder.games("won");
    let is_over = |game: &GameRecord| {
        let mut replay = Game::from_fen(&game.start_fen()).expect("a position");
        game.moves.iter().for_each(|m| replay.play(m.to_legal_move(replay.position())));
        replay.outcome().is_some()
    };
    assert!(won.iter().any(is_over) && won.iter().all(|game| game.result == GameResult::Unknown));
    let refused = folder.fail("mine --engine ./toy --tree-paths 40 --name x");
    assert!(refused.contains("--best-move"), "{refused}");
    folder.write("none.h5", "no games");
    let refused = folder.fail("mine --engine ./toy --depth 1 --from-games none.h5");
    assert!(refused.contains("none.h5: a file of another kind"), "{refused}");
}

const PGN: &str = "[Event \"a\"]\n[WhiteElo \"2500\"]\n[Result \"1-0\"]\n\n1. e4 {[%eval 0.99]} e5 2. Nf3 Nc6 1-0\n\n\
    [Event \"broken\"]\n\n1. e5 *\n\n[Event \"b\"]\n[Date \"2024.05.01\"]\n\n1. d4 d5 2. c4 *\n";

#[test]
fn games_are_annotated() {
    let folder = Folder::new();
    folder.write("two.pgn", PGN);
    folder.succeed("annotate two.pgn --engine ./toy --depth 1");
    let games = folder.games("two-annotated");
    assert_eq!(games.iter().map(|game| game.moves.len()).collect::<Vec<_>>(), [4, 3]);
    assert_eq!((games[0].white_elo, games[0].result.code(), games[1].date), (2500, 1, 20_240_501));
    let expected = |game: &GameRecord| {
        let mut replay = Game::new();
        let mut evals = Vec::new();
        for packed in &game.moves {
            let score = favourites(&replay)[0].0;
            evals.push(replay.turn().fold_wb(score, -score));
            replay.play(packed.to_legal_move(replay.position()));
        }
        evals
    };
    games.iter().for_each(|game| assert_eq!(game.evals, expected(game)));

    folder.succeed("annotate two.pgn --engine ./toy --depth 1 --name kept --keep-known");
    let kept = folder.games("kept");
    assert_eq!((kept[0].evals[0], &kept[0].evals[1..]), (99, &games[0].evals[1..]));
    folder.succeed("import two.pgn --name plain --unknown-results");
    assert!(folder.games("plain")[1].evals.iter().all(|eval| *eval == NO_EVAL));
    folder.succeed("annotate data/plain-00000.h5 --engine ./toy --depth 1 --name stored");
    assert_eq!(folder.games("stored"), games);
    let error = folder.fail("annotate two.pgn nowhere.pgn --engine ./nowhere");
    assert!(error.contains("nowhere.pgn"), "the files are looked at before the engine starts: {error}");
    folder.write("broken.pgn", "[Event \"x\"]\n\n1. e5 1-0\n");
    let error = folder.fail("annotate broken.pgn --engine ./toy");
    assert!(error.contains("no games to annotate: 1 broken (illegal or ambiguous move)"), "{error}");
    assert!(!folder.at("data/broken-annotated.json").exists(), "nothing is begun");
}

#[test]
fn labels_that_others_make_are_those_of_one_process() {
    let folder = Folder::new();
    // Two units, of 64 games and of two.
    folder.succeed("mine --engine ./toy --depth 1 --plies 4 --games 66 --name first");
    let annotate = "annotate data/first-00000.h5 --engine ./toy --depth 1 --best-move";
    folder.succeed(&format!("{annotate} --name alone"));
    let mut asking = folder.command(&format!("{annotate} --name shared --inbox inbox --inbox-patience 3600"));
    let asking = asking.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the trainer starts");
    let (mut units, begin) = (0, Instant::now());
    let mut spoil = |inbox: &Path, file: &str, result: &[u8]| {
        units += 1;
        if units > 1 {
            return;
        }
        // The first result arrives damaged: it is refused, and the unit is wanted again.
        write_file(&inbox.join(file), &result[..result.len() / 2]).expect("a file");
        while !inbox.join("refused").join(format!("{file}.txt")).exists() {
            assert!(begin.elapsed() < Duration::from_secs(400), "it is not refused");
            std::thread::yield_now();
        }
    };
    workers::serve(&folder.at("."), asking, &mut spoil);
    assert_eq!(units, 2);
    assert_eq!(folder.games("shared"), folder.games("alone"));
    assert_eq!(folder.games("shared").len(), 66);
}

/// Checks that every ply has the engine's best move as its policy target, and as WDL `value`, called with the score for
/// White and whether White is to move.
fn check_best_moves(games: &[GameRecord], value: impl Fn(i16, bool) -> [f32; 3]) {
    for game in games {
        let mut replay = Game::from_fen(&game.start_fen()).expect("a position");
        assert_eq!(game.searches.len(), game.moves.len());
        for (ply, ((packed, search), eval)) in
            game.moves.iter().zip(&game.searches).zip(&game.evals).enumerate()
        {
            if ply < unlabelled(game) {
                replay.play(packed.to_legal_move(replay.position()));
                continue;
            }
            let (score, best) = &favourites(&replay)[0];
            let white = replay.turn().is_white();
            assert_eq!(*eval, if white { *score } else { -score });
            let [(target, 65535)] = search.shares[..] else { panic!("one move: {:?}", search.shares) };
            assert_eq!(Game::uci(target.to_legal_move(replay.position()), false), *best);
            let [win, draw, loss] = value(*eval, white);
            let (q, d) = (f32::from(search.q) / 32767.0, f32::from(search.d) / 65535.0);
            assert!(
                (q - (win - loss)).abs() < 1e-3 && (d - draw).abs() < 1e-3,
                "{q} {d} of {win} {draw} {loss}"
            );
            replay.play(packed.to_legal_move(replay.position()));
        }
    }
}

#[test]
fn best_moves_are_recorded_with_their_values() {
    let folder = Folder::new();
    // The WDL is the one that the engine reports …
    let reported =
        |score: i16, white: bool| wdl(if white { score } else { -score }).map(|x| f32::from(x) / 1000.0);
    let shown = "--best-move --option UCI_ShowWDL=true";
    folder.succeed(&format!("{MINE} --games 6 --name shown {shown}"));
    check_best_moves(&folder.games("shown"), reported);
    // … or else comes from the score. A move that is not the best is played often.
    folder.succeed(&format!("{MINE} --games 6 --name plain --best-move"));
    let plain = folder.games("plain");
    let of_score = |score: i16, white: bool| {
        let [win, draw, loss] = wdl_of_eval(score);
        if white { [win, draw, loss] } else { [loss, draw, win] }
    };
    check_best_moves(&plain, of_score);
    let differ = |game: &GameRecord| {
        game.moves
            .iter()
            .zip(&game.searches)
            .filter(|(played, search)| **played != search.shares[0].0)
            .count()
    };
    assert!(plain.iter().map(differ).sum::<usize>() > 10);

    // Likewise for existing games, in PGN or game files. Without the option nothing is recorded.
    folder.succeed(&format!("annotate data/plain-00000.h5 --engine ./toy --depth 1 --name labelled {shown}"));
    check_best_moves(&folder.games("labelled"), reported);
    folder.write("two.pgn", PGN);
    folder.succeed("annotate two.pgn --engine ./toy --depth 1 --name pgn --best-move");
    check_best_moves(&folder.games("pgn"), of_score);
    folder.succeed("annotate two.pgn --engine ./toy --depth 1 --name without");
    assert!(folder.games("without").iter().all(|game| game.searches.is_empty()));
    folder.succeed("annotate two.pgn --engine ./toy --depth 1 --name several --best-moves 3");
    for (game, single) in folder.games("several").iter().zip(&folder.games("pgn")) {
        assert_eq!(game.evals, single.evals);
        assert!(game.searches.iter().zip(&game.evals).all(|(search, eval)| search.scores[0] == *eval));
        for (search, single) in game.searches.iter().zip(&single.searches) {
            assert_eq!((search.q, search.shares[0].0), (single.q, single.shares[0].0));
            let shares: Vec<u16> = search.shares.iter().map(|(_, share)| *share).collect();
            assert!((1..=3).contains(&shares.len()) && shares.is_sorted_by(|a, b| a >= b), "{shares:?}");
            assert_eq!(search.scores.len(), shares.len(), "each with its score");
            assert!(
                (65534..=65536).contains(&shares.iter().map(|share| i32::from(*share)).sum()),
                "{shares:?}"
            );
        }
    }
    assert!(folder.games("several").iter().any(|game| game.searches.iter().any(|s| s.shares.len() == 3)));
    // A known evaluation that is kept has no best move.
    folder.succeed("annotate two.pgn --engine ./toy --depth 1 --name kept --keep-known --best-move");
    let kept = folder.games("kept").remove(0);
    let recorded: Vec<bool> = kept.searches.iter().map(|search| !search.shares.is_empty()).collect();
    assert_eq!((kept.evals[0], &recorded[..]), (99, &[false, true, true, true][..]));
    // A setting that differs from the begun run's.
    let error = folder.fail("annotate two.pgn --engine ./toy --depth 1 --name without --resume --best-move");
    assert!(error.contains("best_move was false, is now true"), "{error}");
    // Other games in a file of the same name and size.
    folder.write("two.pgn", &PGN.replace("1. d4 d5", "1. d4 d6"));
    let error = folder.fail("annotate two.pgn --engine ./toy --depth 1 --name without --resume");
    assert!(error.contains("begun with other settings: files was"), "{error}");
}

#[test]
fn an_interrupted_annotation_is_resumed() {
    let folder = Folder::new();
    folder.succeed(&format!("{MINE} --games 200 --name mined"));
    folder.succeed("annotate data/mined-00000.h5 --engine ./toy --depth 2 --name whole");
    let line = "annotate data/mined-00000.h5 --engine ./toy --depth 2 --name parts --save-every 0";
    assert_eq!(interrupted(&folder, line, 100, "-TERM"), Some(143));
    assert!(folder.games("parts").len() < 200);
    folder.succeed(&format!("{line} --resume"));
    assert_eq!(folder.games("parts"), folder.games("whole"));
    assert_eq!(folder.games("parts"), folder.games("mined"), "the toy's scores are deterministic");
}

#[test]
fn an_engine_that_gets_only_recent_positions_answers_the_same() {
    let folder = Folder::new();
    folder.succeed(&format!("{MINE} --games 100 --name mined --best-move"));
    let line = "annotate data/mined-00000.h5 --engine ./recent --depth 2 --best-move --save-every 0";
    folder.succeed(&format!("{line} --name whole"));
    assert_eq!(folder.games("whole"), folder.games("mined"));
    assert_eq!(interrupted(&folder, &format!("{line} --name parts"), 100, "-INT"), Some(130));
    assert!(folder.games("parts").len() < 100);
    folder.succeed(&format!("{line} --name parts --resume"));
    assert_eq!(folder.games("parts"), folder.games("mined"));
    // The engine fails within a game.
    folder.succeed(&format!("{line} --name restarted --engines 1 --option Fail=1500"));
    assert_eq!(folder.games("restarted"), folder.games("mined"));
}

#[test]
fn stored_games_are_exported_as_pgn_and_shown() {
    let folder = Folder::new();
    folder.succeed(&format!("{MINE} --games 4 --name mined --random-plies 10"));
    let summary = folder.succeed("export-pgn data/mined-00000.h5 --out mined.pgn");
    assert_eq!(summary, "4 games: mined.pgn\n");
    folder.succeed("import mined.pgn --name back --unknown-results");
    // A PGN holds no searches.
    let mut mined = folder.games("mined");
    mined.iter_mut().for_each(|game| game.searches.clear());
    assert_eq!(folder.games("back"), mined);
    let one = folder.succeed("export-pgn data/mined-00000.h5 --game 2");
    assert_eq!(one.matches("[Event ").count(), 1);
    assert!(Path::new(&folder.at("mined.pgn")).metadata().is_ok_and(|meta| meta.len() > one.len() as u64));
    let shown = folder.succeed("inspect data/mined-00000.h5 --game 2");
    assert!(shown.starts_with("game 2: ") && shown.contains("\n  start    "), "{shown}");
    assert!(
        folder
            .fail("inspect data/mined-00000.h5 --game 9")
            .contains("there is no game 9: the games are 0 to 3")
    );
}
