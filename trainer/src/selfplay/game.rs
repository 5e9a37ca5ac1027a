//! One game of a network against itself, in progress.

use std::sync::Arc;

use engine::eval::centipawns_of_q;
use engine::position::{Game, PackedMove};
use engine::search::{Gumbel, Limits, Noise, Proof, Solo, choose};
use engine::tables::Tables;
use shakmaty::{Color, Move};

use super::target::policy_target;
use crate::config::{GumbelRules, Rules};
use crate::gameplay::known_end;
use crate::gameplay::{Next, Sitting};
use crate::record::{
    FLAG_ADJUDICATED, FLAG_SELF_PLAY, GameRecord, GameResult, MATE_LIMIT, MATE_SCORE, MAX_CENTIPAWNS,
    RngStream, SearchRecord, stream_rng,
};

/// A game that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// Its number among all.
    pub number: u64,
    /// The game.
    pub game: GameRecord,
    /// Who gave up, if somebody did.
    pub resigned: Option<Color>,
    /// Of a game that was played on: who would have given up.
    pub would_resign: Option<Color>,
}

/// What all games have in common.
#[derive(Clone, Debug)]
pub struct Table {
    /// How they are played.
    pub rules: Rules,
    /// Where the dice begin.
    pub seed: u64,
    /// What is known of endgames.
    pub tables: Tables,
}

/// A game in progress.
pub struct SelfGame {
    // Fixed.
    table: Arc<Table>,
    number: u64,
    evaluator: usize,
    // Grows.
    game: Game,
    record: GameRecord,
    solo: Solo,
    /// Whether a search is under way, and whether it is to be learnt.
    searching: Option<bool>,
}

impl SelfGame {
    /// GameRecord `number`, which goes on with what is recorded of it.
    pub fn new(table: Arc<Table>, number: u64, evaluator: usize, record: GameRecord) -> SelfGame {
        let mut game = Game::from_fen(&record.start_fen()).expect("a start that was checked");
        record.moves.iter().for_each(|m| game.play(m.to_legal_move(game.position())));
        // Positions deep in a search are looked up by the game, when it comes there.
        let solo = Solo::new(table.tables.clone(), table.rules.tree_memory());
        SelfGame { table, number, evaluator, game, record, solo, searching: None }
    }

    /// Its number, and what is recorded of it so far.
    pub fn into_parts(self) -> (u64, GameRecord) {
        (self.number, self.record)
    }

    fn dice(&self, purpose: RngStream, ply: usize) -> fastrand::Rng {
        stream_rng(purpose, self.table.seed, self.number, ply as u64)
    }

    /// Takes what the search has found, and plays a move.
    fn conclude(&mut self, learnt: bool) {
        let tree = self.solo.tree();
        let stats = tree.stats();
        let root = tree.root();
        let wdl = root.proof.map_or(root.wdl.flipped(), Proof::wdl);
        let improved = self.solo.improved().filter(|_| root.proof.is_none());
        let target = match &improved {
            _ if !learnt => Vec::new(),
            Some(improved) => improved.policy.clone(),
            None => policy_target(&stats, self.solo.priors(), self.table.rules.prune),
        };
        let shares = target.into_iter().map(|(m, share)| (PackedMove::new(m), share));
        self.record.searches.push(SearchRecord::new(wdl.q(), wdl.draw, shares));
        self.record.evals.push(eval(wdl.q(), root.proof, self.game.turn()));
        let visited: Vec<(Move, u64)> = stats
            .iter()
            .filter(|stats| !matches!(stats.proof, Some(Proof::Loss(_))))
            .map(|stats| (stats.m, stats.visits))
            .collect();
        let won = stats.first().filter(|first| matches!(first.proof, Some(Proof::Win(_))));
        let m = match (won, improved) {
            (Some(won), _) => Some(won.m),
            (None, Some(improved)) => Some(improved.best),
            (None, None) => self.draw(&visited),
        };
        // If every move loses, or none was visited, the first is as good as any.
        let m = m.or(stats.first().map(|stats| stats.m)).or(tree.root_moves().first().copied());
        let m = m.expect("the game isn't over");
        self.record.moves.push(PackedMove::new(m));
        self.game.play(m);
    }

