# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Which NICs pods can have with the strategy host_device, and in which rail."""

from __future__ import annotations

import copy
import random
from typing import Any, Callable, Dict, List, Set

import pytest

from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import (
    HOST_DEVICE,
    RAILS,
    Facts,
    mixed,
    pools,
    unplug,
)
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategies

LABEL = HOST_DEVICE.label
hosts_of, plan, recorded, right = HOST_DEVICE.hosts_of, HOST_DEVICE.plan, HOST_DEVICE.recorded, HOST_DEVICE.right


def addresses(facts: Dict[str, Any], *names: str) -> List[str]:
    return [hca["pci"]["address"] for hca in facts["hcas"] if hca["name"] in names]


def test_a_group_with_both_link_layers_has_to_choose(facts_of: Facts) -> None:
    hosts = recorded(facts_of, "v100-01", "lab-01", group="mixed")
    (line,) = plan(hosts)["problems"]
    assert "rdma_discover_expect_link_layer is not set, and nodes of the group have ports of Ethernet and" in line
    for host in hosts.values():
        host["rdma_discover_expect_link_layer"] = "InfiniBand"
    found = right(hosts)
    assert found["labels"] == {"lab-01": {LABEL: None}, "v100-01": {LABEL: "mixed"}}


def test_bonds_are_handed_out_to_nobody(facts_of: Facts) -> None:
    """The source of this strategy counted four on such nodes, which have one NIC for pods."""
    facts = facts_of("a100-01")
    assert any(port["netdev"] and port["netdev"]["bond"] for hca in facts["hcas"] for port in hca["ports"])
    found = right(recorded(facts_of, "a100-01", group="a100"))
    active = {entry["hca"] for entry in facts["usable"]}
    assert pools(found) == {"a100": {"hostdev_a100": addresses(facts, *active)}}
    assert found["status"]["a100-01"]["resources"] == {"rdma/hostdev_a100": 1}


def test_rails_are_those_of_the_links(facts_of: Facts) -> None:
    ports = [{"pci": "0000:8a:00.0"}, {"pci": "0000:3f:00.0"}]
    found = right(recorded(facts_of, "v100-01", group="v100", rdma_links_ports=ports, **RAILS))
    assert pools(found) == {"v100": {"hostdev_v100_rail0": ["0000:8a:00.0"], "hostdev_v100_rail1": ["0000:3f:00.0"]}}


def test_a_rail_that_is_down_is_handed_out_to_nobody(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("v100-01"))
    gone = facts["usable"][0]
    unplug(facts, gone)
    found = right(hosts_of({"v100-01": facts}, "v100", **RAILS))
    assert pools(found) == {"v100": {"hostdev_v100_rail1": ["0000:8a:00.0"]}}
    assert found["warnings"] == [
        f"v100-01: rail 0 is {gone['hca']}/1, which is not usable",
        "v100-01: has no NIC for rail 0",
    ]


def test_who_sets_a_link_up_again(facts_of: Facts) -> None:
    """CNI leaves a NIC down that comes back. Of InfiniBand the port stays as it is."""
    text = "NICs return from pods with their links down: set rdma_links_subnet or rdma_links_mtu, so that"
    assert any(text in line for line in right(recorded(facts_of, "lab-01"))["warnings"])
    for hosts in (recorded(facts_of, "lab-01", rdma_links_mtu=9000), recorded(facts_of, "v100-01")):
        assert not any(text in line for line in right(hosts)["warnings"])


def test_a_nic_in_a_pod_stays_in_the_configuration(facts_of: Facts) -> None:
    facts = facts_of("case-in-pod")
    (away,) = [entry["hca"] for entry in facts["excluded"] if {one["code"] for one in entry["reasons"]} == {"in_pod"}]
    found = right(hosts_of({"case-in-pod": facts}, "lab"))
    (of_node,) = pools(found).values()
    assert set(addresses(facts, away)) <= set(of_node["hostdev_lab"])


