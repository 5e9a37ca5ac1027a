#!/usr/bin/env python3
"""Checks the canaries of `philidor-trainer evaluate canaries` with Stockfish.

Every position and move must be legal. Expected moves must be better than all others by a margin, or mate sooner. Moves
to avoid must be worse by that margin. Mates must be as short as expected, and bounds on win, draw and loss must hold
for Stockfish's WDL. Bounds on the policy are not checked. Lists failures by line, and then exits with status 1.

Examples:
  scripts/canaries.py
  scripts/canaries.py --nodes 2000000 --only zugzwang fortress
"""

import argparse
import csv
import sys
import time
from pathlib import Path

import match

# More than any score in centipawns.
MATE = 100_000


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("table", nargs="?", type=Path, default=match.ROOT / "trainer/data/canaries.tsv", help="default: %(default)s")
    add("--stockfish", default="/usr/games/stockfish", help="default: %(default)s")
    add("--nodes", type=int, default=300_000, help="nodes per search (default: %(default)s)")
    add("--margin", type=int, default=40, help="minimum margin in centipawns (default: %(default)s)")
    add("--only", nargs="*", metavar="CATEGORY", help="categories to check (default: all)")
    return parser.parse_args()


class Checker:
    def __init__(self, chess, engine, nodes, margin):
        self.chess, self.engine, self.margin = chess, engine, margin
        self.limit = chess.engine.Limit(nodes=nodes)

    def board(self, text):
        """The position of a FEN, or `startpos`, optionally followed by `moves …`. Raises ValueError if it is illegal."""
        start, _, moves = text.partition(" moves ")
        board = self.chess.Board() if start == "startpos" else self.chess.Board(start)
        if not board.is_valid():
            raise ValueError(f"not a legal position: {start}")
        for move in moves.split():
            board.push_uci(move)
        if board.is_game_over() or board.is_repetition(3):
            raise ValueError(f"the game is over: {text}")
        return board

    def scores(self, board, moves, count=1):
        """The scores of the `count` best of these moves, in centipawns for the mover, best first."""
        moves = list(moves)
        infos = self.engine.analyse(board, self.limit, multipv=min(count, len(moves)), root_moves=moves, game=object())
        return [info["score"].relative.score(mate_score=MATE) for info in infos]

    def wdl(self, board):
        """Stockfish's WDL for the mover, with Q and the total."""
        info = self.engine.analyse(board, self.limit, game=object())
        wdl = info["wdl"].relative
        win, draw, loss = (count / 1000 for count in (wdl.wins, wdl.draws, wdl.losses))
        return {"win": win, "draw": draw, "loss": loss, "q": win - loss, "total": win + draw + loss}

    def failures(self, row):
        """Yields the faults of a row."""
        board, kind, expected = self.board(row["position"]), row["question"], row["expected"]
        if kind in ("plays", "finds", "avoids"):
            named = {board.parse_uci(move) for move in expected.split()}
            others = [move for move in board.legal_moves if move not in named]
            good, bad = (others, named) if kind == "avoids" else (named, others)
            # The worst expected move must be better than all others; the best move must be better than all to avoid.
            worst = self.scores(board, good, 1 if kind == "avoids" else len(named))[-1]
            gap = worst - self.scores(board, bad)[0]
            if gap < (1 if worst > MATE - 1000 else self.margin):
                yield f"better than the others by only {gap}"
        elif kind == "mates":
            score = self.scores(board, board.legal_moves)[0]
            if score < MATE - int(expected):
                yield f"no mate in {expected}: {score}"
        elif kind in ("says", "differs"):
            other = self.board(row["other"]) if kind == "differs" else None
            yield from self.failed_bounds(board, other, expected)
        else:
            yield f"unknown question: {kind}"

    def failed_bounds(self, board, other, expected):
        here = self.wdl(board)
        there = self.wdl(other) if other else None
        numbers = {name: here[name] - there[name] for name in here} if there else here
        if there:
            numbers["wdl"] = max(abs(numbers[name]) for name in ("win", "draw", "loss"))
            numbers["opposed"] = abs(here["q"] + there["q"])
        for condition in expected.split(","):
            name, sign, bound = condition.split()
            number = numbers.get(name)
            if number is not None and not (number > float(bound) if sign == ">" else number < float(bound)):
                yield f"{condition.strip()}, but Stockfish says {number:.3f}"


def main():
    arguments = parse()
    chess = match.require_chess()
    with open(arguments.table, encoding="utf-8", newline="") as file:
        lines = [(number, line) for number, line in enumerate(file, 1) if not line.startswith("#")]
    table = csv.DictReader((line for _, line in lines), delimiter="\t", quoting=csv.QUOTE_NONE, restval="")
    rows = [(number, row) for (number, _), row in zip(lines[1:], table)]
    rows = [(number, row) for number, row in rows if not arguments.only or row["category"] in arguments.only]
    failed, began, shown = 0, time.monotonic(), 0.0
    with chess.engine.SimpleEngine.popen_uci(arguments.stockfish, timeout=60) as engine:
        engine.configure({"Threads": 1, "Hash": 64, "UCI_ShowWDL": True})
        checker = Checker(chess, engine, arguments.nodes, arguments.margin)
        for done, (number, row) in enumerate(rows, 1):
            try:
                failures = list(checker.failures(row))
            except ValueError as error:
                failures = [str(error)]
            for failure in failures:
                print(f"{arguments.table.name}, line {number}, {row['id']}: {failure}", flush=True)
            failed += bool(failures)
            passed = time.monotonic() - began
            if passed - shown > 10:
                shown = passed
                left = passed / done * (len(rows) - done)
                print(f"{done} of {len(rows)}, {left:.0f} s left", file=sys.stderr, flush=True)
    print(f"{len(rows) - failed} of {len(rows)} canaries hold")
    return failed > 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("canaries.py: interrupted")
