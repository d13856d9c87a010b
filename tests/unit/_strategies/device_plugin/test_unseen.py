# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Nodes of which nothing is known: their device plugin gets no other configuration, whoever runs it."""

from __future__ import annotations

import copy
from typing import Any, Dict

import pytest

from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import (
    FLEETS,
    HOST_DEVICE,
    OPERATED,
    POLICIES,
    SHARED_DEVICE,
    SRIOV,
    Facts,
    Hosts,
    PluginFleet,
    cluster,
    moved,
    objects,
)
from ansible_collections.zerocopy.rdma.tests.unit._strategies.host_device.sriov_operated import PLUGIN
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategies

FIRST, SECOND = "v100-01", "v100-02"


@FLEETS
def test_the_configuration_of_a_silent_node_stays_when_another_one_joins(fleet: PluginFleet, facts_of: Facts) -> None:
    first, new = facts_of(FIRST), moved(facts_of(FIRST))
    before = cluster(fleet, fleet.hosts_of({FIRST: first, SECOND: first}))
    wanted = fleet.hosts_of({FIRST: first, SECOND: None, "new": new})
    # Without the node in between, one configuration is right for all.
    assert set(fleet.configs(fleet.right(wanted))) == {"ib"}

    found = fleet.right(wanted, **before)
    values = {host: labels[fleet.label] for host, labels in found["labels"].items()}
    assert set(values) == {FIRST, "new"}
    assert len(set(values.values())) == 1
    assert values["new"].startswith("ib-")
    assert set(fleet.configs(found)) == {values["new"]}
    assert found["unknown"] == [SECOND]
    # And again, when the cluster is as this plan has it.
    labels = {**before["nodes"], **found["labels"]}
    there = [*before["daemon_sets"], *objects(found, "DaemonSet").values()]
    assert fleet.right(wanted, nodes=labels, daemon_sets=there)["labels"] == found["labels"]

    back = fleet.right(fleet.hosts_of({FIRST: first, SECOND: first, "new": new}), nodes=labels, daemon_sets=there)
    assert set(fleet.configs(back)) == {"ib"}
    assert back["unknown"] == []


@FLEETS
def test_a_silent_node_changes_nothing_as_long_as_the_others_are_the_same(fleet: PluginFleet, facts_of: Facts) -> None:
    first = facts_of(FIRST)
    before = cluster(fleet, fleet.hosts_of({FIRST: first, SECOND: first}))
    found = fleet.right(fleet.hosts_of({FIRST: first, SECOND: None, "new": first}), **before)
    assert {host: labels[fleet.label] for host, labels in found["labels"].items()} == {FIRST: "ib", "new": "ib"}


@FLEETS
def test_a_node_that_has_left_the_inventory_is_such_a_node(fleet: PluginFleet, facts_of: Facts) -> None:
    first, new = facts_of(FIRST), moved(facts_of(FIRST))
    before = cluster(fleet, fleet.hosts_of({FIRST: first, SECOND: first}))
    found = fleet.right(fleet.hosts_of({FIRST: first, "new": new}), **before)
    assert "ib" not in fleet.configs(found)
    # So that it keeps what it has.
    assert found["unknown"] == [SECOND]


@FLEETS
def test_a_silent_node_without_the_plugin_keeps_nothing(fleet: PluginFleet, facts_of: Facts) -> None:
    first, new = facts_of(FIRST), moved(facts_of(FIRST))
    before = cluster(fleet, fleet.hosts_of({FIRST: first}))
    found = fleet.right(fleet.hosts_of({FIRST: first, SECOND: None, "new": new}), **before)
    assert set(fleet.configs(found)) == {"ib"}


def policies(fleet: PluginFleet, found: Dict[str, Any]) -> Dict[str, Any]:
    """What an operator is told, by the value of the label of its nodes."""
    every = [item["spec"] for kind in POLICIES for item in objects(found, kind).values()]
    return {spec["nodeSelector"][fleet.label]: spec for spec in every}


def values(fleet: PluginFleet, found: Dict[str, Any]) -> Dict[str, str]:
    return {host: labels[fleet.label] for host, labels in found["labels"].items()}


