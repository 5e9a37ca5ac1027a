//! The judge of positions: our own search or an external UCI engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Sender, bounded, unbounded};
use shakmaty::{Color, Move};
use thiserror::Error;

use super::judgement::{JudgedMate, PositionValue, sharpened};
use crate::apps::uci_client::{EngineError, EngineMove, Limit, UciEngine, UciPosition};
use crate::chess::position::Game;
use crate::chess::tables::{TableResult, Tables};
use crate::nets::eval::Wdl;
use crate::search::{Limits, Pool, PvLine, Score, SearchControl, SearchObserver, SearchOutcome, SearchView};

#[derive(Clone, Debug, PartialEq)]
pub struct JudgedLine {
    /// After the first move of `pv`.
    pub value: PositionValue,
    /// Of the mover, if the judge is our own search.
    pub wdl: Option<Wdl>,
    /// Never empty.
    pub pv: Vec<Move>,
}

#[derive(Debug, Error)]
pub enum JudgeError {
    #[error("interrupted")]
    Interrupted,
    #[error("{0}")]
    Failed(String),
}

#[derive(Clone, Debug)]
pub struct SearchTask<'a> {
    /// Must have a legal move.
    pub position: &'a UciPosition,
    pub limit: Limit,
    /// Leaves this move out.
    pub without: Option<Move>,
}

/// Best first; empty if no move is left.
pub type Judged = Result<Vec<JudgedLine>, JudgeError>;

pub trait Judge {
    fn name(&self) -> String;

    /// Whether its values are those of our own network.
    fn is_own(&self) -> bool {
        false
    }

    /// How many searches run at the same time.
    fn workers(&self) -> usize {
        1
    }

    fn new_game(&mut self, stop: &Arc<AtomicBool>) -> Result<(), JudgeError>;

    /// Hands each task's index and at most two lines to `found`, in any order.
    fn judge_all(
        &mut self,
        tasks: &[SearchTask<'_>],
        stop: &Arc<AtomicBool>,
        found: &mut dyn FnMut(usize, Vec<JudgedLine>) -> Result<(), JudgeError>,
    ) -> Result<(), JudgeError>;

    /// The position's result by endgame tables.
    fn known(&self, _: &Game) -> Option<PositionValue> {
        None
    }
}

/// Lines per search: the distance to the second tells whether the best move may be the only good one.
const LINES: usize = 2;

pub struct OwnJudge {
    name: String,
    pool: Pool,
    limit: Limit,
}

impl OwnJudge {
    pub fn new(name: String, pool: Pool, limit: Limit) -> OwnJudge {
        OwnJudge { name, pool, limit }
    }

    /// An empty `moves` allows all.
    pub fn search(
        &mut self,
        game: &Game,
        moves: &[Move],
        stop: &Arc<AtomicBool>,
    ) -> Result<SearchOutcome, JudgeError> {
        self.search_within(self.limit, game, moves, stop)
    }

    fn search_within(
        &mut self,
        limit: Limit,
        game: &Game,
        moves: &[Move],
        stop: &Arc<AtomicBool>,
    ) -> Result<SearchOutcome, JudgeError> {
        let (visits, depth, time) = match limit {
            Limit::Nodes(nodes) => (Some(nodes), None, None),
            Limit::Depth(depth) => (None, Some(depth), None),
            Limit::Movetime(milliseconds) => (None, None, Some(Duration::from_millis(milliseconds))),
        };
        let limits = Limits { visits, depth, root_moves: moves.to_vec(), ..Limits::default() };
        let (sender, receiver) = bounded(1);
        let deadline = time.map(|time| Instant::now() + time);
        let observer = UntilDeadline { deadline, stop: Arc::clone(stop), sender };
        self.pool.start(game.clone(), limits, Box::new(observer));
        let outcome = receiver.recv().expect("every search delivers an outcome");
        self.pool.wait();
        match outcome.error {
            _ if stop.load(Ordering::Relaxed) => Err(JudgeError::Interrupted),
            Some(error) => Err(JudgeError::Failed(error)),
            None => Ok(outcome),
        }
    }
}

/// Several searches of our own with one thread each: what a search finds depends neither on the others nor on their
/// number. Networks that need batches have one search, with all its workers.
pub struct OwnJudges {
    judges: Vec<OwnJudge>,
    tables: Tables,
}

impl OwnJudges {
    /// `judges` is not empty.
    pub fn new(judges: Vec<OwnJudge>, tables: Tables) -> OwnJudges {
        OwnJudges { judges, tables }
    }
}

impl OwnJudge {
    /// Begins with an empty tree, so that earlier searches change nothing.
    fn judge(&mut self, task: &SearchTask<'_>, stop: &Arc<AtomicBool>) -> Judged {
        let game = &task.position.game;
        let moves: Vec<Move> = match task.without {
            Some(without) => game.legal_moves().into_iter().filter(|m| *m != without).collect(),
            None => Vec::new(),
        };
        if task.without.is_some() && moves.is_empty() {
            return Ok(Vec::new());
        }
        self.pool.clear();
        let outcome = self.search_within(task.limit, game, &moves, stop)?;
        let lines = outcome.report.lines.iter().filter(|line| !line.pv.is_empty());
        Ok(lines.take(LINES).map(|line| judged_line(line, game.turn())).collect())
    }
}

impl Judge for OwnJudges {
    fn name(&self) -> String {
        self.judges[0].name.clone()
    }

