use std::mem;
use std::ops::ControlFlow;

use crossbeam_channel::{Receiver, never};
use shakmaty::Move;
use web_time::{Duration, Instant};

use super::command::{self, Command, CommandError, Setup};
use super::go::Go;
use super::made_move::MadeMove;
use super::observer::FinishedSearch;
use super::overhead::OverheadTracker;
use super::reply::Reply;
use super::running::{Activity, GoMode, RunningSearch};
use super::show;
use super::stats;
use super::tree_view;
use crate::apps::io::{InputLine, Writer};
use crate::chess::position::Game;
use crate::search::SearchOutcome;
use crate::setup::settings::Settings;
use crate::setup::{Engine, LoadError, TrafficLog, options, strength};

pub struct Session {
    out: Writer,
    engine: Engine,
    lists_tuning: bool,
    debug: bool,

    game: Game,
    /// The last `position` was invalid; `game` is an older one.
    is_position_refused: bool,
    game_seed: u64,
    overhead: OverheadTracker,
    previous: Option<(MadeMove, f32)>,
    /// Whether the user was told that `OwnBook` is on without a book.
    is_missing_book_said: bool,
    activity: Activity,
}

impl Session {
    pub fn new(out: Writer, traffic: TrafficLog, lists_tuning: bool) -> Session {
        Session {
            out,
            engine: Engine::new(traffic),
            lists_tuning,
            debug: false,
            game: Game::new(),
            is_position_refused: false,
            game_seed: strength::game_seed(),
            overhead: OverheadTracker::default(),
            previous: None,
            is_missing_book_said: false,
            activity: Activity::Idle,
        }
    }

    pub fn finished(&self) -> Receiver<FinishedSearch> {
        match &self.activity {
            Activity::Searching(running) => running.finished.clone(),
            _ => never(),
        }
    }

    /// Breaks at `quit` and after a fatal error. An invalid line gets one `info string` and changes nothing. But after
    /// an invalid `position`, every `go` answers `bestmove (none)` until a valid one.
    pub fn line(&mut self, line: &InputLine) -> ControlFlow<Result<(), LoadError>> {
        let text = match &line.text {
            Ok(text) => text,
            Err(error) => {
                self.out.say(error);
                return ControlFlow::Continue(());
            }
        };
        match command::parse(text) {
            Ok(Command::Quit) => return ControlFlow::Break(Ok(())),
            Ok(command) => {
                if let Err(error) = self.execute(command, line.at) {
                    self.out.say(&error);
                    return ControlFlow::Break(Err(error));
                }
            }
            Err(error) => {
                self.is_position_refused |= matches!(error, CommandError::Position(_));
                self.out.say(error);
            }
        }
        ControlFlow::Continue(())
    }

    fn execute(&mut self, command: Command, at: Instant) -> Result<(), LoadError> {
        match command {
            Command::Uci => self.identify(),
            Command::Debug(on) => self.debug = on,
            Command::IsReady => self.ready()?,
            Command::SetOption { name, value } => self.set_option(&name, value.as_deref()),
            Command::NewGame => self.new_game(),
            Command::Position(setup) => self.set_position(&setup),
            Command::Go(go) => self.go(&go, at)?,
            Command::Stop => self.stop(),
            Command::PonderHit => self.ponder_hit(at),
            Command::Show => show::position(&self.game, &self.out),
            Command::Eval => self.show_evaluation(),
            Command::Tree { moves } => self.show_tree(&moves),
            Command::Nothing | Command::Register | Command::Quit => {}
        }
        Ok(())
    }

    fn settings(&self) -> &Settings {
        self.engine.settings()
    }

    fn say_all(&self, notes: Vec<String>) {
        notes.into_iter().for_each(|note| self.out.say(note));
    }

    fn identify(&self) {
        self.out.line(concat!("id name Philidor ", env!("CARGO_PKG_VERSION")));
        self.out.line("id author the Philidor developers");
        for line in options::lines(self.lists_tuning) {
            self.out.line(line);
        }
        if self.lists_tuning {
            self.say_all(options::ranges());
        }
        self.out.line("uciok");
    }

    fn ready(&mut self) -> Result<(), LoadError> {
        // During a search, everything is loaded already.
        if matches!(self.activity, Activity::Idle) {
            self.prepare()?;
            self.say_missing_book();
        }
        self.out.line("readyok");
        Ok(())
    }

