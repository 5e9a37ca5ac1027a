use super::*;
use crate::engines::EngineSpec;
use serde_json::{Value, json};

/// A shell engine that runs `go` at `go`; `$p` is the position.
fn shell(name: &str, go: &str) -> EngineSpec {
    let script = format!(
        "while read -r l; do case $l in uci) echo uciok;; isready) echo readyok;; quit) exit;; position*) p=$l;; \
         go*) {go};; stop) echo bestmove 0000;; esac; done"
    );
    EngineSpec {
        name: name.into(),
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), script],
        options: Vec::new(),
    }
}

/// White mates in one, so White always wins.
const MATE: &str = "6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1\n";

fn matches(folder: &tempfile::TempDir, engines: Vec<EngineSpec>) -> (MatchHandle, Boards) {
    let book = folder.path().join("mates.fen");
    std::fs::write(&book, MATE).unwrap();
    let books = vec![OpeningBook::read(&book).unwrap()];
    let boards = Boards::default();
    let roster = Roster::new(None, engines).unwrap();
    (start(roster, books, boards.clone(), folder.path().join("match.json")), boards)
}

fn order(first: &str, second: &str, games: u32) -> Value {
    json!({"do": "begin", "first": first, "second": second, "games": games, "time": {"move_ms": 10}})
}

async fn act(handle: &MatchHandle, command: Value) -> Result<(), ActionError> {
    handle.act(serde_json::from_value(command).unwrap()).await
}

async fn wait_for(handle: &MatchHandle, is_so: impl Fn(&Value) -> bool) -> Value {
    let mut state = handle.state.clone();
    loop {
        let view: Value = serde_json::from_str(&state.borrow_and_update()).unwrap();
        if !view.is_null() && is_so(&view) {
            return view;
        }
        state.changed().await.unwrap();
    }
}

#[tokio::test]
async fn games_are_played_at_once_counted_in_pairs_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let (handle, boards) = matches(&folder, vec![shell("A", "echo bestmove a1a8")]);
    let mut wanted = order("A", "A", 6);
    wanted["at_once"] = json!(3);
    act(&handle, wanted).await.unwrap();
    let view = wait_for(&handle, |view| view["phase"] == "ended").await;
    assert_eq!(
        (&view["standing"]["games"], &view["standing"]["pairs"]),
        (&json!([3, 0, 3]), &json!([0, 0, 3, 0, 0]))
    );
    assert_eq!(view["boards"], json!(["match/0", "match/1", "match/2"]));
    let all = boards.subscribe();
    // Each board has its engines' thoughts and its moves beside it.
    assert_eq!(all.borrow().keys().filter(|name| name.matches('/').count() == 1).count(), 3);
    let pgn = handle.pgn(None);
    assert_eq!((pgn.matches("1. Ra8# 1-0").count(), pgn.matches("[Round \"3\"]").count()), (6, 2));
    assert_eq!((1..=6).filter(|number| pgn.contains(&format!("[GameNumber \"{number}\"]"))).count(), 6);
    // The next match has no more boards than games at once.
    act(&handle, order("A", "A", 2)).await.unwrap();
    let view = wait_for(&handle, |view| view["phase"] == "ended" && view["order"]["games"] == 2).await;
    assert_eq!(view["boards"], json!(["match/0"]));
    assert!(all.borrow().keys().all(|name| name.starts_with("match/0")));
}

#[tokio::test]
async fn the_test_ends_a_match() {
    let folder = tempfile::tempdir().unwrap();
    // White always mates, so the match is even.
    let (handle, _) = matches(&folder, vec![shell("A", "echo bestmove a1a8")]);
    let mut wanted = order("A", "A", 200);
    wanted["sprt"] = json!({"elo0": 200.0, "elo1": 400.0});
    act(&handle, wanted).await.unwrap();
    let view = wait_for(&handle, |view| view["phase"] == "ended").await;
    assert!(
        view["notice"].as_str().unwrap().starts_with("The test has decided: stronger by no more than 200")
    );
    assert!(
        view["standing"]["sprt"]["llr"].as_f64().unwrap()
            < view["standing"]["sprt"]["lower"].as_f64().unwrap()
    );
    assert!(view["standing"]["games"][0].as_u64().unwrap() < 100);
}

