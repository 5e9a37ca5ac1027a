#!/usr/bin/env python3
"""A run on three machines (network namespaces of this one) has the games of a single process, whatever goes wrong.

While it plays, a raylet, a worker, the driver and the learner are killed by SIGKILL, a machine's link is down for 30
seconds, one machine sends rubbish, and somebody sends an older network's games and results twice.

Usage: tests/fleet/faults.py [PROGRAM]         (default: target/release/philidor-trainer)
FAULTS_ALONE names the folder of an earlier single-process run, FAULTS_FOLDER that of all files, FAULTS_LIMIT the most
seconds.
Needs root (ip, unshare), scripts/setup.sh fleet, about 4 GB of memory and some minutes. It ends what it has started.
"""

import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import runs

ENVIRONMENT = runs.ROOT / ".deps/fleet"
RAY = ENVIRONMENT / "bin/ray"
ITERATIONS = 8
NAMES = ["one", "two", "three"]
BRIDGE = "10.77.0.254"
LIMIT = float(os.environ.get("FAULTS_LIMIT", 1500))
# More games than in CI, so that there is time for everything to go wrong.
SETTINGS = [*runs.SHORT, "--set", "games_per_iteration=256"]


def say(text):
    print(f"faults.py: {text}", file=sys.stderr, flush=True)


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Machine:
    """A network namespace with a link to the others, a folder of its own for temporary files, and a Ray node that is
    started again whenever it ends."""

    def __init__(self, index, folder):
        self.index, self.name = index, f"fleet-{NAMES[index]}"
        self.address = f"10.77.0.{index + 1}"
        self.folder = folder / self.name
        (self.folder / "ray").mkdir(parents=True)
        self.node = None
        ip("netns", "add", self.name)
        ip("link", "add", f"{self.name[:13]}-h", "type", "veth", "peer", "name", "eth0", "netns", self.name)
        ip("link", "set", f"{self.name[:13]}-h", "master", "fleet-bridge", "up")
        self.inside("ip", "address", "add", f"{self.address}/24", "dev", "eth0").wait()
        self.inside("ip", "link", "set", "eth0", "up").wait()
        self.inside("ip", "link", "set", "lo", "up").wait()
        # Programs find their own address by this route.
        self.inside("ip", "route", "add", "default", "via", BRIDGE).wait()

    def inside(self, *command, **more):
        """A program in the namespace, which sees a /tmp/ray of its own."""
        mounted = f"mount --bind {self.folder}/ray /tmp/ray && exec \"$@\""
        # Without Ray's tokens: one in the home folder, left by an earlier program, would shut the other machines out.
        settings = {"RAY_AUTH_MODE": "disabled", "RAY_health_check_failure_threshold": "3"}
        environment = {**os.environ, "TMPDIR": str(self.folder), **settings}
        os.makedirs("/tmp/ray", exist_ok=True)
        words = ["ip", "netns", "exec", self.name, "unshare", "--mount", "sh", "-c", mounted, "sh", *map(str, command)]
        return subprocess.Popen(words, env=environment, start_new_session=True, **more)

    def start(self):
        place = ["--head", "--port=6379", "--include-dashboard=false", "--temp-dir=/tmp/ray"] if self.index == 0 else ["--address=10.77.0.1:6379"]
        words = [RAY, "start", "--block", *place, f"--node-ip-address={self.address}", "--num-cpus=1",
                 f"--object-store-memory={256 << 20}", "--disable-usage-stats"]
        # Restarts the node like a service manager, because a node ends when the head has given it up.
        again = " ".join(map(str, words))
        log = open(self.folder / "node.log", "ab")
        self.node = self.inside("sh", "-c", f"while true; do {again}; sleep 2; done", stdout=log, stderr=log)

    def is_up(self):
        return "Ray runtime started" in (self.folder / "node.log").read_text(encoding="utf-8", errors="replace")

    def link(self, state):
        ip("link", "set", f"{self.name[:13]}-h", state)

    def processes(self, *words):
        """The machine's processes whose command lines hold these words."""
        pids = subprocess.run(["ip", "netns", "pids", self.name], check=True, capture_output=True, text=True).stdout
        found = []
        for pid in map(int, pids.split()):
            try:
                line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if all(word in line for word in words):
                found.append(pid)
        return found

    def kill(self, *words):
        """Kills one of `processes(*words)`; returns whether there was one."""
        pids = self.processes(*words)
        if pids:
            os.kill(random.choice(pids), signal.SIGKILL)
        return bool(pids)

    def end(self):
        if self.node:
            os.killpg(self.node.pid, signal.SIGKILL)
            self.node.wait()
        for _ in range(20):
            if not (pids := self.processes()):
                break
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.2)
        ip("netns", "del", self.name)


