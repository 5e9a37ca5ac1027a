use engine::chess::position::Game;
use engine::chess::tables::Tables;
use engine::nets::eval::HashedEvaluator;
use engine::nets::eval::{Answer, Evaluator, Request};
use engine::search::{EndReason, Gumbel, Limits, Noise, Params, SteppedSearch};
use shakmaty::Move;

use super::support::{plain, search_with, visits as limits};

fn answers<'a>(requests: impl Iterator<Item = Request<'a>>) -> Vec<Answer> {
    HashedEvaluator.evaluate(&requests.collect::<Vec<_>>()).unwrap()
}

/// Runs the searches to their ends, with a common batch for all of them.
fn drive(searches: &mut [SteppedSearch], leaves: usize) {
    while searches.iter().any(|search| search.end_reason().is_none()) {
        let counts: Vec<usize> = searches.iter_mut().map(|search| search.gather(leaves)).collect();
        let answers = answers(searches.iter().flat_map(SteppedSearch::requests));
        let mut left = answers.as_slice();
        for (search, count) in searches.iter_mut().zip(counts) {
            let (own, others) = left.split_at(count);
            search.answer(own);
            left = others;
        }
    }
}

fn visits(search: &SteppedSearch) -> Vec<(Move, u64)> {
    search.tree().stats().iter().map(|stats| (stats.m, stats.visits)).collect()
}

const FENS: [&str; 3] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
];

fn started(fen: &str, limits: Limits, params: Params) -> SteppedSearch {
    let mut search = SteppedSearch::new(Tables::default(), 1 << 22);
    search.start(&Game::from_fen(fen).unwrap(), limits, params);
    search
}

#[test]
fn searches_that_share_batches_find_what_each_finds_alone() {
    let start = |fen: &&str| started(fen, limits(150), plain());
    let mut together: Vec<SteppedSearch> = FENS.iter().map(start).collect();
    drive(&mut together, 2);
    for (fen, search) in FENS.iter().zip(&together) {
        let mut alone = [start(fen)];
        drive(&mut alone, 2);
        assert_eq!(visits(&alone[0]), visits(search));
        assert_eq!((search.end_reason(), search.tree().playouts()), (Some(EndReason::Limit), 150));
        assert_eq!(search.tree().check_at_rest(), Ok(()));
    }
}

#[test]
fn one_leaf_at_a_time_it_finds_what_a_worker_finds() {
    let params = Params { batch: 1, smart_pruning: 0.0, ..plain() };
    for fen in FENS {
        let outcome = search_with(
            params.clone(),
            vec![Box::new(HashedEvaluator)],
            &Game::from_fen(fen).unwrap(),
            limits(200),
        );
        let expected: Vec<(Move, u64)> = outcome.stats.iter().map(|stats| (stats.m, stats.visits)).collect();
        let mut search = [started(fen, limits(200), params.clone())];
        drive(&mut search, 1);
        assert_eq!(visits(&search[0]), expected);
    }
}

#[test]
fn noise_changes_the_visits_and_not_the_reported_priors() {
    let noisy = Limits { noise: Some(Noise { epsilon: 0.5, alpha: 0.3, seed: 5 }), ..limits(100) };
    let mut searches = [started(FENS[0], noisy, plain()), started(FENS[0], limits(100), plain())];
    drive(&mut searches, 1);
    let [noisy, quiet] = &searches;
    assert_eq!(noisy.priors(), quiet.priors());
    assert_ne!(visits(noisy), visits(quiet));
    let game = Game::new();
    let moves = game.legal_moves();
    let answer = answers([Request { game: &game, moves: &moves }].into_iter());
    for (m, prior) in moves.iter().zip(&answer[0].priors) {
        let reported = quiet.priors().iter().find(|(other, _)| other == m).unwrap().1;
        assert!((reported - prior).abs() < 1e-3);
    }
}

#[test]
fn a_proven_root_ends_the_search_and_another_can_start() {
    let mut search = [started("7k/5ppp/8/8/8/8/8/K6R w - - 0 1", limits(500), plain())];
    search[0].start(&Game::from_fen("6k1/5ppp/8/8/8/8/8/K3R3 w - - 0 1").unwrap(), limits(500), plain());
    drive(&mut search, 4);
    assert_eq!(search[0].end_reason(), Some(EndReason::Exhausted));
    assert_eq!(search[0].tree().root().proof.and_then(|proof| proof.mate()), Some(1));
    // Visits in flight when the next search starts are cancelled.
    search[0].start(&Game::new(), limits(50), Params { reuse: false, ..plain() });
    search[0].gather(1);
    search[0].start(&Game::new(), limits(50), Params { reuse: false, ..plain() });
    drive(&mut search, 1);
    assert_eq!((search[0].tree().playouts(), search[0].tree().check_at_rest()), (50, Ok(())));
    search[0].start(&Game::from_fen("7k/5KQ1/8/8/8/8/8/8 b - - 0 1").unwrap(), limits(50), plain());
    assert_eq!((search[0].gather(3), search[0].end_reason()), (0, Some(EndReason::Exhausted)));
}

