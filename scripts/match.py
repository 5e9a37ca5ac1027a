#!/usr/bin/env python3
"""Plays a match between two UCI engines and reports score, Elo and forfeits.

The games are played by fastchess if it is found, otherwise by python-chess; either
writes a PGN, which `philidor-trainer rate` evaluates. Each opening is played twice
with colours swapped, and the error of the Elo is that of those pairs (pentanomial),
since the two games of a pair share their opening.

A saved fastchess configuration (--config) is played from a copy in runs/, which the
same command resumes; to start again, remove the copy and its PGN.

Examples:
  scripts/match.py --opponent-options UCI_Elo=1350 --games 40
  scripts/match.py --opponent scripts/random_mover.py --games 40 --tc 1+0.1
  scripts/match.py --opponent target/release/philidor --opponent-name Without --nodes 400 --games 100 \
    --engine-options Threads=1 --opponent-options Threads=1 TreeReuse=false
  scripts/match.py --config fastchess.json
  scripts/match.py --count runs/match.pgn --name Philidor
"""

import argparse
import asyncio
import contextlib
import io
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Makes our engine list its tuning options, because python-chess and fastchess set only listed options.
os.environ["PHILIDOR_TUNING"] = "1"
NEED_CHESS = """this needs fastchess (in the PATH or .deps/bin, or named by FASTCHESS or --fastchess) or python-chess:
run scripts/setup.sh, which puts the latter into .deps/python."""


def require_chess():
    """Imports python-chess, from the repository's own folder if Python has none."""
    sys.path.append(str(ROOT / ".deps/python"))
    try:
        import chess.engine
        import chess.pgn
    except ImportError:
        sys.exit(NEED_CHESS)
    return chess


# --- Statistics: a PGN in, a report out; the arithmetic is philidor-trainer's --------

FORFEITS = {"time forfeit": "time", "illegal move": "illegal", "abandoned": "crash"}
# Seconds that a move of fixed nodes may take before the engine counts as hanging.
FIXED_NODES_CLOCK = 120.0


def trainer():
    """The program whose command `rate` evaluates games: the newest build."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    builds = [target / kind / "philidor-trainer" for kind in ("release", "debug")]
    named = os.environ.get("PHILIDOR_TRAINER")
    found = [Path(named)] if named else [path for path in builds if path.exists()]
    if not found:
        sys.exit(
            f"{Path(sys.argv[0]).name}: statistics need philidor-trainer, which is not built: run\n"
            "  cargo build --release -p trainer\nor name one by PHILIDOR_TRAINER"
        )
    return max(found, key=lambda path: path.stat().st_mtime if path.exists() else 0)


@dataclass
class Report:
    """One player's results. Pairs are counted by points: 0, ½, 1, 1½, 2. An Elo difference that is infinite or
    unknown is None, and so is an open end of its interval."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    score: float = 0.5
    elo: float | None = None
    low: float | None = None
    high: float | None = None
    pairs: list = field(default_factory=lambda: [0] * 5)
    single: int = 0
    unfinished: int = 0
    forfeits: dict = field(default_factory=lambda: {"us": Counter(), "them": Counter()})

    @property
    def games(self):
        return self.wins + self.draws + self.losses

    def elo_text(self):
        elo, low, high = self.elo, self.low, self.high
        if low is None and high is None:
            return "unknown"
        if elo is None:
            return f"at least {low:+.0f}" if low is not None else f"at most {high:+.0f}"
        if low is None or high is None:
            return f"{elo:+.1f}, " + (f"at least {low:+.1f}" if high is None else f"at most {high:+.1f}")
        return f"{elo:+.1f} ± {(high - low) / 2:.1f}"

    def text(self, us, them):
        lines = [
            f"{us} against {them}: {self.games} games, +{self.wins} ={self.draws} -{self.losses}, "
            f"score {100 * self.score:.1f} %, Elo {self.elo_text()} (95 %)",
            f"pairs by points 0, ½, 1, 1½, 2: {' '.join(map(str, self.pairs))}",
        ]
        for name, counts in ((us, self.forfeits["us"]), (them, self.forfeits["them"])):
            lines.append(
                f"forfeits of {name}: {counts['time']} on time, {counts['illegal']} illegal moves, "
                f"{counts['crash']} crashes or stalls"
            )
        if self.unfinished:
            lines.append(f"left out: {self.unfinished} unfinished games")
        if self.single:
            lines.append(f"games without a partner: {self.single}")
        return "\n".join(lines)


