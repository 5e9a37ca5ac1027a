use engine::chess::position::Game;
use engine::chess::tables::Tables;
use engine::nets::eval::HashedEvaluator;
use engine::nets::eval::{Evaluator, Request};
use engine::search::{EndReason, Limits, Params, Pool, SteppedSearch};
use proptest::prelude::*;

use super::support::*;

fn step(search: &mut SteppedSearch, leaves: usize) {
    if search.gather(leaves) > 0 {
        let requests: Vec<Request<'_>> = search.requests().collect();
        let answers = HashedEvaluator.evaluate(&requests).unwrap();
        search.answer(&answers);
    }
}

#[test]
fn a_full_tree_stays_within_its_memory() {
    let mut search = SteppedSearch::new(Tables::default(), 314_000);
    search.start(&Game::new(), Limits::default(), plain());
    let (mut fullest, mut least_since) = (0, u32::MAX);
    while search.tree().playouts() < 20_000 {
        step(&mut search, 1);
        assert_eq!(search.end_reason(), None);
        let fullness = search.tree().fullness();
        fullest = fullest.max(fullness);
        if fullest > 900 {
            least_since = least_since.min(fullness);
        }
        // Every visit counts at the root, whatever was dropped below.
        assert_eq!(u64::from(search.tree().root().visits), search.tree().playouts());
    }
    assert!(fullest > 900, "{fullest} ‰");
    assert!(search.tree().fullness() > 700, "little is dropped at a time: {}", search.tree().fullness());
    assert!(least_since > 550, "little is dropped at a time: {least_since}");
    assert_eq!(search.tree().check_at_rest(), Ok(()));
}

/// Subtrees of moves not played are freed when memory is needed.
#[test]
fn nodes_above_a_new_root_make_room() {
    let mut pool = Pool::new(vec![Box::new(HashedEvaluator)], Params::default(), 1 << 20);
    let mut game = Game::new();
    for _ in 0..6 {
        let outcome = search_by(&mut pool, &game, visits(6_000));
        assert_eq!((outcome.end_reason, outcome.report.visits), (EndReason::Limit, 6_000));
        outcome.report.lines[0].pv[..2].iter().for_each(|m| game.play(*m));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Batches and cancellations keep invariant and counters, even when memory is short.
    #[test]
    fn the_invariant_holds_after_any_rounds(memory in 60_000usize..400_000, rounds in prop::collection::vec((1usize..40, 0u8..8), 1..80)) {
        let fen = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";
        let mut search = SteppedSearch::new(Tables::default(), memory);
        search.start(&Game::from_fen(fen).unwrap(), Limits::default(), Params::default());
        for (batch, cancelled) in rounds {
            if cancelled == 0 {
                search.gather(batch);
                search.cancel();
            } else {
                step(&mut search, batch);
            }
            prop_assert_eq!(search.tree().check_at_rest(), Ok(()));
            prop_assert_eq!(u64::from(search.tree().root().visits), search.tree().playouts());
        }
    }
}
