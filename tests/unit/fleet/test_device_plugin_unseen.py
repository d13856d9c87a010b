# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Nodes of which nothing is known: their device plugin gets no other configuration."""

from __future__ import annotations

import copy
from typing import Any, Dict

import pytest

from ansible_collections.zerocopy.rdma.tests.unit.fleet.device_plugin_plan import (
    HOST_DEVICE,
    SHARED_DEVICE,
    Facts,
    PluginFleet,
    objects,
)

FLEETS = pytest.mark.parametrize("fleet", [SHARED_DEVICE, HOST_DEVICE], ids=lambda fleet: fleet.strategy)
FIRST, SECOND = "v100-01", "v100-02"


def moved(facts: Dict[str, Any]) -> Dict[str, Any]:
    """The facts of a node whose NICs have other names and sit in other slots."""
    own = copy.deepcopy(facts)
    for hca in own["hcas"]:
        if hca["pci"]:
            hca["pci"]["address"] = f"00ff{hca['pci']['address'][4:]}"
        for port in (port for port in hca["ports"] if port["netdev"]):
            port["netdev"]["name"] += "x"
    return own


def cluster(fleet: PluginFleet, hosts: Dict[str, Any]) -> Dict[str, Any]:
    """What a cluster says when provision has run with these hosts."""
    found = fleet.right(hosts)
    labels = {host: {name: value for name, value in own.items() if value} for host, own in found["labels"].items()}
    return {"nodes": labels, "daemon_sets": list(objects(found, "DaemonSet").values())}


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
