#!/usr/bin/env python3
"""Measures how well the marks of `philidor review` agree with those of a deep search by another engine.

`label` has an engine judge moves drawn from the games: the best move and the move played, each with --nodes. It appends
to the labels' file and can be interrupted. `compare` prints a confusion table for each reviewed PGN: rows are the
labels, columns the marks of the review; `unclear` agrees with no label and is counted apart.

Both use the review's own scale: expected points of c centipawns are 1/(1 + e^(-c/108.6)); a loss of 0.1 is an
inaccuracy, 0.2 a mistake, 0.3 a blunder (docs/review.md).

Examples:
  scripts/review_agreement.py label tests/data/classics.pgn --engine stockfish --nodes 3000000
  philidor review tests/data/classics.pgn --quality deep --out runs/deep
  scripts/review_agreement.py compare runs/deep.pgn
"""
import argparse
import math
import random
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from match import require_chess  # noqa: E402

chess = require_chess()
import chess.engine  # noqa: E402
import chess.pgn  # noqa: E402

# Of tests/data/classics.pgn, by a Stockfish of 2026-08 with 3,000,000 nodes a search: game, ply, loss of expected
# points, whether it is the first choice, best move, move played.
LABELS = Path(__file__).resolve().parent.parent / "tests/data/review_labels.tsv"
CENTIPAWNS = 108.6
THRESHOLDS = (0.1, 0.2, 0.3)
CLASSES = ("none", "?!", "?", "??")
COLUMNS = (*CLASSES, "unclear")
LEVELS = {chess.pgn.NAG_BLUNDER: 3, chess.pgn.NAG_MISTAKE: 2, chess.pgn.NAG_DUBIOUS_MOVE: 1}
# The first moves of a game are theory more often than not.
FIRST_PLY = 8


def expected_points(score):
    """Of a python-chess score, for its own side."""
    if score.is_mate():
        return 1.0 if score > chess.engine.Cp(0) else 0.0
    return 1 / (1 + math.exp(-score.score() / CENTIPAWNS))


def level_of(loss):
    return sum(loss >= threshold for threshold in THRESHOLDS)


def games(path):
    with open(path, encoding="utf-8") as file:
        yield from iter(lambda: chess.pgn.read_game(file), None)


def drawn(path, count, seed):
    """Positions (game, ply) of `count` moves, in random order, so that an interrupted run has labels from the whole
    file."""
    moves = [(number, ply) for number, game in enumerate(games(path))
             for ply in range(FIRST_PLY, sum(1 for _ in game.mainline_moves()))]
    random.Random(seed).shuffle(moves)
    return moves[:count]


def read_labels(path):
    """By (game, ply): level of the move, whether the label's engine would have played it, and the move."""
    labels = {}
    if path.exists():
        for line in path.read_text().splitlines():
            number, ply, loss, is_first, _, played = line.split("\t")
            labels[int(number), int(ply)] = (level_of(float(loss)), is_first == "1", played)
    return labels


def label(arguments):
    all_games = list(games(arguments.games))
    done = read_labels(arguments.labels)
    arguments.labels.parent.mkdir(parents=True, exist_ok=True)
    limit = chess.engine.Limit(nodes=arguments.nodes)
    with chess.engine.SimpleEngine.popen_uci(arguments.engine) as engine, open(arguments.labels, "a") as out:
        engine.configure({"Threads": 1, "Hash": 256})
        wanted = [move for move in drawn(arguments.games, arguments.moves, arguments.seed) if move not in done]
        for index, (number, ply) in enumerate(wanted):
            board = all_games[number].board()
            moves = list(all_games[number].mainline_moves())
            for move in moves[:ply]:
                board.push(move)
            free = engine.analyse(board, limit, game=object())
            mover, best, played = board.turn, free["pv"][0], moves[ply]
            loss = 0.0
            if best != played:
                alone = engine.analyse(board, limit, root_moves=[played], game=object())
                best_alone = engine.analyse(board, limit, root_moves=[best], game=object())
                loss = expected_points(best_alone["score"].pov(mover)) - expected_points(alone["score"].pov(mover))
            is_first = int(best == played)
            words = [number, ply, f"{max(loss, 0):.4f}", is_first, board.san(best), board.san(played)]
            print(*words, sep="\t", file=out, flush=True)
            print(f"\r{index + 1} of {len(wanted)} moves", end="", file=sys.stderr)
    print(file=sys.stderr)


def reviewed(path):
    """By (game, ply): column of the move's mark, and the move."""
    marks = {}
    for number, game in enumerate(games(path)):
        for ply, node in enumerate(game.mainline()):
            level = max((LEVELS.get(nag, 0) for nag in node.nags), default=0)
            is_unclear = not level and re.search(r"(^|\] )Unclear\.", node.comment)
            marks[number, ply] = (4 if is_unclear else level, node.san())
    return marks


def compare(arguments):
    labels = read_labels(arguments.labels)
    if not labels:
        sys.exit(f"{arguments.labels}: no labels; make some with: scripts/review_agreement.py label")
    for path in arguments.reviews:
        marks = reviewed(path)
        table = [[0] * len(COLUMNS) for _ in CLASSES]
        first_choices = 0
        for move, (level, is_first, played) in sorted(labels.items()):
            if move not in marks:
                sys.exit(f"{path}: has no game {move[0] + 1} with a ply {move[1] + 1}; review the games of the labels")
            column, reviewed_move = marks[move]
            if reviewed_move != played:
                place = f"{path}: game {move[0] + 1}, ply {move[1] + 1}"
                sys.exit(f"{place} is {reviewed_move}, in the labels {played}: review the games of the labels")
            table[level][column] += 1
            first_choices += is_first and column in (1, 2, 3)
        print(f"{path}: {len(labels)} moves\n{'label':>8}" + "".join(f"{name:>9}" for name in COLUMNS))
        for name, row in zip(CLASSES, table):
            print(f"{name:>8}" + "".join(f"{count:>9}" for count in row))
        same = sum(table[level][level] for level in range(4))
        near = sum(count for level, row in enumerate(table) for column, count in enumerate(row[:4])
                   if abs(level - column) <= 1)
        unclear = sum(row[4] for row in table)
        print(f"same class {100 * same / len(labels):.1f} %, within one {100 * near / len(labels):.1f} %, "
              f"unclear {100 * unclear / len(labels):.1f} %; "
              f"{first_choices} errors marked on the label's first choice")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    labelling = commands.add_parser("label", help="label moves by an engine")
    labelling.add_argument("games", type=Path)
    labelling.add_argument("--engine", default="stockfish")
    labelling.add_argument("--nodes", type=int, default=3_000_000, help="for each search [default: %(default)s]")
    labelling.add_argument("--moves", type=int, default=600, help="how many to draw [default: %(default)s]")
    labelling.add_argument("--seed", type=int, default=1)
    labelling.set_defaults(run=label)
    comparing = commands.add_parser("compare", help="print confusion tables")
    comparing.add_argument("reviews", type=Path, nargs="+", help="PGN files that philidor review wrote")
    comparing.set_defaults(run=compare)
    labelling.add_argument("--labels", type=Path, default=Path("runs/review_labels.tsv"))
    comparing.add_argument("--labels", type=Path, default=LABELS, help="[default: %(default)s]")
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
