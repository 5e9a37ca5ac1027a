#!/usr/bin/env bash
# Makes the files of a release.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: scripts/package.sh [--out FOLDER] [tar] [deb] [wheel] [tar-aarch64] [deb-aarch64]
                          [wheel-aarch64] [windows] [macos] [sbom] [source]
       scripts/package.sh --version

Builds the files of a release from this checkout (default: all but those
for aarch64 and macOS) into target/packages, with SHA256SUMS:

  tar      philidor-VERSION-linux-x86_64.tar.gz    needs cargo-about
  deb      philidor_VERSION-1_amd64.deb            needs cargo-about, cargo-deb 2 or newer
  wheel    philidor-VERSION-py3-none-….whl         needs cargo-about, hatchling, binutils
  …-aarch64  the same for 64-bit ARM               needs besides what
           scripts/setup.sh aarch64 installs, for each; it runs the programs in qemu
  windows  philidor-VERSION-windows-x86_64.zip     needs cargo-about, zip, and Debian's
           rustc-web, cargo-web, rust-web-src and gcc-mingw-w64-x86-64
  macos    philidor-VERSION-macos-{aarch64,x86_64}.tar.gz, with the engine and its
           network only                            needs cargo-about, cargo-zigbuild, and
           Rust's libraries for both: rustup target add {aarch64,x86_64}-apple-darwin
  sbom     philidor-VERSION.cdx.json and philidor-studio-VERSION.cdx.json,
           CycloneDX                               needs cargo-cyclonedx
  source   philidor-VERSION-source.tar.gz          the source of the others, as the GPL wants it

VERSION is that of Cargo.toml with the commit's time and name, as in
0.2.0+20261126193807.gd36009e7a2c1: a newer build replaces an older one. --version prints it.

The maintainer of deb and wheel is DEBFULLNAME with the address DEBEMAIL. Without DEBEMAIL the
wheel has no address, and the deb, which must have one, the address of the commit's author.

All of it takes about 32 minutes of processor time (18 for Linux, 14 for Windows) and 3.2 GB in
target with the bare systems of the trials. The licences of the crates are collected once.

With cargo-zigbuild and ziglang (pip) the Linux programs run on glibc 2.28 and newer,
without on the glibc of this machine and newer; it says so. Missing programs are all named
at once, with how to get them. ONNX Runtime comes by pip, pinned in
scripts/deps-engine.txt and scripts/deps-windows.txt.

The same commit gives the same bytes: times are the commit's, paths are left out.
Set CARGO_TARGET_DIR to build elsewhere. Try the files by scripts/try_packages.sh.

Example: scripts/package.sh tar deb
TEXT
}

ROOT=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
OUT=$ROOT/target/packages
WORK=$ROOT/target/package
GLIBC=2.28
MACOS=12.0
AUTHORS="The Philidor authors"
BUILD=${CARGO_TARGET_DIR:-$ROOT/target/dist-build}
# The targets that are built.
BUILT=

say() { printf 'package: %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 1
}

# need PROGRAM HOW: notes in MISSING how to get a missing program.
need() { command -v "$1" >/dev/null || MISSING+=("$1: $2"); }

# machine PART: for which processor it is. OBJDUMP and RUN read and run its programs.
machine() {
    if [[ $1 == *-aarch64 ]]; then
        ARCH=aarch64 DEB_ARCH=arm64 OBJDUMP=aarch64-linux-gnu-objdump RUN=(qemu-aarch64 -L /usr/aarch64-linux-gnu)
    else
        ARCH=x86_64 DEB_ARCH=amd64 OBJDUMP=objdump RUN=()
    fi
    TARGET=$ARCH-unknown-linux-gnu
    BIN=$BUILD/$TARGET/dist
}

