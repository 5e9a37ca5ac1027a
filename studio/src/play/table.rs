//! The task that owns the game: it takes the page's actions, lets the engines move, saves, and publishes what has
//! changed.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::chess::pgn::read_games;
use engine::search::Score;
use shakmaty::Color;
use tokio::sync::{mpsc, watch};

use super::action::{Action, Answer, Request, ReviewedGame, TableHandle};
use super::crew::{
    Crew, CrewEvent, Role, Task, analyst_options, elo_range, player_options, plays_with_a_network,
};
use super::pgn::{PgnFile, PgnHeader, SIDES, write_pgn};
use super::saved::{SavedError, SavedGame};
use super::seats::{ActionError, NewGame, Seat};
use super::session::Session;
use super::start::StartChoice;
use super::thoughts::Thoughts;
use super::tree::{LONGEST_PATH, TreeView};
use super::view::{EngineView, FileView, TableView, key_of};
use crate::engines::{EngineEvent, OptionSpec, Roster, start as start_engine};

/// How long the analysing engine thinks about a position.
const ANALYSIS_TIME: Duration = Duration::from_secs(30);

/// How long it may take to show its tree.
const TREE_TIME: Duration = Duration::from_secs(3);

/// What an engine of the roster says of itself.
type Probed = (String, Result<Vec<OptionSpec>, String>);

/// The table; [`Table::start`] puts it to work.
pub struct Table {
    roster: Roster,
    state_file: PathBuf,
    session: Session,
    /// The games that were loaded last, and which of them is shown.
    file: Option<(PgnFile, usize)>,
    analysis: bool,
    crew: Crew,
    /// The revision at which an engine failed once: a second failure waits for a person.
    failed_at: Option<(Role, u64)>,
    stalled: bool,
    notice: Option<String>,
    /// What the engines of the roster can do.
    probed: Vec<EngineView>,
    /// The last score of an engine for its own side.
    last_score: Option<Score>,
    thoughts: Thoughts,
    /// Questions about the tree, in the order of their answers.
    tree_questions: Vec<Answer<TreeView>>,
    game_out: watch::Sender<Arc<str>>,
    thoughts_out: watch::Sender<Arc<str>>,
}

impl Table {
    /// Starts the table's task with the saved game, or a new one against the first engine.
    ///
    /// The task ends, and its engines with it, with the runtime.
    pub fn start(roster: Roster, state_file: PathBuf) -> TableHandle {
        let (requests, received) = mpsc::unbounded_channel();
        let (events, reported) = mpsc::unbounded_channel();
        let (game_out, game) = watch::channel(Arc::from("null"));
        let (thoughts_out, thoughts) = watch::channel(Arc::from("null"));
        let (session, analysis, notice) = first_session(&roster, &state_file);
        let view = |name: &str| EngineView { name: name.to_owned(), elo: None, error: None };
        let table = Table {
            probed: roster.engines().iter().map(|spec| view(&spec.name)).collect(),
            state_file,
            session,
            file: None,
            analysis,
            crew: Crew::new(events),
            failed_at: None,
            stalled: false,
            notice,
            last_score: None,
            thoughts: Thoughts::default(),
            tree_questions: Vec::new(),
            game_out,
            thoughts_out,
            roster,
        };
        let probed = probe(&table.roster);
        tokio::spawn(table.run(received, reported, probed));
        TableHandle { requests, game, thoughts }
    }

    async fn run(
        mut self,
        mut requests: mpsc::UnboundedReceiver<Request>,
        mut events: mpsc::UnboundedReceiver<CrewEvent>,
        mut probed: mpsc::UnboundedReceiver<Probed>,
    ) {
        self.drive();
        self.publish();
        loop {
            let falls = self.session.clock().and_then(super::clock::ChessClock::flag_falls);
            let falls = falls.filter(|_| self.session.end().is_none());
            tokio::select! {
                request = requests.recv() => match request {
                    Some(request) => self.receive(request).await,
                    None => return,
                },
                Some((role, number, event)) = events.recv() => {
                    if self.crew.is_current(role, number) {
                        self.hear(role, event).await;
                    }
                }
                Some((name, answer)) = probed.recv() => self.note_engine(&name, answer),
                () = tokio::time::sleep_until(falls.unwrap_or_else(Instant::now).into()), if falls.is_some() => {
                    self.session.flag(Instant::now());
                    self.changed().await;
                }
            }
        }
    }

