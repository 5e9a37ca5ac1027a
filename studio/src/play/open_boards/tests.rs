use super::super::library::LibraryGame;
use super::super::table::eyes_on;
use super::*;
use crate::engines::EngineSpec;
use serde_json::{Value, json};
use std::cell::Cell;
use std::ops::Deref;

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

/// A studio's boards, and the one that a person looks at.
struct Seen {
    open: OpenBoards,
    board: Cell<u32>,
}

impl Deref for Seen {
    type Target = OpenBoards;

    fn deref(&self) -> &OpenBoards {
        &self.open
    }
}

impl Seen {
    fn at(&self, board: u32) -> Seen {
        Seen { open: self.open.clone(), board: Cell::new(board) }
    }

    fn now(&self) -> TableHandle {
        self.table(self.board.get()).unwrap()
    }

    /// Tabs show these boards, and no others.
    fn show(&self, boards: &[u32]) {
        let all = boards.iter().flat_map(|board| names(*board).into_iter().chain([eyes_on(*board)]));
        self.around.boards.show(all.collect());
    }

    /// Only hidden tabs show this board.
    fn show_hidden(&self, board: u32) {
        self.around.boards.show(names(board).into());
    }

    async fn pgn(&self) -> String {
        self.now().pgn("2026.01.02".into()).await.unwrap()
    }

    fn games(&self) -> Vec<LibraryGame> {
        self.library().list()
    }

    async fn wait_for(&self, mut is_so: impl FnMut(&Value) -> bool) -> Value {
        wait_for_text(&self.around.boards, &names(self.board.get())[0], &mut is_so).await
    }

    async fn wait_for_thoughts(&self, mut is_so: impl FnMut(&Value) -> bool) -> Value {
        wait_for_text(&self.around.boards, &names(self.board.get())[1], &mut is_so).await
    }

    async fn wait_for_list(&self, mut is_so: impl FnMut(&Value) -> bool) -> Value {
        let mut list = self.list();
        loop {
            let view: Value = serde_json::from_str(&list.borrow_and_update()).unwrap();
            if is_so(&view) {
                return view;
            }
            list.changed().await.unwrap();
        }
    }
}

async fn wait_for_text(boards: &Boards, name: &str, is_so: &mut impl FnMut(&Value) -> bool) -> Value {
    let mut all = boards.subscribe();
    loop {
        let text = all.borrow_and_update().get(name).cloned();
        let view: Value = text.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap());
        if !view.is_null() && is_so(&view) {
            return view;
        }
        all.changed().await.unwrap();
    }
}

fn start(folder: &tempfile::TempDir, roster: Roster) -> Seen {
    let seen = start_unseen(folder, roster);
    seen.show(&(1..30).collect::<Vec<u32>>());
    seen
}

/// No tab shows a board.
fn start_unseen(folder: &tempfile::TempDir, roster: Roster) -> Seen {
    let (state, library) = (folder.path().join("boards"), Library::new(folder.path().join("games")));
    let open = OpenBoards::start_with(roster, state, library, Boards::default(), Duration::ZERO);
    let board = open.lock().tables.keys().next().copied().unwrap();
    Seen { open, board: Cell::new(board) }
}

fn table(folder: &tempfile::TempDir, moves: &str) -> Seen {
    start(folder, Roster::new(None, vec![engine("shell", moves)]).unwrap())
}

async fn wait_for(table: &Seen, is_so: impl FnMut(&Value) -> bool) -> Value {
    table.wait_for(is_so).await
}

fn plies(view: &Value) -> usize {
    view["moves"].as_array().unwrap().len()
}

/// Goes to the board on which a game is opened.
async fn do_it(table: &Seen, action: Value) -> Result<(), ActionError> {
    match serde_json::from_value::<BoardCommand>(action.clone()) {
        Ok(command) => {
            let opened = table.open.act(command).await?;
            table.board.set(opened.unwrap_or(table.board.get()));
        }
        Err(_) => drop(table.now().act(serde_json::from_value(action).unwrap()).await?),
    }
    Ok(())
}

