use std::io;
use std::path::Path;

use engine::base::files;

/// Renames a temporary file, so that the change is atomic. Creates the folder if it is missing.
pub fn write_aside(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    files::write_aside(path, |out| out.write_all(content))
}
