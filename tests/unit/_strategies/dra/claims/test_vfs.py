# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Claims of virtual functions that the same run is going to create: planned as if they existed."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import planner
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import (
    VERSIONS,
    Facts,
    plan,
    published,
    right,
    template,
)
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices

VFS = {"rdma_links_vfs": 2, "rdma_links_ports": [{"hca": "mlx5_0"}], "rdma_links_mtu": 9000}
TEMPLATES = (template(gpus=1, nics=1, nic={"vf": True}, mtu=9000), template("two", nics=2, nic={"vf": True}))


def before(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts of a node whose VFs do not exist yet."""
    found = copy.deepcopy(facts)
    vfs = [hca["name"] for hca in facts["hcas"] if hca["sriov"]["role"] == "vf"]
    found["hcas"] = [hca for hca in found["hcas"] if hca["name"] not in vfs]
    found["excluded"] = [entry for entry in found["excluded"] if entry["hca"] not in vfs]
    for hca in found["hcas"]:
        hca["sriov"]["num_vfs"] = 0
    assert vfs
    return found


def test_objects_are_those_of_existing_vfs(facts_of: Facts) -> None:
    facts = facts_of("case-vf")
    now = plan({"n1": facts}, *TEMPLATES, **VFS)
    assert right(now)
    assert plan({"n1": before(facts)}, *TEMPLATES, **VFS).objects == now.objects


def test_a_driver_that_does_not_publish_them_yet(facts_of: Facts) -> None:
    facts = facts_of("case-vf")
    own = {**VERSIONS, **VFS, "rdma_claims_templates": list(TEMPLATES)}
    host = InventoryHost("n", "group", own, read.facts(facts))
    expected = planner.plan([host]).objects
    every = published(facts)
    without = [device for device in every if not device.attributes.get("dra.net/isSriovVf")]
    assert len(without) == len(every) - 2
    assert planner.plan([host], resource_slices(without)).objects == expected


def test_only_the_missing_ones_are_added(facts_of: Facts) -> None:
    """A third VF has the next address."""
    (spec,) = right(
        plan({"n1": facts_of("case-vf")}, template(nics=3, nic={"vf": True}), **{**VFS, "rdma_links_vfs": 3})
    )
    assert '"0000:5e:00.1", "0000:5e:00.2", "0000:5e:00.3"' in str(spec)


def test_a_vf_waits_for_the_link_of_its_port(facts_of: Facts) -> None:
    facts = before(facts_of("case-vf"))
    facts["hcas"][0]["ports"][0]["state"] = "DOWN"
    facts["usable"] = []
    reason = {"code": "port_down", "text": "port state is DOWN", "fields": {"state": "DOWN"}}
    facts["excluded"].append({"hca": "mlx5_0", "port": 1, "reasons": [reason]})
    assert right(plan({"n1": facts}, *TEMPLATES, **VFS))


@pytest.mark.parametrize(
    "variables",
    [{}, {**VFS, "rdma_links_vfs": 0}, {**VFS, "rdma_links_ports": [{"hca": "mlx5_7"}]}],
    ids=["nobody creates any", "none", "a port that does not exist"],
)
def test_without_vfs_there_is_nothing_to_claim(facts_of: Facts, variables: dict[str, Any]) -> None:
    problems = plan({"n1": before(facts_of("case-vf"))}, TEMPLATES[0], **variables).problems
    assert problems, variables
    assert "no virtual function" in problems[0]
    assert "rdma_links_vfs creates virtual functions" in problems[0]


def test_where_the_vfs_will_be_is_no_guess(facts_of: Facts) -> None:
    facts = before(facts_of("case-vf"))
    del facts["hcas"][0]["sriov"]["vf_offset"]
    (problem,) = plan({"n1": facts}, TEMPLATES[0], **VFS).problems
    assert "no virtual function" in problem
