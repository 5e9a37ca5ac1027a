use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use engine::base::files;

/// Replaces the file atomically. Creates the folder if missing.
pub fn write_aside(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    files::write_aside(path, |out| out.write_all(content))
}

/// Seconds since 1970; `None` if the file cannot be read.
pub fn modified_s(path: &Path) -> Option<u64> {
    let modified = path.metadata().and_then(|data| data.modified()).ok()?;
    Some(modified.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}
