//! Where a learner's batches come from.

use anyhow::{Result, bail};
use serde_json::Value;

use crate::data::loader::Origin;

/// An endless stream of batches.
pub trait Feed {
    type Batch;

    fn next_batch(&mut self) -> Result<Self::Batch>;

    /// Returns samples of earlier batches in the order of `origins`, for tactical replay.
    fn again(&mut self, _origins: &[Origin]) -> Result<Self::Batch> {
        bail!("these samples cannot be repeated")
    }

    /// Returns the position from which a resumed run continues with the next batch.
    fn position(&self) -> Value;
}

/// The same batch again and again.
pub struct Repeated<B>(pub B);

impl<B: Clone> Feed for Repeated<B> {
    type Batch = B;

    fn next_batch(&mut self) -> Result<B> {
        Ok(self.0.clone())
    }

    fn position(&self) -> Value {
        Value::Null
    }
}
