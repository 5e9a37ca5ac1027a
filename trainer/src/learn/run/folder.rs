//! A run's folder: its lock, `config.json` and checkpoints.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use crate::base::files::{make_folder, write_file};
use crate::base::lock::Lock;

const LAST: &str = "last.safetensors";
/// The previous checkpoint, in case the last is damaged.
const BEFORE: &str = "last-1.safetensors";
const BEST: &str = "best.safetensors";

/// The folder of a run, locked against other processes.
pub struct RunFolder {
    path: PathBuf,
    _lock: Lock,
}

impl RunFolder {
    /// Locks the folder and removes files that a killed process left unfinished.
    pub fn open(path: &Path) -> Result<RunFolder> {
        let checkpoints = path.join("checkpoints");
        make_folder(&checkpoints)?;
        let lock = Lock::take(&path.join("lock"))?;
        remove_unfinished(path);
        remove_unfinished(&checkpoints);
        Ok(RunFolder { path: path.to_owned(), _lock: lock })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn ensure_empty(&self) -> Result<()> {
        ensure!(
            list(&self.path).is_empty(),
            "{} already contains a run: add --resume, or name another folder with --run",
            self.path.display()
        );
        Ok(())
    }

    pub fn write_config(&self, config: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string_pretty(config)?;
        write_file(&self.path.join("config.json"), (text + "\n").as_bytes())
    }

    pub fn best(&self) -> PathBuf {
        self.path.join("checkpoints").join(BEST)
    }

    /// Keeps the previous checkpoint. A complete one exists at any moment.
    pub fn write_last(&self, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let folder = self.path.join("checkpoints");
        let (last, before) = (folder.join(LAST), folder.join(BEFORE));
        if last.exists() {
            _ = std::fs::remove_file(&before);
            // A file system without hard links keeps only the last one.
            _ = std::fs::hard_link(&last, &before);
        }
        write(&last)?;
        for old in numbered(&folder) {
            std::fs::remove_file(&old).with_context(|| format!("cannot remove {}", old.display()))?;
        }
        Ok(())
    }
}

/// Returns the checkpoints, oldest first, without the best.
pub fn list(folder: &Path) -> Vec<PathBuf> {
    let folder = folder.join("checkpoints");
    let named = [BEFORE, LAST].map(|name| folder.join(name));
    numbered(&folder).into_iter().chain(named).filter(|path| path.exists()).collect()
}

/// Returns the best checkpoint, or the last without validations.
pub fn best_or_last(folder: &Path) -> Option<PathBuf> {
    let best = folder.join("checkpoints").join(BEST);
    if best.exists() { Some(best) } else { list(folder).pop() }
}

/// Returns checkpoints named as in earlier versions, `step-0000000123.safetensors`.
fn numbered(checkpoints: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(checkpoints).into_iter().flatten().flatten();
    let is_numbered = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("step-") && name.ends_with(".safetensors")
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_numbered).collect();
    paths.sort();
    paths
}

fn remove_unfinished(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "tmp") {
            _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &Path) -> Result<String> {
        let text = std::fs::read_to_string(path)?;
        ensure!(!text.contains("damaged"), "{}: damaged", path.display());
        Ok(text)
    }

    #[test]
    fn the_last_readable_checkpoint_is_resumed() {
        let temporary = tempfile::tempdir().unwrap();
        let at = |name: &str| temporary.path().join("checkpoints").join(name);
        let folder = RunFolder::open(temporary.path()).unwrap();
        let error = format!("{:#}", folder.resumed(text).unwrap_err());
        assert!(error.contains("no checkpoint"), "{error}");
        folder.ensure_empty().unwrap();
        let save = |content: &str| folder.write_last(|path| write_file(path, content.as_bytes())).unwrap();
        save("first");
        assert!(folder.ensure_empty().is_err());
        assert!(!at(BEFORE).exists());
        save("second");
        assert_eq!(folder.resumed(text).unwrap(), "second");
        std::fs::write(at(LAST), "damaged").unwrap();
        assert_eq!(folder.resumed(text).unwrap(), "first", "the one before is a file of its own");
        save("third");
        assert_eq!(list(temporary.path()), [at(BEFORE), at(LAST)]);
        assert_eq!(best_or_last(temporary.path()), Some(at(LAST)));
        std::fs::write(folder.best(), "best").unwrap();
        assert_eq!(best_or_last(temporary.path()), Some(folder.best()));
    }

    #[test]
    fn a_run_of_an_earlier_version_is_resumed_and_its_files_give_way() {
        let temporary = tempfile::tempdir().unwrap();
        let at = |name: &str| temporary.path().join("checkpoints").join(name);
        std::fs::create_dir_all(temporary.path().join("checkpoints")).unwrap();
        for step in ["step-0000000007", "step-0000000012"] {
            std::fs::write(at(&format!("{step}.safetensors")), step).unwrap();
        }
        let folder = RunFolder::open(temporary.path()).unwrap();
        assert_eq!(folder.resumed(text).unwrap(), "step-0000000012");
        folder.write_last(|path| write_file(path, b"new")).unwrap();
        assert_eq!(list(temporary.path()), [at(LAST)]);
    }

    #[test]
    fn only_one_process_uses_it_and_it_tidies_up() {
        let temporary = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(temporary.path().join("checkpoints")).unwrap();
        let left = [temporary.path().join("config.json.x.tmp"), temporary.path().join("checkpoints/a.tmp")];
        left.iter().for_each(|path| std::fs::write(path, "half").unwrap());
        let folder = RunFolder::open(temporary.path()).unwrap();
        assert!(left.iter().all(|path| !path.exists()));
        let error = RunFolder::open(temporary.path()).err().unwrap().to_string();
        assert!(error.contains("is in use by process"), "{error}");
        drop(folder);
        RunFolder::open(temporary.path()).unwrap();
    }
}
