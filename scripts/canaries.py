#!/usr/bin/env python3
"""Has Stockfish check the canaries that `philidor-trainer evaluate canaries` asks networks about.

Every position and move must be legal. The moves to be played must be Stockfish's best, and better by a
margin than every other move, or mate sooner; moves to be avoided must be worse by it; mates must be
as short as promised; and what is claimed of win, draw and loss must hold for Stockfish's own numbers. Claims about
a policy are not for Stockfish to check. What fails is named by line; the exit status is 1 then.

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
    add("--nodes", type=int, default=300_000, help="of each search (default: %(default)s)")
    add("--margin", type=int, default=40, help="centipawns (default: %(default)s)")
    add("--only", nargs="*", metavar="CATEGORY", help="categories to check (default: all)")
    return parser.parse_args()


class Checker:
    def __init__(self, chess, engine, nodes, margin):
        self.chess, self.engine, self.margin = chess, engine, margin
        self.limit = chess.engine.Limit(nodes=nodes)

    def board(self, text):
        """The position of a FEN, or `startpos`, and maybe `moves …`; illegal ones raise ValueError."""
        start, _, moves = text.partition(" moves ")
        board = self.chess.Board() if start == "startpos" else self.chess.Board(start)
        if not board.is_valid():
            raise ValueError(f"no legal position: {start}")
        for move in moves.split():
            board.push_uci(move)
        if board.is_game_over() or board.is_repetition(3):
            raise ValueError(f"the game is over: {text}")
        return board

    def scores(self, board, moves, count=1):
        """The scores of the best of these moves, in centipawns for the mover, the best first."""
        moves = list(moves)
        infos = self.engine.analyse(board, self.limit, multipv=min(count, len(moves)), root_moves=moves, game=object())
        return [info["score"].relative.score(mate_score=MATE) for info in infos]

    def wdl(self, board):
        """Stockfish's own win, draw and loss, for the mover."""
        info = self.engine.analyse(board, self.limit, game=object())
        wdl = info["wdl"].relative
        win, draw, loss = (count / 1000 for count in (wdl.wins, wdl.draws, wdl.losses))
        return {"win": win, "draw": draw, "loss": loss, "q": win - loss, "total": win + draw + loss}

    def complaints(self, row):
        """What is wrong with a row, and how far the moves asked for are from the others."""
        board, kind, expected = self.board(row["position"]), row["question"], row["expected"]
        if kind in ("plays", "finds", "avoids"):
            named = {board.parse_uci(move) for move in expected.split()}
            others = [move for move in board.legal_moves if move not in named]
            good, bad = (others, named) if kind == "avoids" else (named, others)
            # Each move that may be played has to be better; of those to be avoided, none may be good.
            worst = self.scores(board, good, 1 if kind == "avoids" else len(named))[-1]
            gap = worst - self.scores(board, bad)[0]
            if gap < (1 if worst > MATE - 1000 else self.margin):
                yield f"better than the others by {gap} only"
        elif kind == "mates":
            score = self.scores(board, board.legal_moves)[0]
            if score < MATE - int(expected):
                yield f"no mate in {expected}: {score}"
        elif kind in ("says", "differs"):
            other = self.board(row["other"]) if kind == "differs" else None
            yield from self.false_claims(board, other, expected)
        else:
            yield f"unknown question: {kind}"

    def false_claims(self, board, other, expected):
        here = self.wdl(board)
        there = self.wdl(other) if other else None
        numbers = {name: here[name] - there[name] for name in here} if there else here
        if there:
            numbers["wdl"] = max(abs(numbers[name]) for name in ("win", "draw", "loss"))
            numbers["opposed"] = abs(here["q"] + there["q"])
        for claim in expected.split(","):
            name, sign, bound = claim.split()
            number = numbers.get(name)
            if number is not None and not (number > float(bound) if sign == ">" else number < float(bound)):
                yield f"{claim.strip()}, but Stockfish says {number:.3f}"


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
                complaints = list(checker.complaints(row))
            except ValueError as error:
                complaints = [str(error)]
            for complaint in complaints:
                print(f"{arguments.table.name}, line {number}, {row['id']}: {complaint}", flush=True)
            failed += bool(complaints)
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
