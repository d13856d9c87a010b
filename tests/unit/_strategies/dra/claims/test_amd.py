# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Claims of AMD's GPUs.

Their ResourceSlices are synthesised from ``docs/driver-attributes.md`` of ROCm/k8s-gpu-dra-driver.
"""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra import expected_devices
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import hosts, planner
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.planner import ClaimPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model, predict, versions
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import (
    ROOT,
    VERSIONS,
    Facts,
    allocated,
    plan,
    right,
    template,
)

NODE = "case-mi300x"
AMD = {"rdma_claims_gpu_class": "gpu.amd.com"}


def devices(facts: dict[str, Any]) -> list[model.SliceDevice]:
    dranet, gpu = versions.dranet("1.4.0"), versions.gpu("0.5.0")
    return predict.predicted(NODE, read.facts(facts), dranet, gpu)


def slices(*gpus: dict[str, Any]) -> list[dict[str, Any]]:
    """Synthesised, not recorded: one slice of AMD's driver with these GPUs."""
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"{NODE}-gpu.amd.com"},
            "spec": {
                "driver": "gpu.amd.com",
                "nodeName": NODE,
                "pool": {"name": NODE, "generation": 1, "resourceSliceCount": 1},
                "devices": list(gpus),
            },
        }
    ]


def gpu(facts: dict[str, Any], place: int, older: bool = False, **further: Any) -> dict[str, Any]:
    """A whole GPU as version 1.0 publishes it, or one before it."""
    pci = facts["gpus"][place]["pci"]
    attributes = {
        "type": {"string": "amdgpu"},
        "deviceID": {"string": "0x74a1"},
        "productName": {"string": "AMD_Instinct_MI300X_OAM"},
        "driverVersion": {"version": "6.12.12"},
        "partitionProfile": {"string": "spx_nps1"},
        "resource.kubernetes.io/pcieRoot": {"string": pci["pcie_root"]},
    }
    if older:
        attributes["pciAddr"] = {"string": pci["address"]}
    else:
        attributes["resource.kubernetes.io/pciBusID"] = {"string": pci["address"]}
        attributes["numaNode"] = {"int": pci["numa_node"]}
    capacity = {"memory": {"value": "206141652992"}}
    name = f"gpu-{place}-{128 + place}"
    return {"name": name, "attributes": {**attributes, **further}, "capacity": capacity}


def planned(facts: dict[str, Any], published: list[dict[str, Any]], **wanted: Any) -> ClaimPlan:
    own = {**VERSIONS, **AMD, "rdma_claims_templates": [template(**wanted)]}
    return planner.plan([InventoryHost(NODE, "mi300x", own, read.facts(facts))], published)


def test_a_gpu_gets_the_nic_beside_it(facts_of: Facts) -> None:
    facts = facts_of(NODE)
    found = plan({NODE: facts}, template(gpus=2, nics=2, gpu={"min_memory": "100G"}), **AMD)
    (spec,) = right(found)
    assert "pcie_root" in found.text
    got = allocated(devices(facts), spec)
    assert got is not None
    by_name = {one.name: one for one in devices(facts)}
    for place in range(2):
        roots = {by_name[name].attributes[ROOT] for kind in ("gpu", "nic") for name in got[f"{kind}-{place}"]}
        assert len(roots) == 1
    requests = [request["exactly"] for request in spec["requests"] if request["name"].startswith("gpu")]
    assert {request["deviceClassName"] for request in requests} == {"gpu.amd.com"}
    assert 'device.attributes["gpu.amd.com"].type == "amdgpu"' in str(requests)
    assert '"0x74a1"' in str(requests)


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("align", ["pcie_root", "numa", "auto"])
def test_what_the_driver_publishes(facts_of: Facts, align: str, older: bool) -> None:
    facts = facts_of(NODE)
    published = slices(*(gpu(facts, place, older) for place in range(8)))
    found = planned(facts, published, gpus=4, nics=4, align=align, gpu={"product": "mi300x"})
    specs = right(found)
    every = [one for one in devices(facts) if one.is_rdma_nic] + model.devices(published)
    assert all(allocated(every, spec) for spec in specs)
    assert len(specs) == (2 if align == "numa" else 1)
    text = str(specs)
    assert "AMD_Instinct_MI300X_OAM" in text
    if align == "numa":
        assert ('device.attributes["gpu.amd.com"].numaNode' in text) is not older


