#!/usr/bin/env python3
"""Rates Philidor by games against other engines whose ratings are known.

Philidor plays every named engine by fastchess: pairs of games with reversed colours from a balanced book, one thread
each. `philidor-trainer rate` then fits Philidor's rating and keeps the given ratings. The result holds for this pool,
limit and machine; it is not a rating of the list that the given ratings come from.

The games against each engine are in a PGN of their own. After Ctrl-C or a kill, the same command continues: finished
pairs count, and a lone game is played again.

Example:
  scripts/gauntlet.py --engine "Weiss 2.0=../weiss/src/weiss@3335" --engine "Stash 37=../stash/src/stash@3340" \\
    --book 8moves_v3.pgn --games 200
"""

import argparse
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import match

ROOT = Path(__file__).resolve().parent.parent


@dataclass
class Opponent:
    """Another engine with its known rating."""

    name: str
    command: str
    rating: float


def opponent(text):
    """An engine written as NAME=PATH@RATING."""
    found = re.fullmatch(r"([^=]+)=(.+)@(-?\d+(?:\.\d+)?)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=PATH@RATING")
    name, path, rating = found[1].strip(), found[2], float(found[3])
    command = match.find_program(path)
    if not command:
        raise argparse.ArgumentTypeError(f"no such program: {path}")
    return Opponent(name, command, rating)


def games_of(pgn):
    """The finished games of a PGN as texts with their round and result, in order."""
    if not pgn.exists():
        return []
    text = pgn.read_text(encoding="utf-8", errors="replace")
    games = [game for game in re.split(r"(?m)^(?=\[Event )", text) if game.strip()]
    found = []
    for game in games:
        tags = dict(re.findall(r'^\[(\w+) "(.*)"\]', game, re.M))
        result = tags.get("Result")
        # A game that was interrupted while it was written lacks its end.
        if result in ("1-0", "0-1", "1/2-1/2") and game.rstrip().endswith(result):
            found.append((tags.get("Round", "?"), game))
    return found


def keep_pairs(pgn):
    """Drops games without a partner from a PGN; returns the number of pairs left."""
    rounds = {}
    for number, game in games_of(pgn):
        rounds.setdefault(number, []).append(game.strip())
    pairs = [games for games in rounds.values() if len(games) == 2]
    if pgn.exists():
        aside = pgn.with_suffix(".tmp")
        aside.write_text("".join(f"{game}\n\n" for pair in pairs for game in pair), encoding="utf-8")
        aside.replace(pgn)
    return len(pairs)


def renumbered(text, first):
    """The games of a PGN with rounds counted from `first` + 1."""
    return re.sub(r'(?m)^\[Round "(\d+)"\]', lambda m: f'[Round "{int(m[1]) + first}"]', text)