/// An action is answered when it and all before it is on disk.
async fn written(table: &Seen) {
    do_it(table, json!({"do": "retry"})).await.unwrap();
}

/// On the board that is looked at if that is empty.
async fn load(table: &Seen, pgn: &str) {
    let file = PgnFile::read(pgn.as_bytes()).unwrap();
    table.board.set(table.open.load(file, Some(table.board.get())).await.unwrap());
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
    let pgn = second.pgn().await;
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
    do_it(&table, new(&person, json!({"chess960": 7}))).await.unwrap();
    let view = wait_for(&table, |view| view["chess960"] == true).await;
    assert_eq!(view["legal"].as_array().map(Vec::is_empty), Some(false));
    assert!(do_it(&table, new(&person, json!({"fen": "nonsense"}))).await.is_err());
    let unknown = json!({"kind": "engine", "name": "/bin/rm"});
    assert!(do_it(&table, new(&unknown, json!("standard"))).await.is_err());
    let limited = json!({"kind": "engine", "name": "shell", "elo": 1200});
    assert!(do_it(&table, new(&limited, json!("standard"))).await.is_err());
    load(&table, "[White \"X\"]\n\n1. d4 d5 1/2-1/2").await;
    let view = wait_for(&table, |view| plies(view) == 2).await;
    assert_eq!((&view["white"]["label"], &view["end"]["result"]), (&json!("X"), &json!("1/2-1/2")));
}

#[tokio::test]
async fn a_damaged_state_file_is_kept_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let first = table(&folder, "e7e5");
    load(&first, "1. d4 *").await;
    let second = first.open.load(PgnFile::read(b"1. c4 *").unwrap(), None).await.unwrap();
    written(&first.at(second)).await;
    std::fs::write(folder.path().join("boards/1.json"), "{").unwrap();
    let table = table(&folder, "e7e5");
    assert_eq!(table.board.get(), 2, "the other one opens");
    let view = wait_for(&table, |view| plies(view) == 1).await;
    let notice = view["notice"].as_str().unwrap();
    assert!(notice.contains("Board 1 could not be read") && notice.contains("1.json.damaged"), "{notice}");
    assert!(folder.path().join("boards/1.json.damaged").exists());
    do_it(&table, json!({"do": "close", "board": 2})).await.unwrap();
    table.at(3).wait_for(|view| plies(view) == 0).await;
}

#[tokio::test]
async fn a_file_of_games_is_loaded_and_another_game_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(&folder, "e7e5");
    assert!(matches!(table.now().reviewed().await, Err(ActionError::NotNow(_))), "no moves yet");
    let pgn =
        "[White \"A\"]\n\n1. e4 {best} e5 *\n\n[White \"B\"]\n\n1. d4 Ke3 *\n\n[White \"C\"]\n\n1. c4 *\n";
    load(&table, pgn).await;
    let view = wait_for(&table, |view| plies(view) == 2).await;
    assert_eq!((&view["file"]["games"], &view["file"]["chosen"]), (&json!(2), &json!(0)));
    assert!(view["notice"].as_str().unwrap().contains("game 2, line "), "{}", view["notice"]);
    assert_eq!(table.now().headlines().await.unwrap()[1].white, "C");
    let reviewed = table.now().reviewed().await.unwrap();
    let first = reviewed.game.tree.main_line().next().unwrap();
    let comments = &reviewed.game.tree.notes(first).comments;
    assert_eq!((comments.len(), view["key"].as_str()), (1, Some(&*reviewed.key)));
    assert!(table.pgn().await.contains("{best}"), "comments are kept");
    do_it(&table, json!({"do": "choose", "board": 1, "game": 1})).await.unwrap();
    wait_for(&table, |view| view["white"]["label"] == "C").await;
    assert_eq!(table.board.get(), 1);
    assert!(do_it(&table, json!({"do": "choose", "board": 1, "game": 2})).await.is_err());
    // A move makes it another game.
    do_it(&table, json!({"do": "move", "text": "e5"})).await.unwrap();
    assert_ne!(table.now().reviewed().await.unwrap().key, reviewed.key);
    assert!(table.now().tree(Vec::new()).await.is_err(), "there is no evaluation");
}

