use super::*;
use crate::engines::EngineSpec;
use serde_json::{Value, json};

/// A shell engine that answers each `go` with the next of `moves`; `crash` ends it.
fn engine(name: &str, moves: &str) -> EngineSpec {
    let script = format!(
        "set -- {moves}; while read -r l; do case $l in uci) echo uciok;; isready) echo readyok;; quit) exit;; \
         go*) [ \"$1\" = crash ] && exit 9; echo bestmove $1; shift;; esac; done"
    );
    EngineSpec {
        name: name.into(),
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), script],
        options: Vec::new(),
    }
}

fn table(folder: &tempfile::TempDir, moves: &str) -> TableHandle {
    let roster = Roster::new(None, vec![engine("shell", moves)]).unwrap();
    Table::start(roster, folder.path().join("game.json"))
}

async fn wait_for(table: &TableHandle, mut is_so: impl FnMut(&Value) -> bool) -> Value {
    let mut game = table.game.clone();
    loop {
        let view: Value = serde_json::from_str(&game.borrow_and_update()).unwrap();
        if !view.is_null() && is_so(&view) {
            return view;
        }
        game.changed().await.unwrap();
    }
}

fn plies(view: &Value) -> usize {
    view["moves"].as_array().unwrap().len()
}

async fn do_it(table: &TableHandle, action: Value) -> Result<(), ActionError> {
    table.act(serde_json::from_value(action).unwrap()).await.map(drop)
}

async fn load(table: &TableHandle, pgn: &str, replace: bool) -> Result<(), ActionError> {
    table.load(PgnFile::read(pgn.as_bytes()).unwrap(), replace).await
}

#[tokio::test]
async fn a_game_is_played_and_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let first = table(&folder, "e7e5 b8c6");
    do_it(&first, json!({"do": "move", "text": "e4", "ply": 0})).await.unwrap();
    wait_for(&first, |view| plies(view) == 2).await;
    let error = do_it(&first, json!({"do": "move", "text": "Ke3"})).await.unwrap_err();
    assert!(matches!(error, ActionError::Invalid(_)));
    do_it(&first, json!({"do": "move", "text": "Nf3"})).await.unwrap();
    wait_for(&first, |view| plies(view) == 4).await;
    // The last move's change is saved before an action is answered.
    do_it(&first, json!({"do": "take_back"})).await.unwrap();
    let second = table(&folder, "g8f6");
    let view = wait_for(&second, |view| plies(view) == 2).await;
    assert_eq!(view["moves"][1]["san"], "e5");
    do_it(&second, json!({"do": "move", "text": "Nc3"})).await.unwrap();
    wait_for(&second, |view| view["moves"][3]["san"] == "Nf6").await;
    let pgn = second.pgn("2026.01.02".into()).await.unwrap();
    assert!(pgn.contains("1. e4 e5 2. Nc3 Nf6 *"), "{pgn}");
}

#[tokio::test]
async fn an_engine_that_crashes_is_started_again_once_and_told() {
    let folder = tempfile::tempdir().unwrap();
    // Each process answers once and exits at the next `go`.
    let table = table(&folder, "e7e5 crash");
    do_it(&table, json!({"do": "move", "text": "e4"})).await.unwrap();
    wait_for(&table, |view| plies(view) == 2).await;
    do_it(&table, json!({"do": "move", "text": "Nf3"})).await.unwrap();
    // The second process answers e7e5, which is illegal now: its second failure.
    let view = wait_for(&table, |view| view["stalled"] == true).await;
    let notice = view["notice"].as_str().unwrap();
    assert!(notice.contains("shell answered \"e7e5\"") && notice.contains("again"), "{notice}");
    assert_eq!(view["thinking"], false);
    do_it(&table, json!({"do": "take_back"})).await.unwrap();
    let view = wait_for(&table, |view| plies(view) == 2).await;
    assert_eq!((&view["stalled"], &view["notice"]), (&json!(false), &Value::Null));
}

