# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A node of which nothing is known loses no protection that it has, and gets no driver."""

from __future__ import annotations

import copy
from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import use as node_use
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.use import NodeUse
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base import exclusions
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra import strategy as dra
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import deployment, objects
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory, _strategy_inventory
from ansible_collections.zerocopy.rdma.tests.unit._migrate.nodes.planned_move import move_objects
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import strategy_checks
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategy_plan

Facts = Callable[..., dict[str, Any]]
GROUP = "zerocopy.rdma.node-restriction.kubernetes.io/group"
# The first has a bond at an address where the second one has no NIC.
UPLINK, OTHER = "a100-01", "v100-01"


@pytest.fixture(name="hosts")
def make_hosts(facts_of: Facts) -> list[InventoryHost]:
    return [InventoryHost(name, "gpu", {}, read.facts(facts_of(name))) for name in (UPLINK, OTHER)]


def silent(host: InventoryHost) -> InventoryHost:
    return InventoryHost(host.name, host.group, host.variables)


def plan(*hosts: InventoryHost, drivers: objects.LiveDrivers | None = None) -> deployment.DriverPlan:
    return deployment.plan(hosts, _inventory.options({}), drivers)


def filters(found: deployment.DriverPlan) -> str:
    made = [item for item in found.objects if item["kind"] == "DaemonSet"]
    return "\n".join(
        text for item in made for text in item["spec"]["template"]["spec"]["containers"][0]["args"] if "filter" in text
    )


def labelled(*nodes: str, group: str = "gpu") -> dict[str, dict[str, str]]:
    return {**{name: {GROUP: group, "other": "label"} for name in nodes}, "login": {}}


def uplinks(host: InventoryHost) -> list[str]:
    assert host.facts is not None
    return list(exclusions.why(host.facts))


def test_a_host_without_facts_keeps_its_protection(hosts: list[InventoryHost]) -> None:
    uplink, other = hosts
    before = plan(uplink, other)
    (address,) = uplinks(uplink)
    assert f'"{address}"' in filters(before)
    drivers = objects.read(before.objects, labelled(UPLINK, OTHER))
    after = plan(silent(uplink), other, drivers=drivers)
    # To the letter, so that no driver is restarted.
    assert (after.problems, after.objects) == ([], before.objects)
    assert after.labels == {OTHER: {GROUP: "gpu"}}
    assert after.unknown == [UPLINK]
    assert after.warnings == [
        f"{UPLINK}: no facts, so the driver is neither deployed there nor removed",
        f"{UPLINK}: no facts, so the NICs that these nodes need are unknown: the driver still does not publish "
        f"{address} on any node of group gpu",
    ]
    # Of a group without any facts as well.
    assert plan(silent(uplink), silent(other), drivers=drivers).objects == before.objects


def test_a_node_that_left_the_inventory_keeps_its_protection(hosts: list[InventoryHost]) -> None:
    uplink, other = hosts
    before = plan(uplink, other)
    drivers = objects.read(before.objects, labelled(UPLINK, OTHER))
    after = plan(other, drivers=drivers)
    assert (after.objects, after.unknown) == (before.objects, [])
    (said,) = after.warnings
    assert said.startswith(f"{UPLINK}: no facts, so the NICs that these nodes need are unknown")
    # Nor one that is to be in another group, as long as nobody can tell what that means there.
    moved = InventoryHost(UPLINK, "cpu")
    after = plan(moved, other, drivers=drivers)
    assert filters(after).count(uplinks(uplink)[0]) == 1
    assert (after.labels, after.unknown) == ({OTHER: {GROUP: "gpu"}}, [UPLINK])


def test_what_is_known_decides(hosts: list[InventoryHost]) -> None:
    uplink, other = hosts
    before = plan(uplink, other)
    (address,) = uplinks(uplink)
    everywhere = labelled(UPLINK, OTHER)
    drivers = objects.read(before.objects, everywhere)
    # Its facts say that the bond is gone, or it leaves the driver in this run.
    mended = InventoryHost(UPLINK, "gpu", {}, other.facts)
    gone = InventoryHost(UPLINK, "gpu", {"rdma_driver_enabled": False})
    for host in (mended, gone):
        after = plan(host, other, drivers=drivers)
        assert (after.problems, after.warnings, after.unknown) == ([], [], [])
        assert address not in filters(after)
    assert plan(gone, other, drivers=drivers).labels[UPLINK] == {GROUP: None}


def test_who_joins_a_driver_that_is_there_and_who_leaves_one(hosts: list[InventoryHost]) -> None:
    uplink, other = hosts
    (address,) = uplinks(uplink)
    before = plan(other)
    alone = objects.read(before.objects, {**labelled(OTHER), UPLINK: {}})
    found = plan(uplink, other, drivers=alone)
    # The driver that is there would publish what the new node needs itself.
    assert (address in filters(before), address in filters(found)) == (False, True)
    assert (found.joining, found.leaving) == ([UPLINK], {})
    both = objects.read(found.objects, labelled(UPLINK, OTHER))
    assert (plan(uplink, other, drivers=both).joining, plan(uplink, other, drivers=both).leaving) == ([], {})
    # Nothing runs there that has to be updated, or the host is not a node of the cluster.
    empty, elsewhere = objects.read([], {UPLINK: {}}), objects.read(before.objects, labelled(OTHER))
    for drivers in (None, empty, elsewhere, objects.read(before.objects)):
        assert (plan(uplink, other, drivers=drivers).joining, plan(uplink, other, drivers=drivers).leaving) == ([], {})
    # A node without facts does neither.
    assert (plan(silent(uplink), other, drivers=alone).joining) == []
    gone = InventoryHost(UPLINK, "gpu", {"rdma_driver_enabled": False}, uplink.facts)
    assert plan(gone, other, drivers=both).leaving == {UPLINK: {GROUP: None}}
    assert plan(silent(uplink), other, drivers=both).leaving == {}
    # From one group to another that has a driver already.
    nodes = {**labelled(OTHER), **labelled(UPLINK, group="cpu")}
    moved = plan(uplink, other, drivers=objects.read(found.objects, nodes))
    assert (moved.joining, moved.leaving) == ([UPLINK], {UPLINK: {GROUP: None}})


