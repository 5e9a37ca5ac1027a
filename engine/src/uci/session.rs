//! One GUI's session: what it set, the position it named, the search it asked for.

use std::mem;
use std::path::Path;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, bounded, never};
use shakmaty::Move;

use super::answer::Answer;
use super::brain::{self, Brain, Question};
use super::command::{self, Command, Setup};
use super::go::Go;
use super::info::Printer;
use super::io::{Line, Traffic, Writer};
use super::ledger::Ledger;
use super::library::Library;
use super::options::{self, Effect};
use super::settings::Settings;
use super::show;
use super::stats;
use super::strength::{self, Strength};
use super::watch::{Control, Finished, Job, Watcher};
use crate::position::Game;
use crate::search::Limits;
use crate::time::{Budget, Clock};

/// Whether there is more to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Read the next line.
    Continue,
    /// The GUI is done.
    Quit,
}

/// The state of a session.
pub struct Session {
    out: Writer,
    traffic: Traffic,

    settings: Settings,
    debug: bool,
    brain: Brain,
    library: Library,

    game: Game,
    game_seed: u64,
    ledger: Ledger,
    search: Search,
}

/// Where the answer to the last `go` is.
#[derive(Default)]
enum Search {
    /// Given.
    #[default]
    None,
    /// Being worked on.
    Running(Box<Running>),
    /// Known, but not wanted before `stop` or `ponderhit`.
    Held { answer: Answer, until: Hold },
}

struct Running {
    root: Game,
    at: Instant,
    /// The own clock, if it runs from `at` on.
    clock: Option<Clock>,
    strength: Option<Strength>,
    /// The temperature at which the move is drawn.
    drawn_at: Option<f32>,
    finished: Receiver<Finished>,
    control: Control,
    hold: Hold,
    /// What is played if the search dies.
    makeshift: Move,
}

/// What an answer has to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hold {
    /// `stop`.
    infinite: bool,
    /// `stop` or `ponderhit`.
    ponder: bool,
}

impl Hold {
    fn holds(self) -> bool {
        self.infinite || self.ponder
    }
}

impl Session {
    /// A session with default settings at the initial position.
    pub fn new(out: Writer, traffic: Traffic) -> Session {
        Session {
            out,
            traffic,
            settings: Settings::default(),
            debug: false,
            brain: Brain::default(),
            library: Library::default(),
            game: Game::new(),
            game_seed: strength::game_seed(),
            ledger: Ledger::default(),
            search: Search::None,
        }
    }

    /// Where the end of the running search is told; nothing ever comes if none runs.
    pub fn finished(&self) -> Receiver<Finished> {
        match &self.search {
            Search::Running(running) => running.finished.clone(),
            _ => never(),
        }
    }

    /// Does what a line says. A bad one is answered with one `info string` and changes nothing.
    pub fn line(&mut self, line: &Line) -> Flow {
        let text = match &line.text {
            Ok(text) => text,
            Err(error) => {
                self.out.say(error);
                return Flow::Continue;
            }
        };
        match command::parse(text) {
            Ok(Command::Quit) => return Flow::Quit,
            Ok(command) => self.obey(command, line.at),
            Err(error) => self.out.say(error),
        }
        Flow::Continue
    }

    fn obey(&mut self, command: Command, at: Instant) {
        match command {
            Command::Uci => self.identify(),
            Command::Debug(on) => self.debug = on,
            Command::IsReady => self.ready(),
            Command::SetOption { name, value } => self.set_option(&name, value.as_deref()),
            Command::NewGame => self.new_game(),
            Command::Position(setup) => self.set_position(&setup),
            Command::Go(go) => self.go(&go, at),
            Command::Stop => self.stop(),
            Command::PonderHit => self.ponder_hit(at),
            Command::Show => show::position(&self.game, &self.out),
            Command::Eval => self.show_opinion(),
            Command::Nothing | Command::Register | Command::Quit => {}
        }
    }

    fn identify(&self) {
        self.out.line(concat!("id name Philidor ", env!("CARGO_PKG_VERSION")));
        self.out.line("id author the Philidor developers");
        for line in options::lines() {
            self.out.line(line);
        }
        self.out.line("uciok");
    }

    fn ready(&mut self) {
        // While a search runs everything is loaded, and its workers are not to be touched.
        if matches!(self.search, Search::None) {
            self.brain.prepare(&self.settings, &self.out);
        }
        self.out.line("readyok");
    }

    /// Refuses, in words, what can't be done during a search.
    fn is_idle(&self) -> bool {
        let idle = matches!(self.search, Search::None);
        if !idle {
            self.out.say("not during a search: stop it first");
        }
        idle
    }

