# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Every condition is text.

A condition with a colon and a space is a map unless it is quoted, and Ansible says so only when it gets there: in a
scenario, after an hour.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parents[3]
FOLDERS = ("roles", "playbooks", "extensions", "tests")
CONDITIONS = ("that", "when", "failed_when", "changed_when", "until", "break_when")


class Loader(yaml.SafeLoader):
    """Reads files with tags of Ansible as well."""


Loader.add_multi_constructor("!", lambda _loader, _suffix, _node: None)


def maps(content: Any) -> Iterator[Any]:
    """The conditions that are neither text nor a boolean, wherever they are."""
    if isinstance(content, dict):
        for key, value in content.items():
            if key in CONDITIONS:
                every = value if isinstance(value, list) else [value]
                yield from (condition for condition in every if not isinstance(condition, (str, bool)))
            yield from maps(value)
    elif isinstance(content, list):
        for value in content:
            yield from maps(value)


def test_every_condition_is_text() -> None:
    every = [path for folder in FOLDERS for path in sorted((CHECKOUT / folder).rglob("*.yml"))]
    # An option may be called as a keyword is.
    files = [path for path in every if path.name != "argument_specs.yml"]
    found = {
        str(path.relative_to(CHECKOUT)): wrong
        for path in files
        for wrong in [list(maps(list(yaml.load_all(path.read_text("utf-8"), Loader))))]
        if wrong
    }
    assert len(files) > 100
    assert found == {}


@pytest.mark.parametrize(
    ("tasks", "wrong"),
    [
        ("- assert:\n    that:\n      - a\n      - b == ['c: d']\n", [{"b == ['c": "d']"}]),
        ("- block:\n    - fail:\n      when: [{a: b}]\n", [{"a": "b"}]),
        ("- assert:\n    that:\n      - \"b == ['c: d']\"\n      - true\n", []),
    ],
)
def test_a_map_is_found(tasks: str, wrong: list[object]) -> None:
    assert list(maps(yaml.safe_load(tasks))) == wrong
