#!/usr/bin/env bash
# Installs the programs that building, testing and matches need. Safe to repeat and to run twice at once.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: scripts/setup.sh [engine|all|tools|fleet|cuda|aarch64|web|book|hooks]

  engine   what building and running the engine needs: checks Rust, installs a
           C compiler if there is none, puts ONNX Runtime into .deps/lib
  all      (default) the engine's part, and what the trainer and the tests need:
           HDF5, a C++ compiler, Chromium, Node.js, npm, rustfmt and clippy, libtorch
           in .deps/libtorch, python-chess in .deps/python, and what drives the
           browser in studio/node_modules
  tools    what matches need (scripts/match.py, scripts/strength.py): the opponents
           Stockfish, Glaurung, Toga II and GNU Chess; python-chess in .deps/python;
           says how to get fastchess, if it is not installed
  fleet    what scripts/fleet.py needs to work on many machines: Ray in .deps/fleet,
           a virtual environment of Python (285 MB)
  cuda     what `Backend onnx-cuda` needs beside the driver of an NVIDIA GPU: ONNX
           Runtime for it, with CUDA 13, in .deps/cuda (2.3 GB, x86-64 only); the engine then
           uses this ONNX Runtime on the CPU too
  aarch64  what building for 64-bit ARM elsewhere needs (scripts/package.sh): a C compiler and
           Rust's library for it, and qemu, which runs the programs
  web      what building for browsers needs (scripts/web.sh): Rust's library for
           WebAssembly and its sources, and wasm-bindgen in .deps/web, which takes
           some minutes
  book     what the documents as a site need (scripts/book.py): mdBook in .deps/book, which
           takes some minutes
  hooks    lets Git check the messages of your commits (scripts/commit-msg)

Debian packages come by apt (with sudo when not root), the two runtimes from
their Python wheels and python-chess by pip, pinned in scripts/deps-*.txt, what
drives the browser by npm, pinned in studio/package-lock.json. What is installed
already is left alone. All messages go to stderr.

Example: scripts/setup.sh all && cargo build --release
TEXT
}

RUST_NEEDED=1.95
MDBOOK=0.5.4
ROOT=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
DEPS=$ROOT/.deps
SCRATCH=

say() { printf 'setup: %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 1
}

# Some programs end on Ctrl-C as on an error, which would be retried.
trap 'exit 130' INT

# retried COMMAND...: tries three times, as downloads break off.
retried() {
    local again
    for again in 1 2; do
        "$@" >&2 && return
        say "that failed; trying again ($again of 2)"
        sleep 5
    done
    "$@" >&2
}

# --- Rust ---------------------------------------------------------------------

# A GUI started from the desktop seldom has cargo's folder in its PATH.
find_cargo() {
    local bin=${CARGO_HOME:-${HOME:-/nonexistent}/.cargo}/bin
    command -v cargo >/dev/null || [[ ! -x $bin/cargo ]] || PATH=$bin:$PATH
}

check_rust() {
    find_cargo
    if ! command -v cargo >/dev/null || ! command -v rustc >/dev/null; then
        say "Rust is missing: Philidor needs rustc and cargo, version $RUST_NEEDED or newer."
        say "Install it as https://rustup.rs describes (Debian's own package is too old),"
        die "open a new shell so that cargo is in the PATH, and run this again."
    fi
    local version
    version=$(cd "$ROOT" && rustc --version | cut -d' ' -f2)
    if ! printf '%s\n' "$RUST_NEEDED" "${version%%-*}" | sort -CV; then
        die "rustc is $version, Philidor needs $RUST_NEEDED or newer: run 'rustup update stable'."
    fi
    say "rust $version: good"
}

