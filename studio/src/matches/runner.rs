//! The task that plays a match, one game at a time, and publishes what has changed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};

use super::openings::{MatchOpening, openings};
use super::score::{MatchScore, Rated};
use crate::engines::{EngineEvent, EngineHandle, Roster, SearchOrder, start as start_engine};
use crate::play::{ActionError, EndReason, GameEnd, PlayedGame, PlayedMove, Winner, write_pgn};

/// Games of a match, and milliseconds that an engine may be given for a move.
const GAMES: std::ops::RangeInclusive<u32> = 2..=1000;
const MOVE_TIMES: std::ops::RangeInclusive<u32> = 10..=60_000;

/// Plies after which a game counts as drawn.
const LONGEST_GAME: usize = 600;

/// Finished games that are shown: every message has them.
const SHOWN_GAMES: usize = 20;

/// A match to play.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatchOrder {
    /// The first engine, whose score is counted.
    pub first: String,
    /// The second engine.
    pub second: String,
    /// Games: each opening is played twice, with colours reversed.
    pub games: u32,
    /// Milliseconds a move.
    pub move_time_ms: u32,
}

/// What the page can ask for.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum MatchCommand {
    /// Begin a match.
    Begin(MatchOrder),
    /// Finish the running game, then stop.
    Finish,
    /// Stop at once.
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
    /// The match as JSON; `null` before the first one.
    pub state: watch::Receiver<Arc<str>>,
    games: Arc<Mutex<String>>,
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
        self.games.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Where a match stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Phase {
    Playing,
    /// Playing its last game.
    Finishing,
    Ended,
}

#[derive(Clone, Debug, Serialize)]
struct FinishedGame {
    white: String,
    black: String,
    opening: &'static str,
    result: &'static str,
    text: String,
    plies: usize,
}

#[derive(Clone, Debug, Serialize)]
struct LiveBoard {
    white: String,
    black: String,
    opening: &'static str,
    start_fen: String,
    ply: usize,
    last: Option<PlayedMove>,
}

#[derive(Clone, Debug, Serialize)]
struct MatchView {
    phase: Phase,
    first: String,
    second: String,
    games: u32,
    move_time_ms: u32,
    score: MatchScore,
    rated: Option<Rated>,
    finished: Vec<FinishedGame>,
    board: Option<LiveBoard>,
    notice: Option<String>,
}

struct Player {
    name: String,
    handle: EngineHandle,
    events: mpsc::UnboundedReceiver<EngineEvent>,
}

/// Why a game has no result.
enum Interruption {
    Stopped,
    Failed(String),
}

struct Runner {
    roster: Roster,
    requests: mpsc::UnboundedReceiver<Request>,
    out: watch::Sender<Arc<str>>,
    pgn: Arc<Mutex<String>>,
    next_search: u64,
}

/// Starts the task, which waits for a match.
pub fn start(roster: Roster) -> MatchHandle {
    let (sender, requests) = mpsc::unbounded_channel();
    let (out, state) = watch::channel(Arc::from("null"));
    let games = Arc::<Mutex<String>>::default();
    let runner = Runner { roster, requests, out, pgn: games.clone(), next_search: 0 };
    tokio::spawn(runner.run());
    MatchHandle { requests: sender, state, games }
}

impl Runner {
    async fn run(mut self) {
        while let Some(Request { command, answer }) = self.requests.recv().await {
            let checked = match command {
                MatchCommand::Begin(order) => self.check(&order).map(|()| order),
                _ => Err(ActionError::NotNow("No match is running.".to_owned())),
            };
            let begun = checked.as_ref().map(|_| ()).map_err(Clone::clone);
            let _ = answer.send(begun);
            if let Ok(order) = checked {
                self.play_match(order).await;
            }
        }
    }

