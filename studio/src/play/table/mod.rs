//! The task that owns a board: executes the page's actions, lets the engines move, saves, and publishes changes.

mod engines;
mod hints;
mod shown;
mod tree;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::chess::pgn::{MoveTree, NodeId};
use engine::search::Score;
use serde::Serialize;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};

use super::action::{Action, Answer, Opened, Request, ReviewedGame, TableHandle};
use super::analysts::{ANALYSTS, Analyst, AnalystSettings, FIRST, THREAT};
use super::board_list::{BoardList, BoardSummary};
use super::crew::{Crew, CrewEvent, Role};
use super::file::PgnFile;
use super::hint::Hint;
use super::library::Library;
use super::pgn::{SIDES, pgn_text};
use super::played::PlayedGame;
use super::probe::KnownEngines;
use super::saved::SavedGame;
use super::seats::ActionError;
use super::session::Session;
use super::thoughts::{PositionValue, Thoughts};
use super::tree::TreeView;
use super::variations::PositionView;
use super::view::{FileView, TableView, key_of};
use crate::boards::Boards;
use crate::engines::Roster;

/// What all boards share.
#[derive(Clone, Debug)]
pub struct Around {
    pub roster: Roster,
    pub engines: KnownEngines,
    pub library: Library,
    /// Where games and thoughts are published, as `play/ID` and `thoughts/ID`.
    pub boards: Boards,
    pub list: BoardList,
    /// A board that is analysed holds one.
    pub permits: Arc<Semaphore>,
    /// A board waits for a permit: those that nobody looks at give theirs up.
    pub wanted: Arc<Notify>,
    /// How long engines run on after the last tab has left the board.
    pub linger: Duration,
}

pub struct Table {
    around: Around,
    id: u32,
    state_file: PathBuf,
    session: Session,
    /// Another number is another game, with another tree.
    number: u64,
    /// Grows with every change of the game, its comments and variations.
    edition: u64,
    /// The last loaded games, and the index of the shown one.
    file: Option<(Arc<PgnFile>, usize)>,
    files: u64,
    analysts: [Analyst; ANALYSTS],
    crew: Crew,
    /// Role and number of the last failed search. After a second one there, the engine is not restarted.
    failed_at: Option<(Role, u64)>,
    stalled: bool,
    notice: Option<String>,
    /// The playing engine's last score, from its own view.
    last_score: Option<Score>,
    /// The number of the playing engine's search, the first move of its best line, and the line's value.
    move_value: Option<(u64, String, PositionValue)>,
    /// The newest value of each node's position, from the first analysing engine or from the engine whose move led there.
    values: BTreeMap<u32, PositionValue>,
    /// The last one that was asked for.
    hint: Option<Hint>,
    /// The node that was looked at last; `None` is the game's last position.
    looked: Option<NodeId>,
    analysed: Analysed,
    /// Pending tree queries, in the order of their answers.
    /// With the lines that they are about.
    tree_questions: Vec<(Vec<String>, Answer<TreeView>)>,
    /// Some tab shows the board.
    is_shown: bool,
    /// A person may be looking at it: the tab is not hidden.
    is_seen: bool,
    /// Nobody has looked at the board for a while: only an engine that is to move runs.
    is_asleep: bool,
    /// When it falls asleep.
    sleeps_at: Option<Instant>,
    permit: Option<OwnedSemaphorePermit>,
}

/// What the analysts search.
#[derive(Default)]
struct Analysed {
    number: u64,
    /// `None` if nothing can be analysed there.
    game: Option<PlayedGame>,
}

/// Names under which tabs ask for a board.
pub fn names(id: u32) -> [String; 2] {
    [format!("play/{id}"), format!("thoughts/{id}")]
}

/// What a tab says to show besides while its window is visible: only then a suspended game goes on.
pub fn eyes_on(id: u32) -> String {
    format!("eyes/{id}")
}