def rate(pgn):
    """The output of `philidor-trainer rate --json` on a PGN; None without a finished game."""
    if not pgn.exists():
        return None
    done = subprocess.run([trainer(), "rate", "--json", pgn], capture_output=True, text=True)
    if done.returncode == 0:
        return json.loads(done.stdout)
    if "no finished game" in done.stderr:
        return None
    sys.exit(f"{Path(sys.argv[0]).name}: {done.stderr.strip()}")


def count(pgn, us):
    """The report on the games of a PGN from the point of view of the player `us`; None without any."""
    rated = rate(pgn)
    players = {player["name"]: player for player in rated["players"]} if rated else {}
    if us not in players or players[us]["games"] == 0:
        return None
    own = players.pop(us)
    fields = "wins draws losses score elo low high pairs single unfinished".split()
    report = Report(**{name: own[name] for name in fields})
    for side, losers in (("us", [own]), ("them", players.values())):
        for loser in losers:
            for termination, games in loser["forfeits"].items():
                report.forfeits[side][FORFEITS.get(termination, "crash")] += games
    return report


def counted(rows, us):
    """The report on games that are written down as (round, white, black, result, termination)."""
    game = '[Event "x"]\n[Round "{}"]\n[White "{}"]\n[Black "{}"]\n[Result "{}"]\n[Termination "{}"]\n\n1. e4 {}\n\n'
    with tempfile.TemporaryDirectory() as folder:
        pgn = Path(folder) / "games.pgn"
        pgn.write_text("".join(game.format(*row, row[3]) for row in rows), encoding="utf-8")
        return count(pgn, us)


def self_test():
    """Numbers that can be checked by hand."""
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
    report = counted(rows, "A")
    assert (report.wins, report.draws, report.losses, report.unfinished) == (3, 3, 2, 1)
    assert report.pairs == [0, 1, 2, 0, 1]
    assert report.forfeits["us"] == Counter(illegal=1, crash=1)
    assert report.forfeits["them"] == Counter(time=1)
    # Scores of the pairs 1, ½, ½, ¼: mean 9/16, deviations 7/16, -1/16, -1/16, -5/16, whose
    # squares sum to 76/256; variance 19/256, error of the mean 1.96 · √19/32 = 0.26698.
    # 9/16 - 0.26698 = 0.29552 and 9/16 + 0.26698 = 0.82948, which are 151 Elo below and 275 above.
    assert abs(report.elo - 400 * math.log10(9 / 7)) < 1e-9
    assert (round(report.low), round(report.high)) == (-151, 275)
    # Ten of ten: a player who scores s = 0.05^(1/10) = 0.741 does it once in twenty; Elo +183.
    sweep = counted([(n, *pair, "normal") for n in range(5) for pair in (("A", "B", "1-0"), ("B", "A", "0-1"))], "A")
    assert sweep.elo is None and "at least +183" in sweep.text("A", "B")
    assert counted(rows[-1:], "A") is None and "unknown" in Report().text("A", "B")
    self_test_config()
    self_test_max_moves()
    print("match.py: statistics agree with the numbers worked out by hand")


# --- Players ---------------------------------------------------------------------


@dataclass
class Player:
    name: str
    command: str
    options: dict
    # A move's nodes, where they are fixed.
    nodes: int | None


def find_program(name):
    """The absolute path of a program: a path, or a name in the PATH or among Debian's games; None if there is none."""
    found = shutil.which(name) or shutil.which(name, path="/usr/games")
    return found and os.path.abspath(found)


