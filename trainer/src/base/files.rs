//! Files written under a temporary name and renamed, folders, and file names.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use tempfile::NamedTempFile;

/// Writes `bytes` to a file under a temporary name, flushes it to the disk, and renames it.
///
/// # Errors
///
/// If the file cannot be written; an existing file of that name is unchanged then.
pub fn write_file(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    write_with(path, |file| Ok(file.write_all(bytes)?))
}

/// [`write_file`] with what `write` writes.
///
/// # Errors
///
/// If `write` fails, or the file cannot be written; an existing file of that name is unchanged then.
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

/// An empty file `NAME.RANDOM.tmp` in the folder of `path`, which is removed when it is dropped.
///
/// # Errors
///
/// If it cannot be created.
pub(crate) fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    let prefix = format!("{}.", file_name(path));
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".tmp");
    // Readable as any other new file: the default is for the owner alone.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    builder.tempfile_in(folder.unwrap_or(Path::new(".")))
}

/// Flushes a temporary file to the disk and renames it to `path`.
///
/// # Errors
///
/// If either fails; the temporary file is removed then.
pub(crate) fn persist(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// Creates the folder of a file, with its parents, unless it exists.
///
/// # Errors
///
/// If it cannot be created.
pub fn make_folder_of(file: &Path) -> anyhow::Result<()> {
    file.parent().map_or(Ok(()), make_folder)
}

/// Creates a folder, with its parents, unless it exists.
///
/// # Errors
///
/// If it cannot be created.
pub fn make_folder(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))
}

/// A file's name without its folder.
pub fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// A file's name up to its first dot; "games" if there is nothing before it.
pub fn stem(path: &Path) -> String {
    let name = file_name(path);
    let stem = name.split('.').next().unwrap_or_default();
    if stem.is_empty() { "games".into() } else { stem.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_changes_nothing_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        write_file(&path, b"first").unwrap();
        let failed = write_with::<()>(&path, |file| {
            file.write_all(b"half")?;
            anyhow::bail!("the disk is full")
        });
        let error = format!("{:#}", failed.unwrap_err());
        assert!(error.ends_with("a.json: the disk is full") && error.starts_with("cannot write "), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        write_file(&path, b"second").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"second");
        assert!(write_file(&folder.path().join("nowhere/a.json"), b"").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn files_are_as_readable_as_any_other() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let [ours, plain] = ["ours", "plain"].map(|name| folder.path().join(name));
        write_file(&ours, b"").unwrap();
        std::fs::write(&plain, b"").unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&plain));
    }
}
