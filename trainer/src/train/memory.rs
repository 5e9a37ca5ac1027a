//! The C library's handling of large tensors.

/// Settings of glibc's allocator: no tensor gets a mapping of its own, and freed memory is kept.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const SETTINGS: [(&str, &str); 2] =
    [("MALLOC_MMAP_THRESHOLD_", "8589934592"), ("MALLOC_TRIM_THRESHOLD_", "17179869184")];

/// Starts this program again with an allocator that keeps what is freed, unless it has been told how
/// to behave already.
///
/// A step of training frees and asks for the same hundreds of megabytes again and again. By default
/// glibc returns them to the system each time, which then has to clear every page anew: a quarter of
/// the time of a step on a CPU. Its settings are read before `main`, hence the new start.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn keep_freed_memory() {
    use std::os::unix::process::CommandExt;
    if SETTINGS.iter().any(|(name, _)| std::env::var_os(name).is_some()) {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let error = std::process::Command::new(program).args(std::env::args_os().skip(1)).envs(SETTINGS).exec();
    log::debug!("goes on with the allocator as it is: {error}");
}

/// Other C libraries have no such settings.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn keep_freed_memory() {}
