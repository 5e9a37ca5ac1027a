//! The judge of positions: our own search or an external UCI engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Sender, bounded};
use shakmaty::{Color, Move};
use thiserror::Error;

use super::judgement::{JudgedMate, PositionValue};
use crate::apps::uci_client::{EngineError, EngineMove, Limit, UciEngine, UciPosition};
use crate::chess::position::Game;
use crate::nets::eval::Wdl;
use crate::search::{Limits, Pool, PvLine, Score, SearchControl, SearchObserver, SearchOutcome, SearchView};

#[derive(Clone, Debug, PartialEq)]
pub struct JudgedLine {
    /// After the first move of `pv`.
    pub value: PositionValue,
    /// Of the mover, if the judge reports it.
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

/// Best first.
pub type Judged = Result<Vec<JudgedLine>, JudgeError>;

pub trait Judge {
    fn name(&self) -> String;

    fn new_game(&mut self, stop: &Arc<AtomicBool>) -> Result<(), JudgeError>;

    /// Returns at most `count` lines. The position must have a legal move.
    fn judge(&mut self, position: &UciPosition, count: usize, stop: &Arc<AtomicBool>) -> Judged;
}

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
        let (visits, depth, time) = match self.limit {
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

impl Judge for OwnJudge {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn new_game(&mut self, _: &Arc<AtomicBool>) -> Result<(), JudgeError> {
        self.pool.clear();
        Ok(())
    }

    fn judge(&mut self, position: &UciPosition, count: usize, stop: &Arc<AtomicBool>) -> Judged {
        let mover = position.game.turn();
        let outcome = self.search(&position.game, &[], stop)?;
        Ok(outcome.report.lines.iter().take(count).map(|line| judged_line(line, mover)).collect())
    }
}

/// `mover` is to move.
pub fn judged_line(line: &PvLine, mover: Color) -> JudgedLine {
    let mate = match line.score {
        Score::Mate(moves) => Some(forced_mate(moves, mover)),
        Score::Cp(_) => None,
    };
    let value = PositionValue::from_wdl(line.wdl, mover, mate);
    JudgedLine { value, wdl: Some(line.wdl), pv: line.pv.clone() }
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

pub struct UciJudge {
    engine: UciEngine,
    limit: Limit,
}

impl UciJudge {
    /// Turns `UCI_ShowWDL` on if the engine has it and `options` do not set it.
    pub fn new(
        mut engine: UciEngine,
        options: &[(String, String)],
        limit: Limit,
    ) -> Result<UciJudge, EngineError> {
        if !options.iter().any(|(name, _)| name.eq_ignore_ascii_case(SHOW_WDL)) {
            engine.try_check(SHOW_WDL, true)?;
        }
        Ok(UciJudge { engine, limit })
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

    fn new_game(&mut self, stop: &Arc<AtomicBool>) -> Result<(), JudgeError> {
        Ok(self.engine.new_game(stop)?)
    }

    fn judge(&mut self, position: &UciPosition, count: usize, stop: &Arc<AtomicBool>) -> Judged {
        let mover = position.game.turn();
        // Without MultiPV there is one line, and no move is praised.
        let count = if self.engine.has_option("MultiPV") { count } else { 1 };
        let moves = self.engine.best(position, self.limit, count, stop)?;
        let lines: Vec<JudgedLine> =
            moves.into_iter().map_while(|scored| engine_line(scored, mover)).collect();
        if lines.is_empty() {
            return Err(JudgeError::Failed(format!("{} gave no score", self.name())));
        }
        Ok(lines)
    }
}

/// By the WDL, or else Lichess's centipawn curve.
fn engine_line(scored: EngineMove, mover: Color) -> Option<JudgedLine> {
    let mate = match scored.score {
        Some(Score::Mate(moves)) => Some(forced_mate(moves, mover)),
        _ => None,
    };
    let wdl = scored.wdl.map(|thousandths| {
        let [win, draw, loss] = thousandths.map(|n| f32::from(n) / 1000.0);
        Wdl { win, draw, loss }
    });
    let value = match (wdl, mate, scored.score) {
        (Some(wdl), mate, _) => PositionValue::from_wdl(wdl, mover, mate),
        (None, Some(mate), _) => PositionValue::from_mate(mate),
        (None, None, Some(Score::Cp(centipawns))) => PositionValue::from_centipawns(centipawns, mover),
        _ => return None,
    };
    Some(JudgedLine { value, wdl, pv: scored.pv })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Color::{Black, White};

    #[test]
    fn another_engines_values_are_its_wdl_or_else_its_centipawns() {
        let m = Game::new().legal_moves()[0];
        let line = |score, wdl, mover| {
            engine_line(EngineMove { m, pv: vec![m], score, wdl }, mover).map(|line| line.value)
        };
        let cp = Some(Score::Cp(100));
        assert!((line(cp, None, White).unwrap().white - 59.10).abs() < 0.01);
        assert!((line(cp, None, Black).unwrap().white - 40.90).abs() < 0.01);
        let value = line(cp, Some([200, 700, 100]), Black).unwrap();
        assert!((value.white - 45.0).abs() < 1e-4 && value.mate.is_none());
        let mated = line(Some(Score::Mate(-3)), None, White).unwrap();
        assert_eq!(mated.mate, Some(JudgedMate { winner: Black, moves: 3 }));
        assert!((mated.white - 2.455).abs() < 1e-3);
        let mates = line(Some(Score::Mate(2)), Some([1000, 0, 0]), Black).unwrap();
        assert_eq!((mates.white, mates.mate), (0.0, Some(JudgedMate { winner: Black, moves: 2 })));
        assert_eq!(line(None, None, White), None);
    }
}
