//! The task that owns the game: executes the page's actions, lets the engines move, saves, and publishes changes.

mod engines;
mod hints;
mod tree;
#[cfg(all(test, unix))]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use engine::chess::pgn::NodeId;
use engine::search::Score;
use tokio::sync::{mpsc, watch};

use self::engines::{Probed, probe};
use super::action::{Action, Answer, Request, ReviewedGame, TableHandle};
use super::analysts::{ANALYSTS, Analyst, AnalystSettings, FIRST, THREAT};
use super::crew::{Crew, CrewEvent, Role};
use super::file::PgnFile;
use super::hint::Hint;
use super::library::Library;
use super::pgn::{SIDES, pgn_text};
use super::played::PlayedGame;
use super::saved::{SavedError, SavedGame};
use super::seats::{ActionError, NewGame, Seat};
use super::session::Session;
use super::start::StartChoice;
use super::tree::TreeView;
use super::variations::PositionView;
use super::view::{EngineView, FileView, TableView, key_of};
use crate::engines::Roster;

pub struct Table {
    roster: Roster,
    state_file: PathBuf,
    library: Library,
    session: Session,
    /// Grows with every other game on the board.
    board: u64,
    /// Grows with every change of the game, its comments and variations.
    edition: u64,
    /// The last loaded games, and the index of the shown one.
    file: Option<(PgnFile, usize)>,
    files: u64,
    analysts: [Analyst; ANALYSTS],
    crew: Crew,
    /// Role and number of the last failed search. After a second one there, the engine is not restarted.
    failed_at: Option<(Role, u64)>,
    stalled: bool,
    notice: Option<String>,
    probed: Vec<EngineView>,
    /// The playing engine's last score, from its own view.
    last_score: Option<Score>,
    /// The last one that was asked for.
    hint: Option<Hint>,
    /// The node that was looked at last; `None` is the game's last position.
    looked: Option<NodeId>,
    analysed: Analysed,
    /// Pending tree queries, in the order of their answers.
    tree_questions: Vec<Answer<TreeView>>,
    game_out: watch::Sender<Arc<str>>,
    thoughts_out: watch::Sender<Arc<str>>,
}

/// What the analysts search.
#[derive(Default)]
struct Analysed {
    board: u64,
    /// `None` if nothing can be analysed there.
    game: Option<PlayedGame>,
}

impl Table {
    /// Shows the saved game, or a new one against the first engine. The task ends with the runtime.
    pub fn start(roster: Roster, state_file: PathBuf) -> TableHandle {
        let library = Library::new(state_file.with_file_name("games"));
        let (requests, received) = mpsc::unbounded_channel();
        let (events, reported) = mpsc::unbounded_channel();
        let (game_out, game) = watch::channel(Arc::from("null"));
        let (thoughts_out, thoughts) = watch::channel(Arc::from("null"));
        let (session, analysts, notice) = first_session(&roster, &state_file);
        let view = |name: &str| EngineView::unknown(name);
        let is_known = |name: &String| roster.find(name).is_some();
        let analysts = analysts.into_iter().map(|settings| AnalystSettings {
            // It may have been named when the server was started last, but not now.
            engine: settings.engine.filter(is_known),
            ..settings
        });
        let table = Table {
            probed: roster.engines().iter().map(|spec| view(&spec.name)).collect(),
            state_file,
            library: library.clone(),
            session,
            // The page must not take the nodes of a restarted server for those that it knew.
            board: u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0),
            edition: 0,
            file: None,
            files: 0,
            analysts: Analyst::all(analysts.collect()),
            crew: Crew::new(events),
            failed_at: None,
            stalled: false,
            notice,
            last_score: None,
            hint: None,
            looked: None,
            analysed: Analysed::default(),
            tree_questions: Vec::new(),
            game_out,
            thoughts_out,
            roster,
        };
        let probed = probe(&table.roster);
        tokio::spawn(table.run(received, reported, probed));
        TableHandle { requests, library, game, thoughts }
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

