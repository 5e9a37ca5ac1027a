//! The source of the learner's batches.

use anyhow::Result;

use crate::data::loader::{Batch, Origin};

/// A source of batches with a position that can be stored.
pub trait Feed {
    /// The next batch, of the configured size.
    ///
    /// # Errors
    /// The games cannot be read, or there are none.
    fn next_batch(&mut self) -> Result<Batch>;

    /// The samples of these origins, which earlier batches contained, as a batch in this order.
    ///
    /// # Errors
    /// The games cannot be read.
    fn again(&mut self, origins: &[Origin]) -> Result<Batch>;

    /// The position that a checkpoint stores, from which a resumed run continues with the next batch.
    fn position(&self) -> serde_json::Value;
}
