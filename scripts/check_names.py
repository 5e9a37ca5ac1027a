#!/usr/bin/env python3
"""Checks that every public type's name is unique in its crate.

A name that means two things has to be read with its path; this keeps it from coming back.

Usage: scripts/check_names.py [CRATE_FOLDER ...]        (default: every crate of the workspace)
"""
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TYPE = re.compile(r"^pub(?:\([a-z]+\))? (?:struct|enum|trait|type|union) (\w+)")


def collisions(crate):
    """The names that several public types of a crate share, with the places of each."""
    places = defaultdict(list)
    for file in sorted((crate / "src").rglob("*.rs")):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if found := TYPE.match(line):
                places[found[1]].append(f"{file.relative_to(ROOT)}:{number}")
    return {name: where for name, where in places.items() if len(where) > 1}


def main():
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return 0
    crates = [Path(name).resolve() for name in sys.argv[1:]] or [
        manifest.parent for manifest in sorted(ROOT.glob("*/Cargo.toml"))
    ]
    failed = False
    for crate in crates:
        for name, where in sorted(collisions(crate).items()):
            failed = True
            print(f"{crate.name}: {name} is the name of {len(where)} types: {', '.join(where)}", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
