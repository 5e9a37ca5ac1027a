//! A lane plays one game at a time between two engines. A match has as many lanes as games at once.

use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::minds::{Mind, MindsView, MoveRecord, MovesView, TreeQuestion};
use super::order::ThinkingTime;
use super::view::ClockView;
use crate::boards::Boards;
use crate::engines::{EngineEvent, EngineHandle, EngineSpec, SearchOrder, start as start_engine};
use crate::play::{EndReason, GameEnd, PlayedGame, Winner};

/// Plies after which a game is a draw.
const LONGEST_GAME: usize = 600;

/// Delay of pipes and scheduling that is allowed before a flag falls.
const MARGIN: Duration = Duration::from_millis(50);

const SHOW_EVERY: Duration = Duration::from_millis(150);

/// A running clock, which the page counts down itself.
const CLOCK_EVERY: Duration = Duration::from_secs(1);

/// Time for a move from which on engines write statistics.
const STATISTICS_FROM_MS: u32 = 100;

#[derive(Clone, Debug)]
pub struct LaneGame {
    /// Games 2 n and 2 n + 1 share an opening.
    pub number: usize,
    pub opening: String,
    /// Includes the opening's moves.
    pub game: PlayedGame,
    /// White, Black; `None` without a clock.
    pub left_ms: Option<[u64; 2]>,
    /// By move; `None` for moves of the opening.
    pub records: Vec<Option<MoveRecord>>,
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
        record: MoveRecord,
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
    /// Between moves, in milliseconds.
    pub delay: watch::Receiver<u32>,
    pub questions: mpsc::UnboundedReceiver<TreeQuestion>,
    pub boards: Boards,
    /// When the page was last shown what the engines think, and whether there is more to show.
    pub shown: Instant,
    pub is_due: bool,
    /// The clocks that were shown last.
    pub clock: Option<(Instant, ClockView)>,
    pub reports: mpsc::UnboundedSender<LaneReport>,
}

struct Player {
    name: String,
    handle: EngineHandle,
    events: mpsc::UnboundedReceiver<EngineEvent>,
    mind: Mind,
}