#[tokio::test]
async fn variations_and_comments_outlast_further_moves_and_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let first = table(&folder, "e7e5");
    load(&first, "[White \"A\"]\n\n1. e4 {best} (1. d4 d5) 1... e5 $1 *\n").await;
    let second = table(&folder, "e7e5");
    wait_for(&second, |view| plies(view) == 2).await;
    let same = second.pgn().await;
    assert!(same.starts_with("[White \"A\"]\n\n1. e4 {best} (1. d4 d5) 1... e5 $1 *"), "{same}");
    do_it(&second, json!({"do": "move", "text": "Nf3"})).await.unwrap();
    let third = table(&folder, "e7e5");
    let longer = third.pgn().await;
    assert!(longer.contains("1. e4 {best} (1. d4 d5) 1... e5 $1 2. Nf3 *"), "{longer}");
    assert!(longer.contains("[White \"A\"]") && !longer.contains("Casual game"), "{longer}");
    for _ in 0..3 {
        do_it(&third, json!({"do": "take_back"})).await.unwrap();
    }
    do_it(&third, json!({"do": "move", "text": "d4"})).await.unwrap();
    let other = third.pgn().await;
    assert!(other.ends_with("\n\n1. d4 *\n"), "{other}");
}

#[tokio::test]
async fn a_game_at_stake_keeps_its_board_and_is_played_on_from_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let first = table(&folder, "e7e5");
    assert!(do_it(&first, json!({"do": "open", "name": "x"})).await.is_err(), "there is none yet");
    do_it(&first, json!({"do": "move", "text": "e4"})).await.unwrap();
    wait_for(&first, |view| plies(view) == 2).await;
    let pgn = "[White \"A\"]\n\n1. d4 *\n\n[White \"B\"]\n\n1. c4 *\n";
    // After a restart the game still counts as played here.
    let second = table(&folder, "e7e5");
    wait_for(&second, |view| plies(view) == 2).await;
    let beyond = json!({"do": "variation", "node": 0, "text": "e4 e5 Nf3"});
    assert!(matches!(do_it(&second, beyond).await, Err(ActionError::NotNow(_))), "nobody has played Nf3");
    load(&second, pgn).await;
    wait_for(&second, |view| view["white"]["label"] == "A").await;
    assert_eq!(second.board.get(), 2);
    let kept = second.games();
    assert_eq!((kept.len(), kept[0].headline.plies, kept[0].unfinished), (1, 2, true), "{kept:?}");
    assert!(!kept[0].headline.date.starts_with('?') && kept[0].headline.black == "shell", "{kept:?}");
    // Unchanged games of a file are not kept a second time.
    do_it(&second, json!({"do": "choose", "board": 2, "game": 1})).await.unwrap();
    do_it(&second, json!({"do": "move", "text": "e5"})).await.unwrap();
    do_it(&second, json!({"do": "choose", "board": 2, "game": 0})).await.unwrap();
    assert_eq!(second.board.get(), 3, "the game on the second board is at stake");
    wait_for(&second, |view| view["white"]["label"] == "A" && view["file"]["games"] == 2).await;
    do_it(&second.at(2), json!({"do": "resign"})).await.unwrap();
    assert_eq!(second.games().len(), 2);
    let name = &kept[0].name;
    do_it(&second, json!({"do": "open", "name": name})).await.unwrap();
    let view = wait_for(&second, |view| view["name"] == **name).await;
    assert_eq!(second.board.get(), 1, "it is there already");
    assert_eq!((plies(&view), &view["black"]["kind"]), (2, &json!("engine")));
    assert!(do_it(&second, json!({"do": "delete", "name": name})).await.is_err(), "it is on a board");
    do_it(&second, json!({"do": "rename", "name": name, "to": "Mine"})).await.unwrap();
    do_it(&second, json!({"do": "move", "text": "Nf3"})).await.unwrap();
    let mine = second.games().into_iter().find(|game| game.name == "Mine").unwrap();
    assert_eq!((mine.headline.plies >= 3, second.games().len()), (true, 2), "it is played on in its file");
}

