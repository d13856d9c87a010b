# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Templates that ask for NICs by rail, on recorded nodes."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import planner
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import (
    ROOT,
    VERSIONS,
    Facts,
    plan,
    published,
    right,
    selectors,
    template,
)
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices

OWN = {"rdma_driver_attributes": True, "rdma_links_rails": 8, "rdma_links_mtu": 2044}


def of_rail(rail: int) -> str:
    attributes = 'device.attributes["zerocopy.rdma"]'
    return f'"rail" in {attributes} && {attributes}.rail == {rail}'


def test_each_rail_is_a_request_of_its_own(facts_of: Facts) -> None:
    (spec,) = right(plan({"h100-01": facts_of("h100-01")}, template(rails=[3, 1]), **OWN))
    assert [request["name"] for request in spec["requests"]] == ["nic-rail3", "nic-rail1"]
    for request, rail in zip(spec["requests"], (3, 1)):
        assert request["exactly"]["count"] == 1
        assert selectors(request["exactly"])[-1] == of_rail(rail)


def test_gpus_are_kept_beside_the_nics_of_the_rails(facts_of: Facts) -> None:
    """Each NIC has a GPU below its root complex."""
    found = plan({"n1": facts_of("case-h100-roce")}, template(gpus=2, rails=[0, 3]), **OWN)
    (spec,) = right(found)
    assert "align=pcie_root: 2 groups of 1 GPU and 1 NIC, each" in found.text
    assert spec["constraints"] == [
        {"requests": [f"gpu-{place}", f"nic-rail{rail}"], "matchAttribute": ROOT} for place, rail in enumerate((0, 3))
    ]


def test_the_parameters_are_for_the_nics_of_all_rails(facts_of: Facts) -> None:
    (spec,) = right(plan({"n1": facts_of("case-h100-roce")}, template(gpus=1, rails=[0, 2], mtu=1500), **OWN))
    assert [config["requests"] for config in spec["config"]] == [["nic-rail0", "nic-rail2"]]


def test_the_plan_counts_and_not_what_dranet_has_heard_so_far(facts_of: Facts) -> None:
    """Objects are those of a node whose driver has published no rails, or others, before prepare."""
    facts = facts_of("h100-01")
    own = {**VERSIONS, **OWN, "rdma_claims_templates": [template(rails=[2])]}
    host = InventoryHost("n", "group", own, read.facts(facts))
    expected = planner.plan([host])
    assert expected.objects
    assert planner.plan([host], resource_slices(published(facts))).objects == expected.objects


def of(facts: dict[str, Any], **own: Any) -> list[str]:
    wanted = own.pop("wanted", {"rails": [0]})
    return plan({"h100-01": facts}, template(**wanted), **{**OWN, **own}).problems


AT = "h100-01: rdma_claims_templates[0]"


@pytest.mark.parametrize(
    ("own", "problem"),
    [
        (
            {"rdma_driver_attributes": False},
            f"{AT}.rails is [0], but DRANET publishes no rails here: set rdma_driver_attributes to true, with "
            "rdma_driver_enabled, or ask for nics instead",
        ),
        ({"rdma_driver_enabled": False}, f"{AT}.rails is [0], but DRANET publishes no rails here"),
        (
            {"wanted": {"rails": [1, 8]}},
            f"{AT}.rails[1] is 8, which h100-01 do not have: their NICs are in rails 0-7",
        ),
        (
            {"rdma_links_mtu": None},
            f"{AT}.rails[0] is 0, which h100-01 do not have: none of their NICs is in a rail (rdma_links_*)",
        ),
        ({"wanted": {"rails": []}}, f"{AT}.rails is [], it must name at least one rail"),
        ({"wanted": {"rails": [0, 0]}}, f"{AT}.rails[1] is 0, which is listed twice"),
        ({"wanted": {"rails": [-1]}}, f"{AT}.rails[0] is -1, it must be 0 to 1023"),
        ({"wanted": {"rails": [0], "nics": "2"}}, f"{AT}.nics is '2', but rdma_claims_templates[0].rails are 1"),
        ({"wanted": {"rails": [0], "nics": "all"}}, f"{AT}.nics is 'all', but rdma_claims_templates[0].rails are 1"),
    ],
)
def test_what_cannot_be_is_refused(facts_of: Facts, own: dict[str, Any], problem: str) -> None:
    found = of(facts_of("h100-01"), **own)
    assert len(found) == 1
    assert found[0].startswith(problem)


def test_a_rail_that_some_nodes_lack_is_said(facts_of: Facts) -> None:
    facts = {name: facts_of(name) for name in ("h100-01", "h100-02", "h100-03")}
    found = plan(facts, template(rails=[4]), **OWN)
    assert right(found)
    assert "one does not fit everywhere. h100-03: no matching NIC of rail 4" in found.warnings