impl Player {
    fn new(spec: &EngineSpec) -> Player {
        let (report, events) = mpsc::unbounded_channel();
        let handle = start_engine(spec, move |event| {
            let _ = report.send(event);
        });
        Player { name: spec.name.clone(), handle, events, mind: Mind::default() }
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

/// What a lane waits for.
enum Next {
    /// Of an engine, by its index.
    Event(usize, Option<EngineEvent>),
    /// The delay was changed.
    Delay,
    Time,
}

impl Lane {
    /// Plays games until the channel closes or an engine fails.
    pub async fn run(mut self, mut games: mpsc::Receiver<LaneGame>) {
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
        &mut self,
        mut game: LaneGame,
        players: &mut [Player; 2],
        searches: &mut u64,
    ) -> Result<GameEnd, String> {
        let mut fresh = [true; 2];
        players.iter_mut().for_each(|player| player.mind.forget());
        self.clock = None;
        self.show_moves(&game);
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
            players[index].mind.begin(*searches, &game.game);
            players[index].handle.search(SearchOrder {
                id: *searches,
                options: self.options(&game),
                new_game: std::mem::take(&mut fresh[index]),
                position: game.game.position_command(),
                go,
                longest,
            });
            self.show(&game, players);
            let until = game.left_ms.map(|_| begin + longest + MARGIN);
            let Some(text) = self.answer(&game, players, index, *searches, until).await? else {
                players[index].handle.stop();
                if let Some(left) = &mut game.left_ms {
                    left[side] = 0;
                }
                self.show_clock(&game, None);
                return Ok(game.game.end_on_time());
            };
            let m = game.game.parse(&text).map_err(|_| {
                format!("{} answered \"{text}\", which is no legal move", players[index].name)
            })?;
            game.game.play(m)?;
            if let (Some(left), ThinkingTime::Clock { increment_ms, .. }) = (&mut game.left_ms, self.time) {
                let spent = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
                left[side] = left[side].saturating_sub(spent) + u64::from(increment_ms);
            }
            let record = players[index].mind.end();
            game.records.push(Some(record));
            let uci = game.game.moves().last().expect("one was played").uci.clone();
            self.report(LaneEvent::Moved { uci, left_ms: game.left_ms, record });
            self.show(&game, players);
            self.show_moves(&game);
            self.wait(&game, players, Instant::now()).await?;
        }
    }

    /// Statistics cost time, so engines write them only if there is some.
    fn options(&self, game: &LaneGame) -> Vec<(String, String)> {
        let option = |name: &str, value: bool| (name.to_owned(), value.to_string());
        let mut options = vec![option("UCI_Chess960", game.game.is_chess960()), option("UCI_ShowWDL", true)];
        let a_move = match self.time {
            ThinkingTime::MoveMs(ms) => ms,
            ThinkingTime::Clock { base_ms, increment_ms } => base_ms / 40 + increment_ms,
        };
        options.extend((a_move >= STATISTICS_FROM_MS).then(|| option("LogLiveStats", true)));
        options
    }

    /// The move that ends this search; `None` if the time has run out.
    async fn answer(
        &mut self,
        game: &LaneGame,
        players: &mut [Player; 2],
        index: usize,
        search: u64,
        until: Option<Instant>,
    ) -> Result<Option<String>, String> {
        loop {
            match self.next(game, players, until).await {
                Next::Event(who, Some(EngineEvent::Best { id, text })) if who == index && id == search => {
                    return Ok(Some(text));
                }
                Next::Event(who, event) => hear(players, who, event, &mut self.is_due)?,
                Next::Delay => (),
                Next::Time => return Ok(None),
            }
        }
    }

    /// Waits for the delay between moves, which may be changed meanwhile. No clock runs.
    async fn wait(
        &mut self,
        game: &LaneGame,
        players: &mut [Player; 2],
        since: Instant,
    ) -> Result<(), String> {
        loop {
            let delay = *self.delay.borrow_and_update();
            if delay == 0 {
                return Ok(());
            }
            let until = since + Duration::from_millis(u64::from(delay));
            match self.next(game, players, Some(until)).await {
                Next::Event(who, event) => hear(players, who, event, &mut self.is_due)?,
                Next::Delay => (),
                Next::Time => return Ok(()),
            }
        }
    }

    /// Answers questions about search trees meanwhile.
    async fn next(&mut self, game: &LaneGame, players: &mut [Player; 2], until: Option<Instant>) -> Next {
        loop {
            let [first, second] = &mut *players;
            tokio::select! {
                event = first.events.recv() => return Next::Event(0, event),
                event = second.events.recv() => return Next::Event(1, event),
                Some(question) = self.questions.recv() => {
                    let index = usize::from(question.white != game.first_is_white());
                    if let Some(moves) = players[index].mind.ask(question) {
                        players[index].handle.tree(moves);
                    }
                }
                () = sleep_until(self.shown + SHOW_EVERY), if self.is_due => self.show(game, players),
                Ok(()) = self.delay.changed() => return Next::Delay,
                () = sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => return Next::Time,
            }
        }
    }

    /// Shows what both engines think.
    fn show(&mut self, game: &LaneGame, players: &[Player; 2]) {
        (self.shown, self.is_due) = (Instant::now(), false);
        let view = |index: usize| players[index].mind.view(&players[index].name);
        let minds = if game.first_is_white() { [view(0), view(1)] } else { [view(1), view(0)] };
        let name = format!("match/{}/minds", self.number);
        self.boards.set(&name, &MindsView { game: game.number, minds });
        let side = usize::from(!game.game.turn().is_white());
        let mover = &players[usize::from((side == 0) != game.first_is_white())].mind;
        self.show_clock(game, mover.thinking_ms().map(|ms| (side, ms)));
    }

    /// `running` is the side that thinks, and for how long in milliseconds.
    fn show_clock(&mut self, game: &LaneGame, running: Option<(usize, u64)>) {
        let Some(mut clock) = ClockView::standing(game) else { return };
        (clock.running, clock.ms) = (running.map(|(side, _)| side), running.map_or(0, |(_, ms)| ms));
        let same = self.clock.is_some_and(|(at, shown)| {
            (shown.running, shown.left_ms) == (clock.running, clock.left_ms) && at.elapsed() < CLOCK_EVERY
        });
        if !same {
            self.clock = Some((Instant::now(), clock));
            self.boards.set(&format!("match/{}/clock", self.number), &clock);
        }
    }

    fn show_moves(&self, game: &LaneGame) {
        self.boards.set(&format!("match/{}/moves", self.number), &MovesView::of(game));
    }
}

/// What an engine says beside the move that is waited for.
fn hear(
    players: &mut [Player; 2],
    who: usize,
    event: Option<EngineEvent>,
    is_due: &mut bool,
) -> Result<(), String> {
    match event {
        Some(EngineEvent::Failed { reason }) => Err(format!("{} {reason}", players[who].name)),
        None => Err(format!("{} has ended", players[who].name)),
        Some(event) => {
            *is_due |= players[who].mind.hear(event);
            Ok(())
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
