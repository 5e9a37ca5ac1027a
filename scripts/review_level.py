#!/usr/bin/env python3
"""Measures the error of the level that `philidor review` estimates from accuracy, and fits its line anew.

Reads games that a review wrote, with ratings of one scale, and prints the line of mean accuracy by rating, the error of
the estimate for one game and for ten of one player, and the same if everybody were given the mean rating. The formula
and its constants are those of engine/src/apps/review/level.rs (docs/review.md).

Example:
  philidor review lichess.pgn --quality fast --threads 1 --out runs/level
  scripts/review_level.py runs/level.pgn
"""
import argparse
import io
import math
import re
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from match import require_chess  # noqa: E402

chess = require_chess()
import chess.pgn  # noqa: E402

SOURCE = Path(__file__).resolve().parent.parent / "engine/src/apps/review/level.rs"
# Lichess's win probability and accuracy of a move; what it assumes before the first move, in centipawns.
STEEPNESS, CEILING, FIRST = 0.00368208, 1000, 15
# Of an estimate for several games.
GAMES = 10


def constants():
    found = re.findall(r"^const (\w+): \w+ = ([\d.]+);", SOURCE.read_text(), re.M)
    return {name: float(value) for name, value in found}


def win_percent(centipawns):
    return 100 / (1 + math.exp(-STEEPNESS * max(-CEILING, min(CEILING, centipawns))))


def accuracy(before, after):
    raw = 103.1668100711649 * math.exp(-0.04354415386953951 * max(before - after, 0)) - 3.166924740191411
    return max(0, min(100, raw + 1))


def accuracies(game):
    """Of White's and of Black's moves; `None` if a move has no evaluation."""
    found, before = ([], []), win_percent(FIRST)
    for node in game.mainline():
        score, board = node.eval(), node.board()
        if board.is_checkmate():
            after = win_percent(CEILING if node.turn() == chess.BLACK else -CEILING)
        elif score is None:
            return None
        else:
            after = win_percent(score.white().score(mate_score=CEILING))
        side = 0 if node.turn() == chess.BLACK else 1
        found[side].append(accuracy(before, after) if side == 0 else accuracy(100 - before, 100 - after))
        before = after
    return found


def level(moves, games, c):
    """The estimate of level.rs from the accuracies of all moves of some games."""
    seen = (sum(moves) / len(moves) - c["AT_ZERO"]) / c["PER_POINT"]
    variance = c["VARIANCE_OF_MOVE"] / len(moves) + c["VARIANCE_OF_GAME"] / games + c["VARIANCE_OF_PLAYER"]
    by_games, by_others = c["PER_POINT"] ** 2 / variance, c["SPREAD"] ** -2
    return (seen * by_games + c["MEAN"] * by_others) / (by_games + by_others)


def sides(paths, fewest):
    """Name, rating and accuracies of each player of each game that begins at the initial position."""
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for game in iter(lambda: chess.pgn.read_game(file), None):
                found = None if "FEN" in game.headers else accuracies(game)
                for side, moves in zip(("White", "Black"), found or ()):
                    rating = game.headers.get(side + "Elo", "")
                    if rating.isdecimal() and int(rating) > 0 and len(moves) >= fewest:
                        yield game.headers[side], int(rating), moves


def mean(values):
    return sum(values) / len(values)


def root_mean_square(values):
    return math.sqrt(mean([value * value for value in values]))


def line_of(points):
    """Least squares: the value at 0, the slope, and the slope's standard error."""
    x, y = (mean(values) for values in zip(*points))
    spread = sum((a - x) ** 2 for a, _ in points)
    slope = sum((a - x) * (b - y) for a, b in points) / spread
    rest = sum((b - y - slope * (a - x)) ** 2 for a, b in points)
    return y - slope * x, slope, math.sqrt(rest / (len(points) - 2) / spread)


def self_test():
    """By hand, and the numbers of level.rs's own test."""
    c = constants()
    assert [round(level([93] * moves, games, c)) for moves, games in ((30, 1), (900, 30))] == [1766, 1952]
    text = ("1. f3 {[%eval -0.2]} e5 {[%eval -0.2]} 2. g4 {[%eval #-1]} Qh4# 0-1",
            "1. f3 {[%eval -0.2]} e5 2. g4 {[%eval #-1]} Qh4# 0-1")
    whole, partial = (accuracies(chess.pgn.read_game(io.StringIO(moves))) for moves in text)
    # From 48.16 to 2.46 %: 103.167 · e^(-0.04354 · 45.70) - 2.167 is 11.9.
    assert round(whole[0][1], 1) == 11.9 and whole[1] == [100, 100] and partial is None, (whole, partial)
    at_zero, slope, error = line_of([(1000, 85), (2000, 92), (3000, 99)])
    assert abs(at_zero - 78) < 1e-9 and abs(slope - 0.007) < 1e-12 and error < 1e-9
    print("review_level.py: levels and accuracies agree with those worked out by hand")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reviews", type=Path, nargs="*", help="PGN files that philidor review wrote")
    parser.add_argument("--self-test", action="store_true", help="check the numbers against those worked out by hand")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    c = constants()
    found = list(sides(arguments.reviews, int(c["FEWEST_MOVES"])))
    ratings = [rating for _, rating, _ in found]
    if len(set(ratings)) < 3:
        sys.exit("fewer than three ratings: nothing can be fitted")
    middle, spread = mean(ratings), root_mean_square([rating - mean(ratings) for rating in ratings])
    print(f"{len(found)} sides of games, ratings {min(ratings)} to {max(ratings)}, mean {middle:.0f} ± {spread:.0f}")
    at_zero, slope, error = line_of([(rating, mean(moves)) for _, rating, moves in found])
    print(f"accuracy = {at_zero:.1f} + {slope:.5f} (± {error:.5f}) · rating; "
          f"level.rs has {c['AT_ZERO']} + {c['PER_POINT']} · rating")
    errors = [level(moves, 1, c) - rating for _, rating, moves in found]
    print(f"one game: error {root_mean_square(errors):.0f}, of it {mean(errors):+.0f} in the mean")
    for low in range(600, 3000, 400):
        band = [error for error, rating in zip(errors, ratings) if low <= rating < low + 400]
        if band:
            print(f"  {low} to {low + 399}: {len(band)} sides, error {root_mean_square(band):.0f}, "
                  f"{mean(band):+.0f} in the mean")
    players = defaultdict(list)
    for name, rating, moves in found:
        players[name].append((rating, moves))
    tens = [games[first:first + GAMES] for games in players.values()
            for first in range(0, len(games) - GAMES + 1, GAMES)]
    if tens:
        errors = [level([a for _, moves in ten for a in moves], GAMES, c) - mean([r for r, _ in ten]) for ten in tens]
        print(f"{GAMES} games of one player: error {root_mean_square(errors):.0f} in {len(tens)} sets of "
              f"{len(set(name for name, games in players.items() if len(games) >= GAMES))} players")
    print(f"the mean rating for everybody: error {spread:.0f}")


if __name__ == "__main__":
    main()