def player(name, command, options, nodes=None):
    """A player whose command is found, with its options as a dictionary."""
    found = find_program(command)
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
    return Player(name, found, table, nodes)


def find_fastchess(name):
    """The fastchess program: a name in the PATH, a path, or the one in .deps/bin; None if there is none."""
    return shutil.which(name) or (shutil.which(str(ROOT / ".deps/bin/fastchess")) if name == "fastchess" else None)


def fastchess_command(fastchess, players, arguments):
    """The command by which fastchess plays the match."""
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
    if arguments.max_moves:
        command += ["-maxmoves", str(arguments.max_moves)]
    if arguments.chess960:
        command += ["-variant", "fischerandom"]
    if arguments.strict:
        command += ["-strict"]
    if arguments.adjudicate:
        command += ["-resign", "movecount=5", "score=700", "twosided=true"]
        command += ["-draw", "movenumber=40", "movecount=8", "score=8"]
    # Its saved state goes beside the games, not into the current folder.
    command += ["-config", f"outname={arguments.pgn.with_suffix('.fastchess.json')}"]
    return command


def run_fastchess(command, arguments, folder=None):
    """Runs fastchess, in a folder if one is given; its output is reduced to a line per game on stderr."""
    # Other programs' warnings are many: Stockfish, when limited, plays other moves than it shows.
    shown = ("Finished game", "Fatal", "Error", *(("Warning",) if arguments.strict else ()))
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, cwd=folder)
    try:
        for line in process.stdout:
            if line.startswith(shown) or "loses on time" in line:
                print(line, end="", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        pass  # the terminal has interrupted fastchess too: let it finish its files
    return process.wait()


# --- A saved fastchess configuration -------------------------------------------------


def included(asked, present):
    """Whether everything that `asked` says is in `present`, which may say more."""
    if isinstance(asked, dict):
        return isinstance(present, dict) and all(included(value, present.get(key)) for key, value in asked.items())
    if isinstance(asked, list):
        return isinstance(present, list) and len(asked) == len(present) and all(map(included, asked, present))
    return asked == present


def config_copy(template, folder):
    """The copy of a configuration in `folder`, which fastchess changes: made now, or by an earlier run of the match."""
    copy = folder / template.name
    settings = json.loads(template.read_text(encoding="utf-8"))
    if template.resolve() == copy.resolve():
        return copy
    if not copy.exists():
        settings["config_name"] = str(copy)
        settings["pgn"]["file"] = str(folder / f"{template.stem}.pgn")
        folder.mkdir(parents=True, exist_ok=True)
        copy.write_text(json.dumps(settings, indent=4) + "\n", encoding="utf-8")
        return copy
    begun = json.loads(copy.read_text(encoding="utf-8"))
    changed = [key for key in ("engines", "rounds", "games") if not included(settings[key], begun.get(key))]
    if settings["opening"]["file"] != begun["opening"]["file"]:
        changed.append("opening")
    if changed:
        sys.exit(
            f"match.py: {copy} is of a match that was begun with other settings than {template} ({', '.join(changed)}):\n"
            f"finish it with --config {copy}, or remove it and {begun['pgn']['file']} to start again"
        )
    return copy


def play_config(arguments):
    """Plays a saved fastchess configuration from a copy; returns fastchess's status, the players, and the PGN."""
    fastchess = find_fastchess(arguments.fastchess)
    if not fastchess:
        sys.exit("match.py: --config needs fastchess: scripts/setup.sh tools says how to get it")
    if not arguments.config.exists():
        sys.exit(f"match.py: there is no {arguments.config}")
    copy = config_copy(arguments.config, ROOT / "runs").resolve()
    settings = json.loads(copy.read_text(encoding="utf-8"))
    print(f"match.py: playing {copy}; the same command resumes it", file=sys.stderr)
    status = run_fastchess([fastchess, "-config", f"file={copy}", f"outname={copy}"], arguments, ROOT)
    return status, [engine["name"] for engine in settings["engines"]], ROOT / settings["pgn"]["file"]


def self_test_config():
    """A template stays unchanged, and a begun match is not resumed with another configuration."""
    with tempfile.TemporaryDirectory() as folder:
        template, runs = Path(folder) / "match.json", Path(folder) / "runs"
        settings = {
            "engines": [{"name": "A", "limit": {"nodes": 1}}, {"name": "B"}], "rounds": 2, "games": 2,
            "opening": {"file": "x.pgn"}, "pgn": {"file": "match.pgn"}, "config_name": "match.json",
        }
        text = json.dumps(settings)
        template.write_text(text)
        copy = config_copy(template, runs)
        assert copy == runs / "match.json" and template.read_text() == text
        begun = json.loads(copy.read_text())
        assert (begun["config_name"], begun["pgn"]["file"]) == (str(copy), str(runs / "match.pgn"))
        # Keys that fastchess adds do not make another match; another name of a player does.
        begun["engines"][0]["limit"]["plies"] = 0
        copy.write_text(json.dumps(begun))
        assert config_copy(template, runs) == copy and config_copy(copy, runs) == copy
        template.write_text(text.replace('"B"', '"C"'))
        try:
            config_copy(template, runs)
        except SystemExit as error:
            assert "other settings" in str(error) and "(engines)" in str(error)
        else:
            raise AssertionError("another match was resumed")


# --- python-chess, where there is no fastchess -------------------------------------


def read_book(chess, path):
    """Start boards, moves included where the book has them."""
    boards = []
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
        sys.exit(f"{Path(sys.argv[0]).name}: no openings in {path}")
    return boards


class PythonMatch:
    """The same match by python-chess: rules, clocks and tags as fastchess has them."""

    def __init__(self, players, arguments):
        self.chess = require_chess()
        self.players, self.arguments = players, arguments
        self.base, self.increment = (float(part) for part in arguments.tc.split("+"))
        self.openings = read_book(self.chess, Path(arguments.book))
        self.finished = 0
        self.started = time.monotonic()

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
            if result is None and self.arguments.max_moves and len(moves) >= 2 * self.arguments.max_moves:
                result, termination = "1/2-1/2", "adjudication"
        self.write(number, white, black, start, moves, result, termination)

    def result(self, board):
        """The result by the rules if the game has ended; draws need no claim."""
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


def self_test_max_moves():
    """Games that go on are drawn after --max-moves, by fastchess or here."""
    chess = require_chess()
    players = [Player("A", "a", {}, 1), Player("B", "b", {}, 1)]

    class Shuffler:
        """An engine that moves a knight to and fro."""

        async def play(self, board, limit, game):
            moves = ("g1f3", "g8f6", "f3g1", "f6g8")
            return chess.engine.PlayResult(chess.Move.from_uci(moves[board.ply() % 4]), None)

    class Match(PythonMatch):
        async def engine(self, engines, one):
            return Shuffler()

    # Eight plies repeat the position for the third time.
    for most, plies, end in ((3, 6, "adjudication"), (None, 8, "normal")):
        with tempfile.TemporaryDirectory() as folder:
            pgn, book = Path(folder) / "games.pgn", Path(folder) / "book.epd"
            book.write_text(chess.STARTING_FEN + "\n", encoding="utf-8")
            arguments = argparse.Namespace(
                tc="1+0", limit="1 nodes a move", games=2, concurrency=1, max_moves=most, book=book, pgn=pgn,
                chess960=False, strict=False, adjudicate=False,
            )
            command = fastchess_command("fastchess", players, arguments)
            assert ("-maxmoves" in command) == bool(most), command
            assert not most or command[command.index("-maxmoves") + 1] == str(most), command
            with contextlib.redirect_stderr(io.StringIO()) as said:
                asyncio.run(Match(players, arguments).play())
            for one, other in ("AB", "BA"):
                assert f"{one} 1/2-1/2 {other} ({end}), {plies} plies" in said.getvalue(), said.getvalue()
            assert pgn.read_text(encoding="utf-8").count(f'[Termination "{end}"]') == 2


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
        help="nodes a move of the opponent, to balance different speeds on a busy machine (default: --nodes)")
    add("--adjudicate", action="store_true",
        help="end games that both engines see as won (7 pawns, 5 moves) or drawn (after move 40); fastchess only")
    add("--max-moves", type=int, metavar="N", help="call a game drawn after N moves of each side (default: never)")
    add("--chess960", action="store_true", help="play Chess960, with a book of such positions; fastchess only")
    add("--strict", action="store_true",
        help="end the match at fastchess's first warning (a variation that is illegal or goes on past the end, …)")
    add("--games", type=int, default=40, help="an even number (default: %(default)s)")
    add("--book", default=str(ROOT / "tests/data/openings.pgn"), help=".pgn or .epd (default: %(default)s)")
    add("--concurrency", type=int, default=1, help="games at once (default: %(default)s)")
    add("--pgn", type=Path, help="where the games go (default: a new file in runs/)")
    add("--fastchess", default=os.environ.get("FASTCHESS", "fastchess"),
        help="the fastchess program; 'none' for python-chess (default: FASTCHESS, or the one in the PATH or .deps/bin)")
    add("--config", type=Path, metavar="JSON",
        help="play this saved fastchess configuration from a copy in runs/, or resume it; it sets engines, games and "
        "clocks; fastchess only")
    add("--count", type=Path, metavar="PGN", help="play nothing, report on these games of --name")
    add("--self-test", action="store_true", help="check the statistics against numbers worked out by hand")
    arguments = parser.parse_args()
    if not re.fullmatch(r"\d+(\.\d+)?\+\d+(\.\d+)?", arguments.tc):
        parser.error("--tc is seconds+seconds, as in 1+0.1")
    if arguments.opponent_nodes and not arguments.nodes:
        parser.error("--opponent-nodes goes with --nodes")
    if arguments.max_moves is not None and arguments.max_moves < 1:
        parser.error("--max-moves must be positive")
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
    # A missing trainer must fail before hours of games, not after them.
    trainer()
    if arguments.count:
        name = arguments.name or Path(arguments.engine).stem
        report = count(arguments.count, name)
        if report is None:
            sys.exit(f"match.py: there is no finished game of {name} in {arguments.count}")
        return print(report.text(name, "all others"))
    if arguments.config:
        status, (us, *others), pgn = play_config(arguments)
        return finish(status, pgn, us, others[0] if len(others) == 1 else "all others", f"{arguments.config}, fastchess")
    us = player(arguments.name, arguments.engine, arguments.engine_options, arguments.nodes)
    them = player(
        arguments.opponent_name, arguments.opponent, arguments.opponent_options, arguments.opponent_nodes)
    if us.name == them.name:
        sys.exit("match.py: both players are called the same: use --name")
    if not arguments.pgn:
        arguments.pgn = ROOT / time.strftime("runs/match-%Y%m%d-%H%M%S.pgn")
    if arguments.pgn.exists():
        sys.exit(f"match.py: {arguments.pgn} exists already: name another file")
    arguments.pgn.parent.mkdir(parents=True, exist_ok=True)
    fastchess = find_fastchess(arguments.fastchess)
    status = 0
    if fastchess:
        status = run_fastchess(fastchess_command(fastchess, [us, them], arguments), arguments)
    else:
        match = PythonMatch([us, them], arguments)
        try:
            asyncio.run(match.play())
        except KeyboardInterrupt:
            print("interrupted: reporting on the games that are finished", file=sys.stderr)
    how = f"{arguments.limit}, played by {'fastchess' if fastchess else 'python-chess'}"
    finish(status, arguments.pgn, us.name, them.name, how)


def finish(status, pgn, us, them, how):
    """Reports on the games and ends the program, with an error status if `us` forfeited a game."""
    report = count(pgn, us)
    if report is None:
        sys.exit("match.py: not one game was finished")
    print(report.text(us, them))
    print(f"{how}, games in {pgn}")
    sys.exit(status or (1 if report.forfeits["us"] else 0))


if __name__ == "__main__":
    main()
