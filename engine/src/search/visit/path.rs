//! The path of a visit, from the root to its leaf.

use crate::chess::position::GameMark;
use crate::search::tree::node::NodeId;
use crate::search::visit::series::Series;
use crate::search::visit::virtual_loss::VirtualLoss;

/// The nodes and edges of a visit. A worker reuses its memory for every visit.
#[derive(Clone, Debug)]
pub struct Path {
    pub(super) steps: Vec<Step>,
    pub(super) leaf: NodeId,
    /// The leaf's visits when the descent reached it.
    pub(super) leaf_visits: u32,
    pub(super) worker: usize,
    /// The worker's factor on exploration.
    pub(super) exploration: f32,
    /// Earlier visits by the last edge, counted as draws by a repetition that is none below the current root.
    pub(super) stale_draws: u32,
    pub(super) in_series: bool,
    /// The series of the root and of the node after each step.
    pub(super) series: Vec<Series>,
    /// Snapshots of the game at these nodes, where their series is marked.
    pub(super) marks: Vec<GameMark>,
    pub(super) virtual_loss: VirtualLoss,
}

/// An edge of the path with the node it leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub node: NodeId,
    pub link: u32,
    /// The move's prior in units of 1/65535.
    pub prior: u16,
}

impl Path {
    /// `worker` is a number below that of the tree's workers; no two threads may use the same one at once.
    pub fn new(worker: usize) -> Path {
        Path {
            steps: Vec::with_capacity(64),
            leaf: NodeId(0),
            leaf_visits: 0,
            worker,
            exploration: 1.0,
            stale_draws: 0,
            in_series: false,
            series: Vec::with_capacity(64),
            marks: Vec::new(),
            virtual_loss: VirtualLoss::None,
        }
    }

    /// Plies from the root to the leaf.
    pub fn plies(&self) -> usize {
        self.steps.len()
    }

    /// The nodes above the leaf with their links.
    #[cfg(test)]
    pub fn links(&self) -> Vec<(NodeId, u32)> {
        self.steps.iter().map(|step| (step.node, step.link)).collect()
    }
}