#[tokio::test]
async fn what_was_written_meanwhile_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(&folder, "e7e5");
    load(&table, "1. e4 {first} e5 *").await;
    let view = wait_for(&table, |view| plies(view) == 2).await;
    let node = view["tree"][1]["id"].clone();
    let comment = |seen: &str, text: &str| json!({"do": "edit", "node": node, "seen": seen, "change": {"comment": text}});
    let reviewed = table.now().reviewed().await.unwrap();
    do_it(&table, comment("first", "second")).await.unwrap();
    let error = do_it(&table, comment("first", "mine")).await.unwrap_err();
    assert!(error.to_string().contains("another tab"), "{error}");
    assert!(!table.now().annotate(reviewed).await.unwrap(), "the comment is newer than what was reviewed");
    assert!(table.pgn().await.contains("{second}"));
    assert!(table.now().annotate(table.now().reviewed().await.unwrap()).await.unwrap());
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
    let pgn = table.pgn().await;
    assert!(pgn.contains("1. e4 e5 (1... c5 2. Nf3) *"), "{pgn}");
    do_it(&table, json!({"do": "move", "text": "Nf3"})).await.unwrap();
    wait_for(&table, |view| plies(view) == 4).await;
}

#[tokio::test]
async fn a_hint_leaves_what_can_be_undone_and_comes_back_with_the_game() {
    let folder = tempfile::tempdir().unwrap();
    let first = table(&folder, "g1f3");
    load(&first, "1. e4 e5 *").await;
    let view = wait_for(&first, |view| plies(view) == 2).await;
    let edit = json!({"do": "edit", "node": view["at"], "change": {"comment": "open"}});
    do_it(&first, edit).await.unwrap();
    let hint = async |table: &Seen| {
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
    load(&first, "1. d4 *").await;
    let games = first.games();
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
    assert!(table.pgn().await.contains("{Hint by shell: Nf3}"));
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
    let table = start(&folder, Roster::new(None, vec![spec]).unwrap());
    let mut engines = table.engines();
    engines.wait_for(|known| known.contains("\"levels\":true")).await.unwrap();
    let seat = |level: &str| json!({"kind": "engine", "name": "shell", "level": level});
    let new = |level: &str| json!({"do": "new", "white": {"kind": "person"}, "black": seat(level)});
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

/// An engine that answers with what is written into the pipe.
fn asked(pipe: &Path) -> EngineSpec {
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let script = format!(
        "while read -r l; do case $l in uci) echo uciok;; isready) echo readyok;; quit) exit;; \
         go*) read -r m < {}; echo bestmove $m;; esac; done",
        pipe.display()
    );
    EngineSpec { arguments: vec!["-c".into(), script], ..engine("asked", "") }
}

#[tokio::test]
async fn two_games_go_on_side_by_side_also_while_an_engine_thinks() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let first = start(&folder, Roster::new(None, vec![asked(&pipe)]).unwrap());
    do_it(&first, json!({"do": "move", "text": "e4"})).await.unwrap();
    wait_for(&first, |view| view["thinking"] == true).await;
    let person = json!({"kind": "person"});
    let second = first.at(1);
    do_it(&second, json!({"do": "new", "white": person, "black": person, "here": 1})).await.unwrap();
    assert_eq!(second.board.get(), 2, "a game runs on the first board");
    do_it(&second, json!({"do": "move", "text": "d4"})).await.unwrap();
    let list = second.wait_for_list(|list| list[1]["moves"] == 1).await;
    assert_eq!((&list[0]["state"], &list[1]["state"]), (&json!("thinking"), &json!("your_move")));
    assert_eq!((&list[0]["black"], &list[1]["black"]), (&json!("asked"), &json!("You")));
    tokio::task::spawn_blocking(move || std::fs::write(pipe, "e7e5\n")).await.unwrap().unwrap();
    let view = wait_for(&first, |view| plies(view) == 2).await;
    assert_eq!(view["moves"][1]["san"], "e5");
    let view = wait_for(&second, |_| true).await;
    assert_eq!((plies(&view), &view["moves"][0]["san"]), (1, &json!("d4")));
    assert_eq!(first.games().len(), 2, "each game has its file");
    written(&first).await;
    written(&second).await;
    // Both are there after a restart, and a third board has another number.
    let again = table(&folder, "e7e5");
    again.wait_for(|view| plies(view) == 2).await;
    again.at(2).wait_for(|view| plies(view) == 1).await;
    do_it(&again, json!({"do": "new", "white": person, "black": person})).await.unwrap();
    assert_eq!(again.board.get(), 3);
}

#[tokio::test]
async fn a_closed_game_is_suspended_and_comes_back_with_its_clock() {
    let folder = tempfile::tempdir().unwrap();
    let first = table(&folder, "e7e5");
    let person = json!({"kind": "person"});
    let clock = json!({"base_s": 600, "increment_s": 0, "delay_s": 0});
    let new = json!({"do": "new", "white": person, "black": person, "clock": clock, "here": 1});
    do_it(&first, new).await.unwrap();
    assert_eq!(first.board.get(), 1, "nothing was on it");
    do_it(&first, json!({"do": "move", "text": "e4"})).await.unwrap();
    let name = wait_for(&first, |view| view["clock"]["running"] == "black").await["name"].clone();
    do_it(&first, json!({"do": "close", "board": 1})).await.unwrap();
    first.at(2).wait_for(|view| plies(view) == 0).await;
    let list = first.wait_for_list(|list| list.as_array().unwrap().len() == 1).await;
    assert_eq!(list[0]["board"], 2, "the number 1 is not given again");
    assert!(first.table(1).unwrap_err().to_string().contains("Board 1 is closed"));
    assert!(do_it(&first, json!({"do": "close", "board": 1})).await.is_err());
    assert_eq!(first.games().len(), 1);
    written(&first.at(2)).await;
    let second = table(&folder, "e7e5");
    assert_eq!(second.board.get(), 2, "it stays closed");
    second.show(&[2]);
    do_it(&second, json!({"do": "reopen", "board": 1})).await.unwrap();
    let view = wait_for(&second, |view| plies(view) == 1).await;
    assert_eq!((&view["clock"]["running"], &view["name"]), (&Value::Null, &name), "nobody looks at it");
    second.show(&[1]);
    wait_for(&second, |view| view["clock"]["running"] == "black").await;
    // From the library it comes back on a board of its own; then the closed one is not opened a second time.
    do_it(&second, json!({"do": "close", "board": 1})).await.unwrap();
    do_it(&second, json!({"do": "open", "name": name})).await.unwrap();
    assert_eq!(second.board.get(), 3);
    do_it(&second, json!({"do": "reopen", "board": 1})).await.unwrap();
    assert_eq!(second.board.get(), 3);
    assert!(do_it(&second, json!({"do": "reopen", "board": 9})).await.is_err());
}

#[tokio::test]
async fn engines_analyse_boards_that_are_shown_and_only_some_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(&folder, "think");
    let last = MOST_ANALYSED as u32 + 1;
    for board in 1..=last {
        load(&table, "1. e4 *").await;
        assert_eq!(table.board.get(), board);
        if board == 1 {
            do_it(&table, json!({"do": "analysis", "on": true})).await.unwrap();
        }
        let view =
            wait_for(&table, |view| view["analysis"] == true && view["waits"] == (board == last)).await;
        assert_eq!(plies(&view), 1, "a board is analysed like the one before");
    }
    table.show(&[1, last]);
    wait_for(&table, |view| view["waits"] == false).await;
    table.show(&[]);
    table.wait_for_thoughts(|thoughts| thoughts[0]["node"] != Value::Null).await;
    let mut shown = table.around.permits.clone().acquire_many_owned(MOST_ANALYSED as u32).await.unwrap();
    assert_eq!(shown.num_permits(), MOST_ANALYSED, "nobody looks: no board is analysed");
    drop(shown.split(1));
    table.show(&[last]);
    wait_for(&table, |view| view["waits"] == false).await;
}

