#!/usr/bin/env python3
"""Measures Philidor's UCI_Elo on the scale of Stockfish's UCI_Elo.

Each level plays a match (scripts/match.py) against Stockfish limited to the same
rating. If the score is below 10 % or above 90 %, it plays another match against a
Stockfish 300 points weaker or stronger, and so on.

A level far below Stockfish's lowest rating (1350 in Stockfish 15) plays against our
next level instead, which was measured before; the squares of both errors add up. The
table goes to stdout, the games to a folder. A match whose games exist already is
counted, not played again. `philidor-trainer rate` does the arithmetic of every match.

Examples:
  scripts/strength.py --quick
  scripts/strength.py --levels 800 1100 1400 1700 --games 100 --concurrency 2
"""

import argparse
import math
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import match

# Approximate range of ratings of Stockfish 15 to 17; and how far below it is too far.
WEAKEST, STRONGEST, TOO_FAR = 1350, 2850, 200
# Scores beyond which a match says little; how far away the next opponent is, and how many are tried.
LOPSIDED, STEP, TRIES = (0.1, 0.9), 300, 3


@dataclass
class Rated:
    """A level's place on Stockfish's scale, with the half-width of its 95 % interval."""

    rating: float
    error: float
    bound: str = ""  # "at most" or "at least", after a clean sweep

    def text(self):
        if math.isnan(self.rating):
            return "unknown"
        if self.bound:
            return f"{self.bound} {self.rating:.0f}"
        return f"{self.rating:.0f} ± {self.error:.0f}"


def rated(report, opponent):
    """The level's rating from its match against a rated opponent.

    A clean sweep has no rating of its own: the end of its one-sided interval stands for it.
    """
    elo, low, high = report.elo, report.low, report.high
    if low is None and high is None:
        return Rated(math.nan, 0.0)
    if elo is None:
        return Rated(opponent.rating + (high if low is None else low), 0.0, "at most" if low is None else "at least")
    # The interval is asymmetric far from 50 %, and one end may be open: then twice the other half.
    if low is None or high is None:
        half = 2 * (high - elo if low is None else elo - low)
    else:
        half = (high - low) / 2
    return Rated(opponent.rating + elo, math.hypot(half, opponent.error), opponent.bound)


def opponent_of(level, above):
    """Who plays against a level: (options, name, rating); `above` is the next level and its rating."""
    if level < WEAKEST - TOO_FAR and above:
        name, own = above
        return None, f"Philidor {name}", own
    elo = min(max(level, WEAKEST), STRONGEST)
    return elo, f"Stockfish {elo}", Rated(elo, 0.0)


def next_opponent(elo, score):
    """The Stockfish to play next, if the match against this one was too one-sided and there is one."""
    step = STEP if score > LOPSIDED[1] else -STEP if score < LOPSIDED[0] else 0
    other = min(max(elo + step, WEAKEST), STRONGEST)
    return other if other != elo else None


def play(arguments, level, stockfish, opponent_name, above):
    """Plays the level's match, unless its games exist, and returns its report."""
    pgn = arguments.out / f"{level}-{opponent_name.replace(' ', '')}.pgn"
    name = f"Philidor {level}"
    if not pgn.exists():
        ours = [*arguments.engine_options, f"UCI_Elo={level}"]
        command = [sys.executable, str(Path(__file__).with_name("match.py"))]
        command += ["--engine", arguments.engine, "--name", name, "--engine-options", *ours]
        if stockfish:
            theirs = ["Threads=1", f"UCI_Elo={stockfish}"]
            command += ["--opponent", arguments.stockfish]
        else:
            theirs = [*arguments.engine_options, f"UCI_Elo={above}"]
            command += ["--opponent", arguments.engine]
        command += ["--opponent-name", opponent_name, "--opponent-options", *theirs]
        command += ["--tc", arguments.tc, "--games", str(arguments.games), "--pgn", str(pgn)]
        command += ["--concurrency", str(arguments.concurrency)]
        # The table replaces match.py's report; progress goes to stderr. A match with forfeits ends with an error
        # status, but counts.
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    report = match.count(pgn, name)
    if report is None:
        sys.exit(f"strength.py: no game of {name} was finished")
    return report


