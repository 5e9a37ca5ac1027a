//! Atomic file writes; errors name the path.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use engine::base::files::NamedTempFile;
pub(crate) use engine::base::files::{persist, temporary};

/// On an error an existing file stays unchanged.
pub fn write_file(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    write_with(path, |file| Ok(file.write_all(bytes)?))
}

/// Like [`write_file`], with the contents that `write` writes.
pub fn write_with<T>(
    path: &Path,
    write: impl FnOnce(&mut NamedTempFile) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let attempt = || -> anyhow::Result<T> {
        let mut file = temporary(path)?;
        let value = write(&mut file)?;
        persist(file, path)?;
        Ok(value)
    };
    attempt().with_context(|| format!("cannot write {}", path.display()))
}

pub fn make_folder_of(file: &Path) -> anyhow::Result<()> {
    file.parent().map_or(Ok(()), make_folder)
}

pub fn make_folder(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))
}

pub fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Returns a file's name up to its first dot, or "games" if that is empty.
pub fn stem(path: &Path) -> String {
    let name = file_name(path);
    let stem = name.split('.').next().unwrap_or_default();
    if stem.is_empty() { "games".into() } else { stem.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let failed = write_with::<()>(&path, |_| anyhow::bail!("the disk is full"));
        let error = format!("{:#}", failed.unwrap_err());
        assert!(error.ends_with("a.json: the disk is full") && error.starts_with("cannot write "), "{error}");
        assert!(!path.exists());
    }
}