# needs PART: notes the programs that the part lacks.
needs() {
    local target
    need python3 "apt install python3"
    [[ $1 == sbom || $1 == source ]] || need cargo-about "cargo install --locked cargo-about --features cli"
    case $1 in
    deb*) need cargo-deb "cargo install --locked cargo-deb" ;;
    wheel*)
        need hatchling "pip install hatchling"
        need objdump "apt install binutils"
        ;;
    sbom) need cargo-cyclonedx "cargo install --locked cargo-cyclonedx" ;;
    windows)
        need x86_64-w64-mingw32-gcc-posix "apt install gcc-mingw-w64-x86-64"
        need zip "apt install zip"
        need /usr/bin/cargo "apt install rustc-web cargo-web"
        compgen -G '/usr/src/rustc-*/library' >/dev/null || MISSING+=("the library's sources: apt install rust-web-src")
        ;;
    macos)
        need cargo-zigbuild "pip install cargo-zigbuild ziglang"
        for target in {aarch64,x86_64}-apple-darwin; do
            [[ -d $(rustc --print target-libdir --target "$target" 2>/dev/null) ]] ||
                MISSING+=("Rust's library for $target: rustup target add $target")
        done
        ;;
    esac
    [[ $1 != *-aarch64 ]] || needs_aarch64
}

needs_aarch64() {
    local how="scripts/setup.sh aarch64 installs it"
    need aarch64-linux-gnu-gcc "$how"
    need qemu-aarch64 "$how"
    [[ -d $(rustc --print target-libdir --target aarch64-unknown-linux-gnu 2>/dev/null) ]] ||
        MISSING+=("Rust's library for aarch64: $how")
}

