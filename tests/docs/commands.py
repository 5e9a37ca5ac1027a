#!/usr/bin/env python3
"""Runs the commands that README, CONTRIBUTING, docs/, the networks' cards and the `--help` texts show, on small data.

Usage: tests/docs/commands.py [--programs FOLDER] [--only TEXT] [--keep]

Every block of shell commands, and every command in the tables of docs/sources.md (tests/docs/rows.py), runs in one
scratch folder, page by page, with our own engine in place of Stockfish. Long commands are shortened on the way
(tests/docs/small.py): fewer games, samples, visits. A block that cannot run has `<!-- not run: reason -->` before it in
the page; these blocks are listed and counted. A block of JSON after `<!-- file: NAME -->` is written to that file, and
every other block of JSON must parse.
"""
import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / ".deps/python"))
import chess  # noqa: E402
import chess.pgn  # noqa: E402

import rows  # noqa: E402

# The tutorial comes first, because other pages use its files.
PAGES = ["docs/training.md", "README.md", "CONTRIBUTING.md", "docs/*.md", "docs/results/*.md", "nets/*.md", "packaging/*.md"]
BLOCK = re.compile(r"^(?:<!-- (not run|file): ([^\n]*?) -->\n+)?```(\w+)\n(.*?)^```", re.M | re.S)
SECONDS = 100

# Examples in `--help` that cannot run here.
HELP_NOT_RUN = {
    "fetch-games": "needs the network",
    "lichess_db_puzzle": "a download",
    "--inbox": "waits for other machines",
    "work unit.json": "needs a unit of another program",
    "fleet.py": "needs Ray",
    "convert-lc0": "needs a network of Leela's",
    "--book openings.epd": "the name of a book of your own",
    "suites/": "the name of suites of your own",
    "truth.tsv": "the name of a truth file of your own",
    "quantise": "a network of seconds is refused, as rounding changes its first choices",
    "play --elo": "a game at the terminal",
    "play --resume": "a game at the terminal",
    "NET ": "a pattern",
}


def blocks(text):
    """The blocks of a page: (kind of mark or None, its text, language, content)."""
    return [(mark[1], mark[2], mark[3], mark[4]) for mark in BLOCK.finditer(text)]


def pages():
    seen = []
    for pattern in PAGES:
        seen += [page for page in sorted(ROOT.glob(pattern)) if page not in seen]
    return seen


def games(count, plies, seed, white="A", black="B"):
    """Random games of players rated 2500, as text."""
    source, texts = random.Random(seed), []
    for number in range(count):
        board, game = chess.Board(), chess.pgn.Game()
        game.headers.update({"White": white, "Black": black, "WhiteElo": "2500", "BlackElo": "2500", "Date": "2024.01.01",
                             "Round": str(number), "Result": source.choice(["1-0", "0-1", "1/2-1/2"])})
        node = game
        for _ in range(plies):
            moves = list(board.legal_moves)
            if not moves:
                break
            move = source.choice(moves)
            node = node.add_variation(move)
            board.push(move)
        texts.append(f"{game}\n\n")
    return "".join(texts)


def zstd(data):
    """The bytes as a Zstandard frame of blocks that are not compressed."""
    frame, size = bytearray(b"\x28\xb5\x2f\xfd\x00\x38"), 1 << 17
    for start in range(0, len(data), size):
        block = data[start : start + size]
        frame += (len(block) << 3 | (start + size >= len(data))).to_bytes(3, "little") + block
    return bytes(frame)


def prepare(folder, programs):
    """Prepares programs, networks and games as the pages expect them."""
    (folder / "bin").mkdir()
    for name in ("philidor", "philidor-trainer", "stockfish"):
        (folder / "bin" / name).symlink_to(ROOT / "tests/docs/small.py")
    (folder / "target").mkdir()
    (folder / "target/release").symlink_to(programs)
    for name in ("scripts", "tests", "docs", "fastchess.json"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "nets", folder / "nets")
    (folder / "games").mkdir()
    text = games(1500, 14, 1)
    (folder / "games/lichess.pgn.zst").write_bytes(zstd(text.encode()))
    few = games(3, 24, 2)
    (folder / "games.pgn").write_text(few)
    (folder / "games.pgn.zst").write_bytes(zstd(few.encode()))
    for year in ("1960", "1961"):
        (folder / f"{year}.pgn").write_text(games(1, 10, int(year), white="Tal, Mikhail"))
    (folder / "runs").mkdir()


def copy(source, target):
    """Links a large file and copies others: the programs replace large files by renaming, so a link keeps the contents."""
    large = source.endswith((".h5", ".onnx", ".safetensors"))
    return os.link(source, target) if large else shutil.copy2(source, target)


def environment(folder, programs):
    values = dict(os.environ, PATH=f"{folder / 'bin'}:{os.environ['PATH']}", PHILIDOR_PROGRAMS=str(programs), HOME=str(folder),
                  XDG_CACHE_HOME=str(folder / "cache"), XDG_STATE_HOME=str(folder / "state"), LC_ALL="C.UTF-8")
    library = ROOT / ".deps/lib/libonnxruntime.so"
    if library.exists():
        values.setdefault("ORT_DYLIB_PATH", str(library))
    return values


