//! Ctrl-C: the first ends a command cleanly, the second at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that the first Ctrl-C sets. The second ends the program at once: files are written under temporary names and
/// renamed, so none is left incomplete.
///
/// # Errors
///
/// If no handler can be installed, or one is installed already.
pub fn flag() -> Result<Arc<AtomicBool>, ctrlc::Error> {
    let stop = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if set.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })?;
    Ok(stop)
}