#[tokio::test]
async fn a_game_against_an_engine_begins_without_the_analysis_of_the_board_before() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(&folder, "think");
    load(&table, "1. e4 *").await;
    do_it(&table, json!({"do": "analysis", "on": true})).await.unwrap();
    let (person, engine) = (json!({"kind": "person"}), json!({"kind": "engine", "name": "shell"}));
    for (board, black, analysis) in [(2, &engine, false), (3, &person, true)] {
        do_it(&table, json!({"do": "new", "white": person, "black": black, "here": 1})).await.unwrap();
        assert_eq!(table.board.get(), board);
        assert_eq!(wait_for(&table, |_| true).await["analysis"], analysis);
    }
}

#[tokio::test]
async fn boards_at_rest_make_room_and_games_keep_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(&folder, "e7e5");
    let person = json!({"kind": "person"});
    let new = json!({"do": "new", "white": person, "black": person});
    load(&table, "1. e4 *").await;
    for _ in 1..MOST_BOARDS {
        do_it(&table, new.clone()).await.unwrap();
        do_it(&table, json!({"do": "move", "text": "e4"})).await.unwrap();
    }
    let error = do_it(&table, new.clone()).await.unwrap_err().to_string();
    assert!(error.contains("12 boards are open"), "{error}");
    table.show(&[2]);
    do_it(&table, new.clone()).await.unwrap();
    assert!(table.table(1).is_err(), "only a loaded game was there");
    do_it(&table, json!({"do": "move", "text": "e4"})).await.unwrap();
    assert!(do_it(&table, new).await.is_err(), "all are being played");
}

