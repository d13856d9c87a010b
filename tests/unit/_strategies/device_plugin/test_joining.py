# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Nodes that get a configuration of a device plugin that others have already, and nodes that lose theirs."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import (
    FLEETS,
    HOST_DEVICE,
    OPERATED,
    SRIOV,
    Facts,
    Hosts,
    PluginFleet,
    cluster,
    moved,
)
from ansible_collections.zerocopy.rdma.tests.unit._strategies.host_device.sriov_operated import PLUGIN

BY = pytest.mark.parametrize("operated", [False, True], ids=["plugin", "operator"])
# What the first one hands out may be what the other one needs itself.
OLD, STAYS, NEW = "v100-01", "v100-02", "new"


def none(hosts: Hosts, *names: str) -> Hosts:
    return {name: {**own, "rdma_strategy": "none"} if name in names else own for name, own in hosts.items()}


def order(fleet: PluginFleet, hosts: Hosts, before: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Who joins, and who loses its label first."""
    found = fleet.right(hosts, **before)
    assert all(own == {fleet.label: None} for own in found["leaving"].values())
    return found["joining"], list(found["leaving"])


@BY
@FLEETS
def test_a_node_joins_a_configuration_that_is_there(fleet: PluginFleet, operated: bool, facts_of: Facts) -> None:
    own = OPERATED[fleet.strategy] if operated else {}
    facts = facts_of(OLD)
    whole = fleet.hosts_of({OLD: moved(facts), STAYS: facts, NEW: facts}, **own)
    first = none(whole, NEW)
    before = cluster(fleet, first)
    before["nodes"][NEW] = {}
    value = before["nodes"][STAYS][fleet.label]
    wanted = none(whole, OLD)
    found = fleet.right(wanted, **before)
    # What the first one had would be handed out on the new one.
    assert (found["labels"][NEW], found["labels"][OLD]) == ({fleet.label: value}, {fleet.label: None})
    assert found["sets"] != fleet.right(first)["sets"]
    assert (found["joining"], found["leaving"]) == ([NEW], {OLD: {fleet.label: None}})
    # When all is as it shall be.
    assert order(fleet, first, before) == ([], [])
    # Nothing is there yet, or it is not known.
    known: dict[str, Any] = {"nodes": {name: {} for name in whole}}
    for there in ({}, known):
        assert order(fleet, wanted, there) == ([], [])
    # A host that is not a node, or without facts.
    del before["nodes"][NEW]
    assert order(fleet, wanted, before) == ([], [OLD])
    before["nodes"][NEW] = {}
    assert order(fleet, fleet.hosts_of({OLD: moved(facts), STAYS: facts, NEW: None}, **own), before) == ([], [])


@FLEETS
def test_a_silent_node_keeps_its_label_when_others_join(fleet: PluginFleet, facts_of: Facts) -> None:
    facts = facts_of(OLD)
    before = cluster(fleet, fleet.hosts_of({OLD: facts, STAYS: facts}))
    before["nodes"][NEW] = {}
    # The configuration stays as it is.
    assert order(fleet, fleet.hosts_of({OLD: None, STAYS: facts, NEW: facts}), before) == ([NEW], [])
    # Or would change, so that the others get one of their own, which nobody has yet.
    hosts = fleet.hosts_of({OLD: None, STAYS: facts, NEW: moved(facts)})
    assert order(fleet, hosts, before) == ([], [STAYS])


@FLEETS
def test_a_node_changes_its_group(fleet: PluginFleet, facts_of: Facts) -> None:
    facts = facts_of(OLD)

    def hosts(*others: str) -> Hosts:
        rest = [name for name in (OLD, STAYS, NEW) if name not in others]
        apart = {"rdma_host_device_networks": ["10.91.0.0/24"]} if fleet is HOST_DEVICE else {}
        both = fleet.hosts_of(dict.fromkeys(rest, facts))
        return {**both, **fleet.hosts_of(dict.fromkeys(others, facts), "other", **apart)}

    before = cluster(fleet, hosts(OLD))
    assert order(fleet, hosts(OLD, NEW), before) == ([NEW], [NEW])


def test_vfs_of_the_sriov_operator(facts_of: Facts) -> None:
    facts = facts_of("lab-01")
    names = ("lab-01", "lab-02")
    hosts = SRIOV.hosts_of(dict.fromkeys(names, facts), "lab", rdma_links_vfs=8, **OPERATED["sriov"])
    before = cluster(SRIOV, none(hosts, "lab-02"))
    before["nodes"]["lab-02"] = {}
    before["objects"].append(PLUGIN)
    assert order(SRIOV, hosts, before) == (["lab-02"], [])
