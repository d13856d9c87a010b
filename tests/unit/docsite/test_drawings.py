# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Drawings in the documentation: each is shown, can be read without a network, and names what exists."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.tests.docsite import examples

DRAWINGS = sorted((examples.CHECKOUT / "docs/images").glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("path", DRAWINGS, ids=lambda path: path.name)
def test_a_drawing_is_shown_and_needs_nothing_else(path: Path) -> None:
    root = ElementTree.parse(path).getroot()
    assert root.tag == f"{SVG}svg"
    assert (root.findtext(f"{SVG}title") or "").strip()
    assert not [one for one in root.iter() if one.tag in (f"{SVG}image", f"{SVG}script")]
    assert any(f"](images/{path.name})" in examples.text(page) for page in examples.PAGES)


def test_the_questions_lead_to_every_strategy() -> None:
    root = ElementTree.parse(examples.CHECKOUT / "docs/images/strategy.svg").getroot()
    texts = " ".join("".join(one.itertext()) for one in root.iter(f"{SVG}text"))
    assert set(registry.STRATEGIES) <= set(re.findall(r"\w+", texts))
