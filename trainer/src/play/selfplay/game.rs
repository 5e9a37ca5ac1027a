use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use engine::chess::position::{Game, PackedMove};
use engine::chess::tables::Tables;
use engine::nets::eval::{Evaluator, centipawns_of_q};
use engine::search::{Gumbel, Limits, Noise, Proof, SteppedSearch, sample_by_visits};
use shakmaty::{Color, Move};

use super::policy_target::policy_target;
use crate::base::network::search_alone;
use crate::base::progress::count_ply;
use crate::config::{GumbelRules, SelfPlayRules};
use crate::data::record::{
    FLAG_ADJUDICATED, FLAG_SELF_PLAY, GameRecord, GameResult, MATE_LIMIT, MATE_SCORE, MAX_CENTIPAWNS,
    RngStream, SearchRecord, stream_rng,
};
use crate::play::gameplay::{BatchedGame, IsStopped, Next, known_result, live};

#[derive(Clone, Debug, PartialEq)]
pub struct FinishedGame {
    pub number: u64,
    pub game: GameRecord,
    pub resigned: Option<Color>,
    /// In a game without resignation: the side that would have resigned first.
    pub would_resign: Option<Color>,
}

#[derive(Clone, Debug)]
pub struct SelfPlaySetup {
    pub rules: SelfPlayRules,
    pub seed: u64,
    pub tables: Tables,
}

pub struct SelfPlayGame {
    setup: Arc<SelfPlaySetup>,
    number: u64,
    evaluator: usize,
    game: Game,
    record: GameRecord,
    solo: SteppedSearch,
    /// `Some` during a search; true if the policy is a training target.
    searching: Option<bool>,
}

impl SelfPlayGame {
    pub fn new(setup: Arc<SelfPlaySetup>, number: u64, evaluator: usize, record: GameRecord) -> SelfPlayGame {
        let mut game = Game::from_fen(&record.start_fen()).expect("a checked start position");
        record.moves.iter().for_each(|m| game.play(m.to_legal_move(game.position())));
        let solo = SteppedSearch::new(setup.tables.clone(), setup.rules.tree_memory());
        SelfPlayGame { setup, number, evaluator, game, record, solo, searching: None }
    }

    pub fn into_parts(self) -> (u64, GameRecord) {
        (self.number, self.record)
    }

    fn rng(&self, purpose: RngStream, ply: usize) -> fastrand::Rng {
        stream_rng(purpose, self.setup.seed, self.number, ply as u64)
    }

    /// The policy is recorded if `is_target`.
    fn finish_search(&mut self, is_target: bool) {
        let tree = self.solo.tree();
        let stats = tree.stats();
        let root = tree.root();
        let improved = self.solo.improved_policy().filter(|_| root.proof.is_none());
        let wdl = match (root.proof, stats.first()) {
            (Some(proof), _) => proof.wdl(),
            // The mean over all visits is biased by visits to inferior moves.
            (None, Some(best)) if best.visits > 0 && improved.is_none() => best.wdl,
            _ => root.wdl.flipped(),
        };
        let target = match &improved {
            _ if !is_target => Vec::new(),
            Some(improved) => improved.policy.clone(),
            None => policy_target(&stats, self.solo.priors(), self.setup.rules.prune),
        };
        let shares = target.into_iter().map(|(m, share)| (PackedMove::new(m), share));
        // Gumbel search takes the value of the improved policy, for the same reason.
        let q = improved.as_ref().map_or(wdl.q(), |improved| improved.q);
        self.record.searches.push(SearchRecord::new(q, wdl.draw.min(1.0 - q.abs()), shares));
        self.record.evals.push(eval(q, root.proof, self.game.turn()));
        let visited: Vec<(Move, u64)> = stats
            .iter()
            .filter(|stats| !matches!(stats.proof, Some(Proof::Loss(_))))
            .map(|stats| (stats.m, stats.visits))
            .collect();
        let won = stats.first().filter(|first| matches!(first.proof, Some(Proof::Win(_))));
        let m = match (won, improved) {
            (Some(won), _) => Some(won.m),
            (None, Some(improved)) => Some(improved.best),
            (None, None) => self.sample(&visited),
        };
        // If every move loses or none was visited, the first move is played.
        let m = m.or(stats.first().map(|stats| stats.m)).or(tree.root_moves().first().copied());
        let m = m.expect("the game is not over");
        self.record.moves.push(PackedMove::new(m));
        count_ply();
        let player = if self.evaluator == 0 { "best network" } else { "network in training" };
        live::moved(self.number, [player; 2], &self.game, m, self.record.moves.len());
        self.game.play(m);
    }

    fn sample(&self, visited: &[(Move, u64)]) -> Option<Move> {
        let visits: Vec<u64> = visited.iter().map(|(_, visits)| *visits).collect();
        let random = self.rng(RngStream::Move, self.record.moves.len()).u64(..);
        sample_by_visits(&visits, self.temperature(), random).map(|index| visited[index].0)
    }

