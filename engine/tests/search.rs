//! The search against numbers that a reader can check in his head, and against its laws.

use std::collections::HashMap;
use std::sync::mpsc;

use engine::eval::{Answer, EvalError, Evaluator, Request, Uniform, Wdl};
use engine::position::Game;
use engine::search::{
    Ended, Expansion, Fpu, Leaf, Limits, Outcome, Params, Pool, Proof, Puct, Score, Tree, Verdict, View,
    Watch,
};
use proptest::prelude::*;
use shakmaty::Move;

/// Plain PUCT with c = 1: no growth, no reduction, no temperature.
fn plain() -> Params {
    Params {
        puct: Puct { c: 1.0, factor: 0.0, ..Puct::default() },
        fpu: Fpu { value: 0.0, ..Fpu::default() },
        policy_temperature: 1.0,
        ..Params::default()
    }
}

/// Answers by the last move played; a draw and equal priors where the script says nothing.
#[derive(Clone, Default)]
struct Scripted {
    wdl: HashMap<String, Wdl>,
    priors: HashMap<String, f32>,
}

impl Scripted {
    fn value(mut self, after: &str, wdl: Wdl) -> Scripted {
        self.wdl.insert(after.to_owned(), wdl);
        self
    }

    fn prior(mut self, m: &str, prior: f32) -> Scripted {
        self.priors.insert(m.to_owned(), prior);
        self
    }

    fn answer(&self, after: &str, moves: &[Move]) -> Answer {
        let prior = |m: &Move| self.priors.get(&Game::uci(*m, false)).copied();
        let priors = moves.iter().map(|m| prior(m).unwrap_or(1.0 / moves.len() as f32)).collect();
        Answer { wdl: self.wdl.get(after).copied().unwrap_or(Wdl::DRAW), priors }
    }
}

/// A tree driven by hand, one leaf at a time.
struct Hand {
    tree: Tree,
    script: Scripted,
    params: Params,
}

impl Hand {
    fn new(fen: &str, root_moves: &str, params: Params, script: Scripted) -> Hand {
        let game = Game::from_fen(fen).unwrap();
        let moves: Vec<Move> = root_moves.split_whitespace().map(|m| game.parse_uci(m).unwrap()).collect();
        Hand { tree: Tree::new(game, &moves, params.clone(), 1 << 24), script, params }
    }

    fn visit(&mut self) {
        let gathered = self.tree.gather(1);
        for ticket in gathered.tickets {
            let mut game = self.tree.root_game().clone();
            ticket.replay(&mut game);
            let leaf = self.leaf(&game, ticket.plies());
            self.tree.apply(ticket, leaf);
        }
    }

    fn leaf(&self, game: &Game, plies: usize) -> Leaf {
        let legal = game.legal_moves();
        let moves = if plies == 0 { self.tree.root_moves().to_vec() } else { legal.to_vec() };
        if moves.is_empty() {
            return Leaf::Terminal(Proof::Loss(0));
        }
        let after = last_move(self.tree.root_game(), game);
        Leaf::Expanded(Expansion::new(
            &moves,
            &self.script.answer(&after, &moves),
            self.params.policy_temperature,
        ))
    }

    /// Visits of each root move, by name.
    fn visits(&self) -> HashMap<String, u32> {
        self.tree.children().into_iter().map(|(m, view)| (Game::uci(m, false), view.visits)).collect()
    }

    fn child(&self, uci: &str) -> engine::search::NodeView {
        let children = self.tree.children();
        children.into_iter().find(|(m, _)| Game::uci(*m, false) == uci).expect("a root move").1
    }
}

/// The root move that leads to `game`, if it is one ply from `root`; else nothing.
fn last_move(root: &Game, game: &Game) -> String {
    let one_ply = root.legal_moves().into_iter().find(|m| {
        let mut next = root.clone();
        next.play(*m);
        next.hash() == game.hash() && game.ply() == root.ply() + 1
    });
    one_ply.map_or(String::new(), |m| Game::uci(m, false))
}

const KINGS_AND_PAWNS: &str = "4k3/pppppppp/8/8/8/8/PPPPPPPP/4K3 w - - 0 1";

fn wdl(win: f32, draw: f32, loss: f32) -> Wdl {
    Wdl { win, draw, loss }
}

fn near(got: f32, want: f32) {
    assert!((got - want).abs() < 1e-3, "{got}, not {want}");
}