fn between_persons() -> Value {
    json!({"do": "new", "white": {"kind": "person"}, "black": {"kind": "person"}})
}

#[tokio::test]
async fn a_board_that_is_opened_again_takes_its_game_as_it_was_played_on() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(&folder, "e7e5");
    do_it(&table, between_persons()).await.unwrap();
    do_it(&table, json!({"do": "move", "text": "e4"})).await.unwrap();
    let name = wait_for(&table, |view| plies(view) == 1).await["name"].clone();
    let close = async |board: u32| do_it(&table, json!({"do": "close", "board": board})).await.unwrap();
    let reopen = async || do_it(&table, json!({"do": "reopen", "board": 2})).await.unwrap();
    close(2).await;
    do_it(&table, json!({"do": "open", "name": name})).await.unwrap();
    do_it(&table, json!({"do": "move", "text": "e5"})).await.unwrap();
    assert_eq!(table.board.get(), 3);
    close(3).await;
    reopen().await;
    let view = wait_for(&table, |_| true).await;
    assert_eq!((table.board.get(), plies(&view), &view["name"]), (2, 2, &name));
    close(2).await;
    // The file of that name is gone: the game does not come back under it.
    do_it(&table, json!({"do": "rename", "name": name, "to": "Mine"})).await.unwrap();
    reopen().await;
    let view = wait_for(&table, |_| true).await;
    assert_eq!((plies(&view), &view["name"]), (2, &Value::Null));
    let second = start(&folder, Roster::new(None, vec![engine("shell", "")]).unwrap());
    assert_eq!(wait_for(&second.at(2), |_| true).await["name"], Value::Null, "nor after a restart");
    do_it(&table, json!({"do": "move", "text": "Nf3"})).await.unwrap();
    let plies_of = |game: LibraryGame| (game.name == "Mine", game.headline.plies);
    let mut games: Vec<_> = table.games().into_iter().map(plies_of).collect();
    games.sort_unstable();
    assert_eq!(games, [(false, 3), (true, 2)]);
    // Another game has the name by now.
    let name = wait_for(&table, |view| plies(view) == 3).await["name"].clone();
    close(2).await;
    do_it(&table, json!({"do": "delete", "name": name})).await.unwrap();
    do_it(&table, between_persons()).await.unwrap();
    do_it(&table, json!({"do": "move", "text": "d4"})).await.unwrap();
    do_it(&table, json!({"do": "rename", "name": wait_for(&table, |_| true).await["name"], "to": name}))
        .await
        .unwrap();
    close(table.board.get()).await;
    reopen().await;
    do_it(&table, json!({"do": "move", "text": "Nc6"})).await.unwrap();
    let other = table.library().read(name.as_str().unwrap()).unwrap().session().unwrap();
    assert_eq!(other.game().moves()[0].san, "d4");
}

