# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Which HCAs the plugin of the strategy shared_device is told about."""

from __future__ import annotations

import copy
import random
from typing import Any, Dict, List, Set

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.shared_device import selectors
from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import (
    SHARED_DEVICE,
    Facts,
    mixed,
    objects,
    shared,
)
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategies

LABEL = SHARED_DEVICE.label
hosts_of, recorded = SHARED_DEVICE.hosts_of, SHARED_DEVICE.recorded
plan, right = SHARED_DEVICE.plan, SHARED_DEVICE.right


def test_the_pair_whose_live_port_differs(facts_of: Facts) -> None:
    """Both A100 nodes with the same names of netdevs, as the cards of equal machines have."""
    second = copy.deepcopy(facts_of("a100-02"))
    names = {"ib0": "ibp5s0", "ib1": "ibp133s0"}
    for hca in second["hcas"]:
        for port in hca["ports"]:
            if port["netdev"] and port["netdev"]["name"] in names:
                port["netdev"]["name"] = names[port["netdev"]["name"]]
    found = right(hosts_of({"a100-01": facts_of("a100-01"), "a100-02": second}, "a100"))
    own = {host: labels[LABEL] for host, labels in found["labels"].items()}
    assert own["a100-01"] != own["a100-02"]
    assert all(value.startswith("a100-") for value in own.values())
    of_label = shared(found)
    assert of_label[own["a100-01"]]["selectors"]["ifNames"] == ["ibp133s0"]
    assert of_label[own["a100-02"]]["selectors"]["ifNames"] == ["ibp5s0"]
    assert {entry["resourceName"] for entry in of_label.values()} == {"rdma_a100"}
    # With names that cannot be mistaken, one configuration is enough.
    assert set(shared(right(recorded(facts_of, "a100-01", "a100-02", group="a100")))) == {"a100"}


def test_a_storage_network_is_not_shared(facts_of: Facts) -> None:
    own = {"rdma_discover_expect_link_layer": "InfiniBand"}
    bare = {"n1": {**hosts_of({"n1": facts_of("case-b200")}, "b200")["n1"], **own}}
    # They have no netdevs, and those of the storage network are of the same model.
    assert "mlx5_15 cannot be told apart from HCAs that are not for pods" in plan(bare)["warnings"][0]
    facts = copy.deepcopy(facts_of("case-b200"))
    every = [port for hca in facts["hcas"] for port in hca["ports"]]
    some = next(port["netdev"] for port in every if port["netdev"])
    for number, port in enumerate(port for port in every if port["link_layer"] == "InfiniBand"):
        port["netdev"] = {**some, "name": f"ib{number}"}
    (shares,) = list(shared(right({"n1": {**hosts_of({"n1": facts}, "b200")["n1"], **own}})).values())
    of_gpus = {f"mlx5_{number}" for number in (4, 7, 8, 9, 10, 13, 14, 15)}
    assert set(selectors.selected(shares["selectors"], read.facts(facts))) == of_gpus
    assert shares["selectors"]["linkTypes"] == ["infiniband"]


def test_an_hca_whose_other_port_is_the_nodes_own_is_left_out(facts_of: Facts) -> None:
    """A pod gets an HCA with all of its ports."""
    facts = copy.deepcopy(facts_of("case-two-ports"))
    (hca,) = [one for one in facts["hcas"] if len(one["ports"]) == 2]
    assert selectors.ports(read.facts(facts), []).hcas == [hca["name"]]
    facts["usable"] = [{"hca": hca["name"], "port": 1}]
    reason = {"code": "default_route", "text": "it carries the default route", "fields": {"netdev": "x"}}
    facts["excluded"] = [{"hca": hca["name"], "port": 2, "reasons": [reason]}]
    found = selectors.ports(read.facts(facts), [])
    assert found.hcas == []
    assert "is not shared because of its port 2" in found.left_out[0]
    # A cable that is not there is no reason.
    reason.update(code="port_down", text="port state is DOWN", fields={"state": "DOWN"})
    assert selectors.ports(read.facts(facts), []).hcas == [hca["name"]]


