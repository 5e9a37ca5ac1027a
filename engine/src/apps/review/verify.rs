//! Spends a game's budget: one pass over all positions, then deeper searches of the moves that may get a mark.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use shakmaty::{Color, Move};

use super::evidence::{Evidence, Moves, SearchKey};
use super::game_review::value_of_end;
use super::judge::{Judge, JudgeError, JudgedLine, SearchTask};
use super::verdict::Verdicts;
use crate::apps::uci_client::{Limit, UciPosition};
use crate::chess::pgn::PgnGame;

/// The first pass gets the budget divided by this, so that a second, four times as deep, takes exactly the rest.
const FIRST_PASS: u64 = 5;
/// Deepest level: 4^8 times the nodes of the first pass.
const DEEPEST: u32 = 8;

/// Effort for one game.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    Nodes(u64),
    /// Nodes for each position in the mean; the game has their product.
    NodesPerPosition(u64),
    Time(Duration),
}

/// What is left of a budget, in nodes or in milliseconds of the clock.
struct Purse {
    left: u64,
    total: u64,
    /// Cost of one search in the first pass.
    first: u64,
    is_time: bool,
    /// Searches that run at the same time.
    workers: u64,
}

impl Budget {
    fn purse(self, positions: usize, workers: usize) -> Purse {
        let (positions, workers) = (positions.max(1) as u64, workers.max(1) as u64);
        let (total, is_time) = match self {
            Budget::Nodes(nodes) => (nodes, false),
            Budget::NodesPerPosition(nodes) => (nodes.saturating_mul(positions), false),
            Budget::Time(time) => (time.as_millis() as u64, true),
        };
        let rounds = if is_time { positions.div_ceil(workers) } else { positions };
        let first = (total / (FIRST_PASS * rounds)).max(1);
        Purse { left: total, total, first, is_time, workers }
    }
}

impl Purse {
    fn cost(&self, level: u32) -> u64 {
        self.first.saturating_mul(4_u64.pow(level))
    }

    /// Of all searches together. Those of one plan run side by side, round by round.
    fn price(&self, plan: &[Planned]) -> u64 {
        let costs = plan.iter().map(|(_, key)| self.cost(key.level));
        if self.is_time {
            let rounds = (plan.len() as u64).div_ceil(self.workers);
            return costs.max().unwrap_or(0).saturating_mul(rounds);
        }
        costs.sum()
    }

    fn limit(&self, level: u32) -> Limit {
        let cost = self.cost(level);
        if self.is_time { Limit::Movetime(cost) } else { Limit::Nodes(cost) }
    }
}

/// A search that has just been made.
pub struct NewSearch<'a> {
    pub ply: usize,
    pub key: SearchKey,
    /// Of all positions, with this search.
    pub evidence: &'a [Evidence],
    /// Share of the game's budget, 0 to 1.
    pub spent: f64,
}

type Planned = (usize, SearchKey);

pub struct Reviewer<'a> {
    pub budget: Budget,
    /// Positions before it are left out.
    pub first_ply: usize,
    pub judge: &'a mut dyn Judge,
    pub stop: &'a Arc<AtomicBool>,
}

