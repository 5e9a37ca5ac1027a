#!/usr/bin/env bash
# Philidor's studio, from a fresh clone: sets up, builds if needed, starts, opens the page.
# Arguments go to the studio (try --help).
set -euo pipefail

ROOT=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
STUDIO=$ROOT/target/release/philidor-studio

if "$ROOT/scripts/setup.sh" engine >&2; then
    PATH=$PATH:${CARGO_HOME:-${HOME:-/nonexistent}/.cargo}/bin
    (cd "$ROOT" && cargo build --release --locked -p engine -p studio --target-dir target) >&2
elif [[ -x $STUDIO ]]; then
    echo "studio.sh: set-up failed, starting the studio as it was last built" >&2
else
    exit 1
fi
if (($# == 0)); then set -- --open; fi
exec "$STUDIO" "$@"
