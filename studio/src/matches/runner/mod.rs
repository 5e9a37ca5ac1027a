//! The task that plays matches, one at a time: gives games to lanes, counts, saves, and publishes changes.

mod current;
#[cfg(all(test, unix))]
mod tests;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::apps::matches::SprtDecision;
use serde::Deserialize;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

use self::current::{Current, LaneHandle};
use super::earlier::{self, EarlierMatch};
use super::lane::{Lane, LaneEvent, LaneGame, LaneReport};
use super::minds::{MovesView, TreeQuestion};
use super::openings::OpeningBook;
use super::order::{MatchOrder, ThinkingTime};
use super::replay::{self, ReplayView};
use super::saved::SavedMatch;
use super::standing::{Standing, results};
use super::view::{ClockView, FinishedGame, MatchPhase, MatchView, board, names};
use crate::boards::Boards;
use crate::engines::Roster;
use crate::play::{ActionError, GameEnd, PgnHeader, TreeView, pgn_game, pgn_text};

/// Last games that the page shows; every message contains them all.
const SHOWN_GAMES: usize = 20;

/// In characters.
const LONGEST_NAME: usize = 80;

/// In milliseconds.
const LONGEST_DELAY: u32 = 60_000;

const TREE_TIME: Duration = Duration::from_secs(3);

const SAVE_AFTER: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum MatchCommand {
    Begin(MatchOrder),
    Finish,
    Suspend,
    Resume,
    /// Between moves, also of running games.
    Delay {
        ms: u32,
    },
    /// Running games are lost.
    Stop,
    /// Puts the present match aside and shows an earlier one.
    Open {
        number: u32,
    },
    /// An empty name takes the name away.
    Rename {
        /// `None` is the present match.
        number: Option<u32>,
        to: String,
    },
    /// Of an earlier match.
    Delete {
        number: u32,
    },
    /// Take a deletion back.
    Restore {
        number: u32,
    },
}