impl Reviewer<'_> {
    /// `kept` are searches of an interrupted review of this game, which are not repeated. The same nodes give the same
    /// evidence whether the review was interrupted or not.
    pub fn review(
        &mut self,
        game: &PgnGame,
        kept: &[Evidence],
        note: &mut dyn FnMut(NewSearch<'_>) -> Result<(), JudgeError>,
    ) -> Result<Vec<Evidence>, JudgeError> {
        let positions = positions(game);
        let mut evidence = vec![Evidence::default(); positions.len()];
        let first_ply = self.first_ply.min(positions.len() - 1);
        if first_ply + 1 >= positions.len() {
            return Ok(evidence);
        }
        let mut purse = self.budget.purse(positions.len() - first_ply, self.judge.workers());
        self.judge.new_game(self.stop)?;
        let is_open = |ply: &usize| value_of_end(&positions[*ply].game).is_none();
        let key = SearchKey::all(0);
        let mut plan: Vec<Planned> =
            (first_ply..positions.len()).rev().filter(is_open).map(|ply| (ply, key)).collect();
        while !plan.is_empty() {
            purse.left = purse.left.saturating_sub(purse.price(&plan));
            self.search(&positions, &plan, kept, &mut evidence, &purse, note)?;
            plan = next(game, &evidence, first_ply, &purse);
        }
        Ok(evidence)
    }

    fn search(
        &mut self,
        positions: &[UciPosition],
        plan: &[Planned],
        kept: &[Evidence],
        evidence: &mut [Evidence],
        purse: &Purse,
        note: &mut dyn FnMut(NewSearch<'_>) -> Result<(), JudgeError>,
    ) -> Result<(), JudgeError> {
        let mut tasks = Vec::new();
        let mut wanted = Vec::new();
        let is_own = self.judge.is_own();
        let searched: Vec<Cow<'_, UciPosition>> =
            plan.iter().map(|(ply, key)| searched(&positions[*ply], key.moves)).collect();
        for ((ply, key), position) in plan.iter().zip(&searched) {
            evidence[*ply].is_own = is_own;
            match kept.get(*ply).and_then(|kept| Some((kept.found(*key)?, kept.known))) {
                Some((lines, known)) => {
                    evidence[*ply].add(*key, lines.to_vec());
                    evidence[*ply].known = known;
                }
                None => {
                    let limit = purse.limit(key.level);
                    let without = if let Moves::Without(m) = key.moves { Some(m) } else { None };
                    tasks.push(SearchTask { position: position.as_ref(), limit, without });
                    wanted.push((*ply, *key));
                    evidence[*ply].known = self.judge.known(&positions[*ply].game);
                }
            }
        }
        let before = 1.0 - purse.left as f64 / purse.total.max(1) as f64;
        let (count, mut done) = (tasks.len(), 0);
        self.judge.judge_all(&tasks, self.stop, &mut |index, lines| {
            let (ply, key) = wanted[index];
            let mover = positions[ply].game.turn();
            evidence[ply].add(key, lines.into_iter().map(|line| begun(line, key.moves, mover)).collect());
            done += 1;
            let waiting = purse.price(&wanted[..count - done]);
            let spent = (before - waiting as f64 / purse.total.max(1) as f64).clamp(0.0, 1.0);
            note(NewSearch { ply, key, evidence, spent })
        })
    }
}

fn searched(position: &UciPosition, moves: Moves) -> Cow<'_, UciPosition> {
    let Moves::Only(m) = moves else { return Cow::Borrowed(position) };
    let mut after = position.clone();
    after.play(m);
    Cow::Owned(after)
}

/// The line as seen before the move, with which it then begins.
fn begun(line: JudgedLine, moves: Moves, mover: Color) -> JudgedLine {
    let Moves::Only(m) = moves else { return line };
    let pv = std::iter::once(m).chain(line.pv).collect();
    JudgedLine { value: line.value.before(mover), wdl: None, pv }
}

fn positions(game: &PgnGame) -> Vec<UciPosition> {
    let mut now = UciPosition::new(Some(&game.start().fen())).expect("a position that was read");
    let mut positions = vec![now.clone()];
    for m in game.moves() {
        now.play(m);
        positions.push(now.clone());
    }
    positions
}

/// Searches one level deeper what is not settled, the least searched moves first; if all is settled, every position.
/// Empty if the budget does not suffice.
fn next(game: &PgnGame, evidence: &[Evidence], first_ply: usize, purse: &Purse) -> Vec<Planned> {
    let verdicts = Verdicts::new(game, evidence);
    let plies = first_ply..evidence.len() - 1;
    let mut open: Vec<usize> = plies.filter(|ply| !verdicts.is_settled(*ply)).collect();
    open.sort_by_cached_key(|ply| (verdicts.level(*ply), Reverse(stake(&verdicts, *ply)), Reverse(*ply)));
    let mut plan: Vec<Planned> = Vec::new();
    let level = open.first().map(|ply| verdicts.level(*ply) + 1);
    for ply in open.into_iter().filter(|ply| Some(verdicts.level(*ply) + 1) == level) {
        let searches = match verdicts.comparison(ply) {
            Some((better, level)) => comparing(&verdicts, ply, better, level),
            None => deeper(&verdicts, ply, verdicts.level(ply) + 1),
        };
        let new: Vec<Planned> = searches.into_iter().filter(|search| !plan.contains(search)).collect();
        let longer = [&plan[..], &new].concat();
        if purse.price(&longer) <= purse.left && new.iter().all(|(_, key)| key.level <= DEEPEST) {
            plan = longer;
        }
    }
    if !plan.is_empty() {
        return plan;
    }
    everywhere(&verdicts, first_ply, evidence.len(), purse)
}