    /// Whoever asked may have gone when the answer is sent.
    async fn receive(&mut self, request: Request) {
        match request {
            Request::Act(action, answer) => {
                let result = self.act(action);
                if result.is_ok() {
                    self.changed().await;
                }
                let _ = answer.send(result);
            }
            Request::Pgn(date, answer) => {
                let _ = answer.send(Ok(self.pgn(&date)));
            }
            Request::Review(answer) => {
                let _ = answer.send(self.reviewed());
            }
            Request::Titles(answer) => {
                let _ =
                    answer.send(Ok(self.file.as_ref().map(|(file, _)| file.titles()).unwrap_or_default()));
            }
            Request::Tree(moves, answer) => self.ask_tree(moves, answer),
            Request::Attached => {
                if self.session.attach(Instant::now()) {
                    self.publish();
                }
            }
        }
    }

    fn note_engine(&mut self, name: &str, answer: Result<Vec<OptionSpec>, String>) {
        let limits = self.roster.find(name).is_some_and(|spec| plays_with_a_network(&spec.options));
        if let Some(view) = self.probed.iter_mut().find(|view| view.name == name) {
            match answer {
                Ok(options) if limits => view.elo = elo_range(&options),
                Ok(_) => (),
                Err(reason) => view.error = Some(format!("{name} {reason}")),
            }
        }
        self.publish();
    }

    fn act(&mut self, action: Action) -> Result<(), ActionError> {
        let now = Instant::now();
        let mut notice = None;
        match action {
            Action::New(new) => {
                for seat in [&new.white, &new.black] {
                    self.check_seat(seat)?;
                }
                self.replace(Session::new(new)?);
                self.file = None;
            }
            Action::Load { pgn } => {
                let invalid = |error: super::PgnError| ActionError::Invalid(error.to_string());
                let file = PgnFile::read(pgn.as_bytes()).map_err(invalid)?;
                let game = file.game(0).map_err(invalid)?;
                notice = file.broken.first().map(|why| {
                    let count = file.broken.len();
                    format!("Games that cannot be read are left out, {count} in all: {why}.")
                });
                self.replace(Session::loaded(game));
                self.file = Some((file, 0));
            }
            Action::Choose { game } => {
                let none = || ActionError::NotNow("No PGN is loaded: load one.".to_owned());
                let (file, chosen) = self.file.as_mut().ok_or_else(none)?;
                let session = file.game(game).map_err(|error| ActionError::Invalid(error.to_string()))?;
                *chosen = game;
                self.replace(Session::loaded(session));
            }
            Action::Move { text, ply } => self.session.move_by_person(&text, ply, now)?,
            Action::TakeBack => self.session.take_back(now)?,
            Action::Resign => self.session.resign(now)?,
            Action::Draw => self.session.draw(self.last_score, now)?,
            Action::Analysis { on } => self.analysis = on,
            Action::Retry => (),
        }
        self.stalled = false;
        self.failed_at = None;
        self.notice = notice;
        Ok(())
    }

    fn check_seat(&self, seat: &Seat) -> Result<(), ActionError> {
        let Seat::Engine { name, elo } = seat else { return Ok(()) };
        let invalid = |text| Err(ActionError::Invalid(text));
        if self.roster.find(name).is_none() {
            return invalid(format!("There is no engine called {name}: choose another."));
        }
        let range = self.probed.iter().find(|view| view.name == *name).and_then(|view| view.elo);
        match (elo, range) {
            (Some(elo), Some((low, high))) if !(low..=high).contains(&i64::from(*elo)) => {
                invalid(format!("{name} plays at a rating of {low} to {high}."))
            }
            (Some(_), None) => {
                invalid(format!("The strength of {name} cannot be limited: choose full strength."))
            }
            _ => Ok(()),
        }
    }

    fn replace(&mut self, mut session: Session) {
        session.continue_revisions(self.session.revision());
        self.session = session;
        self.last_score = None;
        self.thoughts = Thoughts::default();
        self.crew.new_game();
    }

    /// The game as PGN: as it stood in its file, unless it was changed.
    fn pgn(&self, date: &str) -> String {
        let mut text = Vec::new();
        let unchanged = self.session.source().map(|source| source.write(&Default::default(), &mut text));
        if unchanged.is_some_and(|written| written.is_ok()) {
            return String::from_utf8_lossy(&text).into_owned();
        }
        let [white, black] = self.session.labels();
        write_pgn(self.session.game(), [&white, &black], self.session.end(), PgnHeader::casual(date))
    }