def test_the_pair_whose_live_port_differs(facts_of: Facts) -> None:
    """Where one configuration would hand out a NIC without a cable, there are two."""
    found = right(recorded(facts_of, "a100-01", "a100-02", group="a100"))
    own = {host: labels[LABEL] for host, labels in found["labels"].items()}
    assert own["a100-01"] != own["a100-02"]
    for host in own:
        facts = facts_of(host)
        active = {entry["hca"] for entry in facts["usable"]}
        assert pools(found)[own[host]] == {"hostdev_a100": addresses(facts, *active)}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            lambda hca: hca["sriov"].update(role="pf", num_vfs=4),
            "has VFs, so the device plugin does not offer the NIC",
        ),
        (
            lambda hca: hca["ports"][0].update(netdev=None),
            "has no netdev that could be moved into a pod: load ib_ipoib",
        ),
    ],
)
def test_what_the_programs_cannot_hand_out(facts_of: Facts, change: Callable[..., None], why: str) -> None:
    facts = copy.deepcopy(facts_of("v100-01"))
    (hca,) = [one for one in facts["hcas"] if one["pci"] and one["pci"]["address"] == "0000:3f:00.0"]
    change(hca)
    found = right(hosts_of({"v100-01": facts}, "v100"))
    assert pools(found) == {"v100": {"hostdev_v100": ["0000:8a:00.0"]}}
    assert any(why in text for text in found["warnings"])


def test_an_hca_with_two_ports_comes_whole(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("case-two-ports"))
    (hca,) = [one for one in facts["hcas"] if len(one["ports"]) == 2]
    facts["usable"] = [{"hca": hca["name"], "port": 1}]
    reason = {"code": "default_route", "text": "it carries the default route", "fields": {"netdev": "x"}}
    facts["excluded"] = [{"hca": hca["name"], "port": 2, "reasons": [reason]}]
    found = plan(hosts_of({"two": facts}))
    assert any("is not given to pods because of its port 2" in text for text in found["warnings"])
    # CNI would take the first netdev.
    for port, name in zip(hca["ports"], ("z0", "a0")):
        port["netdev"] = {**hca["ports"][0]["netdev"], "name": name}
    reason.update(code="port_down", text="port state is DOWN", fields={"state": "DOWN"})
    found = plan(hosts_of({"two": facts}))
    assert any("CNI would move a0, the netdev of port 2" in text for text in found["warnings"])


def test_a_node_without_facts_keeps_its_plugin(facts_of: Facts) -> None:
    found = right(hosts_of({"v100-01": facts_of("v100-01"), "away": None}))
    assert found["labels"] == {"v100-01": {LABEL: "ib"}}
    assert "away: no facts, so the plugin is left unchanged there" in found["warnings"]
    assert found["unknown"] == ["away"]


def test_hosts_of_other_strategies_lose_the_label(facts_of: Facts) -> None:
    hosts = {**recorded(facts_of, "v100-01"), **recorded(facts_of, "h100-01", group="h100", rdma_strategy="dra")}
    assert plan(hosts)["labels"] == {"v100-01": {LABEL: "ib"}, "h100-01": {LABEL: None}}
    served = {"h100-01": {LABEL: "h100"}}
    (line,) = strategies({}, list(hosts), hosts, served)["problems"]
    assert line.startswith("h100-01: rdma_strategy is 'dra', but host_device or sriov still serves this node")


def plugin(facts: Dict[str, Any], resources: Dict[str, List[str]]) -> Dict[str, Set[str]]:
    """What sriov-network-device-plugin 3.11.0 offers on a node: an HCA is in the first pool that names it."""
    found: Dict[str, Set[str]] = {}
    taken: Set[str] = set()
    for name, wanted in resources.items():
        for hca in facts["hcas"]:
            if (
                hca["pci"]
                and hca["pci"]["address"] in wanted
                and hca["name"] not in taken
                and not hca["sriov"]["num_vfs"]
            ):
                taken.add(hca["name"])
                found.setdefault(name, set()).add(hca["name"])
    return found


@pytest.mark.parametrize("seed", range(60))
def test_no_configuration_reaches_an_hca_without_an_active_port(facts_of: Facts, seed: int) -> None:
    chance = random.Random(seed)
    facts = mixed(facts_of, chance)
    layer = chance.choice(["InfiniBand", "Ethernet"])
    networks = [f"10.90.{rail}.0/24" for rail in range(chance.choice([1, 2, 4]))]
    found = plan(hosts_of(facts, rdma_discover_expect_link_layer=layer, rdma_host_device_networks=networks))
    of_label = pools(found)
    for host, own in facts.items():
        label = (found["labels"].get(host) or {}).get(LABEL) if of_label else None
        got = plugin(own, of_label[label]) if label else {}
        for names in got.values():
            for hca in (one for one in own["hcas"] if one["name"] in names):
                assert {"hca": hca["name"], "port": hca["ports"][0]["number"]} in own["usable"] or len(hca["ports"]) > 1
                assert layer in {port["link_layer"] for port in hca["ports"]}
        shown = found["status"].get(host, {"resources": {}})["resources"]
        assert {f"rdma/{name}": len(names) for name, names in got.items()} == shown