    /// Ignores failed answers, because the sender of a request may be gone.
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
            Request::Load(file, replace, answer) => {
                let result = self.open(*file, 0, replace);
                if let Ok(notice) = &result {
                    (self.stalled, self.failed_at) = (false, None);
                    self.notice.clone_from(notice);
                    self.changed().await;
                }
                let _ = answer.send(result.map(drop));
            }
            Request::Headlines(answer) => {
                let lines = self.file.as_ref().map(|(file, _)| file.headlines()).unwrap_or_default();
                let _ = answer.send(Ok(lines));
            }
            Request::Tree(moves, answer) => self.ask_tree(moves, answer),
            Request::Look(node, answer) => {
                let _ = answer.send(self.look(node));
            }
            Request::Annotate(annotated, answer) => {
                let is_same = annotated.edition == self.edition;
                if is_same {
                    self.session.annotate(annotated.game.tree);
                    self.changed().await;
                }
                let _ = answer.send(Ok(is_same));
            }
            Request::Attached => {
                if self.session.attach(Instant::now()) {
                    self.publish();
                }
            }
        }
    }

    fn act(&mut self, action: Action) -> Result<Option<u32>, ActionError> {
        let now = Instant::now();
        let mut added = None;
        match action {
            Action::New(new) => {
                for seat in [&new.white, &new.black] {
                    self.check_seat(seat)?;
                }
                let replace = new.replace;
                self.replace(Session::new(new)?, replace)?;
                self.file = None;
            }
            Action::Open { name, replace } => {
                let saved = self.library.read(&name)?;
                let wrong = |error| ActionError::NotNow(format!("{name} cannot be read: {error}."));
                let mut session = saved.session().map_err(wrong)?;
                // The file may have another name since it was written.
                session.name = Some(name);
                self.replace(session, replace)?;
                self.file = None;
                self.session.attach(now);
            }
            Action::Rename { name, to } => {
                self.library.rename(&name, &to)?;
                if self.session.name.as_ref() == Some(&name) {
                    self.session.name = Some(to);
                }
            }
            Action::Delete { name } => {
                if self.session.name.as_ref() == Some(&name) {
                    let text = "This game is on the board: begin or open another one first.";
                    return Err(ActionError::NotNow(text.to_owned()));
                }
                self.library.delete(&name)?;
            }
            Action::Restore { name } => self.library.restore(&name)?,
            Action::Choose { game, replace } => {
                let none = || ActionError::NotNow("No PGN is loaded: load one.".to_owned());
                let (file, _) = self.file.as_ref().ok_or_else(none)?;
                let loaded = file.game(game).map_err(|error| ActionError::Invalid(error.to_string()))?;
                self.replace(Session::loaded(loaded), replace)?;
                self.file.as_mut().expect("it is loaded").1 = game;
            }
            Action::Move { text, ply } => self.session.move_by_person(&text, ply, now)?,
            Action::TakeBack => self.session.take_back(now)?,
            Action::Resign => self.session.resign(now)?,
            Action::Draw => self.session.draw(self.last_score, now)?,
            Action::Analysis { on } => {
                let settings = AnalystSettings { on, paused: false, ..self.analysts[FIRST].settings.clone() };
                self.set_up(FIRST, settings)?;
            }
            Action::Analyst { number, settings } => self.set_up(number, settings)?,
            Action::Threat { on } => {
                let settings = AnalystSettings { on, ..self.analysts[THREAT].settings.clone() };
                self.turn_threat(settings);
            }
            Action::Variation { node, text } => {
                added = Some(self.session.add_variation(node, &text)?);
                self.looked = added;
            }
            Action::Edit { node, change, seen } => self.session.edit(node, &change, seen.as_deref())?,
            Action::Undo => self.session.undo(now)?,
            Action::Hint => self.ask_hint()?,
            Action::Retry => (),
        }
        self.stalled = false;
        self.failed_at = None;
        self.notice = None;
        Ok(added.map(NodeId::index))
    }

    fn look(&mut self, node: Option<u32>) -> Result<PositionView, ActionError> {
        self.looked = node.map(|index| self.session.node(index)).transpose()?;
        self.drive();
        self.publish_thoughts();
        Ok(PositionView::of(self.looked.unwrap_or(self.session.at()), self.analysed.game.as_ref()))
    }

    /// Puts game `number` of a file on the board. Returns a notice about unreadable games.
    fn open(&mut self, file: PgnFile, number: usize, replace: bool) -> Result<Option<String>, ActionError> {
        let loaded = file.game(number).map_err(|error| ActionError::Invalid(error.to_string()))?;
        let notice = file.broken.first().map(|why| {
            let count = file.broken.len();
            format!("Games that cannot be read are left out, {count} in all: {why}.")
        });
        self.replace(Session::loaded(loaded), replace)?;
        self.file = Some((file, number));
        self.files += 1;
        Ok(notice)
    }

    fn replace(&mut self, mut session: Session, replace: bool) -> Result<(), ActionError> {
        self.put_aside(replace)?;
        session.continue_revisions(self.session.revision());
        for color in SIDES {
            // Another strength may leave options at their defaults.
            if self.session.seats().get(color) != session.seats().get(color) {
                self.crew.dismiss(Role::Player(color));
            }
        }
        self.session = session;
        self.board += 1;
        self.looked = None;
        self.last_score = None;
        self.crew.new_game();
        Ok(())
    }

    /// Needs `replace` for an unfinished game, which stays in the library.
    fn put_aside(&mut self, replace: bool) -> Result<(), ActionError> {
        if self.session.is_at_stake() && !replace {
            let text =
                "The game on the board is not over: finish it, resign, or say that it may be replaced.";
            return Err(ActionError::NotNow(text.to_owned()));
        }
        if let Some((name, saved)) = self.library_file() {
            self.library.write(&name, &saved)?;
        }
        Ok(())
    }

    /// The game's file in the library, once it has a move and was played or edited here.
    fn library_file(&mut self) -> Option<(String, SavedGame)> {
        if !self.session.is_worth_keeping() {
            return None;
        }
        if self.session.name.is_none() {
            let date = jiff::Zoned::now().strftime("%Y.%m.%d").to_string();
            let [white, black] = self.session.labels();
            self.session.name = Some(self.library.free_name(&date, [&white, &black]));
            self.session.date.get_or_insert(date);
        }
        let saved = SavedGame::of(&self.session, Vec::new(), Instant::now());
        Some((self.session.name.clone()?, saved))
    }

    /// With the variations and comments of a loaded game.
    fn pgn(&self, date: &str) -> String {
        pgn_text(&self.session.pgn(date))
    }

    fn reviewed(&self) -> Result<ReviewedGame, ActionError> {
        if self.session.game().ply() == 0 {
            let text = "There is no move to review: play a game, or load a PGN.";
            return Err(ActionError::NotNow(text.to_owned()));
        }
        let (key, plies) = (key_of(self.session.game()), self.session.game().ply());
        Ok(ReviewedGame { key, plies, game: self.session.pgn("????.??.??"), edition: self.edition })
    }

    async fn changed(&mut self) {
        self.edition += 1;
        self.drive();
        let kept = self.library_file();
        self.publish();
        let saved = SavedGame::of(&self.session, Analyst::settings(&self.analysts), Instant::now());
        let (path, library) = (self.state_file.clone(), self.library.clone());
        let write = move || {
            saved.write(&path).map_err(|error| error.to_string())?;
            kept.map_or(Ok(()), |(name, saved)| library.write(&name, &saved))
                .map_err(|error| error.to_string())
        };
        if let Ok(Err(error)) = tokio::task::spawn_blocking(write).await {
            log::warn!("cannot save the game in {}: {error}", self.state_file.display());
            self.notice = Some(format!("The game cannot be saved on disk ({error}): is there space left?"));
            self.publish();
        }
    }

    fn publish(&mut self) {
        let mut view = TableView::of(&self.session, Instant::now());
        view.file = self.file.as_ref().map(|(file, chosen)| FileView {
            number: self.files,
            games: file.len(),
            chosen: *chosen,
        });
        view.board = self.board;
        view.analysis = self.analysts[FIRST].settings.on;
        view.analysts = Analyst::settings(&self.analysts);
        view.notice = self.notice.clone();
        view.stalled = self.stalled;
        view.thinking &= !self.stalled;
        view.engines = self.probed.clone();
        view.hint = self.hint.clone().filter(|hint| hint.revision == self.session.revision());
        send(&self.game_out, &view);
        self.publish_thoughts();
    }

    fn publish_thoughts(&self) {
        let thoughts =
            self.analysts.each_ref().map(|analyst| analyst.settings.on.then_some(&analyst.thoughts));
        send(&self.thoughts_out, &thoughts);
    }
}

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

/// Returns the saved session or a new one, the settings of the analysts, and a notice if the file is damaged.
fn first_session(
    roster: &Roster,
    state_file: &std::path::Path,
) -> (Session, Vec<AnalystSettings>, Option<String>) {
    let read = SavedGame::read(state_file)
        .and_then(|saved| saved.map(|saved| Ok((saved.analysts.clone(), saved.session()?))).transpose());
    let notice = match read {
        Ok(Some((analysts, session))) => return (session, analysts, None),
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
        Some(spec) => Seat::engine(&spec.name),
        None => Seat::Person,
    };
    let (start, clock) = (StartChoice::Standard, None);
    let new = NewGame { white: Seat::Person, black, start, clock, move_time_ms: 1000, replace: false };
    (Session::new(new).expect("the initial position is one"), Vec::new(), notice)
}