#[test]
fn puct_by_hand() {
    // Priors 0.75 and 0.25, c = 1. After e2e4 the opponent loses a little: Q = +0.2 for the root.
    let script =
        Scripted::default().prior("e2e4", 0.75).prior("d2d4", 0.25).value("e2e4", wdl(0.0, 0.8, 0.2));
    let mut hand = Hand::new(KINGS_AND_PAWNS, "e2e4 d2d4", plain(), script);
    hand.visit(); // the root itself
    hand.visit(); // U: 0.75·1/1 against 0.25: e2e4
    assert_eq!(hand.visits(), HashMap::from([("e2e4".into(), 1), ("d2d4".into(), 0)]));
    near(hand.child("e2e4").q, 0.2);
    hand.visit(); // e2e4 0.2 + 0.75·1/2 = 0.575; d2d4 has the root's mean, (0 + 0.2)/2, + 0.25 = 0.35
    assert_eq!(hand.visits()["e2e4"], 2);
    near(hand.child("e2e4").q, 0.1); // the reply is a draw: (0.2 + 0)/2
    hand.visit(); // e2e4 0.1 + 0.75·√2/3 = 0.454; d2d4 0.2/3 + 0.25·√2 = 0.420
    assert_eq!(hand.visits()["e2e4"], 3);
    hand.visit(); // e2e4 0.2/3 + 0.75·√3/4 = 0.391; d2d4 0.2/4 + 0.25·√3 = 0.483
    assert_eq!(hand.visits(), HashMap::from([("e2e4".into(), 3), ("d2d4".into(), 1)]));
    assert_eq!(hand.tree.check_at_rest(), Ok(()));
}

#[test]
fn values_change_sides_and_draws_keep_their_share() {
    // For the opponent after e2e4: 0.1 won, 0.6 drawn, 0.3 lost. Root: certain draw, then the mean.
    let script = Scripted::default().value("e2e4", wdl(0.1, 0.6, 0.3));
    let mut hand = Hand::new(KINGS_AND_PAWNS, "e2e4", plain(), script);
    hand.visit();
    hand.visit();
    let child = hand.child("e2e4");
    near(child.q, 0.2);
    near(child.wdl.win, 0.3);
    near(child.wdl.draw, 0.6);
    near(child.wdl.loss, 0.1);
    // The root's view is of the side that moved into it: the mean of draw and the child, flipped.
    near(hand.tree.root().wdl.draw, 0.8);
    near(hand.tree.root().q, -0.1);
}

#[test]
fn a_virtual_loss_sends_the_next_visit_elsewhere() {
    let script = Scripted::default().prior("e2e4", 0.6).prior("d2d4", 0.4);
    let mut hand = Hand::new(KINGS_AND_PAWNS, "e2e4 d2d4", plain(), script);
    hand.visit();
    hand.visit(); // e2e4
    // e2e4 0 + 0.6/2 = 0.3, d2d4 0 + 0.4: d2d4.
    let first = hand.tree.gather(1).tickets;
    assert_eq!(hand.child("d2d4").pending, 1);
    // While that is out, d2d4's Q falls by ½: 0.4·√2/2 − 0.5 < 0; e2e4 has 0.6·√2/2 = 0.42.
    let second = hand.tree.gather(1);
    assert!(!second.collided);
    assert_eq!((hand.child("e2e4").pending, hand.child("d2d4").pending), (1, 1));
    first.into_iter().chain(second.tickets).for_each(|ticket| hand.tree.cancel(ticket));
    assert_eq!(hand.tree.check_at_rest(), Ok(()));
}

#[test]
fn a_visit_on_its_way_counts_as_a_loss_in_q() {
    // One move, twice visited with mean 0; one visit pending: Q = (0 + 0 − 1)/3. Its rival is
    // unvisited with the parent's mean 0: without the loss 0 + 0.9·√3/4 = 0.39 beats 0.1·√3 = 0.17,
    // with it 0.39 − 0.33 does not.
    let script = Scripted::default().prior("e2e4", 0.9).prior("d2d4", 0.1);
    let choose = |virtual_loss: f32| {
        let params = Params { virtual_loss, ..plain() };
        let mut hand = Hand::new(KINGS_AND_PAWNS, "e2e4 d2d4", params, script.clone());
        (0..3).for_each(|_| hand.visit());
        let first = hand.tree.gather(1).tickets;
        let second = hand.tree.gather(1).tickets;
        let pending = hand.child("d2d4").pending;
        first.into_iter().chain(second).for_each(|ticket| hand.tree.cancel(ticket));
        pending
    };
    assert_eq!(choose(0.0), 0);
    assert_eq!(choose(1.0), 1);
}