def test_a_node_without_a_port_gets_no_plugin_and_stops_no_other(facts_of: Facts) -> None:
    found = right(recorded(facts_of, "v100-01", "case-nothing"))
    assert found["labels"] == {"v100-01": {LABEL: "ib"}, "case-nothing": {LABEL: None}}
    assert [list(ask["hosts"]) for ask in found["requests"]["ib"]] == [["v100-01"]]
    assert found["warnings"] == ["case-nothing: no ACTIVE port that pods can share, so the plugin does not run there"]
    assert set(found["status"]) == {"v100-01"}


def test_a_node_without_facts_keeps_its_plugin(facts_of: Facts) -> None:
    found = right(hosts_of({"v100-01": facts_of("v100-01"), "away": None}))
    assert found["labels"] == {"v100-01": {LABEL: "ib"}}
    assert found["warnings"] == ["away: no facts, so the plugin is left unchanged there"]
    assert found["unknown"] == ["away"]


def test_objects_that_a_node_without_facts_needs_are_not_planned(facts_of: Facts) -> None:
    """So they must not be pruned."""
    second = copy.deepcopy(facts_of("a100-02"))
    names = {"ib0": "ibp5s0", "ib1": "ibp133s0"}
    for port in (port for hca in second["hcas"] for port in hca["ports"] if port["netdev"]):
        port["netdev"]["name"] = names.get(port["netdev"]["name"], port["netdev"]["name"])
    both = right(hosts_of({"a100-01": facts_of("a100-01"), "a100-02": second}, "a100"))
    one = right(hosts_of({"a100-01": facts_of("a100-01"), "a100-02": None}, "a100"))
    assert (both["unknown"], one["unknown"]) == ([], ["a100-02"])
    assert not set(objects(both, "DaemonSet")) <= set(objects(one, "DaemonSet"))


def test_hosts_of_other_strategies_lose_the_label(facts_of: Facts) -> None:
    hosts = {**recorded(facts_of, "v100-01"), **recorded(facts_of, "h100-01", group="h100", rdma_strategy="dra")}
    assert plan(hosts)["labels"] == {"v100-01": {LABEL: "ib"}, "h100-01": {LABEL: None}}
    served = {"h100-01": {LABEL: "h100"}}
    (line,) = strategies({}, list(hosts), hosts, served)["problems"]
    assert line.startswith("h100-01: rdma_strategy is 'dra', but shared_device still serves this node")


def plugin(facts: Dict[str, Any], wanted: Dict[str, List[str]]) -> Set[str]:
    """The HCAs that k8s-rdma-shared-dev-plugin 1.5.3 offers on a node with these selectors, by its own rules."""
    found = set()
    for hca in facts["hcas"]:
        if hca["pci"] is None or hca["software"]:
            continue
        netdevs = sorted(
            port["netdev"]["name"] for port in hca["ports"] if port["netdev"] and port["netdev"]["present"]
        )
        layers = {port["link_layer"] for port in hca["ports"]}
        kinds = {"InfiniBand": "infiniband", "Ethernet": "ether"}
        seen = {
            "ifNames": netdevs[0] if netdevs else "",
            "linkTypes": kinds.get(next(iter(layers)), "") if netdevs else "",
            "vendors": hca["pci"]["vendor_id"],
            "deviceIDs": hca["pci"]["device_id"],
        }
        if all(seen[kind] in values for kind, values in wanted.items()):
            found.add(hca["name"])
    return found


@pytest.mark.parametrize("seed", range(60))
def test_no_configuration_reaches_an_hca_without_an_active_port(facts_of: Facts, seed: int) -> None:
    chance = random.Random(seed)
    facts = mixed(facts_of, chance)
    for own in facts.values():
        if chance.random() < 0.3:
            for port in (port for hca in own["hcas"] for port in hca["ports"]):
                port["netdev"] = None if port["link_layer"] == "InfiniBand" else port["netdev"]
    found = plan(hosts_of(facts))
    of_label = shared(found) if not found["problems"] else {}
    for host, own in facts.items():
        label = (found["labels"].get(host) or {}).get(LABEL) if of_label else None
        got = plugin(own, of_label[label]["selectors"]) if label else set()
        active = {entry["hca"] for entry in own["usable"]}
        assert got <= active
        # And none is forgotten that can be shared.
        expected = set(selectors.ports(read.facts(own), []).hcas)
        assert got == (expected if label else set())
