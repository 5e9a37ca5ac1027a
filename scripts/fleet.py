#!/usr/bin/env python3
"""Does the units of work of `philidor-trainer rl --inbox` or `annotate --inbox` on many machines, with Ray.

The inbox is a folder: wanted.json lists the units, files/ holds their input files by hash, and results lie
beside them. This driver hands each unit to a free core of the cluster, which runs `philidor-trainer work`, and
puts the result into the inbox. The driver keeps no state: after a kill, the same command continues from the
inbox. Units that are lost with a machine are done again elsewhere, with the same result. A machine that fails
three times in a row, or whose results are refused, is left out for a while and named with the reason.

The command line after `--` is the learner's. The learner runs beside the driver, or on a machine with a GPU if
the cluster has one, and is started again with --resume when it is killed. Without `--`, a learner or annotate
must be started by hand. The driver ends with the learner, or with --until-done when nothing is wanted any more.

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
from collections import deque
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

# Units handed out per core: one in progress, and one waiting, which Ray's autoscaler takes as demand.
PENDING = 2
# Failures after which a unit is given up, if it failed on as many machines (or all) that otherwise work.
GIVEN_UP = 3
# Failures in a row after which a machine is left out, and its longest pause in seconds.
LEFT_OUT, LONGEST_PAUSE = 3, 600.0
# Most machines that a report names.
NAMED = 6
# Seconds between looks at the inbox, at the machines, between reports, and until a result that is
# still wanted counts as refused.
POLL, LOOK, REPORT, REFUSED = 0.2, 2.0, 10.0, 15.0
# Seconds over which the rate is measured.
RECENT = 300.0
# A unit that takes LATE times as long as the longest so far, and at least LATE_AT_LEAST seconds, is
# handed out a second time: its machine may be cut off without Ray having noticed.
LATE, LATE_AT_LEAST = 3, 30.0
# Seconds to wait for a cluster that is starting.
PATIENCE = 300.0
# The status of a program whose run another one holds, and the seconds to wait for it: the lock of a killed one on
# another machine ends after 120.
IN_USE, LOCKED = 75, 180.0


def say(text):
    print(f"fleet.py: {text}", file=sys.stderr, flush=True)


# --- On the machines ----------------------------------------------------------------


def child(command, **more):
    """Starts a program that the kernel kills when this process ends for any reason."""
    return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", *map(str, command)], **more)


def cache():
    """This machine's folder of files by hash."""
    folder = Path(tempfile.gettempdir()) / f"philidor-fleet-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def write(path, data, mode=0o644):
    """Writes aside, flushes and renames, so that a file is complete or absent."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(aside, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        aside.chmod(mode)
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def have(name, reference, mode=0o644):
    """The path of a file, which is fetched once per machine."""
    path = cache() / name
    if not path.exists():
        write(path, ray.get(reference), mode)
    path.touch()
    return path


def sweep(folder):
    """Removes leftovers of killed processes, and files that no unit has used for a day."""
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            writer = path.name.split("-")[1] if path.name.startswith("work-") else None
            writer = path.name.split(".")[-2] if path.name.endswith(".tmp") else writer
            if writer is not None:
                if not Path(f"/proc/{writer}").exists():
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            elif path.stat().st_mtime < time.time() - 86_400:
                path.unlink()


@ray.remote(num_cpus=1, max_retries=-1)
def work(unit, program, library, files):
    """Does a unit. Returns the node, the result's bytes or None, and an error."""
    node = ray.get_runtime_context().get_node_id()
    try:
        sweep(cache())
        with tempfile.TemporaryDirectory(prefix=f"work-{os.getpid()}-", dir=cache()) as scratch:
            return node, *done(Path(scratch), unit, program, library, files)
    except (OSError, RayError) as error:
        return node, None, f"{type(error).__name__} in {tempfile.gettempdir()}: {error}"


def done(scratch, unit, program, library, files):
    """Returns the result's bytes or None, and the program's error."""
    (scratch / "files").mkdir()
    for name, reference in files.items():
        (scratch / "files" / name).symlink_to(have(name, reference))
    (scratch / "unit.json").write_text(json.dumps(unit), encoding="utf-8")
    command = [have(*program, 0o755), "work", scratch / "unit.json", "--out", scratch / "result"]
    more = {"ORT_DYLIB_PATH": str(have(*library))} if library else {}
    process = child(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
                    env={**os.environ, **more})
    said = process.communicate()[1]
    if process.returncode:
        return None, f"status {process.returncode}: {said.strip()[-500:]}"
    return (scratch / "result").read_bytes(), ""


@ray.remote(max_restarts=-1, max_task_retries=-1)
class Learner:
    """Runs the learner's process and restarts it after a kill, as Ray restarts this actor."""

    def run(self, command, run, folder):
        return learn(command, run, folder)


