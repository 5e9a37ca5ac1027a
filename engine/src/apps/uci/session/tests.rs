//! Properties of any line, tested on a session without I/O threads.

use crossbeam_channel::Receiver;
use proptest::prelude::*;

use super::*;
use crate::apps::io::OutputItem;

mod storm;

struct Fixture {
    session: Session,
    items: Receiver<OutputItem>,
}

/// All that a line can change.
type SessionState = (Settings, bool, String, usize, bool);

impl Fixture {
    fn new() -> Fixture {
        let (writer, items) = Writer::to_channel();
        let mut fixture = Fixture { session: Session::new(writer, TrafficLog::default(), false), items };
        for line in ["setoption name Backend value uniform", "position startpos moves e2e4 e7e5 g1f3"] {
            assert_eq!(fixture.send(line), [""; 0]);
        }
        fixture
    }

    fn send(&mut self, text: &str) -> Vec<String> {
        let _ = self.session.line(&InputLine { at: Instant::now(), text: Ok(text.to_owned()) });
        self.written()
    }

    fn written(&self) -> Vec<String> {
        let line = |item| match item {
            OutputItem::Line(line) => line,
            OutputItem::End => panic!("the output was ended"),
        };
        self.items.try_iter().map(line).collect()
    }

    /// The search must end by itself.
    fn finish(&mut self) -> Vec<String> {
        if let Activity::Searching(running) = &self.session.activity {
            let finished = running.finished.recv().ok();
            self.session.finish(finished);
        }
        self.written()
    }

    fn state(&self) -> SessionState {
        let session = &self.session;
        let idle = matches!(session.activity, Activity::Idle);
        (session.engine.settings().clone(), session.debug, session.game.fen(), session.game.ply(), idle)
    }

    fn is_refused(&mut self, text: &str) {
        let before = self.state();
        let answer = self.send(text);
        assert_eq!(answer.len(), 1, "{text}: {answer:?}");
        assert!(answer[0].starts_with("info string "), "{text}: {answer:?}");
        assert_eq!(self.state(), before, "{text}");
    }
}

#[test]
fn bad_lines_are_answered_once_and_change_nothing() {
    let mut fixture = Fixture::new();
    for text in [
        "hello",
        "position",
        "position startpos moves e2e4 e2e4",
        "position startpos moves e2e4 0000",
        "position startpos moves e7e8q",
        "position fen 8/8/8/8/8/8/8/8 w - - 0 1",
        "position fen rnbqkbnr/pppXpppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        "position fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR x KQkq - 0 1",
        "position fen pppppppp/8/8/8/8/8/8/4K2k w - - 0 1",
        "position fen 9/8/8/8/8/8/8/8 w - - 0 1",
        "setoption name Threads value abc",
        "setoption name Nonsense value 1",
        "setoption name Debug Log File value /no/such/folder/log",
    ] {
        fixture.is_refused(text);
    }
    fixture.is_refused(&"position startpos moves ".repeat(20));
}

#[test]
fn a_network_that_is_refused_is_reported_at_the_option_and_at_every_use() {
    let mut fixture = Fixture::new();
    fixture.send("setoption name Backend value auto");
    let answer = fixture.send("setoption name WeightsFile value /no/such/file.onnx");
    assert!(matches!(&answer[..], [why] if why.contains("/no/such/file.onnx")), "{answer:?}");
    assert_eq!(fixture.send("setoption name Threads value 1"), [""; 0]);
    for text in ["isready", "go nodes 5", "eval"] {
        let answer = fixture.send(text);
        assert!(matches!(&answer[..], [why] if why.contains("plays no other network")), "{text}: {answer:?}");
    }
    fixture.send("setoption name WeightsFile value <embedded>");
    assert_eq!(fixture.send("isready"), ["readyok"]);
}

fn tree(fixture: &mut Fixture, line: &str) -> serde_json::Value {
    let mut answer = fixture.send(line);
    // `info` lines may interleave.
    answer.retain(|line| !line.starts_with("info depth "));
    let [answer] = answer.as_slice() else { panic!("{answer:?}") };
    serde_json::from_str(answer.strip_prefix("info string tree ").expect(answer)).unwrap()
}

