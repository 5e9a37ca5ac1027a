#!/usr/bin/env python3
"""Parts of the fleet's driver alone, without a cluster: the learner's restarts, machines that join and leave.

Usage: tests/fleet/driver.py
Needs scripts/setup.sh fleet; takes a few seconds.
"""

import contextlib
import io
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import runs

runs.cluster_class()
sys.path.insert(0, str(runs.ROOT / "scripts"))

import fleet  # noqa: E402


class Clock:
    """A clock on which only sleeping takes time."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def said(call):
    """What a call returns and says."""
    with contextlib.redirect_stderr(io.StringIO()) as text:
        result = call()
    return result, text.getvalue()


def learner(folder, *statuses):
    """A learner that ends with these statuses in turn, then always with the last, and notes its arguments."""
    (folder / "statuses").write_text("\n".join(map(str, statuses)) + "\n", encoding="utf-8")
    lines = ["#!/bin/sh", 'echo "$@" >>arguments', "status=$(head -n 1 statuses)",
             '[ "$(wc -l <statuses)" = 1 ] || sed -i 1d statuses', '[ "$status" != kill ] || kill -KILL $$', 'exit "$status"', ""]
    program = folder / "learner"
    program.write_text("\n".join(lines), encoding="utf-8")
    program.chmod(0o755)
    return [str(program), "rl", "--preset", "tiny"]


def learn(*statuses, begun=True):
    """The status of such a learner's run, what the driver said, the seconds it took and the arguments of each start."""
    with tempfile.TemporaryDirectory() as folder:
        folder, clock = Path(folder), Clock()
        (folder / "run").mkdir()
        if begun:
            (folder / "run/state.json").write_text("{}", encoding="utf-8")
        command = learner(folder, *statuses)
        status, text = said(lambda: fleet.learn(command, "run", str(folder), clock))
        return status, text, clock.now, (folder / "arguments").read_text(encoding="utf-8").splitlines()


def restarts():
    status, text, seconds, starts = learn(fleet.IN_USE, fleet.IN_USE, fleet.IN_USE, 0)
    assert (status, seconds, len(starts)) == (0, 15, 4) and "another process holds the run" in text, (status, seconds, text)
    assert starts[0] == "rl --resume", "the run has its preset"
    # The lock of a killed learner ends; that of one that lives does not.
    status, _, seconds, _ = learn(fleet.IN_USE)
    assert status == fleet.IN_USE and 120 < seconds <= fleet.LOCKED + 5, (status, seconds)
    # One that cannot run is not tried without end, and one that never began is not tried again.
    assert [learn(1)[0], len(learn(1)[3]), len(learn(1, begun=False)[3]), len(learn(2)[3])] == [1, 4, 1, 1]
    status, text, _, starts = learn("kill", 0, begun=False)
    assert status == 0 and len(starts) == 2 and "status -9; it is started again" in text, (status, text)


def node(name, address, cores=2, alive=True):
    return {"NodeID": f"id-{name}", "NodeName": name, "NodeManagerHostname": name, "NodeManagerAddress": address,
            "Resources": {"CPU": cores} if cores else {}, "Alive": alive}


def joins_and_leaves():
    nodes = [node("head", "10.0.0.1", cores=0), node("one", "10.0.0.2")]
    ray, fleet.ray = fleet.ray, SimpleNamespace(nodes=lambda: nodes)
    try:
        machines = fleet.Machines(pause=30)

        def look():
            machines.looked = machines.looked and -1e9
            return said(machines.look)[1].strip()

        assert look() == "fleet.py: machines: one (10.0.0.2), 2 cores"
        nodes.append(node("two", "10.0.0.3", cores=8))
        assert look() == "fleet.py: machine two (10.0.0.3), 8 cores, has joined" and machines.cores() == 10
        assert look() == "", "said once"
        machines.there["id-two"].done = 5
        nodes[2] = node("two", "10.0.0.3", cores=8, alive=False)
        assert look() == "fleet.py: machine two (10.0.0.3) has left; its units are done elsewhere"
        assert machines.cores() == 2 and machines.of("id-two").done == 5, "its results count"
        nodes[2] = node("two", "10.0.0.3", cores=8)
        assert "has joined" in look() and machines.report() == "two 5, one 0"
        # A new one in the place of the old has another name in Ray.
        nodes[1]["Alive"] = False
        nodes.append({**node("one", "10.0.0.2"), "NodeID": "id-new"})
        assert look().splitlines() == ["fleet.py: machine one (10.0.0.2) has left; its units are done elsewhere",
                                       "fleet.py: machine one (10.0.0.2), 2 cores, has joined"]
        assert said(machines.look)[1] == "", "it looks every two seconds"
    finally:
        fleet.ray = ray


def main():
    restarts()
    joins_and_leaves()
    print("driver.py: good", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
