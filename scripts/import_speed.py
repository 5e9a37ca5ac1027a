#!/usr/bin/env python3
"""Compares the speed of `philidor-trainer import` with python-chess.

Both parse PGN, replay every move, and collect moves, evaluations and results; the trainer also decompresses the input
and writes its files. The measure is positions per second of processor time, which does not depend on threads or on
other load. python-chess reads only the first games of the file.

Example: scripts/import_speed.py games.pgn.zst --games 2000
"""

import argparse
import io
import re
import resource
import subprocess
import tempfile
import time

from match import ROOT, require_chess

chess = require_chess()
import chess.pgn  # noqa: E402


class Collector(chess.pgn.BaseVisitor):
    """Collects a game as the trainer does, without variations and text."""

    def begin_game(self):
        self.moves, self.evals, self.headers = [], [], chess.pgn.Headers({})

    def visit_header(self, name, value):
        self.headers[name] = value

    def begin_variation(self):
        return chess.pgn.SKIP

    def visit_move(self, board, move):
        self.moves.append(move.from_square | move.to_square << 6 | (move.promotion or 0) << 12)
        self.evals.append(None)

    def visit_comment(self, comment):
        if self.evals and (found := re.search(r"\[%eval ([^\],\s]+)", comment)):
            self.evals[-1] = found.group(1)

    def result(self):
        return self


def text_of(path, games):
    """The text of the first games of a PGN file, compressed or not."""
    unpack = {".zst": ["zstd", "-dc", "--long=31"], ".gz": ["gzip", "-dc"], ".bz2": ["bzip2", "-dc"]}
    command = next((words for end, words in unpack.items() if path.endswith(end)), ["cat"])
    lines, left = [], games + 1
    with subprocess.Popen([*command, path], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            left -= line.startswith("[Event ")
            if left == 0:
                break
            lines.append(line)
        process.kill()
    return "".join(lines)


def by_python_chess(text):
    """Positions and seconds of processor time."""
    stream = io.StringIO(text)
    start = time.process_time()
    games = iter(lambda: chess.pgn.read_game(stream, Visitor=Collector), None)
    return sum(len(game.moves) for game in games), time.process_time() - start


def by_trainer(path, program, games):
    """Positions and seconds of processor time."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "import", path, "--out", folder, "--max-games", str(games), "--unknown-results"]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int(re.search(r"(\d+) positions", output).group(1)), used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pgn", help="a PGN file: plain, .zst, .gz or .bz2")
    parser.add_argument("--games", type=int, default=2000, help="games for python-chess (default %(default)s)")
    parser.add_argument("--times", type=int, default=20, help="the trainer reads this many times more games (default %(default)s)")
    parser.add_argument("--trainer", default=str(ROOT / "target/release/philidor-trainer"), help="the trainer's binary (default: %(default)s)")
    arguments = parser.parse_args()
    rates = []
    # The trainer first: the decompressors of python-chess would otherwise count as its processor time.
    for name, (positions, seconds) in (
        ("trainer", by_trainer(arguments.pgn, arguments.trainer, arguments.times * arguments.games)),
        ("python-chess", by_python_chess(text_of(arguments.pgn, arguments.games))),
    ):
        rates.append(positions / seconds)
        print(f"{name:13}{positions:>9} positions in {seconds:6.1f} s: {rates[-1]:>9.0f} per second")
    print(f"ratio        {rates[0] / rates[1]:.0f}")


if __name__ == "__main__":
    main()
