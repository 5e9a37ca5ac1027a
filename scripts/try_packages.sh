#!/usr/bin/env bash
# Tries the files of scripts/package.sh, each where nothing else is installed.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: scripts/try_packages.sh [--from FOLDER] [tar] [deb] [wheel] [tar-aarch64] [deb-aarch64]
                                [wheel-aarch64] [windows] [cpu] [again]

Installs the files of target/packages and plays with them (default: all but aarch64
and again), of several versions with the newest:

  tar      unpacked in a bare Debian 12                        needs root, debootstrap
  deb      checked by lintian; replaces an older build there,
           played, removed: nothing is left                    needs root, debootstrap, lintian
  wheel    in a fresh virtual environment, where it replaces
           an older build; PYTHONS="python3.10 …" tries others needs pip with an index
  …-aarch64  unpacked, run by qemu: the same nodes; the tar plays
           and loads ONNX Runtime                              needs scripts/setup.sh aarch64
  windows  under Wine                                          needs wine64, mingw-w64
  cpu      bench on emulated old processors: the same nodes    needs qemu-user
  again    packed once more in a clone of the commit that the archive names: the same
           bytes; AGAIN="tar windows" instead of tar, deb, wheel and sbom

The bare systems are made once, in target/package/systems; DEBIAN=bullseye takes another
(glibc 2.31), TC=5+0.5 another clock. Games are played by scripts/try_engine.py. All messages go to stdout.

Example: scripts/try_packages.sh tar deb
TEXT
}

ROOT=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
FROM=$ROOT/target/packages
SYSTEMS=$ROOT/target/package/systems
DEBIAN=${DEBIAN:-bookworm}
TC=${TC:-2+0.1}
TRY=$ROOT/scripts/try_engine.py

say() { printf '\n== %s\n' "$*"; }
die() {
    printf 'try_packages: %s\n' "$*" >&2
    exit 1
}
need() { command -v "$1" >/dev/null || die "$1 is missing: $2"; }

file_of() { compgen -G "$FROM/$1" | sort --version-sort | tail -n 1 | grep . || die "there is no $1 in $FROM: run scripts/package.sh"; }

# system NAME: makes a copy of a bare system in $SYSTEM.
system() {
    ((EUID == 0)) || die "a bare system needs root"
    need debootstrap "apt install debootstrap"
    local bare=$SYSTEMS/$DEBIAN
    if [[ ! -e $bare/etc/debian_version ]]; then
        mkdir -p "$SYSTEMS"
        debootstrap --variant=minbase "$DEBIAN" "$bare.new" >&2
        mv "$bare.new" "$bare"
    fi
    SYSTEM=$SYSTEMS/$DEBIAN-$1
    rm -rf "$SYSTEM"
    cp -a "$bare" "$SYSTEM"
    say "$1 in Debian $(cat "$SYSTEM/etc/debian_version"), $(chroot "$SYSTEM" ldd --version | head -n 1)"
}

# measured COMMAND...: runs a command and prints its time.
measured() {
    local start end
    start=$(date +%s%N)
    "$@"
    end=$(date +%s%N)
    echo "(${*: -1} … took $(((end - start) / 1000000)) ms)"
}

# once PROGRAM: checks that the program contains the network only once, because compilers may copy a constant.
once() {
    python3 - "$1" "$ROOT/nets/philidor.int8.onnx" <<'PYTHON'
import pathlib, sys
program, network = (pathlib.Path(path).read_bytes() for path in sys.argv[1:])
if (found := program.count(network)) != 1:
    sys.exit(f"try_packages: the network is {found} times in {sys.argv[1]}")
PYTHON
}

try_tar() {
    local file name
    file=$(file_of 'philidor-*-linux-x86_64.tar.gz')
    system tar
    name=$(basename "$file" .tar.gz)
    measured tar --extract --gzip --file "$file" --directory "$SYSTEM/opt"
    mount --bind /proc "$SYSTEM/proc"
    trap 'umount "$SYSTEM/proc" 2>/dev/null || true' EXIT
    local inside=(chroot "$SYSTEM" "/opt/$name/bin/philidor")
    "${inside[@]}" --version
    if grep '@' "$SYSTEM/opt/$name/README.txt"; then die "the README is not filled in"; fi
    local licences=$SYSTEM/opt/$name/licences
    grep -q Burnett "$licences/attributions.txt" && grep -qw shakmaty "$licences/crates.txt" && grep -q "GENERAL PUBLIC LICENSE" "$licences/studio-chessground.txt" ||
        die "licences are missing"
    grep -q games/1 "$SYSTEM/opt/$name/docs/formats.md" || die "pages are missing"
    once "$SYSTEM/opt/$name/bin/philidor"
    "${inside[@]}" net list | grep -c 'file:     /opt'
    "${inside[@]}" net check "/opt/$name/nets/resnet.int8.onnx"
    chroot "$SYSTEM" "/opt/$name/bin/philidor-studio" --version
    "$TRY" --games 2 --tc "$TC" --crlf -- "${inside[@]}"
    umount "$SYSTEM/proc"
    trap - EXIT
}