    fn reviewed(&self) -> Result<ReviewedGame, ActionError> {
        if self.session.game().ply() == 0 {
            let text = "There is no move to review: play a game, or load a PGN.";
            return Err(ActionError::NotNow(text.to_owned()));
        }
        let written = || read_games(self.pgn("????.??.??").as_bytes()).0.pop().map(|(_, game)| game);
        let game = self.session.source().cloned().or_else(written);
        let game =
            game.ok_or_else(|| ActionError::Invalid("The game cannot be written as PGN.".to_owned()))?;
        Ok(ReviewedGame { key: key_of(self.session.game()), game })
    }

    fn ask_tree(&mut self, moves: Vec<String>, answer: Answer<TreeView>) {
        self.tree_questions.retain(|question| !question.is_closed());
        let refused = if !self.analysis || !self.crew.was_asked(Role::Analyst, self.session.revision()) {
            Some(ActionError::NotNow("There is no search of this position: switch the evaluation on.".into()))
        } else if moves.len() > LONGEST_PATH {
            Some(ActionError::Invalid(format!("A line has at most {LONGEST_PATH} moves.")))
        } else {
            // It goes to an engine as a line of text.
            let mut board = self.session.game().game().clone();
            let illegal = moves.iter().find(|text| match board.parse_uci(text) {
                Ok(m) => {
                    board.play(m);
                    false
                }
                Err(_) => true,
            });
            illegal.map(|text| ActionError::Invalid(format!("{text} is no legal move there.")))
        };
        match refused {
            Some(error) => {
                let _ = answer.send(Err(error));
            }
            None => {
                self.crew.ask_tree(Role::Analyst, moves);
                let (question, answered) = tokio::sync::oneshot::channel();
                self.tree_questions.push(question);
                tokio::spawn(async move {
                    let late = || {
                        let text = "The engine does not show its search tree: only Philidor does.";
                        Err(ActionError::NotNow(text.to_owned()))
                    };
                    let result = tokio::time::timeout(TREE_TIME, answered).await;
                    let _ =
                        answer.send(result.map_or_else(|_| late(), |read| read.unwrap_or_else(|_| late())));
                });
            }
        }
    }

    async fn changed(&mut self) {
        self.drive();
        self.publish();
        let saved = SavedGame::of(&self.session, self.analysis, Instant::now());
        let path = self.state_file.clone();
        let written = tokio::task::spawn_blocking(move || saved.write(&path)).await;
        if let Ok(Err(error)) = written {
            log::warn!("cannot save the game in {}: {error}", self.state_file.display());
            self.notice = Some(format!("The game cannot be saved on disk ({error}): is there space left?"));
            self.publish();
        }
    }

    /// Whether it is an engine's turn, and that of this colour.
    fn has_to_move(&self, color: Color) -> bool {
        self.session.engine_to_move().is_some() && self.session.game().turn() == color
    }

    /// Lets those engines search that have something to search for, and stops the others.
    fn drive(&mut self) {
        for color in SIDES {
            let role = Role::Player(color);
            match self.session.seats().get(color).clone() {
                Seat::Person => {
                    self.crew.dismiss(role);
                }
                Seat::Engine { name, elo } => {
                    if self.has_to_move(color) && !self.stalled {
                        let (go, longest) = self.session.go(Instant::now());
                        self.ask(role, &name, Task { options: player_options(elo), go, longest });
                    } else {
                        self.crew.stop(role, self.session.revision());
                    }
                }
            }
        }
        let analyst = self.roster.engines().first().map(|spec| spec.name.clone());
        match analyst.filter(|_| self.analysis) {
            Some(name) if self.session.game().end().is_none() => {
                let go = format!("go movetime {}", ANALYSIS_TIME.as_millis());
                let task = Task { options: analyst_options(), go, longest: ANALYSIS_TIME };
                self.ask(Role::Analyst, &name, task);
            }
            Some(_) => self.crew.stop(Role::Analyst, self.session.revision()),
            None => {
                self.crew.dismiss(Role::Analyst);
                self.thoughts = Thoughts::default();
            }
        }
    }

    fn ask(&mut self, role: Role, name: &str, task: Task) {
        let Some(spec) = self.roster.find(name) else {
            self.stalled = true;
            self.notice = Some(format!("There is no engine called {name} any more: start a new game."));
            return;
        };
        self.crew.seat(role, spec);
        self.crew.ask(role, self.session.game(), self.session.revision(), task);
    }

