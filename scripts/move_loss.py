#!/usr/bin/env python3
"""Compares two settings of an engine by the moves that they choose, without playing games.

Both settings choose a move in positions from games. A deep search of a judge then values the moves in which they
differ. The result is the mean difference in expected points a move, where 100 points are a won game, with its 95 %
interval; positions of one game count as one observation. A positive number is in favour of the second setting. The
clock plays no part.

For scale: with `sparse-15`, 20,000 nodes instead of 10,000 are worth 0.30 ± 0.14 points a move.

Chosen moves and values are kept in --folder, and reused where engine, options, nodes and position are the same. A
program or a network is the same if its file is; a network that an option names without a path is known by its name.

Examples:
  scripts/move_loss.py games.pgn --second-options CPuct=0.8
  scripts/move_loss.py games.pgn --nodes 60000 --positions 2000 --second-options WeightsFile=new.onnx
  scripts/move_loss.py games.pgn --second-nodes 20000 --judge /usr/games/stockfish
"""

import argparse
import fcntl
import hashlib
import json
import math
import random
import signal
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import match

# Positions are taken from these plies on, but not from a game's last ones.
FIRST_PLY, LAST_PLIES = 16, 8
# With fewer the interval means little.
FEWEST_GAMES = 20


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("games", nargs="*", type=Path, help="PGN files")
    add("--positions", type=int, default=4000, help="number of positions (default: %(default)s)")
    add("--each", type=int, default=8, help="most positions of one game (default: %(default)s)")
    add("--seed", type=int, default=1, help="seed that chooses the positions (default: %(default)s)")
    add("--nodes", type=int, default=10_000, help="nodes a move (default: %(default)s)")
    add("--second-nodes", type=int, help="nodes a move of the second setting (default: --nodes)")
    for side in ("first", "second"):
        add(f"--{side}", default=str(match.ROOT / "target/release/philidor"), help="engine (default: %(default)s)")
        add(f"--{side}-options", nargs="*", default=[], metavar="NAME=VALUE",
            help="UCI options beside Threads=1 and Hash=64, or instead of them")
    add("--judge", default="stockfish", help="engine that values the moves (default: %(default)s)")
    add("--depth", type=int, default=14, help="depth of the judge's searches (default: %(default)s)")
    add("--folder", type=Path, default=Path("runs/move_loss"),
        help="folder for chosen moves and values (default: %(default)s)")
    add("--self-test", action="store_true", help="check the numbers against those worked out by hand")
    return parser.parse_args()


def positions(chess, paths, count, each, seed):
    """Pairs of a game's number and a board with its moves, in an order that depends on the seed alone."""
    found, rng, number = [], random.Random(seed), 0
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as file:
            for game in iter(lambda: chess.pgn.read_game(file), None):
                number += 1
                if game.errors:
                    print(f"move_loss.py: {path}, game {number}: {game.errors[0]}: skipped", file=sys.stderr)
                    continue
                moves, board, plies = list(game.mainline_moves()), game.board(), []
                for ply, move in enumerate(moves):
                    if FIRST_PLY <= ply < len(moves) - LAST_PLIES and board.legal_moves.count() > 1:
                        plies.append(ply)
                    board.push(move)
                for ply in rng.sample(plies, min(each, len(plies))):
                    found.append((number, game, moves[:ply]))
    rng.shuffle(found)
    for number, game, moves in found[:count]:
        board = game.board()
        for move in moves:
            board.push(move)
        yield number, board


def digest(*parts):
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]


def identity(player):
    """The program and its options, files by their content."""
    def of(value):
        path = Path(value)
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else value
    return [of(player.command), sorted((name, of(value)) for name, value in player.options.items())]


def kept_lines(path):
    """The whole lines of a file; an unfinished last one is cut off."""
    if not path.exists():
        return []
    text = path.read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    if whole != text:
        with open(path, "r+b") as file:
            file.truncate(len(whole))
    return whole.decode().splitlines()


class Progress:
    def __init__(self, what, total):
        self.what, self.total, self.began, self.shown = what, total, time.monotonic(), 0.0

    def show(self, done):
        passed = time.monotonic() - self.began
        if passed - self.shown > 5:
            self.shown, rate = passed, done / passed
            left = (self.total - done) / rate
            print(f"{self.what}: {done} of {self.total}, {rate:.1f}/s, {left:.0f} s left", file=sys.stderr, flush=True)


