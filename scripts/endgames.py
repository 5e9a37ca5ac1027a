#!/usr/bin/env python3
"""Lets a UCI engine win won endgames against a defence that is as long as possible.

For each class of material, named as Syzygy names its tables (KRvK, KQvKR), random positions are drawn in which the
first side moves and wins by the tables within the fifty-move rule. The engine plays that side; the defender plays by
the tables in the folder: the best result it can reach, then the longest distance to the next capture or pawn move. A
game counts as drawn as soon as the win is gone. Every class of up to four men in the folder is played by default.

With --defender a UCI engine defends instead, for classes without tables: a position then is won if the defender itself
gives the first side at least --won centipawns, and a game is drawn by the rules or after 200 moves.

The results go to stdout as a table, progress to stderr.

Examples:
  scripts/endgames.py ~/syzygy --classes KRvK KBBvK KBNvK --games 100 --visits 400
  scripts/endgames.py --defender stockfish --classes KRPPvKR KBBPvKN --games 20
"""

import argparse
import random
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import match

# Draws of a random position before a class counts as having no wins.
TRIES = 20_000
# Moves after which a game against an engine is drawn.
LONGEST = 200


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("tables", nargs="?", type=Path, help="the defender's folder of Syzygy tables (WDL and DTZ)")
    add("--defender", metavar="COMMAND", help="UCI engine that defends instead of the tables")
    add("--defender-nodes", type=int, default=100_000, help="nodes per move of --defender (default: %(default)s)")
    add("--won", type=int, default=600, metavar="CP", help="score of a position that counts as won (default: %(default)s)")
    add("--classes", nargs="+", metavar="CLASS", help="default: all tables of three and four men")
    add("--games", type=int, default=100, help="games per class (default: %(default)s)")
    add("--visits", type=int, default=400, help="nodes per move of the engine (default: %(default)s)")
    add("--engine", default=str(match.ROOT / "target/release/philidor"), help="default: %(default)s")
    add("--engine-options", nargs="*", default=["Threads=1", "Hash=64"], metavar="NAME=VALUE",
        help="UCI options (default: Threads=1 Hash=64)")
    add("--min-dtz", type=int, default=1, metavar="PLIES",
        help="only positions whose next capture, pawn move or mate is at least this far away (default: %(default)s)")
    add("--seed", type=int, default=1, help="seed of the positions (default: %(default)s)")
    add("--failures", type=Path, help="write the positions that were not won to this file, one FEN with moves per line")
    arguments = parser.parse_args()
    if bool(arguments.tables) == bool(arguments.defender):
        parser.error("name either a folder of tables or a --defender")
    if arguments.defender and not arguments.classes:
        parser.error("--defender needs --classes")
    return arguments


class TableDefender:
    """Judges positions and defends by Syzygy tables."""

    def __init__(self, folder):
        import chess.syzygy

        self.tables = chess.syzygy.open_tablebase(str(folder))

    def wins(self, board, min_dtz):
        return self.tables.probe_wdl(board) == 2 and self.tables.probe_dtz(board) >= min_dtz

    def has_escaped(self, board):
        """Whether the side to move, the defender, is no longer lost."""
        return self.tables.probe_wdl(board) > -1

    def move(self, board):
        def resistance(move):
            board.push(move)
            wdl, dtz = self.tables.probe_wdl(board), abs(self.tables.probe_dtz(board))
            board.pop()
            return -wdl, dtz

        return max(board.legal_moves, key=resistance)

    def close(self):
        self.tables.close()


class EngineDefender:
    """Judges positions and defends by a UCI engine."""

    def __init__(self, command, nodes, won):
        self.engine = match.require_chess().engine.SimpleEngine.popen_uci(match.player(None, command, []).command)
        self.limit, self.won = match.require_chess().engine.Limit(nodes=nodes), won

    def wins(self, board, min_dtz):
        score = self.engine.analyse(board, self.limit, game=object())["score"].relative
        # Mates in a few moves are no test of technique.
        return not score.is_mate() and score.score() >= self.won

    def has_escaped(self, board):
        return board.fullmove_number > LONGEST

    def move(self, board):
        return self.engine.play(board, self.limit).move

    def close(self):
        self.engine.quit()