#[tokio::test]
async fn two_tabs_that_open_a_game_at_once_have_one_board() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(&folder, "e7e5");
    do_it(&table, between_persons()).await.unwrap();
    do_it(&table, json!({"do": "move", "text": "e4"})).await.unwrap();
    let name = wait_for(&table, |view| plies(view) == 1).await["name"].clone();
    do_it(&table, between_persons()).await.unwrap();
    do_it(&table, json!({"do": "close", "board": 2})).await.unwrap();
    let open = |here: u32| {
        let command = json!({"do": "open", "name": name, "here": here});
        table.open.act(serde_json::from_value(command).unwrap())
    };
    let (one, other) = tokio::join!(open(1), open(3));
    assert_eq!((one.unwrap(), other.unwrap()), (Some(1), Some(1)));
}

#[tokio::test]
async fn an_engine_does_not_move_in_a_suspended_game_that_nobody_sees() {
    let folder = tempfile::tempdir().unwrap();
    let first = start(&folder, Roster::new(None, vec![asked(&folder.path().join("pipe"))]).unwrap());
    let clock = json!({"base_s": 600, "increment_s": 0, "delay_s": 0});
    let black = json!({"kind": "engine", "name": "asked"});
    let new = json!({"do": "new", "white": {"kind": "person"}, "black": black, "clock": clock, "here": 1});
    do_it(&first, new).await.unwrap();
    do_it(&first, json!({"do": "move", "text": "e4"})).await.unwrap();
    wait_for(&first, |view| view["thinking"] == true).await;
    let second = start_unseen(&folder, Roster::new(None, vec![engine("asked", "e7e5")]).unwrap());
    for _ in 0..2 {
        let view = wait_for(&second, |_| true).await;
        assert_eq!(
            (plies(&view), &view["thinking"], &view["clock"]["running"]),
            (1, &json!(false), &Value::Null)
        );
        second.wait_for_list(|list| list[0]["state"] == "suspended").await;
        written(&second).await;
    }
    // A tab that was open before the restart is no person who looks.
    second.show_hidden(1);
    for _ in 0..3 {
        written(&second).await;
        assert_eq!(wait_for(&second, |_| true).await["clock"]["running"], Value::Null);
    }
    second.show(&[1]);
    let view = wait_for(&second, |view| plies(view) == 2).await;
    assert_eq!(view["clock"]["running"], "white");
}

/// A game of two persons on board 1 with ten minutes each, after these moves.
async fn timed(folder: &tempfile::TempDir, moves: &[&str]) -> Seen {
    let table = table(folder, "e7e5");
    let person = json!({"kind": "person"});
    let clock = json!({"base_s": 600, "increment_s": 0, "delay_s": 0});
    let new = json!({"do": "new", "white": person, "black": person, "clock": clock, "here": 1});
    do_it(&table, new).await.unwrap();
    for text in moves {
        do_it(&table, json!({"do": "move", "text": text})).await.unwrap();
    }
    table
}

#[tokio::test]
async fn no_change_of_a_suspended_game_starts_its_clock_but_a_move() {
    let folder = tempfile::tempdir().unwrap();
    let first = timed(&folder, &["e4", "e5", "Nf3"]).await;
    wait_for(&first, |view| view["clock"]["running"] == "black").await;
    written(&first).await;
    let second = start_unseen(&folder, Roster::new(None, vec![engine("shell", "")]).unwrap());
    let stands = async || {
        written(&second).await;
        assert_eq!(wait_for(&second, |_| true).await["clock"]["running"], Value::Null);
    };
    let root = wait_for(&second, |_| true).await["tree"][0]["id"].clone();
    for action in [
        json!({"do": "variation", "node": root, "text": "d4"}),
        json!({"do": "undo"}),
        json!({"do": "edit", "node": root, "change": {"comment": "why"}}),
        json!({"do": "undo"}),
    ] {
        do_it(&second, action).await.unwrap();
        stands().await;
    }
    let name = wait_for(&second, |_| true).await["name"].clone();
    do_it(&second, json!({"do": "rename", "name": name, "to": "Mine"})).await.unwrap();
    stands().await;
    // Whoever moves has seen it.
    do_it(&second, json!({"do": "move", "text": "Nc6"})).await.unwrap();
    wait_for(&second, |view| view["clock"]["running"] == "white").await;
}

