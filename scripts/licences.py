#!/usr/bin/env python3
"""Writes the licences of everything that is compiled into programs of this workspace.

Usage: scripts/licences.py [--target TRIPLE] CRATE... > licences.txt

The crates that the named ones contain on that target (default: x86_64-unknown-linux-gnu), each with its
licence, and the texts that came with them, equal ones once. Needs cargo and the crates' sources; no network.
"""
import json
import subprocess
import sys
from pathlib import Path

NAMES = ("licen", "copying", "notice", "copyright", "unlicense")


def metadata(target):
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", target]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def contained(data, roots):
    """The ids of all packages that are compiled into the roots: no build scripts, no tests."""
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    found, left = set(), [package["id"] for package in data["packages"] if package["name"] in roots]
    while left:
        package = left.pop()
        if package in found:
            continue
        found.add(package)
        for dependency in nodes[package]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                left.append(dependency["pkg"])
    return found


def texts(package):
    folder = Path(package["manifest_path"]).parent
    files = [file for file in sorted(folder.iterdir()) if file.is_file() and file.name.lower().startswith(NAMES)]
    return [file.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n").strip() for file in files]


def main():
    arguments = sys.argv[1:]
    if not arguments or {"-h", "--help"} & set(arguments):
        print(__doc__)
        return 0 if arguments else 2
    target = "x86_64-unknown-linux-gnu"
    if arguments[0] == "--target":
        target, arguments = arguments[1], arguments[2:]
    data = metadata(target)
    ids = contained(data, set(arguments))
    packages = [package for package in data["packages"] if package["id"] in ids]
    packages.sort(key=lambda package: (package["name"], package["version"]))
    foreign = [package for package in packages if package["source"]]
    print(f"{' and '.join(arguments)}: {len(foreign)} crates, for {target}\n")
    holders = {}
    for package in foreign:
        name = f"{package['name']} {package['version']}"
        own = texts(package)
        print(f"{name:<40} {package['license'] or 'see its text'}{'' if own else '  (no text in the crate)'}")
        for text in own:
            holders.setdefault(text, []).append(name)
    for text, names in holders.items():
        print(f"\n{'=' * 78}\n{', '.join(names)}\n{'-' * 78}\n{text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
