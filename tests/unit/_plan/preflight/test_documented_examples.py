# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Every example of variables in README and docs, copied into an inventory as it is printed, is accepted."""

from __future__ import annotations

import re
from typing import Any, Iterator

import pytest
import yaml
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.vars.manager import VariableManager

from ansible_collections.zerocopy.rdma.plugins.plugin_utils._preflight import problems
from ansible_collections.zerocopy.rdma.tests.docsite.examples import CHECKOUT, PAGES, blocks, text

# Files that a reader has to have.
FILES = ("rdma_operator_network_chart",)
# What an example adds to another one above it on the page.
CONTINUED = {("docs/sriov.md", "rdma_host_device_provider"): 0}


def of_variables(page: str) -> list[dict[str, Any]]:
    """The examples of one page that consist of variables, ours and Ansible's."""
    every = [one for block in blocks("yaml") if block.page == page for one in yaml.safe_load_all(block.text)]
    of_us = [one for one in every if isinstance(one, dict) and any(key.startswith("rdma_") for key in one)]
    assert [key for one in of_us for key in one if not key.startswith(("rdma_", "ansible_"))] == []
    return of_us


def examples() -> Iterator[Any]:
    for page in PAGES:
        own = of_variables(page)
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
    assert len(list(examples())) > 30


def test_the_readme_fits_the_example_inventory() -> None:
    """Its reader copies the inventory, and writes this into the file of a group, which has a strategy."""
    (content,) = (one for one in of_variables("README.md") if "rdma_claims_templates" in one)
    (group,) = re.findall(r"`group_vars/(\w+)\.yml`:\n\n```yaml\nrdma_", text("README.md"))
    loader = DataLoader()
    inventory = InventoryManager(loader=loader, sources=[str(CHECKOUT / "inventory")])
    known = VariableManager(loader=loader, inventory=inventory)
    hostvars = {}
    for host in inventory.get_hosts():
        own = known.get_vars(host=host, include_hostvars=False)
        hostvars[host.name] = {**own, **(content if own["group_names"] == [group] else {}), **host.vars}
    assert len([host for host, own in hostvars.items() if own["group_names"] == [group]]) > 1
    assert problems({}, list(hostvars), hostvars) == []
