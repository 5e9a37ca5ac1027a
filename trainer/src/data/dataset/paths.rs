//! The files that a source of games names.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

/// The files that match the patterns (`*` and `?` are wildcards) of the source `name`, each pattern's in the order of
/// their names.
///
/// # Errors
///
/// If a pattern is invalid or matches no file, or a folder cannot be read.
pub fn matching(name: &str, patterns: &[String]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for pattern in patterns {
        let place = || format!("source {name}: {pattern}");
        let matches: Result<Vec<PathBuf>, _> = glob::glob(pattern).with_context(place)?.collect();
        let mut matches = matches.with_context(place)?;
        if matches.is_empty() {
            bail!("{}: no such file", place());
        }
        matches.sort();
        all.append(&mut matches);
    }
    Ok(all)
}