#[tokio::test]
async fn a_match_is_suspended_survives_a_restart_and_goes_on_with_its_games() {
    let folder = tempfile::tempdir().unwrap();
    // The first answer of each process is a move; then it waits forever.
    let waits = "n=$((n+1)); case $n in 1) echo bestmove a1a2;; esac";
    let other = shell("B", "n=$((n+1)); case $n in 1) echo bestmove g8h8;; esac");
    let (handle, boards) = matches(&folder, vec![shell("A", waits), other]);
    act(&handle, order("A", "B", 2)).await.unwrap();
    let mut seen = boards.subscribe();
    while !seen.borrow_and_update().get("match/0").is_some_and(|board| board.contains("\"ply\":2")) {
        seen.changed().await.unwrap();
    }
    act(&handle, json!({"do": "suspend"})).await.unwrap();
    assert!(act(&handle, json!({"do": "finish"})).await.is_err());
    // Now A mates.
    let mates = "case $p in *a1a2*) echo bestmove a2a8;; *) echo bestmove a1a8;; esac";
    let (again, _) = matches(&folder, vec![shell("A", mates), shell("B", "echo bestmove a1a8")]);
    let view = wait_for(&again, |_| true).await;
    assert_eq!(view["phase"], "suspended");
    act(&again, json!({"do": "resume"})).await.unwrap();
    wait_for(&again, |view| view["phase"] == "ended").await;
    let pgn = again.pgn(None);
    assert!(pgn.contains("1. Ra2 Kh8 2. Ra8# 1-0"), "{pgn}");
}

#[tokio::test]
async fn a_match_that_was_running_when_the_server_died_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (handle, _) = matches(&folder, vec![shell("A", ":")]);
    act(&handle, order("A", "A", 2)).await.unwrap();
    let (again, _) = matches(&folder, vec![shell("A", "echo bestmove a1a8")]);
    let view = wait_for(&again, |_| true).await;
    assert!(view["phase"] == "suspended" && view["notice"].as_str().unwrap().contains("restarted"));
    std::fs::write(folder.path().join("match.json"), "{").unwrap();
    let (fresh, _) = matches(&folder, vec![shell("A", ":")]);
    assert!(act(&fresh, json!({"do": "resume"})).await.is_err());
    assert!(folder.path().join("match.json.damaged").exists());
}

#[tokio::test]
async fn wrong_orders_are_refused_and_a_failing_engine_suspends_the_match() {
    let folder = tempfile::tempdir().unwrap();
    let (handle, _) = matches(&folder, vec![shell("A", "exit 3"), shell("Slow", ":")]);
    for wrong in [order("A", "nobody", 2), order("A", "A", 3), json!({"do": "stop"}), json!({"do": "resume"})]
    {
        assert!(act(&handle, wrong).await.is_err());
    }
    act(&handle, order("A", "A", 2)).await.unwrap();
    let view = wait_for(&handle, |view| view["phase"] == "suspended").await;
    let notice = view["notice"].as_str().unwrap();
    assert!(notice.contains("A ended (exit status: 3)"), "{notice}");
    act(&handle, order("Slow", "Slow", 2)).await.unwrap();
    assert!(act(&handle, json!({"do": "open", "number": 1})).await.is_err(), "a match is running");
    assert!(act(&handle, order("A", "A", 2)).await.is_err(), "a match is running");
    act(&handle, json!({"do": "finish"})).await.unwrap();
    wait_for(&handle, |view| view["phase"] == "finishing").await;
    act(&handle, json!({"do": "stop"})).await.unwrap();
    wait_for(&handle, |view| view["phase"] == "ended").await;
    assert!(handle.pgn(None).is_empty());
    // The suspended match was put aside, and is taken out again.
    let aside = handle.earlier();
    assert_eq!((aside.len(), &*aside[0].second, aside[0].suspended, aside[0].number), (1, "A", true, 1));
    act(&handle, json!({"do": "open", "number": 1})).await.unwrap();
    let view = wait_for(&handle, |view| view["order"]["first"] == "A").await;
    assert_eq!(view["phase"], "suspended");
    let ended = handle.earlier();
    assert_eq!((ended.len(), &*ended[0].first, ended[0].suspended), (1, "Slow", false));
    assert!(act(&handle, json!({"do": "open", "number": 9})).await.is_err());
}

