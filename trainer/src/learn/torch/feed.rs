use anyhow::Result;

use crate::data::loader::{Batch, Origin};

/// A source of batches whose position can be stored.
pub trait Feed {
    /// Returns the next batch, of the configured size.
    fn next_batch(&mut self) -> Result<Batch>;

    /// Returns samples of earlier batches again, in the order of `origins`.
    fn again(&mut self, origins: &[Origin]) -> Result<Batch>;

    /// Returns the position for a checkpoint, from which a resumed run continues with the next batch.
    fn position(&self) -> serde_json::Value;
}
