use serde_json::{Value, json};

use super::program::{Program, command};

#[test]
fn an_error_names_the_key_and_carries_the_id_and_nothing_else_happens() {
    let mut program = Program::uniform();
    let errors = [
        ("fen", json!("8/8/8/8 w - -"), "not a FEN"),
        ("fen", json!("8/8/8/8/8/8/8/K7 w - - 0 1"), "impossible position"),
        ("fen", json!(5), "invalid type"),
        ("moves", json!("e2e4"), "invalid type"),
        ("moves", json!(["e2e4", "e7e5", "e4e5"]), "ply 3: illegal move: e4e5"),
        ("moves", json!(["e2e4", "no"]), "ply 2: not a move: no"),
        ("turns", json!([]), "empty"),
        ("turns", json!([0, 1]), "1 is not in 0 to 0"),
        ("turns", json!([0, 0]), "more than once"),
        ("turns", json!([-1]), "invalid value"),
        ("nodes", json!(0), "0 is not in 1 to 1000000000"),
        ("nodes", json!(1.5), "expected a whole number, 0 or more"),
        ("nodes", json!(-1), "invalid value"),
        ("nodes", json!("400"), "invalid type"),
        ("movetime", json!(0), "0 is not in"),
        ("movetime", json!(1e99), "invalid type"),
        ("multipv", json!(0), "0 is not in 1 to 500"),
        ("searchmoves", json!([]), "empty"),
        ("searchmoves", json!(["e2e4", "e7e5"]), "turn 0: illegal move: e7e5"),
        ("priority", json!("high"), "expected a whole number"),
        ("include", json!(["pv", "ownership"]), "unknown value `ownership`"),
        ("include", json!("pv"), "expected a list"),
        ("report_every_ms", json!(0), "0 is not in"),
        ("chess960", json!("yes"), "invalid type"),
        ("action", json!("stop"), "unknown value `stop`"),
        ("Nodes", json!(400), "unknown key"),
    ];
    for (key, value, expected) in errors {
        let mut query = json!({"id": "bad", "nodes": 5});
        query[key] = value;
        let error = program.refused(&query.to_string());
        assert_eq!((&error["id"], &error["key"]), (&json!("bad"), &json!(key)), "{error}");
        assert!(error["error"].as_str().unwrap().contains(expected), "{key}: {error}");
    }
    let (rest, status) = program.close();
    assert!(rest.is_empty() && status.success(), "nothing was searched: {rest:?}");
}

#[test]
fn lines_that_are_no_objects_are_errors_without_an_id() {
    let mut program = Program::uniform();
    for line in ["no", "[]", "5", "null", "\"id\"", "{\"id\": 1", "{\"id\": 1} {}", "{'id': 1}"] {
        let error = program.refused(line);
        assert_eq!((&error["id"], error.get("key")), (&Value::Null, None), "{line}: {error}");
    }
    program.send_text(b"{\"id\": \"\xff\"}");
    assert_eq!(program.line()["error"], "line is not UTF-8");
    program.send_text(&vec![b' '; 1 << 20]);
    assert!(program.line()["error"].as_str().unwrap().contains("skipped"));
    program.refused(&"[".repeat(100_000));
    program.send_text(b"\n  \r");
    assert_eq!(program.ask(&json!({"id": 1, "nodes": 1}))["final"], true);
}

#[test]
fn ids_are_short_texts_or_whole_numbers_and_used_once_at_a_time() {
    let mut program = Program::uniform();
    for (line, expected) in [
        (r#"{"nodes": 5}"#, "missing"),
        (r#"{"id": null}"#, "missing"),
        (r#"{"id": [1]}"#, "not a string"),
        (r#"{"id": 1.5}"#, "not a string"),
        (r#"{"id": 9223372036854775808}"#, "of 64 bits"),
        (r#"{"action": "terminate"}"#, "missing"),
        (&json!({"id": "x".repeat(1001)}).to_string(), "longer than"),
        (r#"{"id": 1, "id": 2}"#, "more than once"),
    ] {
        let error = program.refused(line);
        assert_eq!((&error["id"], &error["key"]), (&Value::Null, &json!("id")));
        assert!(error["error"].as_str().unwrap().contains(expected), "{line}: {error}");
    }
    assert_eq!(program.refused(r#"{"id": 1, "nodes": 5, "nodes": 6}"#)["key"], "nodes");
    program.hold();
    let again = program.ask(&json!({"id": "hold"}));
    assert_eq!((&again["id"], &again["key"]), (&json!("hold"), &json!("id")));
    program.release();
    assert_eq!(program.ask(&json!({"id": "hold", "nodes": 1}))["final"], true, "the id is free again");
}

#[test]
fn too_many_positions_are_refused() {
    let mut program = Program::uniform();
    program.hold();
    let moves: Vec<&str> = ["g1f3", "g8f6", "f3g1", "f6g8"].into_iter().cycle().take(10_000).collect();
    let turns: Vec<usize> = (0..=10_000).collect();
    for id in 0..9 {
        program.send(&json!({"id": id, "moves": moves, "turns": turns}));
    }
    let error = program.ask(&json!({"id": 9, "moves": moves, "turns": turns}));
    assert_eq!((&error["id"], &error["key"]), (&json!(9), &json!("turns")), "{error}");
    let stopped = program.ask(&json!({"action": "terminate_all", "id": "all"}));
    assert_eq!((&stopped["id"], &stopped["stopped"]), (&json!("all"), &json!(9 * 10_001 + 3)));
}

#[test]
fn options_that_cannot_be_used_end_the_program_with_a_message() {
    for (option, expected) in [
        ("Nonsense=1", "no such option: Nonsense"),
        ("Threads=many", "option Threads needs a whole number, not many"),
        ("Threads=", "option Threads needs a whole number, not nothing"),
        ("Threads", "an option is NAME=VALUE"),
        ("WeightsFile=/nowhere.onnx", "nowhere.onnx"),
        ("Player=uct", "option Player: only the network's search analyses"),
        ("SyzygyPath=/nowhere", "option SyzygyPath: "),
    ] {
        let output = command(&["--option", option]).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && output.stdout.is_empty(), "{option}");
        assert!(message.contains(expected), "{option}: {message}");
    }
}