def play(fastchess, us, them, arguments, folder):
    """Plays the pairs against one opponent that are missing; returns whether all are there."""
    pgn = folder / f"{re.sub(r'[^A-Za-z0-9.-]+', '_', them.name)}.pgn"
    done, wanted = keep_pairs(pgn), arguments.games // 2
    if done >= wanted:
        return True
    print(f"gauntlet: {them.name}: {2 * done} of {arguments.games} games are there", file=sys.stderr)
    new = pgn.with_suffix(".new.pgn")
    new.unlink(missing_ok=True)
    book = Path(arguments.book).resolve()
    command = [fastchess]
    for name, path, options in ((us, arguments.philidor, arguments.options), (them.name, them.command, [])):
        command += ["-engine", f"name={name}", f"cmd={path}", f"tc={arguments.tc}"]
        command += [f"option.{option}" for option in ["Threads=1", f"Hash={arguments.hash}", *options]]
    command += ["-openings", f"file={book}", f"format={book.suffix[1:]}", "order=random", f"start={done + 1}"]
    command += ["-srand", str(arguments.seed), "-rounds", str(wanted - done), "-games", "2", "-recover"]
    command += ["-concurrency", str(arguments.concurrency), "-ratinginterval", "0", "-autosaveinterval", "0"]
    command += ["-pgnout", f"file={new}", "nodes=true", "nps=true"]
    command += ["-config", f"outname={folder / 'fastchess.json'}"]
    began, process = time.monotonic(), None
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, cwd=folder)
        finished = 0
        for line in process.stdout:
            if line.startswith("Finished game"):
                finished += 1
                rate = finished / (time.monotonic() - began)
                left = (2 * (wanted - done) - finished) / rate / 60
                print(f"{line.strip()}; {60 * rate:.1f} games a minute, {left:.0f} minutes left", file=sys.stderr)
            elif line.startswith(("Fatal", "Error")) or "loses on time" in line:
                print(line, end="", file=sys.stderr, flush=True)
        process.wait()
    except KeyboardInterrupt:
        if process:
            process.send_signal(signal.SIGINT)
            process.wait()
    finally:
        if new.exists():
            with pgn.open("a", encoding="utf-8") as file:
                file.write(renumbered(new.read_text(encoding="utf-8", errors="replace"), done))
            new.unlink()
        (folder / "fastchess.json").unlink(missing_ok=True)
    return keep_pairs(pgn) >= wanted


def rated(us, opponents, folder):
    """The output of `philidor-trainer rate` on all games, with the opponents' ratings fixed; None without a game."""
    files = [file for file in sorted(folder.glob("*.pgn")) if games_of(file)]
    if not files:
        return None
    played = "".join(file.read_text(encoding="utf-8") for file in files)
    anchors = [f"{them.name}={them.rating:g}" for them in opponents if f'"{them.name}"' in played]
    command = [match.trainer(), "rate", "--json", "--player", us, *map(str, files)]
    command += [word for anchor in anchors for word in ("--anchor", anchor)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"gauntlet.py: {done.stderr.strip()}")
    return json.loads(done.stdout)


def rows(us, opponents, result, commit, tc):
    """Rows for docs/results/progress.md: the rating, then each opponent."""
    day = time.strftime("%Y-%m-%d")
    own = next(player for player in result["players"] if player["name"] == us)
    rating = own["rating"]
    lines = [
        f"| {day} | `{commit}` | the pool below | {tc} | +{own['wins']} ={own['draws']} −{own['losses']} "
        f"| {rating['elo']:.0f} ± {rating['error']:.0f} on its scale |"
    ]
    for them in opponents:
        for meeting in result["matches"]:
            if {meeting["first"], meeting["second"]} != {us, them.name}:
                continue
            sign = 1 if meeting["first"] == us else -1
            won, lost = (meeting["wins"], meeting["losses"])[::sign]
            score = (won + meeting["draws"] / 2) / meeting["games"]
            ends = [end for end in (meeting["low"], meeting["high"]) if end is not None]
            error = f" ± {(ends[1] - ends[0]) / 2:.0f}" if len(ends) == 2 else ""
            elo = "–" if meeting["elo"] is None else f"{sign * meeting['elo']:+.0f}{error}".replace("-", "−")
            lines.append(
                f"| {day} | `{commit}` | {them.name} ({them.rating:g}) | {tc} | +{won} ={meeting['draws']} −{lost}, "
                f"{100 * score:.1f} % | {elo} |"
            )
    return lines