#[test]
fn the_tree_is_shown_to_any_depth_that_it_holds() {
    let mut fixture = Fixture::new();
    fixture.is_refused("tree");
    fixture.send("go nodes 400");
    fixture.finish();
    let visits = |answer: &serde_json::Value| -> u64 {
        answer["children"].as_array().unwrap().iter().map(|child| child["visits"].as_u64().unwrap()).sum()
    };
    let mut line = "tree".to_owned();
    // The root's own evaluation is one of the 400 visits.
    let mut before = 400;
    let mut depth = 0;
    loop {
        let answer = tree(&mut fixture, &line);
        let children = answer["children"].as_array().unwrap().clone();
        let Some(best) = children.first() else { break };
        let priors: f64 = children.iter().map(|child| child["prior"].as_f64().unwrap()).sum();
        assert!((priors - 1.0).abs() < 1e-3, "{line}: {priors}");
        // A transposition also has visits through other parents.
        assert!(visits(&answer) + 1 >= before, "{line}: {} below {before}", visits(&answer));
        before = best["visits"].as_u64().unwrap();
        if before == 0 {
            break;
        }
        line += if depth == 0 { " moves " } else { " " };
        line += best["move"].as_str().unwrap();
        depth += 1;
    }
    assert!(depth >= 2, "{line}");
    assert_eq!(tree(&mut fixture, "tree moves a7a6 a2a3 a6a5 a3a4 h7h6 h2h3")["held"], false);
    fixture.is_refused("tree moves e2e4");
    fixture.is_refused("tree e7e5");
    fixture.send("go infinite");
    tree(&mut fixture, "tree");
    assert!(fixture.send("stop").iter().any(|line| line.starts_with("bestmove ")));
    // `tree` still shows the searched position.
    fixture.send("position startpos");
    assert_eq!(tree(&mut fixture, "tree moves b8c6")["held"], true);
}

#[test]
fn a_bad_go_is_reported_and_answered() {
    let mut fixture = Fixture::new();
    for text in [
        "go nodes -1",
        "go depth",
        "go nodes 20 depth three quickly",
        "go movetime 1.5",
        "go searchmoves e2e5 nodes 20",
        "go searchmoves e2e5 a7a6 nodes 20",
        "go searchmoves nodes 20",
        "go movetime 99999999999999999999999",
        "go fast",
    ] {
        let mut lines = fixture.send(text);
        lines.extend(fixture.finish());
        let of = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
        assert_eq!((of("info string go: ignored: "), of("bestmove ")), (1, 1), "{text}: {lines:?}");
        let best = lines.last().unwrap().split(' ').nth(1).unwrap();
        assert!(fixture.session.game.parse_uci(best).is_ok(), "{text}: {lines:?}");
        assert!(!text.contains("a7a6") || best == "a7a6", "{text}: {lines:?}");
    }
}

#[test]
fn a_go_after_a_refused_position_has_no_move() {
    let mut fixture = Fixture::new();
    for refused in ["position startpos moves e2e4 e2e4", "position fen 8/8 w", "position", "position here"] {
        assert_eq!(fixture.send(refused).len(), 1, "{refused}");
        for go in ["go nodes 20", "go wtime 1000 btime 1000"] {
            let lines = fixture.send(go);
            assert!(
                matches!(&lines[..], [why, best]
                if why.starts_with("info string ") && best == "bestmove (none)"),
                "{refused}, {go}: {lines:?}"
            );
        }
        // This reply is withheld, too.
        assert!(!fixture.send("go infinite").iter().any(|line| line.starts_with("bestmove")));
        assert_eq!(fixture.send("stop"), ["bestmove (none)"]);
        fixture.send("position startpos moves d2d4");
        fixture.send("go nodes 20");
        assert!(fixture.finish().last().unwrap().starts_with("bestmove "), "{refused}");
        assert!(!fixture.session.is_position_refused);
    }
}