class Trial:
    """The run and its faults."""

    def __init__(self, folder, program):
        self.folder, self.program = folder, program
        self.inbox, self.run = folder / "inbox", folder / "run"
        self.begun = time.monotonic()
        self.machines = []
        self.driver = None
        ip("link", "add", "fleet-bridge", "type", "bridge")
        ip("address", "add", f"{BRIDGE}/24", "dev", "fleet-bridge")
        ip("link", "set", "fleet-bridge", "up")
        self.machines = [Machine(index, folder) for index in range(len(NAMES))]

    def drive(self):
        words = [ENVIRONMENT / "bin/python", runs.ROOT / "scripts/fleet.py", "--address", "10.77.0.1:6379",
                 "--inbox", self.inbox, "--program", self.program, "--", "rl", *SETTINGS, "--run", self.run,
                 "--iterations", ITERATIONS, "--patience", "100000"]
        log = open(self.folder / "driver.log", "ab")
        self.driver = self.machines[0].inside(*words, stdout=log, stderr=log)

    def until(self, what, happened):
        """Waits until `happened()` is true."""
        while not happened():
            assert time.monotonic() - self.begun < LIMIT, f"no {what} in time"
            assert self.driver is None or self.driver.poll() in (None, 0), "the driver has failed"
            time.sleep(0.05)

    def iteration(self):
        try:
            return len(runs.lines(self.run))
        except OSError:
            return 0

    def after(self, iterations):
        """Waits until these iterations are done and another unit is in progress."""
        self.until(f"iteration {iterations + 1}", lambda: self.iteration() >= iterations)
        self.until("unit in progress", lambda: any(m.processes("philidor-trainer", " work ") for m in self.machines))

    def spoil_program(self, machine):
        """Makes the machine's program write rubbish three times."""
        folder = machine.folder / f"philidor-fleet-{os.getuid()}"
        self.until("program on the machine", lambda: list(folder.glob("philidor-trainer-*")))
        program = next(folder.glob("philidor-trainer-*"))
        sound = program.rename(program.with_name("sound"))
        script = ['#!/bin/sh', f'n=$(cat {folder}/count 2>/dev/null || echo 0)', 'if [ "$n" -lt 3 ]; then',
                  f'  echo $((n + 1)) >{folder}/count', '  head -c 5000 /dev/urandom >"$4"', '  exit 0', 'fi',
                  f'exec {sound} "$@"', '']
        aside = program.with_name("script")
        aside.write_text("\n".join(script), encoding="utf-8")
        aside.chmod(aside.stat().st_mode | stat.S_IXUSR)
        aside.rename(program)
        return folder / "count"

    def go(self):
        self.machines[0].start()
        self.until("head", lambda: self.machines[0].processes("raylet/raylet "))
        time.sleep(5)
        for machine in self.machines[1:]:
            machine.start()
        for machine in self.machines:
            self.until(f"node of {machine.name}", machine.is_up)
        say("three nodes are up")
        self.drive()
        one, two, three = self.machines
        stored = {}
        self.after(0)
        say("machine three sends rubbish")
        count = self.spoil_program(three)
        self.until("rubbish", lambda: count.exists() and count.read_text().strip() == "3")
        self.until("refusal", lambda: list((self.inbox / "refused").glob("*.h5")))
        # Copies of what comes, to be sent again later.
        def copy():
            for path in self.inbox.glob("self-play-*.h5"):
                if path.name not in stored:
                    try:
                        stored[path.name] = path.read_bytes()
                    except OSError:
                        pass
            return len(stored) >= 3
        self.until("results", copy)
        self.after(1)
        say("an older network's games, and results twice")
        for name, data in stored.items():
            (self.inbox / name).write_bytes(data)
        wanted = json.loads((self.inbox / "wanted.json").read_text())["units"]
        old = next(iter(stored.values()))
        (self.inbox / wanted[0]["file"]).write_bytes(old)
        say("a worker is killed")
        self.until("worker", lambda: any(machine.kill("ray::work") for machine in (two, three)))
        self.after(2)
        say("the link of machine two is down for 30 seconds")
        two.link("down")
        down = time.monotonic()
        self.until("half a minute", lambda: time.monotonic() - down > 30)
        two.link("up")
        say("the raylet of machine three is killed")
        self.until("raylet", lambda: three.kill("raylet/raylet "))
        self.after(3)
        say("the learner is killed")
        self.until("learner", lambda: one.kill(f"{self.program} rl "))
        self.after(4)
        say("the driver is killed, and started again")
        os.killpg(self.driver.pid, signal.SIGKILL)
        self.driver.wait()
        self.driver = None
        self.until("end of the learner", lambda: not one.processes(f"{self.program} rl "))
        self.drive()
        self.until("end", lambda: self.driver.poll() is not None)
        assert self.driver.returncode == 0, "the driver has failed"

    def end(self):
        if self.driver and self.driver.poll() is None:
            os.killpg(self.driver.pid, signal.SIGKILL)
            self.driver.wait()
        for machine in self.machines:
            machine.end()
        ip("link", "del", "fleet-bridge")


def main():
    program = Path(sys.argv[1] if sys.argv[1:] else runs.ROOT / "target/release/philidor-trainer").resolve()
    folder = Path(tempfile.mkdtemp(prefix="fleet-", dir=os.environ.get("FAULTS_FOLDER")))
    alone = Path(os.environ.get("FAULTS_ALONE", folder / "alone"))
    if not alone.exists():
        say(f"alone: {runs.alone(program, alone, ITERATIONS, SETTINGS):.0f} s")
    say(f"files in {folder}")
    trial = Trial(folder, program)
    try:
        trial.go()
        for machine in trial.machines:
            assert machine.index == 0 or not machine.processes(" work "), "a program has outlived its worker"
    finally:
        trial.end()
    counts = runs.check(program, folder / "run", folder / "inbox", alone, ITERATIONS)
    for path in sorted((folder / "inbox/refused").glob("*.txt")):
        say(f"refused {path.stem}: {path.read_text().strip()}")
    assert counts["refused"] >= 4, counts
    say(f"good, {time.monotonic() - trial.begun:.0f} s")
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