#[tokio::test]
async fn who_oversteps_the_clock_loses() {
    let folder = tempfile::tempdir().unwrap();
    let (handle, _) = matches(&folder, vec![shell("A", ":")]);
    let mut wanted = order("A", "A", 2);
    wanted["time"] = json!({"clock": {"base_ms": 100, "increment_ms": 0}});
    act(&handle, wanted).await.unwrap();
    let view = wait_for(&handle, |view| view["phase"] == "ended").await;
    // White has a rook and Black pawns, so both could mate.
    assert_eq!(view["finished"][0]["text"], "Black wins on time.");
    assert_eq!(view["standing"]["games"], json!([1, 0, 1]));
}

#[tokio::test]
async fn a_clock_runs_while_its_engine_thinks_and_stands_in_a_suspended_match() {
    let folder = tempfile::tempdir().unwrap();
    // After the first move nobody answers.
    let waits = shell("A", "case $p in *moves*) ;; *) echo bestmove a1a2;; esac");
    let (handle, boards) = matches(&folder, vec![waits]);
    let mut wanted = order("A", "A", 2);
    wanted["time"] = json!({"clock": {"base_ms": 600_000, "increment_ms": 0}});
    act(&handle, wanted.clone()).await.unwrap();
    let view = wait_for(&handle, |_| true).await;
    let clock = shown(&boards, "match/0/clock", |clock| clock["running"] == 1).await;
    assert!(clock["left_ms"][0].as_u64().unwrap() <= 600_000 && clock["left_ms"][1] == 600_000, "{clock}");
    act(&handle, json!({"do": "suspend"})).await.unwrap();
    let halted = shown(&boards, "match/0/clock", |clock| clock["running"].is_null()).await;
    assert_eq!(halted["left_ms"], clock["left_ms"]);
    // A match that is begun or opened has another number.
    act(&handle, json!({"do": "stop"})).await.unwrap();
    act(&handle, wanted).await.unwrap();
    assert_ne!(wait_for(&handle, |view| view["phase"] == "playing").await["edition"], view["edition"]);
}

#[tokio::test]
async fn a_move_that_was_shown_is_not_lost_when_the_match_is_suspended() {
    let folder = tempfile::tempdir().unwrap();
    let waits = shell("A", "case $p in *moves*) ;; *) echo bestmove a1a2;; esac");
    // The runner would take either first: the move that is reported, or the request to suspend.
    for _ in 0..12 {
        let (handle, boards) = matches(&folder, vec![waits.clone()]);
        let mut wanted = order("A", "A", 2);
        wanted["time"] = json!({"clock": {"base_ms": 600_000, "increment_ms": 0}});
        act(&handle, wanted).await.unwrap();
        shown(&boards, "match/0/moves", |view| view["moves"].as_array().unwrap().len() == 1).await;
        act(&handle, json!({"do": "suspend"})).await.unwrap();
        let saved = SavedMatch::read(&folder.path().join("match.json")).unwrap().unwrap();
        assert_eq!(saved.unfinished().unwrap()[0].game.ply(), 1);
        act(&handle, json!({"do": "stop"})).await.unwrap();
    }
}

#[tokio::test]
async fn after_a_restart_suspended_games_are_shown_with_standing_clocks() {
    let folder = tempfile::tempdir().unwrap();
    let waits = || shell("A", "case $p in *moves*) ;; *) echo bestmove a1a2;; esac");
    let (first, boards) = matches(&folder, vec![waits()]);
    let mut wanted = order("A", "A", 2);
    wanted["time"] = json!({"clock": {"base_ms": 600_000, "increment_ms": 0}});
    act(&first, wanted).await.unwrap();
    shown(&boards, "match/0/clock", |clock| clock["running"] == 1).await;
    act(&first, json!({"do": "suspend"})).await.unwrap();
    // A tab that was open all the time has the running clock of before.
    let (second, boards) = matches(&folder, vec![waits()]);
    let view = wait_for(&second, |view| view["phase"] == "suspended").await;
    assert_eq!(view["boards"], json!(["match/0"]));
    let clock = shown(&boards, "match/0/clock", |_| true).await;
    assert_eq!((&clock["running"], &clock["left_ms"][1]), (&Value::Null, &json!(600_000)));
    assert_eq!(shown(&boards, "match/0", |_| true).await["ply"], 1);
    act(&second, json!({"do": "resume"})).await.unwrap();
    shown(&boards, "match/0/clock", |clock| clock["running"] == 1).await;
    act(&second, json!({"do": "suspend"})).await.unwrap();
    shown(&boards, "match/0/clock", |clock| clock["running"].is_null()).await;
}

