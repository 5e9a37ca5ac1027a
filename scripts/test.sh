#!/usr/bin/env bash
# Sets up everything, then runs all checks: formatting, lints, tests. CI runs this.
set -euo pipefail

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
scripts/setup.sh all
scripts/setup.sh fleet
PATH=$PATH:${CARGO_HOME:-${HOME:-/nonexistent}/.cargo}/bin

# Properties are tried on the same random cases everywhere; without this, on others each time.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-1}

step() {
    printf '\ntest: %s\n' "$*" >&2
    "$@"
}

step cargo fmt --all --check
step python3 scripts/check_floors.py
step python3 scripts/check_vendored.py
step npm --prefix studio run types
step cargo clippy --locked --workspace --all-targets -- -D warnings
step cargo clippy --locked -p trainer --no-default-features --all-targets -- -D warnings
step cargo test --locked --workspace
step cargo test --locked -p trainer --no-default-features --test without_libtorch --test sparse --test units
# The studio in a real browser, with the engine beside it; a browser that hangs must not hang the tests.
step cargo build --locked -p engine -p studio
step timeout 900 npm --prefix studio test
# Statistics are those of the philidor-trainer that was just built.
step python3 scripts/match.py --self-test
step python3 scripts/strength.py --self-test
step python3 scripts/clocks.py --self-test
step python3 scripts/tune.py --self-test
# An engine that hangs must not hang the tests: they take ten seconds.
step timeout 300 python3 tests/clients/python_chess.py
step timeout 120 python3 tests/clients/analyse_example.py
step timeout 300 python3 tests/clients/review.py
# Three nodes of Ray on this machine, with the philidor-trainer that the tests have built.
step timeout 600 .deps/fleet/bin/python tests/fleet/cluster.py
printf '\ntest: all passed\n' >&2