#[tokio::test]
async fn new_games_and_wrong_ones() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(&folder, "e2e4");
    let person = json!({"kind": "person"});
    let shell = json!({"kind": "engine", "name": "shell"});
    let new =
        |white: &Value, start: Value| json!({"do": "new", "white": white, "black": person, "start": start});
    do_it(&table, new(&shell, json!("standard"))).await.unwrap();
    wait_for(&table, |view| plies(view) == 1).await;
    assert!(matches!(do_it(&table, new(&person, json!({"chess960": 7}))).await, Err(ActionError::NotNow(_))));
    let mut replacing = new(&person, json!({"chess960": 7}));
    replacing["replace"] = json!(true);
    do_it(&table, replacing).await.unwrap();
    let view = wait_for(&table, |view| view["chess960"] == true).await;
    assert_eq!(view["legal"].as_array().map(Vec::is_empty), Some(false));
    assert!(do_it(&table, new(&person, json!({"fen": "nonsense"}))).await.is_err());
    let unknown = json!({"kind": "engine", "name": "/bin/rm"});
    assert!(do_it(&table, new(&unknown, json!("standard"))).await.is_err());
    let limited = json!({"kind": "engine", "name": "shell", "elo": 1200});
    assert!(do_it(&table, new(&limited, json!("standard"))).await.is_err());
    load(&table, "[White \"X\"]\n\n1. d4 d5 1/2-1/2", false).await.unwrap();
    let view = wait_for(&table, |view| plies(view) == 2).await;
    assert_eq!((&view["white"]["label"], &view["end"]["result"]), (&json!("X"), &json!("1/2-1/2")));
}

#[tokio::test]
async fn a_damaged_state_file_is_kept_and_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("game.json"), "{").unwrap();
    let table = table(&folder, "e7e5");
    let view = wait_for(&table, |_| true).await;
    assert!(view["notice"].as_str().unwrap().contains("could not be read"));
    assert!(folder.path().join("game.json.damaged").exists());
}

#[tokio::test]
async fn a_file_of_games_is_loaded_and_another_game_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(&folder, "e7e5");
    assert!(matches!(table.reviewed().await, Err(ActionError::NotNow(_))), "no moves yet");
    let pgn =
        "[White \"A\"]\n\n1. e4 {best} e5 *\n\n[White \"B\"]\n\n1. d4 Ke3 *\n\n[White \"C\"]\n\n1. c4 *\n";
    load(&table, pgn, false).await.unwrap();
    let view = wait_for(&table, |view| plies(view) == 2).await;
    assert_eq!((&view["file"]["games"], &view["file"]["chosen"]), (&json!(2), &json!(0)));
    assert!(view["notice"].as_str().unwrap().contains("game 2, line "), "{}", view["notice"]);
    assert_eq!(table.headlines().await.unwrap()[1].white, "C");
    let reviewed = table.reviewed().await.unwrap();
    let first = reviewed.game.tree.main_line().next().unwrap();
    let comments = &reviewed.game.tree.notes(first).comments;
    assert_eq!((comments.len(), view["key"].as_str()), (1, Some(&*reviewed.key)));
    assert!(table.pgn("2026.01.02".into()).await.unwrap().contains("{best}"), "comments are kept");
    do_it(&table, json!({"do": "choose", "game": 1})).await.unwrap();
    wait_for(&table, |view| view["white"]["label"] == "C").await;
    assert!(do_it(&table, json!({"do": "choose", "game": 2})).await.is_err());
    // A move makes it another game, without the file's tags.
    do_it(&table, json!({"do": "move", "text": "e5"})).await.unwrap();
    assert_ne!(table.reviewed().await.unwrap().key, reviewed.key);
    assert!(table.tree(Vec::new()).await.is_err(), "there is no evaluation");
}

