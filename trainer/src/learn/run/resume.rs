//! The checkpoint from which a run goes on.

use std::path::Path;

use anyhow::{Context, Result, anyhow};

use super::RunFolder;
use super::folder::list;

impl RunFolder {
    /// Returns the result of `read` for the newest readable checkpoint, or the error of the newest.
    pub fn resumed<T>(&self, read: impl Fn(&Path) -> Result<T>) -> Result<T> {
        let mut newest = None;
        for path in list(self.path()).iter().rev() {
            match read(path) {
                Ok(value) => return Ok(value),
                Err(error) => {
                    log::warn!("{error:#}; skipped");
                    newest.get_or_insert(error);
                }
            }
        }
        let none = || anyhow!("it contains no checkpoint");
        Err(newest.unwrap_or_else(none))
            .with_context(|| format!("{} cannot be resumed", self.path().display()))
    }
}
