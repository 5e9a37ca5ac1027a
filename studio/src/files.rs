use std::io;
use std::path::Path;

use engine::base::files;

/// Replaces the file atomically. Creates the folder if missing.
pub fn write_aside(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    files::write_aside(path, |out| out.write_all(content))
}
