#!/usr/bin/env python3
"""Compares two reviews of the same games, PGN files that `philidor review` wrote with different judges.

Counts the moves that each marks ??, and how many of those the other marks ??, or ? or ??.

Example: scripts/review_agreement.py ours.pgn stockfish.pgn
"""
import argparse
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from match import require_chess  # noqa: E402

chess = require_chess()
import chess.pgn  # noqa: E402

LEVELS = {chess.pgn.NAG_BLUNDER: 3, chess.pgn.NAG_MISTAKE: 2, chess.pgn.NAG_DUBIOUS_MOVE: 1}


def win_probability(node):
    """White's win probability after the move, in per cent; None without an evaluation."""
    score = node.eval()
    if score is None:
        return None
    if score.white().is_mate():
        return 100.0 if score.white() > chess.engine.Cp(0) else 0.0
    return 100 / (1 + math.exp(-0.00368208 * score.white().score()))


def moves(path):
    """The level of each move's mark, 0 to 3, and White's win probability after it, by game."""
    with open(path, encoding="utf-8") as file:
        for game in iter(lambda: chess.pgn.read_game(file), None):
            for node in game.mainline():
                yield node.move, max((LEVELS.get(nag, 0) for nag in node.nags), default=0), win_probability(node)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    arguments = parser.parse_args()
    first, second = list(moves(arguments.first)), list(moves(arguments.second))
    if [move for move, *_ in first] != [move for move, *_ in second]:
        sys.exit("the files are not of the same games")
    levels = [(a, b) for (_, a, _), (_, b, _) in zip(first, second)]
    apart = [abs(a - b) for (_, _, a), (_, _, b) in zip(first, second) if a is not None and b is not None]
    print(f"{len(levels)} moves; win probabilities {sum(apart) / len(apart):.1f} points apart in the mean")
    for name, pairs in ((arguments.first.name, levels), (arguments.second.name, [(b, a) for a, b in levels])):
        counts = [sum(1 for a, _ in pairs if a == level) for level in (1, 2, 3)]
        blunders = [b for a, b in pairs if a == 3]
        print(f"{name}: {counts[0]} ?!, {counts[1]} ?, {counts[2]} ??; of these ?? the other marks "
              f"{blunders.count(3)} ??, {blunders.count(2)} ?, {blunders.count(1)} ?!, {blunders.count(0)} not")


if __name__ == "__main__":
    main()
