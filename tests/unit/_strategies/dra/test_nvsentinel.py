# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""NVSentinel replaces nodes whose HCAs are gone, and in RDMA netns mode exclusive those in pods are."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import Facts
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategy_plan

REBOOT = "RebootNode.janitor.dgxc.nvidia.com"


@pytest.mark.parametrize(
    ("node", "own", "kinds", "warned"),
    [
        ("v100-01", {"rdma_kernel_netns_mode": "exclusive"}, [REBOOT], True),
        # The mode that the node has.
        ("case-vf", {}, [REBOOT], True),
        ("case-vf", {"rdma_kernel_netns_mode": "shared"}, [REBOOT], False),
        ("v100-01", {}, [REBOOT], False),
        ("v100-01", {"rdma_kernel_netns_mode": "exclusive"}, [], False),
    ],
)
def test_a_warning_of_the_plan(facts_of: Facts, node: str, own: dict[str, Any], kinds: list[str], warned: bool) -> None:
    assert REBOOT in registry.kinds()
    host = {"inventory_hostname": "n1", "group_names": ["g"], "ansible_facts": {"rdma": facts_of(node)}, **own}
    found = strategy_plan({}, ["n1"], {"n1": host}, "dra", kinds=kinds)
    assert found["problems"] == []
    assert any("NVSentinel" in text for text in found["warnings"]) is warned