    /// Once, until a book is open or `OwnBook` is off. Options may come in any order, so `setoption` is too early.
    fn say_missing_book(&mut self) {
        let note = self.engine.book_and_tables().missing_book(self.settings());
        let is_said = mem::replace(&mut self.is_missing_book_said, note.is_some());
        if let Some(note) = note.filter(|_| !is_said) {
            self.out.say(note);
        }
    }

    fn prepare(&mut self) -> Result<(), LoadError> {
        let notes = self.engine.prepare()?;
        self.say_all(notes);
        Ok(())
    }

    /// If not idle, tells the GUI to stop the search first.
    fn is_idle(&self) -> bool {
        let idle = matches!(self.activity, Activity::Idle);
        if !idle {
            self.out.say("not during a search: stop it first");
        }
        idle
    }

    fn set_option(&mut self, name: &str, value: Option<&str>) {
        if !self.is_idle() {
            return;
        }
        match self.engine.set_option(name, value) {
            Ok(notes) => self.say_all(notes),
            Err(error) => self.out.say(error),
        }
    }

    fn new_game(&mut self) {
        if self.is_idle() {
            self.overhead.new_game();
            self.previous = None;
            self.game_seed = strength::game_seed();
            self.engine.clear();
        }
    }

    fn set_position(&mut self, setup: &Setup) {
        match Game::from_uci(setup.fen.as_deref(), setup.moves.iter().map(String::as_str)) {
            Ok(game) => (self.game, self.is_position_refused) = (game, false),
            Err(error) => {
                self.is_position_refused = true;
                self.out.say(error);
            }
        }
    }

    /// Answers every `go` with exactly one `bestmove`, even an invalid one.
    fn go(&mut self, go: &Go, at: Instant) -> Result<(), LoadError> {
        if !matches!(self.activity, Activity::Idle) {
            self.out.say("go during a search: the running search is stopped");
            self.stop();
        }
        let mode = GoMode { infinite: go.limits.infinite, ponder: go.limits.ponder };
        if self.is_position_refused {
            self.out.say("go: there is no move, because the last position command was refused");
            self.give(Reply::no_position(), mode);
            return Ok(());
        }
        let searchmoves = self.searchmoves(go);
        let Some(&fallback) = self.game.legal_moves().first() else {
            self.give(Reply::no_move(&self.game), mode);
            return Ok(());
        };
        self.say_missing_book();
        let book_may_answer = !go.needs_search();
        match self.engine.book_move(&self.game).filter(|_| book_may_answer) {
            Some(m) => self.play_from_book(m, at),
            None => self.start(&go.limits, at, searchmoves, mode, fallback)?,
        }
        Ok(())
    }

    /// An empty result means all moves. Tells the GUI which parts of `go` are ignored.
    fn searchmoves(&self, go: &Go) -> Vec<Move> {
        let mut ignored: Vec<String> = go.ignored.iter().map(ToString::to_string).collect();
        let mut moves = Vec::new();
        for text in &go.searchmoves {
            match self.game.parse_uci(text) {
                Ok(m) => moves.push(m),
                Err(error) => ignored.push(error.to_string()),
            }
        }
        if !ignored.is_empty() {
            self.out.say(format!("go: ignored: {}", ignored.join(", ")));
        }
        moves
    }

    fn play_from_book(&self, m: Move, at: Instant) {
        let chess960 = self.settings().chess960;
        self.out.say(format!("book move {}", Game::uci(m, chess960)));
        self.send(&Reply::unsearched(&self.game, m, chess960, at.elapsed()));
    }

    /// Where there are no threads, searches until `pause`, which is asked after every round. Returns whether the search
    /// goes on.
    pub fn advance(&mut self, pause: &mut dyn FnMut() -> bool) -> bool {
        let goes_on = self.engine.advance(pause);
        if let Ok(finished) = self.finished().try_recv() {
            self.finish(Some(finished));
        }
        goes_on
    }

    /// `None` after a panic.
    pub fn finish(&mut self, finished: Option<FinishedSearch>) {
        if let Activity::Searching(running) = mem::take(&mut self.activity) {
            let reply = self.reply(&running, finished);
            self.give(reply, running.mode);
        }
    }

