"""Shared by the fleet's tests: a short run of rl, and checks of its folder."""

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# A network of the family sparse, from random weights, and short games: about ten seconds on one core.
SHORT = [
    "--preset", "tiny", "--set", "train.model.family=sparse", "--set", "lag=1",
    "--set", "games_per_iteration=48", "--set", "games_per_unit=4", "--set", "play.visits=16",
    "--set", "play.max_plies=80", "--set", "arena.every=2", "--set", "arena.games=62", "--set", "arena.veto_games=8",
    "--set", "arena.sanity_games=8", "--set", "arena.visits=8", "--set", "arena.rules.max_plies=40",
    "--set", "arena.rules.games=8",
]


def cluster_class():
    """Ray's class of clusters on one machine. If this Python has no Ray, runs the program again by the one that has."""
    python = ROOT / ".deps/fleet/bin/python"
    try:
        from ray.cluster_utils import Cluster
    except ImportError:
        if not python.exists() or sys.executable == str(python):
            sys.exit(f"{Path(sys.argv[0]).name}: Ray is missing: run scripts/setup.sh fleet")
        os.execv(python, [str(python), *sys.argv])
    return Cluster


def own_home(folder):
    """Gives Ray another home folder than the user's, because it keeps a token there."""
    home = Path(folder) / "home"
    home.mkdir()
    os.environ["HOME"] = str(home)


def trainer(program, *arguments, **more):
    return subprocess.run([str(program), *map(str, arguments)], check=True, capture_output=True, text=True, **more).stdout


def alone(program, run, iterations, settings=SHORT):
    """Runs rl in one process; returns its seconds."""
    begun = time.monotonic()
    trainer(program, "rl", *settings, "--run", run, "--iterations", iterations)
    return time.monotonic() - begun


def games(program, run):
    """The hashes of a run's games, after `inspect` has replayed them."""
    files = sorted((Path(run) / "games").glob("*.h5"))
    assert files, f"{run} has no games"
    trainer(program, "inspect", *files)
    found = set()
    for game in trainer(program, "export-pgn", *files).split("[Event ")[1:]:
        moves = [line for line in game.splitlines()[1:] if not line.startswith(("[Round", "[Date", "[White ", "[Black "))]
        found.add(hashlib.sha256("\n".join(moves).encode()).hexdigest())
    return found


def lines(run):
    return [json.loads(line) for line in (Path(run) / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]


def learnt(run):
    """The games, losses and arena results of a run's iterations."""
    return [(line["iteration"], line["play"]["games"], line["learn"]["policy_loss"], line.get("arena")) for line in lines(run)]


def check(program, run, inbox, single, iterations):
    """Compares a fleet's run with the same run in one process: equal games, each iteration once, nothing half done."""
    assert [line["iteration"] for line in lines(run)] == list(range(1, iterations + 1)), "each iteration once"
    ours, theirs = games(program, run), games(program, single)
    assert ours == theirs, f"{len(ours - theirs)} other games, {len(theirs - ours)} missing, of {len(theirs)}"
    assert learnt(run) == learnt(single), "it has learnt something else"
    lag = max(line["lag"]["networks"] for line in lines(run))
    assert lag <= 1, f"{lag} networks of lag"
    # A result of a unit that was finished twice may come late; nothing else is left.
    left = [path.name for path in Path(inbox).iterdir() if path.name not in ("wanted.json", "files", "refused")]
    partial = [name for name in left if name.startswith(".") or name.endswith(".tmp")]
    assert not partial, f"partial files: {partial}"
    for path in left:
        trainer(program, "inspect", Path(inbox) / path)
    counts = {"own": 0, "others": 0, "refused": 0, "duplicates": 0}
    for line in lines(run):
        for key in ("units", "arena_units"):
            for name, count in (line.get(key) or {}).items():
                counts[name] += count
    print(f"{len(ours)} games, the same as alone; lag {lag}; {counts}; left in the inbox: {left}", file=sys.stderr)
    return counts
