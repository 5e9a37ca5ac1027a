//! Gives the trainer's binaries and tests a run path to libtorch, so that they start without any
//! environment variable, from any working directory, and also when copied elsewhere together with
//! the libraries. Without the feature `libtorch` it does nothing.

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    if std::env::var_os("CARGO_FEATURE_LIBTORCH").is_none() {
        return;
    }
    // DT_RUNPATH, not DT_RPATH: LD_LIBRARY_PATH must win, so that the same binary can run with a
    // libtorch that knows CUDA (whose libtorch_cuda.so must be in LD_PRELOAD, since nothing here
    // asks for it).
    println!("cargo:rustc-link-arg=-Wl,--enable-new-dtags");
    for place in [
        "$ORIGIN",
        "$ORIGIN/../lib",
        // target/release and target/release/deps, seen from the repository's own folder.
        "$ORIGIN/../../.deps/libtorch/lib",
        "$ORIGIN/../../../.deps/libtorch/lib",
    ] {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{place}");
    }
    // The place it was built with, for target folders that lie elsewhere.
    if let Ok(libtorch) = std::env::var("LIBTORCH") {
        let lib = Path::new(&libtorch).join("lib");
        println!("cargo:rustc-link-arg=-Wl,-rpath,{}", lib.display());
    }
}
