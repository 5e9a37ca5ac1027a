use serde_json::{Value, json};

use super::program::Program;
use super::schema::Schema;

fn line_moves(answer: &Value) -> Vec<&str> {
    answer["lines"].as_array().unwrap().iter().map(|line| line["move"].as_str().unwrap()).collect()
}

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn a_query_has_one_final_answer_with_its_id() {
    let mut program = Program::uniform();
    for id in [json!("a"), json!(7), json!("")] {
        let answer = program.ask(&json!({"id": id, "nodes": 50}));
        assert_eq!((&answer["id"], &answer["turn"], &answer["final"]), (&id, &json!(0), &json!(true)));
        assert_eq!((&answer["nodes"], &answer["ended"]), (&json!(50), &json!("nodes")));
        assert_eq!(answer["to_move"], "white");
    }
    let (rest, status) = program.close();
    assert!(rest.is_empty() && status.success(), "{rest:?}");
}

#[test]
fn every_key_of_the_schema_is_understood() {
    let query = json!({
        "action": "query",
        "id": 1,
        "fen": "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",
        "moves": ["a1a2", "a8a7"],
        "turns": [0, 2],
        "nodes": 10,
        "movetime": 60_000,
        "multipv": 2,
        "searchmoves": ["e1f1", "e1d1"],
        "priority": -1,
        "include": ["policy", "wdl", "children", "pv"],
        "report_every_ms": 60_000,
        "chess960": true,
    });
    assert_eq!(keys(&query), keys(&Schema::of_the_docs().definition("query")["properties"]));
    let mut program = Program::uniform();
    program.send(&query);
    assert!(program.take(2).iter().all(|answer| answer["ended"] == "nodes"));
}

#[test]
fn every_turn_asked_for_is_answered() {
    let mut program = Program::uniform();
    let moves = ["e2e4", "e7e5", "g1f3"];
    program.send(&json!({"id": 1, "moves": moves, "turns": [0, 3, 1], "nodes": 20}));
    let mut answers = program.take(3);
    answers.sort_by_key(|answer| answer["turn"].as_u64());
    let turns: Vec<_> = answers.iter().map(|answer| (&answer["turn"], &answer["to_move"])).collect();
    assert_eq!(
        turns,
        [(&json!(0), &json!("white")), (&json!(1), &json!("black")), (&json!(3), &json!("black"))]
    );
    // By default, the turn after all moves is analysed.
    assert_eq!(program.ask(&json!({"id": 2, "moves": moves, "nodes": 1}))["turn"], 3);
}