    /// Chooses among visited moves as the temperature says.
    fn draw(&self, visited: &[(Move, u64)]) -> Option<Move> {
        let visits: Vec<u64> = visited.iter().map(|(_, visits)| *visits).collect();
        let dice = self.dice(RngStream::Move, self.record.moves.len()).u64(..);
        choose(&visits, self.temperature(), dice).map(|index| visited[index].0)
    }

    /// How much chance has in the next move.
    fn temperature(&self) -> f32 {
        let rules = &self.table.rules.temperature;
        if self.record.moves.len() < rules.plies { rules.opening } else { rules.later }
    }

    /// How the game has ended, if it has; and whether somebody had to decide.
    fn end(&self) -> Option<(GameResult, u16, Option<Color>)> {
        let rules = &self.table.rules;
        if let Some((result, flag)) = known_end(&self.game, &self.table.tables) {
            return Some((result, flag, None));
        }
        if let Some(loser) = self.lost_side().filter(|_| !self.is_played_on()) {
            return Some((GameResult::won_by(!loser), FLAG_ADJUDICATED, Some(loser)));
        }
        let cut = if rules.cut_is_draw { GameResult::Draw } else { GameResult::Unknown };
        (self.record.moves.len() >= rules.max_plies).then_some((cut, FLAG_ADJUDICATED, None))
    }

    fn is_played_on(&self) -> bool {
        self.dice(RngStream::PlayedOn, 0).f64() < self.table.rules.resign.played_on
    }

    /// The side that gives up now by its last searches.
    fn lost_side(&self) -> Option<Color> {
        let first = first_mover(&self.record);
        let last = self.record.searches.len().checked_sub(1)?;
        let side = if last % 2 == 0 { first } else { !first };
        gives_up(&self.record.searches, last, &self.table.rules).then_some(side)
    }

    fn start_search(&mut self) {
        let Table { rules, .. } = &*self.table;
        let mut rng = self.dice(RngStream::Search, self.record.moves.len());
        let learnt = rng.f64() < rules.playout_cap.share;
        let noise = Noise { epsilon: rules.noise.epsilon, alpha: rules.noise.alpha, seed: rng.u64(..) };
        let limits = Limits {
            visits: Some(if learnt { rules.visits } else { rules.playout_cap.visits }),
            noise: (learnt && rules.noise.epsilon > 0.0).then_some(noise),
            ..Limits::default()
        };
        if rules.gumbel.considered > 0 {
            let GumbelRules { considered, c_visit, c_scale } = rules.gumbel;
            let noise = self.temperature();
            let gumbel = Gumbel { considered, c_visit, c_scale, noise, seed: rng.u64(..) };
            self.solo.start_gumbel(&self.game, limits, rules.params(), gumbel);
        } else {
            self.solo.start(&self.game, limits, rules.params());
        }
        self.searching = Some(learnt);
    }

    fn finished(&mut self, (result, flag, resigned): (GameResult, u16, Option<Color>)) -> Finished {
        let mut game = std::mem::take(&mut self.record);
        game.result = result;
        game.flags |= FLAG_SELF_PLAY | flag;
        let would_resign = self.is_played_on().then(|| first_to_give_up(&game, &self.table.rules)).flatten();
        Finished { number: self.number, game, resigned, would_resign }
    }
}

impl Sitting for SelfGame {
    type Outcome = Finished;

    fn advance(&mut self) -> Next<Finished> {
        if let Some(learnt) = self.searching.take() {
            self.conclude(learnt);
        }
        match self.end() {
            Some(end) => Next::Over(self.finished(end)),
            None => {
                self.start_search();
                Next::Search(self.evaluator)
            }
        }
    }

    fn solo(&mut self) -> &mut Solo {
        &mut self.solo
    }

    fn search(&self) -> &Solo {
        &self.solo
    }
}

impl Finished {
    /// A stored game that was played by these rules: who gave up or would have is told by its searches.
    pub fn stored(number: u64, game: GameRecord, rules: &Rules) -> Finished {
        let loser = first_to_give_up(&game, rules);
        let gave_up = |loser: &Color| {
            let last = game.searches.len() - 1;
            game.flags & FLAG_ADJUDICATED != 0
                && game.result == GameResult::won_by(!*loser)
                && (0..last).all(|ply| !gives_up(&game.searches, ply, rules))
        };
        let resigned = loser.filter(gave_up);
        let would_resign = loser.filter(|_| resigned.is_none());
        Finished { number, game, resigned, would_resign }
    }
}