#[test]
fn first_play_urgency_is_reduced_by_what_was_visited() {
    // After one visit of e2e4 (prior 0.64, mean 0): e2e4 has 0 + 0.64/2 = 0.32, d2d4 0.36 without
    // reduction; with 0.1·√0.64 = 0.08 less it has 0.28.
    let script = Scripted::default().prior("e2e4", 0.64).prior("d2d4", 0.36);
    for (value, d2d4) in [(0.0, 1), (0.1, 0)] {
        let params = Params { fpu: Fpu { value, ..Fpu::default() }, ..plain() };
        let mut hand = Hand::new(KINGS_AND_PAWNS, "e2e4 d2d4", params, script.clone());
        (0..3).for_each(|_| hand.visit());
        assert_eq!(hand.visits()["d2d4"], d2d4, "fpu {value}");
    }
}

#[test]
fn exploration_grows_with_visits() {
    let puct = Puct { c: 1.0, factor: 2.0, base: 100.0 };
    near(puct.at(0), 1.0);
    near(puct.at(100), 1.0 + 2.0 * 2f32.ln());
}

#[test]
fn temperature_flattens_the_policy() {
    // √0.8 : √0.2 = 2 : 1.
    let script = Scripted::default().prior("e2e4", 0.8).prior("d2d4", 0.2);
    let params = Params { policy_temperature: 2.0, ..plain() };
    let mut hand = Hand::new(KINGS_AND_PAWNS, "e2e4 d2d4", params, script);
    hand.visit();
    near(hand.child("e2e4").prior, 2.0 / 3.0);
    near(hand.child("d2d4").prior, 1.0 / 3.0);
}

#[test]
fn a_leaf_under_evaluation_is_not_gathered_twice() {
    let mut hand = Hand::new(KINGS_AND_PAWNS, "", plain(), Scripted::default());
    let gathered = hand.tree.gather(4);
    assert_eq!(gathered.tickets.len(), 1, "only the root can be evaluated");
    assert!(gathered.collided);
    assert_eq!(hand.tree.in_flight(), 1);
}

#[test]
fn cancelling_leaves_the_tree_as_it_was() {
    let mut hand = Hand::new(KINGS_AND_PAWNS, "", plain(), Scripted::default());
    (0..20).for_each(|_| hand.visit());
    let before = (hand.tree.root(), hand.tree.children(), hand.tree.playouts());
    let gathered = hand.tree.gather(8);
    assert!(gathered.tickets.len() > 1);
    assert_ne!(hand.tree.root(), before.0, "visits are pending");
    gathered.tickets.into_iter().for_each(|ticket| hand.tree.cancel(ticket));
    assert_eq!((hand.tree.root(), hand.tree.children(), hand.tree.playouts()), before);
    assert_eq!(hand.tree.check_at_rest(), Ok(()));
}

