//! Finding and loading ONNX Runtime, once per process.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ort::environment::Environment;
use ort::logging::LogLevel;

use super::error::RuntimeError;

static ENVIRONMENT: OnceLock<Result<Environment, RuntimeError>> = OnceLock::new();

/// The process's ONNX Runtime environment, loaded on the first call.
///
/// # Errors
///
/// If none of the [`candidates`] can be loaded, or none is new enough.
pub(super) fn environment() -> Result<&'static Environment, RuntimeError> {
    ENVIRONMENT.get_or_init(load).as_ref().map_err(Clone::clone)
}

/// The version and build of the loaded ONNX Runtime, as it reports them.
///
/// # Errors
///
/// As [`environment`].
pub(super) fn version() -> Result<&'static str, RuntimeError> {
    environment().map(|_| ort::info())
}

fn load() -> Result<Environment, RuntimeError> {
    let mut tried = Vec::new();
    for path in candidates() {
        match ort::init_from(&path) {
            Ok(builder) => match builder.with_name("philidor").with_telemetry(false).build() {
                Ok(environment) => {
                    environment.set_log_level(LogLevel::Error);
                    log::info!("ONNX Runtime from {}", path.display());
                    return Ok(environment);
                }
                Err(error) => tried.push(one_line(&format!("{}: {error}", path.display()))),
            },
            Err(error) => tried.push(one_line(&error.to_string())),
        }
    }
    Err(RuntimeError { tried })
}

/// `ORT_DYLIB_PATH` alone if it is set; else the program's folder, `../lib`, `.deps/lib` of each folder
/// above the program, and the system's search path.
fn candidates() -> Vec<PathBuf> {
    if let Some(path) = std::env::var_os("ORT_DYLIB_PATH").filter(|path| !path.is_empty()) {
        return vec![path.into()];
    }
    let mut all = Vec::new();
    if let Some(folder) = std::env::current_exe().ok().as_deref().and_then(Path::parent) {
        all.extend(libraries_in(folder));
        all.extend(libraries_in(&folder.join("../lib")));
        for ancestor in folder.ancestors() {
            all.extend(libraries_in(&ancestor.join(".deps/lib")));
        }
    }
    all.push("libonnxruntime.so".into());
    all
}

/// The files `libonnxruntime.so*` of a folder: the unversioned name first, then the newest version.
fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy());
            name.is_some_and(|name| name.starts_with("libonnxruntime.so"))
        })
        .collect();
    found.sort_by_key(|path| (path.as_os_str().len(), std::cmp::Reverse(path.clone())));
    found
}

/// The text on one line: errors of ONNX Runtime span several.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
