//! A lane plays one game at a time between two engines. A match has as many lanes as games at once.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::order::ThinkingTime;
use crate::engines::{EngineEvent, EngineHandle, EngineSpec, SearchOrder, start as start_engine};
use crate::play::{EndReason, GameEnd, PlayedGame, Winner};

/// Plies after which a game is a draw.
const LONGEST_GAME: usize = 600;

/// Delay of pipes and scheduling that is allowed before a flag falls.
const MARGIN: Duration = Duration::from_millis(50);

#[derive(Clone, Debug)]
pub struct LaneGame {
    /// Games 2 n and 2 n + 1 share an opening.
    pub number: usize,
    pub opening: String,
    /// Includes the opening's moves.
    pub game: PlayedGame,
    /// White, Black; `None` without a clock.
    pub left_ms: Option<[u64; 2]>,
}

impl LaneGame {
    pub fn first_is_white(&self) -> bool {
        self.number.is_multiple_of(2)
    }
}

#[derive(Debug)]
pub enum LaneEvent {
    Moved {
        uci: String,
        left_ms: Option<[u64; 2]>,
    },
    Over(GameEnd),
    /// An engine failed; the text begins with its name.
    Failed(String),
}

/// Serial number of the match, lane, event.
pub type LaneReport = (u64, usize, LaneEvent);

pub struct Lane {
    pub serial: u64,
    pub number: usize,
    pub engines: [EngineSpec; 2],
    pub time: ThinkingTime,
    pub reports: mpsc::UnboundedSender<LaneReport>,
}

struct Player {
    name: String,
    handle: EngineHandle,
    events: mpsc::UnboundedReceiver<EngineEvent>,
}

impl Player {
    fn new(spec: &EngineSpec) -> Player {
        let (report, events) = mpsc::unbounded_channel();
        let handle = start_engine(spec, move |event| {
            let _ = report.send(event);
        });
        Player { name: spec.name.clone(), handle, events }
    }

    async fn answer(&mut self, wanted: u64) -> Result<String, String> {
        loop {
            match self.events.recv().await {
                Some(EngineEvent::Best { id, text }) if id == wanted => return Ok(text),
                Some(EngineEvent::Failed { reason }) => return Err(format!("{} {reason}", self.name)),
                Some(_) => (),
                None => return Err(format!("{} has ended", self.name)),
            }
        }
    }

    /// Waits until the engine has started, so that no clock runs meanwhile.
    async fn ready(&mut self) -> Result<(), String> {
        match self.events.recv().await {
            Some(EngineEvent::Ready { .. }) => Ok(()),
            Some(EngineEvent::Failed { reason }) => Err(format!("{} {reason}", self.name)),
            _ => Err(format!("{} has ended", self.name)),
        }
    }
}

impl Lane {
    /// Plays games until the channel closes or an engine fails.
    pub async fn run(self, mut games: mpsc::Receiver<LaneGame>) {
        let mut players = self.engines.each_ref().map(Player::new);
        let mut searches = 0;
        for player in &mut players {
            if let Err(reason) = player.ready().await {
                return self.report(LaneEvent::Failed(reason));
            }
        }
        while let Some(game) = games.recv().await {
            match self.play(game, &mut players, &mut searches).await {
                Ok(end) => self.report(LaneEvent::Over(end)),
                Err(reason) => return self.report(LaneEvent::Failed(reason)),
            }
        }
    }

    fn report(&self, event: LaneEvent) {
        // Fails if the match was stopped.
        let _ = self.reports.send((self.serial, self.number, event));
    }

    async fn play(
        &self,
        mut game: LaneGame,
        players: &mut [Player; 2],
        searches: &mut u64,
    ) -> Result<GameEnd, String> {
        let mut fresh = [true; 2];
        loop {
            if let Some(end) = game.game.end() {
                return Ok(end);
            }
            if game.game.ply() >= LONGEST_GAME {
                return Ok(GameEnd { winner: Winner::Draw, reason: EndReason::TooLong });
            }
            let white_moves = game.game.turn().is_white();
            let index = usize::from(white_moves != game.first_is_white());
            let side = usize::from(!white_moves);
            *searches += 1;
            let (go, longest) = go(self.time, game.left_ms, side);
            let begin = Instant::now();
            players[index].handle.search(SearchOrder {
                id: *searches,
                options: vec![("UCI_Chess960".to_owned(), game.game.is_chess960().to_string())],
                new_game: std::mem::take(&mut fresh[index]),
                position: game.game.position_command(),
                go,
                longest,
            });
            let answer = players[index].answer(*searches);
            let text = match game.left_ms {
                None => answer.await?,
                Some(_) => match timeout(longest + MARGIN, answer).await {
                    Ok(text) => text?,
                    Err(_) => {
                        players[index].handle.stop();
                        return Ok(game.game.end_on_time());
                    }
                },
            };
            let m = game.game.parse(&text).map_err(|_| {
                format!("{} answered \"{text}\", which is no legal move", players[index].name)
            })?;
            game.game.play(m)?;
            if let (Some(left), ThinkingTime::Clock { increment_ms, .. }) = (&mut game.left_ms, self.time) {
                let spent = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
                left[side] = left[side].saturating_sub(spent) + u64::from(increment_ms);
            }
            let uci = game.game.moves().last().expect("one was played").uci.clone();
            self.report(LaneEvent::Moved { uci, left_ms: game.left_ms });
        }
    }
}

/// The `go` command, and the engine's maximum thinking time.
fn go(time: ThinkingTime, left_ms: Option<[u64; 2]>, side: usize) -> (String, Duration) {
    match (time, left_ms) {
        (ThinkingTime::Clock { increment_ms, .. }, Some([white, black])) => {
            let (wtime, btime) = (white.max(1), black.max(1));
            let go = format!("go wtime {wtime} btime {btime} winc {increment_ms} binc {increment_ms}");
            (go, Duration::from_millis([white, black][side]))
        }
        (ThinkingTime::MoveMs(ms) | ThinkingTime::Clock { base_ms: ms, .. }, _) => {
            (format!("go movetime {ms}"), Duration::from_millis(u64::from(ms)))
        }
    }
}