#[test]
fn answers_include_what_is_asked_for() {
    let mut program = Program::uniform();
    let mut ask =
        |include: Value| program.ask(&json!({"id": 1, "nodes": 30, "multipv": 3, "include": include}));
    let nothing = ask(json!([]));
    assert_eq!(line_moves(&nothing).len(), 3);
    assert_eq!(keys(&nothing["lines"][0]), ["move", "score", "visits"]);
    assert!(nothing.get("policy").is_none() && nothing.get("children").is_none());
    let all = ask(json!(["policy", "wdl", "children", "pv"]));
    let children = all["children"].as_array().unwrap();
    assert_eq!(children.len(), 20);
    // All visits but the root's own evaluation.
    let visits: u64 = children.iter().map(|child| child["visits"].as_u64().unwrap()).sum();
    assert_eq!(visits, 29);
    let sum: f64 = all["policy"].as_object().unwrap().values().map(|share| share.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-3, "{sum}");
    assert!(all["lines"].as_array().unwrap().iter().all(|line| line["pv"][0] == line["move"]));
    let visited = children.iter().filter(|child| child["visits"] != 0);
    program.send_text(br#"{"id": 1, "nodes": 5, "include": null}"#);
    let usual = program.line();
    assert_eq!(keys(&usual["lines"][0]), ["move", "pv", "score", "visits", "wdl"]);
    assert!(visited.clone().count() > 3 && visited.clone().all(|child| child["q"] == 0.0), "{children:?}");
}

#[test]
fn the_policy_is_the_networks_own_and_the_prior_the_searchs() {
    let mut program = Program::with(&["--option", "Threads=1"]);
    let query = json!({"id": 1, "nodes": 1, "include": ["policy", "children"]});
    let answer = program.ask(&query);
    // Flattening lowers the greatest probability.
    let first = |answer: &Value| {
        let policy = answer["policy"].as_object().unwrap().iter();
        let share = |share: &Value| share.as_f64().unwrap();
        policy.max_by(|a, b| share(a.1).total_cmp(&share(b.1))).unwrap().0.clone()
    };
    let m = first(&answer);
    let share = |answer: &Value| answer["policy"][&m].as_f64().unwrap();
    let prior = |answer: &Value| {
        let children = answer["children"].as_array().unwrap();
        children.iter().find(|child| child["move"] == *m).unwrap()["prior"].as_f64().unwrap()
    };
    let mut plain = Program::with(&["--option", "Threads=1", "--option", "RootPolicyTemperature=1"]);
    let without = plain.ask(&query);
    assert!((share(&without) - prior(&without)).abs() < 1e-4);
    assert!((share(&answer) - share(&without)).abs() < 1e-3, "{answer} {without}");
    assert!(prior(&answer) < share(&answer) - 0.01, "flattened: {answer}");
}

#[test]
fn only_the_moves_asked_for_are_searched() {
    let mut program = Program::uniform();
    let answer = program.ask(&json!({"id": 1, "nodes": 50, "multipv": 9, "searchmoves": ["a2a3", "h2h4"]}));
    let mut moves = line_moves(&answer);
    moves.sort_unstable();
    assert_eq!(moves, ["a2a3", "h2h4"]);
    // The same text is another piece's move at another turn.
    let moves = ["e2e4", "a7a6", "e4e5", "a6a5", "f1e2", "h7h6", "e2d3", "h6h5"];
    program.send(
        &json!({"id": 2, "moves": moves, "turns": [4, 8], "nodes": 5, "searchmoves": ["d1h5", "g1f3"]}),
    );
    for answer in program.take(2) {
        assert!(["d1h5", "g1f3"].contains(&line_moves(&answer)[0]), "{answer}");
    }
}

#[test]
fn castling_is_written_as_asked() {
    let mut program = Program::uniform();
    let fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1";
    let query = json!({"id": 1, "fen": fen, "nodes": 5, "searchmoves": ["e1g1"]});
    assert_eq!(line_moves(&program.ask(&query)), ["e1g1"]);
    let mut chess960 = query.clone();
    chess960["chess960"] = json!(true);
    assert_eq!(line_moves(&program.ask(&chess960)), ["e1h1"]);
    // With king or rook off their usual squares, castling has only one notation.
    let fen = "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9";
    let moves = ["e1f3", "a7a6"];
    let answer =
        program.ask(&json!({"id": 2, "fen": fen, "moves": moves, "nodes": 5, "searchmoves": ["g1h1"]}));
    assert!(
        answer["error"].as_str().unwrap().contains("illegal move: g1h1"),
        "the bishop is not away: {answer}"
    );
    let fen = "1r1k2r1/pp1b1ppp/2n1pn2/3p4/3P4/2NBPN2/PP3PPP/1R1K2R1 w GBgb - 0 9";
    let answer = program.ask(&json!({"id": 3, "fen": fen, "nodes": 5, "searchmoves": ["d1g1"]}));
    assert_eq!(line_moves(&answer), ["d1g1"]);
}

#[test]
fn games_that_are_over_are_answered_too() {
    let mut program = Program::uniform();
    let mated = program.ask(&json!({"id": 1, "moves": ["f2f3", "e7e5", "g2g4", "d8h4"], "nodes": 9}));
    assert_eq!((&mated["ended"], &mated["outcome"]), (&json!("game_over"), &json!("checkmate")));
    assert_eq!(mated["lines"], json!([]));
    // A draw by the rules can still be searched.
    let there_and_back = ["g1f3", "g8f6", "f3g1", "f6g8"].repeat(2);
    let drawn = program.ask(&json!({"id": 2, "moves": there_and_back, "nodes": 9}));
    assert_eq!((&drawn["ended"], &drawn["outcome"]), (&json!("nodes"), &json!("threefold_repetition")));
    assert_eq!(line_moves(&drawn).len(), 1);
}

#[test]
fn a_forced_mate_is_solved() {
    let mut program = Program::uniform();
    let answer = program.ask(&json!({"id": 1, "fen": "6k1/5ppp/8/8/8/8/8/K2R4 w - - 0 1", "nodes": 100_000}));
    assert_eq!((&answer["ended"], &answer["lines"][0]["score"]), (&json!("solved"), &json!({"mate": 1})));
    assert_eq!(line_moves(&answer), ["d1d8"]);
}

#[test]
fn the_answer_is_that_of_go() {
    // One worker and one leaf at a time make the search reproducible.
    use std::io::Write;
    let mut program = Program::with(&["--option", "Threads=1"]);
    let answer = program.ask(&json!({"id": 1, "moves": ["e2e4", "c7c5"], "nodes": 300}));
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_philidor"))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let lines = "setoption name Threads value 1\nsetoption name UCI_AnalyseMode value true\nposition startpos moves e2e4 c7c5\ngo nodes 300\n";
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(lines.as_bytes()).unwrap();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut last = String::new();
    let best = loop {
        let mut line = String::new();
        assert!(std::io::BufRead::read_line(&mut output, &mut line).unwrap() > 0, "no bestmove");
        if line.starts_with("bestmove") {
            break line;
        }
        if line.starts_with("info depth") {
            last = line;
        }
    };
    drop(stdin);
    child.wait().unwrap();
    let line = &answer["lines"][0];
    assert_eq!(best.split_whitespace().nth(1), line["move"].as_str());
    let (_, rest) = last.split_once(" score cp ").unwrap();
    assert_eq!(rest.split(' ').next().unwrap(), line["score"]["cp"].to_string());
    let pv: Vec<&str> = line["pv"].as_array().unwrap().iter().map(|m| m.as_str().unwrap()).collect();
    assert_eq!(last.trim().split_once(" pv ").unwrap().1, pv.join(" "));
}