def learn(command, run, folder, clock=time):
    """Runs the learner until it ends by itself; its status."""
    short, locked = 0, None
    while True:
        begun = clock.monotonic()
        resume = run and (Path(folder) / run / "state.json").exists() and "--resume" not in command
        status = child(resumed(command) if resume else command, cwd=folder).wait()
        if status == IN_USE:
            locked = begun if locked is None else locked
            if begun - locked > LOCKED:
                return status
            say("another process holds the run, perhaps a learner that was killed on another machine: waiting")
            clock.sleep(5)
            continue
        locked = None
        # A resumed learner that ends at once may have met its predecessor, which is still being killed.
        short = short + 1 if resume and clock.monotonic() - begun < 10 else 0
        if status in (0, 2) or (status > 0 and (short == 0 or short > 3)):
            return status
        say(f"the learner ended with status {status}; it is started again")
        clock.sleep(1)


def resumed(command):
    """The command that resumes a run, without --preset, which is refused beside the run's configuration."""
    if "--config" not in command:
        command = [word for before, word in zip(["", *command], command)
                   if before != "--preset" and word.split("=")[0] != "--preset"]
    return [*command, "--resume"]


# --- The driver ---------------------------------------------------------------------


class Machine:
    """A node of the cluster and its failures. `pause` is the first time in seconds that it is left out."""

    def __init__(self, node, pause):
        self.name = node["NodeManagerHostname"]
        if node["NodeName"] != node["NodeManagerAddress"]:
            self.name = node["NodeName"]
        self.address, self.cores = node["NodeManagerAddress"], node["Resources"].get("CPU", 0)
        self.pause = pause
        # Failures and pauses since the last accepted result, and the end of the current pause.
        self.row, self.pauses, self.until = 0, 0, 0.0
        self.done, self.why = 0, ""

    def __str__(self):
        return f"{self.name} ({self.address})"

    def is_left_out(self):
        return time.monotonic() < self.until

    def failed(self, why):
        """Counts a failure, except of units that the machine had when it was left out."""
        self.why = why
        if self.is_left_out():
            return
        self.row += 1
        if self.row >= LEFT_OUT:
            pause = min(self.pause * 2**self.pauses, LONGEST_PAUSE)
            self.pauses, self.until = self.pauses + 1, time.monotonic() + pause
            say(f"machine {self} is left out for {pause:.0f} s after {self.row} failures in a row, the last: {why}")

    def succeeded(self):
        self.row, self.pauses, self.until = 0, 0, 0.0


