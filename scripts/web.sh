#!/usr/bin/env bash
# Builds the engine for browsers and Node.js: target/web/npm, a package for npm, and target/web/page, a static page
# with a board, which any web server can serve.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: scripts/web.sh

Builds with Rust's library for WebAssembly and wasm-bindgen (scripts/setup.sh web) and prints the sizes:

  target/web/npm    the package `philidor`: `npm pack target/web/npm`
  target/web/page   the page: `python3 -m http.server --directory target/web/page`
TEXT
}

case "${1:-}" in
    "") ;;
    -h | --help) usage && exit ;;
    *) usage >&2 && exit 2 ;;
esac

# build NAME FEATURES [RUSTFLAGS [ARGUMENT...]]: puts NAME.js and the module NAME.wasm.gzip into $NEW/npm. Not all hosts
# compress what they send, and some unpack what is named .gz.
build() {
    local name=$1 features=$2 flags=${3:-}
    CARGO_PROFILE_DIST_STRIP=debuginfo RUSTFLAGS="-Ctarget-feature=$features $flags" \
        cargo build --locked --profile dist -p web --target wasm32-unknown-unknown "${@:4}" >&2
    wasm-bindgen --target web --no-typescript --omit-default-module-path --out-name "$name" --out-dir "$NEW/npm" \
        target/wasm32-unknown-unknown/dist/web.wasm
    gzip -9n <"$NEW/npm/${name}_bg.wasm" >"$NEW/npm/$name.wasm.gzip"
    echo "$name has $(stat -c %s "$NEW/npm/${name}_bg.wasm") bytes, $(stat -c %s "$NEW/npm/$name.wasm.gzip") in its file"
    rm "$NEW/npm/${name}_bg.wasm"
}

cd "$(dirname "$(readlink -f "$0")")/.."
PATH=$PWD/.deps/web/bin:$PATH
command -v wasm-bindgen >/dev/null || { echo "web: no wasm-bindgen: run scripts/setup.sh web" >&2; exit 1; }

OUT=target/web
NEW=$(mktemp -d "$PWD/target/web.XXXXXX")
chmod 755 "$NEW"
trap 'rm -rf "$NEW"' EXIT
mkdir "$NEW/npm" "$NEW/page" "$NEW/page/vendor"
# Browsers have had SIMD since 2021, Safari since 2023.
build engine +simd128
# Threads share the memory, of at most 4 GiB, and each has its own statics where Rust says so (__tls_…). The library that
# comes with Rust has no atomics, so it is built too.
exports=$(printf ' -Clink-arg=--export=%s' __wasm_init_tls __tls_size __tls_align __tls_base __heap_base)
RUSTC_BOOTSTRAP=1 build engine_threads +simd128,+atomics,+bulk-memory,+mutable-globals \
    "-Clink-arg=--shared-memory -Clink-arg=--import-memory -Clink-arg=--max-memory=$((1 << 32)) $exports" \
    -Zbuild-std=std,panic_abort
VERSION=$(cargo metadata --locked --no-deps --format-version 1 |
    python3 -c 'import json, sys; print(next(p["version"] for p in json.load(sys.stdin)["packages"] if p["name"] == "web"))')
sed "s/\"0.0.0\"/\"$VERSION\"/" web/js/package.json >"$NEW/npm/package.json"
cp web/js/*.js web/js/*.d.ts web/README.md LICENSE "$NEW/npm/"
# The program wants them in the order of their names in ASCII.
(LC_ALL=C && cat engine/syzygy/*.rtb?) | gzip -9n >"$NEW/npm/tables.gzip"

cp web/page/* studio/page/icon.svg studio/page/play/promotion.js "$NEW/page/"
# The dialog imports lit-html from the folder above its own in the studio.
sed -i "s|'../vendor/|'./vendor/|" "$NEW/page/promotion.js"
cp studio/page/vendor/{chessground.*,lit-html*} "$NEW/page/vendor/"
mkdir "$NEW/page/philidor"
cp "$NEW"/npm/*.{js,gzip} LICENSE "$NEW/page/philidor/"
rm -rf "$OUT"
mv "$NEW" "$OUT"
trap - EXIT

echo "$OUT/npm, $OUT/page; tables.gzip has $(stat -c %s "$OUT/npm/tables.gzip") bytes"
