//! The task that owns the game: it takes the page's actions, lets the engines move, saves, and publishes what has
//! changed.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use shakmaty::Color;
use tokio::sync::{mpsc, oneshot, watch};

use super::pgn::{SIDES, read_pgn, write_pgn};
use super::saved::{SavedError, SavedGame};
use super::session::{ActionError, NewGame, Seat, Session};
use super::start::StartChoice;
use super::thoughts::{LINES, Thoughts};
use super::view::{EngineView, TableView};
use crate::engines::{
    EngineEvent, EngineHandle, OptionSpec, Roster, SearchOrder, SearchScore, start as start_engine,
};

/// How long the analysing engine thinks about a position.
const ANALYSIS_TIME: Duration = Duration::from_secs(30);

/// What the page can ask for.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// Begin a game.
    New(NewGame),
    /// A person's move.
    Move {
        /// SAN or UCI.
        text: String,
        /// Plies of the game that the person saw.
        #[serde(default)]
        ply: Option<usize>,
    },
    /// Take the last moves back.
    TakeBack,
    /// Resign.
    Resign,
    /// Offer a draw.
    Draw,
    /// Show or hide the evaluation.
    Analysis {
        /// Show.
        on: bool,
    },
    /// Load the first game of a PGN.
    Load {
        /// The text.
        pgn: String,
    },
    /// Start an engine again that has failed.
    Retry,
}

/// Which engine of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Role {
    Player(Color),
    Analyst,
}

enum Message {
    Act(Action, oneshot::Sender<Result<(), ActionError>>),
    Pgn(String, oneshot::Sender<String>),
    Attached,
    /// From the engine with that number.
    Engine(Role, u64, EngineEvent),
    /// What an engine of the roster says of itself.
    Probed(String, Result<Vec<OptionSpec>, String>),
}

/// Access to the table's task.
#[derive(Clone, Debug)]
pub struct TableHandle {
    messages: mpsc::UnboundedSender<Message>,
    /// The game, a [`TableView`] as JSON.
    pub game: watch::Receiver<Arc<str>>,
    /// The evaluation, [`Thoughts`] as JSON, or `null`.
    pub thoughts: watch::Receiver<Arc<str>>,
}

impl TableHandle {
    /// Does what the page asks for.
    ///
    /// # Errors
    ///
    /// If it is not possible.
    pub async fn act(&self, action: Action) -> Result<(), ActionError> {
        let ended = || ActionError::NotNow("The server is shutting down.".to_owned());
        let (answer, answered) = oneshot::channel();
        self.messages.send(Message::Act(action, answer)).map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }

    /// The game as PGN; `date` is `YYYY.MM.DD`.
    pub async fn pgn(&self, date: String) -> Option<String> {
        let (answer, answered) = oneshot::channel();
        self.messages.send(Message::Pgn(date, answer)).ok()?;
        answered.await.ok()
    }

    /// Somebody looks at the board.
    pub fn attach(&self) {
        let _ = self.messages.send(Message::Attached);
    }
}

struct Running {
    /// Tells the reports of this process from those of an earlier one.
    number: u64,
    name: String,
    handle: EngineHandle,
    /// The revision that it was last asked about.
    asked: Option<u64>,
    /// Whether the game is new to it.
    fresh: bool,
}

/// The table; [`Table::start`] puts it to work.
pub struct Table {
    roster: Roster,
    state_file: PathBuf,
    session: Session,
    analysis: bool,
    engines: HashMap<Role, Running>,
    next_number: u64,
    /// The revision at which an engine failed once: a second failure waits for a person.
    failed_at: Option<(Role, u64)>,
    stalled: bool,
    notice: Option<String>,
    /// What the engines of the roster can do.
    probed: Vec<EngineView>,
    /// The last score of an engine for its own side.
    last_score: Option<SearchScore>,
    thoughts: Thoughts,
    sender: mpsc::UnboundedSender<Message>,
    game_out: watch::Sender<Arc<str>>,
    thoughts_out: watch::Sender<Arc<str>>,
}

