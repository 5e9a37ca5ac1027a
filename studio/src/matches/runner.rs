//! The task that plays matches, one at a time: it deals games to lanes, counts, saves, and publishes what has changed.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::apps::matches::SprtDecision;
use serde::Deserialize;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

use super::lane::{Lane, LaneEvent, LaneGame, LaneReport};
use super::openings::OpeningBook;
use super::order::{MatchOrder, ThinkingTime};
use super::saved::{SavedMatch, SavedMatchError};
use super::standing::{Standing, results};
use super::view::{FinishedGame, MatchPhase, MatchView, board, names};
use crate::boards::Boards;
use crate::engines::Roster;
use crate::play::{ActionError, GameEnd, PgnHeader, Winner, write_pgn};

/// Finished games that are shown: every message has them.
const SHOWN_GAMES: usize = 20;

/// How long a change may be unsaved.
const SAVE_AFTER: Duration = Duration::from_secs(1);

/// What the page can ask for.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum MatchCommand {
    /// Begin a match.
    Begin(MatchOrder),
    /// Finish the running games, then stop.
    Finish,
    /// Stop at once, to be resumed later.
    Suspend,
    /// Go on with a suspended match, and its running games.
    Resume,
    /// Stop for good; running games are lost.
    Stop,
}

struct Request {
    command: MatchCommand,
    answer: oneshot::Sender<Result<(), ActionError>>,
}

/// Access to the match.
#[derive(Clone, Debug)]
pub struct MatchHandle {
    requests: mpsc::UnboundedSender<Request>,
    /// The match as JSON, a [`MatchView`]; `null` before the first one.
    pub state: watch::Receiver<Arc<str>>,
    /// The names of the books of openings.
    pub books: Arc<[String]>,
    pgn_file: PathBuf,
}

impl MatchHandle {
    /// Does what the page asks for.
    ///
    /// # Errors
    ///
    /// If it is not possible.
    pub async fn act(&self, command: MatchCommand) -> Result<(), ActionError> {
        let ended = || ActionError::NotNow("The server is shutting down.".to_owned());
        let (answer, answered) = oneshot::channel();
        self.requests.send(Request { command, answer }).map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }

    /// The finished games as PGN.
    pub fn pgn(&self) -> String {
        std::fs::read_to_string(&self.pgn_file).unwrap_or_default()
    }
}

/// A match, as far as it is played.
struct Current {
    order: MatchOrder,
    phase: MatchPhase,
    results: BTreeMap<usize, Winner>,
    /// The number of the next game to begin.
    next: usize,
    /// Games that were begun and wait for a lane.
    waiting: VecDeque<LaneGame>,
    /// Running games by their lanes.
    running: BTreeMap<usize, LaneGame>,
    lanes: Vec<(AbortHandle, mpsc::Sender<LaneGame>)>,
    finished: VecDeque<FinishedGame>,
    notice: Option<String>,
}

impl Current {
    fn new(order: MatchOrder) -> Current {
        Current {
            order,
            phase: MatchPhase::Suspended,
            results: BTreeMap::new(),
            next: 0,
            waiting: VecDeque::new(),
            running: BTreeMap::new(),
            lanes: Vec::new(),
            finished: VecDeque::new(),
            notice: None,
        }
    }

    fn is_running(&self) -> bool {
        matches!(self.phase, MatchPhase::Playing | MatchPhase::Finishing)
    }

    /// Ends all engines; running games wait to be continued.
    fn halt(&mut self) {
        self.lanes.drain(..).for_each(|(lane, _)| lane.abort());
        self.waiting.extend(std::mem::take(&mut self.running).into_values());
    }

    fn saved(&self) -> SavedMatch {
        let unfinished = self.running.values().chain(&self.waiting);
        let (order, results) = (self.order.clone(), self.results.clone());
        let mut saved = SavedMatch::new(order, self.phase, results, self.next, unfinished);
        saved.finished = self.finished.iter().cloned().collect();
        saved.notice = self.notice.clone();
        saved
    }