#[tokio::test]
async fn the_games_of_earlier_matches_stay_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let (handle, _) = matches(&folder, vec![shell("A", "echo bestmove a1a8")]);
    for games in [2, 4, 2] {
        act(&handle, order("A", "A", games)).await.unwrap();
        wait_for(&handle, |view| view["phase"] == "ended" && view["order"]["games"] == games).await;
    }
    let count =
        |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap().matches("[Result ").count();
    assert_eq!([count("match.1.pgn"), count("match.2.pgn"), count("match.pgn")], [2, 4, 2]);
}

#[tokio::test]
async fn matches_are_named_deleted_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let (handle, _) = matches(&folder, vec![shell("A", "echo bestmove a1a8")]);
    for games in [2, 4] {
        act(&handle, order("A", "A", games)).await.unwrap();
        wait_for(&handle, |view| view["phase"] == "ended" && view["order"]["games"] == games).await;
    }
    act(&handle, json!({"do": "rename", "number": 1, "to": " Long one "})).await.unwrap();
    act(&handle, json!({"do": "rename", "number": null, "to": "Present"})).await.unwrap();
    wait_for(&handle, |view| view["name"] == "Present").await;
    assert!(act(&handle, json!({"do": "rename", "number": 1, "to": "x".repeat(81)})).await.is_err());
    assert!(act(&handle, json!({"do": "rename", "number": 7, "to": "none"})).await.is_err());
    assert_eq!(handle.earlier()[0].name.as_deref(), Some("Long one"));
    act(&handle, json!({"do": "delete", "number": 1})).await.unwrap();
    assert!(handle.earlier().is_empty() && handle.pgn(Some(1)).is_empty());
    assert!(act(&handle, json!({"do": "delete", "number": 1})).await.is_err());
    // The number of a deleted match is not given again, so that it can come back.
    act(&handle, order("A", "A", 2)).await.unwrap();
    wait_for(&handle, |view| view["phase"] == "ended" && view["name"].is_null()).await;
    assert_eq!(handle.earlier().iter().map(|earlier| earlier.number).collect::<Vec<_>>(), [2]);
    act(&handle, json!({"do": "restore", "number": 1})).await.unwrap();
    assert_eq!(handle.earlier().len(), 2);
    assert_eq!(handle.pgn(Some(1)).matches("[Result ").count(), 2);
}

/// What is shown under this name, once it is so.
async fn shown(boards: &Boards, name: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let mut seen = boards.subscribe();
    loop {
        let text = seen.borrow_and_update().get(name).cloned();
        let value = text.map(|text| serde_json::from_str(&text).unwrap());
        if let Some(value) = value.filter(&is_so) {
            return value;
        }
        seen.changed().await.unwrap();
    }
}

#[tokio::test]
async fn what_engines_think_is_shown_kept_in_the_pgn_and_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let numbers = "info string a1a8  (1 ) N:      15 (+ 0) (P: 20.18%) (WL:  0.04000) (Q:  0.5)";
    let root = "info string node  (1 ) N:      16 (+ 0) (P: 100.0%) (WL:  0.04000) (Q: 0.5)";
    let line = "info depth 9 score cp 31 wdl 500 300 200 nodes 1234 pv a1a8";
    let thinks = |m: &str| format!("echo '{line}'; echo '{numbers}'; echo '{root}'; echo bestmove {m}");
    let engines = [
        ("A", thinks("a1a8")),
        ("B", "echo bestmove a1a8".to_owned()),
        ("Slow", thinks("a1a2")),
        ("Deaf", ":".to_owned()),
    ];
    let (handle, boards) = matches(&folder, engines.iter().map(|(name, go)| shell(name, go)).collect());
    act(&handle, order("Slow", "Deaf", 2)).await.unwrap();
    // While Black thinks, White's last thoughts stay.
    let minds = shown(&boards, "match/0/minds", |minds| minds["minds"][1]["thinking"] == true).await;
    act(&handle, json!({"do": "stop"})).await.unwrap();
    act(&handle, order("A", "B", 2)).await.unwrap();
    wait_for(&handle, |view| view["phase"] == "ended" && view["order"]["first"] == "A").await;
    let white = &minds["minds"][0];
    assert_eq!(
        (&white["name"], &white["moves"][0]["visits"], &white["lines"][0]["wdl"][0]),
        (&json!("Slow"), &json!(15), &json!(500))
    );
    assert!(handle.pgn(None).contains("1. Ra8# {+0.31/9 0."), "{}", handle.pgn(None));
    let game = handle.replay(None, 0).unwrap();
    let record = game.records[0].unwrap();
    assert_eq!((game.white.as_str(), game.moves[0].san.as_str(), game.result.as_str()), ("A", "Ra8#", "1-0"));
    assert_eq!((record.depth, record.nodes), (9, 1234));
    // The second engine is silent, and has White in the second game.
    let game = handle.replay(None, 1).unwrap();
    assert_eq!((game.white.as_str(), game.records[0]), ("B", None));
    assert!(handle.replay(None, 2).is_none() && handle.replay(Some(3), 0).is_none());
}