impl Table {
    /// Starts the table's task with the saved game, or a new one against the first engine.
    ///
    /// The task ends, and its engines with it, with the runtime.
    pub fn start(roster: Roster, state_file: PathBuf) -> TableHandle {
        let (sender, messages) = mpsc::unbounded_channel();
        let (game_out, game) = watch::channel(Arc::from("null"));
        let (thoughts_out, thoughts) = watch::channel(Arc::from("null"));
        let (session, analysis, notice) = first_session(&roster, &state_file);
        let view = |name: &str| EngineView { name: name.to_owned(), elo: None, error: None };
        let table = Table {
            probed: roster.engines().iter().map(|spec| view(&spec.name)).collect(),
            roster,
            state_file,
            session,
            analysis,
            engines: HashMap::new(),
            next_number: 0,
            failed_at: None,
            stalled: false,
            notice,
            last_score: None,
            thoughts: Thoughts::default(),
            sender: sender.clone(),
            game_out,
            thoughts_out,
        };
        table.probe();
        tokio::spawn(table.run(messages));
        TableHandle { messages: sender, game, thoughts }
    }

    /// Asks every engine of the roster for its options.
    fn probe(&self) {
        for spec in self.roster.engines() {
            let (name, sender) = (spec.name.clone(), self.sender.clone());
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
                let _ = sender.send(Message::Probed(name, answer));
            });
        }
    }

    async fn run(mut self, mut messages: mpsc::UnboundedReceiver<Message>) {
        self.drive();
        self.publish();
        loop {
            let falls = self.session.clock().and_then(super::clock::ChessClock::flag_falls);
            let falls = falls.filter(|_| self.session.end().is_none());
            let message = tokio::select! {
                message = messages.recv() => message,
                () = tokio::time::sleep_until(falls.unwrap_or_else(Instant::now).into()), if falls.is_some() => {
                    self.session.flag(Instant::now());
                    self.changed().await;
                    continue;
                }
            };
            match message {
                None => return,
                Some(message) => self.receive(message).await,
            }
        }
    }

    async fn receive(&mut self, message: Message) {
        match message {
            Message::Act(action, answer) => {
                let result = self.act(action);
                if result.is_ok() {
                    self.changed().await;
                }
                // Whoever asked may have gone.
                let _ = answer.send(result);
            }
            Message::Pgn(date, answer) => {
                let [white, black] = self.session.labels();
                let names = [white.as_str(), black.as_str()];
                let _ = answer.send(write_pgn(self.session.game(), names, self.session.end(), &date));
            }
            Message::Attached => {
                if self.session.attach(Instant::now()) {
                    self.publish();
                }
            }
            Message::Engine(role, number, event) => {
                if self.engines.get(&role).is_some_and(|running| running.number == number) {
                    self.hear(role, event).await;
                }
            }
            Message::Probed(name, answer) => {
                let limits = self.roster.find(&name).is_some_and(|spec| plays_with_a_network(&spec.options));
                if let Some(view) = self.probed.iter_mut().find(|view| view.name == name) {
                    match answer {
                        Ok(options) if limits => view.elo = elo_range(&options),
                        Ok(_) => (),
                        Err(reason) => view.error = Some(format!("{name} {reason}")),
                    }
                }
                self.publish();
            }
        }
    }

    fn act(&mut self, action: Action) -> Result<(), ActionError> {
        let now = Instant::now();
        match action {
            Action::New(new) => {
                for seat in [&new.white, &new.black] {
                    self.check_seat(seat)?;
                }
                self.replace(Session::new(new)?);
            }
            Action::Load { pgn } => {
                let pgn =
                    read_pgn(pgn.as_bytes()).map_err(|error| ActionError::Invalid(error.to_string()))?;
                self.replace(Session::loaded(pgn));
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
        self.notice = None;
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
        self.engines.values_mut().for_each(|running| running.fresh = true);
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

    /// Lets those engines search that have something to search for, and stops the others.
    fn drive(&mut self) {
        let revision = self.session.revision();
        for color in SIDES {
            let role = Role::Player(color);
            match self.session.seats().get(color).clone() {
                Seat::Person => {
                    self.engines.remove(&role);
                }
                Seat::Engine { name, elo } => {
                    let moves =
                        self.session.engine_to_move().is_some() && self.session.game().turn() == color;
                    if moves && !self.stalled {
                        let (go, longest) = self.session.go(Instant::now());
                        self.ask(role, &name, player_options(elo), go, longest);
                    } else {
                        self.stop(role, revision);
                    }
                }
            }
        }
        let analyst = self.roster.engines().first().map(|spec| spec.name.clone());
        match analyst.filter(|_| self.analysis) {
            Some(name) if self.session.game().end().is_none() => {
                let go = format!("go movetime {}", ANALYSIS_TIME.as_millis());
                self.ask(Role::Analyst, &name, analyst_options(), go, ANALYSIS_TIME);
            }
            Some(_) => self.stop(Role::Analyst, revision),
            None => {
                self.engines.remove(&Role::Analyst);
                self.thoughts = Thoughts::default();
            }
        }
    }

    fn stop(&mut self, role: Role, revision: u64) {
        if let Some(running) = self.engines.get_mut(&role)
            && running.asked.is_some_and(|asked| asked != revision)
        {
            running.handle.stop();
            running.asked = None;
        }
    }

    fn ask(
        &mut self,
        role: Role,
        name: &str,
        mut options: Vec<(String, String)>,
        go: String,
        longest: Duration,
    ) {
        let revision = self.session.revision();
        if self.engines.get(&role).is_none_or(|running| running.name != name) {
            let Some(spec) = self.roster.find(name) else {
                self.stalled = true;
                self.notice = Some(format!("There is no engine called {name} any more: start a new game."));
                return;
            };
            self.next_number += 1;
            let (number, sender) = (self.next_number, self.sender.clone());
            let handle = start_engine(spec, move |event| {
                let _ = sender.send(Message::Engine(role, number, event));
            });
            let running = Running { number, name: name.to_owned(), handle, asked: None, fresh: true };
            self.engines.insert(role, running);
        }
        let running = self.engines.get_mut(&role).expect("it was started");
        if running.asked == Some(revision) {
            return;
        }
        options.push(("UCI_Chess960".to_owned(), self.session.game().is_chess960().to_string()));
        running.asked = Some(revision);
        running.handle.search(SearchOrder {
            id: revision,
            options,
            new_game: std::mem::take(&mut running.fresh),
            position: self.session.game().position_command(),
            go,
            longest,
        });
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
            (EngineEvent::Best { .. }, Role::Analyst) => (),
            (EngineEvent::Info { info, .. }, Role::Player(_)) => {
                if info.rank == 1 {
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

    /// Starts an engine again that has failed; the second time at the same move, a person has to ask for that.
    async fn engine_failed(&mut self, role: Role, reason: &str) {
        let Some(failed) = self.engines.remove(&role) else { return };
        let again = (role, self.session.revision());
        let stays_down = self.failed_at == Some(again);
        self.failed_at = Some(again);
        let name = failed.name;
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

/// Philidor's classical players have the options of limited strength, but they follow no rating.
fn plays_with_a_network(options: &[(String, String)]) -> bool {
    options.iter().all(|(name, value)| name != "Player" || value == "network")
}

fn elo_range(options: &[OptionSpec]) -> Option<(i64, i64)> {
    let find = |name: &str| options.iter().find(|option| option.name.eq_ignore_ascii_case(name));
    find("UCI_LimitStrength")?;
    find("UCI_Elo")?.range
}

fn player_options(elo: Option<u32>) -> Vec<(String, String)> {
    let mut options = vec![("UCI_LimitStrength".to_owned(), elo.is_some().to_string())];
    options.extend(elo.map(|elo| ("UCI_Elo".to_owned(), elo.to_string())));
    options
}

fn analyst_options() -> Vec<(String, String)> {
    let lines = LINES.to_string();
    let options = [("MultiPV", lines.as_str()), ("UCI_ShowWDL", "true"), ("UCI_AnalyseMode", "true")];
    options.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
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

    #[test]
    fn ratings_are_offered_where_they_mean_something() {
        let option = |name: &str, range| OptionSpec { name: name.into(), range };
        let both = [option("UCI_LimitStrength", None), option("UCI_Elo", Some((800, 1700)))];
        assert_eq!(elo_range(&both), Some((800, 1700)));
        assert_eq!(elo_range(&both[1..]), None);
        assert!(!plays_with_a_network(&[("Player".into(), "random".into())]));
    }
}
