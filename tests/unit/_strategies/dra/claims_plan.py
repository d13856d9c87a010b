# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Plans of claims for tests, and what the allocator makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import planner
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import selectors as claims_selectors
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.planner import ClaimPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.scheduler import allocate, cel
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import predict, versions
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice

Facts = Callable[..., dict[str, Any]]
# The defaults.
VERSIONS = {"rdma_driver_dranet_version": "1.4.0", "rdma_driver_gpu_version": "0.5.0"}
AWS, GB200 = "ip-192-168-153-160.ec2.internal", "10.140.65.248"
SLICES = [
    yaml.safe_load(path.read_text("utf-8"))
    for path in (Path(__file__).resolve().parents[2] / "fixtures" / "resourceslices").glob("*.yaml")
]
NUMA, ROOT = "resource.kubernetes.io/numaNode", "resource.kubernetes.io/pcieRoot"


def template(name: str = "one", **wanted: Any) -> dict[str, Any]:
    return {"name": name, **wanted}


def plan(facts: dict[str, Any], *templates: dict[str, Any], **variables: Any) -> ClaimPlan:
    """The plan of hosts with these facts, all with the same templates."""
    own = {**VERSIONS, "rdma_claims_templates": list(templates), **variables}
    return planner.plan(
        [InventoryHost(name, "group", own, of_host and read.facts(of_host)) for name, of_host in facts.items()]
    )


def right(found: ClaimPlan) -> list[dict[str, Any]]:
    """The specs of the claims of a plan without problems."""
    assert found.problems == []
    return [
        one["spec"].get("spec", one["spec"])["devices"]
        for one in found.objects
        if one["kind"] in ("ResourceClaimTemplate", "ResourceClaim")
    ]


def selectors(body: dict[str, Any]) -> list[str]:
    return [one["cel"]["expression"] for one in body.get("selectors", [])]


def alternatives(request: dict[str, Any]) -> list[dict[str, Any]]:
    return [request["exactly"]] if "exactly" in request else request["firstAvailable"]


def allocated(devices: list[SliceDevice], spec: dict[str, Any]) -> dict[str, list[str]] | None:
    """What the allocator gives a claim, worked out from the objects alone."""
    classes = {**claims_selectors.GPU_CLASSES, "zerocopy-rdma-nic": claims_selectors.NIC_CLASS}

    def matching(body: dict[str, Any]) -> frozenset[int]:
        every = [*classes[body["deviceClassName"]], *selectors(body)]
        return frozenset(
            place for place, one in enumerate(devices) if all(cel.matches(expression, one) for expression in every)
        )

    requests = [
        allocate.DeviceRequest(
            one["name"], tuple(allocate.Alternative(matching(body), body.get("count")) for body in alternatives(one))
        )
        for one in spec["requests"]
    ]
    constraints = [
        allocate.DeviceConstraint(frozenset(one["requests"]), one["matchAttribute"])
        for one in spec.get("constraints", [])
    ]
    found = allocate.allocate(devices, requests, constraints)
    if found is None:
        return None
    return {name: [devices[place].name for place in places] for name, places in found.items()}


def published(facts: dict[str, Any], gpu: str = VERSIONS["rdma_driver_gpu_version"]) -> list[SliceDevice]:
    """What the drivers publish for a node ``n``; ``gpu`` is the version of that of its GPUs."""
    return predict.predicted("n", read.facts(facts), versions.dranet("1.4.0"), versions.gpu(gpu))


def of_slices(node: str, *templates: dict[str, Any]) -> ClaimPlan:
    return planner.plan([InventoryHost(node, "group", {**VERSIONS, "rdma_claims_templates": list(templates)})], SLICES)


CASES = [
    (["v100-01", "v100-02"], {"gpus": 2, "nics": 2}, "pcie_root", ["one"]),
    (["a100-01", "a100-02"], {"gpus": 4, "nics": 1}, "pcie_root", ["one"]),
    (["a100-01", "a100-02"], {"gpus": 8, "nics": 1}, "none", ["one"]),
    (["h100-01", "h100-02"], {"gpus": 4, "nics": 4}, "numa", ["one-numa0", "one-numa1"]),
    (["h100-01", "h100-02"], {"gpus": 8, "nics": 8}, "numa", ["one"]),
    (["h100-01", "h100-02"], {"gpus": 4, "nics": 4, "align": "unaligned"}, "unaligned", ["one-numa0", "one-numa1"]),
    (["h100-01", "h100-02"], {"gpus": 5, "nics": 1}, "none", ["one"]),
    (["h100-03"], {"gpus": 4, "nics": 4}, "pcie_root", ["one"]),
    (["h100-03"], {"gpus": 8, "nics": 4}, "pcie_root", ["one"]),
    # One template for nodes whose trees differ is what all of them allow.
    (["h100-01", "h100-03"], {"gpus": 1, "nics": 1}, "numa", ["one-numa0", "one-numa1"]),
    (["lab-01", "lab-02"], {"gpus": 1, "nics": 1}, "none", ["one"]),
    (["case-amd"], {"nics": 8}, "none", ["one"]),
    (["h100-01"], {"gpus": 8}, "none", ["one"]),
    (["v100-01"], {"nics": "all"}, "none", ["one"]),
]