    fn restored(saved: SavedMatch) -> Result<Current, SavedMatchError> {
        let waiting = saved.unfinished()?.into();
        let was_running = matches!(saved.phase, MatchPhase::Playing | MatchPhase::Finishing);
        let told = || "The server was restarted: resume the match to go on.".to_owned();
        Ok(Current {
            phase: if was_running { MatchPhase::Suspended } else { saved.phase },
            notice: if was_running { Some(told()) } else { saved.notice },
            results: saved.results,
            next: saved.next,
            waiting,
            finished: saved.finished.into(),
            ..Current::new(saved.order)
        })
    }
}

struct Runner {
    roster: Roster,
    books: Vec<OpeningBook>,
    boards: Boards,
    state_file: PathBuf,
    pgn_file: PathBuf,
    current: Option<Current>,
    /// Tells the lanes of this match from those of earlier ones.
    serial: u64,
    reports: mpsc::UnboundedSender<LaneReport>,
    out: watch::Sender<Arc<str>>,
    /// When the state has to be saved.
    save_at: Option<Instant>,
}

/// Starts the task, with the match that `state_file` holds or none. Finished games go into the PGN beside that file.
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
    let handle = MatchHandle { requests: sender, state, books: names, pgn_file: pgn_file.clone() };
    let (serial, save_at) = (0, None);
    let runner =
        Runner { roster, books, boards, state_file, pgn_file, current, serial, reports, out, save_at };
    tokio::spawn(runner.run(requests, reported));
    handle
}

