#!/usr/bin/env python3
"""Runs the Python example of docs/analysis.md with the built engine and checks what it prints.

Example: tests/clients/analyse_example.py [--engine target/debug/philidor]
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE = 60


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", type=Path, default=ROOT / "target/debug/philidor")
    engine = parser.parse_args().engine.resolve()
    text = (ROOT / "docs/analysis.md").read_text()
    code = text.split("<!-- example: begin -->\n```python\n")[1].split("```\n<!-- example: end -->")[0]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "philidor").symlink_to(engine)
        environment = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}")
        output = subprocess.run(
            [sys.executable, "-c", code], env=environment, timeout=PATIENCE, check=True, text=True, capture_output=True
        ).stdout
    lines = output.splitlines()
    # 3... Nf6 allows mate in one.
    if len(lines) != 3 or not lines[0].startswith("3... g8f6 "):
        sys.exit(f"analyse_example: unexpected output:\n{output}")
    print("analyse_example: passed", file=sys.stderr)


if __name__ == "__main__":
    main()