    fn stop(&mut self) {
        match mem::take(&mut self.activity) {
            Activity::Idle => {}
            Activity::Withheld { reply, .. } => self.send(&reply),
            Activity::Searching(running) => {
                running.handle.stop();
                self.engine.advance(&mut || false);
                let reply = self.reply(&running, running.finished.recv().ok());
                self.send(&reply);
            }
        }
    }

    pub fn close(&mut self) {
        self.stop();
    }

    fn ponder_hit(&mut self, at: Instant) {
        match mem::take(&mut self.activity) {
            Activity::Idle => {}
            Activity::Withheld { reply, mode } => self.give(reply, GoMode { ponder: false, ..mode }),
            Activity::Searching(mut running) => {
                running.handle.start_clock(at);
                running.mode.ponder = false;
                self.activity = Activity::Searching(running);
            }
        }
    }

    fn give(&mut self, mut reply: Reply, mode: GoMode) {
        if mode.withholds_bestmove() {
            for info in reply.infos.drain(..) {
                self.out.line(info);
            }
            self.activity = Activity::Withheld { reply, mode };
        } else {
            self.send(&reply);
        }
    }

    fn send(&self, reply: &Reply) {
        for info in &reply.infos {
            self.out.line(info);
        }
        if let Some(wrong) = &reply.wrong {
            log::error!("{wrong}");
            self.out.say(wrong);
        }
        self.out.line(&reply.bestmove);
    }

    fn reply(&mut self, running: &RunningSearch, finished: Option<FinishedSearch>) -> Reply {
        let Some(FinishedSearch { outcome, mut printer, time }) = finished else {
            self.out.say("the search panicked");
            return Reply::unsearched(
                &running.root,
                running.fallback,
                self.settings().chess960,
                Duration::ZERO,
            );
        };
        let SearchOutcome { mut report, stats, error, .. } = outcome;
        if let Some(error) = error {
            self.out.say(format!("the search failed: {error}"));
        }
        self.say_all(self.engine.book_and_tables().tables().warnings());
        let chosen = running.choose(&report, &stats, self.seed(&running.root));
        // The played move's line comes first.
        if let Some(lines) = report.lines.get_mut(..=chosen) {
            lines.rotate_right(1);
        }
        let best = report.lines.first();
        if let (Some(clock), Some(&m)) = (running.clock, best.and_then(|line| line.pv.first())) {
            self.overhead.note(&running.root, m, clock, running.at.elapsed().min(running.longest));
        }
        self.previous = best.and_then(|line| {
            let m = *line.pv.first()?;
            Some((MadeMove::new(&running.root, m), line.wdl.q()))
        });
        let Some(best) = best.map(|line| line.pv.clone()).filter(|line| !line.is_empty()) else {
            return Reply::unsearched(&running.root, running.fallback, printer.chess960, time);
        };
        if self.debug && self.settings().player.is_none() {
            self.out.say(self.engine.visit_sources(&report));
        }
        printer.is_drawn = chosen > 0;
        let infos = match self.settings().verbose_move_stats {
            true => {
                let mut infos = stats::lines(running.root.turn(), &stats, printer.chess960);
                infos.extend(printer.lines(&report, time));
                infos
            }
            false => printer.last_lines(&report, time),
        };
        Reply::searched(&running.root, &best, printer.chess960, infos)
    }

    fn show_tree(&mut self, moves: &[String]) {
        let chess960 = self.settings().chess960;
        let pool = self.engine.existing_pool();
        match pool.and_then(|pool| pool.read_tree(|tree| tree_view::answer(tree, moves, chess960))) {
            Some(Ok(answer)) => self.out.line(answer),
            Some(Err(error)) => self.out.say(format!("tree: {error}")),
            None => self.out.say("tree: nothing was searched with a network yet"),
        }
    }

    fn show_evaluation(&mut self) {
        if self.is_idle() {
            let mut notes = Vec::new();
            let answer = self.engine.evaluate(&self.game, &mut notes);
            self.say_all(notes);
            match answer {
                Ok(answer) => show::evaluation(&self.game, &answer, self.settings().chess960, &self.out),
                Err(error) => self.out.say(error),
            }
        }
    }
}

mod start;

#[cfg(test)]
mod tests;