/// `None` for an empty name.
fn checked_name(text: &str) -> Result<Option<String>, ActionError> {
    let text = text.trim();
    if text.chars().count() > LONGEST_NAME || text.chars().any(char::is_control) {
        let told = format!("A name has at most {LONGEST_NAME} characters, in one line.");
        return Err(ActionError::Invalid(told));
    }
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

fn told<E: std::fmt::Display>(what: &str, number: u32, result: Result<(), E>) -> Result<(), ActionError> {
    result.map_err(|error| ActionError::NotNow(format!("Match {number} cannot be {what}: {error}.")))
}

enum Request {
    Act(MatchCommand, oneshot::Sender<Result<(), ActionError>>),
    /// Of the game in a lane.
    Tree(usize, TreeQuestion),
}

#[derive(Clone, Debug)]
pub struct MatchHandle {
    requests: mpsc::UnboundedSender<Request>,
    /// A [`MatchView`] as JSON; `null` before the first match.
    pub state: watch::Receiver<Arc<str>>,
    pub books: Arc<[String]>,
    state_file: PathBuf,
}

impl MatchHandle {
    pub async fn act(&self, command: MatchCommand) -> Result<(), ActionError> {
        let ended = || ActionError::NotNow("The server is shutting down.".to_owned());
        let (answer, answered) = oneshot::channel();
        self.requests.send(Request::Act(command, answer)).map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }

    /// The search tree of a side's engine after a line from the position that it searched last.
    pub async fn tree(&self, lane: usize, white: bool, moves: Vec<String>) -> Result<TreeView, ActionError> {
        let none = || ActionError::NotNow("No game is being played there.".to_owned());
        let late = |_| {
            ActionError::NotNow("The engine does not show its search tree: only Philidor does.".to_owned())
        };
        let (answer, answered) = oneshot::channel();
        let question = TreeQuestion { white, moves, answer };
        self.requests.send(Request::Tree(lane, question)).map_err(|_| none())?;
        tokio::time::timeout(TREE_TIME, answered).await.map_err(late)?.map_err(|_| none())?
    }

    /// A finished game move by move; `None` if it is not in the file. `number` is that of an earlier match.
    pub fn replay(&self, number: Option<u32>, game: usize) -> Option<ReplayView> {
        let of_present = || self.state_file.clone();
        let state = number.map_or_else(of_present, |number| earlier::state_of(&self.state_file, number));
        let first = SavedMatch::read(&state).ok()??.order.first;
        replay::find(self.pgn(number).as_bytes(), &first, game)
    }

    /// Of an earlier match, if a number is given.
    pub fn pgn(&self, number: Option<u32>) -> String {
        let of_present = || self.state_file.with_extension("pgn");
        let file = number.map_or_else(of_present, |number| earlier::pgn_of(&self.state_file, number));
        std::fs::read_to_string(file).unwrap_or_default()
    }

    pub fn earlier(&self) -> Vec<EarlierMatch> {
        earlier::list(&self.state_file)
    }
}

struct Runner {
    roster: Roster,
    books: Vec<OpeningBook>,
    boards: Boards,
    state_file: PathBuf,
    pgn_file: PathBuf,
    current: Option<Current>,
    /// Distinguishes the lanes of this match from those of earlier matches.
    serial: u64,
    /// Counts the matches that were begun or opened.
    edition: u64,
    reports: mpsc::UnboundedSender<LaneReport>,
    out: watch::Sender<Arc<str>>,
    /// Between moves, in milliseconds.
    delay: watch::Sender<u32>,
    save_at: Option<Instant>,
}

/// Continues the match of `state_file`, if any. Finished games go to the PGN beside that file.
pub fn start(roster: Roster, books: Vec<OpeningBook>, boards: Boards, state_file: PathBuf) -> MatchHandle {
    let (sender, requests) = mpsc::unbounded_channel();
    let (reports, reported) = mpsc::unbounded_channel();
    let (out, state) = watch::channel(Arc::from("null"));
    let pgn_file = state_file.with_extension("pgn");
    let names: Arc<[String]> = books.iter().map(|book| book.name.clone()).collect();
    let current =
        match SavedMatch::read(&state_file).and_then(|saved| saved.map(Current::restored).transpose()) {
            Ok(current) => current,
            Err(error) => {
                let kept = state_file.with_extension("json.damaged");
                log::warn!("the saved match {}: {error}; kept as {}", state_file.display(), kept.display());
                let _ = std::fs::rename(&state_file, &kept);
                None
            }
        };
    let handle = MatchHandle { requests: sender, state, books: names, state_file: state_file.clone() };
    let (serial, edition, save_at) = (0, 0, None);
    let delay = watch::Sender::new(current.as_ref().map_or(0, |current| current.delay_ms));
    let runner = Runner {
        roster,
        books,
        boards,
        state_file,
        pgn_file,
        current,
        serial,
        edition,
        reports,
        out,
        delay,
        save_at,
    };
    tokio::spawn(runner.run(requests, reported));
    handle
}

impl Runner {
    async fn run(
        mut self,
        mut requests: mpsc::UnboundedReceiver<Request>,
        mut reports: mpsc::UnboundedReceiver<LaneReport>,
    ) {
        self.show_waiting();
        self.publish();
        loop {
            let save_at = self.save_at;
            tokio::select! {
                // What was played before a request came belongs to the games that it suspends.
                biased;
                Some((serial, lane, event)) = reports.recv() => {
                    if serial == self.serial {
                        self.hear(lane, event);
                    }
                }
                request = requests.recv() => {
                    let Some(request) = request else { return };
                    self.take(request);
                }
                () = sleep_until(save_at.unwrap_or_else(Instant::now)), if save_at.is_some() => self.save(),
            }
        }
    }

    fn take(&mut self, request: Request) {
        match request {
            Request::Act(command, answer) => {
                let result = self.act(command);
                if result.is_ok() {
                    self.save();
                    self.publish();
                }
                let _ = answer.send(result);
            }
            Request::Tree(lane, question) => {
                // Without a lane the question is dropped, which answers it.
                if let Some(lane) = self.current.as_ref().and_then(|current| current.lanes.get(lane)) {
                    let _ = lane.questions.send(question);
                }
            }
        }
    }

    fn act(&mut self, command: MatchCommand) -> Result<(), ActionError> {
        let not_now = |text: &str| Err(ActionError::NotNow(text.to_owned()));
        let phase = self.current.as_ref().map(|current| current.phase);
        match (command, phase) {
            (MatchCommand::Begin(_), Some(MatchPhase::Playing | MatchPhase::Finishing)) => {
                not_now("A match is running: stop it first.")
            }
            (MatchCommand::Begin(order), _) => {
                let names: Vec<String> = self.books.iter().map(|book| book.name.clone()).collect();
                order.check(&self.roster, &names)?;
                self.set_aside()?;
                let delay_ms = *self.delay.borrow();
                self.current = Some(Current { delay_ms, ..Current::new(order) });
                self.edition += 1;
                self.boards.replace("match/", &[]);
                self.play();
                Ok(())
            }
            (MatchCommand::Finish, Some(MatchPhase::Playing)) => {
                self.with(|current| current.phase = MatchPhase::Finishing);
                self.deal();
                Ok(())
            }
            (MatchCommand::Suspend, Some(MatchPhase::Playing | MatchPhase::Finishing)) => {
                self.end(MatchPhase::Suspended, None);
                Ok(())
            }
            (MatchCommand::Resume, Some(MatchPhase::Suspended)) => {
                self.play();
                Ok(())
            }
            (MatchCommand::Delay { ms }, _) if ms > LONGEST_DELAY => {
                Err(ActionError::Invalid("The delay between moves is at most a minute.".to_owned()))
            }
            (MatchCommand::Delay { ms }, Some(_)) => {
                self.with(|current| current.delay_ms = ms);
                self.delay.send_replace(ms);
                Ok(())
            }
            (
                MatchCommand::Stop,
                Some(MatchPhase::Playing | MatchPhase::Finishing | MatchPhase::Suspended),
            ) => {
                self.end(MatchPhase::Ended, None);
                self.with(|current| current.waiting.clear());
                Ok(())
            }
            (MatchCommand::Open { .. }, Some(MatchPhase::Playing | MatchPhase::Finishing)) => {
                not_now("A match is running: suspend or stop it first.")
            }
            (MatchCommand::Open { number }, _) => self.open(number),
            (MatchCommand::Rename { number: None, to }, Some(_)) => {
                let name = checked_name(&to)?;
                self.with(|current| current.name = name);
                Ok(())
            }
            (MatchCommand::Rename { number: Some(number), to }, _) => {
                let name = checked_name(&to)?;
                told("renamed", number, earlier::rename_match(&self.state_file, number, name))
            }
            (MatchCommand::Delete { number }, _) => {
                told("deleted", number, earlier::delete(&self.state_file, number))
            }
            (MatchCommand::Restore { number }, _) => {
                told("brought back", number, earlier::restore(&self.state_file, number))
            }
            (MatchCommand::Resume, _) => not_now("No match is suspended: begin one."),
            _ => not_now("No match is running."),
        }
    }

    /// The present match stays among the earlier ones, where it can be resumed if it is suspended.
    fn set_aside(&mut self) -> Result<(), ActionError> {
        self.save();
        earlier::set_aside(&self.state_file).map_err(|error| {
            let file = self.state_file.display();
            ActionError::NotNow(format!("The last match in {file} cannot be set aside ({error})."))
        })
    }

    fn open(&mut self, number: u32) -> Result<(), ActionError> {
        let file = earlier::state_of(&self.state_file, number);
        let wrong = |why: String| ActionError::NotNow(format!("{} cannot be read: {why}.", file.display()));
        let saved = SavedMatch::read(&file).map_err(|error| wrong(error.to_string()))?;
        let saved = saved.ok_or_else(|| wrong("it is not there any more".to_owned()))?;
        let current = Current::restored(saved).map_err(|error| wrong(error.to_string()))?;
        self.set_aside()?;
        earlier::take_out(&self.state_file, number).map_err(|error| wrong(error.to_string()))?;
        self.delay.send_replace(current.delay_ms);
        self.current = Some(current);
        self.edition += 1;
        self.show_waiting();
        Ok(())
    }

    /// Puts the games that wait to be continued on the boards, and nothing else: tabs may still have their running clocks.
    fn show_waiting(&self) {
        let Some(current) = &self.current else { return };
        let waiting = || current.waiting.iter().take(current.order.at_once as usize).enumerate();
        let lanes = waiting().map(|(lane, game)| (format!("match/{lane}"), board(&current.order, game)));
        self.boards.replace("match/", &lanes.collect::<Vec<_>>());
        for (lane, game) in waiting() {
            self.boards.set(&format!("match/{lane}/moves"), &MovesView::of(game));
            if let Some(clock) = ClockView::standing(game) {
                self.boards.set(&format!("match/{lane}/clock"), &clock);
            }
        }
    }

    fn with(&mut self, change: impl FnOnce(&mut Current)) {
        if let Some(current) = &mut self.current {
            change(current);
        }
    }

    fn play(&mut self) {
        self.serial += 1;
        let Some(current) = &mut self.current else { return };
        let find = |name: &String| self.roster.find(name).cloned();
        let (Some(first), Some(second)) = (find(&current.order.first), find(&current.order.second)) else {
            let missing =
                "An engine of this match is not there any more: start the studio with it, then resume.";
            current.notice = Some(missing.to_owned());
            return;
        };
        current.notice = None;
        current.phase = MatchPhase::Playing;
        for number in 0..current.order.at_once as usize {
            // At most one game waits for each lane.
            let (games, dealt) = mpsc::channel(1);
            let (questions, asked) = mpsc::unbounded_channel();
            let lane = Lane {
                serial: self.serial,
                number,
                engines: [first.clone(), second.clone()],
                time: current.order.time,
                delay: self.delay.subscribe(),
                questions: asked,
                boards: self.boards.clone(),
                shown: Instant::now(),
                is_due: false,
                clock: None,
                reports: self.reports.clone(),
            };
            let task = tokio::spawn(lane.run(dealt));
            current.lanes.push(LaneHandle { task: task.abort_handle(), games, questions });
        }
        self.deal();
    }

    /// Gives idle lanes their next games. Ends the match if no game is left or running.
    fn deal(&mut self) {
        let Some(current) = &mut self.current else { return };
        for lane in 0..current.lanes.len() {
            if current.running.contains_key(&lane) {
                continue;
            }
            let is_open = current.phase == MatchPhase::Playing && current.next < current.order.games as usize;
            let game = match current.waiting.pop_front() {
                Some(game) => game,
                None if is_open => {
                    let name = &current.order.openings;
                    let book = self.books.iter().find(|book| book.name == *name).or(self.books.first());
                    let Some(book) = book else { break };
                    let (opening, game) = book.opening(current.next / 2);
                    let left_ms = match current.order.time {
                        ThinkingTime::MoveMs(_) => None,
                        ThinkingTime::Clock { base_ms, .. } => Some([u64::from(base_ms); 2]),
                    };
                    let number = current.next;
                    current.next += 1;
                    let records = vec![None; game.ply()];
                    LaneGame { number, opening, game, left_ms, records }
                }
                None => break,
            };
            self.boards.set(&format!("match/{lane}"), &board(&current.order, &game));
            // Fails if the lane has failed, which it has reported.
            let _ = current.lanes[lane].games.try_send(game.clone());
            current.running.insert(lane, game);
        }
        if current.is_running() && current.running.is_empty() {
            self.end(MatchPhase::Ended, None);
        }
    }

    fn hear(&mut self, lane: usize, event: LaneEvent) {
        let Some(current) = &mut self.current else { return };
        match event {
            LaneEvent::Moved { uci, left_ms, record } => {
                let Some(live) = current.running.get_mut(&lane) else { return };
                if let Ok(m) = live.game.parse(&uci)
                    && live.game.play(m).is_ok()
                {
                    live.left_ms = left_ms;
                    live.records.push(Some(record));
                    self.boards.set(&format!("match/{lane}"), &board(&current.order, live));
                }
                self.save_soon();
                return;
            }
            LaneEvent::Over(end) => {
                let Some(live) = current.running.remove(&lane) else { return };
                let mut shown = board(&current.order, &live);
                shown.end = Some(end.sentence());
                self.boards.set(&format!("match/{lane}"), &shown);
                self.record(&live, end);
                self.stop_if_decided();
                self.deal();
            }
            LaneEvent::Failed(reason) => {
                let told = format!("{reason}. The match is suspended: resume it to try again.");
                self.end(MatchPhase::Suspended, Some(told));
            }
        }
        self.save();
        self.publish();
    }

    fn record(&mut self, live: &LaneGame, end: GameEnd) {
        let Some(current) = &mut self.current else { return };
        let [white, black] = names(&current.order, live.first_is_white());
        let round = (live.number / 2 + 1).to_string();
        let header = PgnHeader { event: "Match", round: &round, date: "????.??.??" };
        let mut game = pgn_game(&live.game, [&white, &black], Some(end), header);
        game.add_tag(replay::NUMBER_TAG, &(live.number + 1).to_string());
        let nodes: Vec<_> = game.tree.main_line().collect();
        for ((ply, node), record) in nodes.into_iter().enumerate().zip(&live.records) {
            let white_moved = live.game.start_fen().contains(" w ") == ply.is_multiple_of(2);
            if let Some(record) = record.filter(|record| record.score.is_some()) {
                game.tree.add_comment(node, &record.comment(white_moved));
            }
        }
        let pgn = pgn_text(&game);
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&self.pgn_file);
        let written = file.and_then(|mut file| file.write_all(format!("{pgn}\n").as_bytes()));
        if let Err(error) = written {
            current.notice = Some(format!("Games cannot be saved on disk ({error}): is there space left?"));
        }
        current.results.insert(live.number, end.winner);
        if current.finished.len() == SHOWN_GAMES {
            current.finished.pop_front();
        }
        current.finished.push_back(FinishedGame {
            number: live.number,
            white,
            black,
            opening: live.opening.clone(),
            result: end.result().to_owned(),
            text: end.sentence(),
            plies: live.game.ply(),
        });
    }

    fn stop_if_decided(&mut self) {
        let Some(current) = &self.current else { return };
        let Some(sprt) = &current.order.sprt else { return };
        let results = results(&current.results);
        if sprt.decision(&results) != SprtDecision::Open {
            let told = format!("The test has decided: {}.", sprt.summary(&results));
            self.end(MatchPhase::Ended, Some(told));
            self.with(|current| current.waiting.clear());
        }
    }

    fn end(&mut self, phase: MatchPhase, notice: Option<String>) {
        self.serial += 1;
        let boards = self.boards.clone();
        self.with(|current| {
            // Before their clocks are stopped, so that none is started again.
            current.abort();
            for (lane, game) in &current.running {
                if let Some(clock) = ClockView::standing(game) {
                    boards.set(&format!("match/{lane}/clock"), &clock);
                }
            }
            current.put_aside();
            current.phase = phase;
            current.notice = notice.or(current.notice.take());
        });
    }

    fn save_soon(&mut self) {
        self.save_at.get_or_insert(Instant::now() + SAVE_AFTER);
    }

    fn save(&mut self) {
        self.save_at = None;
        let Some(current) = &mut self.current else { return };
        if let Err(error) = current.saved().write(&self.state_file) {
            log::warn!("cannot save the match in {}: {error}", self.state_file.display());
            current.notice =
                Some(format!("The match cannot be saved on disk ({error}): is there space left?"));
        }
    }

    fn publish(&self) {
        let Some(current) = &self.current else { return };
        let standing = Standing::of(&results(&current.results), current.order.sprt.as_ref());
        let boards = self.boards.subscribe();
        let shown = |name: &String| boards.borrow().contains_key(name);
        let view = MatchView {
            edition: self.edition,
            name: current.name.clone(),
            phase: current.phase,
            order: current.order.clone(),
            sprt: current.order.sprt.clone(),
            standing,
            boards: (0..current.order.at_once).map(|lane| format!("match/{lane}")).filter(shown).collect(),
            finished: current.finished.iter().cloned().collect(),
            delay_ms: current.delay_ms,
            notice: current.notice.clone(),
        };
        self.out.send_replace(serde_json::to_string(&view).expect("views can be written as JSON").into());
    }
}
