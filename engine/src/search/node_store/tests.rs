//! Blocks of links, the index, and bounds.

use super::*;

#[test]
fn a_node_with_35_moves_stays_small() {
    const { assert!(NODE_COST <= 320) };
}

#[test]
fn a_prior_keeps_its_precision_in_sixteen_bits() {
    for prior in [0.0, 1e-4, 0.25, 0.5, 1.0] {
        assert!((Candidate::new(PackedMove(0), prior).prior() - prior).abs() < 2e-5);
    }
}

#[test]
fn memory_is_bounded() {
    let nodes = NodeStore::new(1 << 20);
    let slack = MAX_MOVES * size_of::<Candidate>() + (2 << BLOCK_SIZES) * size_of::<Link>() + 64;
    assert!(nodes.bytes() <= (1 << 20) + slack, "{}", nodes.bytes());
}

fn candidates(count: u16) -> Vec<Candidate> {
    (0..count).map(|number| Candidate::new(PackedMove(number), 0.5)).collect()
}

#[test]
fn links_keep_their_order_when_their_block_grows() {
    let mut nodes = NodeStore::new(1 << 20);
    let (a, b) = (nodes.add(), nodes.add());
    nodes.expand(a, &candidates(200));
    nodes.expand(b, &candidates(200));
    let mut children = [Vec::new(), Vec::new()];
    for edge in 0..200 {
        for (parent, children) in [a, b].into_iter().zip(&mut children) {
            children.push(nodes.child_or_new(parent, edge));
            nodes.link_mut(parent, edge).visits = edge as u32 + 1000 * parent.0;
        }
    }
    for (parent, children) in [a, b].into_iter().zip(&children) {
        let links = nodes.links_of(parent);
        assert_eq!(links.iter().map(|link| link.child()).collect::<Vec<_>>(), *children);
        assert!(links.iter().zip(0..).all(|(link, edge)| link.visits == edge + 1000 * parent.0));
    }
    // A third node reuses the outgrown blocks; only its last block is new.
    let c = nodes.add();
    nodes.expand(c, &candidates(200));
    let before = nodes.links.len();
    for edge in 0..200 {
        nodes.child_or_new(c, edge);
    }
    assert_eq!(nodes.links.len(), before + 256);
}

#[test]
fn registered_nodes_are_found_until_they_are_dropped() {
    let mut nodes = NodeStore::new(1 << 16);
    let keys = (1..200_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let root = nodes.add();
    let ids: Vec<(u64, NodeId)> = keys.map(|key| (key, nodes.add())).collect();
    for (key, id) in &ids {
        assert_eq!(nodes.find(*key), None);
        nodes.register(*id, *key);
    }
    assert!(ids.iter().all(|(key, id)| nodes.find(*key) == Some(*id)));
    // Keep the root and every other node.
    let mut kept = NodeSet::new(nodes.len());
    for id in nodes.ids().filter(|id| id.0 % 2 == 0) {
        kept.insert(id);
    }
    assert_eq!(nodes.compact(&kept, root), NodeId(0));
    for (key, id) in ids {
        let expected = (id.0 % 2 == 0).then_some(NodeId(id.0 / 2));
        assert_eq!(nodes.find(key), expected);
    }
}

#[test]
fn a_removed_node_is_reused() {
    let mut nodes = NodeStore::new(1 << 16);
    let first = nodes.add();
    nodes.remove(first);
    assert_eq!(nodes.add(), first);
    assert_ne!(nodes.add(), first);
}
