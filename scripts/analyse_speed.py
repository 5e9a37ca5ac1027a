#!/usr/bin/env python3
"""Compares `philidor analyse`, asked about many positions at once, with one `go nodes` after another.

Both sides search the last positions of an opening book with the same options, in turns and repeatedly, so that other
load on the machine affects both alike; each repeat starts new processes, whose caches are empty. Prints, in Markdown,
the medians of the wall-clock time and of the processor time, and their ratios.

Examples:
  scripts/analyse_speed.py --options WeightsFile=$PWD/nets/resnet.int8.onnx Threads=2
  scripts/analyse_speed.py --positions 1 --nodes 20000 --repeats 9 --options Threads=2
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import match

TICKS = os.sysconf("SC_CLK_TCK")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--engine", type=Path, default=match.ROOT / "target/release/philidor", help="(default: %(default)s)")
    add("--positions", type=int, default=100, help="(default: %(default)s)")
    add("--nodes", type=int, default=400, help="of each search (default: %(default)s)")
    add("--repeats", type=int, default=5, help="(default: %(default)s)")
    add("--options", nargs="*", default=[], metavar="NAME=VALUE", help="UCI options of both sides")
    return parser.parse_args()


def openings(chess, count):
    games = []
    with open(match.ROOT / "tests/data/openings.pgn") as file:
        while len(games) < count and (game := chess.pgn.read_game(file)):
            games.append([move.uci() for move in game.mainline_moves()])
    if len(games) < count:
        sys.exit(f"the book has {len(games)} positions only")
    return games


class Timed:
    """A process with its wall-clock and processor time since it was ready."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(self, *lines):
        self.process.stdin.write("".join(f"{line}\n" for line in lines))
        self.process.stdin.flush()

    def until(self, start):
        while not (line := self.process.stdout.readline()).startswith(start):
            if not line:
                sys.exit("the engine has ended")
        return line

    def processor(self):
        # The fields after the command's name in brackets: user and system time are the 14th and 15th of all.
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def begin(self):
        self.begun = (time.perf_counter(), self.processor())

    def end(self):
        times = (time.perf_counter() - self.begun[0], self.processor() - self.begun[1])
        self.process.stdin.close()
        self.process.wait()
        return times


def analyse(arguments, games):
    timed = Timed([arguments.engine, "analyse", *(f"--option={option}" for option in arguments.options)])
    timed.send('{"action": "version"}')
    timed.until("{")
    timed.begin()
    timed.send(*(json.dumps({"id": id, "moves": moves, "nodes": arguments.nodes}) for id, moves in enumerate(games)))
    for _ in games:
        answer = json.loads(timed.until("{"))
        if answer.get("ended") not in ("nodes", "solved"):
            sys.exit(f"unexpected answer: {answer}")
    return timed.end()


def go(arguments, games):
    timed = Timed([arguments.engine])
    for option in arguments.options:
        name, value = option.split("=", 1)
        timed.send(f"setoption name {name} value {value}")
    timed.send("setoption name UCI_AnalyseMode value true", "isready")
    timed.until("readyok")
    timed.begin()
    for moves in games:
        timed.send(f"position startpos moves {' '.join(moves)}", f"go nodes {arguments.nodes}")
        timed.until("bestmove")
    return timed.end()


def main():
    arguments = parse()
    chess = match.require_chess()
    games = openings(chess, arguments.positions)
    sides = {"analyse": (analyse, []), "go": (go, [])}
    for repeat in range(arguments.repeats):
        for name, (run, times) in sides.items():
            times.append(run(arguments, games))
            print(f"{repeat + 1}/{arguments.repeats} {name}: {times[-1][0]:.2f} s", file=sys.stderr)
    medians = [[statistics.median(time[kind] for time in times) for kind in (0, 1)] for _, times in sides.values()]
    print("| | analyse, s | go, s | ratio | ratios of the repeats |\n|---|--:|--:|--:|---|")
    for kind, name in enumerate(("time", "processor time")):
        ours, theirs = (median[kind] for median in medians)
        pairs = zip(sides["analyse"][1], sides["go"][1])
        ratios = sorted(a[kind] / b[kind] for a, b in pairs if b[kind])
        each = " ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"| {name} | {ours:.2f} | {theirs:.2f} | {ours / theirs:.2f} | {each} |")


if __name__ == "__main__":
    main()
