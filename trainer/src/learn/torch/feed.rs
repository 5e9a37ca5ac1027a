use anyhow::Result;

use crate::data::loader::{Batch, Origin};

pub trait Feed {
    fn next_batch(&mut self) -> Result<Batch>;

    /// Returns samples of earlier batches in the order of `origins`.
    fn again(&mut self, origins: &[Origin]) -> Result<Batch>;

    /// Returns the position from which a resumed run continues with the next batch.
    fn position(&self) -> serde_json::Value;
}
