use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const NAME: &str = "stop";

/// Polling works on network file systems too.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Sets the flag, as Ctrl-C does, when a file `stop` appears in the run's folder, and removes the file. An existing
/// file was meant for an earlier run.
pub fn watch(folder: &Path, stop: &Arc<AtomicBool>) {
    let (path, stop) = (folder.join(NAME), Arc::clone(stop));
    _ = std::fs::remove_file(&path);
    thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            if std::fs::remove_file(&path).is_ok() {
                log::info!("stop file {} found: the run stops", path.display());
                stop.store(true, Ordering::Relaxed);
            }
            thread::sleep(LOOK_EVERY);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_file_is_removed_and_a_new_one_stops_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let (path, stop) = (folder.path().join(NAME), Arc::new(AtomicBool::new(false)));
        std::fs::write(&path, "").unwrap();
        watch(folder.path(), &stop);
        assert!(!path.exists() && !stop.load(Ordering::Relaxed));
        std::fs::write(&path, "").unwrap();
        while !stop.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        assert!(!path.exists());
    }
}
