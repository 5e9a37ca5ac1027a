#!/usr/bin/env python3
"""A fleet with a machine whose disk is full plays the games of a single process; rubbish from every machine stops it.

Three nodes of Ray on this machine: the work folder of one is a file system of 1 MB (as root; else the program fails
there with the same words). The driver leaves it out, names it with the reason, gives no unit up, and leaves no
partial file. Then a program that writes rubbish makes the driver stop with the reason. A missing configuration is
reported before Ray starts. Beside a head that runs already, the driver starts its own.

Usage: tests/fleet/machines.py [PROGRAM]        (default: target/debug/philidor-trainer)
Needs scripts/setup.sh fleet; takes about half a minute.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import runs

Cluster = runs.cluster_class()

# One iteration with just enough units for three failures in a row; cluster.py tests the arena.
ITERATIONS = 1
SETTINGS = [*runs.SHORT, "--set", "games_per_iteration=24", "--set", "play.max_plies=40", "--set", "play.visits=8"]
PAUSE = 2
STORE = 128 << 20
FULL = "No space left on device"


def script(path, lines):
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]), encoding="utf-8")
    path.chmod(0o755)
    return path


def fleet(program, learner, cluster, folder, *more):
    """The driver's status and messages."""
    words = [sys.executable, runs.ROOT / "scripts/fleet.py", "--inbox", folder / "inbox", "--program", program,
             "--learner-program", learner, "--pause", PAUSE, *(["--address", cluster.address] if cluster else []), *more]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=500)
    said = "\n".join(line for line in done.stderr.splitlines() if "fleet.py:" in line)
    print(said, file=sys.stderr)
    return done.returncode, said


def learner(folder, iterations):
    return ["--", "rl", *SETTINGS, "--run", folder / "run", "--iterations", iterations, "--patience", "100000"]


def full_disk(program, cluster, small, folder):
    """A machine that fails every unit loses none."""
    alone = folder / "alone"
    runs.alone(program, alone, ITERATIONS, SETTINGS)
    # The script fits on the small disk; the files that it then writes do not.
    wrapper = script(folder / "program", [
        f'case "$TMPDIR" in {small}) echo "Error: cannot write: {FULL}" >&2; exit 1;; esac' if os.geteuid() else "",
        f'case "$TMPDIR" in {small}) head -c 2000000 /dev/zero >"$4" || exit 1;; esac',
        f'exec {shlex.quote(str(program))} "$@"'])
    status, said = fleet(wrapper, program, cluster, folder, *learner(folder, ITERATIONS))
    assert status == 0, status
    assert FULL in said and "machine small (" in said and f"is left out for {PAUSE} s after 3 failures in a row" in said, said
    assert "given up" not in said and "ray::" not in said, said
    counts = runs.check(program, folder / "run", folder / "inbox", alone, ITERATIONS)
    assert counts["own"] == 0 and counts["refused"] == 0, counts
    left = [path for path in small.rglob("*") if path.name.endswith(".tmp") or "work-" in path.name]
    assert not left, left


def rubbish(program, cluster, folder):
    """The driver stops if every result is refused."""
    wrapper = script(folder / "program", ['head -c 5000 /dev/urandom >"$4"'])
    status, said = fleet(wrapper, program, cluster, folder, *learner(folder, ITERATIONS))
    assert status == 1 and "stopped: no machine has returned a good result" in said and "is refused" in said, (status, said)


def beside_a_head(program, cluster, folder):
    """Alone on a machine where a head runs, the driver starts its own Ray and says so."""
    (folder / "inbox").mkdir()
    (folder / "inbox/wanted.json").write_text(json.dumps({"about": {"finished": True}, "units": []}), encoding="utf-8")
    status, said = fleet(program, program, None, folder, "--cpus", "1", "--until-done")
    assert status == 0 and f"a Ray head was started on this machine ({cluster.address})" in said, (status, said)


def missing_configuration(program, folder):
    begun = time.monotonic()
    status, said = fleet(program, program, None, folder, "--", "rl", "--config", folder / "rl.json")
    assert status == 2 and "rl.json is missing" in said, (status, said)
    assert time.monotonic() - begun < 30


def small_disk(folder):
    """A folder, which holds 1 MB if we are root."""
    small = folder / "small"
    small.mkdir()
    if os.geteuid() == 0:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "philidor-test", small], check=True)
    return small


def main():
    program = Path(sys.argv[1] if sys.argv[1:] else runs.ROOT / "target/debug/philidor-trainer").resolve()
    node = {"num_cpus": 1, "object_store_memory": STORE, "include_dashboard": False}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        runs.own_home(folder)
        trials = [folder / name for name in ("full", "rubbish", "missing", "head")]
        for trial in trials:
            trial.mkdir()
        missing_configuration(program, trials[2])
        small = small_disk(folder)
        try:
            cluster = Cluster(initialize_head=True, head_node_args=node)
            try:
                cluster.add_node(num_cpus=1, object_store_memory=STORE, node_name="other")
                poor = cluster.add_node(num_cpus=1, object_store_memory=STORE, node_name="small",
                                        env_vars={"TMPDIR": str(small)})
                beside_a_head(program, cluster, trials[3])
                full_disk(program, cluster, small, trials[0])
                cluster.remove_node(poor)
                rubbish(program, cluster, trials[1])
            finally:
                cluster.shutdown()
        finally:
            if os.geteuid() == 0:
                subprocess.run(["umount", "--lazy", small], check=True)
    print("machines.py: good", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