impl Runner {
    async fn run(
        mut self,
        mut requests: mpsc::UnboundedReceiver<Request>,
        mut reports: mpsc::UnboundedReceiver<LaneReport>,
    ) {
        self.publish();
        loop {
            let save_at = self.save_at;
            tokio::select! {
                request = requests.recv() => {
                    let Some(Request { command, answer }) = request else { return };
                    let result = self.act(command);
                    if result.is_ok() {
                        self.save();
                        self.publish();
                    }
                    let _ = answer.send(result);
                }
                Some((serial, lane, event)) = reports.recv() => {
                    if serial == self.serial {
                        self.hear(lane, event);
                    }
                }
                () = sleep_until(save_at.unwrap_or_else(Instant::now)), if save_at.is_some() => self.save(),
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
                let cleared = std::fs::remove_file(&self.pgn_file);
                if cleared.is_err_and(|error| error.kind() != std::io::ErrorKind::NotFound) {
                    return not_now("The games of the last match cannot be removed: is the disk read-only?");
                }
                self.current = Some(Current::new(order));
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
            (
                MatchCommand::Stop,
                Some(MatchPhase::Playing | MatchPhase::Finishing | MatchPhase::Suspended),
            ) => {
                self.end(MatchPhase::Ended, None);
                self.with(|current| current.waiting.clear());
                Ok(())
            }
            (MatchCommand::Resume, _) => not_now("No match is suspended: begin one."),
            _ => not_now("No match is running."),
        }
    }

    fn with(&mut self, change: impl FnOnce(&mut Current)) {
        if let Some(current) = &mut self.current {
            change(current);
        }
    }

    /// Starts the engines and deals games to them.
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
            // One game at a time waits for each lane.
            let (games, dealt) = mpsc::channel(1);
            let lane = Lane {
                serial: self.serial,
                number,
                engines: [first.clone(), second.clone()],
                time: current.order.time,
                reports: self.reports.clone(),
            };
            let task = tokio::spawn(lane.run(dealt));
            current.lanes.push((task.abort_handle(), games));
        }
        self.deal();
    }

    /// Gives every idle lane its next game; ends the match if there is none and no game is running.
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
                    LaneGame { number, opening, game, left_ms }
                }
                None => break,
            };
            self.boards.set(&format!("match/{lane}"), &board(&current.order, &game));
            // A lane that has failed has said so.
            let _ = current.lanes[lane].1.try_send(game.clone());
            current.running.insert(lane, game);
        }
        if current.is_running() && current.running.is_empty() {
            self.end(MatchPhase::Ended, None);
        }
    }

    fn hear(&mut self, lane: usize, event: LaneEvent) {
        let Some(current) = &mut self.current else { return };
        match event {
            LaneEvent::Moved { uci, left_ms } => {
                let Some(live) = current.running.get_mut(&lane) else { return };
                if let Ok(m) = live.game.parse(&uci)
                    && live.game.play(m).is_ok()
                {
                    live.left_ms = left_ms;
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
        let pgn = write_pgn(&live.game, [&white, &black], Some(end), header);
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

    /// Ends the match if its test has decided.
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

    /// Ends all engines.
    fn end(&mut self, phase: MatchPhase, notice: Option<String>) {
        self.serial += 1;
        self.with(|current| {
            current.halt();
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
        let view = MatchView {
            phase: current.phase,
            order: current.order.clone(),
            sprt: current.order.sprt.clone(),
            standing,
            boards: (0..current.order.at_once).map(|lane| format!("match/{lane}")).collect(),
            finished: current.finished.iter().cloned().collect(),
            notice: current.notice.clone(),
        };
        self.out.send_replace(serde_json::to_string(&view).expect("views can be written as JSON").into());
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::engines::EngineSpec;
    use serde_json::{Value, json};

    /// An engine in shell that does this at `go`; `$p` is the position.
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

    /// White mates in one; whoever has White wins.
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
        assert_eq!(boards.subscribe().borrow().len(), 3);
        let pgn = handle.pgn();
        assert_eq!((pgn.matches("1. Ra8# 1-0").count(), pgn.matches("[Round \"3\"]").count()), (6, 2));
    }

    #[tokio::test]
    async fn the_test_ends_a_match() {
        let folder = tempfile::tempdir().unwrap();
        // Whoever has White mates: an even match.
        let (handle, _) = matches(&folder, vec![shell("A", "echo bestmove a1a8")]);
        let mut wanted = order("A", "A", 200);
        wanted["sprt"] = json!({"elo0": 200.0, "elo1": 400.0});
        act(&handle, wanted).await.unwrap();
        let view = wait_for(&handle, |view| view["phase"] == "ended").await;
        assert!(
            view["notice"]
                .as_str()
                .unwrap()
                .starts_with("The test has decided: stronger by no more than 200")
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
        // The first answers of each process make a move, then it waits for ever.
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
        let pgn = again.pgn();
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
        for wrong in
            [order("A", "nobody", 2), order("A", "A", 3), json!({"do": "stop"}), json!({"do": "resume"})]
        {
            assert!(act(&handle, wrong).await.is_err());
        }
        act(&handle, order("A", "A", 2)).await.unwrap();
        let view = wait_for(&handle, |view| view["phase"] == "suspended").await;
        let notice = view["notice"].as_str().unwrap();
        assert!(notice.contains("A ended (exit status: 3)"), "{notice}");
        act(&handle, order("Slow", "Slow", 2)).await.unwrap();
        assert!(act(&handle, order("A", "A", 2)).await.is_err(), "a match is running");
        act(&handle, json!({"do": "finish"})).await.unwrap();
        wait_for(&handle, |view| view["phase"] == "finishing").await;
        act(&handle, json!({"do": "stop"})).await.unwrap();
        wait_for(&handle, |view| view["phase"] == "ended").await;
        assert!(handle.pgn().is_empty());
    }

    #[tokio::test]
    async fn who_oversteps_the_clock_loses() {
        let folder = tempfile::tempdir().unwrap();
        let (handle, _) = matches(&folder, vec![shell("A", ":")]);
        let mut wanted = order("A", "A", 2);
        wanted["time"] = json!({"clock": {"base_ms": 100, "increment_ms": 0}});
        act(&handle, wanted).await.unwrap();
        let view = wait_for(&handle, |view| view["phase"] == "ended").await;
        // White has a rook, Black pawns, so both could mate.
        assert_eq!(view["finished"][0]["text"], "Black wins on time.");
        assert_eq!(view["standing"]["games"], json!([1, 0, 1]));
    }
}