    fn temperature(&self) -> f32 {
        let rules = &self.setup.rules.temperature;
        if self.record.moves.len() < rules.plies { rules.opening } else { rules.later }
    }

    /// Also the adjudication flag and the side that resigned.
    fn end(&self) -> Option<(GameResult, u16, Option<Color>)> {
        let rules = &self.setup.rules;
        if let Some((result, flag)) = known_result(&self.game, &self.setup.tables) {
            return Some((result, flag, None));
        }
        if let Some(loser) = self.resigning_side().filter(|_| !self.is_never_resigned()) {
            return Some((GameResult::won_by(!loser), FLAG_ADJUDICATED, Some(loser)));
        }
        let cut = if rules.cut_is_draw { GameResult::Draw } else { GameResult::Unknown };
        (self.record.moves.len() >= rules.max_plies).then_some((cut, FLAG_ADJUDICATED, None))
    }

    fn is_never_resigned(&self) -> bool {
        self.rng(RngStream::PlayedOn, 0).f64() < self.setup.rules.resign.played_on
    }

    /// The side that resigns by its last searches.
    fn resigning_side(&self) -> Option<Color> {
        let first = first_mover(&self.record);
        let last = self.record.searches.len().checked_sub(1)?;
        let side = if last % 2 == 0 { first } else { !first };
        resigns(&self.record.searches, last, &self.setup.rules).then_some(side)
    }

    fn start_search(&mut self) {
        let SelfPlaySetup { rules, .. } = &*self.setup;
        let mut rng = self.rng(RngStream::Search, self.record.moves.len());
        let is_target = rng.f64() < rules.playout_cap.share;
        let noise = Noise { epsilon: rules.noise.epsilon, alpha: rules.noise.alpha, seed: rng.u64(..) };
        let limits = Limits {
            visits: Some(if is_target { rules.visits } else { rules.playout_cap.visits }),
            noise: (is_target && rules.noise.epsilon > 0.0).then_some(noise),
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
        self.searching = Some(is_target);
    }

    fn finished(&mut self, (result, flag, resigned): (GameResult, u16, Option<Color>)) -> FinishedGame {
        let mut game = std::mem::take(&mut self.record);
        game.result = result;
        game.flags |= FLAG_SELF_PLAY | flag;
        let would_resign =
            self.is_never_resigned().then(|| first_to_resign(&game, &self.setup.rules)).flatten();
        FinishedGame { number: self.number, game, resigned, would_resign }
    }
}

impl BatchedGame for SelfPlayGame {
    type Outcome = FinishedGame;

    fn advance(&mut self, _stop: IsStopped<'_>) -> Next<FinishedGame> {
        if let Some(is_target) = self.searching.take() {
            self.finish_search(is_target);
        }
        match self.end() {
            Some(end) => Next::Over(self.finished(end)),
            None => {
                self.start_search();
                Next::Search(self.evaluator)
            }
        }
    }

    fn solo(&mut self) -> &mut SteppedSearch {
        &mut self.solo
    }

