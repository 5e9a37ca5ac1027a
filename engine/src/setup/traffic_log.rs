use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Writes all UCI lines to `Debug Log File`. Clones share the file.
#[derive(Clone, Debug, Default)]
pub struct TrafficLog(Arc<Mutex<Option<File>>>);

impl TrafficLog {
    /// `None` ends logging. If the file cannot be created, the previous log stays.
    pub fn log_to(&self, path: Option<&Path>) -> io::Result<()> {
        let file = path.map(File::create).transpose()?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = file;
        Ok(())
    }

    /// `direction` is `>>` for input, `<<` for output.
    pub fn note(&self, direction: &str, line: &str) {
        if let Some(file) = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            // A full disk must not end a game.
            if let Err(error) = writeln!(file, "{direction} {line}") {
                log::warn!("the log of the UCI traffic cannot be written: {error}");
            }
        }
    }
}
