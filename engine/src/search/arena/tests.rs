//! Blocks of links, the index, and bounds.

use super::*;

#[test]
fn a_node_with_35_moves_stays_small() {
    const { assert!(NODE_COST <= 320) };
}

#[test]
fn a_prior_survives_its_sixteen_bits() {
    for prior in [0.0, 1e-4, 0.25, 0.5, 1.0] {
        assert!((Candidate::new(PackedMove(0), prior).prior() - prior).abs() < 2e-5);
    }
}

#[test]
fn memory_is_bounded() {
    let arena = Arena::new(1 << 20);
    let slack = MAX_MOVES * size_of::<Candidate>() + (2 << BLOCK_SIZES) * size_of::<Link>() + 64;
    assert!(arena.bytes() <= (1 << 20) + slack, "{}", arena.bytes());
}

fn candidates(count: u16) -> Vec<Candidate> {
    (0..count).map(|number| Candidate::new(PackedMove(number), 0.5)).collect()
}

#[test]
fn links_stand_in_order_however_often_their_block_grows() {
    let mut arena = Arena::new(1 << 20);
    let (a, b) = (arena.add(), arena.add());
    arena.expand(a, &candidates(200));
    arena.expand(b, &candidates(200));
    let mut children = [Vec::new(), Vec::new()];
    for edge in 0..200 {
        for (parent, children) in [a, b].into_iter().zip(&mut children) {
            children.push(arena.child_or_new(parent, edge));
            arena.link_mut(parent, edge).visits = edge as u32 + 1000 * parent.0;
        }
    }
    for (parent, children) in [a, b].into_iter().zip(&children) {
        let links = arena.links_of(parent);
        assert_eq!(links.iter().map(|link| link.child()).collect::<Vec<_>>(), *children);
        assert!(links.iter().zip(0..).all(|(link, edge)| link.visits == edge + 1000 * parent.0));
    }
    // Another one takes the blocks that the first outgrew, and only its last one is new.
    let c = arena.add();
    arena.expand(c, &candidates(200));
    let before = arena.links.len();
    for edge in 0..200 {
        arena.child_or_new(c, edge);
    }
    assert_eq!(arena.links.len(), before + 256);
}

#[test]
fn what_is_registered_is_found_until_it_is_dropped() {
    let mut arena = Arena::new(1 << 16);
    let keys = (1..200_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let root = arena.add();
    let ids: Vec<(u64, NodeId)> = keys.map(|key| (key, arena.add())).collect();
    for (key, id) in &ids {
        assert_eq!(arena.find(*key), None);
        arena.register(*id, *key);
    }
    assert!(ids.iter().all(|(key, id)| arena.find(*key) == Some(*id)));
    // Keep the root and every other node.
    let mut kept = NodeSet::new(arena.len());
    for id in arena.ids().filter(|id| id.0 % 2 == 0) {
        kept.insert(id);
    }
    assert_eq!(arena.compact(&kept, root), NodeId(0));
    for (key, id) in ids {
        let expected = (id.0 % 2 == 0).then_some(NodeId(id.0 / 2));
        assert_eq!(arena.find(key), expected);
    }
}

#[test]
fn a_node_given_back_is_used_again() {
    let mut arena = Arena::new(1 << 16);
    let first = arena.add();
    arena.remove(first);
    assert_eq!(arena.add(), first);
    assert_ne!(arena.add(), first);
}
