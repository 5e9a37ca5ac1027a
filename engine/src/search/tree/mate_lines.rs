//! Complete lines of proven mates. A proof may lack moves: the mate search expands no nodes, and subtrees of proven
//! nodes may be freed. [`MateSearch`] then proves the missing parts again.

use shakmaty::{Move, Position};

use crate::chess::mates::{ForcedMate, MateLimits, MateResult, MateSearch};
use crate::chess::position::{Game, PackedMove};
use crate::search::tree::Tree;
use crate::search::tree::node::{Edge, Fate, NodeId};
use crate::search::tree::proof::Proof;

/// Mate-search node limits per line and per report: about 15 and 30 ms.
const LINE_NODES: u64 = 50_000;
const REPORT_NODES: u64 = 100_000;

/// Position limit per line.
const STEPS: u32 = 5_000;

/// Table bytes of the mate search.
const TABLE: usize = 1 << 20;

/// Most passes per report: a shortened mate may reorder the root moves and so the lines shown.
const PASSES: usize = 8;

#[derive(Default)]
pub(in crate::search) struct MateLines(Vec<MateLine>);

struct MateLine {
    root_move: PackedMove,
    /// Plies to mate after the root move.
    plies: u16,
    /// From root to mate; `None` if the search failed.
    line: Option<Vec<Move>>,
}

impl MateLines {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn add(&mut self, root_move: PackedMove, plies: u16, line: Option<Vec<Move>>) {
        self.0.push(MateLine { root_move, plies, line });
    }

    /// Outer `None` if the line was not searched yet.
    pub fn get(&self, root_move: PackedMove, plies: u16) -> Option<Option<&[Move]>> {
        let known = self.0.iter().find(|known| known.root_move == root_move && known.plies == plies)?;
        Some(known.line.as_deref())
    }
}

impl Tree {
    /// Finds lines for the proven mates among the best `lines` root moves. A shorter line lowers the tree's bound.
    pub(in crate::search) fn find_mate_lines(&self, lines: usize) {
        let mut search = None;
        let mut left = REPORT_NODES;
        for _ in 0..PASSES {
            let mut found_any = false;
            for index in self.ranked(self.root).into_iter().take(lines) {
                let Some(edge) = self.nodes.edges_of(self.root).nth(index) else { continue };
                let Some(plies) = self.node(edge.child()).proof().and_then(Proof::mate) else { continue };
                let root_move = self.nodes.candidate(self.root, index).packed();
                if self.mate_lines().get(root_move, plies).is_some() {
                    continue;
                }
                let nodes = left.min(LINE_NODES);
                let mut finder = MateLineFinder { tree: self, search: &mut search, nodes, steps: STEPS };
                let line = finder.line(root_move, edge.child());
                left = left.saturating_sub(nodes - finder.nodes);
                if line.is_none() && nodes < LINE_NODES {
                    // The next report has a full budget for this line.
                    continue;
                }
                let plies = line.as_ref().map_or(plies, |line| (line.len() - 1) as u16);
                self.shorten_mate(edge, plies);
                self.mate_lines().add(root_move, plies, line);
                found_any = true;
            }
            if !found_any {
                return;
            }
        }
    }

    fn shorten_mate(&self, edge: &Edge, plies: u16) {
        let child = self.node(edge.child());
        let shorter = match child.proof() {
            Some(Proof::Win(bound)) if plies < bound => Proof::Win(plies),
            Some(Proof::Loss(bound)) if plies < bound => Proof::Loss(plies),
            _ => return,
        };
        child.set_fate(Fate::Proven(shorter));
    }
}

struct MateLineFinder<'a> {
    tree: &'a Tree,
    /// Allocated on first use.
    search: &'a mut Option<MateSearch>,
    /// Nodes left for the mate search, and positions left for the line.
    nodes: u64,
    steps: u32,
}