    async fn hear(&mut self, role: Role, event: EngineEvent) {
        match (event, role) {
            (EngineEvent::Ready { .. }, _) => (),
            (EngineEvent::Failed { reason }, _) => self.engine_failed(role, &reason).await,
            (EngineEvent::Info { id, info }, Role::Analyst) => {
                if id == self.session.revision() && self.thoughts.hear(self.session.game(), &info) {
                    self.publish_thoughts();
                }
            }
            (EngineEvent::Numbers { id, numbers }, Role::Analyst) => {
                if id == self.session.revision() {
                    self.thoughts.hear_numbers(self.session.game(), &numbers);
                }
            }
            (EngineEvent::Tree(answer), Role::Analyst) => self.answer_tree(answer),
            (EngineEvent::Best { .. }, Role::Analyst) => self.publish_thoughts(),
            (EngineEvent::Numbers { .. } | EngineEvent::Tree(_), Role::Player(_)) => (),
            (EngineEvent::Info { info, .. }, Role::Player(_)) => {
                if info.rank == 0 {
                    self.last_score = Some(info.score);
                }
            }
            (EngineEvent::Best { id, text }, Role::Player(_)) => {
                match self.session.move_by_engine(id, &text, Instant::now()) {
                    Ok(()) => self.changed().await,
                    Err(_) => {
                        let reason = format!("answered \"{text}\", which is no legal move");
                        self.engine_failed(role, &reason).await;
                    }
                }
            }
        }
    }

    fn answer_tree(&mut self, answer: Result<String, String>) {
        if self.tree_questions.is_empty() {
            return;
        }
        let question = self.tree_questions.remove(0);
        let changed = || ActionError::NotNow("The position has changed meanwhile.".to_owned());
        let tree = match answer {
            Ok(text) => TreeView::read(&text, self.session.game()).ok_or_else(changed),
            Err(reason) => Err(ActionError::NotNow(format!("The engine shows no tree: {reason}."))),
        };
        let _ = question.send(tree);
    }

    /// Starts an engine again that has failed; the second time at the same move, a person has to ask for that.
    async fn engine_failed(&mut self, role: Role, reason: &str) {
        let Some(name) = self.crew.dismiss(role) else { return };
        if role == Role::Analyst {
            self.tree_questions.clear();
        }
        let is_wanted = match role {
            Role::Analyst => self.session.game().end().is_none(),
            Role::Player(color) => self.has_to_move(color),
        };
        // Nobody waits for it: it is seated again when there is something to think about.
        if !is_wanted {
            return;
        }
        let again = (role, self.session.revision());
        let stays_down = self.failed_at == Some(again);
        self.failed_at = Some(again);
        self.notice = Some(match (stays_down, role) {
            (false, _) => format!("{name} {reason}. It was started again."),
            (true, Role::Player(_)) => {
                format!(
                    "{name} {reason}, again. Start it once more, or begin a new game against another engine."
                )
            }
            (true, Role::Analyst) => format!("{name} {reason}, again. The evaluation is switched off."),
        });
        if stays_down {
            match role {
                Role::Player(_) => self.stalled = true,
                Role::Analyst => self.analysis = false,
            }
        }
        self.changed().await;
    }

    fn publish(&mut self) {
        let mut view = TableView::of(&self.session, Instant::now());
        view.file = self.file.as_ref().map(|(file, chosen)| FileView { games: file.len(), chosen: *chosen });
        view.analysis = self.analysis;
        view.notice = self.notice.clone();
        view.stalled = self.stalled;
        view.thinking &= !self.stalled;
        view.engines = self.probed.clone();
        send(&self.game_out, &view);
        self.publish_thoughts();
    }

    fn publish_thoughts(&self) {
        match self.analysis {
            true => send(&self.thoughts_out, &self.thoughts),
            false => send(&self.thoughts_out, &()),
        }
    }
}

/// Asks every engine of the roster for its options.
fn probe(roster: &Roster) -> mpsc::UnboundedReceiver<Probed> {
    let (sender, probed) = mpsc::unbounded_channel();
    for spec in roster.engines() {
        let (name, sender) = (spec.name.clone(), sender.clone());
        let (report, mut reported) = mpsc::unbounded_channel();
        let handle = start_engine(spec, move |event| {
            let _ = report.send(event);
        });
        tokio::spawn(async move {
            let answer = match reported.recv().await {
                Some(EngineEvent::Ready { options, .. }) => Ok(options),
                Some(EngineEvent::Failed { reason }) => Err(reason),
                _ => Err("did not start".to_owned()),
            };
            drop(handle);
            let _ = sender.send((name, answer));
        });
    }
    probed
}

