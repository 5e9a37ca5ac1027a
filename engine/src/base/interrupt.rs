//! Ctrl-C and SIGTERM.

use std::io;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// 128 plus the last signal's number; 0 before the first.
static CODE: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// Returns a flag that the first SIGINT or SIGTERM sets. The second ends the program at once and leaves no half file,
/// because files are renamed when written. SIGHUP is left to `nohup`.
pub fn flag() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let code = 128 + signal;
        // In this order: the first signal must find the flag unset.
        flag::register_conditional_shutdown(signal, code, Arc::clone(&stop))?;
        flag::register_usize(signal, Arc::clone(&CODE), code.unsigned_abs() as usize)?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// Whether a signal has set a [`flag`].
pub fn has_come() -> bool {
    CODE.load(Ordering::Relaxed) != 0
}

/// Ends the program without letting other threads finish or anything be dropped.
pub fn exit_at_once(status: u8) -> ! {
    signal_hook::low_level::exit(i32::from(status))
}

/// 130 after a SIGINT, 143 after a SIGTERM that [`flag`] caught; otherwise 0 if `done`, else 1.
pub fn exit_code(done: bool) -> ExitCode {
    match CODE.load(Ordering::Relaxed) {
        0 if done => ExitCode::SUCCESS,
        0 => ExitCode::FAILURE,
        code => u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from),
    }
}