impl MateLineFinder<'_> {
    fn line(&mut self, root_move: PackedMove, child: NodeId) -> Option<Vec<Move>> {
        let game = self.tree.root_game();
        let m = root_move.to_legal_move(game.position());
        let after = after(game, m);
        let rest = match self.tree.node(child).proof()? {
            Proof::Win(plies) => self.attack(Some(child), &after, plies)?,
            Proof::Loss(plies) => self.defend(Some(child), &after, plies)?,
            Proof::Draw => return None,
        };
        Some(prepended(m, rest))
    }

    /// Finds the fastest proven mate, within `plies`.
    fn attack(&mut self, id: Option<NodeId>, game: &Game, plies: u16) -> Option<Vec<Move>> {
        self.steps = self.steps.checked_sub(1)?;
        let fastest = id.and_then(|id| {
            let known = self.known(id).filter(|(_, _, proof)| matches!(proof, Proof::Loss(_)));
            known.filter_map(|(m, child, proof)| Some((m, child, proof.mate()?))).min_by_key(|known| known.2)
        });
        // The mate search may have proven a faster mate than the tree's moves.
        let fastest = fastest.filter(|known| known.2 < plies);
        if let Some((packed, child, plies)) = fastest {
            let m = packed.to_legal_move(game.position());
            if let Some(rest) = self.defend(Some(child), &after(game, m), plies) {
                return Some(prepended(m, rest));
            }
        }
        let mate = self.prove(game, plies.div_ceil(2))?;
        if mate.is_whole() {
            return Some(mate.line);
        }
        // The mate search's line is incomplete or its replies are not the longest.
        let first = *mate.line.first()?;
        let rest = self.defend(None, &after(game, first), mate.plies_at_most.checked_sub(1)?)?;
        Some(prepended(first, rest))
    }

    /// Finds the longest defence against a mate within `plies`. No other reply's bound exceeds the line's length.
    fn defend(&mut self, id: Option<NodeId>, game: &Game, plies: u16) -> Option<Vec<Move>> {
        self.steps = self.steps.checked_sub(1)?;
        let legal = game.legal_moves();
        if legal.is_empty() {
            return game.position().is_check().then(Vec::new);
        }
        let known: Vec<(PackedMove, NodeId, Proof)> = id.map_or(Vec::new(), |id| self.known(id).collect());
        let mut replies = Vec::new();
        for m in legal {
            let after = after(game, m);
            let in_tree = known.iter().find(|(packed, ..)| *packed == PackedMove::new(m));
            let in_tree =
                in_tree.filter(|(_, _, proof)| matches!(proof, Proof::Win(bound) if *bound < plies));
            let (bound, child) = match in_tree.and_then(|(_, id, proof)| Some((proof.mate()?, *id))) {
                Some((bound, id)) => (bound, Some(id)),
                None => (self.prove(&after, plies / 2)?.plies_at_most, None),
            };
            replies.push((bound, m, after, child));
        }
        replies.sort_by_key(|(bound, ..)| std::cmp::Reverse(*bound));
        let mut longest: Option<Vec<Move>> = None;
        for (bound, m, after, child) in replies {
            if longest.as_ref().is_some_and(|line| line.len() > usize::from(bound)) {
                break;
            }
            let rest = self.attack(child, &after, bound)?;
            if longest.as_ref().is_none_or(|line| line.len() <= rest.len()) {
                longest = Some(prepended(m, rest));
            }
        }
        longest
    }

    fn known(&self, id: NodeId) -> impl Iterator<Item = (PackedMove, NodeId, Proof)> {
        let tree = self.tree;
        let edges = tree.nodes.edges_of(id).zip(tree.nodes.moves_of(id));
        edges.filter_map(|(edge, candidate)| {
            Some((candidate.packed(), edge.child(), tree.node(edge.child()).proof()?))
        })
    }

    fn prove(&mut self, game: &Game, moves: u16) -> Option<ForcedMate> {
        let moves = u8::try_from(moves).ok().filter(|moves| (1..=31).contains(moves))?;
        if self.nodes == 0 {
            return None;
        }
        let search = self.search.get_or_insert_with(|| MateSearch::new(TABLE));
        let limits = MateLimits { moves, nodes: self.nodes, shorten: false };
        let result = search.search(game, limits, &mut || false);
        self.nodes = self.nodes.saturating_sub(search.nodes().max(1));
        match result {
            MateResult::Mate(mate) => Some(mate),
            _ => None,
        }
    }
}

fn after(game: &Game, m: Move) -> Game {
    let mut after = game.clone();
    after.play(m);
    after
}

fn prepended(m: Move, mut rest: Vec<Move>) -> Vec<Move> {
    rest.insert(0, m);
    rest
}
