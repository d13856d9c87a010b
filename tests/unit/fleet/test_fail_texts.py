# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What a run fails with is a text: Ansible would print a list as Python writes it, in one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables

FILES = sorted([*variables.ROLES.glob("*/tasks/*.yml"), *(variables.ROLES.parent / "playbooks").rglob("*.yml")])
# An expression that ends so is a text, such as what the module report returns; so is one with something around it.
TEXT = re.compile(r"(\| *join\([^()]*\)|_report\.failure) *\}\}\Z")


def failing(content: Any) -> Iterator[str]:
    """The messages of all tasks that fail on purpose."""
    for entry in content if isinstance(content, list) else []:
        if "ansible.builtin.fail" in entry:
            yield entry["ansible.builtin.fail"]["msg"].strip()
        for part in ("tasks", "pre_tasks", "post_tasks", "block", "rescue", "always"):
            yield from failing(entry.get(part))


def messages() -> list[tuple[str, str]]:
    return [(path.name, text) for path in FILES for text in failing(yaml.safe_load(path.read_text("utf-8")))]


def test_there_are_some() -> None:
    assert len(messages()) > 20


@pytest.mark.parametrize(("name", "text"), messages())
def test_a_message_is_no_list(name: str, text: str) -> None:
    alone = text.startswith("{{") and text.endswith("}}") and text.count("{{") == 1
    assert not alone or TEXT.search(text), f"{name}: {text}"
