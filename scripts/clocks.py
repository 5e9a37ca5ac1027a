#!/usr/bin/env python3
"""Reads the clocks in the games of a match: how much of its time each player left unused.

The PGN must hold the time left after every move, as fastchess writes it (`tl=0.996s`; scripts/match.py asks for it).
For each player it prints the time left at the end, as a share of base and increments and as a share of the base, the
lowest clock of any game, and the mean time left after each tenth of its moves.

Example: scripts/clocks.py runs/match.pgn
"""

import argparse
import re
from collections import defaultdict
from pathlib import Path

TAG = re.compile(r'^\[(\w+) "([^"]*)"\]', re.M)
LEFT = re.compile(r"tl=(-?[\d.]+)s")
# Games of fewer moves a side say nothing about the division of the clock.
SHORTEST = 10


def games(text):
    """The tags and the comments of each game."""
    for game in re.split(r"(?m)^(?=\[Event )", text):
        tags = dict(TAG.findall(game))
        if tags:
            yield tags, re.findall(r"\{([^}]*)\}", game)


def clocks(text):
    """Base, increment and the clock after every own move, in seconds, by player and game."""
    found = defaultdict(list)
    for tags, comments in games(text):
        control = re.fullmatch(r"([\d.]+)(?:\+([\d.]+))?", tags.get("TimeControl", ""))
        left = [LEFT.search(comment) for comment in comments]
        left = [float(one[1]) for one in left if one]
        if not control or not left:
            continue
        black_first = tags.get("FEN", " w ").split()[1:2] == ["b"]
        for side, name in enumerate((tags["White"], tags["Black"])):
            own = left[side ^ black_first :: 2]
            if len(own) >= SHORTEST:
                found[name].append((float(control[1]), float(control[2] or 0), own))
    return found


def report(name, played):
    """A few lines on one player."""
    given = [base + increment * len(own) for base, increment, own in played]
    share = sum(own[-1] for _, _, own in played) / sum(given)
    of_base = sum(own[-1] / base for base, _, own in played) / len(played)
    moves = sorted(len(own) for _, _, own in played)
    tenths = [
        sum(own[min(len(own) * tenth // 10, len(own) - 1)] / base for base, _, own in played) / len(played)
        for tenth in range(10)
    ]
    lowest = min(min(own) for _, _, own in played)
    curve = " ".join(f"{100 * tenth:.0f}" for tenth in tenths)
    return (
        f"{name}: {len(played)} games of {SHORTEST} moves or more (median {moves[len(moves) // 2]}); left at the end "
        f"{100 * share:.1f} % of all time, {100 * of_base:.1f} % of the base; lowest clock {lowest:.3f} s\n"
        f"  % of the base left by tenths of the game: {curve}"
    )


def self_test():
    """A game whose clocks can be divided by hand."""
    moves = " ".join(f"{n}. e4 {{0.1s, tl={10 - n * 0.5:.3f}s}} e5 {{0.1s, tl={10 - n:.3f}s}}" for n in range(1, 11))
    header = '[Event "x"]\n[White "A"]\n[Black "B"]\n[TimeControl "10+1"]\n'
    found = clocks(f"{header}\n{moves} *\n\n{header}\n1. e4 {{0.1s, tl=9.9s}} *\n")
    # A has 5 s of 10 + 10 · 1, B none; the second game is too short.
    assert [len(games) for games in found.values()] == [1, 1]
    assert "left at the end 25.0 % of all time, 50.0 % of the base" in report("A", found["A"])
    assert "left at the end 0.0 %" in report("B", found["B"])
    black = clocks(header + '[FEN "8/8/8/8/8/8/8/8 b - - 0 1"]\n\n' + moves)
    assert black["B"][0][2][0] == 9.5, "the side to move comes first"
    print("clocks.py: shares agree with those worked out by hand")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pgn", type=Path, nargs="*", help="games with their clocks")
    parser.add_argument("--self-test", action="store_true", help="check the shares against numbers worked out by hand")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    for pgn in arguments.pgn:
        found = clocks(pgn.read_text(encoding="utf-8"))
        print(f"{pgn}: {'' if found else 'no game with clocks'}")
        for name, played in sorted(found.items()):
            print(report(name, played))


if __name__ == "__main__":
    main()
