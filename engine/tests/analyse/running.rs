use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};

use super::program::{Program, command};

fn ids(answers: &[Value]) -> Vec<&Value> {
    answers.iter().map(|answer| &answer["id"]).collect()
}

#[test]
fn a_thousand_queries_with_garbage_between_them_are_all_answered() {
    let mut program = Program::with(&["--option", "Backend=uniform", "--option", "Threads=2"]);
    for id in 0..1000 {
        program.send(&json!({"id": id, "nodes": 1 + id % 50, "priority": id % 3}));
        program.send_text(b"garbage");
        program.send_text(format!("{{\"id\": {id}, \"movetime\": -1}}").as_bytes());
    }
    let (answers, status) = program.close();
    assert!(status.success());
    let (errors, answers): (Vec<Value>, Vec<Value>) =
        answers.into_iter().partition(|answer| answer.get("error").is_some());
    assert_eq!(errors.iter().filter(|error| error["id"].is_null()).count(), 1000);
    assert_eq!(errors.iter().filter(|error| error["key"] == "movetime").count(), 1000);
    assert_eq!(answers.iter().map(|answer| answer["id"].as_i64()).collect::<HashSet<_>>().len(), 1000);
    for answer in &answers {
        assert_eq!(answer["final"], true);
        assert_eq!(answer["nodes"].as_i64().unwrap(), 1 + answer["id"].as_i64().unwrap() % 50);
    }
}

#[test]
fn queries_of_a_higher_priority_are_answered_first_and_equals_in_their_order() {
    // One worker and one leaf at a time: a search ends before the next begins.
    let mut program = Program::with(&["--option", "Threads=1"]);
    program.hold();
    for (id, priority) in [(1, 0), (2, 5), (3, 0), (4, -3), (5, 5), (6, 7), (7, 0)] {
        program.send(&json!({"id": id, "nodes": 20, "priority": priority}));
    }
    program
        .send(&json!({"id": 8, "nodes": 20, "priority": 6, "moves": ["e2e4", "e7e5"], "turns": [2, 0, 1]}));
    program.release();
    let answers = program.take(10);
    assert_eq!(ids(&answers), [6, 8, 8, 8, 2, 5, 1, 3, 7, 4].map(|id| json!(id)).iter().collect::<Vec<_>>());
    let turns: Vec<_> = answers[1..4].iter().map(|answer| &answer["turn"]).collect();
    assert_eq!(turns, [2, 0, 1].map(|turn| json!(turn)).iter().collect::<Vec<_>>());
}

#[test]
fn a_query_that_is_terminated_is_answered_with_what_was_found() {
    let mut program = Program::uniform();
    let endless =
        json!({"id": "a", "nodes": 1_000_000_000, "report_every_ms": 1, "include": ["children", "policy"]});
    let first = program.ask(&endless);
    assert_eq!((&first["final"], first.get("ended")), (&json!(false), None));
    program.send(&json!({"action": "terminate", "id": "a"}));
    // Answers under way may come before the reply.
    let reply = (0..).map(|_| program.line()).find(|line| line.get("action").is_some()).unwrap();
    assert_eq!(reply, json!({"action": "terminate", "id": "a", "stopped": 1}));
    let last = (0..).map(|_| program.line()).find(|line| line["final"] == true).unwrap();
    assert_eq!(last["ended"], "terminated");
    assert!(last["nodes"].as_u64() >= first["nodes"].as_u64() && last["lines"][0]["visits"] != 0, "{last}");
    assert_eq!(program.ask(&json!({"action": "terminate", "id": "a"}))["stopped"], 0);
    let (rest, status) = program.close();
    assert!(rest.is_empty() && status.success(), "{rest:?}");
}

#[test]
fn waiting_turns_can_be_terminated_one_by_one_and_all_together() {
    let mut program = Program::uniform();
    // Four large searches exceed the memory, so the last one waits.
    let large = json!({"id": "large", "moves": ["e2e4", "e7e5", "d2d4"], "turns": [0, 1, 2, 3], "nodes": 900_000_000,
                       "include": ["children"]});
    program.send(&large);
    let reply = program.ask(&json!({"action": "terminate", "id": "large", "turns": [3]}));
    assert_eq!(reply["stopped"], 1);
    let answer = program.line();
    assert_eq!(
        (&answer["turn"], &answer["ended"], &answer["nodes"]),
        (&json!(3), &json!("terminated"), &json!(0))
    );
    assert_eq!((&answer["lines"], &answer["children"]), (&json!([]), &json!([])));
    program.send(&json!({"id": "other", "nodes": 900_000_000}));
    assert_eq!(
        program.ask(&json!({"action": "terminate_all"})),
        json!({"action": "terminate_all", "stopped": 4})
    );
    let answers = program.take(4);
    assert!(answers.iter().all(|answer| answer["ended"] == "terminated"), "{answers:?}");
    let ended: HashSet<_> =
        answers.iter().map(|answer| (answer["id"].as_str(), answer["turn"].as_u64())).collect();
    assert_eq!(ended.len(), 4);
    assert_eq!(program.ask(&json!({"id": "large", "nodes": 3}))["ended"], "nodes");
}