/// In hundredths of a point, to be sorted by.
fn stake(verdicts: &Verdicts, ply: usize) -> u64 {
    (100.0 * verdicts.stake(ply)) as u64
}

fn deeper(verdicts: &Verdicts, ply: usize, level: u32) -> Vec<Planned> {
    let lacks = |ply: &usize| verdicts.position_level(*ply) < level;
    let grounds = verdicts.grounds(ply).into_iter().filter(lacks);
    let mut searches: Vec<Planned> = grounds.map(|ply| (ply, SearchKey::all(level))).collect();
    if verdicts.may_be_praised(ply) && !verdicts.is_known(ply) {
        searches.push((ply, SearchKey { level, moves: Moves::Without(verdicts.moves[ply]) }));
    }
    let better = verdicts.better(ply).filter(|better| !verdicts.is_searched_after(ply, *better, level));
    searches.extend(better.map(|better| (ply, SearchKey { level, moves: Moves::Only(better) })));
    searches
}

/// Searches of the positions after an error and after the better move.
fn comparing(verdicts: &Verdicts, ply: usize, better: Move, level: u32) -> Vec<Planned> {
    let mut searches = Vec::new();
    if verdicts.position_level(ply + 1) < level {
        searches.push((ply + 1, SearchKey::all(level)));
    }
    if !verdicts.is_searched_after(ply, better, level) {
        searches.push((ply, SearchKey { level, moves: Moves::Only(better) }));
    }
    searches
}

/// As many of the shallowest positions as the budget pays for, one level deeper, the last first.
fn everywhere(verdicts: &Verdicts, first_ply: usize, positions: usize, purse: &Purse) -> Vec<Planned> {
    let open = || (first_ply..positions).rev().filter(|ply| !verdicts.is_known(*ply));
    let Some(level) = open().map(|ply| verdicts.position_level(ply) + 1).min() else { return Vec::new() };
    if level > DEEPEST {
        return Vec::new();
    }
    let at_once = if purse.is_time { purse.workers } else { 1 };
    let affordable = (purse.left / purse.cost(level)).saturating_mul(at_once);
    let shallow = open().filter(|ply| verdicts.position_level(*ply) < level);
    let planned = shallow.take(usize::try_from(affordable).unwrap_or(usize::MAX));
    planned.map(|ply| (ply, SearchKey::all(level))).collect()
}

#[cfg(test)]
mod tests {
    use shakmaty::Position;

    use super::*;
    use crate::apps::review::game_review::positions_of;
    use crate::apps::review::judgement::PositionValue;
    use crate::chess::pgn::read_games;

    /// Finds every position drawn, and adds up what it is asked for.
    struct Level {
        workers: usize,
        nodes: u64,
        /// Milliseconds of the clock with searches side by side.
        time: u64,
    }

    impl Judge for Level {
        fn name(&self) -> String {
            "level".to_owned()
        }

        fn is_own(&self) -> bool {
            true
        }

        fn workers(&self) -> usize {
            self.workers
        }

        fn new_game(&mut self, _: &Arc<AtomicBool>) -> Result<(), JudgeError> {
            Ok(())
        }

        fn judge_all(
            &mut self,
            tasks: &[SearchTask<'_>],
            _: &Arc<AtomicBool>,
            found: &mut dyn FnMut(usize, Vec<JudgedLine>) -> Result<(), JudgeError>,
        ) -> Result<(), JudgeError> {
            let mut longest = 0;
            for (index, task) in tasks.iter().enumerate() {
                match task.limit {
                    Limit::Nodes(nodes) => self.nodes += nodes,
                    Limit::Movetime(time) => longest = longest.max(time),
                    Limit::Depth(_) => unreachable!("a budget has no depth"),
                }
                let moves = task.position.game.legal_moves();
                let line = |m| JudgedLine { value: PositionValue::DRAW, wdl: None, pv: vec![m] };
                found(index, moves.into_iter().take(2).map(line).collect())?;
            }
            self.time += longest * tasks.len().div_ceil(self.workers) as u64;
            Ok(())
        }
    }

