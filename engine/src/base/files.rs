//! Writes a temporary file, then renames it: readers never see half a file, and a failed write keeps the old one. A
//! link stays, and the file that it names is replaced.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

pub use tempfile::NamedTempFile;

/// Whether a file begins with a frame of zstd, or one to skip, with which pzstd begins.
pub fn is_zstd(head: &[u8]) -> bool {
    matches!(head, [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

pub fn write_aside<T>(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
    let mut file = temporary(path)?;
    let mut out = BufWriter::new(file.as_file_mut());
    let value = write(&mut out)?;
    out.flush()?;
    drop(out);
    persist(file, path)?;
    Ok(value)
}

pub fn can_write_aside(path: &Path) -> io::Result<()> {
    temporary(path).map(drop)
}

/// Creates an empty `NAME.RANDOM.tmp` beside `path`, removed on drop. Fails if `path` is a device, a pipe or a link to a
/// missing file, which a renamed file would replace.
pub fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    match path.metadata() {
        Ok(found) if !found.is_file() && !found.is_dir() => {
            return Err(io::Error::other("it is a device or a pipe: name a file"));
        }
        Err(_) if path.is_symlink() => return Err(io::Error::other("it is a link to a missing file")),
        _ => {}
    }
    let path = target(path);
    let mut prefix = path.file_name().unwrap_or_default().to_owned();
    prefix.push(".");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".tmp");
    // As readable as other new files; the crate's default is owner-only.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    builder.tempfile_in(folder.unwrap_or(Path::new("."))).map_err(without_path)
}

/// Callers name the file; the crate adds the temporary name.
fn without_path(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((cause, _)) => io::Error::new(error.kind(), cause.to_owned()),
        None => error,
    }
}

/// Flushes the file to disk and renames it to `path`; removes it if that fails.
pub fn persist(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.as_file().sync_all()?;
    file.persist(target(path))?;
    Ok(())
}

/// Follows links.
fn target(path: &Path) -> PathBuf {
    path.canonicalize().ok().filter(|_| path.is_symlink()).unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_changes_nothing_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        write_aside(&path, |out| out.write_all(b"first")).unwrap();
        let failed = write_aside(&path, |out| {
            out.write_all(b"half")?;
            Err::<(), _>(io::Error::other("the disk is full"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "the disk is full");
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(write_aside(&path, |out| out.write_all(b"second").map(|()| 7)).unwrap(), 7);
        assert_eq!(std::fs::read(&path).unwrap(), b"second");
        let error = write_aside(&folder.path().join("nowhere/a.json"), |_| Ok(())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(!error.to_string().contains("a.json"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn devices_and_links_are_not_replaced() {
        use std::os::unix::fs::{FileTypeExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let [link, other, file, socket, dangling] =
            ["link", "other", "file", "socket", "dangling"].map(|name| folder.path().join(name));
        std::fs::write(&file, "old").unwrap();
        symlink("file", &other).unwrap();
        write_aside(&other, |out| out.write_all(b"new")).unwrap();
        assert!(other.is_symlink() && !file.is_symlink());
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        // Not a real device, which a broken guard would destroy.
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        symlink("socket", &link).unwrap();
        for path in [&link, &socket] {
            let error = write_aside(path, |out| out.write_all(b"x")).unwrap_err();
            assert_eq!(error.to_string(), "it is a device or a pipe: name a file");
            assert!(path.metadata().unwrap().file_type().is_socket());
        }
        symlink("missing", &dangling).unwrap();
        let error = write_aside(&dangling, |out| out.write_all(b"x")).unwrap_err();
        assert_eq!(error.to_string(), "it is a link to a missing file");
        assert!(dangling.is_symlink() && !dangling.exists());
    }

    #[cfg(unix)]
    #[test]
    fn files_are_as_readable_as_any_other() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let [ours, plain] = ["ours", "plain"].map(|name| folder.path().join(name));
        write_aside(&ours, |_| Ok(())).unwrap();
        std::fs::write(&plain, b"").unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&plain));
    }
}
