#!/usr/bin/env python3
"""Tries an installed engine as GUIs and bots do, wherever it runs: by python-chess over pipes.

Starts it, prints the times to `uciok` and to the first move, and lets it play games against itself by a clock (standard
chess and Chess960 in turn, with pondering announced as lichess-bot does it). A loss on time, an illegal move, a closed
pipe or a missing --expect text leads to exit code 1.

Usage: scripts/try_engine.py [--games N] [--tc S+S] [--ponder] [--option NAME=VALUE]... [--expect TEXT]... -- COMMAND...
"""
import argparse
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from match import require_chess  # noqa: E402

chess = require_chess()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--games", type=int, default=1, help="games to play (default: %(default)s)")
    parser.add_argument("--tc", default="2+0.1", help="seconds for the game + seconds a move (default: %(default)s)")
    parser.add_argument("--margin", type=float, default=0.0, help="seconds of a clock that may be overstepped")
    parser.add_argument("--ponder", action="store_true", help="let the engine think on the other's time")
    parser.add_argument("--crlf", action="store_true", help="also speak UCI with CRLF line ends")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="a UCI option")
    parser.add_argument("--expect", action="append", default=[], metavar="TEXT", help="text to appear; implies --crlf")
    parser.add_argument("command", nargs="+", help="the engine's command")
    return parser.parse_args()


def first_minutes(command, options):
    """Milliseconds from the start to uciok and to the first move after a tenth of a second."""
    start = time.monotonic()
    engine = chess.engine.SimpleEngine.popen_uci(command, timeout=120)
    ready = time.monotonic()
    engine.configure(options)
    name, move = engine.id.get("name"), engine.play(chess.Board(), chess.engine.Limit(time=0.1)).move
    moved = time.monotonic()
    engine.quit()
    print(f"{name}: uciok after {1000 * (ready - start):.0f} ms, first move ({move}, of 100 ms) after "
          f"{1000 * (moved - start):.0f} ms")


def speak_crlf(command, options, expected):
    """Holds a dialogue with CRLF line ends; returns the errors."""
    lines = ["uci", *(f"setoption name {name} value {value}" for name, value in options.items())]
    lines += ["isready", "position startpos moves e2e4", "go nodes 200", ""]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write("\r\n".join(lines).encode())
    process.stdin.flush()
    said = []
    for line in process.stdout:
        said.append(line.decode(errors="replace").rstrip("\r\n"))
        if said[-1].startswith("bestmove"):
            break
    start = time.monotonic()
    process.stdin.write(b"quit\r\n")
    process.stdin.flush()
    process.wait(timeout=60)
    print(f"CRLF: {said[-1] if said else 'nothing'}, quit after {1000 * (time.monotonic() - start):.0f} ms")
    text = "\n".join(said + process.stderr.read().decode(errors="replace").splitlines())
    missing = [word for word in ["uciok", "readyok", "bestmove ", *expected] if word not in text]
    return [f"it did not say {word!r}:\n{text[-1500:]}" for word in missing]


def play(engines, board, seconds, increment, ponder, margin):
    """Plays a game; returns the termination, the slowest move in seconds, and whether it was an error."""
    clocks = [seconds, seconds]
    slowest = 0.0
    while not board.is_game_over(claim_draw=True) and board.ply() < 400:
        side = 0 if board.turn else 1
        limit = chess.engine.Limit(white_clock=clocks[0], black_clock=clocks[1], white_inc=increment, black_inc=increment)
        start = time.monotonic()
        result = engines[side].play(board, limit, game=board.root(), ponder=ponder)
        taken = time.monotonic() - start
        slowest = max(slowest, taken)
        if result.move is None or result.move not in board.legal_moves:
            return f"illegal move {result.move}", slowest, True
        clocks[side] -= taken
        if clocks[side] < -margin:
            return f"lost on time by {-1000 * clocks[side]:.0f} ms", slowest, True
        clocks[side] += increment
        board.push(result.move)
    outcome = board.outcome(claim_draw=True)
    return (f"{outcome.result()} {outcome.termination.name.lower()}" if outcome else "400 plies"), slowest, False


def main():
    config = arguments()
    options = dict(option.split("=", 1) for option in config.option)
    wrong = []
    first_minutes(config.command, options)
    if config.crlf or config.expect:
        wrong += speak_crlf(config.command, options, config.expect)
    seconds, increment = map(float, config.tc.split("+"))
    engines = [chess.engine.SimpleEngine.popen_uci(config.command, timeout=120) for _ in range(2)] if config.games else []
    for engine in engines:
        engine.configure(options)
        engine.ping()  # GUIs start no clock before the network is loaded
    lots = random.Random(1)
    for number in range(1, config.games + 1):
        chess960 = number % 2 == 0
        board = chess.Board.from_chess960_pos(lots.randrange(960)) if chess960 else chess.Board()
        for _ in range(4):
            board.push(lots.choice(list(board.legal_moves)))
        end, slowest, forfeit = play(engines, board, seconds, increment, config.ponder, config.margin)
        kind = "Chess960" if chess960 else "standard"
        print(f"game {number}, {kind}: {end} after {board.ply()} plies, slowest move {1000 * slowest:.0f} ms", flush=True)
        if forfeit:
            wrong.append(f"game {number}: {end}")
    # All at once, because Wine's services, which the first engine starts, hold its pipes until the last one ends.
    with ThreadPoolExecutor() as pool:
        list(pool.map(chess.engine.SimpleEngine.quit, engines))
    for line in wrong:
        print(f"try_engine: {line}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