def run(script, folder, values):
    """Runs a block; returns an error text or None."""
    process = subprocess.Popen(["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=values, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               start_new_session=True)
    try:
        output, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        output, _ = process.communicate()
        return f"took more than {SECONDS} s\n{output[-1500:]}"
    return None if process.returncode == 0 else f"ended with {process.returncode}\n{output[-1500:]}"


def help_examples(programs, values):
    """(program and subcommand, command) of every example in a `--help`."""
    def text_of(*words):
        result = subprocess.run([programs / words[0], *words[1:], "--help"], capture_output=True, text=True, env=values)
        return result.stdout

    for program in ("philidor", "philidor-trainer"):
        names = re.findall(r"^  ([a-z][\w-]*)  ", text_of(program).partition("Commands:")[2].partition("Options:")[0], re.M)
        words = [[program]] + [[program, name] for name in names if name != "help"]
        if "evaluate" in names:
            words += [[program, "evaluate", name] for name in
                      re.findall(r"^  ([a-z][\w-]*)  ", text_of(program, "evaluate").partition("Commands:")[2]
                                 .partition("Options:")[0], re.M) if name != "help"]
        for command in words:
            examples = text_of(*command).partition("Example")[2]
            for line in re.findall(rf"(?:^|: |\n) *((?:echo [^\n]*\| )?{program} [^\n]*)", examples):
                yield " ".join(command), line


# Files that examples of `--help` name.
HELP_SETUP = """
mkdir -p nets data runs/second
printf '%s' '{"sources": [{"name": "masters", "paths": ["data/masters-*.h5"]}], "model": {"filters": 8, "blocks": 1}}' >config.json
cp runs/first/first.onnx nets/mine.onnx
cp runs/first/first.int8.onnx new.onnx
cp runs/first/first.int8.onnx old.onnx
cp runs/first/metrics.jsonl runs/first/config.json runs/second/
cp -n runs/first/checkpoints/last.safetensors runs/first/checkpoints/best.safetensors
for name in engine mine mined deep; do cp --remove-destination data/masters-00000.h5 data/$name-00000.h5; done
"""
CHANGING = ("data", "runs")


def cleared(line):
    """A command that removes files which must not exist when an example runs."""
    words = line.split()
    if words[1] in ("mine", "self-play", "import"):
        return "find data -mindepth 1 ! -name 'masters-*' -delete\n"
    run = words[words.index("--run") + 1] if "--run" in words and "--resume" not in words else None
    return f"rm -rf {run}\n" if run and words[1] in ("train", "rl") else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=Path, default=ROOT / "target/debug")
    parser.add_argument("--only", default="", help="only the pages whose names contain this (the tutorial and README always run); help is the examples")
    parser.add_argument("--keep", action="store_true", help="keep the scratch folder")
    arguments = parser.parse_args()
    programs = arguments.programs.resolve()
    folder = Path(tempfile.mkdtemp(prefix="philidor-docs-"))
    failures, ran, not_run, slow = [], 0, [], []
    try:
        prepare(folder, programs)
        values = environment(folder, programs)

        def attempt(name, script):
            nonlocal ran
            start = time.monotonic()
            problem = run(script, folder, values)
            ran += 1
            slow.append((time.monotonic() - start, name))
            if problem:
                failures.append(f"{name}\n{script}\n{problem}")
                print(f"FAILED {name}", file=sys.stderr)

        def keep(name):
            for part in CHANGING:
                shutil.copytree(folder / part, folder / "kept" / name / part, copy_function=copy)

        def restore(name):
            for part in CHANGING:
                shutil.rmtree(folder / part, ignore_errors=True)
                shutil.copytree(folder / "kept" / name / part, folder / part, copy_function=copy)

        (folder / "data").mkdir()
        keep("nothing")
        for page in pages():
            name = str(page.relative_to(ROOT))
            if arguments.only not in name and name not in ("docs/training.md", "README.md"):
                continue
            # README and the tutorial begin without files, other pages with the tutorial's.
            if name == "README.md":
                keep("tutorial")
                shutil.rmtree(folder / "kept/tutorial/runs/rl", ignore_errors=True)
                keep("all")
            restore("nothing" if name in ("docs/training.md", "README.md") else "tutorial")
            for number, (mark, text, language, content) in enumerate(blocks(page.read_text(encoding="utf-8")), 1):
                place = f"{name}, block {number}"
                if mark == "not run":
                    not_run.append(f"{place}: {text}")
                elif language == "json":
                    try:
                        json.loads(content)
                        if mark == "file":
                            (folder / text).write_text(content)
                    except ValueError as error:
                        failures.append(f"{place}: {error}")
                elif language in ("sh", "bash"):
                    attempt(place, content)
            if name == rows.PAGE:
                for number, command in rows.commands(page.read_text(encoding="utf-8")):
                    attempt(f"{name}, line {number}", command)
        if not arguments.only or arguments.only == "help":
            restore("all")
            attempt("what examples name", HELP_SETUP)
            (folder / "runs/match.pgn").write_text(games(4, 30, 3, "New", "Stockfish 1800"))
            keep("help")
            for command, line in help_examples(programs, values):
                if "--version lists" in line:
                    continue
                reason = next((why for part, why in HELP_NOT_RUN.items() if part in line), None)
                if reason:
                    not_run.append(f"{command} --help: {line.strip()}: {reason}")
                else:
                    restore("help")
                    attempt(f"{command} --help", cleared(line) + line)
    finally:
        if arguments.keep:
            print(f"kept: {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    for line in not_run:
        print(f"not run: {line}")
    print("slowest: " + "; ".join(f"{seconds:.1f} s {name}" for seconds, name in sorted(slow, reverse=True)[:5]))
    print(f"{ran} blocks and examples ran in {sum(seconds for seconds, _ in slow):.0f} s, {len(not_run)} were not run, "
          f"{len(failures)} failed")
    for failure in failures:
        print(f"\nFAILED: {failure}", file=sys.stderr)
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