#[tokio::test]
async fn the_clock_of_a_game_that_is_over_stands_after_a_restart_too() {
    let folder = tempfile::tempdir().unwrap();
    let first = timed(&folder, &["e4", "e5"]).await;
    do_it(&first, json!({"do": "resign"})).await.unwrap();
    wait_for(&first, |view| view["clock"]["running"].is_null()).await;
    let second = table(&folder, "");
    let view = wait_for(&second, |view| !view["end"].is_null()).await;
    assert_eq!(view["clock"]["running"], Value::Null);
}

#[tokio::test]
async fn a_take_back_and_its_undoing_let_the_clock_run_of_the_side_that_is_to_move() {
    let folder = tempfile::tempdir().unwrap();
    let table = timed(&folder, &["e4", "e5"]).await;
    for (action, running) in [("take_back", "black"), ("undo", "white")] {
        do_it(&table, json!({"do": action})).await.unwrap();
        wait_for(&table, |view| view["clock"]["running"] == running).await;
    }
    do_it(&table, json!({"do": "take_back"})).await.unwrap();
    do_it(&table, json!({"do": "take_back"})).await.unwrap();
    assert_eq!(wait_for(&table, |view| plies(view) == 0).await["clock"]["running"], Value::Null, "not begun");
}

#[tokio::test]
async fn only_the_newest_closed_boards_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let closed = folder.path().join("boards/closed");
    std::fs::create_dir_all(&closed).unwrap();
    let path = |id: usize| closed.join(format!("{id}.json"));
    (1..=MOST_CLOSED + 2).for_each(|id| std::fs::write(path(id), "{}").unwrap());
    let table = table(&folder, "e7e5");
    assert_eq!([1, 2, 3, MOST_CLOSED + 2].map(|id| path(id).exists()), [false, false, true, true]);
    assert_eq!(table.board.get() as usize, MOST_CLOSED + 3);
}

#[tokio::test]
async fn a_move_has_the_value_of_the_engines_line_only_if_it_begins_with_the_move() {
    let folder = tempfile::tempdir().unwrap();
    let mut weak = engine("weak", "e7e5 b8c6 f8c5");
    // The second answer is not the first move of its line.
    weak.arguments[1] = weak.arguments[1].replace(
        "echo bestmove $1; shift",
        "n=$((n+1)); echo info depth 1 score cp 3$n pv $1 a2a3; [ $n = 2 ] && set -- g8f6 $2; \
         echo bestmove $1; shift",
    );
    let table = start(&folder, Roster::new(None, vec![weak, engine("quiet", "think")]).unwrap());
    let settings = json!({"on": true, "engine": "quiet", "limit": "infinite", "lines": 1});
    do_it(&table, json!({"do": "analyst", "number": 0, "settings": settings})).await.unwrap();
    for (text, plies_after) in [("e4", 2), ("Nf3", 4), ("Bc4", 6)] {
        do_it(&table, json!({"do": "move", "text": text})).await.unwrap();
        wait_for(&table, |view| plies(view) == plies_after).await;
    }
    let view = wait_for(&table, |_| true).await;
    assert_eq!([&view["moves"][3]["san"], &view["moves"][5]["san"]], ["Nf6", "Bc5"]);
    let last = view["at"].clone();
    let thoughts =
        table.wait_for_thoughts(|thoughts| thoughts[0]["values"][last.to_string()] != Value::Null).await;
    let values = thoughts[0]["values"].as_object().unwrap();
    // Black's scores, from White's view.
    let scores: Vec<(&str, &Value)> =
        values.iter().map(|(node, value)| (node.as_str(), &value["score"])).collect();
    assert_eq!(scores, [("2", &json!({"cp": -31})), ("6", &json!({"cp": -33}))]);
}
