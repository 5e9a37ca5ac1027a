#!/usr/bin/env python3
"""Three nodes of Ray on this machine play three iterations of a tiny run, with the same games as a single process.

Usage: tests/fleet/cluster.py [PROGRAM]        (default: target/debug/philidor-trainer)
Needs scripts/setup.sh fleet; takes about a minute.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import runs

Cluster = runs.cluster_class()

ITERATIONS = 3


def main():
    program = Path(sys.argv[1] if sys.argv[1:] else runs.ROOT / "target/debug/philidor-trainer").resolve()
    node = {"num_cpus": 1, "object_store_memory": 256 << 20, "include_dashboard": False}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        runs.own_home(folder)
        seconds = runs.alone(program, folder / "alone", ITERATIONS)
        cluster = Cluster(initialize_head=True, head_node_args=node)
        try:
            for _ in range(2):
                cluster.add_node(num_cpus=1, object_store_memory=256 << 20)
            fleet = [
                sys.executable, runs.ROOT / "scripts/fleet.py", "--address", cluster.address, "--inbox", folder / "inbox",
                "--program", program, "--", "rl", *runs.SHORT, "--run", folder / "run", "--iterations", str(ITERATIONS),
                # The nodes must play everything.
                "--patience", "100000",
            ]
            subprocess.run(list(map(str, fleet)), check=True, timeout=500)
        finally:
            cluster.shutdown()
        counts = runs.check(program, folder / "run", folder / "inbox", folder / "alone", ITERATIONS)
        assert counts["own"] == 0 and counts["refused"] == 0, counts
        units = sum(48 // 4 for _ in range(ITERATIONS))
        assert counts["others"] >= units, counts
        print(f"cluster.py: good ({seconds:.0f} s alone)", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
