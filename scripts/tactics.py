#!/usr/bin/env python3
"""Counts the positions of test suites that a UCI engine solves.

A suite is a tab-separated table with a header line: `fen`, and the solution: `bm` (best moves) or `am` (moves to
avoid), both as UCI moves, or `dm` (the engine must report a mate in at most so many). Other columns are ignored.
The table goes to stdout, progress to stderr.

Examples:
  scripts/tactics.py suites/WAC.tsv suites/mates.tsv
  scripts/tactics.py suites/*.tsv --every 4 --engine-options Threads=1 --out solved.tsv
"""

import argparse
import csv
import sys
import time
from pathlib import Path

import match


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("suites", nargs="+", type=Path, help="tables of positions")
    add("--engine", default=str(match.ROOT / "target/release/philidor"), help="default: %(default)s")
    add("--engine-options", nargs="*", default=["Threads=1", "Hash=256"], metavar="NAME=VALUE",
        help="UCI options (default: Threads=1 Hash=256)")
    add("--seconds", type=float, default=1.0, help="per position (default: %(default)s)")
    add("--nodes", type=int, help="nodes per position, instead of a time")
    add("--every", type=int, default=1, metavar="N", help="use every N-th position only (default: all)")
    add("--out", type=Path, help="write one line per position to this file: suite, id, solved, move, score")
    return parser.parse_args()


def positions(suite, every):
    """The rows of a suite that have a solution; the others are reported and skipped."""
    with open(suite, encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file, delimiter="\t")):
            if number % every:
                continue
            if row.get("fen") and any(row.get(key) for key in ("bm", "am", "dm")):
                yield row
            else:
                print(f"tactics.py: {suite}, line {number + 2}: no fen, or no bm, am or dm: skipped", file=sys.stderr)


def is_solved(row, move, score):
    """Whether the move, or the score for the side to move, solves the row."""
    if row.get("bm"):
        return move in row["bm"].split()
    if row.get("am"):
        return move not in row["am"].split()
    mate = score.mate()
    return mate is not None and 0 < mate <= int(row["dm"])


def main():
    arguments = parse()
    chess = match.require_chess()
    player = match.player(None, arguments.engine, arguments.engine_options)
    limit = chess.engine.Limit(nodes=arguments.nodes) if arguments.nodes else chess.engine.Limit(time=arguments.seconds)
    rows = [(suite, row) for suite in arguments.suites for row in positions(suite, arguments.every)]
    solved, asked, lines = {}, {}, []
    began, shown = time.monotonic(), 0.0
    with chess.engine.SimpleEngine.popen_uci(player.command) as engine:
        engine.configure(player.options)
        for number, (suite, row) in enumerate(rows, 1):
            board = chess.Board(row["fen"], chess960="960" in suite.stem)
            answer = engine.play(board, limit, game=object(), info=chess.engine.INFO_SCORE)
            move, score = answer.move.uci(), answer.info["score"].relative
            good = is_solved(row, move, score)
            asked[suite] = asked.get(suite, 0) + 1
            solved[suite] = solved.get(suite, 0) + good
            lines.append("\t".join([suite.stem, row.get("id") or str(number), str(int(good)), move, str(score)]))
            passed = time.monotonic() - began
            if passed - shown > 10:
                shown = passed
                left = passed / number * (len(rows) - number)
                print(f"{number} of {len(rows)}, {sum(solved.values())} solved, {left / 60:.0f} min left", file=sys.stderr, flush=True)
    print("| suite | solved | of |\n|---|--:|--:|")
    for suite, count in asked.items():
        print(f"| {suite.stem} | {solved[suite]} | {count} |")
    print(f"| all | {sum(solved.values())} | {sum(asked.values())} |")
    if arguments.out:
        aside = arguments.out.with_suffix(arguments.out.suffix + ".part")
        aside.write_text("suite\tid\tsolved\tmove\tscore\n" + "\n".join(lines) + "\n", encoding="utf-8")
        aside.rename(arguments.out)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("tactics.py: interrupted")
