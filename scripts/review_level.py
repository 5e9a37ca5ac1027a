#!/usr/bin/env python3
"""Measures the error of the level that `philidor review` estimates from accuracy, and fits its line anew.

Reads games that a review wrote, with ratings of one scale, and prints the line of mean accuracy by rating, the error of
the estimate for one game and for ten of one player, and the same if everybody were given the mean rating. The formula
and its constants are those of engine/src/apps/review/level.rs (docs/review.md). With --peers it prints instead
what players of each level do: the rows of level.rs's table.

Examples:
  philidor review lichess.pgn --quality fast --threads 1 --out runs/level
  scripts/review_level.py runs/level.pgn
  scripts/review_level.py --peers runs/level.pgn
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
# The peers' lowest ratings; expected points are 1/(1 + e^(-c/108.6)), and from WON on a position is winning.
BANDS = (0, 1200, 1400, 1600, 1800, 2000, 2200, 2400, 2600)
CENTIPAWNS, WON = 108.6, 0.85


def constants():
    found = re.findall(r"^const (\w+): \w+ = ([\d.]+);", SOURCE.read_text(), re.M)
    return {name: float(value) for name, value in found}


def win_percent(centipawns):
    return 100 / (1 + math.exp(-STEEPNESS * max(-CEILING, min(CEILING, centipawns))))


def accuracy(before, after):
    raw = 103.1668100711649 * math.exp(-0.04354415386953951 * max(before - after, 0)) - 3.166924740191411
    return max(0, min(100, raw + 1))


def white_score(node):
    """Of the position after the move; `None` without an evaluation."""
    if node.board().is_checkmate():
        return chess.engine.MateGiven if node.turn() == chess.BLACK else -chess.engine.MateGiven
    score = node.eval()
    return score and score.white()


def accuracies(game):
    """Of White's and of Black's moves; `None` if a move has no evaluation."""
    found, before = ([], []), win_percent(FIRST)
    for node in game.mainline():
        score = white_score(node)
        if score is None:
            return None
        after = win_percent(score.score(mate_score=10 * CEILING))
        side = 0 if node.turn() == chess.BLACK else 1
        found[side].append(accuracy(before, after) if side == 0 else accuracy(100 - before, 100 - after))
        before = after
    return found


def phase_after(before, board):
    """0 to 2 for opening, middlegame and endgame, as in material.rs."""
    pieces = chess.popcount(board.occupied & ~(board.kings | board.pawns))
    developed = any(chess.popcount(board.occupied_co[side] & rank) < 4
                    for side, rank in ((chess.WHITE, chess.BB_RANK_1), (chess.BLACK, chess.BB_RANK_8)))
    return max(before, 2 if pieces <= 6 else 1 if pieces <= 10 or developed else 0)


def clocks_left(game):
    """Before each move, 0 if the mover has half of the first clock time or more, 1 if a tenth or more, else 2; `None`
    if that is not known."""
    control = re.match(r"(?:\d+/)?(\d+)", game.headers.get("TimeControl", ""))
    nodes = list(game.mainline())
    base = int(control[1]) if control and any(node.clock() is not None for node in nodes) else 0
    clocks, found = [base, base], []
    for node in nodes:
        now = clocks[0]
        found.append(None if not base or now is None else 0 if now >= base / 2 else 1 if now >= base / 10 else 2)
        clocks = [clocks[1], node.clock()]
    return found


class Peers:
    """What the players of one level do: sums and counts by kind of move or chance."""

    def __init__(self):
        self.sums = defaultdict(float)
        self.counts = defaultdict(int)

    def add(self, kind, value):
        self.sums[kind] += value
        self.counts[kind] += 1

    def add_side(self, game, side, moves):
        """All of one side: 0 for White, 1 for Black."""
        def mates(score):
            return score.is_mate() and score > chess.engine.Cp(0)

        scores = [chess.engine.Cp(FIRST), *map(white_score, game.mainline())]
        own = [score if side == 0 else -score for score in scores]
        phase, clocks = 0, clocks_left(game)
        for ply, node in enumerate(game.mainline()):
            phase = phase_after(phase, node.parent.board())
            if ply % 2 != side:
                continue
            for kind in ("all", ("colour", side), ("phase", phase), ("clock", clocks[ply])):
                self.add(kind, moves[ply // 2])
            self.add("blunders", 100 * (chess.pgn.NAG_BLUNDER in node.nags))
            if mates(own[ply]):
                self.add("mates", 100 * mates(own[ply + 1]))
        points = [1 / (1 + math.exp(-score.score(mate_score=3000) / CENTIPAWNS)) for score in own]
        result = game.headers["Result"]
        if max(points) >= WON and result in ("1-0", "0-1", "1/2-1/2"):
            self.add("won", 100 * (result == ("1-0", "0-1")[side]))

    def mean(self, kind, fewest):
        if self.counts[kind] < fewest:
            sys.exit(f"{self.counts[kind]} cases of {kind} are too few for a mean: review more games")
        return f"{self.sums[kind] / self.counts[kind]:.1f}"

    def row(self, low, name, fewest=300):
        """As in level.rs. Fewer moves, or a tenth of that in games and positions, end the script."""
        def means(*kinds):
            return ", ".join(self.mean(kind, fewest) for kind in kinds)

        def parts(kind, count):
            return [(kind, part) for part in range(count)]

        accuracies = means("all", *parts("colour", 2), *parts("phase", 3))
        rest = [self.mean("blunders", fewest), self.mean("won", fewest / 10), self.mean("mates", fewest / 10)]
        return (f'peers({low}, "{name}", [{accuracies}], [{means(*parts("clock", 3))}], {", ".join(rest)}),')


def band(rating):
    return max(low for low in BANDS if low <= rating)


def level(moves, games, c):
    """The estimate of level.rs from the accuracies of all moves of some games."""
    seen = (sum(moves) / len(moves) - c["AT_ZERO"]) / c["PER_POINT"]
    variance = c["VARIANCE_OF_MOVE"] / len(moves) + c["VARIANCE_OF_GAME"] / games + c["VARIANCE_OF_PLAYER"]
    by_games, by_others = c["PER_POINT"] ** 2 / variance, c["SPREAD"] ** -2
    return (seen * by_games + c["MEAN"] * by_others) / (by_games + by_others)


def sides(paths, fewest):
    """Game, side (0 for White), rating and accuracies of each player of each game that begins at the initial
    position."""
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for game in iter(lambda: chess.pgn.read_game(file), None):
                found = None if "FEN" in game.headers else accuracies(game)
                for side, moves in enumerate(found or ()):
                    rating = game.headers.get(("WhiteElo", "BlackElo")[side], "")
                    if rating.isdecimal() and int(rating) > 0 and len(moves) >= fewest:
                        yield game, side, int(rating), moves


def print_peers(found):
    peers = {low: Peers() for low in BANDS}
    for game, side, rating, moves in found:
        peers[band(rating)].add_side(game, side, moves)
    for low, after in zip(BANDS, (*BANDS[1:], None)):
        name = f"below {after}" if low == 0 else f"{low}–{after - 1}" if after else f"{low} or more"
        print(peers[low].row(low, name))


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
    assert [round(level([93] * moves, games, c)) for moves, games in ((30, 1), (900, 30))] == [1740, 1976]
    text = ("1. f3 {[%eval -0.2]} e5 {[%eval -0.2]} 2. g4 {[%eval #-1]} Qh4# 0-1",
            "1. f3 {[%eval -0.2]} e5 2. g4 {[%eval #-1]} Qh4# 0-1")
    whole, partial = (accuracies(chess.pgn.read_game(io.StringIO(moves))) for moves in text)
    # From 48.16 to 2.46 %: 103.167 · e^(-0.04354 · 45.70) - 2.167 is 11.9.
    assert round(whole[0][1], 1) == 11.9 and whole[1] == [100, 100] and partial is None, (whole, partial)
    at_zero, slope, error = line_of([(1000, 85), (2000, 92), (3000, 99)])
    assert abs(at_zero - 78) < 1e-9 and abs(slope - 0.007) < 1e-12 and error < 1e-9
    # White has the full clock before 1. f3, and then a twelfth of it; Black, whose time is then unknown, misses mate.
    text = ("[TimeControl \"60+1\"]\n[Result \"1-0\"]\n\n"
            "1. f3 {[%eval -0.2] [%clk 0:00:05]} e5 {[%eval -0.2]} 2. g4 $4 {[%eval #-1]} a6 {[%eval 0.1]} 1-0\n")
    game = chess.pgn.read_game(io.StringIO(text))
    peers = Peers()
    for side, moves in enumerate(accuracies(game)):
        peers.add_side(game, side, moves)
    sums = {kind: (peers.counts[kind], round(value, 1)) for kind, value in peers.sums.items()}
    a, b = accuracies(game)
    assert sums["all"] == (4, round(sum(a + b), 1)) and sums["colour", 0] == (2, round(sum(a), 1)), sums
    assert sums["phase", 0][0] == 4 and sums["clock", 0] == (2, round(a[0] + b[0], 1)), sums
    assert sums["clock", 2] == (1, round(a[1], 1)) and sums["blunders"] == (4, 100), sums
    assert sums["mates"] == (1, 0) and sums["won"] == (1, 0), sums
    assert [band(rating) for rating in (600, 1199, 1200, 2599, 2600)] == [0, 0, 1200, 2400, 2600]
    phases = [phase_after(0, chess.Board(fen)) for fen in (chess.STARTING_FEN, "4k3/8/8/8/8/8/4P3/R3K3 w - - 0 1")]
    assert phases == [0, 2] and phase_after(1, chess.Board()) == 1, phases
    for kind in (("phase", 1), ("phase", 2), ("clock", 1)):
        peers.add(kind, 50)
    row = 'peers(0, "x", [52.4, 49.7, 55.2, 52.4, 50.0, 50.0], [93.8, 50.0, 11.9], 25.0, 0.0, 0.0),'
    assert peers.row(0, "x", fewest=1) == row, peers.row(0, "x", fewest=1)
    print("review_level.py: levels and accuracies agree with those worked out by hand")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reviews", type=Path, nargs="*", help="PGN files that philidor review wrote")
    parser.add_argument("--peers", action="store_true", help="print the rows of the table of peers in level.rs")
    parser.add_argument("--self-test", action="store_true", help="check the numbers against those worked out by hand")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    c = constants()
    reviewed = sides(arguments.reviews, int(c["FEWEST_MOVES"]))
    if arguments.peers:
        return print_peers(reviewed)
    found = [(game.headers[("White", "Black")[side]], rating, moves) for game, side, rating, moves in reviewed]
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
