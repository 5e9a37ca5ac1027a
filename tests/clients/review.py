#!/usr/bin/env python3
"""Reviews games with the built engine and reads the results as others do: the PGN with python-chess, the page in a
browser (Debian's chromium, or another that is named by --browser or BROWSER).

Example: tests/clients/review.py [--engine target/debug/philidor] [--browser chromium] [TEST...]
"""

import argparse
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from match import require_chess  # noqa: E402

chess = require_chess()
import chess.pgn  # noqa: E402

GAMES = ROOT / "tests/data/review.pgn"
ENGINE = ROOT / "target/debug/philidor"
BROWSER = os.environ.get("BROWSER", "chromium")
# Widths of a desktop's window and of a phone, in pixels.
WIDTHS = (1280, 390)
# Far more than a browser takes on a busy machine.
PATIENCE = 120

# Shows the page in frames of each width, and writes the measurements into the harness's text.
HARNESS = """<!DOCTYPE html><meta charset="utf-8"><body>{frames}<pre id="measured"></pre><script>
addEventListener("load", () => {{
    const measured = [...document.querySelectorAll("iframe")].map(frame => {{
        const page = frame.contentDocument.documentElement;
        const wide = [...page.querySelectorAll("body *")].filter(e => !e.closest("svg")
            && e.getBoundingClientRect().right > frame.clientWidth + 1).map(e => e.tagName);
        return [frame.clientWidth, page.scrollWidth, page.querySelectorAll(".moments figure").length, ...wide].join(" ");
    }});
    document.getElementById("measured").textContent = measured.join(";");
}});
</script></body>"""


def games(path):
    with open(path, encoding="utf-8") as file:
        return list(iter(lambda: chess.pgn.read_game(file), None))


class Review(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        command = [ENGINE, "review", GAMES, "--out", cls.folder / "out", "--nodes", "6000", "--threads", "1"]
        subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        paths = [cls.folder / "out.html", *sorted((cls.folder / "out.pages").iterdir())]
        cls.pages = [path.read_text(encoding="utf-8") for path in paths]

    def test_python_chess_reads_what_was_there_and_what_was_added(self):
        # python-chess reads the broken game up to its error.
        before = [game for game in games(GAMES) if not game.errors]
        after = games(self.folder / "out.pgn")
        self.assertEqual(len(before), len(after))
        for old, new in zip(before, after):
            self.assertEqual(new.errors, [])
            headers = dict(new.headers)
            self.assertRegex(headers.pop("Annotator"), "^Philidor ")
            self.assertEqual(headers, dict(old.headers))
            self.compare(old, new)
            for node in new.mainline():
                self.assertEqual(node.eval() is None, node.board().is_checkmate(), node)

    def compare(self, old, new):
        """Checks that everything of a node and its descendants is kept."""
        self.assertLessEqual(old.nags, new.nags)
        for part in (old.comment, old.starting_comment):
            self.assertIn(part.strip(), " ".join([new.comment, new.starting_comment]))
        kept = [node.move for node in old.variations]
        self.assertEqual([node.move for node in new.variations][:len(kept)], kept)
        for below, same in zip(old.variations, new.variations):
            self.compare(below, same)

    def test_blunders_have_a_better_line(self):
        fools_mate = games(self.folder / "out.pgn")[1]
        blunder = fools_mate.next().next().next()
        self.assertEqual(blunder.san(), "g4")
        self.assertIn(chess.pgn.NAG_BLUNDER, blunder.nags)
        self.assertGreater(len(blunder.parent.variations), 1)
        self.assertIn("was best", blunder.comment)

    def test_the_page_needs_no_script_and_nothing_else(self):
        own = r"#|out\.pages/\d+\.html\"|\.\./out\.html\"|\d+\.html\""
        for page in self.pages:
            self.assertNotIn("<script", page)
            self.assertEqual(re.findall(rf"(?:src|href)=\"(?!{own})[^\"]*\"|url\(|@import", page), [])

    def test_the_page_fits_a_desktop_and_a_phone(self):
        browser = shutil.which(BROWSER)
        self.assertIsNotNone(browser, f"no {BROWSER}: run scripts/setup.sh all")
        frame = '<iframe style="width:{}px;height:900px;border:0" srcdoc="{}"></iframe>'
        # The index and the second game.
        shown = [(width, page) for page in (self.pages[0], self.pages[2]) for width in WIDTHS]
        frames = "".join(frame.format(width, html.escape(page)) for width, page in shown)
        harness = self.folder / "harness.html"
        harness.write_text(HARNESS.format(frames=frames), encoding="utf-8")
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={self.folder}/browser",
                   "--dump-dom", harness.as_uri()]
        dump = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True, timeout=PATIENCE).stdout
        measured = re.search(r'<pre id="measured">(.*?)</pre>', dump)[1].split(";")
        self.assertEqual(len(measured), len(shown), measured)
        for (width, page), measure in zip(shown, measured):
            inner, scrolled, boards, *wide = measure.split()
            self.assertEqual((int(inner), int(scrolled), wide), (width, width, []), "nothing is wider than the window")
            self.assertEqual(int(boards) > 0, page != self.pages[0])


def main():
    global ENGINE, BROWSER
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", type=Path, default=ENGINE)
    parser.add_argument("--browser", default=BROWSER)
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    ENGINE, BROWSER = arguments.engine.resolve(), arguments.browser
    unittest.main(argv=[sys.argv[0], *arguments.tests])


if __name__ == "__main__":
    main()