#[test]
fn a_go_during_a_search_ends_that_search_first() {
    let mut fixture = Fixture::new();
    let mut lines = fixture.send("go infinite");
    lines.extend(fixture.send("go infinite nodes 5"));
    lines.extend(fixture.send("go ponder"));
    let of = |lines: &[String]| lines.iter().filter(|line| line.starts_with("bestmove ")).count();
    assert_eq!(of(&lines), 2, "{lines:?}");
    lines.extend(fixture.send("stop"));
    assert_eq!(of(&lines), 3, "{lines:?}");
}

#[test]
fn what_is_not_text_is_refused_too() {
    let mut fixture = Fixture::new();
    for error in [crate::apps::io::LineError::Long, crate::apps::io::LineError::Encoding] {
        let before = fixture.state();
        let _ = fixture.session.line(&InputLine { at: Instant::now(), text: Err(error) });
        assert_eq!(fixture.written().len(), 1);
        assert_eq!(fixture.state(), before);
    }
}

#[test]
fn stop_and_ponderhit_without_a_search_say_nothing() {
    let mut fixture = Fixture::new();
    for text in ["stop", "ponderhit", "", "  ", "register later"] {
        assert_eq!(fixture.send(text), [""; 0], "{text}");
    }
}

#[test]
fn a_clamped_number_is_reported() {
    let mut fixture = Fixture::new();
    let answer = fixture.send("setoption name Move Overhead value 9999999");
    assert_eq!(answer, ["info string option Move Overhead cannot be 9999999: set to 5000"]);
    assert_eq!(fixture.session.engine.settings().move_overhead, Duration::from_secs(5));
}

const GOOD: [&str; 9] = [
    "position startpos moves e2e4 e7e5 g1f3 b8c6 f1b5 a7a6",
    "position fen r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1 moves e1g1",
    "position fen bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
    "setoption name Hash value 64",
    "setoption name Move Overhead value 30",
    "setoption name UCI_Chess960 value true",
    "setoption name CPuct value 1.5",
    "debug on",
    "ucinewgame",
];

/// `at` is taken modulo the length.
fn damage(line: &str, at: usize, out: usize, insert: &str) -> String {
    let mut bytes = line.as_bytes().to_vec();
    let at = at % (bytes.len() + 1);
    let end = (at + out).min(bytes.len());
    bytes.splice(at..end, insert.bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The line needs no workers and writes no files.
fn is_harmless(text: &str) -> bool {
    !matches!(command::parse(text), Ok(Command::Go(_) | Command::IsReady | Command::Eval | Command::Show))
        && !text.to_ascii_lowercase().contains("file")
}

proptest! {
    #[test]
    fn a_line_is_either_obeyed_or_refused_in_one_line(
        line in prop::sample::select(&GOOD),
        damages in prop::collection::vec((0_usize..200, 0_usize..6, "[ a-z0-9/KQkq\\-\u{0}\u{e9}]{0,4}"), 0..4),
    ) {
        let text = damages.iter().fold(line.to_owned(), |line, (at, out, put)| damage(&line, *at, *out, put));
        prop_assume!(is_harmless(&text));
        let mut fixture = Fixture::new();
        let before = fixture.state();
        let answer = fixture.send(&text);
        let changed = fixture.state() != before;
        let identified = answer.last().is_some_and(|line| line == "uciok");
        prop_assert!(answer.len() <= 1 || identified, "{text}: {answer:?}");
        if let [refusal] = &answer[..] {
            prop_assert!(refusal.starts_with("info string "), "{text}: {refusal}");
            prop_assert!(!changed || refusal.contains(": set to "), "{text}: {refusal}");
        }
    }

    #[test]
    fn any_text_at_all_is_survived(text in "\\PC{0,300}") {
        prop_assume!(is_harmless(&text));
        let mut fixture = Fixture::new();
        prop_assert!(fixture.send(&text).len() <= 1);
    }
}
