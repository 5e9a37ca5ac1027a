//! What a run computes in.

use serde::{Deserialize, Serialize};

/// The kind that convolutions and matrix products are computed in; parameters, norms and losses
/// are always fp32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// bf16 on a GPU and on a CPU that multiplies it faster than fp32, else fp32.
    #[default]
    Auto,
    /// 8 bits of precision, the range of fp32.
    Bf16,
    /// 11 bits of precision and a small range, so that losses are scaled; for GPUs.
    Fp16,
    /// 24 bits of precision.
    Fp32,
}