    fn search(&self) -> &SteppedSearch {
        &self.solo
    }
}

impl FinishedGame {
    /// The searches tell who resigned or would have resigned.
    pub fn stored(number: u64, game: GameRecord, rules: &SelfPlayRules) -> FinishedGame {
        let loser = first_to_resign(&game, rules);
        let resigned_now = |loser: &Color| {
            let last = game.searches.len() - 1;
            game.flags & FLAG_ADJUDICATED != 0
                && game.result == GameResult::won_by(!*loser)
                && (0..last).all(|ply| !resigns(&game.searches, ply, rules))
        };
        let resigned = loser.filter(resigned_now);
        let would_resign = loser.filter(|_| resigned.is_none());
        FinishedGame { number, game, resigned, would_resign }
    }
}

/// Checks that a game ends where and how the rules say, and every ply has a search record. The moves must already be
/// checked ([`replay_game`](crate::data::dataset::replay_game)).
pub fn check_game(setup: &SelfPlaySetup, number: u64, game: &GameRecord) -> Result<()> {
    let (plies, searches) = (game.moves.len(), game.searches.len());
    ensure!(searches == plies, "it has {searches} searches for {plies} plies");
    let start = GameRecord { start: game.start.clone(), ..GameRecord::default() };
    let mut replayed = SelfPlayGame::new(Arc::new(setup.clone()), number, 0, start);
    for (ply, (packed, searched)) in game.moves.iter().zip(&game.searches).enumerate() {
        ensure!(replayed.end().is_none(), "it was over after {ply} plies, and has {plies}");
        replayed.record.moves.push(*packed);
        replayed.record.searches.push(SearchRecord {
            q: searched.q,
            d: searched.d,
            ..SearchRecord::default()
        });
        replayed.game.play(packed.to_legal_move(replayed.game.position()));
    }
    let (result, flag, _) =
        replayed.end().with_context(|| format!("it is not over after its {plies} plies"))?;
    ensure!(game.result == result, "its result is {:?}, expected {result:?}", game.result);
    let flags = FLAG_SELF_PLAY | flag;
    ensure!(game.flags == flags, "its flags are {:#06x}, expected {flags:#06x}", game.flags);
    Ok(())
}

/// Repeats the search at `ply` of a stored game. Fails if the game is over there.
pub fn search_again(
    setup: Arc<SelfPlaySetup>,
    number: u64,
    game: &GameRecord,
    ply: usize,
    evaluator: &mut dyn Evaluator,
) -> Result<(PackedMove, SearchRecord)> {
    let before = GameRecord {
        start: game.start.clone(),
        moves: game.moves[..ply].to_vec(),
        evals: game.evals[..ply].to_vec(),
        searches: game.searches[..ply].to_vec(),
        ..GameRecord::default()
    };
    let leaves = setup.rules.leaves;
    let mut again = SelfPlayGame::new(setup, number, 0, before);
    ensure!(again.end().is_none(), "it is over before ply {ply}");
    again.start_search();
    search_alone(&mut again.solo, leaves, evaluator)?;
    let is_target = again.searching.take().unwrap_or_default();
    again.finish_search(is_target);
    let (m, searched) = (again.record.moves.pop(), again.record.searches.pop());
    Ok((m.context("no move")?, searched.context("no search")?))
}

fn first_mover(record: &GameRecord) -> Color {
    let black = record.start.as_deref().is_some_and(|fen| fen.split(' ').nth(1) == Some("b"));
    if black { Color::Black } else { Color::White }
}

/// Whether the side that moved at `ply` evaluated its last `resign.moves` positions as lost.
fn resigns(searches: &[SearchRecord], ply: usize, rules: &SelfPlayRules) -> bool {
    let threshold = rules.resign.threshold;
    let own = (0..=ply).rev().step_by(2).take(rules.resign.moves);
    threshold < 1.0
        && ply + 2 > 2 * rules.resign.moves - 1
        && own.into_iter().all(|ply| f32::from(searches[ply].q) / 32767.0 < -threshold)
}

fn first_to_resign(record: &GameRecord, rules: &SelfPlayRules) -> Option<Color> {
    let ply = (0..record.searches.len()).find(|ply| resigns(&record.searches, *ply, rules))?;
    let first = first_mover(record);
    Some(if ply % 2 == 0 { first } else { !first })
}

/// As in `games/1`: centipawns for White, or a mate in plies.
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

/// Longest mate that an evaluation can express.
const MATE_PLIES: u16 = MATE_LIMIT as u16;

#[cfg(test)]
mod tests {
    use super::*;

    fn searched(q: f32) -> SearchRecord {
        SearchRecord::new(q, 0.0, [])
    }

    #[test]
    fn resigning_takes_several_lost_positions_of_ones_own() {
        let rules = SelfPlayRules::default();
        let q = |values: &[f32]| values.iter().map(|q| searched(*q)).collect::<Vec<_>>();
        // White's plies 0, 2 and 4 are lost, Black's are won.
        let lost = q(&[-0.97, 0.97, -0.98, 0.98, -0.99]);
        assert!(resigns(&lost, 4, &rules));
        assert!(!resigns(&lost, 2, &rules), "only two of them");
        assert!(!resigns(&lost, 3, &rules), "Black is winning");
        assert!(!resigns(&q(&[-0.97, 0.9, -0.5, 0.9, -0.99]), 4, &rules), "not in a row");
        let mut never = rules.clone();
        never.resign.threshold = 1.0;
        assert!(!resigns(&q(&[-1.0; 9]), 8, &never));
        let record = |start: Option<&str>| GameRecord {
            start: start.map(str::to_owned),
            searches: lost.clone(),
            ..GameRecord::default()
        };
        assert_eq!(first_to_resign(&record(None), &rules), Some(Color::White));
        let black = "4k3/8/8/8/8/8/8/4K2R b K - 0 1";
        assert_eq!(first_to_resign(&record(Some(black)), &rules), Some(Color::Black));
    }

    #[test]
    fn evaluations_are_whites() {
        assert_eq!(eval(0.0, Some(Proof::Loss(4)), Color::White), -(MATE_SCORE - 4));
        assert_eq!(eval(0.0, Some(Proof::Win(3)), Color::Black), -(MATE_SCORE - 3));
        assert_eq!(eval(0.5, None, Color::White), -eval(0.5, None, Color::Black));
        assert_eq!(eval(1.0, None, Color::White), centipawns_of_q(1.0).min(29_000) as i16);
    }
}
