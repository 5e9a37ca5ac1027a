//! The MCTS solver: backs up proofs along a path.

use shakmaty::Move;

use crate::chess::position::PackedMove;
use crate::search::tree::Tree;
use crate::search::tree::node::Fate;
use crate::search::tree::proof::Proof;
use crate::search::visit::path::{Path, Step};

impl Tree {
    /// As far as the leaf's proof proves its ancestors.
    pub(super) fn back_up_proof(&self, path: &Path) {
        if !self.params.solver {
            return;
        }
        let mut child = self.node(path.leaf);
        for (plies, step) in path.steps.iter().enumerate().rev() {
            self.nodes.edge(step.edge).refresh(child);
            let proof = self.proof_by_moves(step.node);
            let node = self.node(step.node);
            if let Some(proof) = proof.filter(|proof| node.proof() != Some(*proof)) {
                let result_is_new = node.proof().is_none_or(|before| before.wdl() != proof.wdl());
                node.set_fate(Fate::Proven(proof));
                if result_is_new {
                    self.correct_sums(path, plies, -proof.wdl().q(), proof.wdl().draw);
                }
                child = node;
            } else {
                break;
            }
        }
    }

    /// Records a mate in `plies` of the side to move after `line`, found outside the tree. Does nothing if the line
    /// leaves the tree.
    pub(in crate::search) fn prove_after(&mut self, line: &[Move], plies: u16) {
        let mut path = Path::new(0);
        self.begin(&mut path, false);
        for m in line {
            let packed = PackedMove::new(*m);
            let node = path.leaf;
            let mut moves = self.nodes.edges_of(node).zip(self.nodes.moves_of(node)).enumerate();
            let Some((index, (edge, candidate))) = moves.find(|(_, (_, c))| c.packed() == packed) else {
                return;
            };
            let edge_id = self.nodes.edge_id(node, index);
            path.steps.push(Step { node, edge: edge_id, prior: candidate.get().steps() as u16 });
            path.leaf = edge.child();
        }
        let leaf = self.node(path.leaf);
        if leaf.fate() == Fate::Open {
            leaf.set_fate(Fate::Proven(Proof::Win(plies)));
            self.correct_sums(&path, path.plies(), -1.0, 0.0);
            self.back_up_proof(&path);
        }
    }
}