#[tokio::test]
async fn the_delay_holds_a_game_up_until_it_is_taken_away() {
    let folder = tempfile::tempdir().unwrap();
    let first = "case $p in *moves*) echo bestmove a2a8;; *) echo bestmove a1a2;; esac";
    let second = "case $p in *moves*) echo bestmove g8h8;; *) echo bestmove a1a8;; esac";
    let (handle, boards) = matches(&folder, vec![shell("A", first), shell("B", second)]);
    let delay = |ms: u32| json!({"do": "delay", "ms": ms});
    assert!(act(&handle, delay(60_000)).await.is_err(), "there is no match yet");
    act(&handle, order("B", "B", 2)).await.unwrap();
    wait_for(&handle, |view| view["phase"] == "ended").await;
    assert!(act(&handle, delay(60_001)).await.is_err());
    act(&handle, delay(60_000)).await.unwrap();
    // The next match keeps the delay.
    act(&handle, order("A", "B", 2)).await.unwrap();
    let plies = |game: &Value| game["moves"].as_array().unwrap().len();
    let one =
        shown(&boards, "match/0/moves", |game| plies(game) == 1 && game["moves"][0]["san"] == "Ra2").await;
    assert_eq!(one["game"], 0);
    act(&handle, delay(50_000)).await.unwrap();
    let still = shown(&boards, "match/0/moves", |_| true).await;
    assert_eq!(plies(&still), 1, "the game waits");
    act(&handle, delay(0)).await.unwrap();
    let view = wait_for(&handle, |view| view["phase"] == "ended" && view["order"]["first"] == "A").await;
    assert_eq!((&view["standing"]["games"], &view["delay_ms"]), (&json!([1, 0, 1]), &json!(0)));
}

#[tokio::test]
async fn both_search_trees_are_asked_for_while_a_game_is_played() {
    let folder = tempfile::tempdir().unwrap();
    let tree = r#"{"moves":[],"held":true,"children":[{"move":"a1a8","visits":3,"prior":0.5,"q":0.25,"wdl":[0.5,0.3,0.2],"value":null,"proof":null}]}"#;
    let thinks =
        format!("echo info depth 1 score cp 1 nodes 1 pv a1a8;; tree) echo 'info string tree {tree}'");
    let (handle, boards) = matches(&folder, vec![shell("A", &thinks), shell("B", ":")]);
    assert!(handle.tree(0, true, Vec::new()).await.is_err(), "nothing is played");
    act(&handle, order("A", "B", 2)).await.unwrap();
    shown(&boards, "match/0/minds", |minds| minds["minds"][0]["thinking"] == true).await;
    let answer = handle.tree(0, true, Vec::new()).await.unwrap();
    assert_eq!((answer.children[0].san.as_str(), answer.children[0].visits), ("Ra8#", 3));
    assert!(
        handle.tree(0, true, vec!["a1h8".into()]).await.unwrap_err().to_string().contains("no legal move")
    );
    assert!(handle.tree(0, false, Vec::new()).await.unwrap_err().to_string().contains("not searched"));
    assert!(handle.tree(5, true, Vec::new()).await.is_err());
    act(&handle, json!({"do": "stop"})).await.unwrap();
}
