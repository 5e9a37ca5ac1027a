#!/usr/bin/env python3
"""Measures the studio under load: a run of a million lines, idle CPU, fifty tabs.

Tabs are streams of events, each of which shows one board of a match.

Usage: scripts/studio_load.py [--tabs N] [--lines N] [--seconds S] [--build release|debug]

Programs are built with cargo build --release -p engine -p studio.
"""
import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "target"


class Studio:
    """A running server."""

    def __init__(self, build, folder, runs):
        flags = ["--port", "0", "--state", str(folder), "--philidor", str(build / "philidor")]
        flags += [word for run in runs for word in ("--run", str(run))]
        self.child = subprocess.Popen([build / "philidor-studio", *flags], stdout=subprocess.PIPE, text=True)
        self.port = int(self.child.stdout.readline().split("127.0.0.1:")[1].split("/")[0])

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        headers = {"Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        return response.status, response.read()

    def memory_mib(self):
        status = Path(f"/proc/{self.child.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def cpu_s(self):
        """Processor seconds of the server, without its engines."""
        fields = Path(f"/proc/{self.child.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def share(self, seconds):
        """Per cent of a processor that the server needs."""
        before, at = self.cpu_s(), time.time()
        time.sleep(seconds)
        return 100 * (self.cpu_s() - before) / (time.time() - at)

    def end(self):
        self.child.terminate()
        self.child.wait()


class Tab(threading.Thread):
    """A stream of events, with the times at which messages came."""

    def __init__(self, studio, name):
        super().__init__(daemon=True)
        self.studio, self.name, self.messages, self.bytes = studio, name, [], 0
        self.start()

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.studio.port)
        connection.request("GET", f"/api/events?tab={self.name}")
        stream = connection.getresponse().fp
        while line := stream.readline():
            self.bytes += len(line)
            if line.startswith(b"data:"):
                self.messages.append((time.time(), line))


def million(folder, lines):
    """Writes a run with this many lines, like `train`."""
    folder.mkdir()
    (folder / "config.json").write_text('{"samples": 100000000}')
    with open(folder / "metrics.jsonl", "w", encoding="utf-8") as file:
        for step in range(1, lines + 1):
            loss = 3 / step**0.1
            file.write(
                f'{{"step":{step},"samples":{step * 64},"time_s":{step * 0.5},"lr":{0.01 / step**0.5:.8f},'
                f'"policy_loss":{loss:.5f},"wdl_loss":{loss / 3:.5f},"top1":0.4512,"top5":0.8123,'
                f'"samples_per_s":{2000 + step % 100},"skipped":0}}\n'
            )
    return folder


def curves_of(studio):
    started = time.time()
    while True:
        status, body = studio.ask("GET", "/api/runs/0/curves?points=500")
        if status == 200 and len(body) > 10:
            return time.time() - started, len(body)
        time.sleep(0.02)


def long_run(build, folder, lines):
    run = million(folder / "long", lines)
    size = (run / "metrics.jsonl").stat().st_size / 2**20
    started = time.time()
    studio = Studio(build, folder / "long-state", [run])
    first, _ = curves_of(studio)
    opened = time.time() - started
    reader = Tab(studio, "reader")
    while not any(f'"lines":{lines},' in line.decode() for _, line in reader.messages[-3:]):
        time.sleep(0.05)
    whole = time.time() - started
    again, size_kib = curves_of(studio)
    print(f"a run of {lines:,} lines ({size:.0f} MiB): first curves {opened:.2f} s after the start, all of it after "
          f"{whole:.2f} s (processor {studio.cpu_s():.2f} s); its curves again in {again * 1000:.0f} ms "
          f"({size_kib / 1024:.0f} KiB); memory {studio.memory_mib():.0f} MiB", flush=True)
    studio.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tabs", type=int, default=50, help="tabs that watch (default: %(default)s)")
    parser.add_argument("--lines", type=int, default=1_000_000, help="lines of the long run (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=10, help="seconds of each measurement (default: %(default)s)")
    parser.add_argument("--build", choices=["release", "debug"], default="release", help="(default: %(default)s)")
    arguments = parser.parse_args()
    build = TARGET / arguments.build
    for name in ("philidor", "philidor-studio"):
        if not (build / name).exists():
            sys.exit(f"{build / name} is missing: run cargo build --release -p engine -p studio")
    with tempfile.TemporaryDirectory(prefix="philidor-load-") as folder:
        folder = Path(folder)
        long_run(build, folder, arguments.lines)
        tabs(build, folder, arguments)


def tabs(build, folder, arguments):
    studio = Studio(build, folder / "state", [])
    time.sleep(3)
    print(f"no tab: {studio.share(arguments.seconds):.2f} % of a processor, memory {studio.memory_mib():.0f} MiB")
    watching = [Tab(studio, f"tab{number}") for number in range(arguments.tabs)]
    time.sleep(2)
    idle = studio.share(arguments.seconds)
    print(f"{len(watching)} tabs, nothing happens: {idle:.2f} % of a processor, memory {studio.memory_mib():.0f} MiB")
    person = {"kind": "person"}
    studio.ask("POST", "/api/play", {"do": "new", "white": person, "black": person, "here": 1})
    for tab in watching:
        studio.ask("POST", "/api/view", {"tab": tab.name, "boards": ["play/1"]})
        time.sleep(0.05)
    latencies = []
    for move in "e4 e5 Nf3 Nc6 Bb5 a6 Ba4 Nf6 O-O Be7 Re1 b5 Bb3 d6 c3 O-O h3 Na5 Bc2 c5".split():
        at = time.time()
        status, _ = studio.ask("POST", "/api/play/1", {"do": "move", "text": move})
        assert status == 200, move
        time.sleep(0.4)
        latencies += [next(when for when, _ in tab.messages if when > at) - at for tab in watching]
    worst = sorted(latencies)[int(0.99 * len(latencies))]
    print(f"a move reaches {len(watching)} tabs: median {1000 * statistics.median(latencies):.1f} ms, "
          f"99 % within {1000 * worst:.1f} ms, the last {1000 * max(latencies):.1f} ms")
    order = {"do": "begin", "first": "Random moves", "second": "Random moves", "games": 2000,
             "time": {"move_ms": 100}, "at_once": 4}
    status, body = studio.ask("POST", "/api/match", order)
    assert status == 200, body
    for number, tab in enumerate(watching):
        studio.ask("POST", "/api/view", {"tab": tab.name, "boards": [f"match/{number % 4}"]})
        time.sleep(0.05)
    messages, count = sum(len(tab.messages) for tab in watching), sum(tab.bytes for tab in watching)
    busy = studio.share(arguments.seconds)
    messages = (sum(len(tab.messages) for tab in watching) - messages) / len(watching) / arguments.seconds
    count = (sum(tab.bytes for tab in watching) - count) / len(watching) / arguments.seconds
    print(f"{len(watching)} tabs watch a match of four boards, one each: {busy:.1f} % of a processor, "
          f"{messages:.1f} messages and {count / 1024:.1f} KiB a second and tab, memory {studio.memory_mib():.0f} MiB")
    studio.end()


if __name__ == "__main__":
    main()