# check_tools PART...: dies if a program for any of them is missing, before anything is built.
check_tools() {
    local part MISSING=()
    for part in "$@"; do needs "$part"; done
    ((${#MISSING[@]})) || return 0
    say "missing:"
    printf '%s\n' "${MISSING[@]}" | sort -u | sed 's/^/  /' >&2
    exit 1
}

# --- What all share -----------------------------------------------------------

settings() {
    VERSION=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$ROOT/Cargo.toml")
    PHILIDOR_COMMIT=$(git -C "$ROOT" describe --always --dirty --abbrev=12 '--exclude=*')
    SOURCE_DATE_EPOCH=$(git -C "$ROOT" log -1 --format=%ct)
    # Numbers first: dpkg and pip then order builds by their time.
    VERSION+=+$(date --utc --date "@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M%S).g${PHILIDOR_COMMIT/-dirty/.dirty}
    export PHILIDOR_COMMIT SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
    # Cargo has a folder of its own; no path may get into the programs.
    export CARGO_ENCODED_RUSTFLAGS
    CARGO_ENCODED_RUSTFLAGS=$(printf -- '--remap-path-prefix=%s=.\x1f--remap-path-prefix=%s=cargo\x1f--remap-path-prefix=%s=target' \
        "$ROOT" "${CARGO_HOME:-$HOME/.cargo}" "$BUILD")
}

# What is noteworthy about what will be built.
notes() {
    [[ $PHILIDOR_COMMIT != *-dirty ]] || say "there are changes that are not committed: the version says so"
    # RFC 2606 reserves these names.
    [[ ! $(maintainer) =~ \.(example|invalid|localhost|test)\>$ ]] ||
        say "no mail reaches $(maintainer): DEBEMAIL names another maintainer"
}

# maintainer: name and address.
maintainer() {
    printf '%s <%s>' "${DEBFULLNAME:-$AUTHORS}" "${DEBEMAIL:-$(git -C "$ROOT" log -1 --format=%ae)}"
}

# Programs for Linux, in $BIN.
build_linux() {
    [[ " $BUILT " != *" $TARGET "* ]] || return 0
    local arguments=(--locked --profile dist --target-dir "$BUILD" -p engine -p studio)
    if command -v cargo-zigbuild >/dev/null; then
        say "building for glibc $GLIBC and newer"
        (cd "$ROOT" && cargo zigbuild "${arguments[@]}" --target "$TARGET.$GLIBC") >&2
    else
        say "no cargo-zigbuild: the programs will need this machine's glibc or a newer one"
        (
            export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
            cd "$ROOT" && cargo build "${arguments[@]}" --target "$TARGET"
        ) >&2
    fi
    BUILT+=" $TARGET"
}

# wheel_of PINS PLATFORM...: downloads the wheel that the file PINS names, and prints its path.
wheel_of() {
    local pins=$1 folder=$WORK/wheels/$2 platforms=() platform
    shift
    for platform in "$@"; do platforms+=(--platform "$platform"); done
    if ! compgen -G "$folder/onnxruntime-*.whl" >/dev/null; then
        say "fetching ONNX Runtime for $1"
        mkdir -p "$folder"
        python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: \
            --python-version 3.11 --implementation cp --abi cp311 "${platforms[@]}" --dest "$folder" \
            --requirement "$pins" >&2 || die "pip could not fetch what $(basename "$pins") pins"
    fi
    compgen -G "$folder/onnxruntime-*.whl"
}

# unpack WHEEL FOLDER PREFIX...: unpacks the wheel's members with these prefixes, without their folders.
unpack() {
    python3 - "$@" <<'PYTHON'
import pathlib, sys, zipfile
wheel, folder, *prefixes = sys.argv[1:]
pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
with zipfile.ZipFile(wheel) as archive:
    for name in archive.namelist():
        if name.startswith(tuple(prefixes)):
            (pathlib.Path(folder) / name.rsplit("/", 1)[1]).write_bytes(archive.read(name))
PYTHON
}

linux_runtime() { wheel_of "$ROOT/scripts/deps-engine.txt" "manylinux_2_28_$ARCH" "manylinux_2_27_$ARCH"; }

# licences FOLDER TARGET WHEEL CRATE: collects the licences of the crate's program and of all parts inside.
licences() {
    local folder=$1 target=$2 wheel=$3 crate=$4 library
    mkdir -p "$folder"
    cp "$ROOT/LICENSE" "$folder/philidor.txt"
    cp "$ROOT/packaging/attributions.txt" "$folder/"
    crates "$crate" "$target" >"$folder/crates.txt"
    if [[ $crate == studio ]]; then
        for library in "$ROOT"/studio/page/vendor/*.LICENSE.txt; do
            cp "$library" "$folder/studio-$(basename "$library" .LICENSE.txt).txt"
        done
    fi
    unpack "$wheel" "$WORK/runtime-licences" onnxruntime/LICENSE onnxruntime/ThirdPartyNotices.txt
    cp "$WORK/runtime-licences/LICENSE" "$folder/onnxruntime.txt"
    cp "$WORK/runtime-licences/ThirdPartyNotices.txt" "$folder/onnxruntime-third-parties.txt"
}

# crates CRATE TARGET: the licences of all crates in that crate's program. They are collected once, as that takes minutes.
crates() {
    local inputs=("$ROOT"/{Cargo.lock,Cargo.toml,"$1/Cargo.toml",packaging/about.toml,packaging/licences.hbs})
    local file
    file=$WORK/crates/$1-$2-$(cat "${inputs[@]}" | sha256sum | cut -c 1-16).txt
    if [[ ! -e $file ]]; then
        say "collecting the licences of the crates in $1"
        mkdir -p "$WORK/crates"
        # cargo-about reads the sources of all crates, even of those that this target does not use.
        (cd "$ROOT" && cargo fetch --quiet --locked) >&2
        cargo about --color never generate --offline --locked --fail --config "$ROOT/packaging/about.toml" --target "$2" \
            --manifest-path "$ROOT/$1/Cargo.toml" --output-file "$file.new" "$ROOT/packaging/licences.hbs" >&2
        mv "$file.new" "$file"
    fi
    cat "$file"
}

# nets FOLDER: the network files with their cards.
nets() {
    mkdir -p "$1"
    cp "$ROOT"/nets/*.onnx "$ROOT"/nets/{philidor,resnet,neuralmateplay,mlp,linear,trm}.md "$1/"
}

# documents FOLDER: the pages that the programs' help names, and those about using them.
documents() {
    mkdir -p "$1"
    cp "$ROOT"/docs/{uci,analysis,review,studio,formats}.md "$ROOT/docs/analysis.schema.json" "$1/"
}

# readme KIND: prints the README for a kind of package (tar, deb, zip or mac) and the processor.
readme() {
    sed -E "s/@VERSION@/$VERSION/; s/@COMMIT@/$PHILIDOR_COMMIT/; s/^@([a-z,]*,)?$1(,[a-z,]*)?( |\$)//; /^@(tar|deb|zip|mac)/d
        s/^@$ARCH //; /^@(x86_64|aarch64)/d" \
        "$ROOT/packaging/README.txt"
}

# manuals FOLDER: man1/ and completions/ of both programs.
manuals() {
    rm -rf "$1"
    "${RUN[@]}" "$BIN/philidor" manual "$1"
    "${RUN[@]}" "$BIN/philidor-studio" --manual "$1"
}

# plain FOLDER: sets plain file modes and the commit's time.
plain() {
    find "$1" -type d -exec chmod 755 {} +
    find "$1" -type f -exec chmod 644 {} +
    find "$1" -path '*/bin/*' -type f -exec chmod 755 {} +
    find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

# finished FILE: reports a file and its size.
finished() { say "$(basename "$1"): $(($(stat -c %s "$1") / 1000)) kB"; }

# --- The files ----------------------------------------------------------------

make_tar() {
    build_linux
    local name=philidor-$VERSION-linux-$ARCH wheel
    wheel=$(linux_runtime)
    local stage=$WORK/tar/$name
    rm -rf "$WORK/tar"
    mkdir -p "$stage/bin" "$stage/share/games/plugins/uci"
    cp "$BIN/philidor" "$BIN/philidor-studio" "$stage/bin/"
    unpack "$wheel" "$stage/lib" onnxruntime/capi/libonnxruntime.so.
    nets "$stage/nets"
    licences "$stage/licences" "$TARGET" "$wheel" studio
    readme tar >"$stage/README.txt"
    documents "$stage/docs"
    manuals "$WORK/manuals"
    mkdir -p "$stage/share/man" "$stage/share/bash-completion/completions" "$stage/share/zsh/site-functions" \
        "$stage/share/fish/vendor_completions.d"
    cp -r "$WORK/manuals/man1" "$stage/share/man/"
    install_completions "$stage/share/bash-completion/completions" "$stage/share/zsh/site-functions" \
        "$stage/share/fish/vendor_completions.d"
    cp "$ROOT/packaging/philidor.eng" "$stage/share/games/plugins/uci/"
    plain "$stage"
    archive "$WORK/tar" "$name" "$OUT/$name.tar.gz"
}

# install_completions BASH ZSH FISH: into these folders.
install_completions() {
    local from=$WORK/manuals/completions program
    for program in philidor philidor-studio; do
        cp "$from/$program.bash" "$1/$program"
        cp "$from/_$program" "$2/"
        cp "$from/$program.fish" "$3/"
    done
}

make_deb() {
    build_linux
    local wheel stage=$WORK/deb
    wheel=$(linux_runtime)
    rm -rf "$stage"
    mkdir -p "$stage"/{bin,lib,bash,zsh,fish,plugins,doc,overrides}
    cp "$BIN/philidor" "$BIN/philidor-studio" "$stage/bin/"
    unpack "$wheel" "$stage/lib" onnxruntime/capi/libonnxruntime.so.
    nets "$stage/nets"
    licences "$stage/licences" "$TARGET" "$wheel" studio
    readme deb >"$stage/doc/README.txt"
    documents "$stage/doc"
    {
        printf 'Philidor is free software under the GPL, version 3 or later; on Debian systems its text is in\n'
        printf '/usr/share/common-licenses/GPL-3. What else is inside:\n\n'
        cat "$stage/licences"/{attributions,crates,studio-*,onnxruntime,onnxruntime-third-parties}.txt |
            python3 "$ROOT/packaging/common_licences.py"
    } >"$stage/copyright"
    {
        printf 'philidor (%s-1) unstable; urgency=medium\n\n  * Build of commit %s.\n\n' "$VERSION" "$PHILIDOR_COMMIT"
        printf ' -- %s  %s\n' "$(maintainer)" "$(date --utc --date "@$SOURCE_DATE_EPOCH" -R)"
    } >"$stage/changelog"
    manuals "$WORK/manuals"
    cp -r "$WORK/manuals/man1" "$stage/man1"
    install_completions "$stage/bash" "$stage/zsh" "$stage/fish"
    cp "$ROOT/packaging/philidor.eng" "$stage/plugins/"
    cp "$ROOT/packaging/lintian-overrides" "$stage/overrides/philidor"
    rm -rf "$stage/licences"
    plain "$stage"
    # The folder of the programs is given; nothing is built or stripped again.
    local file=$OUT/philidor_$VERSION-1_$DEB_ARCH.deb
    (cd "$ROOT" && cargo deb --quiet --locked --no-build --no-strip --compress-type gz --compress-system -p engine \
        --target "$TARGET" --deb-version "$VERSION-1" --maintainer "$(maintainer)" --output "$file.new") >&2
    mv "$file.new" "$file"
    finished "$file"
}

make_wheel() {
    build_linux
    local source=$WORK/wheel
    rm -rf "$source"
    mkdir -p "$source"
    licences "$source/licences" "$TARGET" "$(linux_runtime)" engine
    # The wheel does not hold it.
    rm "$source"/licences/onnxruntime*
    documents "$source/docs"
    cp "$BIN/philidor" "$ROOT/packaging/wheel.md" "$ROOT/packaging/hatch_build.py" "$source/"
    pyproject >"$source/pyproject.toml"
    (cd "$source" && PLATFORM=$(platform philidor) hatchling build --target wheel --directory dist) >/dev/null
    local file
    file=$(compgen -G "$source/dist/*.whl") || die "hatchling made no wheel"
    mv "$file" "$OUT/"
    finished "$OUT/$(basename "$file")"
}

# platform PROGRAM: the wheel's platform, with the newest glibc that the program asks for.
platform() {
    local newest
    newest=$("$OBJDUMP" -T "$1" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
    newest=${newest#GLIBC_}
    printf 'manylinux_%s_%s' "${newest//./_}" "$ARCH"
}

# pyproject: packaging/pyproject.toml with the version and the author.
pyproject() {
    sed "s|^dynamic = .*|version = \"$VERSION\"|
        s|^authors = .*|authors = [{ name = \"${DEBFULLNAME:-$AUTHORS}\"${DEBEMAIL:+, email = \"$DEBEMAIL\"} }]|" \
        "$ROOT/packaging/pyproject.toml"
}

make_source() {
    local name=philidor-$VERSION
    git -C "$ROOT" archive --format=tar --prefix="$name/" HEAD | gzip -9n >"$OUT/$name-source.tar.gz.new"
    mv "$OUT/$name-source.tar.gz.new" "$OUT/$name-source.tar.gz"
    finished "$OUT/$name-source.tar.gz"
}

make_windows() {
    local triple=x86_64-pc-windows-gnu name=philidor-$VERSION-windows-x86_64 wheel
    # Only Debian's compiler, with the sources of its library, has this target here.
    say "building for Windows"
    (
        cd "$ROOT"
        PATH=/usr/bin:$PATH RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 \
            CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc-posix \
            /usr/bin/cargo build --locked --profile dist --target-dir "$BUILD-windows" -p engine \
            -Zbuild-std=std,panic_unwind,panic_abort --target "$triple"
    ) >&2
    wheel=$(wheel_of "$ROOT/scripts/deps-windows.txt" win_amd64)
    local stage=$WORK/windows/$name
    rm -rf "$WORK/windows"
    mkdir -p "$stage"
    cp "$BUILD-windows/$triple/dist/philidor.exe" "$stage/"
    unpack "$wheel" "$stage" onnxruntime/capi/onnxruntime.dll
    nets "$stage/nets"
    licences "$stage/licences" "$triple" "$wheel" engine
    readme zip | sed 's/$/\r/' >"$stage/README.txt"
    documents "$stage/docs"
    plain "$stage"
    rm -f "$OUT/$name.zip"
    (cd "$WORK/windows" && find "$name" | sort | zip --quiet -X -9 --names-stdin "$OUT/$name.zip")
    finished "$OUT/$name.zip"
}

# zig brings the interfaces of macOS but for two frameworks, which packaging/macos has. Its linker signs ad hoc what is
# for Apple silicon, which runs nothing unsigned.
make_macos() {
    local arch triple name stage
    for arch in aarch64 x86_64; do
        triple=$arch-apple-darwin name=philidor-$VERSION-macos-$arch
        say "building for macOS on $arch"
        (
            CARGO_ENCODED_RUSTFLAGS+=$'\x1f'-Clink-arg=-F$ROOT/packaging/macos
            export MACOSX_DEPLOYMENT_TARGET=$MACOS
            cd "$ROOT" && cargo zigbuild --locked --profile dist --target-dir "$BUILD" -p engine --target "$triple"
        ) >&2
        rm -rf "$WORK/macos"
        stage=$WORK/macos/$name
        mkdir -p "$stage/bin" "$stage/licences"
        cp "$BUILD/$triple/dist/philidor" "$stage/bin/"
        python3 "$ROOT/packaging/check_macho.py" "$stage/bin/philidor" "$arch" "$MACOS" >&2
        cp "$ROOT/LICENSE" "$stage/licences/philidor.txt"
        cp "$ROOT/packaging/attributions.txt" "$stage/licences/"
        crates engine "$triple" >"$stage/licences/crates.txt"
        ARCH=$arch readme mac >"$stage/README.txt"
        documents "$stage/docs"
        plain "$stage"
        archive "$WORK/macos" "$name" "$OUT/$name.tar.gz"
    done
}

# archive FOLDER NAME FILE: packs the folder's member NAME with sorted members, owned by root.
archive() {
    tar --create --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --directory "$1" "$2" |
        gzip -9n >"$3.new"
    mv "$3.new" "$3"
    finished "$3"
}

# The components are the crates that cargo knows, ONNX Runtime in the packages, and the libraries in the studio's page.
make_sbom() {
    # cargo-cyclonedx writes beside each manifest.
    (cd "$ROOT" && cargo cyclonedx --quiet --format json --target "$TARGET" --override-filename philidor-sbom \
        --manifest-path engine/Cargo.toml --spec-version 1.5) >&2
    local runtime page
    runtime=$(sed -n 's/^onnxruntime==\([0-9.]*\).*/pypi onnxruntime \1 MIT/p' "$ROOT/scripts/deps-engine.txt")
    page=$(sed -n 's/^| `[^`]*` | `\([^`]*\)` | \([0-9.]*\)[^|]*| \([^ ]*\) .*/npm \1 \2 \3/p' \
        "$ROOT/studio/page/vendor/VENDORED.md" | sort -u)
    bill engine "philidor-$VERSION.cdx.json" <<<"$runtime"
    bill studio "philidor-studio-$VERSION.cdx.json" <<<"$page"
    rm -f "$ROOT"/{engine,trainer,studio,web}/philidor-sbom.json
}

# bill CRATE FILE: writes the crate's bill of materials, with the components on stdin ("REGISTRY NAME VERSION LICENCE")
# and without this machine's paths.
bill() {
    python3 - "$ROOT" "$ROOT/$1/philidor-sbom.json" "$OUT/$2" 3<&0 <<'PYTHON'
import json, os, pathlib, sys
root, source, target = sys.argv[1:]
bill = json.loads(pathlib.Path(source).read_text().replace(f"path+file://{root}/", "path+file:///"))
whole = bill["metadata"]["component"]["bom-ref"]
for line in os.fdopen(3).read().splitlines():
    registry, name, version, licence = line.split()
    reference = f"pkg:{registry}/{name.replace('@', '%40')}@{version}"
    bill["components"].append({"type": "library", "bom-ref": reference, "name": name, "version": version,
                               "licenses": [{"expression": licence}], "purl": reference})
    next(entry for entry in bill["dependencies"] if entry["ref"] == whole)["dependsOn"].append(reference)
    bill["dependencies"].append({"ref": reference})
pathlib.Path(target).write_text(json.dumps(bill, indent=1) + "\n")
PYTHON
    finished "$OUT/$2"
}

main() {
    local parts=() part
    while (($#)); do
        case $1 in
        -h | --help) usage && exit ;;
        --version)
            settings
            printf '%s\n' "$VERSION"
            exit
            ;;
        --out)
            (($# > 1)) || die "--out needs a folder"
            OUT=$(mkdir -p "$2" && cd "$2" && pwd)
            shift
            ;;
        tar | deb | wheel | tar-aarch64 | deb-aarch64 | wheel-aarch64 | windows | macos | sbom | source) parts+=("$1") ;;
        *) usage >&2 && exit 2 ;;
        esac
        shift
    done
    ((${#parts[@]})) || parts=(tar deb wheel windows sbom source)
    check_tools "${parts[@]}"
    mkdir -p "$OUT" "$WORK"
    settings
    notes
    for part in "${parts[@]}"; do
        machine "$part"
        "make_${part%-aarch64}"
    done
    (cd "$OUT" && find . -maxdepth 1 -type f ! -name SHA256SUMS ! -name '*.new' -printf '%f\n' | sort | xargs sha256sum >SHA256SUMS.new)
    mv "$OUT/SHA256SUMS.new" "$OUT/SHA256SUMS"
    say "done: $OUT"
}

machine here
# Its tests source it.
[[ ${BASH_SOURCE[0]} != "$0" ]] || main "$@"
