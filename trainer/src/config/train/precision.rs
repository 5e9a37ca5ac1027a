use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Precision of convolutions and matrix products. Parameters, normalisation and losses are always fp32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// bf16 on a GPU, and on a CPU if it is faster there than fp32; otherwise fp32.
    #[default]
    Auto,
    /// 8-bit significand, the range of fp32.
    Bf16,
    /// 11-bit significand and a small range, hence with loss scaling; for GPUs.
    Fp16,
    Fp32,
}