# files SYSTEM: lists all files except those that apt and dpkg themselves change.
files() {
    (cd "$1" && find . -xdev ! -path './var/lib/dpkg/*' ! -path './var/log/*' ! -path './var/cache/*' \
        ! -path './var/lib/apt/*' ! -path './proc/*' ! -path './tmp/*' | sort)
}

# installed: the names of the packages in $SYSTEM.
installed() { chroot "$SYSTEM" dpkg-query --show --showformat '${Package}\n' | sort; }

# older VERSION: the same version as of another commit, a second before.
older() {
    local time=${1#*+}
    printf '%s+%s.g000000000000' "${1%%+*}" "$((${time%%.*} - 1))"
}

# older_deb DEB FILE: the package as an older build.
older_deb() {
    local folder version
    folder=$(mktemp -d)
    version=$(dpkg-deb --field "$1" Version)
    dpkg-deb --raw-extract "$1" "$folder"
    sed -i "s/^Version: .*/Version: $(older "$version")-1/" "$folder/DEBIAN/control"
    dpkg-deb --build -Znone --root-owner-group "$folder" "$2"
    rm -rf "$folder"
}

# older_wheel WHEEL FOLDER: the wheel as an older build, prints its path.
older_wheel() {
    local version
    version=$(basename "$1" | cut -d - -f 2)
    python3 - "$1" "$2" "$version" "$(older "$version")" <<'PYTHON'
import pathlib, sys, zipfile
wheel, folder, version, older = sys.argv[1:]
target = pathlib.Path(folder) / pathlib.Path(wheel).name.replace(version, older)
with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(target, "w") as copy:
    for name in source.namelist():
        content = source.read(name)
        if name.endswith(("/METADATA", "/RECORD")):
            content = content.replace(version.encode(), older.encode())
        copy.writestr(name.replace(version, older), content)
print(target)
PYTHON
}

try_deb() {
    local file version
    file=$(file_of 'philidor_*_amd64.deb')
    need lintian "apt install lintian"
    lintian --fail-on error "$file" || die "lintian finds errors"
    system deb
    cp "$file" "$SYSTEM/tmp/"
    older_deb "$file" "$SYSTEM/tmp/older.deb"
    version=$(dpkg-deb --field "$file" Version)
    files "$SYSTEM" >"$SYSTEMS/before"
    mount --bind /proc "$SYSTEM/proc"
    trap 'umount "$SYSTEM/proc" 2>/dev/null || true' EXIT
    # With what it recommends: that is nothing.
    local apt=(chroot "$SYSTEM" env DEBIAN_FRONTEND=noninteractive apt-get --quiet --yes) before
    before=$(installed)
    measured "${apt[@]}" install /tmp/older.deb
    [[ $(comm -13 <(echo "$before") <(installed)) == philidor ]] || die "it brought other packages"
    measured "${apt[@]}" install "/tmp/$(basename "$file")"
    [[ $(chroot "$SYSTEM" dpkg-query --show --showformat '${Version}' philidor) == "$version" ]] ||
        die "the older build was not replaced"
    chroot "$SYSTEM" philidor --version
    chroot "$SYSTEM" philidor net check /usr/share/philidor/nets/resnet.int8.onnx
    chroot "$SYSTEM" grep -q Burnett /usr/share/doc/philidor/copyright || die "attributions are missing"
    grep -q games/1 "$SYSTEM/usr/share/doc/philidor/formats.md" || die "pages are missing"
    chroot "$SYSTEM" dpkg -L philidor | grep -E 'games/plugins|bash-completion/completions/|zsh/|fish/|man1/philidor\.1'
    "$TRY" --games 2 --tc "$TC" --crlf -- chroot "$SYSTEM" philidor
    "${apt[@]}" remove philidor
    umount "$SYSTEM/proc"
    trap - EXIT
    files "$SYSTEM" >"$SYSTEMS/after"
    if diff "$SYSTEMS/before" "$SYSTEMS/after"; then echo "removed: nothing is left"; else die "apt remove left files"; fi
}

try_wheel() {
    local python
    for python in ${PYTHONS:-python3}; do wheel_in "$python"; done
}

# wheel_in PYTHON: tries the wheel in an environment of it.
wheel_in() {
    local file folder version
    # Outside the repository, whose ONNX Runtime a program inside it would find.
    folder=$(mktemp -d)
    file=$(file_of 'philidor-*_x86_64.whl')
    version=$(basename "$file" | cut -d - -f 2)
    say "wheel in a fresh environment of $("$1" --version)"
    "$1" -m venv "$folder"
    local pip=("$folder/bin/pip" --disable-pip-version-check)
    "${pip[@]}" install --quiet "$(older_wheel "$file" "$SYSTEMS")"
    measured "${pip[@]}" install --quiet "$file"
    "${pip[@]}" list | grep -F "$version" || die "the older build was not replaced"
    "$folder/bin/philidor" --version
    "$folder/bin/philidor" net check || die "the network inside needs something"
    compgen -G "$folder/lib/python3*/site-packages/philidor-*/licenses/licences/crates.txt" || die "licences are missing"
    compgen -G "$folder/lib/python3*/site-packages/philidor-*/licenses/licences/attributions.txt" || die "attributions are missing"
    "$TRY" --games 2 --tc "$TC" --ponder -- "$folder/bin/philidor"
    say "a network of ONNX Runtime"
    local net=$ROOT/nets/resnet.int8.onnx missing
    missing=$("$folder/bin/philidor" net check "$net" 2>&1) && die "it ran without ONNX Runtime"
    grep -F 'pip install philidor[nets]' <<<"$missing" || die "it does not say what is missing: $missing"
    if "$1" -c 'import sys; sys.exit(sys.version_info >= (3, 11))'; then
        "${pip[@]}" install --quiet "$file[nets]" && die "ONNX Runtime for this Python is new: docs/packages.md must say so"
        rm -rf "$folder"
        return
    fi
    "${pip[@]}" install --quiet "$file[nets]"
    "$folder/bin/philidor" net check "$net" | grep -E 'site-packages/onnxruntime.*golden answers' ||
        die "ONNX Runtime of the environment was not used"
    "$TRY" --games 2 --tc "$TC" --option "WeightsFile=$net" -- "$folder/bin/philidor"
    "${pip[@]}" uninstall --quiet --yes philidor
    [[ ! -e $folder/bin/philidor ]] || die "pip uninstall left the program"
    echo "uninstalled"
    rm -rf "$folder"
}

# windows_path PATH: prints the path's name under Wine.
windows_path() { printf 'Z:%s' "$1" | tr / '\\'; }

try_windows() {
    local file folder=$SYSTEMS/windows wine
    file=$(file_of 'philidor-*-windows-x86_64.zip')
    wine=$(command -v wine64 || compgen -G '/usr/lib/wine/wine64') || die "wine64 is missing: apt install wine64"
    need x86_64-w64-mingw32-gcc-posix "apt install gcc-mingw-w64-x86-64"
    say "windows under $("$wine" --version 2>/dev/null)"
    rm -rf "$folder"
    mkdir -p "$folder"
    measured unzip -q "$file" -d "$folder"
    folder=$(compgen -G "$folder/philidor-*")
    # Wine 8 lacks the library that Rust's standard library takes random numbers from.
    cat >"$SYSTEMS/bcryptprimitives.c" <<'C'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) { return SystemFunction036(data, (ULONG)size); }
C
    x86_64-w64-mingw32-gcc-posix -shared -o "$folder/bcryptprimitives.dll" "$SYSTEMS/bcryptprimitives.c" -ladvapi32
    export WINEPREFIX=$SYSTEMS/wine WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
    local engine=("$wine" "$folder/philidor.exe") nets tables missing
    # ONNX Runtime's int8 kernels use AMX tiles, which a program must request from Linux; Wine does not.
    if grep -qw amx_tile /proc/cpuinfo; then
        cat >"$SYSTEMS/tiles.c" <<'C'
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((constructor)) static void ask(void) { syscall(SYS_arch_prctl, 0x1023, 18); }
C
        gcc -shared -fPIC -o "$SYSTEMS/tiles.so" "$SYSTEMS/tiles.c"
        engine=(env "LD_PRELOAD=$SYSTEMS/tiles.so" "${engine[@]}")
    fi
    nets=$(windows_path "$folder/nets")
    tables=$(windows_path "$ROOT/tests/data/syzygy")
    once "$folder/philidor.exe"
    "${engine[@]}" --version
    "${engine[@]}" net check
    "${engine[@]}" net check "$nets\\resnet.int8.onnx"
    "${engine[@]}" net list | tee "$SYSTEMS/list" | grep -c 'file:     Z:' || die "paths of networks are not as people write them"
    if grep -F '\\?\' "$SYSTEMS/list"; then die "paths of networks are not as people write them"; fi
    say "options with Windows paths, CRLF, SyzygyPath with ;"
    rm -f "$WINEPREFIX/drive_c/philidor.log"
    "$TRY" --games 0 --crlf --option "SyzygyPath=$tables;$nets" --option "WeightsFile=$nets\\resnet.int8.onnx" \
        --option 'Debug Log File=C:\philidor.log' --expect '3 WDL and 3 DTZ tables beside' -- \
        "${engine[@]}"
    grep -c '^<< bestmove' "$WINEPREFIX/drive_c/philidor.log" || die "there is no log in C:"
    say "without onnxruntime.dll"
    mv "$folder/onnxruntime.dll" "$SYSTEMS/"
    "$TRY" --games 0 --crlf -- "${engine[@]}"
    missing=$("${engine[@]}" net check "$nets\\resnet.onnx" 2>&1) && die "resnet.onnx ran without ONNX Runtime"
    grep -F 'Visual C++ Redistributable' <<<"$missing" || die "it does not say what is missing: $missing"
    mv "$SYSTEMS/onnxruntime.dll" "$folder/"
    say "games"
    "$TRY" --games "${WINDOWS_GAMES:-20}" --tc "$TC" --option Threads=1 --option Hash=64 -- "${engine[@]}"
}