    fn judged(budget: Budget, workers: usize, pgn: &str) -> Level {
        let (games, _) = read_games(pgn.as_bytes());
        let mut judge = Level { workers, nodes: 0, time: 0 };
        let mut reviewer = Reviewer { budget, first_ply: 0, judge: &mut judge, stop: &Arc::default() };
        let evidence = reviewer.review(&games[0].1, &[], &mut |_| Ok(())).unwrap();
        assert!(evidence.iter().all(|found| found.is_own != found.is_empty()), "the judge is known");
        judge
    }

    const GAME: &str = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O *";

    #[test]
    fn the_budget_is_spent_and_not_exceeded() {
        for nodes in [17_000, 100_000, 1_234_567] {
            let Level { nodes: spent, .. } = judged(Budget::Nodes(nodes), 2, GAME);
            assert!(spent <= nodes && 10 * spent >= 9 * nodes, "{spent} of {nodes}");
        }
        for workers in [1, 2, 8, 64] {
            let Level { time, .. } = judged(Budget::Time(Duration::from_secs(60)), workers, GAME);
            assert!((30_000..=60_000).contains(&time), "{time} ms with {workers} workers");
        }
        assert_eq!(judged(Budget::Nodes(1000), 1, "[Event \"no moves\"]\n\n*").nodes, 0);
    }

    /// Gives White 50 points where 2. e4 is possible, and 10 in all other positions.
    struct Optimist {
        /// The pieces of the positions searched, and the nodes.
        asked: Vec<(String, u64)>,
    }

    impl Judge for Optimist {
        fn name(&self) -> String {
            "optimist".to_owned()
        }

        fn new_game(&mut self, _: &Arc<AtomicBool>) -> Result<(), JudgeError> {
            Ok(())
        }

        fn judge_all(
            &mut self,
            tasks: &[SearchTask<'_>],
            _: &Arc<AtomicBool>,
            found: &mut dyn FnMut(usize, Vec<JudgedLine>) -> Result<(), JudgeError>,
        ) -> Result<(), JudgeError> {
            for (index, task) in tasks.iter().enumerate() {
                let (game, Limit::Nodes(nodes)) = (&task.position.game, task.limit) else { unreachable!() };
                let placement = game.position().board().to_string();
                self.asked.push((placement, nodes));
                let e4 = game.parse_uci("e2e4").ok().filter(|_| game.position().fullmoves().get() == 2);
                let line = |m, white| JudgedLine {
                    value: PositionValue { white, mate: None },
                    wdl: None,
                    pv: vec![m],
                };
                let value = if e4.is_some() { 50.0 } else { 10.0 };
                let first = e4.unwrap_or(game.legal_moves()[0]);
                found(index, vec![line(first, value)])?;
            }
            Ok(())
        }
    }

    #[test]
    fn the_better_move_of_an_error_is_searched_and_refuted() {
        let (games, _) = read_games(b"1. f3 e5 2. g4 d6 3. a3 a6 4. a4 a5 *");
        let mut judge = Optimist { asked: Vec::new() };
        let budget = Budget::NodesPerPosition(1000);
        let mut reviewer = Reviewer { budget, first_ply: 0, judge: &mut judge, stop: &Arc::default() };
        let game = &games[0].1;
        let evidence = reviewer.review(game, &[], &mut |_| Ok(())).unwrap();
        let mut after = positions_of(game)[2].clone();
        after.play(after.parse_uci("e2e4").unwrap());
        let placement = after.position().board().to_string();
        let nodes = judge.asked.iter().find(|(of, _)| *of == placement).map(|(_, nodes)| *nodes);
        // As many as the move played has at that time.
        assert_eq!(nodes, Some(800), "{:?}", judge.asked);
        let verdicts = Verdicts::new(game, &evidence);
        assert_eq!(verdicts.final_judgement(2).unwrap().mark, None);
        let kept = {
            let mut judge = Optimist { asked: Vec::new() };
            let mut reviewer = Reviewer { budget, first_ply: 0, judge: &mut judge, stop: &Arc::default() };
            assert_eq!(reviewer.review(game, &evidence, &mut |_| Ok(())).unwrap(), evidence);
            judge.asked
        };
        assert!(kept.is_empty(), "kept searches are not repeated: {kept:?}");
    }
}
