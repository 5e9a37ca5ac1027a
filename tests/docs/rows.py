#!/usr/bin/env python3
"""Checks the tables of docs/sources.md: that what their rows name exists.

Usage: tests/docs/rows.py [--self-test]

A row is `claim|where|command or test|here`; an empty cell repeats the one above. In the second column, code is the end
of a tracked file's or folder's path, or an option or key that stands in the sources. In the third it is a Rust test, a
file of the studio's tests, or a command, which commands.py runs. A cell that begins with `not run: ` gives the reason.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = "docs/sources.md"
HEADER = ["claim", "where", "command or test", "here"]
CODE = re.compile(r"`([^`]+)`")
COMMAND = re.compile(r"(?:philidor|philidor-trainer) |scripts/")
RUST_TEST = re.compile(r"#\[test\]\s*(?:(?:#\[.*\]|///.*)\s*)*fn (\w+)")
BENCH = re.compile(r"cargo bench -p (\w+) --bench (\w+)")
SOURCES = ("engine", "trainer", "studio", "scripts")


def rows(text):
    """The rows of the page's tables: (line number, its cells, which should be four)."""
    above = None
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.split("|")]
        if cells == HEADER:
            above = cells
        elif above and len(cells) == len(HEADER):
            if not re.fullmatch(r"[-:| ]+", line):
                above = [cell or before for cell, before in zip(cells, above)]
                yield number, above
        elif above and len(cells) > 1:
            yield number, cells
        else:
            above = None


def is_run(cell):
    return not cell.startswith("not run: ")


def commands(text):
    """The commands of the rows, each once: (line number, command)."""
    seen = set()
    for number, cells in rows(text):
        proof = cells[HEADER.index("command or test")] if len(cells) == len(HEADER) else ""
        for code in CODE.findall(proof) if is_run(proof) else ():
            if COMMAND.match(code) and code not in seen:
                seen.add(code)
                yield number, code


class Repository:
    """What rows may name."""

    def __init__(self):
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=True).stdout
        self.files = [name for name in listed.split("\0") if name]
        rust = {name: self.read(name) for name in self.files if name.endswith(".rs")}
        self.tests = {test for text in rust.values() for test in RUST_TEST.findall(text)}
        others = (self.read(name) for name in self.files if name.startswith(SOURCES) and name.endswith((".py", ".js", ".json")))
        self.words = {word for text in (*rust.values(), *others) for word in re.findall(r"\w+", text)}

    def read(self, name):
        return (ROOT / name).read_text(encoding="utf-8", errors="replace")

    def has_path(self, code):
        return any(f"/{name}".endswith(f"/{code}") or code.endswith("/") and f"/{code}" in f"/{name}" for name in self.files)

    def has_words(self, code):
        """Options and keys: `UCI_Elo`, `play.noise` (field by field), `--unroll` (a field of that name)."""
        parts = re.split(r"[.\s]+", code.removeprefix("--").replace("-", "_"))
        # Options of UCI are text, and fields of Rust have other letters.
        return all(part in self.words or part.lower() in self.words for part in parts if part)


def faults(text, repository):
    """What the rows name that does not exist."""
    for number, cells in rows(text):
        place = f"{PAGE}:{number}: {cells[0]}"
        if len(cells) != len(HEADER) or not cells[-1]:
            yield f"{place}: not four cells"
            continue
        _, where, proof, _ = cells
        for code in CODE.findall(where):
            if not repository.has_path(code) and ("/" in code or not repository.has_words(code)):
                yield f"{place}: no file, option or key {code}"
        found = CODE.findall(proof)
        if is_run(proof) and not found:
            yield f"{place}: neither a command nor a test"
        for code in found:
            bench = BENCH.match(code)
            if bench and not is_run(proof):
                known = f"{bench[1]}/benches/{bench[2]}.rs" in repository.files
            elif code.endswith(".test.js"):
                known = repository.has_path(code)
            else:
                known = code in repository.tests or bool(COMMAND.match(code))
            if not known:
                yield f"{place}: neither a command nor a test: {code}"


def self_test():
    table = "|".join(HEADER) + "\n---|---|---|---\n"
    repository = Repository()

    def told(row):
        return list(faults(table + row, repository))

    assert not told("a|`tests/docs/rows.py`, `UCI_Elo`, `play.noise`|`a_promotion_ends_everything`|yes")
    assert not told("a|`chess/mates/`|not run: `cargo bench -p engine --bench mates`|yes")
    assert "no_such_file.rs" in told("a|`no_such_file.rs`|`philidor lesson`|yes")[0]
    assert "NoSuchOption" in told("a|`NoSuchOption`|`philidor lesson`|yes")[0]
    assert "no_such_test" in told("a|`Hash`|`no_such_test`|yes")[0]
    assert "no_such.test.js" in told("a|`Hash`|`no_such.test.js`|yes")[0]
    assert "neither" in told("a|`Hash`|by hand|yes")[0]
    broken = told("a|`Hash`|`philidor lesson`|yes|no\na|`no_such_file.rs`|`philidor lesson`|yes")
    assert "not four cells" in broken[0] and "no_such_file.rs" in broken[1], "the rows after it are checked, too"
    assert "no_such_bench" in told("a|`Hash`|not run: `cargo bench -p engine --bench no_such_bench`|yes")[0]
    repeated = list(rows(table + "a|`Hash`|`philidor lesson`|yes\nb|||no\n\nc|d|e|f\n"))
    assert repeated[1][1] == ["b", "`Hash`", "`philidor lesson`", "no"] and len(repeated) == 2
    twice = table + "a|b|`philidor x`|c\na|b|`philidor x`, `philidor y`|c\na|b|not run: `philidor z`|c\n"
    assert [command for _, command in commands(twice)] == ["philidor x", "philidor y"]


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if sys.argv[1:]:
        sys.exit(__doc__)
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    found, count = list(faults(text, Repository())), len(list(rows(text)))
    if found or not count:
        sys.exit("\n".join(found) or f"{PAGE} has no rows")
    print(f"{PAGE}: {count} rows, {len(list(commands(text)))} commands, all files, keys and tests exist")


if __name__ == "__main__":
    main()
