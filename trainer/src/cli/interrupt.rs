//! Ctrl-C: the first ends a command cleanly, a second at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that the first Ctrl-C raises. The second ends the program: whatever is written is written
/// aside and renamed, so no file is left half.
///
/// # Errors
///
/// One line, if nobody may listen for Ctrl-C here (or somebody does already).
pub fn flag() -> Result<Arc<AtomicBool>, String> {
    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    let handler = ctrlc::set_handler(move || {
        if raised.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    handler.map(|()| stop).map_err(|error| format!("cannot listen for Ctrl-C: {error}"))
}
