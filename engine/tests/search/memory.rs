//! The tree's memory and its invariant.

use engine::eval::Answer;
use engine::position::Game;
use engine::search::{Expansion, Leaf, Params, Proof, Tree};
use proptest::prelude::*;

use super::support::*;

#[test]
fn a_full_tree_stays_within_its_memory() {
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
        for visit in gathered.visits {
            let mut game = tree.root_game().clone();
            visit.replay(&mut game);
            let moves = game.legal_moves();
            let leaf = Expansion::new(&moves, &script.answer("", &moves), 1.0);
            tree.apply(visit, Leaf::Expanded(leaf));
        }
        // Every visit counts at the root, whatever was dropped below.
        assert_eq!(u64::from(tree.root().visits), tree.playouts());
    }
    assert!(fullest > 950 && dropped > 10, "{fullest} ‰, dropped {dropped} times");
    assert_eq!(tree.check_at_rest(), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Random values, batches and cancellations keep the invariant and the counters.
    #[test]
    fn the_invariant_holds_after_any_rounds(memory in 60_000usize..400_000, rounds in prop::collection::vec((1usize..9, any::<u64>(), 0u8..8), 1..60)) {
        let fen = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";
        let mut tree = Tree::new(Game::from_fen(fen).unwrap(), &[], Params::default(), memory);
        let mut applied = 0;
        for (batch, seed, cancelled) in rounds {
            let gathered = tree.gather(batch);
            applied += gathered.finished as u64;
            for (index, visit) in gathered.visits.into_iter().enumerate() {
                let mut game = tree.root_game().clone();
                visit.replay(&mut game);
                let moves = game.legal_moves();
                let before = tree.playouts();
                let Some(visit) = tree.identify(visit, game.key()) else {
                    applied += tree.playouts() - before;
                    continue;
                };
                if index == usize::from(cancelled) {
                    tree.cancel(visit);
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
                tree.apply(visit, leaf);
            }
            prop_assert_eq!(tree.check_at_rest(), Ok(()));
            prop_assert_eq!(tree.playouts(), applied);
        }
    }
}