#[tokio::test]
async fn variations_and_comments_outlast_further_moves_and_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let first = table(&folder, "e7e5");
    load(&first, "[White \"A\"]\n\n1. e4 {best} (1. d4 d5) 1... e5 $1 *\n", false).await.unwrap();
    let second = table(&folder, "e7e5");
    wait_for(&second, |view| plies(view) == 2).await;
    let same = second.pgn("2026.01.02".into()).await.unwrap();
    assert!(same.starts_with("[White \"A\"]\n\n1. e4 {best} (1. d4 d5) 1... e5 $1 *"), "{same}");
    do_it(&second, json!({"do": "move", "text": "Nf3"})).await.unwrap();
    let third = table(&folder, "e7e5");
    let longer = third.pgn("2026.01.02".into()).await.unwrap();
    assert!(longer.contains("1. e4 {best} (1. d4 d5) 1... e5 $1 2. Nf3 *"), "{longer}");
    assert!(longer.contains("[Event \"Casual game\"]"), "{longer}");
    for _ in 0..3 {
        do_it(&third, json!({"do": "take_back"})).await.unwrap();
    }
    do_it(&third, json!({"do": "move", "text": "d4"})).await.unwrap();
    let other = third.pgn("2026.01.02".into()).await.unwrap();
    assert!(other.ends_with("\n\n1. d4 *\n"), "{other}");
}

#[tokio::test]
async fn a_game_is_replaced_only_when_that_is_said_and_played_on_from_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let first = table(&folder, "e7e5");
    assert!(do_it(&first, json!({"do": "open", "name": "x"})).await.is_err(), "there is none yet");
    do_it(&first, json!({"do": "move", "text": "e4"})).await.unwrap();
    wait_for(&first, |view| plies(view) == 2 && view["at_stake"] == true).await;
    let pgn = "[White \"A\"]\n\n1. d4 *\n\n[White \"B\"]\n\n1. c4 *\n";
    assert!(matches!(load(&first, pgn, false).await, Err(ActionError::NotNow(_))));
    // After a restart the game still counts as played here.
    let second = table(&folder, "e7e5");
    wait_for(&second, |view| plies(view) == 2 && view["at_stake"] == true).await;
    let beyond = json!({"do": "variation", "node": 0, "text": "e4 e5 Nf3"});
    assert!(matches!(do_it(&second, beyond).await, Err(ActionError::NotNow(_))), "nobody has played Nf3");
    load(&second, pgn, true).await.unwrap();
    wait_for(&second, |view| view["white"]["label"] == "A" && view["at_stake"] == false).await;
    let kept = second.library.list();
    assert_eq!((kept.len(), kept[0].headline.plies, kept[0].unfinished), (1, 2, true), "{kept:?}");
    assert!(!kept[0].headline.date.starts_with('?') && kept[0].headline.black == "shell", "{kept:?}");
    // Unchanged games of a file are not kept a second time.
    do_it(&second, json!({"do": "choose", "game": 1})).await.unwrap();
    do_it(&second, json!({"do": "move", "text": "e5"})).await.unwrap();
    assert!(do_it(&second, json!({"do": "choose", "game": 0})).await.is_err());
    do_it(&second, json!({"do": "resign"})).await.unwrap();
    assert_eq!(second.library.list().len(), 2);
    let name = &kept[0].name;
    do_it(&second, json!({"do": "open", "name": name})).await.unwrap();
    let view = wait_for(&second, |view| view["name"] == **name).await;
    assert_eq!(
        (plies(&view), &view["black"]["kind"], &view["at_stake"]),
        (2, &json!("engine"), &json!(true))
    );
    assert!(do_it(&second, json!({"do": "delete", "name": name})).await.is_err(), "it is on the board");
    do_it(&second, json!({"do": "rename", "name": name, "to": "Mine"})).await.unwrap();
    do_it(&second, json!({"do": "move", "text": "Nf3"})).await.unwrap();
    let mine = second.library.list().into_iter().find(|game| game.name == "Mine").unwrap();
    assert_eq!(
        (mine.headline.plies >= 3, second.library.list().len()),
        (true, 2),
        "it is played on in its file"
    );
}