#[test]
fn a_small_query_of_a_higher_priority_does_not_wait_for_large_ones() {
    let mut program = Program::uniform();
    program.send(&json!({"id": "large", "moves": ["e2e4"], "turns": [0, 1], "nodes": 900_000_000}));
    let answer = program.ask(&json!({"id": "small", "nodes": 400, "priority": 1}));
    assert_eq!((&answer["id"], &answer["nodes"]), (&json!("small"), &json!(400)));
    // A search of the same priority shares the worker with them.
    assert_eq!(program.ask(&json!({"id": "equal", "nodes": 400}))["ended"], "nodes");
}

#[test]
fn time_ends_a_search_even_while_others_are_preferred() {
    let mut program = Program::uniform();
    let answer = program.ask(&json!({"id": 1, "movetime": 30}));
    assert_eq!(answer["ended"], "movetime");
    assert!(answer["time_ms"].as_u64().unwrap() >= 30, "{answer}");
    assert_eq!(program.ask(&json!({"id": 2, "movetime": 60_000, "nodes": 10}))["ended"], "nodes");
    program.send(&json!({"id": "preferred", "nodes": 1_000_000_000, "priority": 1}));
    assert_eq!(program.ask(&json!({"id": 3, "movetime": 1}))["ended"], "movetime");
}

#[test]
fn the_end_of_the_input_finishes_what_was_asked() {
    for network in [&["--option", "Backend=uniform"][..], &[]] {
        let mut program = Program::with(network);
        for id in 0..20 {
            program.send(&json!({"id": id, "nodes": 300}));
        }
        let (answers, status) = program.close();
        assert!(status.success());
        assert_eq!(answers.iter().filter(|answer| answer["ended"] == "nodes").count(), 20);
    }
}

#[test]
fn quit_at_once_does_not() {
    let mut program = Program::with(&["--option", "Backend=uniform", "--quit-at-once"]);
    program.send(&json!({"id": 1, "nodes": 1_000_000_000}));
    program.send(&json!({"id": 2, "nodes": 1_000_000_000}));
    let (answers, status) = program.close();
    assert!(status.success() && answers.is_empty(), "{answers:?}");
}

#[test]
fn a_reader_that_is_gone_ends_it_quietly() {
    let mut child = command(&["--option", "Backend=uniform"]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdin.write_all(b"{\"id\": 1, \"nodes\": 1000000000, \"report_every_ms\": 1}\n").unwrap();
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert!(line.contains("\"final\":false"), "{line}");
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    drop(stdin);
}

#[test]
fn options_and_the_number_of_visits_are_set_on_the_command_line() {
    let mut program = Program::with(&[
        "--option",
        "Backend=uniform",
        "--option",
        "threads=3",
        "--option",
        "MultiPV = 2",
        "--option",
        "UCI_Chess960=true",
        "--nodes",
        "17",
    ]);
    let version = program.ask(&json!({"action": "version", "id": "v"}));
    assert_eq!(
        (&version["id"], &version["threads"], &version["network"]),
        (&json!("v"), &json!(3), &json!("none"))
    );
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    let listed = program.ask(&json!({"action": "options", "id": "o"}));
    let option = |name: &str| {
        let options = listed["options"].as_array().unwrap();
        options.iter().find(|option| option["name"] == name).unwrap_or_else(|| panic!("no {name}"))
    };
    let hash = option("Hash");
    assert_eq!(
        (&hash["type"], &hash["default"], &hash["min"], &hash["effect"]),
        (&json!("spin"), &json!(256), &json!(1), &json!("memory"))
    );
    assert_eq!(option("MultiPV")["default"], 1, "defaults, not what is set");
    assert_eq!(option("Precision")["values"], json!(["auto", "fp32", "int8"]));
    let fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1";
    let answer = program.ask(&json!({"id": 1, "fen": fen, "searchmoves": ["e1g1", "e1c1"]}));
    assert_eq!((&answer["nodes"], answer["lines"].as_array().unwrap().len()), (&json!(17), 2));
    assert_eq!(answer["lines"][0]["move"].as_str().unwrap().split_at(2).0, "e1");
    assert!(["e1h1", "e1a1"].contains(&answer["lines"][0]["move"].as_str().unwrap()));
}

#[test]
fn a_network_in_onnx_runtime_answers_many_queries() {
    let network = concat!(env!("CARGO_MANIFEST_DIR"), "/../nets/mlp.int8.onnx");
    let option = format!("WeightsFile={network}");
    let mut program = Program::with(&["--option", &option, "--option", "Threads=2", "--option", "Hash=16"]);
    for id in 0..100 {
        program.send(&json!({"id": id, "nodes": 50, "include": ["children"]}));
    }
    for answer in program.take(100) {
        let children = answer["children"].as_array().unwrap().iter();
        assert_eq!(children.map(|child| child["visits"].as_u64().unwrap()).sum::<u64>(), 49, "{answer}");
    }
}
