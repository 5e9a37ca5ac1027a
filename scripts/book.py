#!/usr/bin/env python3
"""Makes a site of the documents.

Usage: scripts/book.py [--out FOLDER] [--check]

Writes static files to target/book/html (or FOLDER), which any host can serve, and searches them for dead links. Needs
mdBook: scripts/setup.sh book. --check only searches the sources, without mdBook. packaging/book has the settings and the
table of contents.

Pages keep their places, so that relative links stay as they are. Files of the repository to which a page links come
along; a link to a folder becomes plain text.
"""
import argparse
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "packaging/book"
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.M | re.S)
TARGET = re.compile(r"\]\(([^)\s]+)\)")
FOLDER = re.compile(r"\[([^][]*)\]\(([^)\s#:]+/)\)")


def contents():
    """The pages of the table of contents, from the repository's root."""
    return TARGET.findall((BOOK / "SUMMARY.md").read_text(encoding="utf-8"))


def anchors(text):
    """The anchors of a page's headings, as mdBook and code hosts make them."""
    text, found = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), set()
    for heading in re.findall(r"^#+ +(.*)$", text, re.M):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        found.add(re.sub(r"[^\w\- ]", "", heading).replace(" ", "-"))
    return found


def targets(page):
    """The files, with anchors, to which a page of the repository links: (link, file, anchor)."""
    for link in TARGET.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        if not re.match(r"[a-z]+:", link):
            path, _, anchor = link.partition("#")
            yield link, (page.parent / path).resolve() if path else page, anchor


def faults():
    """The dead links of all pages in the repository, and what the table of contents lacks."""
    tracked = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "*.md"], capture_output=True, text=True, check=True)
    names = [name for name in tracked.stdout.split("\0") if name and name != "packaging/book/SUMMARY.md"]
    for name in names:
        for link, file, anchor in targets(ROOT / name):
            if not file.exists():
                yield f"{name}: no file {link}"
            elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text(encoding="utf-8")):
                yield f"{name}: no heading {link}"
    listed = contents()
    yield from (f"packaging/book/SUMMARY.md: no file {name}" for name in listed if name not in names)
    yield from (f"packaging/book/SUMMARY.md lacks {name}" for name in names if name.startswith("docs/") and name not in listed)


def staged(name, listed, folder):
    """Copies the page, and the files to which it links, into the folder."""
    for _, file, _ in targets(ROOT / name):
        place = folder / file.relative_to(ROOT)
        if file.is_file() and str(file.relative_to(ROOT)) not in listed:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    text = FOLDER.sub(r"\1", (ROOT / name).read_text(encoding="utf-8"))
    # mdBook writes a README as its folder's index, and leaves links to it alone.
    text = re.sub(r"(\]\((?![a-z]+:)[^)\s]*)README\.md", r"\1index.md", text)
    (folder / name).write_text(text, encoding="utf-8")


class Page(HTMLParser):
    """The places and the links of a page."""

    def __init__(self, file):
        super().__init__()
        self.places, self.links = set(), []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or (tag, name) == ("a", "name"):
                self.places.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def dead(folder):
    """The dead links within the site, and their number of all."""
    pages = {file: Page(file) for file in sorted(folder.rglob("*.html"))}
    count, found = 0, []
    for page, content in pages.items():
        for link in content.links:
            address = urlsplit(link)
            # mdBook's page for what is not found is served for any address.
            if address.scheme or address.netloc or page.name == "404.html":
                continue
            count += 1
            file = (page.parent / unquote(address.path)).resolve() if address.path else page
            if not file.is_file():
                found.append(f"{page.relative_to(folder)}: no file {link}")
            elif address.fragment and file in pages and unquote(address.fragment) not in pages[file].places:
                found.append(f"{page.relative_to(folder)}: no heading {link}")
    return found, count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "target/book/html")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if found := list(faults()):
        sys.exit("\n".join(found))
    if arguments.check:
        return
    out = arguments.out.resolve()
    if out != (ROOT / "target/book/html").resolve() and out.exists() and any(out.iterdir()):
        sys.exit(f"book: {out} is not empty, and mdBook would empty it: name a new folder")
    program = ROOT / ".deps/book/bin/mdbook"
    program = program if program.exists() else shutil.which("mdbook")
    if not program:
        sys.exit("book: mdBook is missing: scripts/setup.sh book installs it")
    work = ROOT / "target/book"
    shutil.rmtree(work / "pages", ignore_errors=True)
    (work / "pages").mkdir(parents=True)
    shutil.copyfile(BOOK / "book.toml", work / "book.toml")
    shutil.copyfile(BOOK / "SUMMARY.md", work / "pages/SUMMARY.md")
    listed = contents()
    for page in listed:
        staged(page, listed, work / "pages")
    subprocess.run([program, "build", work, "--dest-dir", out], check=True)
    found, count = dead(out)
    if found:
        sys.exit("\n".join(found))
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    print(f"{out}: {len(listed)} pages, {size / 1e6:.1f} MB, {count} links, none dead")


if __name__ == "__main__":
    main()