@dataclass
class Count:
    """The results of a class."""

    won: int = 0
    drawn: int = 0
    lost: int = 0
    plies: list = field(default_factory=list)

    def line(self, name):
        mean = f"{statistics.mean(self.plies):.0f}" if self.plies else "–"
        longest = max(self.plies, default="–")
        games = self.won + self.drawn + self.lost
        return f"| {name} | {games} | {self.won} | {self.drawn} | {self.lost} | {mean} | {longest} |"


def classes_of(folder):
    """The names of the tables of at most four men."""
    names = {path.stem for path in folder.glob("*.rtbw")}
    return sorted(name for name in names if len(name.replace("v", "")) <= 4)


def draw_position(chess, name, defender, min_dtz, chance):
    """A random position that white, to move, wins; None if none was found."""
    strong, weak = name.split("v")
    men = [(letter, chess.WHITE) for letter in strong] + [(letter, chess.BLACK) for letter in weak]
    for _ in range(TRIES):
        board = chess.Board(None)
        for square, (letter, colour) in zip(chance.sample(range(64), len(men)), men):
            board.set_piece_at(square, chess.Piece(chess.PIECE_SYMBOLS.index(letter.lower()), colour))
        if board.is_valid() and not board.is_game_over() and defender.wins(board, min_dtz):
            # Half of the games with colours exchanged.
            return board if chance.random() < 0.5 else board.mirror()
    return None


def play(board, engine, limit, defender):
    """Plays out a game with the engine to move. Returns 1, 0 or -1 for the engine."""
    side, token = board.turn, object()
    while True:
        if board.is_checkmate():
            return 1 if board.turn != side else -1
        if (board.is_stalemate() or board.is_insufficient_material() or board.halfmove_clock >= 100
                or board.is_repetition(3)):
            return 0
        if board.turn == side:
            board.push(engine.play(board, limit, game=token).move)
        elif not board.is_checkmate() and any(board.legal_moves) and defender.has_escaped(board):
            return 0
        else:
            board.push(defender.move(board))


def main():
    arguments = parse()
    chess = match.require_chess()
    player = match.player(None, arguments.engine, arguments.engine_options)
    if arguments.defender:
        defender = EngineDefender(arguments.defender, arguments.defender_nodes, arguments.won)
    else:
        defender = TableDefender(arguments.tables)
    names = arguments.classes or classes_of(arguments.tables)
    limit = chess.engine.Limit(nodes=arguments.visits)
    total, failures = Count(), []
    began, shown, done = time.monotonic(), 0.0, 0
    print("| class | games | won | drawn | lost | plies, mean | longest |\n|---|--:|--:|--:|--:|--:|--:|", flush=True)
    with chess.engine.SimpleEngine.popen_uci(player.command, timeout=60) as engine:
        engine.configure(player.options)
        for name in names:
            count, chance = Count(), random.Random(f"{arguments.seed} {name}")
            for _ in range(arguments.games):
                board = draw_position(chess, name, defender, arguments.min_dtz, chance)
                if board is None:
                    break
                fen = board.fen()
                result = play(board, engine, limit, defender)
                for one in (count, total):
                    one.won, one.drawn, one.lost = (
                        one.won + (result > 0), one.drawn + (result == 0), one.lost + (result < 0))
                    if result > 0:
                        one.plies.append(len(board.move_stack))
                if result <= 0:
                    failures.append(f"{fen} moves {' '.join(move.uci() for move in board.move_stack)}")
                done += 1
                passed = time.monotonic() - began
                if passed - shown > 10:
                    shown = passed
                    left = passed / done * (len(names) * arguments.games - done)
                    print(f"{name}: {done} games, {total.won} won, about {left / 60:.0f} min left", file=sys.stderr, flush=True)
            if count.won + count.drawn + count.lost:
                print(count.line(name), flush=True)
            else:
                print(f"{name}: no won position found", file=sys.stderr, flush=True)
    print(total.line("all"))
    defender.close()
    if arguments.failures:
        arguments.failures.write_text("".join(line + "\n" for line in failures), encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("endgames.py: interrupted")