/// Sends a value as JSON, if it has changed.
fn send(out: &watch::Sender<Arc<str>>, value: &impl serde::Serialize) {
    let text = serde_json::to_string(value).expect("views can be written as JSON");
    out.send_if_modified(|present| {
        let changed = **present != *text;
        if changed {
            *present = Arc::from(text);
        }
        changed
    });
}

/// The saved game, or a new one; whether the evaluation is shown; what has to be told.
fn first_session(roster: &Roster, state_file: &std::path::Path) -> (Session, bool, Option<String>) {
    let read = SavedGame::read(state_file)
        .and_then(|saved| saved.map(|saved| Ok((saved.analysis, saved.session()?))).transpose());
    let notice = match read {
        Ok(Some((analysis, session))) => return (session, analysis, None),
        Ok(None) => None,
        Err(error) => {
            log::warn!("the saved game {}: {error}", state_file.display());
            let kept = state_file.with_extension("json.damaged");
            if !matches!(error, SavedError::Io(_)) {
                let _ = std::fs::rename(state_file, &kept);
            }
            Some(format!(
                "The last game could not be read ({error}). Its file is kept as {}.",
                kept.display()
            ))
        }
    };
    let black = match roster.engines().first() {
        Some(spec) => Seat::Engine { name: spec.name.clone(), elo: None },
        None => Seat::Person,
    };
    let (start, clock) = (StartChoice::Standard, None);
    let new = NewGame { white: Seat::Person, black, start, clock, move_time_ms: 1000 };
    (Session::new(new).expect("the initial position is one"), false, notice)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::engines::EngineSpec;
    use serde_json::{Value, json};

    /// An engine in shell that answers the first `go` with the first move, and so on; `crash` ends it.
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
        table.act(serde_json::from_value(action).unwrap()).await
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
        // What the last move changed is saved before an action is answered.
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
        // Each process answers once, then ends at the next `go`.
        let table = table(&folder, "e7e5 crash");
        do_it(&table, json!({"do": "move", "text": "e4"})).await.unwrap();
        wait_for(&table, |view| plies(view) == 2).await;
        do_it(&table, json!({"do": "move", "text": "Nf3"})).await.unwrap();
        // The second process answers e7e5, which is not legal any more: that is its second failure.
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
        let new = |white: &Value, start: Value| json!({"do": "new", "white": white, "black": person, "start": start});
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
        do_it(&table, json!({"do": "load", "pgn": "[White \"X\"]\n\n1. d4 d5 1/2-1/2"})).await.unwrap();
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
        let pgn = "[White \"A\"]\n\n1. e4 {best} e5 *\n\n[White \"B\"]\n\n1. d4 Ke3 *\n\n[White \"C\"]\n\n1. c4 *\n";
        do_it(&table, json!({"do": "load", "pgn": pgn})).await.unwrap();
        let view = wait_for(&table, |view| plies(view) == 2).await;
        assert_eq!((&view["file"]["games"], &view["file"]["chosen"]), (&json!(2), &json!(0)));
        assert!(view["notice"].as_str().unwrap().contains("game 2, line "), "{}", view["notice"]);
        assert_eq!(table.titles().await.unwrap().len(), 2);
        let reviewed = table.reviewed().await.unwrap();
        assert_eq!((reviewed.game.comments()[0].len(), view["key"].as_str()), (1, Some(&*reviewed.key)));
        assert!(table.pgn("2026.01.02".into()).await.unwrap().contains("{best}"), "comments are kept");
        do_it(&table, json!({"do": "choose", "game": 1})).await.unwrap();
        wait_for(&table, |view| view["white"]["label"] == "C").await;
        assert!(do_it(&table, json!({"do": "choose", "game": 2})).await.is_err());
        // A move makes it another game, without the file's comments.
        do_it(&table, json!({"do": "move", "text": "e5"})).await.unwrap();
        assert_ne!(table.reviewed().await.unwrap().key, reviewed.key);
        assert!(table.tree(Vec::new()).await.is_err(), "there is no evaluation");
    }
}