class Machines:
    """The nodes with cores, by Ray's node IDs."""

    def __init__(self, pause):
        self.pause = pause
        self.there, self.gone, self.looked = {}, {}, 0.0

    def look(self):
        """Reports which machines have joined or left."""
        if time.monotonic() - self.looked < LOOK:
            return
        first, self.looked = not self.looked, time.monotonic()
        alive = {node["NodeID"]: node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0)}
        joined = {name: self.gone.pop(name, None) or Machine(node, self.pause)
                  for name, node in alive.items() if name not in self.there}
        for name in [name for name in self.there if name not in alive]:
            machine = self.gone[name] = self.there.pop(name)
            say(f"machine {machine} has left; its units are done elsewhere")
        self.there |= joined
        if first and joined:
            say("machines: " + ", ".join(f"{machine}, {machine.cores:g} cores" for machine in joined.values()))
        elif joined:
            for machine in joined.values():
                say(f"machine {machine}, {machine.cores:g} cores, has joined")

    def of(self, node):
        return self.there.get(node) or self.gone.get(node)

    def left_out(self):
        """The IDs of the nodes that are left out."""
        return [name for name, machine in self.there.items() if machine.is_left_out()]

    def cores(self):
        return sum(machine.cores for machine in self.there.values() if not machine.is_left_out())

    def are_hopeless(self):
        """True if each machine failed again after it had been left out."""
        return bool(self.there) and all(machine.pauses > 1 for machine in self.there.values())

    def report(self):
        """The machines with their results, most first; marks machines that are left out."""
        by_results = sorted(self.there.values(), key=lambda machine: -machine.done)
        said = [f"{machine.name} {machine.done}" + (" (left out)" if machine.is_left_out() else "") for machine in by_results]
        if len(said) > NAMED:
            said = [*said[:NAMED // 2], f"{len(said) - NAMED} more", *said[-NAMED // 2:]]
        return ", ".join(said) or "no machine"


class Driver:
    """Hands out wanted units and puts their results into the inbox."""

    def __init__(self, inbox, program, library, pause):
        self.inbox = inbox
        self.program = self.shipped(program)
        self.library = self.shipped(library) if library.exists() else None
        # Ray's objects by file name; units in progress by Ray's reference; the time of each result put into the inbox.
        self.references, self.pending, self.put = {}, {}, {}
        self.machines = Machines(pause)
        # By unit: the nodes of its failures; the node of the result in the inbox, with the last refusal before.
        self.failures, self.made = {}, {}
        self.accepted, self.longest, self.recent = 0, 0.0, deque()

    @staticmethod
    def shipped(path):
        """A file's name with its hash, and its content as an object of Ray."""
        data = path.read_bytes()
        return f"{path.name}-{hashlib.sha256(data).hexdigest()[:32]}", ray.put(data)

    def wanted(self):
        """The wanted units by result file, in order, and whether no more will follow."""
        try:
            said = json.loads((self.inbox / "wanted.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}, False
        finished = bool((said.get("about") or {}).get("finished"))
        return {entry["file"]: entry for entry in said["units"]}, finished

    def files(self, names):
        """A unit's input files as objects of Ray; None if the unit is not wanted any more."""
        try:
            for name in names:
                if name not in self.references:
                    self.references[name] = ray.put((self.inbox / "files" / name).read_bytes())
        except FileNotFoundError:
            return None
        return {name: self.references[name] for name in names}

    def is_given_up(self, name):
        """True if the unit fails on several machines that otherwise work."""
        failures = self.failures.get(name, [])
        sound = {node for node in failures if (machine := self.machines.of(node)) and machine.row < LEFT_OUT}
        return len(failures) >= GIVEN_UP and len(sound) >= min(GIVEN_UP, max(1, len(self.machines.there)))

    def hand_out(self, wanted):
        most = max(PENDING * int(self.machines.cores()), 2 * PENDING)
        left_out = self.machines.left_out()
        if left_out and len(left_out) == len(self.machines.there):
            return
        place = {"label_selector": {"ray.io/node-id": f"!in({','.join(left_out)})"}} if left_out else {}
        there = {entry.name for entry in os.scandir(self.inbox)}
        late = time.monotonic() - max(LATE_AT_LEAST, LATE * self.longest)
        handed = [name for name, _, _ in self.pending.values()]
        busy = {name for name, _, begun in self.pending.values() if begun > late or handed.count(name) > 1}
        for name, entry in wanted.items():
            if len(self.pending) >= most:
                break
            if name in there or name in busy or self.is_given_up(name):
                continue
            if time.monotonic() - self.put.get(name, -REFUSED) < REFUSED:
                continue
            if (files := self.files(entry["files"])) is not None:
                reference = work.options(**place).remote(entry["unit"], self.program, self.library, files)
                self.pending[reference] = (name, entry["files"], time.monotonic())
                handed.append(name)

    def judge(self, wanted):
        """Finds out which results in the inbox were accepted or refused."""
        for name, (node, before) in list(self.made.items()):
            if (self.inbox / name).exists():
                continue
            machine = self.machines.of(node)
            if name not in wanted:
                self.accepted += 1
                if machine:
                    machine.succeeded()
            elif (reason := self.reason(name)) and reason != before:
                self.put.pop(name, None)
                if machine:
                    machine.done -= 1
                self.fail(name, node, f"its result is refused: {one_line(reason[1])}")
            else:
                continue
            del self.made[name]

    def reason(self, name):
        """An identity of the last refusal of a unit's result, and its text; None if none was refused."""
        with contextlib.suppress(FileNotFoundError):
            path = self.inbox / "refused" / f"{name}.txt"
            state = path.stat()
            return (state.st_ino, state.st_mtime_ns), path.read_text(encoding="utf-8", errors="replace")

    def fail(self, name, node, why):
        """Notes that a unit has failed on a node (None if Ray does not tell)."""
        self.failures.setdefault(name, []).append(node)
        machine = self.machines.of(node)
        if machine is None or not machine.is_left_out():
            say(f"{name} failed{f' on {machine}' if machine else ''}: {why}")
        if machine:
            machine.failed(why)
        if self.is_given_up(name):
            say(f"{name} is given up here after {len(self.failures[name])} failures; the learner does it")

    def despair(self):
        """Ends the driver if no result was ever accepted and every machine failed again after a pause."""
        if not self.accepted and not self.made and self.machines.are_hopeless():
            machine = next(iter(self.machines.there.values()))
            sys.exit(f"fleet.py: stopped: no machine has returned a good result, and each failed again after a pause. "
                     f"{machine}: {machine.why}")

    def call_off(self, wanted):
        """Cancels units that are not wanted any more, and forgets files that no unit needs."""
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
                node, result, said = ray.get(reference)
            except TaskCancelledError:
                continue
            except RayError as error:
                node, result, said = None, None, f"{type(error).__name__}: {error}"
            if result is None:
                self.fail(name, node, one_line(said))
                continue
            self.keep(name, node, result)
            self.longest = max(self.longest, time.monotonic() - begun)

    def keep(self, name, node, result):
        """Puts a result into the inbox."""
        before = self.reason(name)
        try:
            write(self.inbox / name, result)
        except OSError as error:
            sys.exit(f"fleet.py: stopped: cannot write {self.inbox / name}: {error}; run the same command to continue")
        self.put[name] = time.monotonic()
        self.made[name] = (node, before)
        self.recent.append(time.monotonic())
        if machine := self.machines.of(node):
            machine.done += 1

    def report(self, wanted, begun):
        now = time.monotonic()
        while self.recent and self.recent[0] < now - RECENT:
            self.recent.popleft()
        rate = 60 * len(self.recent) / max(min(now - begun, RECENT), 1e-3)
        given_up = sum(map(self.is_given_up, wanted))
        done = sum(machine.done for machine in [*self.machines.there.values(), *self.machines.gone.values()])
        left = f", {span(60 * len(wanted) / rate)} left for these" if wanted and rate else ""
        say(f"{done} units done, {rate:.1f} a minute; {len(wanted)} wanted{left}; {len(self.pending)} handed out"
            f"{f', {given_up} given up' if given_up else ''}; {self.machines.report()}")


def one_line(text):
    """The output of a program or of Ray in one line, without Ray's frames."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if lines and "ray::" in text and len(lines) > 1:
        lines = [lines[0], lines[-1]]
    return " ".join(lines)[-500:]


def span(seconds):
    """A duration in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def start_learner(arguments):
    """Starts the learner on a GPU if the cluster has one, else beside the driver. Returns the actor and its status."""
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
    parser.add_argument("--learner-program", type=Path,
                        help="the philidor-trainer that the learner runs [default: that of --program]")
    parser.add_argument("--onnxruntime", type=Path, default=ROOT / ".deps/lib/libonnxruntime.so",
                        help="ONNX Runtime, for networks other than the family sparse; sent along if it exists")
    parser.add_argument("--pause", type=float, default=30, metavar="SECONDS",
                        help="first pause of a machine that keeps failing [default: %(default)s]")
    parser.add_argument("--until-done", action="store_true", help="end when nothing is wanted any more")
    arguments = parser.parse_args(argv[:end])
    arguments.learner = argv[end + 1:]
    arguments.inbox = arguments.inbox.resolve()
    arguments.program = arguments.program.resolve()
    arguments.learner_program = (arguments.learner_program or arguments.program).resolve()
    for program in (arguments.program, arguments.learner_program):
        if not program.exists():
            parser.error(f"{program} is missing: cargo build --release, or name another")
    for before, word in zip(["", *arguments.learner], arguments.learner):
        config = word if before == "--config" else word.removeprefix("--config=") if word.startswith("--config=") else None
        if config is not None and not Path(config).exists():
            parser.error(f"the learner's --config {config} is missing (docs/self-play.md shows one); "
                         "--preset tiny needs none")
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


def start_here(cpus):
    """Starts a Ray of our own on this machine, even beside another head."""
    head = os.environ.pop("RAY_ADDRESS", None) or running_head()
    if head:
        say(f"a Ray head was started on this machine ({head}): --address {head} works there; this run starts its own")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Results are small: a large object store would only take memory.
    ray.init("local", num_cpus=cpus, include_dashboard=False, object_store_memory=256 << 20, log_to_driver=True)


def running_head():
    """The address of the head that `ray start` last noted here, which may have been killed."""
    with contextlib.suppress(OSError):
        return Path("/tmp/ray/ray_current_cluster").read_text(encoding="utf-8").strip() or None


def main():
    arguments = parse(sys.argv[1:])
    arguments.inbox.mkdir(parents=True, exist_ok=True)
    if arguments.address:
        connect(arguments.address)
    else:
        start_here(arguments.cpus)
    # Partial files of an earlier driver.
    for left in arguments.inbox.glob(".*.tmp"):
        left.unlink(missing_ok=True)
    driver = Driver(arguments.inbox, arguments.program, arguments.onnxruntime, arguments.pause)
    learner, learnt = start_learner(arguments) if arguments.learner else (None, None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    begun = shown = time.monotonic()
    status = 0
    while True:
        wanted, finished = driver.wanted()
        driver.machines.look()
        driver.call_off(wanted)
        driver.judge(wanted)
        driver.hand_out(wanted)
        driver.collect()
        driver.despair()
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
        sys.exit("fleet.py: stopped; run the same command to continue")