#[tokio::test]
async fn what_was_written_meanwhile_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(&folder, "e7e5");
    load(&table, "1. e4 {first} e5 *", false).await.unwrap();
    let view = wait_for(&table, |view| plies(view) == 2).await;
    let node = view["tree"][1]["id"].clone();
    let comment = |seen: &str, text: &str| json!({"do": "edit", "node": node, "seen": seen, "change": {"comment": text}});
    let reviewed = table.reviewed().await.unwrap();
    do_it(&table, comment("first", "second")).await.unwrap();
    let error = do_it(&table, comment("first", "mine")).await.unwrap_err();
    assert!(error.to_string().contains("another tab"), "{error}");
    assert!(!table.annotate(reviewed).await.unwrap(), "the comment is newer than what was reviewed");
    assert!(table.pgn("2026.01.02".into()).await.unwrap().contains("{second}"));
    assert!(table.annotate(table.reviewed().await.unwrap()).await.unwrap());
}

#[tokio::test]
async fn what_a_take_back_removes_comes_back_by_undo() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(&folder, "e7e5 b8c6");
    do_it(&table, json!({"do": "move", "text": "e4"})).await.unwrap();
    let view = wait_for(&table, |view| plies(view) == 2).await;
    let first = view["tree"][1]["id"].clone();
    do_it(&table, json!({"do": "variation", "node": first, "text": "c5 Nf3"})).await.unwrap();
    do_it(&table, json!({"do": "take_back"})).await.unwrap();
    let view = wait_for(&table, |view| plies(view) == 0).await;
    assert_eq!(view["undo"], "take the moves back");
    do_it(&table, json!({"do": "undo"})).await.unwrap();
    wait_for(&table, |view| plies(view) == 2).await;
    let pgn = table.pgn("2026.01.02".into()).await.unwrap();
    assert!(pgn.contains("1. e4 e5 (1... c5 2. Nf3) *"), "{pgn}");
    do_it(&table, json!({"do": "move", "text": "Nf3"})).await.unwrap();
    wait_for(&table, |view| plies(view) == 4).await;
}

#[tokio::test]
async fn a_hint_leaves_what_can_be_undone_and_comes_back_with_the_game() {
    let folder = tempfile::tempdir().unwrap();
    let first = table(&folder, "g1f3");
    load(&first, "1. e4 e5 *", true).await.unwrap();
    let view = wait_for(&first, |view| plies(view) == 2).await;
    let edit = json!({"do": "edit", "node": view["at"], "change": {"comment": "open"}});
    do_it(&first, edit).await.unwrap();
    let hint = async |table: &TableHandle| {
        do_it(table, json!({"do": "hint"})).await.unwrap();
        wait_for(table, |view| view["hint"]["piece"] != Value::Null).await
    };
    let comment = |view: &Value| view["tree"][2]["comment"].as_str().unwrap().to_owned();
    let view = hint(&first).await;
    assert_eq!(comment(&view), "open Hint by shell: the knight on g1");
    assert_eq!(view["undo"], "comment on 1... e5");
    do_it(&first, json!({"do": "undo"})).await.unwrap();
    let view = wait_for(&first, |view| view["undo"] == Value::Null).await;
    assert_eq!(comment(&view), "Hint by shell: the knight on g1");
    load(&first, "1. d4 *", true).await.unwrap();
    let games = first.library.list();
    assert_eq!(games.len(), 1, "a game with a hint is kept: {games:?}");
    do_it(&first, json!({"do": "open", "name": games[0].name})).await.unwrap();
    let second = table(&folder, "g1f3");
    let view = wait_for(&second, |view| plies(view) == 2).await;
    assert_eq!(comment(&view), "Hint by shell: the knight on g1");
    assert_eq!(comment(&hint(&second).await), "Hint by shell: the knight on g1", "once");
}

