#!/usr/bin/env python3
"""Checks that the studio's vendored libraries are the files that VENDORED.md names, with their checksums.

Usage: scripts/check_vendored.py
"""
import hashlib
import re
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "studio" / "page" / "vendor"
ROW = re.compile(r"^\| `([^`]+)` \|.*\| `([0-9a-f]{64})` \|$", re.MULTILINE)


def main():
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return 0
    named = dict(ROW.findall((FOLDER / "VENDORED.md").read_text(encoding="utf-8")))
    there = {file.name for suffix in ("*.js", "*.css") for file in FOLDER.glob(suffix)}
    problems = [f"{name} is not in VENDORED.md" for name in sorted(there - named.keys())]
    for name, expected in sorted(named.items()):
        file = FOLDER / name
        found = hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else "missing"
        if found != expected:
            problems.append(f"{name}: {found}, but VENDORED.md says {expected}")
    print("\n".join(problems), end="\n" if problems else "", file=sys.stderr)
    return 1 if problems or not named else 0


if __name__ == "__main__":
    sys.exit(main())
