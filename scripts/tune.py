#!/usr/bin/env python3
"""Tunes numeric UCI options by SPSA over games of the engine against itself.

Simultaneous perturbation stochastic approximation (Spall 1992, as fishtest and
OpenBench use it): each step draws a direction, plays a pair of games (one opening,
colours reversed) with all parameters moved along it against all moved the other way,
and moves the parameters a little to the winner's side.

  c_k = c / k^0.101              distance of the two players from the current values
  r_k = r / (A + k)^0.602 · k^0.202   step for a game won, in units of c_k
  value += r_k · c_k · direction · (wins − losses)

A is a tenth of the steps; c and r are such that the last step has c_N = the
parameter's C and r_N = --rate. C is about the change that is worth a few Elo: a
twentieth of the range unless given.

The openings are those of the book in an order that the seed determines, the engines
stay alive from game to game, and the state is written after every step to --state
(aside, then renamed); the same command continues from there. Ctrl-C ends it after the
games that are being played, a second one at once.

With --inbox the games are units of work, which other machines can do (scripts/fleet.py
beside this script) and which `philidor-trainer compare` plays itself where nobody does.
Then --batch steps are begun from the same values and counted in their order, so that
the result is the same whoever plays: a fleet waits at the end of each batch, which
should have several steps for each core. A network plays itself with --nodes visits a
move, on one thread without reuse of trees; a side that has seen itself as lost for four
of its moves resigns.

SPSA is written out here because no package fits: nevergrad's has fixed gains and 400
MB of dependencies, noisyopt's cannot be resumed, chess-tuning-tools needs packages
of 2023.

Examples:
  scripts/tune.py --state runs/tune.json --param CPuct=1.745:0.5:4 --param FpuValue=0.33:0:1 \\
      --nodes 400 --options Threads=1 Hash=32 --steps 3000 --book UHO_4060_v3.epd
  scripts/tune.py --state runs/clock.json --param CPuct=1.745:0.5:4:0.15 --tc 1+0.01 --steps 5000 --concurrency 2
  scripts/tune.py --state runs/tune.json --show
  scripts/tune.py --state runs/many.json --param CPuct=1.745:0.5:4 --nodes 400 --pairs 8 --batch 64 --inbox runs/inbox &
  scripts/fleet.py --address auto --inbox runs/inbox --until-done
"""

import argparse
import contextlib
import hashlib
import json
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import match

# Spall's exponents; A as a share of the steps.
ALPHA, GAMMA, STABILITY = 0.602, 0.101, 0.1
# Adjudication: both scores in centipawns for this many moves of each, draws from a ply on; longest game in plies.
WON, WON_MOVES = 700, 4
DRAWN, DRAWN_MOVES, DRAWN_FROM = 8, 8, 80
LONGEST = 400
# With units, a side resigns after RESIGN_MOVES moves in a row with its Q below -RESIGN.
RESIGN, RESIGN_MOVES = 0.93, 4
# Seconds that a move of fixed nodes, or any answer but a move, may take.
PATIENCE = 120.0


# --- SPSA -------------------------------------------------------------------------


@dataclass
class Parameter:
    """A UCI option with its first value, its range, and C: its perturbation at the last step."""

    name: str
    start: float
    low: float
    high: float
    c: float
    whole: bool = False

    @staticmethod
    def parse(text):
        """NAME=START:LOW:HIGH or NAME=START:LOW:HIGH:C."""
        name, equals, rest = text.partition("=")
        try:
            numbers = [float(part) for part in rest.split(":")]
        except ValueError:
            numbers = []
        if not equals or len(numbers) not in (3, 4):
            raise argparse.ArgumentTypeError(f"{text!r} is not NAME=START:LOW:HIGH or NAME=START:LOW:HIGH:C")
        start, low, high = numbers[:3]
        c = numbers[3] if len(numbers) == 4 else (high - low) / 20
        if not low <= start <= high or not 0 < c <= high - low:
            raise argparse.ArgumentTypeError(f"{text!r}: the start is not in the range, or C is not")
        return Parameter(name, start, low, high, c)

    def settle(self, options):
        """Takes the option's type from the engine's `options`. Refuses bounds outside the option's range, to which the
        engine would clamp every value."""
        option = options.get(self.name)
        if option is None:
            sys.exit(f"tune.py: the engine has no option {self.name}")
        if option.low is None:
            sys.exit(f"tune.py: option {self.name} is no number with a range, but of type {option.kind}")
        self.whole = option.kind == "spin"
        for bound in (self.low, self.high):
            if not option.low <= bound <= option.high:
                sys.exit(f"tune.py: option {self.name} cannot be {bound:g}: it takes {option.low:g} to {option.high:g}; "
                         f"--param {self.name}=START:LOW:HIGH must stay within that")

    def clamp(self, value):
        return min(max(value, self.low), self.high)

    def shown(self, value):
        """The value as the engine gets it."""
        return str(round(value)) if self.whole else f"{value:.5g}"