def test_a_first_deployment_leaves_out_a_host_without_facts(hosts: list[InventoryHost]) -> None:
    uplink, other = hosts
    # Also without a cluster, where nobody knows what is there.
    for nodes in (labelled(), None):
        found = plan(silent(uplink), other, drivers=objects.read([], nodes))
        assert found.problems == []
        assert found.labels == {OTHER: {GROUP: "gpu"}}
        assert [node["metadata"]["name"] for node in found.nodes] == [OTHER]
        assert found.objects == plan(other).objects


def test_a_label_without_a_driver_brings_none(hosts: list[InventoryHost]) -> None:
    uplink, other = hosts
    found = plan(silent(uplink), other, drivers=objects.read([], labelled(UPLINK, "a100-09", OTHER)))
    assert found.objects == []
    assert found.problems == [
        f"a100-[01,09]: {GROUP} is 'gpu', but this group has no driver yet, and without facts, the NICs that"
        " this node needs are unknown: gather its facts, or remove the label from the node"
    ]


def test_manifests_of_an_earlier_run(hosts: list[InventoryHost]) -> None:
    uplink, other = hosts
    before = plan(uplink, other)
    # Without a cluster nobody knows where the driver is.
    after = plan(silent(uplink), other, drivers=objects.read(before.objects))
    assert (after.problems, after.objects) == ([], before.objects)
    assert plan(other, drivers=objects.read(before.objects)).warnings == []
    assert plan(silent(uplink), other, drivers=objects.read([])).problems == []


def test_hosts_that_shall_have_a_driver_do_not_depend_on_facts(hosts: list[InventoryHost]) -> None:
    known = _inventory.options({})
    assert registry.driver_labels([silent(host) for host in hosts], known) == registry.driver_labels(hosts, known)
    assert set(registry.driver_labels(hosts, known)) == {UPLINK, OTHER}


@pytest.fixture(name="hostvars")
def make_hostvars(facts_of: Facts) -> dict[str, dict[str, Any]]:
    return {
        UPLINK: {"inventory_hostname": UPLINK, "rdma_group": "gpu"},
        OTHER: {"inventory_hostname": OTHER, "rdma_group": "gpu", "ansible_facts": {"rdma": facts_of(OTHER)}},
    }


def test_every_plan_keeps_the_protection(hosts: list[InventoryHost], hostvars: dict[str, dict[str, Any]]) -> None:
    before, nodes = plan(*hosts).objects, labelled(UPLINK, OTHER)
    daemon_sets = [item for item in before if item["kind"] == "DaemonSet"]
    for name in (None, "dra"):
        whole = strategy_plan({}, list(hostvars), hostvars, name, nodes=nodes, daemon_sets=daemon_sets)
        assert whole["sets"][0]["objects"] == before
    uses = {name: node_use.written(NodeUse(name, labels)) for name, labels in nodes.items()}
    moved = move_objects(hostvars, [OTHER], nodes=uses, daemon_sets=daemon_sets)
    assert moved["sets"][0]["objects"] == before


def test_verify_needs_no_containers_of_the_driver(
    hosts: list[InventoryHost], hostvars: dict[str, dict[str, Any]]
) -> None:
    nodes = [{"metadata": {"name": name, "labels": {GROUP: "gpu"}}} for name in (UPLINK, OTHER)]
    sets = copy.deepcopy([item for item in plan(*hosts).objects if item["kind"] == "DaemonSet"])
    for item in sets:
        del item["spec"]["template"]["spec"]["containers"]
    # Nothing of these is looked at with DRA: neither DaemonSets nor extended resources.
    assert strategy_checks(hostvars, nodes, sets) == []


def test_the_plan_takes_what_modules_and_files_have(
    hosts: list[InventoryHost], hostvars: dict[str, dict[str, Any]]
) -> None:
    before, known = plan(*hosts), _inventory.options({})
    nodes = labelled(UPLINK, OTHER)

    def driver(daemon_sets: Any = None, nodes: Any = None) -> deployment.DriverPlan:
        every = _strategy_inventory.hosts({}, list(hostvars), hostvars)
        return dra.driver(every, _strategy_inventory.cluster(daemon_sets=daemon_sets, nodes=nodes), known)

    for own in ((before.objects, nodes), (before.objects, ""), (before.objects, None)):
        assert driver(*own).objects == before.objects
    (address,) = uplinks(hosts[0])
    assert address not in str(driver().objects)
    # What somebody else has made of the DaemonSet's container says nothing.
    bare: dict[str, Any] = {"nodeSelector": {GROUP: "gpu"}, "containers": [{"name": "dranet"}]}
    empty: dict[str, Any] = {"containers": []}
    odd = [{"kind": "DaemonSet", "spec": {"template": {"spec": spec}}} for spec in (bare, empty)]
    found = driver(odd, nodes)
    assert (found.problems, found.unknown) == ([], [UPLINK])
