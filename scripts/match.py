#!/usr/bin/env python3
"""Plays a match between two UCI engines and reports score, Elo and forfeits.

The games are played by fastchess if it is found, else by python-chess; either
writes a PGN, and the report is made from that PGN alone. Each opening is played
twice with colours swapped, and the error of the Elo is that of those pairs
(pentanomial), since the two games of a pair share their opening's luck.

Examples:
  scripts/match.py --opponent-options UCI_Elo=1350 --games 40
  scripts/match.py --opponent scripts/random_mover.py --games 40 --tc 1+0.1
  scripts/match.py --opponent target/release/philidor --opponent-name Without --nodes 400 --games 100 \
    --engine-options Threads=1 --opponent-options Threads=1 TreeReuse=false
  scripts/match.py --count runs/match.pgn --name Philidor
"""

import argparse
import asyncio
import math
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEED_CHESS = """this needs fastchess (in the PATH, or named by FASTCHESS or --fastchess) or python-chess:
run scripts/setup.sh, which puts it into .deps/python."""


def require_chess():
    """Imports python-chess, from the repository's own folder if Python has none."""
    sys.path.append(str(ROOT / ".deps/python"))
    try:
        import chess.engine
        import chess.pgn
    except ImportError:
        sys.exit(NEED_CHESS)
    return chess


# --- Statistics: a PGN's headers in, a report out --------------------------------

FORFEITS = {"time forfeit": "time", "illegal move": "illegal", "abandoned": "crash"}
# Two-sided 95 %, and one-sided 95 % for a clean sweep.
Z, ONE_SIDED = 1.959964, 0.05
# Seconds that a move of fixed nodes may take before the engine counts as hanging.
FIXED_NODES_CLOCK = 120.0