def self_test():
    """Numbers that can be checked by hand."""
    def games(*results):
        """The report on pairs of games of A, first with White."""
        colours = ("A", "B"), ("B", "A")
        rows = [(n, *colours[game], pair[game], "normal") for n, pair in enumerate(results) for game in (0, 1)]
        return match.counted(rows, "A")

    # Scores of the pairs 3/4 and 0: mean 3/8, which is 89 Elo below the opponent.
    report = games(("1-0", "1/2-1/2"), ("0-1", "1-0"))
    assert report.pairs == [1, 0, 0, 1, 0] and round(rated(report, Rated(1500, 0.0)).rating) == 1411
    # Both sides win a pair: the scores 1 and 0 leave both ends open.
    assert rated(games(("1-0", "0-1"), ("0-1", "1-0")), Rated(1500, 30.0)).text() == "unknown"
    even = match.Report(wins=2, losses=2, elo=0.0, low=-40.0, high=40.0)
    assert rated(even, Rated(1500, 30.0)) == Rated(1500.0, 50.0)
    # Ten losses of ten: at most 183 below, as match.py has it.
    swept = rated(games(*[("0-1", "1-0")] * 5), Rated(1350, 0.0))
    assert swept.text() == "at most 1167"
    assert opponent_of(1500, None) == (1500, "Stockfish 1500", Rated(1500, 0.0))
    assert opponent_of(1200, None)[0] == WEAKEST
    assert opponent_of(800, (1150, Rated(1100, 40.0))) == (None, "Philidor 1150", Rated(1100, 40.0))
    assert [next_opponent(elo, score) for elo, score in ((1800, 0.05), (1800, 0.5), (1800, 0.95), (1350, 0.0))] == [
        1500, None, 2100, None
    ]
    assert next_opponent(1400, 0.0) == WEAKEST
    print("strength.py: ratings agree with the numbers worked out by hand")


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--engine", default=str(match.ROOT / "target/release/philidor"), help="our engine (default: %(default)s)")
    add("--engine-options", nargs="*", default=["Threads=1", "Hash=64", "MoveOverhead=10"], metavar="NAME=VALUE",
        help="its other UCI options (default: Threads=1 Hash=64 MoveOverhead=10)")
    add("--stockfish", default="stockfish", help="the reference engine (default: %(default)s)")
    add("--levels", nargs="+", type=int, default=[800, 1100, 1400, 1700], metavar="ELO",
        help="values of UCI_Elo (default: 800 1100 1400 1700)")
    add("--tc", default="3+0.1", help="seconds for the game + seconds a move (default: %(default)s)")
    add("--games", type=int, default=60, help="per level, an even number (default: %(default)s)")
    add("--concurrency", type=int, default=1, help="games at once (default: %(default)s)")
    add("--out", type=Path, help="folder of the games (default: a new one in runs/)")
    add("--quick", action="store_true", help="a quick measurement: 14 games each of levels 1100, 1400 and 1700 at 1+0.05")
    add("--self-test", action="store_true", help="check the ratings against numbers worked out by hand")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.levels, arguments.games, arguments.tc = [1100, 1400, 1700], 14, "1+0.05"
    return arguments


def main():
    arguments = parse()
    if arguments.self_test:
        return self_test()
    # A missing trainer must fail before hours of games, not after them.
    match.trainer()
    if not arguments.out:
        arguments.out = match.ROOT / time.strftime("runs/strength-%Y%m%d-%H%M%S")
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows, above = [], None
    for level in sorted(set(arguments.levels), reverse=True):
        stockfish, name, opponent = opponent_of(level, above)
        block, tried = [], set()
        for _ in range(TRIES):
            report = play(arguments, level, stockfish, name, above[0] if above else None)
            rating = rated(report, opponent)
            forfeits = sum(report.forfeits["us"].values())
            block.append(
                f"| {level} | {name} | +{report.wins} ={report.draws} −{report.losses} "
                f"| {100 * report.score:.1f} % | {rating.text()} | {forfeits or 'none'} |"
            )
            tried.add(stockfish)
            stockfish = stockfish and next_opponent(stockfish, report.score)
            if not stockfish or stockfish in tried:
                break
            name, opponent = f"Stockfish {stockfish}", Rated(stockfish, 0.0)
        rows = block + rows
        above = level, rating
    print("| UCI_Elo | opponent | + = − | score | rating on Stockfish's scale (95 %) | forfeits |")
    print("|---|---|---|---|---|---|")
    print("\n".join(rows))
    print(f"\n{arguments.tc}, {arguments.games} games a level, games in {arguments.out}")


if __name__ == "__main__":
    main()
