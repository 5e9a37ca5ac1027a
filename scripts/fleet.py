#!/usr/bin/env python3
"""Does the units of work of `philidor-trainer rl --inbox` or `annotate --inbox` on many machines, with Ray.

The inbox is a folder: wanted.json lists the units, files/ holds what they need by hash,
results are put beside them. This driver hands each unit to a free core of the cluster,
which runs `philidor-trainer work`, and writes what comes back aside, flushes and renames
it. It remembers nothing: after a kill the same command goes on from what the inbox
holds. Units that are lost with a machine are done again elsewhere; as a unit has the same
result wherever it is done, doing it twice harms nobody.

What follows `--` is the learner's command line, which runs beside the driver, on a GPU's
machine where the cluster has one, and is started again with --resume when it is killed.
Without it, a learner or annotate must be started by hand. The driver ends with it, or
with --until-done when nothing is wanted any more.

Without --address, Ray is started on this machine alone. docs/scaling.md shows clusters.
scripts/setup.sh fleet installs Ray.

Examples:
  scripts/fleet.py --inbox runs/inbox -- rl --preset cpu --config rl.json --run runs/rl --hours 8
  scripts/fleet.py --inbox runs/inbox --address auto
"""

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
try:
    import ray
except ImportError:
    python = ROOT / ".deps/fleet/bin/python"
    if not python.exists() or sys.executable == str(python):
        sys.exit("fleet.py: Ray is missing: run scripts/setup.sh fleet")
    os.execv(python, [str(python), *sys.argv])

from ray.exceptions import RayError, TaskCancelledError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

# Units that are handed out for each core: one that is being done, one that waits, which
# Ray's autoscaler takes as demand.
PENDING = 2
# Failures of a unit, at the same program, after which it is given up.
GIVEN_UP = 3
# Seconds between looks at the inbox, between reports, and until a result that was put there
# and is wanted still is taken to have been refused.
POLL, REPORT, REFUSED = 0.2, 10.0, 15.0
# A unit that takes this many times as long as the longest one so far, and as many seconds at
# least, is handed out a second time: its machine may be cut off without Ray having noticed.
LATE, LATE_AT_LEAST = 3, 30.0
# Seconds to wait for a cluster that is starting.
PATIENCE = 300.0


def say(text):
    print(f"fleet.py: {text}", file=sys.stderr, flush=True)


# --- On the machines ----------------------------------------------------------------


def child(command, **more):
    """A program that the kernel kills as soon as this process ends, however that happens."""
    return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", *map(str, command)], **more)


def cache():
    """This machine's folder of files by hash."""
    folder = Path(tempfile.gettempdir()) / f"philidor-fleet-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def write(path, data, mode=0o644):
    """Aside, flushed, renamed: a file is there as a whole or not at all."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with open(aside, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    aside.chmod(mode)
    aside.replace(path)


def have(name, reference, mode=0o644):
    """The path of a file by its hash, fetched once for each machine."""
    path = cache() / name
    if not path.exists():
        write(path, ray.get(reference), mode)
    path.touch()
    return path


def sweep(folder):
    """Removes what a killed process left, and files that no unit has used for a day."""
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            if path.name.startswith("work-"):
                if not Path(f"/proc/{path.name.split('-')[1]}").exists():
                    shutil.rmtree(path)
            elif path.stat().st_mtime < time.time() - 86_400:
                path.unlink()


@ray.remote(num_cpus=1, max_retries=-1)
def work(unit, program, library, files):
    """Does a unit: the bytes of its result, or None and what the program said."""
    sweep(cache())
    with tempfile.TemporaryDirectory(prefix=f"work-{os.getpid()}-", dir=cache()) as scratch:
        scratch = Path(scratch)
        (scratch / "files").mkdir()
        for name, reference in files.items():
            (scratch / "files" / name).symlink_to(have(name, reference))
        (scratch / "unit.json").write_text(json.dumps(unit), encoding="utf-8")
        command = [have(*program, 0o755), "work", scratch / "unit.json", "--out", scratch / "result"]
        more = {"ORT_DYLIB_PATH": str(have(*library))} if library else {}
        process = child(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, **more})
        said = process.communicate()[1]
        if process.returncode:
            return None, f"status {process.returncode}: {said.strip()[-500:]}"
        return (scratch / "result").read_bytes(), ""


@ray.remote(max_restarts=-1, max_task_retries=-1)
class Learner:
    """The learner's process. A killed one is started again; so is this actor, by Ray."""

    def run(self, command, run, folder):
        short = 0
        while True:
            begun = time.monotonic()
            resume = run and (Path(folder) / run / "state.json").exists() and "--resume" not in command
            status = child(resumed(command) if resume else command, cwd=folder).wait()
            # One that ends by itself at once may have met the last one, which is being killed.
            short = short + 1 if time.monotonic() - begun < 10 else 0
            if status == 0 or (status > 0 and (short == 0 or short > 3)):
                return status
            say(f"the learner ended with status {status}; it is started again")
            time.sleep(1)