@dataclass
class Report:
    """Everything from the first player's point of view; a pair's points are 0 to 2."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    pairs: Counter = field(default_factory=Counter)
    single: int = 0
    unfinished: int = 0
    forfeits: dict = field(default_factory=lambda: {"us": Counter(), "them": Counter()})

    @property
    def games(self):
        return self.wins + self.draws + self.losses

    @property
    def score(self):
        return (self.wins + self.draws / 2) / max(self.games, 1)

    def elo(self):
        """(elo, low, high): the estimate and its 95 % interval from the pairs; ends may be infinite."""
        n = sum(self.pairs.values())
        if n == 0:
            return math.nan, math.nan, math.nan
        mean = sum(points / 2 * count for points, count in self.pairs.items()) / n
        variance = sum((points / 2 - mean) ** 2 * count for points, count in self.pairs.items()) / n
        error = Z * math.sqrt(variance / n)
        return elo_of(mean), elo_of(mean - error), elo_of(mean + error)

    def text(self, us, them):
        elo, low, high = self.elo()
        if math.isinf(elo):
            # All games alike leave no variance: with true score s, n wins have the chance s^n.
            bound = elo_of(ONE_SIDED ** (1 / self.games))
            elo_text = f"at least {bound:+.0f}" if elo > 0 else f"at most {-bound:+.0f}"
        elif math.isnan(elo):
            elo_text = "unknown (no complete pair)"
        elif math.isinf(high - low):
            elo_text = f"{elo:+.1f}, at {'least ' if math.isinf(high) else 'most '}{low if math.isinf(high) else high:+.1f}"
        else:
            elo_text = f"{elo:+.1f} ± {(high - low) / 2:.1f}"
        pairs = " ".join(str(self.pairs[points]) for points in (0, 0.5, 1, 1.5, 2))
        lines = [
            f"{us} against {them}: {self.games} games, +{self.wins} ={self.draws} -{self.losses}, "
            f"score {100 * self.score:.1f} %, Elo {elo_text} (95 %)",
            f"pairs by points 0, ½, 1, 1½, 2: {pairs}",
        ]
        for name, counts in ((us, self.forfeits["us"]), (them, self.forfeits["them"])):
            lines.append(
                f"forfeits of {name}: {counts['time']} on time, {counts['illegal']} illegal moves, "
                f"{counts['crash']} crashes or stalls"
            )
        if self.single or self.unfinished:
            lines.append(f"left out: {self.unfinished} unfinished games, {self.single} without a partner (Elo only)")
        return "\n".join(lines)


def elo_of(score):
    """The Elo difference at which this share of the points is expected."""
    if score <= 0:
        return -math.inf
    if score >= 1:
        return math.inf
    return -400 * math.log10(1 / score - 1)


def headers(pgn):
    """The tags of each game of a PGN text."""
    for block in re.split(r"^(?=\[Event )", pgn, flags=re.M):
        tags = dict(re.findall(r'^\[(\w+) "(.*)"\]$', block, flags=re.M))
        if tags:
            yield tags


def count(pgn, us):
    """Counts the games of a PGN text for the player `us`; games of one Round are a pair."""
    report, rounds = Report(), defaultdict(list)
    for tags in headers(pgn):
        if us not in (tags["White"], tags["Black"]):
            continue
        white = tags["White"] == us
        if tags["Result"] not in ("1-0", "0-1", "1/2-1/2"):
            report.unfinished += 1
            continue
        points = {"1-0": 1, "0-1": 0, "1/2-1/2": 0.5}[tags["Result"]]
        points = points if white else 1 - points
        report.wins += points == 1
        report.draws += points == 0.5
        report.losses += points == 0
        rounds[tags["Round"]].append(points)
        kind = FORFEITS.get(tags.get("Termination"))
        if kind:
            report.forfeits["them" if points == 1 else "us"][kind] += 1
    for points in rounds.values():
        if len(points) == 2:
            report.pairs[sum(points)] += 1
        else:
            report.single += len(points)
    return report


def self_test():
    """Numbers that can be checked by hand."""
    game = '[Event "x"]\n[Round "{}"]\n[White "{}"]\n[Black "{}"]\n[Result "{}"]\n[Termination "{}"]\n\n1. e4 {}\n\n'
    rows = [
        (1, "A", "B", "1-0", "normal"),  # round 1: A wins both, 2 points
        (1, "B", "A", "0-1", "time forfeit"),
        (2, "A", "B", "1/2-1/2", "normal"),  # round 2: two draws, 1 point
        (2, "B", "A", "1/2-1/2", "normal"),
        (3, "A", "B", "1-0", "normal"),  # round 3: a win each, 1 point
        (3, "B", "A", "1-0", "illegal move"),
        (4, "A", "B", "1/2-1/2", "normal"),  # round 4: draw and loss, ½ point
        (4, "B", "A", "1-0", "abandoned"),
        (5, "A", "B", "*", "unterminated"),  # not counted
    ]
    report = count("".join(game.format(*row, row[3]) for row in rows), "A")
    assert (report.wins, report.draws, report.losses, report.unfinished) == (3, 3, 2, 1)
    assert report.pairs == Counter({2: 1, 1: 2, 0.5: 1})
    assert report.forfeits["us"] == Counter(illegal=1, crash=1)
    assert report.forfeits["them"] == Counter(time=1)
    # Scores of the pairs 1, ½, ½, ¼: mean 9/16, deviations 7/16, -1/16, -1/16, -5/16, whose
    # squares sum to 76/256; variance 19/256, error of the mean 1.96 · √19/32 = 0.26698.
    # 9/16 - 0.26698 = 0.29552 and 9/16 + 0.26698 = 0.82948, which are 151 Elo below and 275 above.
    elo, low, high = report.elo()
    assert abs(elo - 400 * math.log10(9 / 7)) < 1e-9
    assert (round(low), round(high)) == (-151, 275)
    # Ten of ten: a player who scores s = 0.05^(1/10) = 0.741 does it once in twenty; Elo +183.
    sweep = Report(wins=10, pairs=Counter({2: 5}))
    assert sweep.elo()[0] == math.inf and "at least +183" in sweep.text("A", "B")
    assert "unknown" in Report().text("A", "B")
    print("match.py: statistics agree with the numbers worked out by hand")


# --- Players ---------------------------------------------------------------------


@dataclass
class Player:
    name: str
    command: str
    options: dict
    # A move's nodes, where they are fixed.
    nodes: int | None


def player(name, command, options, nodes=None):
    """A player whose command is found, with its options as a dictionary."""
    found = shutil.which(command) or shutil.which(command, path="/usr/games")
    if not found:
        sys.exit(f"match.py: no such program: {command}")
    table = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals:
            sys.exit(f"match.py: option {option!r} is not of the form NAME=VALUE")
        table[key] = value
    if "UCI_Elo" in table:
        table = {"UCI_LimitStrength": "true", **table}
    if not name:
        name = Path(command).stem + (f" {table['UCI_Elo']}" if "UCI_Elo" in table else "")
    return Player(name, os.path.abspath(found), table, nodes)


def play_fastchess(fastchess, players, arguments):
    """Plays through fastchess; its chatter is reduced to a line a game on stderr."""
    book = Path(arguments.book)
    command = [fastchess]
    for one in players:
        limit = f"nodes={one.nodes}" if one.nodes else f"tc={arguments.tc}"
        command += ["-engine", f"name={one.name}", f"cmd={one.command}", limit]
        command += [f"option.{key}={value}" for key, value in one.options.items()]
    command += ["-openings", f"file={book}", f"format={book.suffix[1:]}", "order=sequential"]
    command += ["-rounds", str(arguments.games // 2), "-games", "2", "-recover", "-ratinginterval", "0"]
    command += ["-concurrency", str(arguments.concurrency), "-autosaveinterval", "0"]
    command += ["-pgnout", f"file={arguments.pgn}", "nodes=true", "nps=true", "timeleft=true"]
    if arguments.chess960:
        command += ["-variant", "fischerandom"]
    if arguments.strict:
        command += ["-strict"]
    if arguments.adjudicate:
        command += ["-resign", "movecount=5", "score=700", "twosided=true"]
        command += ["-draw", "movenumber=40", "movecount=8", "score=8"]
    # Its saved state goes beside the games, not into whatever folder we stand in.
    command += ["-config", f"outname={arguments.pgn.with_suffix('.fastchess.json')}"]
    # Others' warnings are many: Stockfish, when limited, plays other moves than it shows.
    shown = ("Finished game", "Fatal", "Error", *(("Warning",) if arguments.strict else ()))
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        for line in process.stdout:
            if line.startswith(shown) or "loses on time" in line:
                print(line, end="", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        pass  # the terminal has interrupted fastchess too: let it finish its files
    return process.wait()


# --- python-chess, where there is no fastchess -------------------------------------


class PythonMatch:
    """The same match by python-chess: rules, clocks and tags as fastchess has them."""

    def __init__(self, players, arguments):
        self.chess = require_chess()
        self.players, self.arguments = players, arguments
        self.base, self.increment = (float(part) for part in arguments.tc.split("+"))
        self.openings = self.read_book(Path(arguments.book))
        self.finished = 0
        self.started = time.monotonic()

    def read_book(self, path):
        """Start boards, moves included where the book has them."""
        chess, boards = self.chess, []
        with open(path, encoding="utf-8") as file:
            if path.suffix == ".pgn":
                while game := chess.pgn.read_game(file):
                    boards.append(game.end().board())
            else:
                for line in filter(str.strip, file):
                    board = chess.Board()
                    board.set_epd(line.strip()) if ";" in line else board.set_fen(line.strip())
                    boards.append(board)
        if not boards:
            sys.exit(f"match.py: no openings in {path}")
        return boards

    async def play(self):
        rounds = list(range(self.arguments.games // 2))[::-1]
        await asyncio.gather(*(self.worker(rounds) for _ in range(self.arguments.concurrency)))

    async def worker(self, rounds):
        engines = {}
        try:
            while rounds:
                number = rounds.pop()
                opening = self.openings[number % len(self.openings)]
                for white, black in (self.players, self.players[::-1]):
                    await self.game(engines, number + 1, opening.copy(), white, black)
        finally:
            for engine in engines.values():
                await self.leave(engine)

    async def leave(self, engine):
        try:
            await asyncio.wait_for(engine.quit(), 5)
        except Exception:  # dead or deaf: it is killed either way
            self.kill(engine)

    def kill(self, engine):
        try:
            engine.transport.kill()
        except ProcessLookupError:
            pass

    async def engine(self, engines, one):
        if one.name not in engines:
            try:
                start = self.chess.engine.popen_uci(one.command, stderr=subprocess.DEVNULL)
                _, engine = await asyncio.wait_for(start, 10)
                await engine.configure(one.options)
            except (OSError, asyncio.TimeoutError, self.chess.engine.EngineError) as error:
                sys.exit(f"match.py: {one.name} does not start: {error or 'no answer to uci'}")
            engines[one.name] = engine
        return engines[one.name]

    async def game(self, engines, number, board, white, black):
        chess, moves = self.chess, []
        clocks, token, start = {True: self.base, False: self.base}, object(), board.copy()
        result, termination = None, "normal"
        for one in (white, black):
            await self.engine(engines, one)
        while result is None:
            one = white if board.turn else black
            engine = await self.engine(engines, one)
            if one.nodes:
                limit = chess.engine.Limit(nodes=one.nodes)
                clocks[board.turn] = FIXED_NODES_CLOCK
            else:
                limit = chess.engine.Limit(
                    white_clock=clocks[True], black_clock=clocks[False],
                    white_inc=self.increment, black_inc=self.increment,
                )
            began = time.monotonic()
            try:
                # A second of grace tells an engine that is late from one that hangs.
                answer = await asyncio.wait_for(engine.play(board, limit, game=token), clocks[board.turn] + 1)
                if answer.move is None:
                    raise chess.engine.EngineError("no move")
            except asyncio.TimeoutError:
                termination = "time forfeit"
            except chess.engine.EngineTerminatedError:
                termination = "abandoned"
            except chess.engine.EngineError:
                termination = "illegal move"
            else:
                clocks[board.turn] -= time.monotonic() - began
                if clocks[board.turn] < 0:
                    termination = "time forfeit"
            if termination != "normal":
                self.kill(engines.pop(one.name))
                result = "0-1" if board.turn else "1-0"
                break
            clocks[board.turn] += self.increment
            board.push(answer.move)
            moves.append(answer.move)
            result = self.result(board)
        self.write(number, white, black, start, moves, result, termination)

    def result(self, board):
        """The result by rule, if the game has ended: draws are not waited to be claimed."""
        outcome = board.outcome()
        if outcome:
            return outcome.result()
        return "1/2-1/2" if board.halfmove_clock >= 100 or board.is_repetition(3) else None

    def write(self, number, white, black, start, moves, result, termination):
        game = self.chess.pgn.Game.from_board(start)
        tags = {
            "Event": "Match", "Site": "?", "Date": time.strftime("%Y.%m.%d"), "Round": str(number),
            "White": white.name, "Black": black.name, "Result": result,
        }
        setup = {key: game.headers[key] for key in ("SetUp", "FEN") if key in game.headers}
        game.headers = self.chess.pgn.Headers({**tags, **setup})
        game.headers["Termination"] = termination
        game.headers["TimeControl"] = self.arguments.limit
        game.end().add_line(moves)
        with open(self.arguments.pgn, "a", encoding="utf-8") as file:
            print(game, file=file, end="\n\n")
        self.finished += 1
        each = (time.monotonic() - self.started) / self.finished
        left = each * (self.arguments.games - self.finished)
        print(
            f"game {self.finished} of {self.arguments.games}: {white.name} {result} {black.name} ({termination}), "
            f"{len(moves)} plies; {each:.0f} s a game, {left / 60:.0f} min left",
            file=sys.stderr, flush=True,
        )


# --- Command line ------------------------------------------------------------------


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--engine", default=str(ROOT / "target/release/philidor"), help="our engine (default: %(default)s)")
    add("--engine-options", nargs="*", default=["Threads=1", "Hash=64"], metavar="NAME=VALUE",
        help="its UCI options (default: Threads=1 Hash=64)")
    add("--name", help="its name in the report (default: the program's)")
    add("--opponent", default="stockfish", help="the other engine (default: %(default)s)")
    add("--opponent-options", nargs="*", default=[], metavar="NAME=VALUE",
        help="its UCI options; UCI_Elo switches UCI_LimitStrength on (default: none)")
    add("--opponent-name", help="its name in the report (default: the program's, and its UCI_Elo)")
    add("--tc", default="1+0.1", help="seconds for the game + seconds a move (default: %(default)s)")
    add("--nodes", type=int, help="this many nodes a move instead of a clock")
    add("--opponent-nodes", type=int,
        help="the opponent's, where they differ: by their speeds, for equal time on a busy machine (default: --nodes)")
    add("--adjudicate", action="store_true",
        help="end games that both engines see as won (7 pawns, 5 moves) or drawn (after move 40); fastchess only")
    add("--chess960", action="store_true", help="Chess960; the book's positions are such; fastchess only")
    add("--strict", action="store_true",
        help="end the match at fastchess's first warning (a variation that is illegal or goes on past the end, …)")
    add("--games", type=int, default=40, help="an even number (default: %(default)s)")
    add("--book", default=str(ROOT / "tests/data/openings.pgn"), help=".pgn or .epd (default: %(default)s)")
    add("--concurrency", type=int, default=1, help="games at once (default: %(default)s)")
    add("--pgn", type=Path, help="where the games go (default: a new file in runs/)")
    add("--fastchess", default=os.environ.get("FASTCHESS", "fastchess"),
        help="the fastchess program; 'none' for python-chess (default: FASTCHESS, or the one in the PATH)")
    add("--count", type=Path, metavar="PGN", help="play nothing, report on these games of --name")
    add("--self-test", action="store_true", help="check the statistics against hand-worked numbers")
    arguments = parser.parse_args()
    if not re.fullmatch(r"\d+(\.\d+)?\+\d+(\.\d+)?", arguments.tc):
        parser.error("--tc is seconds+seconds, as in 1+0.1")
    if arguments.opponent_nodes and not arguments.nodes:
        parser.error("--opponent-nodes goes with --nodes")
    arguments.opponent_nodes = arguments.opponent_nodes or arguments.nodes
    arguments.limit = arguments.tc
    if arguments.nodes:
        arguments.limit = f"{arguments.nodes} nodes a move"
        if arguments.opponent_nodes != arguments.nodes:
            arguments.limit += f" against {arguments.opponent_nodes}"
    if arguments.games < 2 or arguments.games % 2 or arguments.concurrency < 1:
        parser.error("--games must be even and positive, --concurrency positive")
    return arguments


def main():
    arguments = parse()
    if arguments.self_test:
        return self_test()
    if arguments.count:
        name = arguments.name or Path(arguments.engine).stem
        report = count(arguments.count.read_text(encoding="utf-8"), name)
        return print(report.text(name, "all others"))
    us = player(arguments.name, arguments.engine, arguments.engine_options, arguments.nodes)
    them = player(
        arguments.opponent_name, arguments.opponent, arguments.opponent_options, arguments.opponent_nodes)
    if us.name == them.name:
        sys.exit("match.py: both players are called the same: use --name")
    if not arguments.pgn:
        arguments.pgn = ROOT / time.strftime("runs/match-%Y%m%d-%H%M%S.pgn")
    if arguments.pgn.exists():
        sys.exit(f"match.py: {arguments.pgn} is there already: name another file")
    arguments.pgn.parent.mkdir(parents=True, exist_ok=True)
    fastchess = shutil.which(arguments.fastchess)
    status = 0
    if fastchess:
        status = play_fastchess(fastchess, [us, them], arguments)
    else:
        match = PythonMatch([us, them], arguments)
        try:
            asyncio.run(match.play())
        except KeyboardInterrupt:
            print("interrupted: reporting on the games that are finished", file=sys.stderr)
    text = arguments.pgn.read_text(encoding="utf-8") if arguments.pgn.exists() else ""
    report = count(text, us.name)
    if report.games == 0:
        sys.exit("match.py: not one game was finished")
    print(report.text(us.name, them.name))
    print(f"{arguments.limit}, played by {'fastchess' if fastchess else 'python-chess'}, games in {arguments.pgn}")
    sys.exit(status or (1 if report.forfeits["us"] else 0))


if __name__ == "__main__":
    main()
