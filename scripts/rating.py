#!/usr/bin/env python3
"""Rates the players of any games on one Elo scale, with 95 % errors.

The ratings are those under which the points of all games are likeliest (Bradley and Terry's
model, fitted as by Hunter, 2004; a draw is half a win), with one drawn game between each two that met
taken for granted, so that who has won or lost everything gets a number too: such a number
is a bound more than a measure. The errors come from drawing the pairs of games (an
opening, both colours) anew.

Example:
  scripts/rating.py runs/families.pgn --zero random
"""

import argparse
import math
import random
import sys
from collections import Counter, defaultdict
from pathlib import Path

import match

POINTS = {"1-0": 1.0, "1/2-1/2": 0.5, "0-1": 0.0}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("pgn", nargs="*", type=Path, help="finished games")
    add("--zero", help="the player whose rating is 0 (default: the mean is)")
    add("--draws", type=int, default=200, help="how often the pairs are drawn anew (default: %(default)s)")
    add("--seed", type=int, default=1, help="of those draws (default: %(default)s)")
    add("--self-test", action="store_true", help="check the arithmetic, play nothing")
    arguments = parser.parse_args()
    if not arguments.pgn and not arguments.self_test:
        parser.error("name files of games")
    return arguments


def encounters(pgns):
    """Lists of (white, black, white's points), a list for each round of each pair of players."""
    found = defaultdict(list)
    for pgn in pgns:
        for game in match.headers(pgn.read_text(encoding="utf-8")):
            points = POINTS.get(game.get("Result"))
            if points is None:
                continue
            white, black = game["White"], game["Black"]
            found[pgn, frozenset((white, black)), game.get("Round")].append((white, black, points))
    return list(found.values())


def fit(encounters, players):
    """The ratings in Elo, mean 0."""
    met, points = Counter(), Counter()
    for white, black, score in (game for games in encounters for game in games):
        met[white, black] += 1
        met[black, white] += 1
        points[white] += score
        points[black] += 1 - score
    for player, other in list(met):
        met[player, other] += 1
        points[player] += 0.5
    strength = dict.fromkeys(players, 1.0)
    for _ in range(5000):
        new = {}
        for player in players:
            share = sum(met[player, other] / (strength[player] + strength[other]) for other in players if other != player)
            new[player] = points[player] / share if share else strength[player]
        mean = math.exp(sum(map(math.log, new.values())) / len(players))
        new = {player: value / mean for player, value in new.items()}
        moved = max(abs(math.log(new[player] / strength[player])) for player in players)
        strength = new
        if moved < 1e-7:
            break
    return {player: 400 * math.log10(value) for player, value in strength.items()}


def self_test():
    """Numbers that can be worked out by hand."""

    def ratings(*games):
        return fit([list(games)], sorted({name for game in games for name in game[:2]}))

    # Three wins and a loss, and the draw that is taken for granted: 3.5 to 1.5 points.
    two = ratings(("a", "b", 1.0), ("b", "a", 0.0), ("a", "b", 1.0), ("b", "a", 1.0))
    assert math.isclose(two["a"] - two["b"], 400 * math.log10(3.5 / 1.5), abs_tol=1e-3), two
    assert math.isclose(sum(two.values()), 0.0, abs_tol=1e-6), two
    # Who never met is compared through a third, and equal results make equal steps.
    chain = ratings(("a", "b", 1.0), ("b", "c", 1.0))
    assert math.isclose(chain["a"] - chain["b"], 400 * math.log10(3), abs_tol=1e-2), chain
    assert math.isclose(chain["b"] - chain["c"], 400 * math.log10(3), abs_tol=1e-2), chain
    print("rating.py: all checks passed")


def main():
    arguments = parse()
    if arguments.self_test:
        return self_test()
    games = encounters(arguments.pgn)
    players = sorted({name for pair in games for game in pair for name in game[:2]})
    if not players:
        sys.exit("rating.py: no finished games in these files")
    if arguments.zero and arguments.zero not in players:
        sys.exit(f"rating.py: no games of {arguments.zero}: there are {', '.join(players)}")

    def rate(sample):
        ratings = fit(sample, players)
        zero = ratings[arguments.zero] if arguments.zero else 0.0
        return {player: rating - zero for player, rating in ratings.items()}

    dice = random.Random(arguments.seed)
    spread = [rate(dice.choices(games, k=len(games))) for _ in range(arguments.draws)]
    points, played = Counter(), Counter()
    for white, black, score in (game for pair in games for game in pair):
        points[white] += score
        points[black] += 1 - score
        played[white] += 1
        played[black] += 1
    print("player\tElo\t±\tgames\tscore")
    for player, rating in sorted(rate(games).items(), key=lambda item: -item[1]):
        of = sorted(draw[player] for draw in spread)
        error = (of[int(0.975 * len(of))] - of[int(0.025 * len(of))]) / 2 if of else math.nan
        print(f"{player}\t{rating:+.0f}\t{error:.0f}\t{played[player]}\t{100 * points[player] / played[player]:.1f} %")


if __name__ == "__main__":
    main()
