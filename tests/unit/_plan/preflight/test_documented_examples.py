# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Every example of variables in README and docs, copied into an inventory as it is printed, is accepted."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any, Iterator

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.plugin_utils._preflight import problems

CHECKOUT = Path(__file__).resolve().parents[4]
# Files that a reader has to have.
FILES = ("rdma_operator_network_chart",)
# What an example adds to another one above it on the page.
CONTINUED = {("docs/sriov.md", "rdma_host_device_provider"): 0}


def blocks(page: str) -> list[dict[str, Any]]:
    """The examples of one page that consist of variables."""
    text = (CHECKOUT / page).read_text("utf-8")
    found = re.findall(r"^( *)```yaml\n(.*?)^\1```$", text, re.MULTILINE | re.DOTALL)
    documents = [one for _indent, block in found for one in yaml.safe_load_all(textwrap.dedent(block))]
    return [block for block in documents if isinstance(block, dict) and all(key.startswith("rdma_") for key in block)]


def examples() -> Iterator[Any]:
    for page in ("README.md", *(f"docs/{path.name}" for path in sorted(CHECKOUT.glob("docs/*.md")))):
        own = blocks(page)
        for block in own:
            first, *_others = block
            above = CONTINUED.get((page, first))
            variables = {**({} if above is None else own[above]), **block}
            variables = {name: value for name, value in variables.items() if name not in FILES}
            yield pytest.param(variables, id=f"{page}-{first}")


@pytest.mark.parametrize("variables", list(examples()))
def test_an_example_is_accepted(variables: dict[str, Any]) -> None:
    hostvars = {
        f"h100-0{number}": {"inventory_hostname": f"h100-0{number}", "group_names": ["h100"], **variables}
        for number in (1, 2)
    }
    assert problems({}, list(hostvars), hostvars) == []


def test_there_are_examples() -> None:
    assert len(list(examples())) > 12