def resumed(command):
    """The command that goes on with a run. Its configuration has every key of the preset, which is refused beside it."""
    if "--config" not in command:
        command = [word for before, word in zip(["", *command], command)
                   if before != "--preset" and word.split("=")[0] != "--preset"]
    return [*command, "--resume"]


# --- The driver ---------------------------------------------------------------------


class Driver:
    """Hands out what is wanted and puts what comes back into the inbox."""

    def __init__(self, inbox, program, library):
        self.inbox = inbox
        self.program = self.shipped(program)
        self.library = self.shipped(library) if library.exists() else None
        # Files by name and units in progress, as Ray knows them; when a result was put there.
        self.references, self.pending, self.put = {}, {}, {}
        self.failures = Counter()
        self.done, self.longest = 0, 0.0

    @staticmethod
    def shipped(path):
        """A file by its hash, as an object of Ray."""
        data = path.read_bytes()
        return f"{path.name}-{hashlib.sha256(data).hexdigest()[:32]}", ray.put(data)

    def wanted(self):
        """The list of units, by the file of their result, in order, and whether that is all for ever."""
        try:
            said = json.loads((self.inbox / "wanted.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}, False
        finished = bool((said.get("about") or {}).get("finished"))
        return {entry["file"]: entry for entry in said["units"]}, finished

    def files(self, names):
        """What a unit needs, as objects of Ray; None if it is not wanted any more."""
        try:
            for name in names:
                if name not in self.references:
                    self.references[name] = ray.put((self.inbox / "files" / name).read_bytes())
        except FileNotFoundError:
            return None
        return {name: self.references[name] for name in names}

    def hand_out(self, wanted, most):
        there = {entry.name for entry in os.scandir(self.inbox)}
        late = time.monotonic() - max(LATE_AT_LEAST, LATE * self.longest)
        handed = [name for name, _, _ in self.pending.values()]
        busy = {name for name, _, begun in self.pending.values() if begun > late or handed.count(name) > 1}
        for name, entry in wanted.items():
            if len(self.pending) >= most:
                break
            if name in there or name in busy or self.failures[name] >= GIVEN_UP:
                continue
            if time.monotonic() - self.put.get(name, -REFUSED) < REFUSED:
                continue
            if (files := self.files(entry["files"])) is not None:
                reference = work.remote(entry["unit"], self.program, self.library, files)
                self.pending[reference] = (name, entry["files"], time.monotonic())
                handed.append(name)

    def call_off(self, wanted):
        """Ends units that are not wanted any more, and forgets files that none of them names."""
        for reference, (name, _, _) in list(self.pending.items()):
            if name not in wanted or (self.inbox / name).exists():
                ray.cancel(reference, force=True)
                del self.pending[reference]
        needed = {name for entry in wanted.values() for name in entry["files"]}
        needed |= {name for _, files, _ in self.pending.values() for name in files}
        self.references = {name: kept for name, kept in self.references.items() if name in needed}

    def collect(self):
        if not self.pending:
            time.sleep(POLL)
            return
        ready, _ = ray.wait(list(self.pending), num_returns=len(self.pending), timeout=POLL)
        for reference in ready:
            name, _, begun = self.pending.pop(reference)
            try:
                result, said = ray.get(reference)
            except TaskCancelledError:
                continue
            except RayError as error:
                result, said = None, str(error).splitlines()[0]
            if result is None:
                self.failures[name] += 1
                what = "is given up here" if self.failures[name] >= GIVEN_UP else "failed"
                say(f"{name} {what}: {said}")
                continue
            write(self.inbox / name, result)
            self.put[name] = time.monotonic()
            self.longest = max(self.longest, time.monotonic() - begun)
            self.done += 1

    def report(self, wanted, begun):
        cores, minutes = ray.cluster_resources().get("CPU", 0), (time.monotonic() - begun) / 60
        given_up = sum(count >= GIVEN_UP for count in self.failures.values())
        say(f"{self.done} units done, {self.done / max(minutes, 1e-3):.1f} a minute; {len(wanted)} wanted, "
            f"{len(self.pending)} handed out, {given_up} given up; {cores:g} cores")


def start_learner(arguments):
    """The learner's result, to come: on a GPU if the cluster has one, else beside the driver."""
    command = [str(arguments.learner_program), *arguments.learner, "--inbox", str(arguments.inbox)]
    run = "runs/rl" if arguments.learner[0] == "rl" else None
    with contextlib.suppress(ValueError, IndexError):
        run = arguments.learner[arguments.learner.index("--run") + 1]
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    gpu = ray.cluster_resources().get("GPU", 0) > 0
    place = {"num_gpus": 1} if gpu else {"num_cpus": 0, "scheduling_strategy": here}
    learner = Learner.options(**place).remote()
    return learner, learner.run.remote(command, run, os.getcwd())


def parse(argv):
    end = argv.index("--") if "--" in argv else len(argv)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s --inbox DIR [options] [-- rl|annotate ARGUMENTS]",
    )
    program = ROOT / "target/release/philidor-trainer"
    parser.add_argument("--inbox", type=Path, required=True, help="folder of wanted.json and the results")
    parser.add_argument("--address", help="a Ray cluster: auto, or HOST:PORT [default: start Ray on this machine]")
    parser.add_argument("--cpus", type=int, help="without --address: cores to work on [default: all]")
    parser.add_argument("--program", type=Path, default=program,
                        help="the philidor-trainer that the machines run [default: %(default)s]")
    parser.add_argument("--learner-program", type=Path, help="the one that learns [default: that of --program]")
    parser.add_argument("--onnxruntime", type=Path, default=ROOT / ".deps/lib/libonnxruntime.so",
                        help="the library that runs networks other than the family sparse, sent along if it is there")
    parser.add_argument("--until-done", action="store_true", help="end when nothing is wanted any more")
    arguments = parser.parse_args(argv[:end])
    arguments.learner = argv[end + 1:]
    arguments.inbox = arguments.inbox.resolve()
    arguments.program = arguments.program.resolve()
    arguments.learner_program = (arguments.learner_program or arguments.program).resolve()
    if not arguments.program.exists():
        parser.error(f"{arguments.program} is missing: cargo build --release, or name another with --program")
    return arguments


def connect(address):
    """Connects to a cluster, which may still be starting."""
    begun = time.monotonic()
    while True:
        try:
            ray.init(address=address, log_to_driver=True)
            return
        except (ConnectionError, RuntimeError) as error:
            if time.monotonic() - begun > PATIENCE:
                sys.exit(f"fleet.py: no Ray cluster at {address}: {error}")
            say(f"waiting for the Ray cluster at {address}")
            time.sleep(POLL)


def main():
    arguments = parse(sys.argv[1:])
    arguments.inbox.mkdir(parents=True, exist_ok=True)
    if arguments.address:
        connect(arguments.address)
    else:
        # Results are small: a large object store would only take memory.
        ray.init(num_cpus=arguments.cpus, include_dashboard=False, object_store_memory=256 << 20, log_to_driver=True)
    # What an earlier driver did not finish writing.
    for left in arguments.inbox.glob(".*.tmp"):
        left.unlink(missing_ok=True)
    driver = Driver(arguments.inbox, arguments.program, arguments.onnxruntime)
    learner, learnt = start_learner(arguments) if arguments.learner else (None, None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    begun = shown = time.monotonic()
    status = 0
    while True:
        wanted, finished = driver.wanted()
        driver.call_off(wanted)
        driver.hand_out(wanted, max(PENDING * int(ray.cluster_resources().get("CPU", 0)), 2 * PENDING))
        driver.collect()
        if time.monotonic() - shown >= REPORT:
            shown = time.monotonic()
            driver.report(wanted, begun)
        if learnt and ray.wait([learnt], timeout=0)[0]:
            status = ray.get(learnt)
            break
        if arguments.until_done and finished and not driver.pending:
            break
    driver.report({}, begun)
    del learner
    return status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("fleet.py: stopped; the same command goes on")
