//! Where the learner's batches come from.

use crate::loader::Batch;

/// A source of batches that can say where it stands.
pub trait Feed {
    /// The next batch, of the configured size.
    ///
    /// # Errors
    /// One line, if the games can't be read or there are none.
    fn next_batch(&mut self) -> Result<Batch, String>;

    /// What a checkpoint keeps, so that a later run goes on with the batches that would follow.
    fn position(&self) -> serde_json::Value;
}
