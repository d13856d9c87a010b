# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Single claims of recorded nodes, each for one NIC of one host."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import (
    Facts,
    allocated,
    plan,
    published,
    right,
    selectors,
)


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
