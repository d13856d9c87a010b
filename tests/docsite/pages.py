# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What is wrong with the pages of a built site: links to nothing, what a browser would fetch, and parts without a page.

Sphinx finds links to nothing in sources; this reads what it wrote, with what templates and antsibull-docs add.
"""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser loads by itself.
_LOADED = {("img", "src"), ("script", "src"), ("iframe", "src"), ("source", "src")}


class _Page(HTMLParser):
    """``links`` as written; ``ids`` that others can link; ``loaded`` is what is shown as part of the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids |= {values[name] for name in ("id", "name") if name in values}
        stylesheet = tag == "link" and values.get("rel") in ("stylesheet", "preload", "icon")
        for name in ("href", "src"):
            if name in values:
                loaded = stylesheet or (tag, name) in _LOADED
                (self.loaded if loaded else self.links).append(values[name])


def _broken(html: Path, read: dict[Path, _Page], page: Path, link: str) -> bool:
    parts = urlsplit(link)
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.is_relative_to(html) or not target.is_file():
        return True
    return bool(parts.fragment) and target in read and unquote(parts.fragment) not in read[target].ids


def wrong(html: Path, checkout: Path) -> list[str]:
    """A line for each."""
    read = {path: _Page(path.read_text("utf-8")) for path in sorted(html.resolve().rglob("*.html"))}
    found = []
    for path, page in read.items():
        name = path.relative_to(html)
        own = [link for link in page.links + page.loaded if not urlsplit(link).scheme and not link.startswith("//")]
        found += [f"{name}: nothing is at {link}" for link in own if _broken(html, read, path, link)]
        found += [f"{name}: {link} is fetched" for link in page.loaded if urlsplit(link).netloc]
    parts = {
        **{path.stem: "module" for path in checkout.glob("plugins/modules/*.py")},
        **{path.stem: "filter" for path in checkout.glob("plugins/filter/*.py")},
        **{path.name: "role" for path in checkout.glob("roles/*")},
    }
    pages = {f"{name}_{kind}.html" for name, kind in parts.items()} | {"index.html"}
    return found + sorted(f"no page reference/{page}" for page in pages if not (html / "reference" / page).is_file())