impl Table {
    /// The task ends when the board is closed, or with the runtime.
    pub(super) fn start(around: &Around, id: u32, state_file: PathBuf, opened: Opened) -> TableHandle {
        let (requests, received) = mpsc::unbounded_channel();
        let (events, reported) = mpsc::unbounded_channel();
        let is_known = |name: &String| around.roster.find(name).is_some();
        let analysts = opened.analysts.into_iter().map(|settings| AnalystSettings {
            // It may have been named when the server was started last, but not now.
            engine: settings.engine.filter(is_known),
            ..settings
        });
        let table = Table {
            around: around.clone(),
            id,
            state_file,
            session: opened.session,
            // The page must not take the nodes of a restarted server for those that it knew.
            number: u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0),
            edition: 0,
            files: u64::from(opened.file.is_some()),
            file: opened.file,
            analysts: Analyst::all(analysts.collect()),
            crew: Crew::new(events),
            failed_at: None,
            stalled: false,
            notice: opened.notice,
            last_score: None,
            move_value: None,
            values: BTreeMap::new(),
            hint: None,
            looked: None,
            analysed: Analysed::default(),
            tree_questions: Vec::new(),
            is_shown: false,
            is_seen: false,
            is_asleep: true,
            sleeps_at: None,
            permit: None,
        };
        around.list.note(table.summary());
        tokio::spawn(table.run(received, reported));
        TableHandle { requests }
    }

    async fn run(
        mut self,
        mut requests: mpsc::UnboundedReceiver<Request>,
        mut events: mpsc::UnboundedReceiver<CrewEvent>,
    ) {
        let mut shown = self.around.boards.shown();
        self.look_around(&shown.borrow_and_update());
        // A board that was open before is on disk already.
        match self.state_file.exists() {
            true => {
                self.drive();
                self.publish();
            }
            false => self.changed().await,
        }
        let wanted = self.around.wanted.clone();
        loop {
            let falls = self.session.clock().and_then(super::clock::ChessClock::flag_falls);
            let falls = falls.filter(|_| self.session.end().is_none());
            let next = falls.into_iter().chain(self.sleeps_at).min();
            let permits = self.around.permits.clone();
            tokio::select! {
                request = requests.recv() => match request {
                    Some(Request::Close(answer)) => {
                        let saved = self.save().await;
                        let is_saved = saved.is_ok();
                        let _ = answer.send(saved.map_err(|error| ActionError::NotNow(unsaved(&error))));
                        if is_saved {
                            return;
                        }
                    }
                    Some(request) => self.receive(request).await,
                    None => return,
                },
                Some((role, number, event)) = events.recv() => {
                    if self.crew.is_current(role, number) {
                        self.hear(role, event).await;
                    }
                }
                Ok(()) = shown.changed() => {
                    self.look_around(&shown.borrow_and_update());
                }
                Ok(permit) = permits.acquire_owned(), if self.waits() => self.take_permit(permit),
                () = wanted.notified(), if self.sleeps_at.is_some() => self.fall_asleep(),
                () = tokio::time::sleep_until(next.unwrap_or_else(Instant::now).into()), if next.is_some() => {
                    self.pass_time().await;
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
            Request::Put(opened, answer) => {
                let refused = if self.is_empty() { self.put(*opened).await } else { Some(opened) };
                let _ = answer.send(Ok(refused.map(|opened| self.with_analysts(opened))));
            }
            Request::Choose(number, answer) => {
                let _ = answer.send(self.choose(number).await);
            }
            Request::Rename(name, to, answer) => {
                let result = self.around.library.rename(&name, &to);
                if result.is_ok() && self.session.name.as_ref() == Some(&name) {
                    self.session.name = Some(to);
                    self.changed().await;
                }
                let _ = answer.send(result);
            }
            // The task ends with this one.
            Request::Close(_) => (),
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
        }
    }

    fn act(&mut self, action: Action) -> Result<Option<u32>, ActionError> {
        let now = Instant::now();
        let mut added = None;
        match action {
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
                added = Some(self.session.add_variation(node, &text, now)?);
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

    /// Nothing was played or loaded here, and no engine is to move.
    fn is_empty(&self) -> bool {
        let tree = self.session.tree();
        let has_notes =
            tree.first_child(MoveTree::ROOT).is_some() || !tree.notes(MoveTree::ROOT).comments.is_empty();
        self.file.is_none()
            && !self.session.is_loaded
            && !has_notes
            && self.session.engine_to_move().is_none()
    }

    /// The game's own board is analysed like this one. But whoever begins a game against an engine is not told its moves
    /// because another board was analysed.
    fn with_analysts(&self, opened: Box<Opened>) -> Box<Opened> {
        let mut analysts = Analyst::settings(&self.analysts);
        if opened.session.is_against_engine() && !self.session.is_against_engine() {
            analysts.iter_mut().for_each(|settings| settings.on = false);
        }
        Box::new(Opened { analysts, ..*opened })
    }

    /// Another game of the file; the chosen one is given back if the present one is at stake.
    async fn choose(&mut self, number: usize) -> Result<Option<Box<Opened>>, ActionError> {
        let none = || ActionError::NotNow("No PGN is loaded: load one.".to_owned());
        let (file, _) = self.file.as_ref().ok_or_else(none)?;
        let opened = Opened::of_file(file.clone(), number)?;
        match self.session.is_at_stake() {
            true => Ok(Some(self.with_analysts(Box::new(opened)))),
            false => Ok(self.put(opened).await),
        }
    }

    /// In place of the present game, which stays in the library. Gives the other one back if that cannot be written.
    async fn put(&mut self, opened: Opened) -> Option<Box<Opened>> {
        if self.save().await.is_err() {
            return Some(Box::new(opened));
        }
        let Opened { mut session, file, notice, .. } = opened;
        session.continue_revisions(self.session.revision());
        for color in SIDES {
            // Another strength may leave options at their defaults.
            if self.session.seats().get(color) != session.seats().get(color) {
                self.crew.dismiss(Role::Player(color));
            }
        }
        self.session = session;
        if self.is_seen {
            self.session.attach(Instant::now());
        }
        let is_same = match (&self.file, &file) {
            (Some((before, _)), Some((after, _))) => Arc::ptr_eq(before, after),
            _ => false,
        };
        self.files += u64::from(!is_same);
        (self.file, self.notice) = (file, notice);
        self.number += 1;
        self.looked = None;
        self.last_score = None;
        self.values.clear();
        (self.stalled, self.failed_at) = (false, None);
        self.crew.new_game();
        self.changed().await;
        None
    }

    /// The game's file in the library, once it has a move and was played or edited here.
    fn library_file(&mut self) -> Option<(String, SavedGame)> {
        if !self.session.is_worth_keeping() {
            return None;
        }
        if self.session.name.is_none() {
            let date = jiff::Zoned::now().strftime("%Y.%m.%d").to_string();
            let [white, black] = self.session.labels();
            self.session.name = Some(self.around.library.free_name(&date, [&white, &black]));
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
        Ok(ReviewedGame {
            board: self.id,
            key,
            plies,
            game: self.session.pgn("????.??.??"),
            edition: self.edition,
        })
    }

    async fn changed(&mut self) {
        self.edition += 1;
        self.drive();
        // Tabs see a change before it is on disk.
        let _ = self.library_file();
        self.publish();
        if let Err(error) = self.save().await {
            self.notice = Some(unsaved(&error));
            self.publish();
        }
    }

    /// Writes the board's state and the game's file in the library.
    async fn save(&mut self) -> Result<(), String> {
        let kept = self.library_file();
        let saved = SavedGame::of(&self.session, Analyst::settings(&self.analysts), Instant::now());
        let (path, library) = (self.state_file.clone(), self.around.library.clone());
        let write = move || {
            saved.write(&path).map_err(|error| error.to_string())?;
            kept.map_or(Ok(()), |(name, saved)| library.write(&name, &saved))
                .map_err(|error| error.to_string())
        };
        let written = tokio::task::spawn_blocking(write).await.unwrap_or(Ok(()));
        written
            .inspect_err(|error| log::warn!("cannot save the game in {}: {error}", self.state_file.display()))
    }

    fn summary(&self) -> BoardSummary {
        BoardSummary::of(self.id, &self.session, self.stalled)
    }

    fn publish(&mut self) {
        let mut view = TableView::of(&self.session, Instant::now());
        view.file = self.file.as_ref().map(|(file, chosen)| FileView {
            number: self.files,
            games: file.len(),
            chosen: *chosen,
        });
        (view.id, view.number) = (self.id, self.number);
        view.analysis = self.analysts[FIRST].settings.on;
        view.analysts = Analyst::settings(&self.analysts);
        view.notice = self.notice.clone();
        view.stalled = self.stalled;
        view.thinking &= !self.stalled && !self.rests();
        view.waits = self.waits();
        view.hint = self.hint.clone().filter(|hint| hint.revision == self.session.revision());
        self.around.boards.set(&names(self.id)[0], &view);
        self.around.list.note(self.summary());
        self.publish_thoughts();
    }

    fn publish_thoughts(&self) {
        let none = BTreeMap::new();
        let thoughts: [_; ANALYSTS] = std::array::from_fn(|number| {
            let Analyst { settings, thoughts, .. } = &self.analysts[number];
            let values = if number == FIRST { &self.values } else { &none };
            settings.on.then_some(PublishedThoughts { thoughts, values })
        });
        self.around.boards.set(&names(self.id)[1], &thoughts);
    }
}

#[derive(Serialize)]
struct PublishedThoughts<'a> {
    #[serde(flatten)]
    thoughts: &'a Thoughts,
    /// By node.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    values: &'a BTreeMap<u32, PositionValue>,
}

fn unsaved(error: &str) -> String {
    format!("The game cannot be saved on disk ({error}): is there space left?")
}