    fn check(&self, order: &MatchOrder) -> Result<(), ActionError> {
        let invalid = |text: String| Err(ActionError::Invalid(text));
        for name in [&order.first, &order.second] {
            if self.roster.find(name).is_none() {
                return invalid(format!("There is no engine called {name}: choose another."));
            }
        }
        if !GAMES.contains(&order.games) || !order.games.is_multiple_of(2) {
            return invalid("A match has 2 to 1000 games, an even number: colours are reversed.".to_owned());
        }
        if !MOVE_TIMES.contains(&order.move_time_ms) {
            return invalid("An engine's time for a move is 0.01 to 60 seconds.".to_owned());
        }
        Ok(())
    }

    async fn play_match(&mut self, order: MatchOrder) {
        self.pgn.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let mut view = MatchView {
            phase: Phase::Playing,
            first: order.first.clone(),
            second: order.second.clone(),
            games: order.games,
            move_time_ms: order.move_time_ms,
            score: MatchScore::default(),
            rated: None,
            finished: Vec::new(),
            board: None,
            notice: None,
        };
        let mut players = [self.seat(&order.first), self.seat(&order.second)];
        let openings = openings();
        for number in 0..order.games as usize {
            let opening = &openings[number / 2 % openings.len()];
            let first_is_white = number.is_multiple_of(2);
            match self.play_game(&mut view, &mut players, opening, first_is_white).await {
                Ok((game, end)) => self.record(&mut view, opening, &game, end, first_is_white),
                Err(Interruption::Stopped) => break,
                Err(Interruption::Failed(reason)) => {
                    view.notice = Some(format!("{reason}. The match is stopped; its games are kept."));
                    break;
                }
            }
            if view.phase == Phase::Finishing {
                break;
            }
        }
        view.phase = Phase::Ended;
        self.publish(&view);
    }

    fn seat(&self, name: &str) -> Player {
        let spec = self.roster.find(name).expect("the order was checked");
        let (report, events) = mpsc::unbounded_channel();
        let handle = start_engine(spec, move |event| {
            let _ = report.send(event);
        });
        Player { name: name.to_owned(), handle, events }
    }

    async fn play_game(
        &mut self,
        view: &mut MatchView,
        players: &mut [Player; 2],
        opening: &MatchOpening,
        first_is_white: bool,
    ) -> Result<(PlayedGame, GameEnd), Interruption> {
        let mut game = opening.game.clone();
        let mut fresh = [true; 2];
        let [white, black] = names(view, first_is_white);
        view.board = Some(LiveBoard {
            white,
            black,
            opening: opening.name,
            start_fen: game.start_fen(),
            ply: 0,
            last: None,
        });
        loop {
            if let Some(board) = &mut view.board {
                (board.ply, board.last) = (game.ply(), game.moves().last().cloned());
            }
            self.publish(view);
            if let Some(end) = game.end() {
                return Ok((game, end));
            }
            if game.ply() >= LONGEST_GAME {
                return Ok((game, GameEnd { winner: Winner::Draw, reason: EndReason::TooLong }));
            }
            let index = usize::from(game.turn().is_white() != first_is_white);
            let fresh = std::mem::take(&mut fresh[index]);
            let text = self.ask(view, &mut players[index], &game, fresh).await?;
            let name = &players[index].name;
            let illegal =
                |_| Interruption::Failed(format!("{name} answered \"{text}\", which is no legal move"));
            let m = game.parse(&text).map_err(illegal)?;
            game.play(m).map_err(Interruption::Failed)?;
        }
    }

