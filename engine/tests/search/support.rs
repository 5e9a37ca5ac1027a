//! A tree driven step by step with a scripted evaluator, and searches by a pool.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use engine::chess::position::Game;
use engine::chess::tables::Tables;
use engine::nets::eval::HashedEvaluator;
use engine::nets::eval::{Answer, EvalError, Evaluator, Request, Uniform, Wdl};
use engine::search::{Limits, NodeView, Params, Pool, Puct, SearchOutcome, SteppedSearch, Tree};
use shakmaty::{Color, Move};

/// Plain PUCT with c = 1: no growth, reduction, temperature or pruning.
pub fn plain() -> Params {
    Params {
        puct: Puct { c: 1.0, factor: 0.0, ..Puct::default() },
        fpu: 0.0,
        policy_temperature: 1.0,
        root_policy_temperature: 1.0,
        reply_policy_temperature: 1.0,
        virtual_loss: 1.0,
        smart_pruning: 0.0,
        ..Params::default()
    }
}

/// Answers by the last move played; by default a draw and equal priors.
#[derive(Clone, Default)]
pub struct Scripted {
    wdl: HashMap<String, Wdl>,
    priors: HashMap<String, f32>,
}

impl Scripted {
    pub fn value(mut self, after: &str, wdl: Wdl) -> Scripted {
        self.wdl.insert(after.to_owned(), wdl);
        self
    }

    pub fn prior(mut self, m: &str, prior: f32) -> Scripted {
        self.priors.insert(m.to_owned(), prior);
        self
    }

    pub fn answer(&self, after: &str, moves: &[Move]) -> Answer {
        let prior = |m: &Move| self.priors.get(&Game::uci(*m, false)).copied();
        let priors = moves.iter().map(|m| prior(m).unwrap_or(1.0 / moves.len() as f32)).collect();
        Answer { wdl: self.wdl.get(after).copied().unwrap_or(Wdl::DRAW), priors }
    }
}

/// A stepped search, one leaf at a time, with scripted answers.
pub struct ManualSearch {
    pub search: SteppedSearch,
    script: Scripted,
}

impl ManualSearch {
    pub fn new(fen: &str, root_moves: &str, params: Params, script: Scripted) -> ManualSearch {
        let game = Game::from_fen(fen).unwrap();
        let root_moves = root_moves.split_whitespace().map(|m| game.parse_uci(m).unwrap()).collect();
        let mut search = SteppedSearch::new(Tables::default(), 1 << 24);
        search.start(&game, Limits { root_moves, ..Limits::default() }, params);
        ManualSearch { search, script }
    }

    pub fn tree(&self) -> &Tree {
        self.search.tree()
    }

    /// Does nothing if the search has ended.
    pub fn visit(&mut self) {
        if self.search.gather(1) > 0 {
            self.answer();
        }
    }

    pub fn answer(&mut self) {
        let root = self.tree().root_game().clone();
        let answers: Vec<Answer> = self
            .search
            .requests()
            .map(|request| self.script.answer(&last_move(&root, request.game), request.moves))
            .collect();
        self.search.answer(&answers);
    }

    /// Visits of each root move, by its name.
    pub fn visits(&self) -> HashMap<String, u32> {
        self.tree().children().into_iter().map(|(m, view)| (Game::uci(m, false), view.visits)).collect()
    }

    pub fn child(&self, uci: &str) -> NodeView {
        let children = self.tree().children();
        children.into_iter().find(|(m, _)| Game::uci(*m, false) == uci).expect("a root move").1
    }
}

/// The root move that leads to `game`; empty if it is not one ply from `root`.
pub fn last_move(root: &Game, game: &Game) -> String {
    let one_ply = root.legal_moves().into_iter().find(|m| {
        let mut next = root.clone();
        next.play(*m);
        next.hash() == game.hash() && game.ply() == root.ply() + 1
    });
    one_ply.map_or(String::new(), |m| Game::uci(m, false))
}

pub const KINGS_AND_PAWNS: &str = "4k3/pppppppp/8/8/8/8/PPPPPPPP/4K3 w - - 0 1";

pub fn wdl(win: f32, draw: f32, loss: f32) -> Wdl {
    Wdl { win, draw, loss }
}

pub fn near(got: f32, want: f32) {
    assert!((got - want).abs() < 1e-3, "{got}, not {want}");
}

pub fn search(evaluators: Vec<Box<dyn Evaluator>>, game: &Game, limits: Limits) -> SearchOutcome {
    search_with(Params::default(), evaluators, game, limits)
}

pub fn search_with(
    params: Params,
    evaluators: Vec<Box<dyn Evaluator>>,
    game: &Game,
    limits: Limits,
) -> SearchOutcome {
    search_by(&mut Pool::new(evaluators, params, 64 << 20), game, limits)
}

/// The pool may have a tree already.
pub fn search_by(pool: &mut Pool, game: &Game, limits: Limits) -> SearchOutcome {
    let outcome = pool.search(game, limits);
    assert!(!pool.searching());
    outcome
}

/// The game after `moves` from `fen`, or from the initial position.
pub fn played(fen: Option<&str>, moves: &str) -> Game {
    let mut game = fen.map_or_else(Game::new, |fen| Game::from_fen(fen).unwrap());
    for text in moves.split_whitespace() {
        let m = game.parse_uci(text).unwrap();
        game.play(m);
    }
    game
}

pub fn uniform(workers: usize) -> Vec<Box<dyn Evaluator>> {
    (0..workers).map(|_| Box::new(Uniform) as Box<dyn Evaluator>).collect()
}

pub fn visits(visits: u64) -> Limits {
    Limits { visits: Some(visits), ..Limits::default() }
}

/// Every position is won for White, with equal priors.
pub struct WhiteWins;

impl Evaluator for WhiteWins {
    fn max_batch(&self) -> usize {
        8
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        let mut answers = Uniform.evaluate(batch)?;
        for (answer, request) in answers.iter_mut().zip(batch) {
            let for_white = wdl(0.9, 0.1, 0.0);
            answer.wdl = if request.game.turn() == Color::White { for_white } else { for_white.flipped() };
        }
        Ok(answers)
    }
}

/// Records [`Game::key`] and FEN of each position that it evaluates.
#[derive(Clone, Default)]
pub struct RecordingEvaluator(pub Arc<Mutex<Vec<(u64, String)>>>);

impl Evaluator for RecordingEvaluator {
    fn max_batch(&self) -> usize {
        8
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        let positions = batch.iter().map(|request| (request.game.key(), request.game.fen()));
        self.0.lock().unwrap().extend(positions);
        HashedEvaluator.evaluate(batch)
    }
}