def locked(path):
    """Opens a file to append to it; one command at a time may."""
    file = open(path, "a", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(f"move_loss.py: {path}: another command is writing to it; wait for it, or name another --folder")
    return file


def choose(chess, player, nodes, boards, path, what):
    """The moves that a player chooses, by the position's key."""
    with locked(path) as file:
        moves = dict(line.split("\t") for line in kept_lines(path))
        missing = [key for key in boards if key not in moves]
        progress = Progress(what, len(missing))
        if missing:
            with chess.engine.SimpleEngine.popen_uci(player.command) as engine:
                engine.configure(player.options)
                for done, key in enumerate(missing, 1):
                    limit = chess.engine.Limit(nodes=nodes)
                    moves[key] = engine.play(boards[key], limit, game=object()).move.uci()
                    print(key, moves[key], sep="\t", file=file, flush=True)
                    progress.show(done)
    return moves


def value(chess, engine, board, move, depth):
    """Expected points of the side that makes the move, from 0 to 100."""
    after = board.copy()
    after.push_uci(move)
    if after.is_checkmate():
        return 100.0
    if after.is_game_over() or after.is_repetition(3) or after.is_fifty_moves():
        return 50.0
    info = engine.analyse(after, chess.engine.Limit(depth=depth), game=object())
    wdl = info["wdl"] if "wdl" in info else info["score"].wdl()
    return 100 * (1 - wdl.relative.expectation())


def judged(chess, judge, depth, wanted, path):
    """Values of (position, move) pairs, by pair."""
    values = {}
    with locked(path) as file:
        for line in kept_lines(path):
            key, move, points = line.split("\t")
            values[key, move] = float(points)
        missing = [pair for pair in wanted if pair not in values]
        progress = Progress("judging", len(missing))
        if missing:
            with chess.engine.SimpleEngine.popen_uci(judge) as engine:
                if "UCI_ShowWDL" in engine.options:
                    engine.configure({"UCI_ShowWDL": True})
                for done, (key, move) in enumerate(missing, 1):
                    values[key, move] = value(chess, engine, wanted[key, move], move, depth)
                    print(key, move, f"{values[key, move]:.4f}", sep="\t", file=file, flush=True)
                    progress.show(done)
    return values


def summary(games, differences):
    """Mean, and half the width of its 95 % interval with positions of one game as one observation."""
    mean = sum(differences) / len(differences)
    of_game = defaultdict(float)
    for game, difference in zip(games, differences):
        of_game[game] += difference - mean
    squares = sum(error * error for error in of_game.values()) * len(of_game) / (len(of_game) - 1)
    return mean, 1.96 * math.sqrt(squares) / len(differences)


def self_test():
    # By hand: errors 1.5, 0.5 | -0.5 | -1.5, so 2, -0.5 and -1.5 by game; 1.96 * sqrt(6.5 * 3 / 2) / 4.
    mean, error = summary([1, 1, 2, 3], [3.0, 2.0, 1.0, 0.0])
    assert mean == 1.5 and abs(error - 1.5300) < 1e-4, (mean, error)
    chess = match.require_chess()
    classics = [match.ROOT / "tests/data/classics.pgn"]
    drawn = [(game, board.fen(), len(board.move_stack)) for game, board in positions(chess, classics, 30, 4, 1)]
    again = [(game, board.fen(), len(board.move_stack)) for game, board in positions(chess, classics, 30, 4, 1)]
    assert drawn == again and len(drawn) == 30 == len(set(drawn)) and min(ply for _, _, ply in drawn) >= FIRST_PLY
    assert max(sum(game == other for other, _, _ in drawn) for game, _, _ in drawn) <= 4
    mate = chess.Board("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1")
    stalemate = chess.Board("7k/8/8/6Q1/8/8/8/6K1 w - - 0 1")
    assert [value(chess, None, mate, "a1a8", 1), value(chess, None, stalemate, "g5g6", 1)] == [100, 50]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "moves.txt"
        path.write_text("a\te2e4\nb\td2")
        assert kept_lines(path) == ["a\te2e4"] and path.read_text() == "a\te2e4\n"
    print("move_loss.py: means, intervals and positions agree with those worked out by hand")


def main():
    arguments = parse()
    if arguments.self_test:
        return self_test()
    if not arguments.games:
        sys.exit("move_loss.py: name the PGN files of games (--help)")
    chess = match.require_chess()
    players = [match.player(None, command, ["Threads=1", "Hash=64", *options])
               for command, options in ((arguments.first, arguments.first_options),
                                        (arguments.second, arguments.second_options))]
    judge = match.player(None, arguments.judge, [])
    games, boards = {}, {}
    for game, board in positions(chess, arguments.games, arguments.positions, arguments.each, arguments.seed):
        key = digest(board.root().fen(), [move.uci() for move in board.move_stack])
        games.setdefault(key, game)
        boards[key] = board
    count = len(set(games.values()))
    if count < FEWEST_GAMES:
        sys.exit(f"move_loss.py: {count} games have positions; it takes {FEWEST_GAMES}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    nodes = [arguments.nodes, arguments.second_nodes or arguments.nodes]
    paths = [arguments.folder / f"moves-{digest(identity(player), count)}.tsv" for player, count in zip(players, nodes)]
    first, second = (choose(chess, *what, boards, path, name)
                     for what, path, name in zip(zip(players, nodes), paths, ("first", "second")))
    differ = [key for key in boards if first[key] != second[key]]
    wanted = {(key, move): boards[key] for key in differ for move in (first[key], second[key])}
    path = arguments.folder / f"values-{digest(identity(judge), arguments.depth)}.tsv"
    values = judged(chess, judge.command, arguments.depth, wanted, path)
    differences = [values[key, second[key]] - values[key, first[key]] if first[key] != second[key] else 0.0
                   for key in boards]
    mean, error = summary([games[key] for key in boards], differences)
    print(f"second - first: {mean:+.3f} ± {error:.3f} expected points a move (95 %); "
          f"{len(differ)} of {len(boards)} moves differ")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        main()
    except KeyboardInterrupt:
        print("move_loss.py: stopped; the same command goes on from here", file=sys.stderr)
        sys.exit(130)
    except (OSError, EOFError, RuntimeError) as error:
        sys.exit(f"move_loss.py: {error}")
