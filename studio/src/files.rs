//! Files that are never half written.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a file under another name, flushes it to the disk and renames it; its folder is made if it is missing.
///
/// # Errors
///
/// If it cannot be written; an earlier file is then unchanged.
pub fn write_aside(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    let aside = PathBuf::from(name);
    let mut file = std::fs::File::create(&aside)?;
    file.write_all(content)?;
    file.sync_all()?;
    std::fs::rename(&aside, path)
}
