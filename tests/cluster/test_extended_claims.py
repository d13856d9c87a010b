# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Pods that request an extended resource and get NICs, from the real scheduler (KEP-5004)."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict

from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import Fleet, Object, placed_on
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import plan, published, template

Facts = Callable[..., Dict[str, Any]]
HCA = "rdma/hca_shared_devices_a"


def unchanged(name: str, number: int = 1) -> Object:
    """A pod as it was written for a device plugin."""
    resources = {"limits": {HCA: str(number)}}
    container = {"name": "main", "image": "example.org/none:v1", "resources": resources}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


def test_pods_that_are_not_changed_get_nics(fleet: Fleet, facts_of: Facts) -> None:
    facts = facts_of("v100-01")
    found = plan(
        {"v100-01": facts},
        template("claimed", nics=1),
        rdma_claims_extended_resources=[{"name": HCA}],
        rdma_claims_namespaces=[fleet.namespace],
    )
    assert found.problems == []
    fleet.create(found.objects)
    fleet.nodes([device for node in ("n1", "n2") for device in placed_on(published(facts), node)])
    # n2 still has its device plugin, which the scheduler prefers there, and which has one left.
    fleet.status("n2", {"capacity": {HCA: "1"}, "allocatable": {HCA: "1"}})
    both = fleet.pods([unchanged("both", 2)])["both"]
    assert both.node == "n1"
    (devices,) = both.devices.values()
    assert sorted(devices) == sorted(device.name for device in published(facts) if device.is_rdma_nic)
    first = fleet.pods([unchanged("of-the-plugin")])["of-the-plugin"]
    assert (first.node, first.devices) == ("n2", {})
    assert fleet.pods([unchanged("too-many")], waits=1)["too-many"].node == ""
    pod = json.loads(fleet.get("pod", "both"))
    assert pod["status"]["extendedResourceClaimStatus"]["requestMappings"][0]["resourceName"] == HCA
