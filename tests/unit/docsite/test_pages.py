# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What is found wrong with a built site, and where its table of contents comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.zerocopy.rdma.tests.docsite import build, pages

_INDEX = """\
# Documentation

## By task

- [See](see.md): look, with [a rail](rails.md)
- [Prove](prove.md)

## Prose

Nothing to list.
"""
_PAGE = '<html><head><link rel="stylesheet" href="style.css"></head><body><h1 id="top">A</h1>{}</body></html>'


@pytest.fixture
def html(tmp_path: Path) -> Path:
    (tmp_path / "html/reference").mkdir(parents=True)
    (tmp_path / "html/style.css").write_text("")
    (tmp_path / "html/reference/index.html").write_text("")
    return tmp_path / "html"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('<a href="index.html#top">x</a> <a href="#top">x</a> <a href="https://example.org/x">x</a>', []),
        ('<a href="index.html#end">x</a>', ["index.html: nothing is at index.html#end"]),
        ('<a href="gone.html">x</a>', ["index.html: nothing is at gone.html"]),
        ('<a href="reference">x</a>', ["index.html: nothing is at reference"]),
        ('<a href="../checkout/README.md">x</a>', ["index.html: nothing is at ../checkout/README.md"]),
        ('<img src="gone.svg">', ["index.html: nothing is at gone.svg"]),
        ('<script src="//example.org/a.js"></script>', ["index.html: //example.org/a.js is fetched"]),
        ('<img src="https://example.org/a.png">', ["index.html: https://example.org/a.png is fetched"]),
    ],
)
def test_links(body: str, said: list[str], html: Path, tmp_path: Path) -> None:
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout/README.md").write_text("")
    (html / "index.html").write_text(_PAGE.format(body))
    assert pages.wrong(html, tmp_path / "checkout") == said


def test_each_part_has_a_page(html: Path, tmp_path: Path) -> None:
    for path in ("plugins/modules/rdma_facts.py", "plugins/filter/fleet.py", "roles/rdma_links/meta/main.yml"):
        (tmp_path / "checkout" / path).parent.mkdir(parents=True)
        (tmp_path / "checkout" / path).write_text("")
    (html / "reference/fleet_filter.html").write_text("")
    assert pages.wrong(html, tmp_path / "checkout") == [
        "no page reference/rdma_facts_module.html",
        "no page reference/rdma_links_role.html",
    ]


def test_the_contents_are_those_of_the_index() -> None:
    assert list(build.sections(_INDEX)) == [("By task", ["see", "prove"])]
    assert "```{toctree}\n:hidden:\n:caption: By task\n\nsee\nprove\n```\n" in build.contents(_INDEX)