    fn set_option(&mut self, name: &str, value: Option<&str>) {
        if !self.is_idle() {
            return;
        }
        let mut settings = self.settings.clone();
        let change = match options::set(&mut settings, name, value) {
            Ok(change) => change,
            Err(error) => return self.out.say(error),
        };
        if let Err(error) = self.follow(change.effect, &settings) {
            return self.out.say(error);
        }
        if let Some(note) = change.note {
            self.out.say(note);
        }
        self.settings = settings;
    }

    /// Does what a change of the settings brings with it.
    fn follow(&mut self, effect: Effect, settings: &Settings) -> Result<(), String> {
        let pool = self.brain.existing_pool();
        match (effect, pool) {
            (Effect::Nothing, _) => {}
            (Effect::Params, Some(pool)) => pool.set_params(settings.search_params()),
            (Effect::Params, None) => {}
            (Effect::Clear, _) => self.brain.clear(),
            (Effect::Memory | Effect::Workers, _) => self.brain.drop_pool(),
            // The embedded network can't change; a file may have been written anew.
            (Effect::Network, _) if *settings == self.settings && settings.weights.is_none() => {}
            (Effect::Network, _) => {
                self.brain.load(settings, &self.out).map_err(|error| error.to_string())?;
            }
            (Effect::Book, _) => self.library.open_book(settings).map_err(|error| error.to_string())?,
            (Effect::Tables, _) => {
                self.library.open_tables(settings).map_err(|error| error.to_string())?;
                self.brain.forget_tree();
                if settings.tables.is_some() {
                    self.out.say(self.library.tables());
                }
            }
            (Effect::TableRules, _) => {
                self.library.follow_rules(settings);
                self.brain.forget_tree();
            }
            (Effect::Log, _) => {
                let path = settings.log_file.as_deref();
                self.traffic
                    .log_to(path.map(Path::new))
                    .map_err(|error| format!("can't write the log {}: {error}", path.unwrap_or_default()))?;
            }
        }
        Ok(())
    }

    fn new_game(&mut self) {
        if self.is_idle() {
            self.ledger.new_game();
            self.game_seed = strength::game_seed();
            self.brain.clear();
        }
    }

    /// A running search keeps the position that it was started with.
    fn set_position(&mut self, setup: &Setup) {
        let moves = setup.moves.iter().map(String::as_str);
        match Game::from_uci(setup.fen.as_deref(), moves) {
            Ok(game) => self.game = game,
            Err(error) => self.out.say(error),
        }
    }

    fn go(&mut self, go: &Go, at: Instant) {
        if !self.is_idle() {
            return;
        }
        let root_moves = match go.searchmoves.iter().map(|text| self.game.parse_uci(text)).collect() {
            Ok(moves) => moves,
            Err(error) => return self.out.say(error),
        };
        let hold = Hold { infinite: go.limits.infinite, ponder: go.limits.ponder };
        let Some(&makeshift) = self.game.legal_moves().first() else {
            return self.give(Answer::no_move(&self.game), hold);
        };
        match self.library.book_move(&self.game, go, &self.settings) {
            Some(m) => self.play_from_book(m, at),
            None => self.start(go, at, root_moves, hold, makeshift),
        }
    }

    fn play_from_book(&self, m: Move, at: Instant) {
        self.out.say(format!("book move {}", Game::uci(m, self.settings.chess960)));
        self.say_answer(&Answer::makeshift(m, self.settings.chess960, at.elapsed()));
    }

    fn start(&mut self, go: &Go, at: Instant, asked_for: Vec<Move>, hold: Hold, makeshift: Move) {
        let limits = &go.limits;
        let settings = &self.settings;
        let mover = self.game.turn();
        let clock = limits.own(mover);
        let overhead = self.ledger.overhead(&self.game, clock, limits.ponder, settings.move_overhead);
        let budget = Budget::new(limits, mover, overhead, &settings.search_pace());
        if self.debug {
            self.out.say(format!("budget {budget:?}, overhead {overhead:?}"));
        }
        let (root_moves, root_hits) = self.library.root_moves(&self.game, asked_for);
        let choices = match root_moves.len() {
            0 => self.game.legal_moves().len(),
            some => some,
        };
        let control = Control::new((!limits.ponder).then_some(at));
        let workers = u32::try_from(brain::workers(settings)).unwrap_or(1);
        let (strength, drawn_at) = (settings.strength(), settings.drawn_at());
        let job = Job {
            at,
            control: control.clone(),
            budget,
            pace: settings.search_pace(),
            live_stats: settings.log_live_stats.then_some(mover),
            mate: limits.mate,
            choices,
            workers,
        };
        let mut printer = Printer::new(settings.chess960, settings.show_wdl, settings.multipv);
        printer.root_hits = root_hits;
        let (sender, finished) = bounded(1);
        let watch = Box::new(Watcher::new(job, printer, self.out.clone(), sender));
        let nodes = limits.nodes.into_iter().chain(strength.map(|strength| strength.visits)).min();
        let limits = Limits {
            // Without a single playout there would be nothing to play.
            visits: nodes.map(|nodes| nodes.max(1)),
            depth: limits.depth.map(|depth| depth.max(1)),
            root_moves,
            noise: None,
            all_moves: settings.multipv > 1
                || limits.infinite
                || limits.mate.is_some()
                || strength.is_some()
                || drawn_at.is_some(),
        };
        let root = self.game.clone();
        let (tables, seed) = (self.library.tables().clone(), self.seed(&root));
        let question = Question { game: root.clone(), limits, tables, seed, watch };
        self.brain.think(settings, question, &self.out);
        let clock = (!hold.holds()).then_some(clock);
        let running = Running { root, at, clock, strength, drawn_at, finished, control, hold, makeshift };
        self.search = Search::Running(Box::new(running));
    }

