#!/usr/bin/env python3
"""Parts of the packaging that need no build: missing tools, versions, texts, pages, the check of programs for macOS;
OpenBench's manifest and the Makefile.

Usage: tests/packages.py
Needs git; takes a few seconds.
"""

import itertools
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

try:
    from pip._vendor.packaging.version import Version
except ImportError:
    Version = None

ROOT = Path(__file__).resolve().parent.parent
# What every Debian has, and what nobody can build without.
COMMON = ["bash", "cat", "date", "dirname", "env", "git", "mkdir", "printf", "readlink", "rm", "sed", "sort"]
PARTS = ["deb", "wheel-aarch64", "windows", "sbom"]
TOOLS = ["aarch64-linux-gnu-gcc", "cargo-about", "cargo-cyclonedx", "cargo-deb", "hatchling", "objdump", "python3", "qemu-aarch64",
         "x86_64-w64-mingw32-gcc-posix", "zip"]


def shell(script, text, **variables):
    """What a line of bash prints after it has sourced a script."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DEB")}
    command = ["bash", "-euc", f". {script}; {text}"]
    return subprocess.run(command, cwd=ROOT, env={**environment, **variables}, check=True, capture_output=True, text=True).stdout


def missing_tools():
    """All that is missing is named at once, before anything is built."""
    with tempfile.TemporaryDirectory() as folder:
        for name in COMMON:
            Path(folder, name).symlink_to(shutil.which(name))
        done = subprocess.run([shutil.which("bash"), ROOT / "scripts/package.sh", "--out", f"{folder}/out", *PARTS],
                              env={"PATH": folder}, capture_output=True, text=True)
        assert done.returncode == 1, done
        lines = done.stderr.splitlines()
        assert [tool for tool in TOOLS if not any(line.startswith(f"  {tool}: ") for line in lines)] == [], done.stderr
        assert all(": " in line and ("install" in line) for line in lines[1:]), done.stderr
        assert len(lines) == len(set(lines)) and not list(Path(folder, "out").iterdir())


def versions():
    """The build of a later commit is newer for dpkg and pip, a build of changed files newer than its commit's."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder, "clone")
        git = ["git", "-C", clone, "-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "core.hooksPath=/dev/null"]
        subprocess.run(["git", "clone", "--quiet", "--shared", ROOT, clone], check=True)
        shutil.copy(ROOT / "scripts/package.sh", clone / "scripts/package.sh")
        subprocess.run([*git, "commit", "--quiet", "--all", "--allow-empty", "--message", "now"], check=True)
        found = []
        for seconds, change in [(0, ""), (1, ""), (1, "more")]:
            date = f"{1_900_000_000 + seconds} +0000"
            subprocess.run([*git, "commit", "--quiet", "--amend", "--allow-empty", "--no-edit", f"--date={date}"], check=True,
                           env={**os.environ, "GIT_COMMITTER_DATE": date})
            with open(clone / "README.md", "a", encoding="utf-8") as file:
                file.write(change)
            said = subprocess.run([clone / "scripts/package.sh", "--version"], check=True, capture_output=True, text=True)
            found.append(said.stdout.strip())
        first, second, changed = found
        assert first.startswith("0.2.0+20300317174640.g") and changed == f"{second}.dirty", found
        newer(first, second)
        newer(second, changed)
        newer(shell("scripts/try_packages.sh", f"older {second}"), second)
        assert shell("scripts/try_packages.sh", f"older {second}-1").startswith("0.2.0+20300317174640.g")


def newer(old, new):
    assert Version is None or Version(old) < Version(new), (old, new)
    if shutil.which("dpkg"):
        subprocess.run(["dpkg", "--compare-versions", old, "lt", new], check=True)


def texts():
    for kind, place in [("tar", "bin/philidor "), ("deb", "/usr/bin/philidor"), ("zip", "philidor.exe")]:
        readme = shell("scripts/package.sh", f"VERSION=1.2+3 PHILIDOR_COMMIT=c0ffee; readme {kind}")
        assert "@" not in readme and place in readme, readme
        assert "commit c0ffee" in readme and "philidor-1.2+3-source.tar.gz" in readme, readme
        assert "AVX2" in readme and "aarch64" not in readme, readme
    readme = shell("scripts/package.sh", "VERSION=1.2+3 PHILIDOR_COMMIT=c0ffee; machine tar-aarch64; readme tar")
    assert "@" not in readme and "aarch64" in readme and "x86" not in readme, readme
    licences = [(ROOT / "LICENSE").read_text(encoding="utf-8"), "Copyright 2020 Somebody"]
    done = subprocess.run([sys.executable, ROOT / "packaging/common_licences.py"], input="\n".join(licences), check=True,
                          capture_output=True, text=True).stdout
    assert "/usr/share/common-licenses/GPL-3" in done and "TERMS AND CONDITIONS" not in done, done[:500]
    assert "Copyright 2020 Somebody" in done
    attributions = (ROOT / "packaging/attributions.txt").read_text(encoding="utf-8")
    assert all(word in attributions for word in ("Syzygy", "chess-openings", "Burnett"))


def pages():
    """The packages hold every page that a help text or a message of the engine names."""
    with tempfile.TemporaryDirectory() as folder:
        shell("scripts/package.sh", f"documents {folder}/docs")
        there = {f"docs/{path.name}" for path in Path(folder, "docs").iterdir()}
    code = "\n".join(line for path in (ROOT / "engine/src").rglob("*.rs") for line in path.read_text(encoding="utf-8").splitlines()
                     if not line.lstrip().startswith("//"))
    named = set(re.findall(r"docs/[a-z.-]+\.(?:md|json)", code))
    assert {"docs/analysis.md", "docs/formats.md"} <= named <= there, (named, there)


def maintainers():
    """Of whom nothing is known the wheel says nothing; Debian's package must name an address."""
    project = lambda **variables: tomllib.loads(shell("scripts/package.sh", "VERSION=1.2+3; pyproject", **variables))["project"]  # noqa: E731
    author = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%ae"], check=True, capture_output=True, text=True)
    assert project()["authors"] == [{"name": "The Philidor authors"}] and project()["version"] == "1.2+3"
    assert shell("scripts/package.sh", "maintainer") == f"The Philidor authors <{author.stdout.strip()}>"
    me = {"DEBFULLNAME": "A. Packager", "DEBEMAIL": "me@debian.org"}
    assert project(**me)["authors"] == [{"name": "A. Packager", "email": "me@debian.org"}]
    assert shell("scripts/package.sh", "maintainer", **me) == "A. Packager <me@debian.org>"
    note = "settings; DEBEMAIL=a@b.example; notes 2>&1; DEBEMAIL=a@debian.org; notes 2>&1"
    assert shell("scripts/package.sh", note).count("no mail reaches") == 1


def openbench():
    """What OpenBench reads; and its client's command, with a cargo that copies instead of building."""
    manifest = json.loads((ROOT / "openbench.json").read_text(encoding="utf-8"))
    assert manifest["build"]["path"] == "" and isinstance(manifest["nps"], int)
    rust = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["rust-version"]
    assert manifest["build"]["compilers"] == [f"cargo>={rust}.0"], manifest["build"]
    assert all("default" in manifest[f"{kind}_presets"] for kind in ("test", "tune", "datagen"))
    if not shutil.which("make"):
        return
    with tempfile.TemporaryDirectory(prefix="with blanks ") as folder:
        shutil.copy(ROOT / "Makefile", folder)
        programs = Path(folder, "programs")
        programs.mkdir()
        (programs / "cargo").write_text('#!/bin/sh\nmkdir -p build/release\n'
                                        'printf \'#!/bin/sh\\necho "%s|$1"\\n\' "$EVALFILE" >build/release/philidor\n'
                                        'chmod +x build/release/philidor\n')
        (programs / "cargo").chmod(0o755)
        values = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "CARGO_TARGET_DIR": "build"}
        networks = [("", ""), ("/nets/new.onnx", "/nets/new.onnx"), ("new.onnx", f"{folder}/new.onnx"),
                    ("my nets/new.onnx", f"{folder}/my nets/new.onnx")]
        for (network, given), program in itertools.product(networks, ["Philidor-01234567", "my engine"]):
            command = ["make", "-j", f"EXE={program}", *([f"EVALFILE={network}"] if network else [])]
            said = subprocess.run(command, cwd=folder, env=values, check=True, capture_output=True, text=True).stdout
            assert said.endswith(f"{given}|--version\n"), said
            assert Path(folder, program).is_file()
            Path(folder, program).unlink()
        shutil.copy(ROOT / "openbench.json", folder)
        subprocess.run(["git", "init", "--quiet", folder], check=True)
        subprocess.run(["git", "-C", folder, "remote", "add", "origin", "git@github.com:me/philidor.git"], check=True)
        for source, filled in [("", "me/philidor"), ("https://github.com/you/fork", "you/fork"),
                               ("https://github.com/you/fork.git", "you/fork"), ("https://example.org/you/fork", None)]:
            printed = subprocess.run(["make", "-s", "openbench", f"SOURCE={source}"], cwd=folder, capture_output=True, text=True)
            if filled:
                assert json.loads(printed.stdout) == {**manifest, "source": f"https://github.com/{filled}"}, printed
            else:
                assert printed.returncode and source in printed.stderr and not printed.stdout, printed


