/// No separate mappings for large tensors, and freed memory is kept.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const SETTINGS: [(&str, &str); 2] =
    [("MALLOC_MMAP_THRESHOLD_", "8589934592"), ("MALLOC_TRIM_THRESHOLD_", "17179869184")];

/// Restarts this program with an allocator that keeps freed memory, unless the environment has one of its settings.
///
/// Every training step allocates and frees hundreds of megabytes. By default glibc returns them to the system, which
/// must clear every page again: a quarter of a step's time on a CPU. glibc reads these settings before `main`.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn keep_freed_memory() {
    use std::os::unix::process::CommandExt;
    if SETTINGS.iter().any(|(name, _)| std::env::var_os(name).is_some()) {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let error = std::process::Command::new(program).args(std::env::args_os().skip(1)).envs(SETTINGS).exec();
    log::debug!("cannot restart with the allocator's settings, continuing without: {error}");
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn keep_freed_memory() {}