def test_numa_nodes_are_told_only_in_a_way_that_all_gpus_have(facts_of: Facts) -> None:
    facts = facts_of(NODE)
    published = slices(*(gpu(facts, place, older=place > 0) for place in range(8)))
    (problem,) = planned(facts, published, gpus=4, nics=4, align="numa").problems
    assert "the drivers of these nodes identify GPUs in different ways" in problem


@pytest.mark.parametrize(("published", "expected"), [(0, 8), (3, 3)])
def test_gpus_are_predicted_until_their_driver_publishes_some(facts_of: Facts, published: int, expected: int) -> None:
    facts = facts_of(NODE)
    real = [one for one in devices(facts) if one.is_rdma_nic]
    real += model.devices(slices(*(gpu(facts, place) for place in range(published)))) if published else []
    members, problems = hosts.members(
        [InventoryHost(NODE, "mi300x", VERSIONS, read.facts(facts))], variables.options_of()
    )
    assert problems == []
    assert len(hosts.nodes(members, real)[NODE].gpus) == expected


def test_a_node_whose_driver_does_not_publish_yet_keeps_no_other_from_its_claims(facts_of: Facts) -> None:
    """No facts tell the product as the driver does."""
    facts, own = facts_of(NODE), {**VERSIONS, **AMD, "rdma_claims_templates": [template(gpus=1, nics=1)]}
    hosts = [InventoryHost(name, "mi300x", own, read.facts(facts)) for name in (NODE, "n2")]
    published = slices(*(gpu(facts, place) for place in range(8)))
    found = planner.plan(hosts, published, tolerant=True)
    assert (found.problems, list(found.unmet)) == ([], ["n2"])
    assert "gpu.amd.com does not publish them" in found.unmet["n2"][0]
    assert found.objects == planner.plan(hosts[:1], published).objects


def test_parts_of_gpus_are_not_handed_out_as_gpus(facts_of: Facts) -> None:
    facts = facts_of(NODE)
    parts = [gpu(facts, place, type={"string": "amdgpu-partition"}) for place in range(8)]
    (problem,) = planned(facts, slices(*parts), gpus=1, nics=1).problems
    assert "0 matching GPUs" in problem


@pytest.mark.parametrize(
    ("node", "variables", "text"),
    [
        (NODE, {}, f"is 'gpu.nvidia.com', but the GPUs of {NODE} are of class gpu.amd.com: set it to their class"),
        ("h100-01", AMD, "is 'gpu.amd.com', but the GPUs of h100-01 are of class gpu.nvidia.com"),
    ],
)
def test_the_class_of_the_other_maker_is_refused(
    facts_of: Facts, node: str, variables: dict[str, Any], text: str
) -> None:
    found = plan({node: facts_of(node)}, template(gpus=1, nics=1), **variables)
    (problem,) = found.problems
    assert problem.startswith(f"{node}: rdma_claims_gpu_class {text}")
    # NICs alone need no class of GPUs.
    assert plan({node: facts_of(node)}, template(nics=1), **variables).problems == []


def test_a_class_of_the_sites_own_is_that_of_its_gpus(facts_of: Facts) -> None:
    own = {"rdma_claims_gpu_class": "training-gpu"}
    for node, kind in ((NODE, '"amdgpu"'), ("h100-01", "productName")):
        specs = right(plan({node: facts_of(node)}, template(gpus=1, nics=1), **own))
        assert specs
        assert all(kind in str(spec) for spec in specs)


def test_a_cluster_without_amds_class(facts_of: Facts) -> None:
    own = {**VERSIONS, **AMD, "rdma_claims_templates": [template(gpus=1, nics=1)]}
    hosts = [InventoryHost(NODE, "mi300x", own, read.facts(facts_of(NODE)))]
    (problem,) = planner.plan(hosts, device_classes=["gpu.nvidia.com"]).problems
    assert "which is not a DeviceClass of the cluster: AMD's DRA driver or GPU operator provides it" in problem


def test_what_is_expected_of_the_node(facts_of: Facts) -> None:
    own = {**VERSIONS, **AMD, "rdma_claims_templates": [template(gpus=1, nics=1)]}
    awaited = expected_devices.expected([InventoryHost(NODE, "mi300x", own, read.facts(facts_of(NODE)))])[NODE]
    assert awaited["drivers"] == ["dra.net", "gpu.amd.com"]
    assert sum(one["driver"] == "gpu.amd.com" for one in awaited["devices"]) == 8