    /// The engine's move; meanwhile the page may ask for something.
    async fn ask(
        &mut self,
        view: &mut MatchView,
        player: &mut Player,
        game: &PlayedGame,
        new_game: bool,
    ) -> Result<String, Interruption> {
        self.next_search += 1;
        let wanted = self.next_search;
        player.handle.search(SearchOrder {
            id: wanted,
            options: Vec::new(),
            new_game,
            position: game.position_command(),
            go: format!("go movetime {}", view.move_time_ms),
            longest: Duration::from_millis(u64::from(view.move_time_ms)),
        });
        loop {
            tokio::select! {
                event = player.events.recv() => match event {
                    Some(EngineEvent::Best { id, text }) if id == wanted => return Ok(text),
                    Some(EngineEvent::Failed { reason }) => {
                        return Err(Interruption::Failed(format!("{} {reason}", player.name)));
                    }
                    Some(_) => (),
                    None => return Err(Interruption::Failed(format!("{} has ended", player.name))),
                },
                request = self.requests.recv() => {
                    let Some(Request { command, answer }) = request else { return Err(Interruption::Stopped) };
                    let result = match &command {
                        MatchCommand::Begin(_) => {
                            Err(ActionError::NotNow("A match is running: stop it first.".to_owned()))
                        }
                        _ => Ok(()),
                    };
                    let _ = answer.send(result);
                    match command {
                        MatchCommand::Begin(_) => (),
                        MatchCommand::Stop => return Err(Interruption::Stopped),
                        MatchCommand::Finish => {
                            view.phase = Phase::Finishing;
                            self.publish(view);
                        }
                    }
                }
            }
        }
    }

    fn record(
        &self,
        view: &mut MatchView,
        opening: &MatchOpening,
        game: &PlayedGame,
        end: GameEnd,
        first_is_white: bool,
    ) {
        let [white, black] = names(view, first_is_white);
        let pgn = write_pgn(game, [&white, &black], Some(end), "????.??.??");
        let mut games = self.pgn.lock().unwrap_or_else(PoisonError::into_inner);
        *games += &pgn;
        games.push('\n');
        view.score.add(end.winner, first_is_white);
        view.rated = view.score.rated();
        if view.finished.len() == SHOWN_GAMES {
            view.finished.remove(0);
        }
        view.finished.push(FinishedGame {
            white,
            black,
            opening: opening.name,
            result: end.result(),
            text: end.sentence(),
            plies: game.ply(),
        });
    }

    fn publish(&self, view: &MatchView) {
        self.out.send_replace(serde_json::to_string(view).expect("views can be written as JSON").into());
    }
}

/// White's and Black's names.
fn names(view: &MatchView, first_is_white: bool) -> [String; 2] {
    let (first, second) = (view.first.clone(), view.second.clone());
    if first_is_white { [first, second] } else { [second, first] }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::engines::EngineSpec;
    use serde_json::Value;

    fn shell(name: &str, go: &str) -> EngineSpec {
        let script = format!(
            "while read -r l; do case $l in uci) echo uciok;; isready) echo readyok;; quit) exit;; go*) {go};; \
             stop) echo bestmove 0000;; esac; done"
        );
        EngineSpec {
            name: name.into(),
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script],
            options: Vec::new(),
        }
    }

    fn order(first: &str, second: &str, games: u32) -> MatchCommand {
        let (first, second) = (first.to_owned(), second.to_owned());
        MatchCommand::Begin(MatchOrder { first, second, games, move_time_ms: 10 })
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
    async fn wrong_orders_are_refused_and_a_failing_engine_stops_the_match() {
        let roster = Roster::new(None, vec![shell("A", "exit 3"), shell("Slow", ":")]).unwrap();
        let handle = start(roster);
        for wrong in [order("A", "nobody", 2), order("A", "A", 3), order("A", "A", 0), MatchCommand::Stop] {
            assert!(handle.act(wrong).await.is_err());
        }
        handle.act(order("A", "A", 2)).await.unwrap();
        let view = wait_for(&handle, |view| view["phase"] == "ended").await;
        let notice = view["notice"].as_str().unwrap();
        assert!(notice.contains("A ended (exit status: 3)"), "{notice}");
        handle.act(order("Slow", "Slow", 2)).await.unwrap();
        assert!(handle.act(order("A", "A", 2)).await.is_err(), "a match is running");
        handle.act(MatchCommand::Finish).await.unwrap();
        wait_for(&handle, |view| view["phase"] == "finishing").await;
        handle.act(MatchCommand::Stop).await.unwrap();
        let view = wait_for(&handle, |view| view["phase"] == "ended").await;
        assert!(view["notice"].is_null() && handle.pgn().is_empty());
    }
}
