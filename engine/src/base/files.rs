//! Files written aside, then renamed.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a file under another name, flushes it to the disk, and renames it, so that nobody sees half of it.
///
/// # Errors
///
/// If `write` fails, or the file system does.
pub fn write_aside(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let aside = aside_of(path);
    let attempt = || {
        let mut file = io::BufWriter::new(std::fs::File::create(&aside)?);
        write(&mut file)?;
        file.into_inner()?.sync_all()?;
        std::fs::rename(&aside, path)
    };
    attempt().inspect_err(|_| drop(std::fs::remove_file(&aside)))
}

/// Whether [`write_aside`] could create its temporary file beside `path`. The temporary file is removed again.
pub fn can_write_aside(path: &Path) -> io::Result<()> {
    let aside = aside_of(path);
    std::fs::File::create(&aside)?;
    std::fs::remove_file(&aside)
}

fn aside_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    PathBuf::from(name)
}