/// The side that makes the first recorded move.
fn first_mover(record: &GameRecord) -> Color {
    let black = record.start.as_deref().is_some_and(|fen| fen.split(' ').nth(1) == Some("b"));
    if black { Color::Black } else { Color::White }
}

/// Whether the side that moved at `ply` has found so many of its positions in a row to be lost.
fn gives_up(searches: &[SearchRecord], ply: usize, rules: &Rules) -> bool {
    let threshold = rules.resign.threshold;
    let own = (0..=ply).rev().step_by(2).take(rules.resign.moves);
    threshold < 1.0
        && ply + 2 > 2 * rules.resign.moves - 1
        && own.into_iter().all(|ply| f32::from(searches[ply].q) / 32767.0 < -threshold)
}

/// Who would have given up first.
fn first_to_give_up(record: &GameRecord, rules: &Rules) -> Option<Color> {
    let ply = (0..record.searches.len()).find(|ply| gives_up(&record.searches, *ply, rules))?;
    let first = first_mover(record);
    Some(if ply % 2 == 0 { first } else { !first })
}

/// What a search found, as `games/1` keeps evaluations: for White.
fn eval(q: f32, proof: Option<Proof>, mover: Color) -> i16 {
    let mate = proof.and_then(|proof| Some((proof, proof.mate()?)));
    let for_mover = match mate {
        Some((proof, plies)) => {
            let score = MATE_SCORE - plies.min(MATE_PLIES) as i16;
            if matches!(proof, Proof::Win(_)) { score } else { -score }
        }
        None => centipawns_of_q(q).clamp(-i32::from(MAX_CENTIPAWNS), i32::from(MAX_CENTIPAWNS)) as i16,
    };
    if mover.is_white() { for_mover } else { -for_mover }
}

/// The longest mate that can be told from centipawns.
const MATE_PLIES: u16 = MATE_LIMIT as u16;

#[cfg(test)]
mod tests {
    use super::*;

    fn searched(q: f32) -> SearchRecord {
        SearchRecord::new(q, 0.0, [])
    }

    #[test]
    fn giving_up_takes_several_lost_positions_of_ones_own() {
        let rules = Rules::default();
        let q = |values: &[f32]| values.iter().map(|q| searched(*q)).collect::<Vec<_>>();
        // White's at 0, 2, 4: lost three times; Black's are won.
        let lost = q(&[-0.97, 0.97, -0.98, 0.98, -0.99]);
        assert!(gives_up(&lost, 4, &rules));
        assert!(!gives_up(&lost, 2, &rules), "only two of them");
        assert!(!gives_up(&lost, 3, &rules), "Black is winning");
        assert!(!gives_up(&q(&[-0.97, 0.9, -0.5, 0.9, -0.99]), 4, &rules), "not in a row");
        let mut never = rules.clone();
        never.resign.threshold = 1.0;
        assert!(!gives_up(&q(&[-1.0; 9]), 8, &never));
        let record = |start: Option<&str>| GameRecord {
            start: start.map(str::to_owned),
            searches: lost.clone(),
            ..GameRecord::default()
        };
        assert_eq!(first_to_give_up(&record(None), &rules), Some(Color::White));
        let black = "4k3/8/8/8/8/8/8/4K2R b K - 0 1";
        assert_eq!(first_to_give_up(&record(Some(black)), &rules), Some(Color::Black));
    }

    #[test]
    fn evaluations_are_whites() {
        assert_eq!(eval(0.0, Some(Proof::Loss(4)), Color::White), -(MATE_SCORE - 4));
        assert_eq!(eval(0.0, Some(Proof::Win(3)), Color::Black), -(MATE_SCORE - 3));
        assert_eq!(eval(0.5, None, Color::White), -eval(0.5, None, Color::Black));
        assert_eq!(eval(1.0, None, Color::White), centipawns_of_q(1.0).min(29_000) as i16);
    }
}