try_cpu() {
    need qemu-x86_64 "apt install qemu-user"
    local file folder=$SYSTEMS/cpu cpu native
    file=$(file_of 'philidor-*-linux-x86_64.tar.gz')
    rm -rf "$folder"
    mkdir -p "$folder"
    tar --extract --gzip --file "$file" --directory "$folder" --strip-components 1
    say "glibc: $(objdump -T "$folder/bin/philidor" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1) is the newest that philidor asks for"
    objdump -T "$folder"/lib/libonnxruntime.so.* | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1
    native=$(nodes "$folder/bin/philidor")
    echo "here: $native"
    for cpu in core2duo Nehalem Haswell; do
        say "cpu $cpu"
        measured qemu-x86_64 -cpu "$cpu" "$folder/bin/philidor" bench --visits 20 >"$SYSTEMS/bench" 2>&1
        grep -E '^(checksum|sparse|\()|nodes' "$SYSTEMS/bench" | tail -n 4
        [[ $(grep -E '^checksum|nodes [0-9]+ nps$' "$SYSTEMS/bench" | sed 's/ [0-9]* nps//') == "$native" ]] ||
            die "another result than here"
    done
}

# nodes COMMAND...: what every machine must print.
nodes() { "$@" bench --visits 20 | grep -E '^checksum|nodes [0-9]+ nps$' | sed 's/ [0-9]* nps//'; }