# rustfmt and clippy, for the tests only.
check_components() {
    local missing=()
    (cd "$ROOT" && cargo fmt --version) >/dev/null 2>&1 || missing+=(rustfmt)
    (cd "$ROOT" && cargo clippy --version) >/dev/null 2>&1 || missing+=(clippy)
    ((${#missing[@]})) || { say "rustfmt and clippy: already there" && return; }
    command -v rustup >/dev/null || die "${missing[*]} missing: install them with your Rust."
    say "adding ${missing[*]} by rustup"
    (cd "$ROOT" && retried rustup component add "${missing[@]}")
}

# --- Debian packages ----------------------------------------------------------

has_package() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

# install_packages NAME...: by apt, as root or through sudo.
install_packages() {
    command -v apt-get >/dev/null ||
        die "please install the equivalent of the Debian package(s) $*: there is no apt here."
    local as_root=()
    if ((EUID != 0)); then
        command -v sudo >/dev/null || die "please install as root: apt-get install $*"
        # Without a terminal nobody could type a password: fail instead of waiting.
        if [[ -t 2 ]]; then as_root=(sudo); else as_root=(sudo -n); fi
    fi
    say "installing with apt: $*"
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
    "${as_root[@]}" "${apt[@]}" update >&2 || say "apt-get update failed, using the package lists at hand"
    "${as_root[@]}" "${apt[@]}" install -y --no-install-recommends "$@" >&2 ||
        die "apt could not install $*"
}

check_packages() {
    local part=$1 missing=()
    command -v cc >/dev/null || missing+=(gcc libc6-dev)
    if [[ $part == all ]]; then
        command -v c++ >/dev/null || missing+=(g++)
        command -v pkg-config >/dev/null || missing+=(pkg-config)
        [[ -n ${HDF5_DIR:-} ]] || pkg-config --exists hdf5 2>/dev/null ||
            has_package libhdf5-dev || missing+=(libhdf5-dev)
        # For the tests of the review's page and of the studio.
        command -v "${BROWSER:-chromium}" >/dev/null || missing+=(chromium)
        command -v node >/dev/null || missing+=(nodejs)
        command -v npm >/dev/null || missing+=(npm)
    fi
    if ((${#missing[@]})); then install_packages "${missing[@]}"; else say "packages for $part: already there"; fi
}

# The C compiler, libraries for qemu, and Rust's library.
get_aarch64() {
    local missing=()
    command -v aarch64-linux-gnu-gcc >/dev/null || missing+=(gcc-aarch64-linux-gnu)
    has_package libc6-dev-arm64-cross || missing+=(libc6-dev-arm64-cross)
    has_package libstdc++6-arm64-cross || missing+=(libstdc++6-arm64-cross)
    command -v qemu-aarch64 >/dev/null || missing+=(qemu-user)
    if ((${#missing[@]})); then install_packages "${missing[@]}"; else say "packages for aarch64: already there"; fi
    local target=aarch64-unknown-linux-gnu
    [[ ! -d $(cd "$ROOT" && rustc --print target-libdir --target $target) ]] ||
        { say "Rust's library for aarch64: already there" && return; }
    command -v rustup >/dev/null || die "Rust's library for $target is missing: install it with your Rust."
    (cd "$ROOT" && retried rustup target add $target)
}

get_web() {
    local target=wasm32-unknown-unknown version
    if [[ ! -d $(cd "$ROOT" && rustc --print target-libdir --target $target) ]]; then
        command -v rustup >/dev/null || die "Rust's library for $target is missing: install it with your Rust."
        (cd "$ROOT" && retried rustup target add $target)
    fi
    # The module with threads is built with a library that has atomics.
    if [[ ! -d $(cd "$ROOT" && rustc --print sysroot)/lib/rustlib/src/rust/library ]]; then
        command -v rustup >/dev/null || die "the sources of Rust's library (rust-src) are missing: install them with your Rust."
        (cd "$ROOT" && retried rustup component add rust-src)
    fi
    # The program must have the version of the library.
    version=$(sed -n '/^name = "wasm-bindgen"$/{n;s/version = "\(.*\)"/\1/p}' "$ROOT/Cargo.lock")
    [[ $("$DEPS/web/bin/wasm-bindgen" --version 2>/dev/null) == *" $version" ]] ||
        retried cargo install --root "$DEPS/web" --version "$version" wasm-bindgen-cli
}

get_book() {
    [[ $("$DEPS/book/bin/mdbook" --version 2>/dev/null) == *" v$MDBOOK" ]] ||
        retried cargo install --locked --root "$DEPS/book" --version "$MDBOOK" --no-default-features --features search mdbook
}

# --- Wheels -------------------------------------------------------------------

# Prints a Python that has pip, installing pip if no Python has.
python_with_pip() {
    local python
    for python in python3 /usr/bin/python3; do
        "$python" -m pip --version >/dev/null 2>&1 && echo "$python" && return
    done
    install_packages python3-pip >&2
    echo /usr/bin/python3
}

# fetch_wheels PINS: downloads the wheels that the file pins into $SCRATCH and checks their sums. Python and platform
# are fixed, as the sums are; the libraries inside run with any. No cache: pip would keep half a gigabyte.
fetch_wheels() {
    local pins=$1 python platforms=() tag
    for tag in _2_28 _2_27 _2_25 _2_17 2014; do
        platforms+=(--platform "manylinux${tag}_$(uname -m)")
    done
    python=$(python_with_pip)
    TMPDIR=$SCRATCH retried "$python" -m pip download --quiet --disable-pip-version-check --no-cache-dir --no-deps \
        --require-hashes --only-binary=:all: --python-version 3.11 --implementation cp --abi cp311 --abi none \
        "${platforms[@]}" --dest "$SCRATCH" --requirement "$pins" ||
        die "pip could not fetch what $(basename "$pins") pins: is there a network, and a package index for pip?"
}

# unpack WHEEL FOLDER PREFIX...: unpacks the wheel's members with these prefixes.
unpack() {
    "$(command -v python3 || echo /usr/bin/python3)" - "$@" <<'PYTHON'
import sys, zipfile
wheel, folder, *prefixes = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    names = [n for n in archive.namelist() if n.startswith(tuple(prefixes))]
    archive.extractall(folder, names)
PYTHON
}

# Everything is made in a scratch folder and renamed into place, so that an interrupted run leaves nothing half done.
scratch() {
    rm -rf "$DEPS"/setup.?????? # of a run that was killed; the lock is ours
    SCRATCH=$(mktemp -d "$DEPS/setup.XXXXXX")
    trap 'rm -rf "$SCRATCH"' EXIT
}

have_onnxruntime() {
    cmp -s "$ROOT/scripts/deps-engine.txt" "$DEPS/lib/onnxruntime.pins" && [[ -s $DEPS/lib/libonnxruntime.so ]]
}

get_onnxruntime() {
    say "fetching ONNX Runtime (about 25 MB)"
    scratch
    fetch_wheels "$ROOT/scripts/deps-engine.txt"
    unpack "$SCRATCH"/onnxruntime-*.whl "$SCRATCH" onnxruntime/capi/libonnxruntime.so.
    local library name
    library=$(echo "$SCRATCH"/onnxruntime/capi/libonnxruntime.so.*)
    name=$(basename "$library")
    mkdir -p "$DEPS/lib"
    chmod 755 "$library"
    ln -s "$name" "$SCRATCH/link"
    rm -f "$DEPS/lib/onnxruntime.pins"
    mv -f "$library" "$DEPS/lib/$name"
    mv -fT "$SCRATCH/link" "$DEPS/lib/libonnxruntime.so"
    cp "$ROOT/scripts/deps-engine.txt" "$SCRATCH/pins"
    mv -f "$SCRATCH/pins" "$DEPS/lib/onnxruntime.pins"
    rm -rf "$SCRATCH"
    say "ONNX Runtime is in .deps/lib"
}

have_cuda() {
    cmp -s "$ROOT/scripts/deps-cuda.txt" "$DEPS/cuda/pins" && [[ -s $DEPS/cuda/lib/libonnxruntime.so ]]
}

get_cuda() {
    [[ $(uname -m) == x86_64 ]] || die "there is no wheel of ONNX Runtime for GPUs on $(uname -m)."
    say "fetching ONNX Runtime for GPUs and CUDA (about 1.5 GB, 2.3 GB unpacked)"
    scratch
    fetch_wheels "$ROOT/scripts/deps-cuda.txt"
    local wheel view=$SCRATCH/cuda
    mkdir -p "$view/lib"
    for wheel in "$SCRATCH"/*.whl; do
        unpack "$wheel" "$SCRATCH/x" onnxruntime/capi/libonnxruntime nvidia/
        find "$SCRATCH/x" -name '*.so*' ! -name '*tensorrt*' -exec mv -t "$view/lib" {} +
        rm -rf "$SCRATCH/x" "$wheel"
    done
    chmod 755 "$view/lib"/*
    ln -s "$(basename "$view"/lib/libonnxruntime.so.*)" "$view/lib/libonnxruntime.so"
    cp "$ROOT/scripts/deps-cuda.txt" "$view/pins"
    [[ ! -e $DEPS/cuda ]] || mv "$DEPS/cuda" "$SCRATCH/old"
    mv "$view" "$DEPS/cuda"
    rm -rf "$SCRATCH"
    say "ONNX Runtime for GPUs is in .deps/cuda"
}

have_libtorch() {
    cmp -s "$ROOT/scripts/deps-trainer.txt" "$DEPS/libtorch/pins" && [[ -s $DEPS/libtorch/lib/libtorch.so ]]
}

get_libtorch() {
    [[ $(uname -m) == x86_64 ]] ||
        die "the trainer is set up on x86-64 only; here, put a libtorch 2.11 into .deps/libtorch yourself."
    say "fetching libtorch (about 550 MB, of which 450 MB stay)"
    scratch
    fetch_wheels "$ROOT/scripts/deps-trainer.txt"
    local torch=$SCRATCH/x/torch cuda=$SCRATCH/x/nvidia/cu13/lib view=$SCRATCH/libtorch
    unpack "$SCRATCH"/torch-*.whl "$SCRATCH/x" torch/include/ \
        torch/lib/libtorch_cpu.so torch/lib/libc10.so torch/lib/libgomp.so.1
    unpack "$SCRATCH"/nvidia_cuda_runtime-*.whl "$SCRATCH/x" nvidia/cu13/lib/libcudart.so.13
    unpack "$SCRATCH"/nvidia_cuda_cupti-*.whl "$SCRATCH/x" nvidia/cu13/lib/libcupti.so.13
    mkdir -p "$view/lib"
    mv "$torch/include" "$view/include"
    mv "$torch/lib"/*.so* "$cuda"/*.so* "$view/lib/"
    chmod 755 "$view/lib"/*.so*
    ln -s libtorch_cpu.so "$view/lib/libtorch.so"
    echo 2.11.0 >"$view/build-version"
    cp "$ROOT/scripts/deps-trainer.txt" "$view/pins"
    [[ ! -e $DEPS/libtorch ]] || mv "$DEPS/libtorch" "$SCRATCH/old"
    mv "$view" "$DEPS/libtorch"
    rm -rf "$SCRATCH"
    say "libtorch is in .deps/libtorch"
}

have_chess() {
    cmp -s "$ROOT/scripts/deps-tests.txt" "$DEPS/python/chess.pins" && [[ -s $DEPS/python/chess/__init__.py ]]
}

# python-chess has no wheel, and pip runs an archive's setup.py even to download it: with the pinned setuptools.
get_chess() {
    say "fetching python-chess (about 6 MB)"
    scratch
    fetch_wheels "$ROOT/scripts/deps-tests-build.txt"
    unpack "$SCRATCH"/setuptools-*.whl "$SCRATCH/build" ''
    local python
    python=$(python_with_pip)
    TMPDIR=$SCRATCH PYTHONPATH=$SCRATCH/build retried "$python" -m pip install --quiet --disable-pip-version-check \
        --no-cache-dir --no-deps --no-build-isolation --no-compile --root-user-action ignore \
        --require-hashes --target "$SCRATCH/python" --requirement "$ROOT/scripts/deps-tests.txt" ||
        die "pip could not fetch python-chess: is there a network, and a package index for pip?"
    cp "$ROOT/scripts/deps-tests.txt" "$SCRATCH/python/chess.pins"
    [[ ! -e $DEPS/python ]] || mv "$DEPS/python" "$SCRATCH/old"
    mv "$SCRATCH/python" "$DEPS/python"
    rm -rf "$SCRATCH"
    say "python-chess is in .deps/python"
}

have_browser_driver() {
    cmp -s "$ROOT/studio/package-lock.json" "$ROOT/studio/node_modules/lock.pins"
}

# npm empties the folder first, so a copy of the lock file marks a complete installation.
get_browser_driver() {
    say "fetching what the browser tests need by npm (about 40 MB)"
    (cd "$ROOT/studio" && retried npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) ||
        die "npm could not fetch what studio/package-lock.json pins: is there a network, and a registry for npm?"
    cp "$ROOT/studio/package-lock.json" "$ROOT/studio/node_modules/lock.pins"
    say "what the browser tests need is in studio/node_modules"
}

have_ray() { cmp -s "$ROOT/scripts/deps-fleet.txt" "$DEPS/fleet/ray.pins" && [[ -x $DEPS/fleet/bin/ray ]]; }

# A virtual environment cannot be renamed, so a copy of the pins marks a complete installation.
get_ray() {
    say "fetching Ray (about 80 MB, 285 MB unpacked)"
    local python pins=$ROOT/scripts/deps-fleet.txt checked=(--require-hashes)
    python=$(command -v python3 || echo /usr/bin/python3)
    rm -rf "$DEPS/fleet"
    "$python" -m venv "$DEPS/fleet" >&2 || {
        install_packages python3-venv
        "$python" -m venv --clear "$DEPS/fleet" >&2
    }
    scratch
    if [[ $("$python" -c 'import sys; print(*sys.version_info[:2])')-$(uname -m) != '3 11-x86_64' ]]; then
        say "the sums of scripts/deps-fleet.txt are for Python 3.11 on x86-64: not checked here"
        sed -n 's/ *\\$//; /^[a-z]/p' "$pins" >"$SCRATCH/pins"
        pins=$SCRATCH/pins checked=()
    fi
    TMPDIR=$SCRATCH retried "$DEPS/fleet/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir \
        --only-binary=:all: "${checked[@]}" --requirement "$pins" ||
        die "pip could not fetch Ray: is there a network, and a package index for pip?"
    cp "$ROOT/scripts/deps-fleet.txt" "$DEPS/fleet/ray.pins"
    rm -rf "$SCRATCH"
    say "Ray is in .deps/fleet"
}

# --- Hooks --------------------------------------------------------------------

install_hooks() {
    local hook
    hook=$(git -C "$ROOT" rev-parse --path-format=absolute --git-path hooks/commit-msg) || die "this is not a clone of Git"
    if [[ -e $hook && ! $hook -ef $ROOT/scripts/commit-msg ]]; then
        die "there is another hook in $hook: let it call $ROOT/scripts/commit-msg \"\$1\""
    fi
    mkdir -p "$(dirname "$hook")"
    [[ -e $hook ]] || ln -sf "$ROOT/scripts/commit-msg" "$hook"
    say "Git checks the messages of commits: $hook"
}

# once NAME: gets a part unless it is there, in one run at a time.
once() {
    local name=$1
    if "have_$name"; then
        say "$name: already there"
        return
    fi
    mkdir -p "$DEPS"
    exec {lock}>"$DEPS/setup.lock"
    flock -n "$lock" || { say "waiting for another set-up to finish" && flock "$lock"; }
    "have_$name" || "get_$name"
    exec {lock}>&-
}

# --- Matches ------------------------------------------------------------------

# Debian installs games into a folder that is not in every PATH; match.py looks there too.
has_program() { command -v "$1" >/dev/null || [[ -x /usr/games/$1 ]]; }

check_opponents() {
    local missing=() name
    for name in stockfish glaurung toga2 gnuchess; do
        has_program "$name" || missing+=("$name")
    done
    if ((${#missing[@]})); then install_packages "${missing[@]}"; else say "opponents: already there"; fi
}

# scripts/match.py looks for fastchess in FASTCHESS, the PATH and .deps/bin.
check_fastchess() {
    local path
    path=$(command -v "${FASTCHESS:-fastchess}" || true)
    [[ -n $path || ! -x $DEPS/bin/fastchess ]] || path=$DEPS/bin/fastchess
    if [[ -n $path ]]; then
        say "fastchess: $path"
        return
    fi
    cat >&2 <<'TEXT'
setup: fastchess is not installed. Matches are played by python-chess without it, except
setup: for --config, --chess960 and --adjudicate. No Debian package has it; to build it (g++, make):
setup:   git clone https://github.com/Disservin/fastchess && make -C fastchess
setup:   install -D fastchess/fastchess .deps/bin/fastchess
setup: scripts/match.py finds it there, in the PATH, or where FASTCHESS or --fastchess say.
TEXT
}

main() {
    local part=${1:-all}
    case $part in
    engine | all | tools | fleet | cuda | aarch64 | web | book) ;;
    hooks) install_hooks && exit ;;
    -h | --help) usage && exit 0 ;;
    *) usage >&2 && exit 2 ;;
    esac
    case $(uname -sm) in
    'Linux x86_64' | 'Linux aarch64') ;;
    *) die "this script knows Linux on x86-64 and aarch64, not $(uname -sm)." ;;
    esac
    if [[ $part == tools ]]; then
        check_opponents
        once chess
        check_fastchess
        say "$part is ready"
        return
    fi
    if [[ $part == fleet || $part == cuda ]]; then
        if [[ $part == fleet ]]; then once ray; else once cuda; fi
        say "$part is ready"
        return
    fi
    check_rust
    if [[ $part == aarch64 ]]; then
        get_aarch64
        say "$part is ready"
        return
    fi
    if [[ $part == web ]]; then
        get_web
        say "$part is ready"
        return
    fi
    if [[ $part == book ]]; then
        get_book
        say "$part is ready"
        return
    fi
    check_packages "$part"
    once onnxruntime
    if [[ $part == all ]]; then
        check_components
        once libtorch
        once chess
        once browser_driver
    fi
    say "$part is ready"
}

main "$@"
