//! Sets a run path to libtorch in the trainer's binaries and tests, so that they start without any
//! environment variable, from any working directory, and also when copied elsewhere together with
//! the libraries. Without the feature `libtorch` it does nothing.

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    if std::env::var_os("CARGO_FEATURE_LIBTORCH").is_none() {
        return;
    }
    // DT_RUNPATH, not DT_RPATH: LD_LIBRARY_PATH must take precedence, so that the same binary can run
    // with a CUDA build of libtorch (whose libtorch_cuda.so must be in LD_PRELOAD, since nothing here
    // links to it).
    println!("cargo:rustc-link-arg=-Wl,--enable-new-dtags");
    for path in [
        "$ORIGIN",
        "$ORIGIN/../lib",
        // target/release and target/release/deps of the repository.
        "$ORIGIN/../../.deps/libtorch/lib",
        "$ORIGIN/../../../.deps/libtorch/lib",
    ] {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{path}");
    }
    // The libtorch of the build, for target folders outside the repository.
    if let Ok(libtorch) = std::env::var("LIBTORCH") {
        let lib = Path::new(&libtorch).join("lib");
        println!("cargo:rustc-link-arg=-Wl,-rpath,{}", lib.display());
    }
}
