use crossbeam_channel::bounded;
use shakmaty::{Move, Position};
use web_time::{Duration, Instant};

use super::Session;
use crate::apps::uci::info::Printer;
use crate::apps::uci::observer::{GoContext, SearchHandle, UciObserver};
use crate::apps::uci::running::{Activity, GoMode, RunningSearch};
use crate::chess::position::Game;
use crate::search::Limits;
use crate::search::time_management::{Budget, GoLimits};
use crate::setup::settings::Settings;
use crate::setup::{LoadError, RootMoves, SearchRequest, strength};

/// Soft limit if the tablebases know the result and only a choice among equal moves is left.
const KNOWN_ROOT: Duration = Duration::from_millis(100);

impl Session {
    /// Returns at once.
    pub(super) fn start(
        &mut self,
        limits: &GoLimits,
        at: Instant,
        searchmoves: Vec<Move>,
        mode: GoMode,
        fallback: Move,
    ) -> Result<(), LoadError> {
        self.prepare()?;
        let mut budget = self.budget(limits);
        // A random move must keep the best tablebase result.
        let settings = self.settings();
        let is_drawn = settings.strength().is_some() || settings.move_temperature().is_some();
        let lines = if is_drawn { 1 } else { settings.multipv };
        let RootMoves { moves: root_moves, known, hits: root_hits } =
            self.engine.book_and_tables().root_moves(&self.game, searchmoves, lines);
        if !known.is_empty() {
            budget.soft = budget.soft.map(|soft| soft.min(KNOWN_ROOT));
        }
        let handle = SearchHandle::new((!limits.ponder).then_some(at));
        let context = self.context(limits, at, handle.clone(), budget, root_moves.len());
        let &Settings { chess960, show_wdl, multipv, .. } = self.settings();
        let mut printer = Printer::new(&self.game, chess960, show_wdl, multipv);
        printer.root_hits = root_hits;
        let (sender, finished) = bounded(1);
        let observer = UciObserver::new(context, printer, self.out.clone(), sender);
        let request = SearchRequest {
            game: self.game.clone(),
            limits: Limits { known, ..self.search_limits(limits, root_moves) },
            seed: self.seed(&self.game),
            observer: Box::new(observer),
        };
        self.engine.start(request);
        self.activity = Activity::Searching(Box::new(RunningSearch {
            root: self.game.clone(),
            at,
            clock: (!mode.withholds_bestmove()).then_some(limits.own(self.game.turn())),
            longest: budget.hard.unwrap_or(Duration::MAX),
            strength: self.settings().strength(),
            // Temperature does not apply to classical players: they choose the move, and most have no visit counts.
            temperature: self.settings().move_temperature().filter(|_| self.settings().player.is_none()),
            finished,
            handle,
            mode,
            fallback,
        }));
        Ok(())
    }

    fn budget(&mut self, limits: &GoLimits) -> Budget {
        let mover = self.game.turn();
        let (clock, set) = (limits.own(mover), self.settings().move_overhead);
        let overhead = self.overhead.on(&self.game, clock, limits.ponder, set);
        let number = self.game.position().fullmoves().get();
        let budget = Budget::new(limits, mover, number, overhead, &self.settings().time_params());
        if self.debug {
            self.out.say(format!("budget {budget:?}, {overhead:?}"));
        }
        budget
    }

    /// A `root_moves` of 0 means all moves.
    fn context(
        &self,
        limits: &GoLimits,
        at: Instant,
        handle: SearchHandle,
        budget: Budget,
        root_moves: usize,
    ) -> GoContext {
        let settings = self.settings();
        GoContext {
            at,
            handle,
            budget,
            params: settings.time_params(),
            live_stats: settings.log_live_stats.then_some(self.game.turn()),
            mate: limits.mate,
            choices: if root_moves == 0 { self.game.legal_moves().len() } else { root_moves },
            previous: self.previous.as_ref().filter(|(made, _)| made.is_before(&self.game)).map(|(_, q)| *q),
        }
    }

    fn search_limits(&self, limits: &GoLimits, root_moves: Vec<Move>) -> Limits {
        let settings = self.settings();
        let strength = settings.strength();
        let nodes = limits.nodes.into_iter().chain(strength.map(|strength| strength.visits)).min();
        Limits {
            // A move needs a visit.
            visits: nodes.map(|nodes| nodes.max(1)),
            depth: limits.depth.map(|depth| depth.max(1)),
            root_moves,
            known: Vec::new(),
            noise: None,
            mate: limits.mate,
            all_moves: settings.multipv > 1
                || limits.infinite
                || limits.mate.is_some()
                || strength.is_some()
                || settings.move_temperature().is_some(),
        }
    }

    /// Depends on the position and on the option `Seed`, or on the game if that is 0.
    pub(super) fn seed(&self, game: &Game) -> u64 {
        strength::seed(game, if self.settings().seed == 0 { self.game_seed } else { self.settings().seed })
    }
}
