#!/usr/bin/env bash
# Checks and tests. CI runs this without arguments.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: scripts/test.sh [quick]

  (nothing)   sets up everything (scripts/setup.sh all and fleet), then runs all checks:
              format, lints, links, commit messages, all tests, the commands of the documents,
              the studio in a browser, clients, a fleet of three nodes
  quick       format, lints, unit tests: what to run while working

Ends with the time of each step and the ten slowest tests.
TEXT
}

case ${1:-} in
'' | quick) part=${1:-all} ;;
-h | --help) usage && exit ;;
*) usage >&2 && exit 2 ;;
esac

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
scripts/setup.sh all
[[ $part == quick ]] || scripts/setup.sh fleet
PATH=$PATH:${CARGO_HOME:-${HOME:-/nonexistent}/.cargo}/bin

# The first build of a clone: incremental it would take a tenth longer, which only a later build would win back.
[[ $part == quick || -d ${CARGO_TARGET_DIR:-target}/debug ]] || export CARGO_INCREMENTAL=0

# Fixes the random cases of property tests, which otherwise change with every run.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-1}

SCRATCH=$(mktemp -d)
STEPS=$SCRATCH/steps TESTS=$SCRATCH/tests
LANES=()
trap 'stop_lanes; rm -rf "$SCRATCH"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

step() {
    printf '\ntest: %s\n' "$*" >&2
    local start=$EPOCHREALTIME
    "$@" || return
    printf '%8.1f s  %s\n' "$(seconds "$start" "$EPOCHREALTIME")" "$*" >>"$STEPS"
}

# side_by_side LANE...: runs these functions at the same time. Their output appears when they end; if one fails, the
# others are stopped and its output is the last.
side_by_side() {
    local name failed
    # Each in a process group of its own, because programs in a script's background ignore Ctrl-C.
    set -m
    for name; do
        "$name" </dev/null &
        LANES+=($!)
    done
    set +m
    for name; do
        wait -n && continue
        failed=("$SCRATCH"/failed.*)
        stop_lanes
        cat "${failed[@]}" >&2
        exit 1
    done
    LANES=()
}

# lane_step COMMAND...: like step, with its output kept until it ends.
lane_step() {
    local output=$SCRATCH/output.$BASHPID
    if (step "$@") &>"$output"; then
        flock "$SCRATCH" cat "$output" >&2
    else
        printf '\ntest: failed: %s\n' "$*" >>"$output"
        mv "$output" "$SCRATCH/failed.$BASHPID"
        exit 1
    fi
}

stop_lanes() {
    local pid
    for pid in "${LANES[@]}"; do interrupt "$pid"; done
    wait
    LANES=()
}

# interrupt PID: interrupts a process and its descendants, whatever their process groups.
interrupt() {
    local children child
    read -ra children 2>/dev/null <"/proc/$1/task/$1/children" || true
    kill -INT "$1" 2>/dev/null || true
    for child in "${children[@]}"; do interrupt "$child"; done
}

# seconds FROM TO: the difference, with two decimals.
seconds() { awk -v from="$1" -v to="$2" 'BEGIN { printf "%.2f", to - from }'; }

# The test harness prints times only with unstable options, which this allows when it runs, not when it is compiled.
HOST=$(rustc -vV | sed -n 's/^host: //p')
export "CARGO_TARGET_$(tr a-z- A-Z_ <<<"$HOST")_RUNNER=env RUSTC_BOOTSTRAP=1"

# Always the whole workspace: with fewer crates cargo chooses other features of shared crates, and builds all again.
tests() {
    cargo test --locked --workspace "$@" -- -Z unstable-options --report-time 2>&1 | tee -a "$TESTS"
}

report() {
    printf '\ntest: time of each step\n'
    sort -rn "$STEPS"
    printf '\ntest: the ten slowest tests\n'
    awk '/^ *Running /  { program = $NF; gsub(/^.*\/|-[0-9a-f]+\)$/, "", program) }
         /^test .*<[0-9.]+s>$/ { seconds = substr($NF, 2, length($NF) - 3); printf "%8.1f s  %s %s\n", seconds, program, $2 }' \
        "$TESTS" | sort -rn | sed -n 1,10p
}

step cargo fmt --all --check
step python3 scripts/check_floors.py
step python3 scripts/book.py --check
step python3 tests/docs/rows.py --self-test
step python3 tests/docs/rows.py
step scripts/commit-msg --self-test
step scripts/commit-msg --history
if [[ $part == quick ]]; then
    step cargo clippy --locked --workspace --all-targets -- -D warnings
    step tests --lib --bins
    report >&2
    printf '\ntest: format, lints and unit tests passed; scripts/test.sh runs the others\n' >&2
    exit
fi
step python3 scripts/check_vendored.py
step npm --prefix studio run types
step cargo clippy --locked --workspace --all-targets -- -D warnings
step cargo clippy --locked --workspace --no-default-features --all-targets -- -D warnings
# What the build without libtorch leaves out, and that it trains. Other tests run the same code below.
step tests --no-default-features --test without_libtorch --test sparse
# Last, because the next steps run the programs with libtorch. Testing builds no program of a crate without integration
# tests.
step tests
# With --tests, dependencies keep the features that are built already; without, cargo would build them again.
step cargo build --locked --workspace --bins --tests

# What drives the built programs, in two halves of about the same time. What hangs must not hang the tests.
commands() {
    lane_step timeout 900 python3 tests/docs/commands.py
    lane_step python3 tests/packages.py
    lane_step python3 scripts/match.py --self-test
    lane_step python3 scripts/strength.py --self-test
    lane_step python3 scripts/gauntlet.py --self-test
    lane_step python3 scripts/clocks.py --self-test
    lane_step python3 scripts/tune.py --self-test
    lane_step python3 scripts/move_loss.py --self-test
    lane_step python3 scripts/review_level.py --self-test
    lane_step timeout 300 python3 tests/clients/python_chess.py
    lane_step timeout 120 python3 tests/clients/analyse_example.py
    lane_step timeout 300 python3 tests/clients/review.py
}
studio_and_fleet() {
    lane_step timeout 900 npm --prefix studio test
    # Nodes of Ray on this machine.
    lane_step timeout 120 .deps/fleet/bin/python tests/fleet/driver.py
    lane_step timeout 600 .deps/fleet/bin/python tests/fleet/cluster.py
    lane_step timeout 600 .deps/fleet/bin/python tests/fleet/machines.py
}
side_by_side commands studio_and_fleet
report >&2
printf '\ntest: all passed\n' >&2
