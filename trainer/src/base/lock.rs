use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// A lock file that names its holder and is removed on drop. A dead process's lock is taken over; another host's cannot
/// be checked and is respected.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    pub fn take(path: &Path) -> Result<Lock> {
        let cannot = || format!("cannot lock {}", path.display());
        loop {
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)
                .with_context(cannot)?;
            let held = match file.try_lock() {
                Ok(()) => false,
                Err(TryLockError::WouldBlock) => true,
                // On a file system without locks only the recorded process id counts.
                Err(TryLockError::Error(_)) => false,
            };
            let mut holder = String::new();
            file.read_to_string(&mut holder).with_context(cannot)?;
            refuse(path, holder.trim(), held)?;
            if is_gone(path, &file) {
                continue;
            }
            file.set_len(0).and_then(|()| file.rewind()).with_context(cannot)?;
            writeln!(file, "process {} on {}", std::process::id(), host()).with_context(cannot)?;
            return Ok(Lock { path: path.to_owned(), _file: file });
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.path);
    }
}

fn refuse(path: &Path, holder: &str, held: bool) -> Result<()> {
    // `FOLDER/lock` locks the folder, `FOLDER/NAME.lock` the files of that name.
    let is_folder = path.file_name().is_some_and(|name| name == "lock");
    let place = if is_folder { path.parent().unwrap_or(path).to_owned() } else { path.with_extension("") };
    let place = place.display();
    let other = if is_folder { "folder" } else { "name" };
    let parsed = holder.strip_prefix("process ").and_then(|text| text.split_once(" on "));
    let (process, of) = parsed.unwrap_or(("", ""));
    if held {
        let who = if holder.is_empty() { "another process" } else { holder };
        bail!("{place} is in use by {who}: wait for it, stop it, or use another {other}");
    }
    if !of.is_empty() && of != host() {
        bail!(
            "{place} is in use by {holder}, another machine: wait for it; if it no longer runs, remove {}",
            path.display()
        );
    }
    if process.parse().is_ok_and(|id: u32| id != std::process::id() && lives(id)) && !can_lock(path) {
        bail!("{place} is in use by {holder}: wait for it, stop it, or use another {other}");
    }
    Ok(())
}

/// Whether the file system supports locks. If so, a lock that could be taken was stale, even if its process id is in
/// use again.
fn can_lock(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| !matches!(file.try_lock(), Err(TryLockError::Error(_))))
}

/// Whether the file was removed or replaced between opening and locking.
#[cfg(unix)]
fn is_gone(path: &Path, file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let inode =
        |metadata: std::io::Result<std::fs::Metadata>| metadata.ok().map(|data| (data.dev(), data.ino()));
    inode(path.metadata()) != inode(file.metadata())
}

#[cfg(not(unix))]
fn is_gone(path: &Path, _: &File) -> bool {
    !path.exists()
}

fn lives(process: u32) -> bool {
    Path::new("/proc/self").exists() && Path::new(&format!("/proc/{process}")).exists()
}

fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .or_else(|_| std::fs::read_to_string("/etc/hostname"));
    let name = name.ok().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    name.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_else(|| "this machine".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_it_at_a_time_and_a_stale_one_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = Lock::take(&path).unwrap();
        let error = Lock::take(&path).unwrap_err().to_string();
        let me = format!("is in use by process {} on {}", std::process::id(), host());
        assert!(error.contains(&me), "{error}");
        drop(first);
        assert!(!path.exists());
        // A dead process.
        std::fs::write(&path, format!("process 4194305 on {}\n", host())).unwrap();
        drop(Lock::take(&path).unwrap());
        // A process killed before it wrote its name.
        std::fs::write(&path, "").unwrap();
        drop(Lock::take(&path).unwrap());
        // A process id that is in use again.
        std::fs::write(&path, format!("process 1 on {}\n", host())).unwrap();
        drop(Lock::take(&path).unwrap());
    }

    #[test]
    fn a_lock_of_another_machine_is_respected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        std::fs::write(&path, "process 7 on somewhere-else\n").unwrap();
        let error = Lock::take(&path).unwrap_err().to_string();
        assert!(error.contains("process 7 on somewhere-else") && error.contains("remove "), "{error}");
        assert!(path.exists());
    }
}