#[test]
fn a_full_tree_goes_on_inside_its_memory() {
    let mut tree = Tree::new(Game::new(), &[], plain(), 200_000);
    let script = Scripted::default();
    let (mut fullest, mut dropped) = (0, 0);
    for _ in 0..20_000 {
        let before = tree.fullness();
        let gathered = tree.gather(1);
        assert!(!gathered.full);
        fullest = fullest.max(before);
        if tree.fullness() < before {
            dropped += 1;
            assert!((300..=550).contains(&tree.fullness()), "half is kept: {}", tree.fullness());
        }
        for ticket in gathered.tickets {
            let mut game = tree.root_game().clone();
            ticket.replay(&mut game);
            let moves = game.legal_moves();
            let leaf = Expansion::new(&moves, &script.answer("", &moves), 1.0);
            tree.apply(ticket, Leaf::Expanded(leaf));
        }
        // Every playout counts at the root, whatever was dropped on the way.
        assert_eq!(u64::from(tree.root().visits), tree.playouts());
    }
    assert!(fullest > 950 && dropped > 10, "{fullest} ‰, dropped {dropped} times");
    assert_eq!(tree.check_at_rest(), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Random values, batches and cancellations: afterwards the law holds and the books balance.
    #[test]
    fn the_law_holds_after_any_rounds(rounds in prop::collection::vec((1usize..9, any::<u64>(), 0u8..8), 1..60)) {
        let fen = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";
        let mut tree = Tree::new(Game::from_fen(fen).unwrap(), &[], Params::default(), 1 << 24);
        let mut applied = 0;
        for (batch, seed, cancelled) in rounds {
            let gathered = tree.gather(batch);
            applied += gathered.finished as u64;
            for (index, ticket) in gathered.tickets.into_iter().enumerate() {
                let mut game = tree.root_game().clone();
                ticket.replay(&mut game);
                let moves = game.legal_moves();
                if index == usize::from(cancelled) {
                    tree.cancel(ticket);
                    continue;
                }
                applied += 1;
                let leaf = if moves.is_empty() {
                    Leaf::Terminal(Proof::Loss(0))
                } else {
                    let win = (seed.rotate_left(index as u32 * 7) % 1000) as f32 / 1000.0;
                    let answer = Answer {
                        wdl: wdl(win, (1.0 - win) / 2.0, (1.0 - win) / 2.0),
                        priors: vec![1.0 / moves.len() as f32; moves.len()],
                    };
                    Leaf::Expanded(Expansion::new(&moves, &answer, 1.4))
                };
                tree.apply(ticket, leaf);
            }
            prop_assert_eq!(tree.check_at_rest(), Ok(()));
            prop_assert_eq!(tree.playouts(), applied);
        }
    }
}

/// A watcher that only wants the outcome.
struct Wait(mpsc::Sender<Outcome>);

impl Watch for Wait {
    fn round(&mut self, _view: &View<'_>) -> Verdict {
        Verdict::Continue
    }

    fn done(&mut self, outcome: Outcome) {
        self.0.send(outcome).expect("the test waits");
    }
}

fn search(evaluators: Vec<Box<dyn Evaluator>>, game: &Game, limits: Limits) -> Outcome {
    let mut pool = Pool::new(evaluators, Params::default(), 64 << 20);
    let (sender, receiver) = mpsc::channel();
    pool.start(game.clone(), limits, Box::new(Wait(sender)));
    let outcome = receiver.recv().expect("an outcome");
    pool.wait();
    assert!(!pool.searching());
    outcome
}

fn uniform(workers: usize) -> Vec<Box<dyn Evaluator>> {
    (0..workers).map(|_| Box::new(Uniform) as Box<dyn Evaluator>).collect()
}

fn visits(visits: u64) -> Limits {
    Limits { visits: Some(visits), ..Limits::default() }
}

#[test]
fn mates_are_found_without_a_network() {
    for (fen, best, mate) in [
        ("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", "d1d8", 1),
        ("k7/8/1K6/8/8/8/8/7R w - - 0 1", "h1h8", 1),
        ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", "a1a6", 2),
        ("7r/8/8/8/8/1k6/8/K7 b - - 0 1", "h8h1", 1),
    ] {
        for workers in [1, 2] {
            let game = Game::from_fen(fen).unwrap();
            let outcome = search(uniform(workers), &game, visits(20_000));
            let line = &outcome.report.lines[0];
            assert_eq!(
                (Game::uci(line.pv[0], false).as_str(), line.score),
                (best, Score::Mate(mate)),
                "{fen}"
            );
            assert_eq!(line.pv.len() as i32, 2 * mate - 1, "the line ends with the mate");
            assert_eq!(outcome.ended, Ended::Exhausted, "a proven root needs no more visits");
        }
    }
}

#[test]
fn a_mated_side_is_told_when() {
    // Black's only moves lose: the rook mates on the back rank whatever he does.
    let game = Game::from_fen("k7/8/1K6/8/8/8/8/7R b - - 0 1").unwrap();
    let outcome = search(uniform(1), &game, visits(5_000));
    assert_eq!(outcome.report.lines[0].score, Score::Mate(-1));
}

#[test]
fn the_visits_asked_for_are_the_visits_made() {
    for workers in [1, 2, 3] {
        for limit in [1, 2, 7, 100, 1001] {
            let outcome = search(uniform(workers), &Game::new(), visits(limit));
            assert_eq!(outcome.report.visits, limit, "{workers} workers");
            assert_eq!(outcome.ended, Ended::Limit);
        }
    }
}

#[test]
fn no_visit_at_all_still_names_a_move() {
    let outcome = search(uniform(2), &Game::new(), visits(0));
    assert_eq!(outcome.report.lines[0].pv.len(), 1);
}

#[test]
fn one_worker_repeats_itself_exactly() {
    let run = || search(uniform(1), &Game::new(), visits(3_000)).report;
    assert_eq!(run(), run());
}

#[test]
fn without_a_legal_move_there_is_no_line() {
    let game = Game::from_fen("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1").unwrap();
    let outcome = search(uniform(2), &game, Limits::default());
    assert!(outcome.report.lines.is_empty());
    assert_eq!(outcome.ended, Ended::Exhausted);
}

#[test]
fn only_the_root_moves_asked_for_are_searched() {
    let game = Game::new();
    let moves = ["a2a3", "h2h4"].map(|m| game.parse_uci(m).unwrap());
    let limits = Limits { root_moves: moves.to_vec(), ..visits(200) };
    let report = search(uniform(1), &game, limits).report;
    assert_eq!(report.lines.len(), 2);
    assert!(report.lines.iter().all(|line| moves.contains(&line.pv[0])));
    assert_eq!(report.lines.iter().map(|line| line.visits).sum::<u64>(), 199, "all but the root's own");
}

#[test]
fn a_depth_limit_ends_the_search() {
    let limits = Limits { depth: Some(3), ..Limits::default() };
    let outcome = search(uniform(2), &Game::new(), limits);
    assert_eq!((outcome.ended, outcome.report.depth), (Ended::Limit, 3));
}

/// Answers `good` batches like [`Uniform`], then fails or panics.
struct Failing {
    good: usize,
    panics: bool,
}

impl Evaluator for Failing {
    fn max_batch(&self) -> usize {
        8
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        if self.good == 0 {
            assert!(!self.panics, "told to panic");
            return Err(EvalError("told to fail".into()));
        }
        self.good -= 1;
        Uniform.evaluate(batch)
    }
}

#[test]
fn a_failing_evaluator_ends_in_a_message_and_a_legal_move() {
    // Nothing may be in flight afterwards: the pool asserts it in debug builds before it reports.
    for panics in [false, true] {
        for good in [0, 1, 5] {
            let evaluators: Vec<Box<dyn Evaluator>> =
                vec![Box::new(Failing { good, panics }), Box::new(Failing { good: good + 3, panics })];
            let outcome = search(evaluators, &Game::new(), Limits::default());
            assert_eq!(outcome.ended, Ended::Failed);
            assert!(outcome.error.is_some_and(|error| error.contains(if panics {
                "panicked"
            } else {
                "told to fail"
            })));
            assert!(Game::new().legal_moves().contains(&outcome.report.lines[0].pv[0]));
        }
    }
}

/// Panics in its first look at the search.
struct Panicking(mpsc::Sender<Outcome>);

impl Watch for Panicking {
    fn round(&mut self, _view: &View<'_>) -> Verdict {
        panic!("told to panic");
    }

    fn done(&mut self, outcome: Outcome) {
        self.0.send(outcome).expect("the test waits");
    }
}

#[test]
fn a_worker_that_panics_still_ends_the_search() {
    let mut pool = Pool::new(uniform(2), Params::default(), 64 << 20);
    let (sender, receiver) = mpsc::channel();
    pool.start(Game::new(), Limits::default(), Box::new(Panicking(sender)));
    let outcome = receiver.recv().expect("an outcome");
    assert_eq!((outcome.ended, outcome.error.is_some()), (Ended::Failed, true));
    assert!(!outcome.report.lines.is_empty());
    pool.wait();
}

#[test]
fn dropping_a_pool_in_mid_search_ends_it() {
    let mut pool = Pool::new(uniform(2), Params::default(), 64 << 20);
    let (sender, receiver) = mpsc::channel();
    pool.start(Game::new(), Limits::default(), Box::new(Wait(sender)));
    drop(pool);
    assert_eq!(receiver.recv().expect("an outcome").ended, Ended::Stopped);
}

#[test]
fn positions_with_more_moves_than_a_game_can_reach_are_searched_whole() {
    let game = Game::from_fen("kBQQQQQQ/BR5Q/Q6Q/Q6Q/Q6Q/Q6Q/Q6Q/KQQQQQQQ w - -").expect("set up by hand");
    let moves = game.legal_moves().len();
    assert!(moves > 255, "{moves}");
    assert_eq!(search(uniform(1), &game, visits(1)).report.lines.len(), moves);
}
