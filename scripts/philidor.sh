#!/usr/bin/env bash
# Philidor as a UCI engine, from a fresh clone: sets up, builds if needed, starts.
# Arguments go to the engine (try --help). stdout is the engine's alone.
set -euo pipefail

ROOT=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
PHILIDOR=$ROOT/target/release/philidor

# stdin belongs to the engine too: nothing before it may read what a GUI writes.
if "$ROOT/scripts/setup.sh" engine </dev/null >&2; then
    PATH=$PATH:${CARGO_HOME:-${HOME:-/nonexistent}/.cargo}/bin
    (cd "$ROOT" && cargo build --release --locked -p engine --target-dir target) </dev/null >&2
elif [[ -x $PHILIDOR ]]; then
    echo "philidor.sh: set-up failed, starting the engine as it was last built" >&2
else
    exit 1
fi
exec "$PHILIDOR" "$@"
