#!/usr/bin/env python3
"""Compares the speed of UCI engines: nodes per second, as each engine counts them.

The engines search the same positions for the same time, in turns and repeatedly, so that other load on the machine
affects all of them alike; the result is the median. The table goes to stdout, progress to stderr. Engines count nodes
differently: only similar ones (such as two tree searches with the same network) can be compared. Where other programs
take processors away, --cpu (Linux) divides by the processor time of the engine's threads together.

Examples:
  scripts/nps.py --engine fp32 target/release/philidor Precision=fp32 Threads=2 \\
    --engine int8 target/release/philidor Precision=int8 Threads=2
  scripts/nps.py --engine ours target/release/philidor WeightsFile=$PWD/nets/maia-1900.onnx Threads=2 \\
    --engine lc0 lc0 WeightsFile=$PWD/maia-1900.pb.gz Backend=blas Threads=2
"""

import argparse
import os
import statistics
import sys

import match

POSITIONS = {
    "start": "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "middlegame": "r2q1rk1/pp2bppp/2n1bn2/2pp4/3P1B2/2P1PN2/PP1NBPPP/R2QK2R w KQ - 0 9",
    "endgame": "8/5pk1/4p1p1/1r1pP2p/3P3P/1P3KP1/R4P2/8 b - - 0 40",
}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--engine", nargs="+", action="append", required=True, metavar="WORD",
        help="a name, a command and UCI options NAME=VALUE; once per engine")
    add("--seconds", type=float, default=3.0, help="per position and repeat (default: %(default)s)")
    add("--repeats", type=int, default=3, help="searches of each position (default: %(default)s)")
    add("--cpu", action="store_true", help="nodes per second of processor time instead of the clock's")
    arguments = parser.parse_args()
    for words in arguments.engine:
        if len(words) < 2:
            parser.error(f"--engine {' '.join(words)}: expected a name and a command")
    return arguments


def processor_seconds(engine):
    """Used so far by all threads of the engine's process."""
    with open(f"/proc/{engine.transport.get_pid()}/stat", encoding="utf-8") as file:
        user, system = file.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def main():
    arguments = parse()
    chess = match.require_chess()
    engines = []
    try:
        for name, command, *options in arguments.engine:
            player = match.player(name, command, options)
            engine = chess.engine.SimpleEngine.popen_uci(player.command, timeout=60)
            engines.append((name, engine, {}))
            engine.configure(player.options)
        for repeat in range(arguments.repeats):
            for position, fen in POSITIONS.items():
                for name, engine, speeds in engines:
                    game = object()
                    # The new game's preparation is not part of the search.
                    engine.analyse(chess.Board(fen), chess.engine.Limit(nodes=1), game=game)
                    before = processor_seconds(engine) if arguments.cpu else 0.0
                    info = engine.analyse(chess.Board(fen), chess.engine.Limit(time=arguments.seconds), game=game)
                    time = processor_seconds(engine) - before if arguments.cpu else info["time"]
                    if time < info["time"] / 10:
                        sys.exit(f"nps.py: {name} used {time:.2f} s of processor time in {info['time']:.2f} s: its command "
                            "must be the engine, or replace itself by it (exec)")
                    speeds.setdefault(position, []).append(info["nodes"] / max(time, 1e-3))
                    print(f"{repeat + 1}/{arguments.repeats} {position} {name}: {speeds[position][-1]:.0f}", file=sys.stderr)
    finally:
        for _, engine, _ in engines:
            engine.close()
    print("\t".join(["engine", *POSITIONS, "all", "ratio to the first"]))
    first = None
    for name, _, speeds in engines:
        medians = [statistics.median(speeds[position]) for position in POSITIONS]
        total = statistics.geometric_mean(medians)
        first = first or total
        print("\t".join([name, *(f"{nps:.0f}" for nps in [*medians, total]), f"{total / first:.2f}"]))


if __name__ == "__main__":
    main()