def macho(libraries, system=(12, 0)):
    """The head of a program for macOS on Intel that loads libraries, each with its command's number."""
    commands = [struct.pack("<IIIIII", 0x32, 24, 1, system[0] << 16 | system[1] << 8, 0, 0)]
    for number, name in libraries:
        text = name.encode() + b"\0" * (8 - len(name) % 8)
        commands.append(struct.pack("<IIIIII", number, 24 + len(text), 24, 0, 0, 0) + text)
    size = sum(map(len, commands))
    return struct.pack("<IIIIIIII", 0xFEEDFACF, 0x01000007, 3, 2, len(commands), size, 0, 0) + b"".join(commands)


def macos():
    """A program may need no library that a Mac lacks, in whatever way it loads it."""
    system, foreign = "/usr/lib/libSystem.B.dylib", "/opt/homebrew/lib/libfoo.dylib"
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "philidor")

        def check(content):
            program.write_bytes(content)
            command = [sys.executable, ROOT / "packaging/check_macho.py", program, "x86_64", "12.0"]
            done = subprocess.run(command, capture_output=True, text=True)
            return done.returncode, done.stdout + done.stderr

        # Needed, weak, passed on, late, upward.
        for number in (0xC, 0x80000018, 0x8000001F, 0x20, 0x80000023):
            assert check(macho([(0xC, system), (number, system)]))[0] == 0, number
            code, said = check(macho([(0xC, system), (number, foreign)]))
            assert code == 1 and f"it loads {foreign}" in said, (number, said)
        assert "it needs macOS 13.0" in check(macho([(0xC, system)], (13, 0)))[1]
        assert "not a program" in check(b"\x7fELF" + bytes(60))[1]


def main():
    missing_tools()
    versions()
    texts()
    pages()
    maintainers()
    openbench()
    macos()
    print("packages.py: good", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
