//! Where the learner's batches come from.

use crate::loader::{Batch, Origin};

/// A source of batches that can say where it stands.
pub trait Feed {
    /// The next batch, of the configured size.
    ///
    /// # Errors
    /// One line, if the games can't be read or there are none.
    fn next_batch(&mut self) -> Result<Batch, String>;

    /// A batch of samples that were seen before, in this order.
    ///
    /// # Errors
    /// One line, if they can't be made again.
    fn again(&mut self, origins: &[Origin]) -> Result<Batch, String>;

    /// What a checkpoint keeps, so that a later run goes on with the batches that would follow.
    fn position(&self) -> serde_json::Value;
}