    fn is_own(&self) -> bool {
        true
    }

    fn workers(&self) -> usize {
        self.judges.len()
    }

    fn new_game(&mut self, _: &Arc<AtomicBool>) -> Result<(), JudgeError> {
        Ok(())
    }

    fn judge_all(
        &mut self,
        tasks: &[SearchTask<'_>],
        stop: &Arc<AtomicBool>,
        found: &mut dyn FnMut(usize, Vec<JudgedLine>) -> Result<(), JudgeError>,
    ) -> Result<(), JudgeError> {
        let next = AtomicUsize::new(0);
        let (sender, receiver) = unbounded();
        thread::scope(|scope| {
            for judge in &mut self.judges {
                let (next, sender) = (&next, sender.clone());
                scope.spawn(move || {
                    while let Some((index, task)) = take(tasks, next) {
                        if sender.send((index, judge.judge(task, stop))).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            // Dropping the receiver after an error ends the other searches' threads.
            receiver.into_iter().try_for_each(|(index, judged): (usize, Judged)| found(index, judged?))
        })
    }

    fn known(&self, game: &Game) -> Option<PositionValue> {
        let result = self.tables.root(game)?.outcome;
        let winner = match result {
            TableResult::Win => Some(game.turn()),
            TableResult::Loss => Some(!game.turn()),
            TableResult::Draw => None,
        };
        Some(PositionValue { mate: None, ..PositionValue::of_end(winner) })
    }
}

fn take<'t, 'p>(tasks: &'t [SearchTask<'p>], next: &AtomicUsize) -> Option<(usize, &'t SearchTask<'p>)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    tasks.get(index).map(|task| (index, task))
}

/// `mover` is to move.
pub fn judged_line(line: &PvLine, mover: Color) -> JudgedLine {
    let mate = match line.score {
        Score::Mate(moves) => Some(forced_mate(moves, mover)),
        Score::Cp(_) => None,
    };
    let wdl = sharpened(line.wdl);
    JudgedLine { value: PositionValue::from_wdl(wdl, mover, mate), wdl: Some(wdl), pv: line.pv.clone() }
}

/// UCI's mate score is negative if `mover` is mated.
fn forced_mate(moves: i32, mover: Color) -> JudgedMate {
    let winner = if moves > 0 { mover } else { !mover };
    JudgedMate { winner, moves: moves.unsigned_abs() }
}

struct UntilDeadline {
    deadline: Option<Instant>,
    stop: Arc<AtomicBool>,
    sender: Sender<SearchOutcome>,
}

impl SearchObserver for UntilDeadline {
    fn round(&mut self, _: &dyn SearchView) -> SearchControl {
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if late || self.stop.load(Ordering::Relaxed) {
            SearchControl::Stop
        } else {
            SearchControl::Continue { expected_visits: None }
        }
    }

    fn done(&mut self, outcome: SearchOutcome) {
        let _ = self.sender.send(outcome);
    }
}

const SHOW_WDL: &str = "UCI_ShowWDL";

/// Takes centipawns from all engines, but the WDL from our own.
pub struct UciJudge {
    engine: UciEngine,
    is_own: bool,
}

impl UciJudge {
    /// Turns `UCI_ShowWDL` on for Philidor unless `options` set it.
    pub fn new(mut engine: UciEngine, options: &[(String, String)]) -> Result<UciJudge, EngineError> {
        let is_own = engine.name().starts_with("Philidor");
        if is_own && !options.iter().any(|(name, _)| name.eq_ignore_ascii_case(SHOW_WDL)) {
            engine.try_check(SHOW_WDL, true)?;
        }
        Ok(UciJudge { engine, is_own })
    }

    fn judge(&mut self, task: &SearchTask<'_>, stop: &Arc<AtomicBool>) -> Judged {
        let mover = task.position.game.turn();
        // Without MultiPV there is one line, and no move is praised.
        let count = if self.engine.has_option("MultiPV") { LINES } else { 1 };
        let moves = self.engine.best(task.position, task.limit, count, stop)?;
        let is_own = self.is_own;
        let lines: Vec<JudgedLine> =
            moves.into_iter().map_while(|scored| engine_line(scored, mover, is_own)).collect();
        if lines.is_empty() {
            return Err(JudgeError::Failed(format!("{} gave no score", self.name())));
        }
        let wanted = |line: &JudgedLine| task.without.is_none() || line.pv.first().copied() != task.without;
        Ok(lines.into_iter().filter(wanted).collect())
    }
}

impl From<EngineError> for JudgeError {
    fn from(error: EngineError) -> JudgeError {
        match error {
            EngineError::Interrupted => JudgeError::Interrupted,
            error => JudgeError::Failed(error.to_string()),
        }
    }
}

impl Judge for UciJudge {
    fn name(&self) -> String {
        self.engine.name().to_owned()
    }

    fn is_own(&self) -> bool {
        self.is_own
    }

    fn new_game(&mut self, stop: &Arc<AtomicBool>) -> Result<(), JudgeError> {
        Ok(self.engine.new_game(stop)?)
    }

    /// Runs the tasks in order, because what an engine remembers of one search may change the next.
    fn judge_all(
        &mut self,
        tasks: &[SearchTask<'_>],
        stop: &Arc<AtomicBool>,
        found: &mut dyn FnMut(usize, Vec<JudgedLine>) -> Result<(), JudgeError>,
    ) -> Result<(), JudgeError> {
        tasks.iter().enumerate().try_for_each(|(index, task)| found(index, self.judge(task, stop)?))
    }
}

/// `None` without a score. The WDL of our own engine tells more than its centipawns.
fn engine_line(scored: EngineMove, mover: Color, is_own: bool) -> Option<JudgedLine> {
    let value = match (scored.score?, scored.wdl.filter(|_| is_own)) {
        (Score::Mate(moves), _) => PositionValue::from_mate(forced_mate(moves, mover)),
        (_, Some(thousandths)) => {
            let [win, draw, loss] = thousandths.map(|n| f32::from(n) / 1000.0);
            PositionValue::from_wdl(sharpened(Wdl { win, draw, loss }), mover, None)
        }
        (Score::Cp(centipawns), None) => PositionValue::from_centipawns(centipawns, mover),
    };
    Some(JudgedLine { value, wdl: None, pv: scored.pv })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Color::{Black, White};

    #[test]
    fn another_engines_values_are_its_centipawns_and_ours_the_wdl() {
        let m = Game::new().legal_moves()[0];
        let line = |score, wdl, mover, is_own| {
            engine_line(EngineMove { m, pv: vec![m], score, wdl }, mover, is_own).map(|line| line.value)
        };
        let cp = Some(Score::Cp(100));
        assert!((line(cp, None, White, false).unwrap().white - 71.52).abs() < 0.01);
        assert!((line(cp, Some([200, 700, 100]), Black, false).unwrap().white - 28.48).abs() < 0.01);
        // 0.2^2.3, 0.7^2.3 and 0.1^2.3 are 0.0247, 0.4403 and 0.0050: 52.1 % for Black.
        let value = line(cp, Some([200, 700, 100]), Black, true).unwrap();
        assert!((value.white - 47.9).abs() < 0.1 && value.mate.is_none(), "{value:?}");
        let mated = line(Some(Score::Mate(-3)), None, White, false).unwrap();
        assert_eq!((mated.white, mated.mate), (0.0, Some(JudgedMate { winner: Black, moves: 3 })));
        assert_eq!(line(None, None, White, false), None);
    }
}
