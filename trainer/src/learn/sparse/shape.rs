use serde::{Deserialize, Serialize};

use crate::config::{SparseModelConfig, SparseTrainConfig};

/// Sizes of a sparse network's tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SparseShape {
    pub features: usize,
    /// Rows of the policy scheme's first table.
    pub rows_a: usize,
    /// Rows of its second table.
    pub rows_b: usize,
    /// Width of the policy embedding, P; even.
    pub policy: usize,
    /// Width of the value embedding, V.
    pub value: usize,
    /// Width of the value head's hidden layer, L.
    pub hidden: usize,
}

impl SparseShape {
    /// `sparse/1` and `moves/1` with a policy of 768 and a value of 256.
    pub const STANDARD: SparseShape =
        SparseShape { features: 3297, rows_a: 7336, rows_b: 3328, policy: 768, value: 256, hidden: 32 };

    /// Returns the length of the vector that a move's rows are multiplied with: half the policy embedding.
    pub fn half(&self) -> usize {
        self.policy / 2
    }

    pub fn config(&self) -> SparseModelConfig {
        let SparseShape { policy, value, hidden, .. } = *self;
        SparseModelConfig { policy, value, hidden, ..SparseModelConfig::default() }
    }

    pub fn fits_into(&self, other: &SparseShape) -> bool {
        let SparseShape { policy, value, hidden, .. } = *self;
        *self == SparseShape { policy, value, hidden, ..*other }
            && policy <= other.policy
            && value <= other.value
            && hidden <= other.hidden
    }
}

impl SparseTrainConfig {
    pub fn shape(&self) -> SparseShape {
        let SparseModelConfig { policy, value, hidden, .. } = self.model;
        SparseShape { policy, value, hidden, ..SparseShape::STANDARD }
    }
}
