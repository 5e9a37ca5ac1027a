use super::*;
use crate::chess::position::PackedMove;

fn add_edge(store: &NodeStore, parent: NodeId) -> (u32, NodeId) {
    add_edge_by(0, store, parent)
}

fn add_edge_by(worker: usize, store: &NodeStore, parent: NodeId) -> (u32, NodeId) {
    let child = store.add(worker).unwrap();
    let edges = store.node(parent).lock();
    let edge = store.add_edge(worker, parent, edges, child).unwrap();
    store.node(parent).unlock(edges + 1);
    (edge, child)
}

fn expand(store: &NodeStore, id: NodeId, count: u16) {
    let moves: Vec<_> = (0..count).map(|number| MovePrior::new(PackedMove(number), 0.5)).collect();
    assert!(store.set_moves(0, id, &moves));
}

#[test]
fn an_average_node_stays_small() {
    const { assert!(NODE_COST <= 120 + 5 * 36) };
}

#[test]
fn edges_stay_in_place_and_in_order_while_a_node_gets_more() {
    let store = NodeStore::new(1 << 20);
    let (a, b) = (store.add(0).unwrap(), store.add(0).unwrap());
    expand(&store, a, 250);
    expand(&store, b, 250);
    let mut added = [Vec::new(), Vec::new()];
    for index in 0..250 {
        for (parent, added) in [a, b].into_iter().zip(&mut added) {
            let (edge, child) = add_edge(&store, parent);
            assert_eq!(store.edge_id(parent, index), edge);
            store.edge(edge).add_visits(index as u32 + 1, 0, false);
            added.push((edge, child));
        }
    }
    for (parent, added) in [a, b].into_iter().zip(&added) {
        let moves: Vec<u16> = store.moves_of(parent).map(|candidate| candidate.packed().0).collect();
        assert_eq!(moves, (0..250).collect::<Vec<u16>>());
        assert!((0..250).all(|index| store.candidate(parent, index).packed().0 == index as u16));
        assert_eq!(store.edges_of(parent).len(), 250);
        for (index, (edge, &(id, child))) in store.edges_of(parent).zip(added).enumerate() {
            assert_eq!((edge.child(), edge.visits()), (child, index as u32 + 1));
            assert!(std::ptr::eq(edge, store.edge(id)));
        }
    }
}

#[test]
fn a_shrunk_store_has_room_for_what_a_new_one_has() {
    let fill = |store: &NodeStore| std::iter::from_fn(|| store.add(0)).count();
    // Every search has moves and edges.
    let begin = |store: &NodeStore| {
        let id = store.add(0).unwrap();
        expand(store, id, 1);
        add_edge(store, id);
    };
    let (new, mut store) = (NodeStore::new(1 << 20), NodeStore::new(1 << 20));
    let moves = [MovePrior::new(PackedMove(0), 0.5); 200];
    while store.add(0).is_some_and(|id| store.set_moves(0, id, &moves)) {}
    store.shrink();
    begin(&new);
    begin(&store);
    assert_eq!(fill(&store), fill(&new));
}

#[test]
fn freed_blocks_are_used_again() {
    let mut store = NodeStore::new(1 << 20);
    let parent = store.add(0).unwrap();
    expand(&store, parent, 40);
    (0..30).for_each(|_| _ = add_edge(&store, parent));
    let (used, ids) = (store.used_bytes(), store.ids().count());
    store.free_moves(parent);
    assert!(store.used_bytes() < used && !store.node(parent).is_expanded());
    for id in 1..=30 {
        store.free_node(NodeId(id));
    }
    assert_eq!(store.used_bytes(), size_of::<Node>());
    expand(&store, parent, 40);
    (0..30).for_each(|_| _ = add_edge(&store, parent));
    assert_eq!((store.used_bytes(), store.ids().count()), (used, ids));
}

#[test]
fn memory_is_bounded() {
    for memory in [100_000, 1 << 20] {
        let store = NodeStore::new(memory);
        let mut nodes = 0;
        while let Some(id) = store.add(0) {
            nodes += 1;
            if !store.set_moves(0, id, &[MovePrior::new(PackedMove(1), 0.5); 36]) {
                assert!(!store.node(id).is_expanded());
                break;
            }
            assert!(store.used_bytes() <= memory, "{id:?}");
        }
        assert!(nodes > memory / (2 * NODE_COST), "{nodes}");
        assert!(store.fullness() > 800, "{}", store.fullness());
    }
}

#[test]
fn registered_nodes_are_found_until_they_are_removed() {
    let store = NodeStore::new(1 << 18);
    let keys = (1..200_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let ids: Vec<(u64, NodeId)> = keys.map(|key| (key, store.add(0).unwrap())).collect();
    for (key, id) in &ids {
        assert_eq!(store.find(*key), None);
        assert_eq!(store.register(*id, *key), None);
    }
    assert!(ids.iter().all(|(key, id)| store.find(*key) == Some(*id)));
    let late = store.add(0).unwrap();
    assert_eq!(store.register(late, ids[5].0), Some(ids[5].1), "registered by another worker");
    for (_, id) in ids.iter().step_by(2) {
        store.unregister(*id);
    }
    for (number, (key, id)) in ids.into_iter().enumerate() {
        assert_eq!(store.find(key), (number % 2 == 1).then_some(id));
    }
}

#[test]
fn workers_that_add_at_once_lose_nothing() {
    let mut store = NodeStore::new(4 << 20);
    store.set_workers(4);
    let parent = store.add(0).unwrap();
    expand(&store, parent, 240);
    let store = &store;
    let mut added: Vec<u32> = std::thread::scope(|scope| {
        let add =
            |worker| move || (0..60).map(|_| add_edge_by(worker, store, parent).1.0).collect::<Vec<_>>();
        let workers: Vec<_> = (0..4).map(|worker| scope.spawn(add(worker))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let mut children: Vec<u32> = store.edges_of(parent).map(|edge| edge.child().0).collect();
    added.sort_unstable();
    children.sort_unstable();
    assert_eq!(children, added);
    children.dedup();
    assert_eq!(children.len(), 240);
}

/// A block holds 15 moves or 3 edges.
#[test]
fn moves_are_walked_over_with_their_edges() {
    let store = NodeStore::new(4 << 20);
    for moves in [1, 2, 3, 14, 15, 16, 29, 30, 31, 47] {
        let parent = store.add(0).unwrap();
        expand(&store, parent, moves);
        for edges in 0..=usize::from(moves) {
            let mut walked = Vec::new();
            let first_without = store.for_each_edge(store.node(parent), |index, id, edge, candidate| {
                assert!(std::ptr::eq(edge, store.edge(id)));
                walked.push((index, id, candidate.packed().0));
            });
            let expected = (0..edges).map(|index| (index, store.edge_id(parent, index), index as u16));
            assert_eq!(walked, expected.collect::<Vec<_>>(), "{edges} of {moves}");
            let first = (edges < usize::from(moves)).then_some(edges as u16);
            assert_eq!(first_without.map(|candidate| candidate.packed().0), first, "{edges} of {moves}");
            if first.is_some() {
                add_edge(&store, parent);
            }
        }
    }
}
