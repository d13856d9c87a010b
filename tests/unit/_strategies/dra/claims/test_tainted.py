# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Claims of nodes with tainted devices: no new pod gets these, and objects do not change because of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import planner
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.planner import ClaimPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import (
    DRANET,
    GPU_DRIVER,
    Taint,
)
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import (
    VERSIONS,
    Facts,
    published,
    template,
)
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices

XID = Taint(f"{GPU_DRIVER}/xid", "79", "NoSchedule")
SAID = "is tainted gpu.nvidia.com/xid=79 (NoSchedule): no new pod gets it"


def planned(facts: dict[str, Any], names: list[str], tainted: dict[str, list[str]], **wanted: Any) -> ClaimPlan:
    """The plan of hosts with these facts; ``tainted`` are devices by host."""
    own = {**VERSIONS, "rdma_claims_templates": [template(**wanted)]}
    devices = [
        replace(device, node=name, pool=name, taints=(XID,) if device.name in tainted.get(name, ()) else ())
        for name in names
        for device in published(facts)
    ]
    hosts = [InventoryHost(name, "group", own, read.facts(facts)) for name in names]
    return planner.plan(hosts, resource_slices(devices), tolerant=True)


def test_tainted_devices_are_left_out_and_named(facts_of: Facts) -> None:
    facts, names = facts_of("v100-01"), ["n1", "n2", "n3"]
    before = planned(facts, names, {}, gpus=4)
    assert (before.problems, before.warnings) == ([], [])
    found = planned(facts, names, {"n3": ["gpu-2"]}, gpus=4)
    assert (found.problems, found.unmet, found.objects) == ([], {}, before.objects)
    assert "gpu matches 4 of 4 GPUs on each of 2 nodes; 3 of 4 on n3" in found.text
    assert found.warnings == [
        "one does not fit everywhere. n3: 3 matching GPUs without a taint, 4 requested",
        f"n3: gpu-2 {SAID}",
    ]
    # One that needs fewer fits.
    assert planned(facts, names, {"n3": ["gpu-2"]}, gpus=3).warnings == [f"n3: gpu-2 {SAID}"]


@pytest.mark.parametrize(
    "wanted", [{"gpus": 4}, {"gpus": 2, "nics": 2}, {"gpus": 2, "nics": 1, "align": "numa"}, {"gpus": 1, "nics": 1}]
)
def test_a_taint_is_no_problem_and_changes_no_object(facts_of: Facts, wanted: dict[str, Any]) -> None:
    """Where none of the GPUs is left; the taints go when the driver is restarted."""
    facts = facts_of("v100-01")
    gpus = [device.name for device in published(facts) if device.is_gpu]
    before, found = (planned(facts, ["n1"], {"n1": tainted}, **wanted) for tainted in ([], gpus))
    assert (found.problems, found.unmet) == ([], {})
    assert (found.objects, found.names) == (before.objects, before.names)
    why = f"n1: 0 matching GPUs without a taint, {wanted['gpus']} requested"
    assert found.warnings == [
        f"one cannot be satisfied on any node while devices are tainted. {why}",
        f"n1: {', '.join(gpus)} are tainted gpu.nvidia.com/xid=79 (NoSchedule): no new pod gets them",
    ]


def test_all_nics_are_those_that_are_tainted_as_well(facts_of: Facts) -> None:
    """The scheduler counts them among all, and then refuses the claim."""
    facts = facts_of("v100-01")
    nic = next(device.name for device in published(facts) if device.driver == DRANET)
    found = planned(facts, ["n1", "n2"], {"n2": [nic]}, nics="all")
    assert found.problems == []
    assert found.warnings == [
        "one does not fit everywhere. n2: 1 matching NIC with a taint, all requested",
        f"n2: {nic} {SAID}",
    ]
    assert planned(facts, ["n1", "n2"], {"n2": [nic]}, nics=1).warnings == [f"n2: {nic} {SAID}"]


def test_a_taint_without_an_effect_says_nothing_to_claims(facts_of: Facts) -> None:
    facts = facts_of("v100-01")
    own = {**VERSIONS, "rdma_claims_templates": [template(gpus=1)]}
    informing = (replace(XID, effect="None"), replace(XID, effect="Another"))
    slices = resource_slices([replace(device, taints=informing) for device in published(facts)])
    found = planner.plan([InventoryHost("n", "group", own, read.facts(facts))], slices)
    assert (found.problems, found.warnings) == ([], [])
