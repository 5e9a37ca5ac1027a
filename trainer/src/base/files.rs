//! Atomic file writes; errors name the path.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, ensure};
use engine::base::files::{NamedTempFile, can_write_aside};
pub(crate) use engine::base::files::{persist, temporary};
use xxhash_rust::xxh3::Xxh3;

/// As a name of a file to read.
pub const STANDARD_INPUT: &str = "-";

/// On an error an existing file stays unchanged.
pub fn write_file(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    write_with(path, |file| Ok(file.as_file_mut().write_all(bytes)?))
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

/// Fails before the work if the file that it makes could not be written in the end, or would replace one that it reads.
pub fn check_output(path: &Path, inputs: impl IntoIterator<Item: AsRef<Path>>) -> anyhow::Result<()> {
    let (shown, real) = (path.display(), path.canonicalize().ok());
    let is_same = |input: &Path| {
        let input = if input == Path::new(STANDARD_INPUT) { Path::new("/dev/stdin") } else { input };
        real.is_some() && input.canonicalize().ok() == real
    };
    let is_read = inputs.into_iter().any(|input| is_same(input.as_ref()));
    ensure!(!is_read, "{shown} would be replaced, but is read: name another file to write");
    ensure!(!path.is_dir(), "cannot write {shown}: it is a folder; name a file");
    can_write_aside(path).with_context(|| format!("cannot write {shown}"))
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

/// A file's name and the xxh3-64 of its bytes: the same for a renamed folder, another after any change.
pub fn name_and_hash(path: &Path) -> anyhow::Result<String> {
    let mut hash = Xxh3::new();
    let mut read = || io::copy(&mut File::open(path)?, &mut hash);
    read().with_context(|| format!("cannot read {}", path.display()))?;
    Ok(format!("{} {:016x}", file_name(path), hash.digest()))
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
    fn what_is_read_is_not_replaced_and_what_cannot_be_written_is_said_before_the_work() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("in"), "games").unwrap();
        let refused = |name: &str| format!("{:#}", check_output(&at(name), [at("in")]).unwrap_err());
        let mut same = vec!["in", "./in"];
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("in", at("link")).unwrap();
            same.push("link");
        }
        for name in same {
            assert!(refused(name).ends_with("would be replaced, but is read: name another file to write"));
        }
        assert!(refused(".").ends_with("it is a folder; name a file"));
        assert!(refused("none/out").starts_with("cannot write "));
        check_output(&at("out"), [at("in"), at("none")]).unwrap();
        assert!(!at("out").exists() && at("in").exists());
    }

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