# emulator: makes the folder where qemu looks for files first. ONNX Runtime crashes if /proc/cpuinfo is not an ARM
# processor's.
emulator() {
    need qemu-aarch64 "scripts/setup.sh aarch64"
    EMULATOR=$SYSTEMS/emulator
    local number
    mkdir -p "$EMULATOR/proc"
    ln -sfn /usr/aarch64-linux-gnu/lib "$EMULATOR/lib"
    for ((number = 0; number < $(nproc); number++)); do
        printf 'processor\t: %s\nFeatures\t: fp asimd asimddp\nCPU implementer\t: 0x41\n' "$number"
        printf 'CPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n\n'
    done >"$EMULATOR/proc/cpuinfo"
}

# on_arm PROGRAM: runs it on processors with and without dot products.
on_arm() {
    local cpu level native
    emulator
    native=$(nodes "$(native_program)")
    for cpu in 'cortex-a72 NEON' 'neoverse-n1 NEON dotprod'; do
        level=${cpu#* }
        ARM=(qemu-aarch64 -cpu "${cpu%% *}" -L "$EMULATOR" "$1")
        say "cpu ${cpu%% *}"
        "${ARM[@]}" --version | grep -F ", $level)" || die "another level than $level"
        [[ $(measured nodes "${ARM[@]}" | tee "$SYSTEMS/bench" | grep -v '^(') == "$native" ]] ||
            die "another result than on x86-64"
        cat "$SYSTEMS/bench"
    done
    "${ARM[@]}" net check
    # The compiler makes the instruction of a loop.
    aarch64-linux-gnu-objdump -d "$1" | grep -cw sdot || die "the kernels have no dot products"
}

# native_program: unpacks this machine's philidor and prints its path.
native_program() {
    local folder=$SYSTEMS/native
    mkdir -p "$folder"
    tar --extract --gzip --file "$(file_of 'philidor-*-linux-x86_64.tar.gz')" --directory "$folder" --strip-components 1
    printf '%s' "$folder/bin/philidor"
}

try_tar-aarch64() {
    local folder=$SYSTEMS/aarch64
    rm -rf "$folder"
    mkdir -p "$folder"
    tar --extract --gzip --file "$(file_of 'philidor-*-linux-aarch64.tar.gz')" --directory "$folder" --strip-components 1
    on_arm "$folder/bin/philidor"
    once "$folder/bin/philidor"
    if grep '@' "$folder/README.txt"; then die "the README is not filled in"; fi
    "${ARM[@]}" net check "$folder/nets/resnet.int8.onnx"
    qemu-aarch64 -L "$EMULATOR" "$folder/bin/philidor-studio" --version
    "$TRY" --games 2 --tc "$TC" --crlf -- "${ARM[@]}"
}

try_deb-aarch64() {
    local file folder=$SYSTEMS/aarch64-deb
    file=$(file_of 'philidor_*_arm64.deb')
    need lintian "apt install lintian"
    lintian --fail-on error "$file" || die "lintian finds errors"
    rm -rf "$folder"
    dpkg-deb --extract "$file" "$folder"
    on_arm "$folder/usr/bin/philidor"
    "${ARM[@]}" net check "$folder/usr/share/philidor/nets/resnet.int8.onnx"
}

try_wheel-aarch64() {
    local folder=$SYSTEMS/aarch64-wheel
    rm -rf "$folder"
    python3 -m zipfile --extract "$(file_of 'philidor-*_aarch64.whl')" "$folder"
    folder=$(compgen -G "$folder/philidor-*.data/scripts/philidor")
    chmod +x "$folder"
    on_arm "$folder"
}

# Builds the commit's files from another folder and target folder, as somebody else would.
try_again() {
    local file folder=$SYSTEMS/again commit again different=0
    file=$(file_of 'philidor-*-linux-x86_64.tar.gz')
    commit=$(tar --extract --gzip --to-stdout --wildcards --file "$file" '*/README.txt' | sed -n 's/.* of commit \(.*\)\.$/\1/p')
    say "$commit again"
    rm -rf "$folder"
    git clone --quiet --no-checkout "$ROOT" "$folder"
    git -C "$folder" checkout --quiet --detach "$commit"
    read -ra again <<<"${AGAIN:-tar deb wheel sbom}"
    env --unset CARGO_TARGET_DIR "$folder/scripts/package.sh" "${again[@]}" 2>&1 | grep '^package:'
    for file in "$folder"/target/packages/*philidor*; do
        cmp "$FROM/$(basename "$file")" "$file" && echo "the same: $(basename "$file")" || different=1
    done
    ((different == 0)) || die "the same commit gave other bytes"
}

main() {
    local parts=() part
    while (($#)); do
        case $1 in
        -h | --help) usage && exit ;;
        --from)
            (($# > 1)) || die "--from needs a folder"
            FROM=$(cd "$2" && pwd)
            shift
            ;;
        tar | deb | wheel | tar-aarch64 | deb-aarch64 | wheel-aarch64 | windows | cpu | again) parts+=("$1") ;;
        *) usage >&2 && exit 2 ;;
        esac
        shift
    done
    ((${#parts[@]})) || parts=(tar deb wheel windows cpu)
    mkdir -p "$SYSTEMS"
    for part in "${parts[@]}"; do "try_$part"; done
    say "all passed: ${parts[*]}"
}

# Its tests source it.
[[ ${BASH_SOURCE[0]} != "$0" ]] || main "$@"