#[tokio::test]
async fn a_hint_names_the_piece_then_the_move_and_is_noted_in_the_game() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(&folder, "g1f3");
    let person = json!({"kind": "person"});
    let clock = json!({"base_s": 600, "increment_s": 0, "delay_s": 2});
    do_it(&table, json!({"do": "new", "white": person, "black": person, "clock": clock})).await.unwrap();
    let before = wait_for(&table, |view| view["clock"] != Value::Null).await;
    do_it(&table, json!({"do": "hint"})).await.unwrap();
    let view = wait_for(&table, |view| view["hint"]["piece"] != Value::Null).await;
    assert_eq!(view["hint"]["square"], "g1");
    assert!(!view["hint"].to_string().contains("f3"), "the move is not told yet: {}", view["hint"]);
    do_it(&table, json!({"do": "hint"})).await.unwrap();
    let view = wait_for(&table, |view| view["hint"]["uci"] != Value::Null).await;
    assert_eq!((&view["hint"]["san"], &view["revision"]), (&"Nf3".into(), &before["revision"]));
    assert_eq!(view["clock"]["running"], before["clock"]["running"], "the clock does not notice");
    assert_eq!(view["tree"][0]["comment"], "Hint by shell: Nf3");
    do_it(&table, json!({"do": "move", "text": "e4"})).await.unwrap();
    let view = wait_for(&table, |view| plies(view) == 1).await;
    assert_eq!(view["hint"], Value::Null);
    assert!(table.pgn("2026.01.02".into()).await.unwrap().contains("{Hint by shell: Nf3}"));
    do_it(&table, json!({"do": "hint"})).await.unwrap();
    let view = wait_for(&table, |view| view["notice"] != Value::Null).await;
    assert!(view["notice"].as_str().unwrap().contains("no legal move: there is no hint"), "{view}");
    do_it(&table, json!({"do": "resign"})).await.unwrap();
    assert!(do_it(&table, json!({"do": "hint"})).await.unwrap_err().to_string().contains("over"));
}

#[cfg(unix)]
#[tokio::test]
async fn a_level_is_played_by_its_limits() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let options = [
        "Player type string",
        "UCI_LimitStrength type check",
        "Temperature type string",
        "UCI_Elo type spin default 800 min 800 max 2450",
    ];
    let options = options.map(|option| format!("echo option name {option};")).concat();
    let script = format!(
        "while read -r l; do echo $l >> {}; case $l in uci) {options} echo uciok;; isready) echo readyok;; \
         quit) exit;; go*) echo bestmove e7e5;; esac; done",
        log.display()
    );
    let spec = EngineSpec { arguments: vec!["-c".into(), script], ..engine("shell", "") };
    let table = Table::start(Roster::new(None, vec![spec]).unwrap(), folder.path().join("game.json"));
    wait_for(&table, |view| view["engines"][0]["levels"] == true).await;
    let seat = |level: &str| json!({"kind": "engine", "name": "shell", "level": level});
    let new = |level: &str| json!({"do": "new", "white": {"kind": "person"}, "black": seat(level), "replace": true});
    for level in ["beginner", "club"] {
        do_it(&table, new(level)).await.unwrap();
        do_it(&table, json!({"do": "move", "text": "e4", "ply": 0})).await.unwrap();
        wait_for(&table, |view| plies(view) == 2).await;
    }
    let sent = std::fs::read_to_string(log).unwrap();
    assert!(
        sent.contains("name Temperature value 0.9\n") && sent.contains("go movetime 1000 nodes 1\n"),
        "{sent}"
    );
    let (_, later) = sent.split_once("nodes 1\n").unwrap();
    assert!(later.contains("UCI_Elo value 1510") && later.contains("go movetime 1000\n"), "{later}");
    assert!(later.contains("uci\n"), "another strength is another process: {later}");
    assert_eq!(wait_for(&table, |_| true).await["black"]["label"], "shell, club player (1510)");
}
