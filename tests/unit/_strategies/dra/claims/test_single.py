# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Single claims of recorded nodes, each for one NIC of one host."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import planner
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.planner import ClaimPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import (
    VERSIONS,
    Facts,
    allocated,
    plan,
    published,
    right,
    selectors,
)
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices


def claim(**wanted: Any) -> dict[str, Any]:
    return {"name": "one", "host": "lab-01", **wanted}


@pytest.mark.parametrize(
    ("links", "version", "wanted"),
    [
        # The host's own address, which DRANET would copy anyway.
        ({"rdma_links_subnet": "10.0.0.0/24"}, "1.4.0", claim(rail=0, address="10.0.0.1/24")),
        # No address in the claim.
        ({"rdma_links_subnet": "10.0.0.0/24"}, "1.4.0", claim(rail=0, mtu=1500)),
        # Mended.
        ({"rdma_links_subnet": "10.0.0.0/24"}, "1.5.0", claim(rail=0, address="10.0.0.77/24")),
        # What the host has, where nothing is planned.
        ({}, "1.4.0", claim(hca="mlx5_0", address="10.0.0.1/24")),
        ({}, "1.4.0", claim(address="10.0.0.1/24")),
    ],
)
def test_claims_whose_addresses_work(
    facts_of: Facts, links: dict[str, Any], version: str, wanted: dict[str, Any]
) -> None:
    own = {**links, "rdma_driver_dranet_version": version, "rdma_claims_claims": [wanted]}
    (spec,) = right(plan({"lab-01": facts_of("lab-01"), "lab-02": facts_of("lab-02")}, **own))
    (request,) = spec["requests"]
    mac = next(one.attributes["dra.net/mac"] for one in published(facts_of("lab-01")) if one.is_rdma_nic)
    address, own_mac = selectors(request["exactly"])
    assert address.endswith('.pciAddress == "0000:66:00.0"')
    assert own_mac.endswith(f'.mac == "{mac}"')
    assert allocated(published(facts_of("lab-01")), spec) is not None


def test_a_host_without_an_address_takes_any_claim(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("lab-01"))
    for hca in facts["hcas"]:
        hca["ports"][0]["netdev"]["addresses"] = []
    assert right(plan({"lab-01": facts}, rdma_claims_claims=[claim(address="10.0.0.77/24")]))


def test_a_nic_that_is_not_published_has_no_claim(facts_of: Facts) -> None:
    facts = {"lab-01": facts_of("lab-01")}
    (problem,) = plan(facts, rdma_claims_claims=[claim(rail=0)], rdma_driver_exclude=["0000:66:00.0"]).problems
    assert problem.endswith("which DRANET does not publish: it is in rdma_driver_exclude")


def test_dhcp_is_as_wrong_as_an_address_of_its_own(facts_of: Facts) -> None:
    wanted = claim(parameters={"interface": {"dhcp": True}})
    (problem,) = plan({"lab-01": facts_of("lab-01")}, rdma_claims_claims=[wanted]).problems
    assert "is 'dhcp', but the host has 10.0.0.1/24 on this NIC" in problem


NETDEV = ("ifName", "mac", "mtu", "encapsulation", "type", "state", "ipv4", "ipv6", "virtual", "sriov", "sriovVfs")


def in_a_pod(facts: dict[str, Any]) -> dict[str, Any]:
    """Facts of a node in mode shared while a pod has its one NIC: the netdev is away, the RDMA device is not."""
    found = copy.deepcopy(facts)
    (hca,) = found["hcas"]
    hca["ports"][0]["netdev"] = {"name": "ens1", "source": "gid", "present": False}
    reason = {"code": "in_pod", "text": "netdev ens1 is in another network namespace (a pod's)"}
    found["usable"], found["excluded"] = [], [{"hca": hca["name"], "port": 1, "reasons": [reason]}]
    return found


def without_netdev(devices: list[SliceDevice]) -> list[SliceDevice]:
    hidden = {f"dra.net/{name}" for name in NETDEV}
    return [
        replace(each, attributes={name: value for name, value in each.attributes.items() if name not in hidden})
        for each in devices
    ]


def planned(facts: dict[str, Any], devices: list[SliceDevice], **wanted: Any) -> ClaimPlan:
    slices = resource_slices([replace(each, node="lab-01", pool="lab-01") for each in devices])
    own = {**VERSIONS, "rdma_claims_claims": [claim(**wanted)]}
    return planner.plan([InventoryHost("lab-01", "lab", own, read.facts(facts))], slices)


@pytest.mark.parametrize("wanted", [{"hca": "mlx5_0"}, {"pci": "0000:66:00.0", "mtu": 1500}])
def test_a_claim_stays_while_its_own_pod_runs(facts_of: Facts, wanted: dict[str, Any]) -> None:
    facts = facts_of("lab-01")
    devices = published(facts)
    before = planned(facts, devices, **wanted)
    assert (len(right(before)), before.unknown, before.warnings) == (1, [], [])
    busy = planned(in_a_pod(facts), without_netdev(devices), **wanted)
    # Not another object, and not the end of the one that is there.
    assert (right(busy), busy.unknown) == ([], ["lab-01"])
    (warning,) = busy.warnings
    assert warning.startswith("one: a pod has the NIC, which hides its MAC address")
    # The pod has begun or ended between the facts and the look at the cluster.
    for found in (planned(facts, without_netdev(devices), **wanted), planned(in_a_pod(facts), devices, **wanted)):
        assert (found.objects, found.problems, found.unknown) == (before.objects, [], [])


def test_a_nic_that_never_has_a_mac_address_is_claimed_without(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("lab-01"))
    facts["hcas"][0]["ports"][0]["netdev"] = None
    found = planned(facts, without_netdev(published(facts)), hca="mlx5_0")
    (spec,) = right(found)
    assert len(selectors(spec["requests"][0]["exactly"])) == 1
    assert found.unknown == []
    assert "no MAC address is published" in found.warnings[0]


@pytest.mark.parametrize("wanted", [{"hca": "mlx5_0"}, {"pci": "0000:66:00.0"}, {"rail": 0}])
def test_in_exclusive_netns_mode_the_nic_of_a_claim_may_be_away_unseen(facts_of: Facts, wanted: dict[str, Any]) -> None:
    facts = facts_of("lab-01")
    devices = published(facts)
    gone = {**facts, "hcas": [], "usable": [], "excluded": []}
    (problem,) = planned(gone, without_netdev(devices), **wanted).problems
    assert "which lab-01 does not have" in problem
    busy = planned({**gone, "system": {**facts["system"], "netns_mode": "exclusive"}}, devices, **wanted)
    assert (right(busy), busy.unknown) == ([], ["lab-01"])
    (warning,) = busy.warnings
    assert warning.startswith(problem)
    assert warning.endswith("so this may be wrong, and an existing claim is not changed")
