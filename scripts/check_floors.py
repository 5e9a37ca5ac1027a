#!/usr/bin/env python3
"""Checks the order of imports: a floor (a module of a crate) uses only the floors listed before it, a room (a module
of a floor) only the rooms listed before it.

The order is that of the `mod` lines: floors in a crate's `lib.rs`, rooms in a floor's `mod.rs`. Tests and comments are
not checked. The rooms of `cli` have no order, because a command and its part with libtorch use each other.

Usage: scripts/check_floors.py [CRATE_FOLDER ...]        (default: engine and trainer)
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULE = re.compile(r"^\s*(?:pub(?:\([a-z]+\))? )?mod (\w+);", re.M)
PATH = re.compile(r"\bcrate::(\w+)(?:::(\w+))?")
GROUP = re.compile(r"\bcrate::(?:(\w+)::)?\{([^{}]*)\}")
TEST = re.compile(r"#\[cfg\(test\)\]\s*mod \w+ \{")
TEST_FILE = re.compile(r"#\[cfg\(test\)\]\s*mod (\w+);")
SIDE_BY_SIDE = {"cli"}


def code(text):
    """The text without comments and without test modules, which stand at the end of a file."""
    test = TEST.search(text)
    return re.sub(r"//.*", "", text[: test.start()] if test else text)


def uses(text):
    """The pairs of floor and room, or of floor and item, that a text names."""
    for floor, room in PATH.findall(text):
        yield floor, room
    for floor, group in GROUP.findall(text):
        for name in re.findall(r"(?:^|,)\s*(\w+)(?:::(\w+))?", group):
            yield (floor, name[0]) if floor else name


def upward(crate):
    """The imports of a crate that go up, one line each."""
    source = crate / "src"
    floors = MODULE.findall((source / "lib.rs").read_text(encoding="utf-8"))
    rooms = {}
    for floor in floors:
        listing = source / floor / "mod.rs"
        rooms[floor] = MODULE.findall(listing.read_text(encoding="utf-8")) if listing.exists() else []
    texts = {file: file.read_text(encoding="utf-8") for file in sorted(source.rglob("*.rs"))}
    # A file's modules lie beside it if it is a mod.rs, else in the folder of its name.
    tests = {
        folder / name
        for file, text in texts.items()
        for name in TEST_FILE.findall(text)
        for folder in (file.parent, file.with_suffix(""))
    }
    for file, text in texts.items():
        place = file.relative_to(source).parts
        if len(place) < 2 or tests & {file.with_suffix(""), *file.parents}:
            continue
        floor, room = place[0], place[1].removesuffix(".rs")
        for used_floor, used_room in uses(code(text)):
            if used_floor not in floors:
                continue
            up = floors.index(used_floor) > floors.index(floor)
            known = rooms[floor]
            if used_floor == floor and floor not in SIDE_BY_SIDE and room in known and used_room in known:
                up = known.index(used_room) > known.index(room)
            if up:
                yield f"{file.relative_to(ROOT)}: {floor}::{room} uses {used_floor}::{used_room}, which is above it"


def main():
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return 0
    crates = [Path(name).resolve() for name in sys.argv[1:]] or [ROOT / "engine", ROOT / "trainer"]
    found = [line for crate in crates for line in sorted(set(upward(crate)))]
    print(*found, sep="\n", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
