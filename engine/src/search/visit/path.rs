use crate::chess::position::GameMark;
use crate::search::tree::node::NodeId;
use crate::search::visit::series::Series;
use crate::search::visit::virtual_loss::VirtualLoss;

/// The path of a visit from the root to its leaf. A worker reuses one for all its visits.
#[derive(Clone, Debug)]
pub struct Path {
    pub(super) steps: Vec<Step>,
    pub(super) leaf: NodeId,
    /// The leaf's visits when the descent reached it.
    pub(super) leaf_visits: u32,
    pub(super) worker: usize,
    /// The worker's factor on exploration.
    pub(super) exploration: f32,
    /// Earlier visits along the last edge that counted as draws by repetition, but are none from the current root.
    pub(super) stale_draws: u32,
    pub(super) in_series: bool,
    /// Of the root and of the node after each step.
    pub(super) series: Vec<Series>,
    /// Snapshots of the game by depth, where the series is marked.
    pub(super) marks: Vec<GameMark>,
    pub(super) virtual_loss: VirtualLoss,
}

/// An edge of the path with the node it leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub node: NodeId,
    pub edge: u32,
    /// The move's prior in units of 1/65535.
    pub prior: u16,
}

impl Path {
    /// `worker` must be below the tree's number of workers; no two threads may use the same one at once.
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

    pub fn plies(&self) -> usize {
        self.steps.len()
    }

    #[cfg(test)]
    pub fn edges(&self) -> Vec<(NodeId, u32)> {
        self.steps.iter().map(|step| (step.node, step.edge)).collect()
    }
}
