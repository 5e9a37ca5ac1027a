#!/usr/bin/env python3
"""Stands in for `philidor`, `philidor-trainer` and `stockfish` where tests/docs/commands.py runs the documents' commands.

Runs the program of its name from the folder PHILIDOR_PROGRAMS with smaller numbers, so that hours become a second. Only
values of options and settings of training change. For Stockfish it starts our own engine.
"""
import json
import os
import re
import sys
from pathlib import Path

# Greatest values of options, by subcommand. An option with its value in brackets is added if it is not given.
LIMITS = {
    "analyse": {}, "review": {"--nodes": [500]}, "explain": {"--nodes": [20]}, "bench": {"--visits": [10]},
    "backendbench": {"--time-ms": [20], "--repeats": [1]}, "perft": {}, "doctor": {},
    "mine": {"--games": [8], "--plies": [12], "--depth": 1, "--nodes": 20, "--movetime": 5, "--tree-paths": 20, "--engines": [1]},
    "annotate": {"--depth": 1, "--nodes": 5, "--movetime": 5, "--engines": [1]},
    "self-play": {"--games": [2]}, "arena": {"--games": [2], "--visits": [4], "--plies": [20]},
    "overfit": {"--samples": [16]}, "lr-finder": {"--steps": [10]},
    "train": {}, "rl": {"--iterations": [1]}, "evaluate": {"--positions": 40, "--nodes": 2},
    "export": {}, "quantise": {"--positions": 40},
}
# Time limits, which might end before the first iteration.
DROPPED = {"train": ["--minutes"], "rl": ["--hours"], "review": ["--time", "--quality"]}
SMALL_LEARNER = {"samples": 512, "batch": 32, "report_every": 4, "validate_every": 8}
SMALL = {
    "sparse": {**SMALL_LEARNER, "block": 4, "validation_samples": 100, "threads": 1, "warmup_samples": 32},
    "torch": {**SMALL_LEARNER, "epochs": 0, "validate_epochs": 0, "validation_batches": 2, "torch_threads": 1,
              "precision": "fp32", "warmup_steps": 2},
}
# More of them, by preset. Half of a few games are held out, lest none is.
SMALL_PRESET = {
    "mlp": {"validation_percent": 50},
    "chesstrm": {"model.width": 32, "model.heads": 4, "model.steps": 3},
    "neuralmateplay-cpu": {"model.filters": 8, "model.blocks": 3},
}
PLAY = ["visits=4", "workers=1", "max_plies=12"]
SELF_PLAY = ["games_per_iteration=4", "play.visits=4", "play.max_plies=12", "play.workers=1", "arena.every=1000"]


def value_of(words, option):
    return words[words.index(option) + 1] if option in words[:-1] else None


def settings(words):
    """The settings of a training run, from its configuration file or its folder."""
    found = {}
    for file in (value_of(words, "--config"), "--resume" in words and f"{value_of(words, '--run')}/config.json"):
        if file and Path(file).exists():
            found.update(json.loads(Path(file).read_text()))
    return found


def is_sparse(words):
    asked = settings(words)
    asked = asked.get("train", asked)
    family = asked.get("model", {}).get("family")
    start = str(settings(words).get("start", "")) + " ".join(words)
    return family == "sparse" or value_of(words, "--preset") in ("cpu", "first") and "resnet" not in start \
        or "family=sparse" in start or ".int8.onnx" in start or "philidor" in start


def shortened(words):
    """The arguments with smaller numbers."""
    command = next((word for word in words if not word.startswith("-")), None)
    if command not in LIMITS or "--help" in words:
        return words
    for option in DROPPED.get(command, []):
        if option in words:
            at = words.index(option)
            words = words[:at] + words[at + 2 :]
    for option, limit in LIMITS[command].items():
        most = limit[0] if isinstance(limit, list) else limit
        given = value_of(words, option)
        if given is not None and given.isdigit():
            words[words.index(option) + 1] = str(min(int(given), most))
        elif given is None and isinstance(limit, list):
            words += [option, str(most)]
    if words[:2] == ["evaluate", "accuracy"] and "--positions" not in words:
        words += ["--positions", "40"]
    elif command == "annotate":
        # One file of a few games in place of all.
        words = ["games.pgn" if re.search(r"masters.*\.h5$", word) else word for word in words]
        words = [word for at, word in enumerate(words) if word != "games.pgn" or at == words.index("games.pgn")]
    elif command in ("overfit", "lr-finder", "train"):
        keys = dict(SMALL["sparse" if is_sparse(words) else "torch"])
        if command == "overfit":
            keys = {"threads": 1} if is_sparse(words) else {"torch_threads": 1}
        if "--resume" in words:
            keys = {"samples": 2 * keys["samples"]}
        if is_sparse(words) and "--init" not in words and "--resume" not in words:
            keys |= {"model.policy": 128, "model.value": 64, "model.hidden": 16}
        elif "filters" in settings(words).get("model", {}) and "--resume" not in words:
            keys |= {"model.filters": 8, "model.blocks": 1}
        if "--resume" not in words:
            keys |= SMALL_PRESET.get(value_of(words, "--preset"), {})
        words += [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]
    elif command == "review":
        # The pages show alternatives for the same games.
        words.append("--force")
    elif command == "arena":
        # Classical players: one ply, ten random games a move.
        words = [re.sub(r"^((?:minimax|alpha-beta):)\d+$", r"\g<1>1", word) for word in words]
        words = [re.sub(r"^(uct(?:-value)?:)\d+$", r"\g<1>10", word) for word in words]
    elif command == "self-play":
        words += [word for key in PLAY for word in ("--set", key)]
    elif command == "rl":
        words += [word for key in SELF_PLAY for word in ("--set", key)]
        if "--resume" not in words:
            keys = {"batch": 32} | ({"threads": 1} if is_sparse(words) else {"torch_threads": 1})
            words += [word for key, value in keys.items() for word in ("--set", f"train.{key}={value}")]
    return words


def main():
    name = Path(sys.argv[0]).name
    program = Path(os.environ["PHILIDOR_PROGRAMS"]) / ("philidor" if name == "stockfish" else name)
    words = sys.argv[1:] if name == "stockfish" else shortened(sys.argv[1:])
    os.execv(program, [str(program), *words])


if __name__ == "__main__":
    main()
