use std::path::PathBuf;

use anyhow::{Context, Result, bail};

/// Files by patterns with the wildcards `*` and `?`, sorted within each pattern. Each must match. `name` is for errors.
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
