//! Finds and loads ONNX Runtime, once per process.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ort::environment::Environment;

use super::calls;
use super::error::RuntimeError;

static RUNTIME: OnceLock<Result<LoadedRuntime, RuntimeError>> = OnceLock::new();

struct LoadedRuntime {
    environment: Environment,
    library: PathBuf,
}

/// The first call loads the first usable library of [`candidates`].
pub(super) fn environment() -> Result<&'static Environment, RuntimeError> {
    runtime().map(|runtime| &runtime.environment)
}

fn runtime() -> Result<&'static LoadedRuntime, RuntimeError> {
    RUNTIME.get_or_init(load).as_ref().map_err(Clone::clone)
}

/// The loaded file, whose name usually has the version.
pub fn library() -> Result<PathBuf, RuntimeError> {
    let library = &runtime()?.library;
    Ok(dunce::canonicalize(library).unwrap_or_else(|_| library.clone()))
}

pub(super) fn version() -> Result<&'static str, RuntimeError> {
    environment().map(|_| ort::info())
}

fn load() -> Result<LoadedRuntime, RuntimeError> {
    // WebAssembly has no variables of the environment.
    if cfg!(target_family = "wasm") {
        return load_silent();
    }
    // From 1.31 on, loading creates an identifier and a queue of events in the home folder and sends them, before the
    // library's interface can forbid it.
    temp_env::with_var("ORT_DISABLE_TELEMETRY", Some("1"), load_silent)
}

fn load_silent() -> Result<LoadedRuntime, RuntimeError> {
    let mut tried = Vec::new();
    for path in candidates() {
        match calls::load(&path) {
            Ok(environment) => {
                log::info!("ONNX Runtime from {}", path.display());
                return Ok(LoadedRuntime { environment, library: path });
            }
            Err(error) => tried.push(one_line(&error)),
        }
    }
    Err(RuntimeError { tried })
}

pub(super) const LIBRARY: &str = if cfg!(windows) {
    "onnxruntime.dll"
} else if cfg!(target_os = "macos") {
    "libonnxruntime.dylib"
} else {
    "libonnxruntime.so"
};

/// Libraries to try: `ORT_DYLIB_PATH` alone if set, else the files in [`folders`], then the system's search path; not
/// on Windows, which may have an older version.
fn candidates() -> Vec<PathBuf> {
    if let Some(path) = std::env::var_os("ORT_DYLIB_PATH").filter(|path| !path.is_empty()) {
        return vec![path.into()];
    }
    let program = std::env::current_exe().ok();
    let real = program.as_ref().and_then(|program| dunce::canonicalize(program).ok());
    let mut all = Vec::new();
    for folder in [&program, &real].into_iter().flatten().filter_map(|program| program.parent()) {
        for library in folders(folder).iter().flat_map(|folder| libraries_in(folder)) {
            if !all.contains(&library) {
                all.push(library);
            }
        }
    }
    if cfg!(not(windows)) {
        all.push(LIBRARY.into());
    }
    all
}

/// Folders to search: beside the program, the Python packages of its environment, and `.deps` of each folder above,
/// CUDA builds first.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let mut all = vec![folder.to_owned(), folder.join("../lib"), folder.join("../lib/philidor")];
    let mut packages = vec![folder.join("../Lib/site-packages")];
    for lib in ["../lib", "../lib64"] {
        let versions = std::fs::read_dir(folder.join(lib)).into_iter().flatten().flatten();
        let mut versions: Vec<PathBuf> = versions
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"))
            .map(|entry| entry.path())
            .collect();
        versions.sort();
        for python in versions {
            packages.extend([python.join("site-packages"), python.join("dist-packages")]);
        }
    }
    all.extend(packages.iter().map(|packages| packages.join("onnxruntime/capi")));
    for ancestor in folder.ancestors() {
        all.extend([".deps/cuda/lib", ".deps/lib"].map(|deps| ancestor.join(deps)));
    }
    all
}

/// The unversioned name first, then the newest version.
fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(LIBRARY)))
        .collect();
    found.sort_by_key(|path| (path.as_os_str().len(), std::cmp::Reverse(path.clone())));
    found
}

/// ONNX Runtime's errors span several lines.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_where_archives_packages_and_wheels_put_it() {
        let root = std::env::temp_dir().join(format!("philidor-runtime-{}", std::process::id()));
        let file = |path: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
        };
        let versioned = format!("{LIBRARY}.1.31.1");
        for (place, program) in [
            (LIBRARY.to_owned(), ""),
            (format!("lib/{versioned}"), "bin"),
            (format!("lib/philidor/{versioned}"), "bin"),
            (format!("lib/python3.11/site-packages/onnxruntime/capi/{versioned}"), "bin"),
            (format!("lib64/python3.13/site-packages/onnxruntime/capi/{versioned}"), "bin"),
            (format!("Lib/site-packages/onnxruntime/capi/{LIBRARY}"), "Scripts"),
            (format!(".deps/cuda/lib/{LIBRARY}"), "target/release"),
            (format!(".deps/lib/{LIBRARY}"), "target/release"),
        ] {
            file(&place);
            let program = root.join(program);
            std::fs::create_dir_all(&program).unwrap();
            let found: Vec<PathBuf> =
                folders(&program).iter().flat_map(|folder| libraries_in(folder)).collect();
            let [found] = found.as_slice() else { panic!("{place}: {found:?}") };
            assert_eq!(found.canonicalize().unwrap(), root.canonicalize().unwrap().join(&place));
            std::fs::remove_dir_all(&root).unwrap();
        }
    }
}