@FLEETS
def test_a_policy_of_the_network_operator_stays_as_well(fleet: PluginFleet, facts_of: Facts) -> None:
    def hosts(**facts: Any) -> Hosts:
        return fleet.hosts_of({FIRST: facts_of(FIRST), **facts}, **OPERATED[fleet.strategy])

    new = moved(facts_of(FIRST))
    whole = hosts(**{SECOND: facts_of(FIRST)})
    before = cluster(fleet, whole)
    assert {labels[fleet.label] for labels in before["nodes"].values()} == {"ib.operator"}
    wanted = hosts(**{SECOND: None, "new": new})
    found = fleet.right(wanted, **before)
    (value,) = set(values(fleet, found).values())
    assert value.startswith("ib-")
    assert value.endswith(".operator")
    assert set(policies(fleet, found)) == {value}
    assert found["unknown"] == [SECOND]
    # So it does where the node has left the inventory.
    gone = fleet.right(hosts(new=new), **before)
    assert (gone["labels"], gone["unknown"]) == (found["labels"], [SECOND])
    # Nothing has changed for it.
    same = fleet.right(hosts(**{SECOND: None}), **before)
    assert set(values(fleet, same).values()) == {"ib.operator"}
    assert policies(fleet, same) == policies(fleet, fleet.right(whole))
    # What cannot be read is no configuration to be kept.
    (policy,) = copy.deepcopy(before["objects"])
    (component,) = (own for own in policy["spec"].values() if "config" in own)
    component["config"] = "{"
    broken = fleet.right(wanted, **{**before, "objects": [policy]})
    assert set(values(fleet, broken).values()) == {"ib.operator"}


def test_policies_of_the_sriov_operator_stay_as_well(facts_of: Facts) -> None:
    def hosts(number: int, silent: bool) -> Hosts:
        facts = {"lab-01": facts_of("lab-01"), "lab-02": None if silent else facts_of("lab-01")}
        return SRIOV.hosts_of(facts, "lab", rdma_links_vfs=number, **OPERATED["sriov"])

    before = cluster(SRIOV, hosts(8, silent=False))
    # The operator's DaemonSet and SriovNetworkPoolConfigs are not looked at here.
    before["objects"].append(PLUGIN)

    found = SRIOV.right(hosts(16, silent=True), **before)
    (value,) = values(SRIOV, found).values()
    assert value.startswith("lab-")
    assert {name: spec["numVfs"] for name, spec in policies(SRIOV, found).items()} == {value: 16}
    # Its policy has another name than the one that stays.
    assert set(objects(found, "SriovNetworkNodePolicy")) == {f"sriov-{value.partition('.')[0]}"}
    assert found["unknown"] == ["lab-02"]
    for number, silent in ((8, True), (16, False)):
        other = SRIOV.right(hosts(number, silent), **before)
        assert set(values(SRIOV, other).values()) == {"lab.sriov"}
        assert {spec["numVfs"] for spec in policies(SRIOV, other).values()} == {number}


def test_no_node_loads_the_ofed_driver_again_because_another_one_is_silent(facts_of: Facts) -> None:
    own: dict[str, Any] = {
        **OPERATED["shared_device"],
        "rdma_ofed_deploy": True,
        "rdma_ofed_version": "doca3.5.0-26.07-0.7.0.0-0",
    }
    facts = facts_of(FIRST)
    before = cluster(SHARED_DEVICE, SHARED_DEVICE.hosts_of({FIRST: facts, SECOND: facts}, **own))
    before["nodes"][FIRST] = {SHARED_DEVICE.label: "ib.ofed"}
    hosts = SHARED_DEVICE.hosts_of({FIRST: facts, SECOND: None}, rdma_shared_device_max=5, **own)
    assert values(SHARED_DEVICE, SHARED_DEVICE.right(hosts, **before)) == {FIRST: "ib.ofed"}


@FLEETS
@pytest.mark.parametrize("value", ["ib-12345678", "ib.operator", "ib-12345678.operator"])
def test_what_a_node_outside_the_inventory_has_is_not_pruned(fleet: PluginFleet, value: str, facts_of: Facts) -> None:
    hosts = fleet.hosts_of({FIRST: facts_of(FIRST)})
    nodes = {FIRST: {fleet.label: "ib"}, SECOND: {fleet.label: value}}
    assert fleet.right(hosts, nodes=nodes)["unknown"] == [SECOND]
    nodes[SECOND] = {fleet.label: f"other-{value}"}
    assert fleet.right(hosts, nodes=nodes)["unknown"] == []


def test_policies_are_looked_at_once(facts_of: Facts) -> None:
    hosts = {}
    for fleet, group in ((SHARED_DEVICE, "one"), (HOST_DEVICE, "two")):
        hosts.update(fleet.hosts_of({group: facts_of(FIRST)}, group, **OPERATED[fleet.strategy]))
    looks = [one["kind"] for one in strategies({}, list(hosts), hosts)["objects"]]
    assert looks.count("NicNodePolicy.mellanox.com") == 1
    for fleet in (SHARED_DEVICE, HOST_DEVICE):
        others = fleet.hosts_of({FIRST: facts_of(FIRST)})
        assert strategies({}, list(others), others)["objects"] == []