    /// Where the dice begin in this position: another place in every game, unless the GUI has set one.
    fn seed(&self, game: &Game) -> u64 {
        strength::seed(game, if self.settings.seed == 0 { self.game_seed } else { self.settings.seed })
    }

    /// The running search has ended by itself, or died (`None`).
    pub fn finish(&mut self, finished: Option<Finished>) {
        if let Search::Running(running) = mem::take(&mut self.search) {
            let answer = self.answer(&running, finished);
            self.give(answer, running.hold);
        }
    }

    fn stop(&mut self) {
        match mem::take(&mut self.search) {
            Search::None => {}
            Search::Held { answer, .. } => self.say_answer(&answer),
            Search::Running(running) => {
                running.control.stop();
                let answer = self.answer(&running, running.finished.recv().ok());
                self.say_answer(&answer);
            }
        }
    }

    /// Ends the session: a search that runs or waits is answered, the workers are joined.
    pub fn close(mut self) {
        self.stop();
    }

    fn ponder_hit(&mut self, at: Instant) {
        match mem::take(&mut self.search) {
            Search::None => {}
            Search::Held { answer, until } => self.give(answer, Hold { ponder: false, ..until }),
            Search::Running(mut running) => {
                running.control.start_clock(at);
                running.hold.ponder = false;
                self.search = Search::Running(running);
            }
        }
    }

    /// Gives an answer now, or holds it back until it is wanted.
    fn give(&mut self, answer: Answer, hold: Hold) {
        if hold.holds() {
            for info in &answer.infos {
                self.out.line(info);
            }
            self.search = Search::Held { answer, until: hold };
        } else {
            self.say_answer(&answer);
        }
    }

    fn say_answer(&self, answer: &Answer) {
        for info in &answer.infos {
            self.out.line(info);
        }
        self.out.line(&answer.bestmove);
    }

    fn answer(&mut self, running: &Running, finished: Option<Finished>) -> Answer {
        let Some(Finished { outcome, mut printer, time }) = finished else {
            self.out.say("the search died");
            return Answer::makeshift(running.makeshift, self.settings.chess960, Duration::ZERO);
        };
        if let Some(error) = &outcome.error {
            self.out.say(format!("the search failed: {error}"));
        }
        self.tell_troubles();
        let mut report = outcome.report;
        let seed = self.seed(&running.root);
        let chosen = match (running.strength, running.drawn_at) {
            (Some(strength), _) => strength.choose(&report, seed),
            (None, Some(temperature)) => strength::draw(&outcome.stats, temperature, seed),
            (None, None) => 0,
        };
        // What is played is shown first.
        if let Some(lines) = report.lines.get_mut(..=chosen) {
            lines.rotate_right(1);
        }
        let best = report.lines.first();
        if let (Some(clock), Some(&m)) = (running.clock, best.and_then(|line| line.pv.first())) {
            self.ledger.note(&running.root, m, clock, running.at.elapsed());
        }
        let Some(bestmove) = best.and_then(|line| printer.bestmove(&line.pv)) else {
            return Answer::makeshift(running.makeshift, self.settings.chess960, time);
        };
        if self.debug && self.settings.player.is_none() {
            self.out.say(self.brain.shares(&report));
        }
        let mut infos = Vec::new();
        if self.settings.verbose_move_stats {
            infos = stats::lines(running.root.turn(), &outcome.stats, printer.chess960);
        }
        infos.extend(printer.lines(&report, time));
        Answer { infos, bestmove }
    }

    /// Says what went wrong with the endgame tables, each thing once.
    fn tell_troubles(&self) {
        for trouble in self.library.tables().troubles() {
            self.out.say(trouble);
        }
    }

    fn show_opinion(&mut self) {
        if self.is_idle() {
            match self.brain.opinion(&self.game, &self.settings, &self.out) {
                Ok(answer) => show::opinion(&self.game, &answer, self.settings.chess960, &self.out),
                Err(error) => self.out.say(error),
            }
        }
    }
}

#[cfg(test)]
mod tests;
