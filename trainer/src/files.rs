//! What every room does with files.

use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Writes `bytes` under a temporary name, flushes them to the disk, and renames.
///
/// # Errors
/// One line: what can't be written. A file that was there before is then unharmed.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let temporary = path.with_extension("tmp");
    let written = File::create(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&temporary, path));
    written.map_err(|error| {
        // What remains of a failed attempt would only fill the disk further.
        _ = std::fs::remove_file(&temporary);
        format!("cannot write {}: {error}", path.display())
    })
}

/// Makes the folder for a file, with those above it, unless it is there.
///
/// # Errors
/// One line: what can't be made.
pub fn make_folder_of(file: &Path) -> Result<(), String> {
    file.parent().map_or(Ok(()), make_folder)
}

/// Makes a folder, with those above it, unless it is there.
///
/// # Errors
/// One line: what can't be made.
pub fn make_folder(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))
}

/// A file's name without its folder.
pub fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// A file's name up to its first dot; "games" if there is nothing before it.
pub fn stem(path: &Path) -> String {
    let name = file_name(path);
    let stem = name.split('.').next().unwrap_or_default();
    if stem.is_empty() { "games".into() } else { stem.into() }
}
