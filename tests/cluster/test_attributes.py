# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the real DRANET publishes of what the daemon tells it, on a recorded node and a real API server."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, Iterator

import pytest
from control_plane import lifecycle
from kubernetes import dynamic

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import configuration, names
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes.planned import of_host
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import predict, versions
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice
from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import Fleet, from_template
from ansible_collections.zerocopy.rdma.tests.cluster.dranet_node import DranetNode
from ansible_collections.zerocopy.rdma.tests.cluster.node_pods import SECONDS
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import plan, template

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="root is needed: the driver runs in namespaces of its own")

# Eight HCAs for InfiniBand alone, each below a root complex of its own.
NAME = "h100-01"
LINKS = {"rdma_links_rails": 8, "rdma_links_mtu": 2044}
Published = Dict[str, SliceDevice]


@pytest.fixture(name="control_plane", scope="module")
def own_control_plane() -> Iterator[lifecycle.ControlPlane]:
    """Of its own: other tests have objects of the driver by the same names."""
    with lifecycle.running(f"dranet-{os.getpid()}") as plane:
        yield plane


@pytest.fixture(name="cluster", scope="module")
def own_cluster(control_plane: lifecycle.ControlPlane, connect: Callable[[Path], Any]) -> dynamic.DynamicClient:
    return connect(control_plane.kubeconfig)


@pytest.fixture(scope="module")
def dranet(
    control_plane: lifecycle.ControlPlane, cluster: dynamic.DynamicClient, root_of: Callable[[str], Path]
) -> Iterator[DranetNode]:
    with tempfile.TemporaryDirectory(prefix="dranet-") as scratch:
        node = DranetNode(control_plane, cluster, Path(scratch), NAME, root_of(NAME))
        try:
            node.deploy()
            yield node
        finally:
            node.stop()


@pytest.fixture
def facts(facts_of: Callable[..., Dict[str, Any]]) -> Facts:
    return read.facts(facts_of(NAME))


def planned(facts: Facts) -> configuration.Devices:
    """The values of the NICs, which are in eight rails, all of one leaf group."""
    return {address: {**values, "leaf": "leaf-1"} for address, values in of_host(NAME, LINKS, facts).items()}


def ours(device: SliceDevice) -> Dict[str, Any]:
    return {name: value for name, value in device.attributes.items() if name.startswith(f"{names.DOMAIN}/")}


def as_planned(planned: configuration.Devices) -> Callable[[Published], bool]:
    wanted = {address: configuration.published(values) for address, values in planned.items()}
    return lambda seen: {address: ours(device) for address, device in seen.items()} == wanted


def without(seen: Published) -> bool:
    return bool(seen) and not any(map(ours, seen.values()))


def test_where_nobody_listens_the_driver_ends_and_publishes_nothing(dranet: DranetNode) -> None:
    """The kubelet starts it again: without attributes it would run on, and claims by rail would find nothing."""
    assert dranet.start_driver().wait(SECONDS) != 0
    assert "failed to initialize webhook profile provider" in dranet.log()


def test_the_driver_publishes_what_is_planned(dranet: DranetNode, facts: Facts) -> None:
    dranet.write(planned(facts))
    dranet.start_daemon()
    dranet.start_driver()
    dranet.register()
    seen = dranet.until(as_planned(planned(facts)))
    (third,) = (ours(device) for device in seen.values() if device.attributes[names.RAIL] == 3)
    assert third == {
        "zerocopy.rdma/rail": 3,
        "zerocopy.rdma/leaf": "leaf-1",
        "zerocopy.rdma/rateGbps": 400,
        "zerocopy.rdma/linkLayer": "InfiniBand",
    }
    # What the driver finds out by itself is still what the library predicts.
    for device in predict.predicted(NAME, facts, versions.dranet("1.4.0"), versions.gpu("0.5.0")):
        if device.is_rdma_nic:
            assert device.attributes.items() <= seen[str(device.pci)].attributes.items()


def test_a_claim_by_rail_gets_that_nic_and_the_next_one_waits(
    dranet: DranetNode, fleet: Fleet, facts: Facts, facts_of: Callable[..., Dict[str, Any]]
) -> None:
    own = {"rdma_driver_attributes": True, "rdma_claims_namespaces": [fleet.namespace], **LINKS}
    claims = plan({NAME: facts_of(NAME)}, template("third", rails=[3]), **own)
    assert claims.problems == []
    fleet.create(claims.objects)
    seen = dranet.until(as_planned(planned(facts)))
    placed = fleet.pods([from_template("first", "third"), from_template("second", "third")], waits=1)
    given = [one.devices["nic-rail3"] for one in placed.values() if one.node == NAME]
    assert given == [[device.name for device in seen.values() if device.attributes[names.RAIL] == 3]]


def test_the_next_scan_has_what_changed(dranet: DranetNode, facts: Facts) -> None:
    wanted = planned(facts)
    first, second = list(wanted)[:2]
    wanted[first], wanted[second] = wanted[second], wanted[first]
    del wanted[first]["rate_gbps"]
    dranet.write(wanted)
    dranet.until(as_planned(wanted))


def test_a_daemon_that_ends_takes_the_attributes_along_until_it_is_there_again(
    dranet: DranetNode, facts: Facts
) -> None:
    dranet.write(planned(facts))
    dranet.end_daemon()
    dranet.until(without)
    dranet.start_daemon()
    dranet.until(as_planned(planned(facts)))