def gains(step, steps, rate):
    """The factors of C and of r at a step, counted from 1: c_k / C and r_k."""
    stable = STABILITY * steps
    c = (steps / step) ** GAMMA
    r = rate * ((stable + steps) / (stable + step)) ** ALPHA / c**2
    return c, r


def direction(seed, step, count):
    """The signs of a step's perturbation, which depend only on seed and step."""
    chance = random.Random(f"{seed}:{step}")
    return [chance.choice((-1, 1)) for _ in range(count)]


def perturbed(parameters, values, signs, c):
    """The values of the two players."""
    both = list(zip(parameters, values, signs))
    return tuple([p.clamp(v + side * sign * c * p.c) for p, v, sign in both] for side in (1, -1))


def moved(parameters, values, signs, c, r, result):
    """The values after a step whose first player won `result` more games than it lost."""
    both = zip(parameters, values, signs)
    return [p.clamp(v + r * c * p.c * sign * result) for p, v, sign in both]


# --- State ------------------------------------------------------------------------


@dataclass
class State:
    """The progress of a tuning. `finished` counts steps; `open` lists begun steps, which a resumption plays again."""

    setting: dict
    values: list
    mean: list
    finished: int = 0
    begun: int = 0
    open: list = None
    games: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    spent: float = 0.0

    @staticmethod
    def read(path):
        try:
            return State(**json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            sys.exit(f"tune.py: {path} is no state of a tuning: {error}")

    def write(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(path.name + ".new")
        with open(aside, "w", encoding="utf-8") as file:
            json.dump(self.__dict__, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)


def sum_of(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def setting(arguments, engine):
    """The settings that must not change when a tuning is resumed."""
    units = {"batch": arguments.batch, "network": sum_of(arguments.network)} if arguments.inbox else {}
    return units | {
        "params": [p.__dict__ for p in arguments.param],
        "steps": arguments.steps, "pairs": arguments.pairs, "rate": arguments.rate, "seed": arguments.seed,
        "limit": arguments.limit, "options": sorted(arguments.options), "book": Path(arguments.book).name,
        "engine": sum_of(engine),
    }


def table(state):
    """The parameters with their changes, and the options to play with."""
    parameters = [Parameter(**p) for p in state.setting["params"]]
    half = state.setting["steps"] // 2
    lines = [f"{'parameter':24} {'start':>10} {'now':>10} {'mean':>10} {'change/C':>9}   range"]
    for p, now, mean in zip(parameters, state.values, state.mean):
        lines.append(
            f"{p.name:24} {p.start:10.5g} {now:10.5g} {mean:10.5g} {(now - p.start) / p.c:+9.2f}"
            f"   {p.low:g} to {p.high:g}, C {p.c:g}"
        )
    lines.append(f"step {state.finished} of {state.setting['steps']}, {state.games} games (+{state.wins} "
                 f"={state.draws} -{state.losses} of the first player); the mean is over the steps after {half}")
    chosen = state.mean if state.finished > half else state.values
    lines.append(" ".join(f"{p.name}={p.shown(v)}" for p, v in zip(parameters, chosen)))
    return "\n".join(lines)


# --- Games ------------------------------------------------------------------------


class EngineError(Exception):
    """The engine did not answer, or answered wrongly."""


@dataclass
class Option:
    """An option as the engine lists it; a range only if it is a number."""

    kind: str
    low: float = None
    high: float = None


def read_options(lines):
    """The options by name. The line of a spin has its range. That of a decimal number, a string in UCI, is in a line
    `info string option NAME takes LOW to HIGH`, which `philidor uci --tuning` writes."""
    options = {}
    for line in lines:
        if line.startswith("option name ") and " type " in line:
            name, _, rest = line[len("option name "):].partition(" type ")
            words = rest.split()
            options[name] = Option(words[0])
            if words[0] == "spin":
                options[name].low, options[name].high = (float(words[words.index(end) + 1]) for end in ("min", "max"))
        elif line.startswith("info string option ") and " takes " in line:
            name, _, bounds = line[len("info string option "):].partition(" takes ")
            options[name].low, options[name].high = map(float, bounds.split(" to "))
    return options


class Engine:
    """A UCI engine that stays alive between games."""

    def __init__(self, command, options):
        self.process = subprocess.Popen(
            [command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1,
            # Ctrl-C is for this script alone, which lets a game end.
            start_new_session=True,
            # Does what `uci --tuning` does, even if a script starts the engine.
            env=os.environ | {"PHILIDOR_TUNING": "1"},
        )
        self.lines = queue.SimpleQueue()
        threading.Thread(target=self.read, daemon=True).start()
        self.send("uci")
        self.options = read_options(iter(self.line, "uciok"))
        for name, value in options.items():
            self.option(name, value)
        self.ready()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def send(self, text):
        try:
            self.process.stdin.write(text + "\n")
        except (OSError, ValueError) as error:
            raise EngineError(f"the engine has ended ({error})") from error

    def line(self, patience=PATIENCE):
        try:
            line = self.lines.get(timeout=max(patience, 0.001))
        except queue.Empty:
            raise EngineError("no answer") from None
        if line is None:
            raise EngineError("the engine has ended")
        return line

    def option(self, name, value):
        if name not in self.options:
            sys.exit(f"tune.py: the engine has no option {name}")
        self.send(f"setoption name {name} value {value}")

    def ready(self):
        self.send("isready")
        while self.line() != "readyok":
            pass

    def move(self, position, limit, patience):
        """The best move, and the score in centipawns of the last line about it (None without)."""
        self.send(position)
        self.send(limit)
        score, end = None, time.monotonic() + patience
        while True:
            words = self.line(end - time.monotonic()).split()
            if words[:1] == ["bestmove"]:
                return words[1], score
            with contextlib.suppress(ValueError, IndexError):
                at = words.index("score")
                value = int(words[at + 2])
                score = value if words[at + 1] == "cp" else (30_000 if value > 0 else -30_000)

    def close(self):
        self.process.kill()
        self.process.wait()


class Referee:
    """Plays single games by the rules of chess."""

    def __init__(self, chess, arguments):
        self.chess, self.nodes = chess, arguments.nodes
        self.base, self.increment = (float(part) for part in arguments.tc.split("+"))

    def game(self, opening, white, black):
        """White's result: 1, 0 or -1. A player that is late or makes an illegal move loses."""
        chess, board = self.chess, opening.copy()
        start = opening.root().fen()
        clocks = {True: self.base, False: self.base}
        decided = {"won": 0, "drawn": 0}
        last = None
        for engine in (white, black):
            engine.send("ucinewgame")
            engine.ready()
        while True:
            if board.is_checkmate():
                return -1 if board.turn else 1
            drawn = board.is_stalemate() or board.is_insufficient_material() or board.halfmove_clock >= 100
            if drawn or board.is_repetition(3) or board.ply() > LONGEST:
                return 0
            engine = white if board.turn else black
            moves = " ".join(m.uci() for m in board.move_stack)
            position = f"position fen {start}" + (f" moves {moves}" if moves else "")
            began = time.monotonic()
            if self.nodes:
                limit, patience = f"go nodes {self.nodes}", PATIENCE
            else:
                times = [round(1000 * clocks[side]) for side in (True, False)]
                each = round(1000 * self.increment)
                limit = f"go wtime {times[0]} btime {times[1]} winc {each} binc {each}"
                patience = clocks[board.turn] + 1
            move, score = engine.move(position, limit, patience)
            if not self.nodes:
                clocks[board.turn] -= time.monotonic() - began
                if clocks[board.turn] < 0:
                    return -1 if board.turn else 1
                clocks[board.turn] += self.increment
            try:
                board.push_uci(move)
            except ValueError:
                return -1 if not board.turn else 1
            # Both players must agree, each from its side.
            for_white = None if score is None else (-score if board.turn else score)
            agree = None not in (last, for_white)
            won = agree and min(abs(last), abs(for_white)) >= WON and (last > 0) == (for_white > 0)
            drawn = agree and max(abs(last), abs(for_white)) <= DRAWN and board.ply() >= DRAWN_FROM
            decided["won"] = decided["won"] + 1 if won else 0
            decided["drawn"] = decided["drawn"] + 1 if drawn else 0
            last = for_white
            if decided["won"] >= 2 * WON_MOVES:
                return 1 if for_white > 0 else -1
            if decided["drawn"] >= 2 * DRAWN_MOVES:
                return 0


class Tuning:
    """The steps of a tuning, played by several workers, each with two engines of its own."""

    def __init__(self, arguments, state, command, openings, chess):
        self.arguments, self.state, self.command = arguments, state, command
        self.parameters = [Parameter(**p) for p in state.setting["params"]]
        self.options = dict(option.split("=", 1) for option in arguments.options)
        self.openings, self.referee = openings, Referee(chess, arguments)
        random.Random(arguments.seed).shuffle(self.openings)
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.playing = set()
        self.failures = 0
        self.error = None
        self.spent_before = state.spent
        self.finished_before = state.finished
        self.began = self.shown = time.monotonic()

    def work(self):
        engines = []
        try:
            while not self.stopping.is_set() and (step := self.take()):
                try:
                    if not engines:
                        engines = [Engine(self.command, self.options) for _ in range(2)]
                    self.play(step, engines)
                except EngineError as error:
                    self.fail(step, error)
                    while engines:
                        engines.pop().close()
        except BaseException as error:  # shown by the main thread
            self.error = error
            self.stopping.set()
        finally:
            for engine in engines:
                engine.close()

    def take(self):
        """A step that no worker plays yet."""
        with self.lock:
            state = self.state
            for step in state.open:
                if step not in self.playing:
                    self.playing.add(step)
                    return step
            if state.begun >= state.setting["steps"]:
                return None
            state.begun += 1
            state.open.append(state.begun)
            self.playing.add(state.begun)
            return state.begun

    def fail(self, step, error):
        with self.lock:
            self.playing.discard(step)
            self.failures += 1
            print(f"tune.py: step {step} begins again: {error}", file=sys.stderr, flush=True)
            if self.failures > 20:
                raise EngineError("twenty failures: something is wrong with the engine")

    def play(self, step, engines):
        setting = self.state.setting
        c, r = gains(step, setting["steps"], setting["rate"])
        signs = direction(setting["seed"], step, len(self.parameters))
        with self.lock:
            values = list(self.state.values)
        for engine, player in zip(engines, perturbed(self.parameters, values, signs, c)):
            for parameter, value in zip(self.parameters, player):
                engine.option(parameter.name, parameter.shown(value))
        plus, minus = engines
        results = []
        for pair in range(setting["pairs"]):
            opening = self.openings[((step - 1) * setting["pairs"] + pair) % len(self.openings)]
            results.append(self.referee.game(opening, plus, minus))
            results.append(-self.referee.game(opening, minus, plus))
        self.finish(step, signs, c, r, results)

    def finish(self, step, signs, c, r, results):
        with self.lock:
            line = self.count(step, signs, c, r, results)
            self.state.open.remove(step)
            self.playing.discard(step)
            self.save([line])

    def count(self, step, signs, c, r, results):
        """Moves the values by a step's results; returns its line for the .tsv."""
        state = self.state
        state.values = moved(self.parameters, state.values, signs, c, r, sum(results))
        state.finished += 1
        after = state.finished - state.setting["steps"] // 2
        state.mean = [m + (v - m) / max(after, 1) for m, v in zip(state.mean, state.values)]
        state.games += len(results)
        state.wins += results.count(1)
        state.draws += results.count(0)
        state.losses += results.count(-1)
        return "\t".join([str(step), str(sum(results)), *(f"{v:.6g}" for v in state.values)])

    def save(self, lines):
        now = time.monotonic()
        self.state.spent = self.spent_before + now - self.began
        self.state.write(self.arguments.state)
        with open(self.arguments.state.with_suffix(".tsv"), "a", encoding="utf-8") as file:
            print(*lines, sep="\n", file=file)
        if now - self.shown >= self.arguments.every:
            self.shown = now
            self.progress(now)

    def progress(self, now):
        state = self.state
        each = (now - self.began) / (state.finished - self.finished_before)
        left = (state.setting["steps"] - state.finished) * each
        values = " ".join(f"{p.name}={p.shown(v)}" for p, v in zip(self.parameters, state.values))
        rate = 3600 / each * 2 * state.setting["pairs"]
        print(
            f"step {state.finished} of {state.setting['steps']}, {state.games} games, {rate:.0f} an hour, "
            f"{int(left) // 3600}:{int(left) % 3600 // 60:02} left: {values}",
            file=sys.stderr, flush=True,
        )

    def interrupt(self, *_):
        if self.stopping.is_set():
            # Finished steps are saved.
            print("tune.py: ended; run the same command to continue", file=sys.stderr, flush=True)
            os._exit(130)
        print("tune.py: ending after the games that are being played; again to end at once", file=sys.stderr)
        self.stopping.set()

    def run(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.interrupt)
        workers = [threading.Thread(target=self.work, daemon=True) for _ in range(self.arguments.concurrency)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if self.error:
            sys.exit(f"tune.py: {self.error}")


class UnitTuning(Tuning):
    """Tunes by units of work, in batches of steps from the same values. philidor-trainer compare publishes the units,
    checks results, plays units that nobody else takes, and keeps the finished part of a batch."""

    def __init__(self, arguments, state):
        self.arguments, self.state = arguments, state
        self.parameters = [Parameter(**p) for p in state.setting["params"]]
        self.folder = arguments.state.with_suffix(".units")
        self.process, self.stopping = None, False
        self.spent_before, self.finished_before = state.spent, state.finished
        self.began = self.shown = time.monotonic()

    def plan(self, steps):
        """Each step's direction and gains, and the plan of their matches for philidor-trainer compare."""
        arguments, setting = self.arguments, self.state.setting
        common = [option.split("=", 1) for option in arguments.options]
        directions, matches = [], []
        for step in steps:
            c, r = gains(step, setting["steps"], setting["rate"])
            signs = direction(setting["seed"], step, len(self.parameters))
            directions.append((step, signs, c, r))
            players = perturbed(self.parameters, self.state.values, signs, c)
            named = [[[p.name, p.shown(v)] for p, v in zip(self.parameters, player)] for player in players]
            matches.append({"first": (step - 1) * setting["pairs"], "pairs": setting["pairs"],
                            "options": [common + own for own in named]})
        rules = {"book": str(Path(arguments.book).resolve()), "random_plies": 0, "games": min(2 * setting["pairs"], 16),
                 "resign_threshold": RESIGN, "resign_moves": RESIGN_MOVES, "max_plies": LONGEST}
        return directions, {
            "format": "philidor-comparison/1", "network": str(arguments.network.resolve()), "visits": arguments.nodes,
            "seed": setting["seed"], "rules": rules, "matches": matches, "pairs_per_unit": setting["pairs"],
            "more": steps[-1] < setting["steps"],
        }

    def interrupt(self, *_):
        # The first interrupt lets the trainer finish its begun work; the second ends it at once.
        self.stopping = True
        if self.process:
            self.process.send_signal(signal.SIGINT)

    def run(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.interrupt)
        while self.state.finished < self.state.setting["steps"] and not self.stopping:
            first = self.state.finished + 1
            steps = range(first, min(first + self.arguments.batch, self.state.setting["steps"] + 1))
            directions, plan = self.plan(steps)
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
            arguments = self.arguments
            # Ctrl-C is for this script, which passes it on. The kernel ends the trainer with this script.
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", match.trainer(), "compare", self.folder / "plan.json",
                 "--out", self.folder, "--inbox", arguments.inbox, "--patience", str(arguments.patience),
                 "--workers", str(arguments.concurrency)],
                start_new_session=True, stdout=subprocess.DEVNULL,
            )
            if self.process.wait():
                sys.exit(130 if self.stopping else f"tune.py: philidor-trainer ended with {self.process.returncode}")
            told = json.loads((self.folder / "results.json").read_text(encoding="utf-8"))["matches"]
            lines = [self.count(*step, [half - 1 for half in of["halves"]]) for step, of in zip(directions, told)]
            self.state.begun = self.state.finished
            self.save(lines)
            shutil.rmtree(self.folder)


# --- Checks -----------------------------------------------------------------------


def self_test():
    """Gains by hand, ranges of options, and a function whose maximum SPSA must find."""
    c, r = gains(1000, 1000, 0.01)
    assert (c, r) == (1.0, 0.01), "the last step has the gains that were asked for"
    c, r = gains(1, 1000, 0.01)
    assert abs(c - 1000**0.101) < 1e-9 and abs(r - 0.01 * (1100 / 101) ** 0.602 / c**2) < 1e-9
    one = Parameter.parse("CPuct=1.745:0.5:4")
    assert (one.name, one.start, one.low, one.high, one.c) == ("CPuct", 1.745, 0.5, 4, 0.175)
    assert Parameter.parse("X=1:0:2:0.3").c == 0.3 and one.clamp(9) == 4
    parameters = [one, Parameter.parse("Y=3:0:10:0.5")]
    # Wins move both along the signs by r · c · C · 2 = 0.1 · 2 · C · 2.
    after = moved(parameters, [1.0, 3.0], [1, -1], 2.0, 0.1, 2)
    assert all(abs(x - y) < 1e-12 for x, y in zip(after, [1.0 + 0.07, 3.0 - 0.2]))
    ranges_test()
    plus, minus = perturbed(parameters, [3.9, 3.0], [1, -1], 1.0)
    assert plus == [4, 2.5] and minus == [3.9 - 0.175, 3.5]
    assert direction(7, 5, 9) == direction(7, 5, 9) != direction(7, 6, 9)
    # 4,000 pairs of noisy games, the best at (2.5, 6): a pair's mean is the difference of two parabolas.
    chance, values = random.Random(1), [p.start for p in parameters]

    def strength(x):
        return -((x[0] - 2.5) / 1.0) ** 2 - ((x[1] - 6) / 3) ** 2

    for step in range(1, 4001):
        c, r = gains(step, 4000, 0.02)
        signs = direction(1, step, 2)
        plus, minus = perturbed(parameters, values, signs, c)
        edge = min(max((strength(plus) - strength(minus)) / 4, -0.5), 0.5)
        result = sum(1 if chance.random() < 0.5 + edge else -1 for _ in range(2))
        values = moved(parameters, values, signs, c, r, result)
    assert abs(values[0] - 2.5) < 0.2 and abs(values[1] - 6) < 0.6, values
    print("tune.py: gains agree with those worked out by hand, bounds beyond an option's range are refused, and SPSA finds the "
          "maximum")


def ranges_test():
    """A parameter stays within what the engine lists, or is refused with the range."""
    engine = """#!/bin/sh
while read -r line; do case "$line" in
uci) [ -n "$PHILIDOR_TUNING" ] && echo 'option name CPuct type string default auto
info string option CPuct takes 0 to 100
option name VisitSeries type spin default 64 min 1 max 4096
option name Backend type combo default auto var auto'; echo uciok;;
isready) echo readyok;;
esac; done
"""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "engine"
        program.write_text(engine, encoding="utf-8")
        program.chmod(0o755)
        probe = Engine(str(program), {"Backend": "auto"})
        probe.close()
    for text, refusal in (
        ("CPuct=2:0.5:100", None),
        ("VisitSeries=64:1:128", None),
        ("CPuct=2:-1:4", "CPuct cannot be -1: it takes 0 to 100"),
        ("VisitSeries=64:0:128", "VisitSeries cannot be 0: it takes 1 to 4096"),
        ("VisitSeries=64:1:5000", "VisitSeries cannot be 5000: it takes 1 to 4096"),
        ("Backend=1:0:2", "is no number with a range"),
        ("Cpuct=1:0:2", "no option Cpuct"),
    ):
        parameter = Parameter.parse(text)
        try:
            parameter.settle(probe.options)
            assert refusal is None, text
            assert parameter.whole == (parameter.name == "VisitSeries")
        except SystemExit as error:
            assert refusal and refusal in str(error), (text, error)


# --- Command line -----------------------------------------------------------------


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--param", action="append", type=Parameter.parse, default=[], metavar="NAME=START:LOW:HIGH[:C]",
        help="an option to tune; give it once for each")
    add("--state", type=Path, metavar="JSON", help="the state's file, made or resumed; every step is added to its .tsv")
    add("--show", action="store_true", help="play nothing, show the parameters of --state")
    add("--steps", type=int, default=2000, help="steps in all (default: %(default)s)")
    add("--pairs", type=int, default=1, help="pairs of games a step (default: %(default)s)")
    add("--rate", type=float, default=0.01,
        help="r at the last step; fishtest has 0.002 for tens of thousands of games (default: %(default)s)")
    add("--engine", default=str(match.ROOT / "target/release/philidor"), help="the engine (default: %(default)s)")
    add("--options", nargs="*", metavar="NAME=VALUE",
        help="fixed options of both players (default: Threads=1 Hash=32; with --inbox none)")
    add("--nodes", type=int, help="this many nodes a move instead of a clock")
    add("--tc", default="1+0.01", help="seconds for the game + seconds a move (default: %(default)s)")
    add("--book", default=str(match.ROOT / "tests/data/openings.pgn"), help=".pgn or .epd (default: %(default)s)")
    add("--seed", type=int, default=1, help="seed of directions and of the openings' order (default: %(default)s)")
    add("--concurrency", type=int, default=1, help="pairs at once, with --inbox own threads (default: %(default)s)")
    add("--inbox", type=Path, metavar="DIR",
        help="let others play: units of work are listed in DIR/wanted.json, their results are taken from DIR")
    add("--patience", type=int, default=60,
        help="with --inbox: seconds without any result after which this machine plays too (default: %(default)s)")
    add("--batch", type=int, default=16, help="with --inbox: steps that are played at once (default: %(default)s)")
    add("--network", type=Path, default=match.ROOT / "nets/philidor.int8.onnx",
        help="with --inbox: the network that plays itself (default: %(default)s)")
    add("--every", type=float, default=30, help="seconds between two lines of progress (default: %(default)s)")
    add("--self-test", action="store_true", help="check the arithmetic against numbers worked out by hand")
    arguments = parser.parse_args()
    if arguments.self_test:
        return arguments
    if not arguments.state:
        parser.error("--state is needed")
    if not arguments.show and not arguments.param:
        parser.error("at least one --param is needed")
    if min(arguments.steps, arguments.pairs, arguments.concurrency, arguments.batch) < 1:
        parser.error("--steps, --pairs, --concurrency and --batch are positive")
    if arguments.inbox and not arguments.nodes:
        parser.error("--inbox needs --nodes: games by the clock differ from machine to machine")
    if arguments.options is None:
        arguments.options = [] if arguments.inbox else ["Threads=1", "Hash=32"]
    if any("=" not in option for option in arguments.options):
        parser.error("--options are of the form NAME=VALUE")
    try:
        [float(part) for part in arguments.tc.split("+", 1)][1]
    except (ValueError, IndexError):
        parser.error("--tc is seconds+seconds, as in 1+0.01")
    arguments.limit = f"{arguments.nodes} nodes a move" if arguments.nodes else arguments.tc
    return arguments


def begin(arguments, command):
    """The state to go on from: a new one, or that of the file if it is of the same tuning."""
    probe = Engine(command, {})
    probe.close()
    for parameter in arguments.param:
        parameter.settle(probe.options)
    now = setting(arguments, command)
    if not arguments.state.exists():
        starts = [p.start for p in arguments.param]
        return State(now, starts, list(starts), open=[])
    state = State.read(arguments.state)
    changed = [key for key, value in now.items() if state.setting.get(key) != value]
    if changed == ["engine"]:
        print("tune.py: the engine is another build than the tuning began with", file=sys.stderr)
    elif changed:
        sys.exit(f"tune.py: {arguments.state} was begun with other settings ({', '.join(changed)}): name another file")
    print(f"tune.py: going on after step {state.finished}", file=sys.stderr)
    return state


def main():
    arguments = parse()
    if arguments.self_test:
        return self_test()
    if arguments.show:
        return print(table(State.read(arguments.state)))
    command = match.player(None, arguments.engine, []).command
    if arguments.inbox:
        tuning = UnitTuning(arguments, begin(arguments, command))
    else:
        chess = match.require_chess()
        state = begin(arguments, command)
        tuning = Tuning(arguments, state, command, match.read_book(chess, Path(arguments.book)), chess)
    tuning.run()
    print(table(tuning.state))


if __name__ == "__main__":
    main()
