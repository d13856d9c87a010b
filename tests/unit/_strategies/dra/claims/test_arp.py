# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Pods with several NICs in one subnet get the ARP settings that the move of a NIC resets, or it is said why not."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import Facts, plan, right, template

NODE = "case-h100-roce"
ONE_SUBNET = {"rdma_links_subnet": "10.4.0.0/16", "rdma_links_rails": 8, "rdma_links_host_number": 1}
NEWER = {"rdma_driver_dranet_version": "1.5.0", "rdma_driver_gpu_version": "0.5.0"}


def interfaces(found: Any) -> list[dict[str, Any]]:
    return [one["opaque"]["parameters"]["interface"] for spec in right(found) for one in spec.get("config", [])]


def test_rails_in_one_subnet(facts_of: Facts) -> None:
    facts = {NODE: facts_of(NODE)}
    wanted = template(gpus=4, nics=4, mtu=9000)
    found = plan(facts, wanted, **NEWER, **ONE_SUBNET)
    assert interfaces(found) == [{"arpIgnore": 1, "arpAnnounce": 2, "mtu": 9000}]
    own = plan(facts, template(nics=2, parameters={"interface": {"arpIgnore": 2}}), **NEWER, **ONE_SUBNET)
    assert interfaces(own) == [{"arpIgnore": 2, "arpAnnounce": 2}]
    # All NICs of a node are more than one as well.
    assert interfaces(plan(facts, template(nics="all"), **NEWER, **ONE_SUBNET)) == [{"arpIgnore": 1, "arpAnnounce": 2}]


def test_the_released_driver_cannot(facts_of: Facts) -> None:
    facts = {NODE: facts_of(NODE)}
    found = plan(facts, template(gpus=4, nics=4), **ONE_SUBNET)
    assert interfaces(found) == []
    (warning,) = [one for one in found.warnings if "share a subnet" in one]
    assert warning.startswith(f"one: rails of {NODE} share a subnet, and DRANET 1.4.0 cannot set arp_ignore")
    assert "rdma_links_rail_subnets" in warning


@pytest.mark.parametrize(
    ("nics", "variables"),
    [
        (1, ONE_SUBNET),
        (2, {"rdma_links_rail_subnets": [f"10.4.{rail}.0/24" for rail in range(8)], "rdma_links_host_number": 1}),
        (2, {}),
    ],
)
def test_where_nothing_can_be_mixed_up(facts_of: Facts, nics: int, variables: dict[str, Any]) -> None:
    facts = {NODE: facts_of(NODE)}
    assert interfaces(plan(facts, template(nics=nics), **NEWER, **variables)) == []
    assert not [one for one in plan(facts, template(nics=nics), **variables).warnings if "subnet" in one]


def test_without_a_netdev_there_is_no_arp(facts_of: Facts) -> None:
    facts = {"h100-01": facts_of("h100-01")}
    found = plan(facts, template(nics=2), **NEWER, **ONE_SUBNET, rdma_driver_move_ib_interfaces=False)
    assert interfaces(found) == []


def test_addresses_of_the_nics_where_none_are_planned(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of(NODE))
    for number, hca in enumerate(facts["hcas"]):
        for port in hca["ports"]:
            if port["netdev"] and port["netdev"]["name"] != "eno1":
                port["netdev"]["addresses"] = [f"10.7.0.{number + 1}/24"]
    assert interfaces(plan({NODE: facts}, template(nics=2), **NEWER)) == [{"arpIgnore": 1, "arpAnnounce": 2}]


def single(name: str, rail: int, **wanted: Any) -> dict[str, Any]:
    return {"name": name, "host": NODE, "rail": rail, **wanted}


def test_single_claims_have_them_as_well(facts_of: Facts) -> None:
    facts = {NODE: facts_of(NODE)}
    two = [single("first", 0, mtu=9000), single("second", 1)]
    settings = {"arpIgnore": 1, "arpAnnounce": 2}
    found = plan(facts, rdma_claims_claims=two, **NEWER, **ONE_SUBNET)
    assert interfaces(found) == [{**settings, "mtu": 9000}, settings]
    # A pod with the only claim of a host has one NIC.
    assert interfaces(plan(facts, rdma_claims_claims=two[:1], **NEWER, **ONE_SUBNET)) == [{"mtu": 9000}]
    apart = {"rdma_links_rail_subnets": [f"10.4.{rail}.0/24" for rail in range(8)], "rdma_links_host_number": 1}
    assert interfaces(plan(facts, rdma_claims_claims=two, **NEWER, **apart)) == [{"mtu": 9000}]


def test_addresses_of_single_claims_in_one_subnet(facts_of: Facts) -> None:
    two = [single("first", 0, address="10.9.0.1/24"), single("second", 1, address="10.9.0.2/24")]
    found = interfaces(plan({NODE: facts_of(NODE)}, rdma_claims_claims=two, **NEWER))
    assert [one["arpIgnore"] for one in found] == [1, 1]
    apart = [two[0], single("second", 1, address="10.10.0.2/24")]
    assert "arpIgnore" not in str(interfaces(plan({NODE: facts_of(NODE)}, rdma_claims_claims=apart, **NEWER)))


def test_single_claims_that_the_released_driver_cannot_keep_apart_are_one_warning(facts_of: Facts) -> None:
    two = [single("first", 0), single("second", 1)]
    found = plan({NODE: facts_of(NODE)}, rdma_claims_claims=two, **ONE_SUBNET)
    assert interfaces(found) == []
    (warning,) = [one for one in found.warnings if "share a subnet" in one]
    assert warning.startswith(f"first, second: rails of {NODE} share a subnet, and DRANET 1.4.0 cannot set arp_ignore")


def test_a_parameter_that_nobody_knows_is_a_warning(facts_of: Facts) -> None:
    wanted = template(nics=1, parameters={"interface": {"qdisc": "fq"}})
    found = plan({NODE: facts_of(NODE)}, wanted, **NEWER)
    assert interfaces(found) == [{"qdisc": "fq"}]
    assert [one for one in found.warnings if "rdma_claims_templates[0].parameters.interface.qdisc is not known" in one]
    refused = plan({NODE: facts_of(NODE)}, wanted).problems
    assert len(refused) == 1
    assert "has the key 'qdisc', which DRANET rejects" in refused[0]
