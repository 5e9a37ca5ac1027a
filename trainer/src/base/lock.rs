use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};

/// How often a holder touches its lock.
const BEAT: Duration = Duration::from_secs(15);
/// Time without a touch after which the lock of another host is taken over.
const SILENCE: Duration = Duration::from_secs(120);

/// Exit status of a program whose folder or output another process holds (`EX_TEMPFAIL` of sysexits.h).
pub const IN_USE: u8 = 75;

/// Another process holds the lock.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InUse(String);

/// A lock file that names its holder and is removed on drop. The system releases a dead process's lock, which is then
/// taken over. Whether a process of another host lives is seen by the time of the file, which its holder touches. A
/// holder that finds its lock taken over, as after a machine was suspended, ends its program at once.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    /// What this process wrote.
    own: String,
    _file: File,
    /// Dropped to end the thread.
    end: Option<Sender<()>>,
    beat: Option<JoinHandle<()>>,
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
                // On a file system without locks process id and time decide.
                Err(TryLockError::Error(_)) => false,
            };
            let mut holder = String::new();
            file.read_to_string(&mut holder).with_context(cannot)?;
            refuse(path, holder.trim(), held, silence(path, &file))?;
            if is_gone(path, &file) {
                continue;
            }
            let own = format!("process {} on {}\n", std::process::id(), host());
            file.set_len(0).and_then(|()| file.rewind()).with_context(cannot)?;
            file.write_all(own.as_bytes()).with_context(cannot)?;
            let (end, beat) = keep(path.to_owned(), own.clone());
            return Ok(Lock { path: path.to_owned(), own, _file: file, end: Some(end), beat: Some(beat) });
        }
    }
}

/// Fails if another process holds the lock.
pub fn refuse_in_use(path: &Path) -> Result<()> {
    match Lock::take(path) {
        Err(error) if error.is::<InUse>() => Err(error),
        _ => Ok(()),
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(beat) = self.beat.take() {
            _ = beat.join();
        }
        // One that was taken over is another's. On Windows it cannot be read while it is locked.
        if std::fs::read_to_string(&self.path).map_or(cfg!(windows), |holder| holder == self.own) {
            _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Touches the lock until the sender is dropped.
fn keep(path: PathBuf, own: String) -> (Sender<()>, JoinHandle<()>) {
    let (end, ended) = channel();
    let beat = thread::spawn(move || {
        while ended.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
            if !touch(&path, &own) {
                eprintln!(
                    "{}, the lock of this process, was removed or taken over by another one: this process ends",
                    path.display()
                );
                engine::base::interrupt::exit_at_once(IN_USE);
            }
        }
    });
    (end, beat)
}

/// Writes the lock again. Returns false if it is another's or gone. What cannot be read or written may be so later.
fn touch(path: &Path, own: &str) -> bool {
    let mut file = match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => file,
        Err(error) => return error.kind() != std::io::ErrorKind::NotFound,
    };
    let mut holder = String::new();
    if file.read_to_string(&mut holder).is_err() {
        return true;
    }
    if holder != own {
        return false;
    }
    _ = file.rewind().and_then(|()| file.write_all(own.as_bytes())).and_then(|()| file.sync_all());
    true
}

/// Time since the file was written, by the clock that wrote it: that of the file system.
fn silence(path: &Path, file: &File) -> Duration {
    let written = file.metadata().and_then(|data| data.modified());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let now = tempfile::tempfile_in(folder).and_then(|mut file| {
        file.write_all(b"now")?;
        file.sync_all()?;
        file.metadata()?.modified()
    });
    let now = now.unwrap_or_else(|_| SystemTime::now());
    written.ok().and_then(|written| now.duration_since(written).ok()).unwrap_or_default()
}

fn refuse(path: &Path, holder: &str, held: bool, silence: Duration) -> Result<()> {
    // `FOLDER/lock` locks the folder, `FOLDER/NAME.lock` the files of that name.
    let is_folder = path.file_name().is_some_and(|name| name == "lock");
    let place = if is_folder { path.parent().unwrap_or(path).to_owned() } else { path.with_extension("") };
    let place = place.display();
    let other = if is_folder { "folder" } else { "name" };
    let parsed = holder.strip_prefix("process ").and_then(|text| text.split_once(" on "));
    let (process, of) = parsed.unwrap_or(("", ""));
    if held {
        let who = if holder.is_empty() { "another process" } else { holder };
        bail!(InUse(format!("{place} is in use by {who}: wait for it, stop it, or use another {other}")));
    }
    if !of.is_empty() && of != host() {
        if silence >= SILENCE {
            log::warn!("{place}: taken over from {holder}, which was silent for {} s", silence.as_secs());
            return Ok(());
        }
        bail!(InUse(format!(
            "{place} is in use by {holder}, another machine, {} s ago: wait for it, stop it, or use another {other}; \
             if it was killed, its lock ends {} s after that",
            silence.as_secs(),
            SILENCE.as_secs()
        )));
    }
    if process.parse().is_ok_and(|id: u32| id != std::process::id() && lives(id)) && !can_lock(path) {
        bail!(InUse(format!("{place} is in use by {holder}: wait for it, stop it, or use another {other}")));
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

    /// Lets the file look as if it was last written so many seconds ago.
    fn age(path: &Path, seconds: u64) {
        let then = SystemTime::now() - Duration::from_secs(seconds);
        OpenOptions::new().write(true).open(path).unwrap().set_modified(then).unwrap();
    }

    #[test]
    fn one_holds_it_at_a_time_and_a_stale_one_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = Lock::take(&path).unwrap();
        let error = Lock::take(&path).unwrap_err();
        let me = format!("is in use by process {} on {}", std::process::id(), host());
        assert!(error.is::<InUse>() && error.to_string().contains(&me), "{error}");
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
    fn a_lock_of_another_machine_is_respected_until_it_is_silent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        std::fs::write(&path, "process 7 on somewhere-else\n").unwrap();
        age(&path, SILENCE.as_secs() - 25);
        let error = Lock::take(&path).unwrap_err().to_string();
        assert!(error.contains("process 7 on somewhere-else, another machine, 9"), "{error}");
        assert!(path.exists());
        age(&path, SILENCE.as_secs() + 1);
        drop(Lock::take(&path).unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn a_lock_that_was_taken_over_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let silent = Lock::take(&path).unwrap();
        std::fs::write(&path, "process 7 on somewhere-else\n").unwrap();
        drop(silent);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "process 7 on somewhere-else\n");
    }

    #[test]
    fn the_holder_touches_its_lock_and_notices_that_it_was_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let own = "process 7 on here\n";
        std::fs::write(&path, own).unwrap();
        age(&path, 1000);
        assert!(touch(&path, own));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), own);
        let file = File::open(&path).unwrap();
        assert!(silence(&path, &file) < SILENCE / 2, "{:?}", silence(&path, &file));
        std::fs::write(&path, "process 9 on somewhere-else\n").unwrap();
        assert!(!touch(&path, own), "another holds it");
        std::fs::remove_file(&path).unwrap();
        assert!(!touch(&path, own), "another held and released it, or the folder was removed");
    }
}