def self_test():
    """Tests reading, repairing and renumbering games, without an engine."""
    game = '[Event "x"]\n[Round "{}"]\n[White "{}"]\n[Black "{}"]\n[Result "{}"]\n\n1. e4 {}\n\n'
    with tempfile.TemporaryDirectory() as name:
        pgn = Path(name) / "a.pgn"
        whole = [game.format(1, "P", "W", "1-0", "1-0"), game.format(1, "W", "P", "1/2-1/2", "1/2-1/2")]
        lone, cut = game.format(2, "P", "W", "0-1", "0-1"), game.format(3, "P", "W", "1-0", "")
        pgn.write_text("".join([*whole, lone, cut]), encoding="utf-8")
        assert keep_pairs(pgn) == 1
        assert [number for number, _ in games_of(pgn)] == ["1", "1"]
        assert '[Round "8"]' in renumbered(whole[0], 7)
        pool = [Opponent("W", "w", 3000.0)]
        result = rated("P", pool, Path(name))
        lines = rows("P", pool, result, "abc", "8+0.08")
        assert "W (3000)" in lines[1] and "+1 =1 −0, 75.0 %" in lines[1], lines
        own = next(player for player in result["players"] if player["name"] == "P")
        assert own["rating"]["elo"] > 3050, own
    try:
        opponent("Weiss=/no/such/program@3000")
    except argparse.ArgumentTypeError as error:
        assert "no such program" in str(error)
    else:
        raise AssertionError("a missing program must be refused")
    print("gauntlet: self-test passed", file=sys.stderr)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", action="append", type=opponent, default=[], metavar="NAME=PATH@RATING",
                        help="another engine with its rating; can be repeated")
    parser.add_argument("--philidor", default=str(ROOT / "target/release/philidor"), metavar="PATH",
                        help="the engine that is rated (default: target/release/philidor)")
    parser.add_argument("--options", nargs="*", default=[], metavar="NAME=VALUE", help="UCI options for Philidor")
    parser.add_argument("--games", type=int, default=200, help="games against each engine (default: 200)")
    parser.add_argument("--tc", default="8+0.08", help="seconds and increment (default: 8+0.08)")
    parser.add_argument("--hash", type=int, default=256, help="MiB for either side (default: 256)")
    parser.add_argument("--book", default=str(ROOT / "tests/data/openings.pgn"), metavar="FILE",
                        help="balanced openings, .pgn or .epd (default: tests/data/openings.pgn)")
    parser.add_argument("--concurrency", type=int, default=1, help="games at once (default: 1)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the openings' order (default: 1)")
    parser.add_argument("--out", default=str(ROOT / "runs/gauntlet"), metavar="FOLDER",
                        help="where the games go and are continued from (default: runs/gauntlet)")
    parser.add_argument("--fastchess", default=os.environ.get("FASTCHESS", "fastchess"), help="fastchess, by name or path")
    parser.add_argument("--self-test", action="store_true", help="test this script, without any engine")
    return parser.parse_args()


def main():
    arguments = parse()
    if arguments.self_test:
        return self_test()
    if not arguments.engine:
        sys.exit("gauntlet.py: name at least one opponent: --engine NAME=PATH@RATING")
    fastchess = match.find_fastchess(arguments.fastchess)
    if not fastchess:
        sys.exit("gauntlet.py: fastchess is not installed; `scripts/setup.sh tools` says how to get it")
    arguments.philidor = match.find_program(arguments.philidor) or sys.exit(
        f"gauntlet.py: no such program: {arguments.philidor}; build it with cargo build --release -p engine")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    version = subprocess.run([arguments.philidor, "--version"], capture_output=True, text=True).stdout
    commit = (re.findall(r"\b[0-9a-f]{7,12}(?:-dirty)?\b", version) or ["unknown"])[0]
    us, folder = f"Philidor {commit}", Path(arguments.out).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"gauntlet.py: another gauntlet is writing {folder}: wait for it, or choose another --out")
        return gauntlet(fastchess, us, commit, arguments, folder)


def gauntlet(fastchess, us, commit, arguments, folder):
    # An incomplete match was interrupted, so that the next ones are not begun.
    complete = all(play(fastchess, us, them, arguments, folder) for them in arguments.engine)
    result = rated(us, arguments.engine, folder)
    if not result:
        sys.exit("gauntlet.py: no finished game")
    print(*rows(us, arguments.engine, result, commit, arguments.tc), sep="\n")
    return None if complete else sys.exit(130)


if __name__ == "__main__":
    main()