fn gumbel(seed: u64) -> Gumbel {
    Gumbel { considered: 4, c_visit: 50.0, c_scale: 1.0, noise: 1.0, seed }
}

#[test]
fn gumbel_assigns_visits_by_halving_and_improves_the_policy() {
    let run = |seed| {
        let mut search = [SteppedSearch::new(Tables::default(), 1 << 22)];
        search[0].start_gumbel(&Game::new(), limits(17), plain(), gumbel(seed));
        drive(&mut search, 8);
        let [search] = search;
        search
    };
    let search = run(1);
    // One visit is the root's own. Of the other sixteen, two of four moves get two each, the better two six each.
    let mut counts: Vec<u64> =
        visits(&search).into_iter().map(|(_, visits)| visits).filter(|n| *n > 0).collect();
    counts.sort_unstable();
    assert_eq!(counts, [2, 2, 6, 6]);
    assert_eq!(search.tree().check_at_rest(), Ok(()));
    let improved = search.improved_policy().unwrap();
    assert_eq!(improved.policy.len(), 20);
    assert!((improved.policy.iter().map(|(_, share)| share).sum::<f32>() - 1.0).abs() < 1e-4);
    // Of two visited moves, the better one has gained more.
    let stats = search.tree().stats();
    let gain = |m: Move| {
        let of = |list: &[(Move, f32)]| list.iter().find(|(other, _)| *other == m).unwrap().1;
        of(&improved.policy) / of(search.priors())
    };
    let mut visited: Vec<_> = stats.iter().filter(|stats| stats.visits > 0).collect();
    visited.sort_by(|a, b| a.q.total_cmp(&b.q));
    assert!(visited.windows(2).all(|pair| gain(pair[0].m) <= gain(pair[1].m)));
    let best = stats.iter().find(|stats| stats.m == improved.best).unwrap();
    assert_eq!(best.visits, 6);
    // The value is Σ π′ · completed Q; moves that were not visited have the mixed value.
    let share = |m: Move| improved.policy.iter().find(|(other, _)| *other == m).unwrap().1;
    let known: f32 = visited.iter().map(|stats| share(stats.m) * stats.q).sum();
    let rest: f32 = 1.0 - visited.iter().map(|stats| share(stats.m)).sum::<f32>();
    let prior: f32 = visited.iter().map(|stats| stats.prior).sum();
    let weighted: f32 = visited.iter().map(|stats| stats.prior * stats.q).sum();
    let own = search.tree().root().value.map(|value| -value).unwrap();
    let mixed = (own + 16.0 * weighted / prior) / 17.0;
    assert!((improved.q - known - rest * mixed).abs() < 1e-4, "{} {known} {rest} {mixed}", improved.q);
    assert_eq!(visits(&run(1)), visits(&search));
    assert!((2..8).any(|seed| visits(&run(seed)) != visits(&search)));
    let still = |seed| {
        let mut search = [SteppedSearch::new(Tables::default(), 1 << 22)];
        search[0].start_gumbel(&Game::new(), limits(17), plain(), Gumbel { noise: 0.0, ..gumbel(seed) });
        drive(&mut search, 8);
        visits(&search[0])
    };
    assert!((2..8).all(|seed| still(seed) == still(1)));
}

#[test]
fn gumbel_plays_the_only_move_and_finds_mates() {
    let mut search = [SteppedSearch::new(Tables::default(), 1 << 22)];
    search[0].start_gumbel(
        &Game::from_fen("7k/6pp/8/8/8/8/5q2/7K w - - 0 1").unwrap(),
        limits(8),
        plain(),
        gumbel(1),
    );
    drive(&mut search, 1);
    assert!(search[0].improved_policy().is_none_or(|improved| !improved.policy.is_empty()));
    let mate = Game::from_fen("6k1/5ppp/8/8/8/8/8/K3R3 w - - 0 1").unwrap();
    search[0].start_gumbel(&mate, limits(200), plain(), Gumbel { considered: 32, ..gumbel(1) });
    drive(&mut search, 1);
    assert_eq!(search[0].end_reason(), Some(EndReason::Exhausted));
}

/// The stepped search obeys the same limits as the pool.
#[test]
fn a_depth_limit_alone_ends_the_search() {
    let depth = Limits { depth: Some(3), ..Limits::default() };
    let mut search = [started(FENS[0], depth, plain())];
    for _ in 0..100_000 {
        if search[0].end_reason().is_some() {
            break;
        }
        search[0].gather(1);
        let answers = answers(search[0].requests());
        search[0].answer(&answers);
    }
    assert_eq!((search[0].end_reason(), search[0].tree().depth()), (Some(EndReason::Limit), 3));
}
