# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Which NICs and GPUs templates select on recorded nodes, and that no selector fails while NICs are in pods."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import planner
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import selectors as claims_selectors
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.scheduler import cel
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import (
    CASES,
    ROOT,
    Facts,
    allocated,
    plan,
    published,
    right,
    selectors,
    template,
)
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices

OF_GPU = 'device.attributes["gpu.nvidia.com"]'


def test_the_group_s_own_products_are_selected_unless_told_otherwise(facts_of: Facts) -> None:
    facts = {"n1": facts_of("v100-01")}
    product = 'device.attributes["gpu.nvidia.com"].productName == "Tesla V100-SXM2-16GB"'
    for pick in ({}, {"product": "v100"}, {"product": "Tesla V100-SXM2-16GB"}):
        (spec,) = right(plan(facts, template(gpus=1, gpu=pick)))
        assert selectors(spec["requests"][0]["exactly"]) == [product]


@pytest.mark.parametrize(
    ("product", "literal"),
    [
        ('of "A", \\n\t', r'"of \"A\", \\n\t"'),
        ("H100 \u00e9", r'"H100 \u00e9"'),
        ("H100 \U0001f600 \uffff", r'"H100 \U0001f600 \uffff"'),
    ],
)
def test_a_product_of_any_characters_is_valid_cel(product: str, literal: str) -> None:
    expression = claims_selectors.having("gpu.nvidia.com/productName", [product])
    assert expression == f'"productName" in {OF_GPU} && {OF_GPU}.productName == {literal}'
    for name in (product, "other"):
        gpu = SliceDevice("gpu.nvidia.com", "n", "gpu-0", "n", {"gpu.nvidia.com/productName": name})
        assert cel.matches(expression, gpu) == (name == product)


STATE = '!("state" in device.attributes["dra.net"]) || device.attributes["dra.net"].state == "up"'


def test_a_nic_without_cable_is_told_by_its_state(facts_of: Facts) -> None:
    (spec,) = right(plan({name: facts_of(name) for name in ("a100-01", "a100-02")}, template(nics=1)))
    assert selectors(spec["requests"][0]["exactly"]) == [STATE]


def test_a_cable_that_is_out_stops_no_run(facts_of: Facts) -> None:
    facts = facts_of("a100-01")
    found = plan({"n1": facts}, template(nics=2))
    (spec,) = right(found)
    assert selectors(spec["requests"][0]["exactly"]) == [STATE]
    (warning,) = found.warnings
    why = "n1: 1 matching NIC, 2 requested"
    assert warning == f"one cannot be satisfied on any node while NICs have no link. {why}"
    # More than there are stays a mistake.
    (problem,) = plan({"n1": facts}, template(nics=3)).problems
    assert "cannot be satisfied on any node" in problem


def with_link_down(facts: dict[str, Any], *hcas: str) -> dict[str, Any]:
    """Facts while these HCAs have no link."""
    result = copy.deepcopy(facts)
    result["usable"] = [one for one in result["usable"] if one["hca"] not in hcas]
    reason = {"code": "port_down", "text": "port state is DOWN"}
    result["excluded"] += [
        {"hca": one["hca"], "port": 1, "reasons": [reason]} for one in facts["usable"] if one["hca"] in hcas
    ]
    for port in (port for hca in result["hcas"] if hca["name"] in hcas for port in hca["ports"]):
        port["state"] = "DOWN"
        if port["netdev"]:
            port["netdev"]["state"] = "down"
    return result


@pytest.mark.parametrize(("nodes", "wanted", "align", "names"), CASES)
def test_a_link_that_goes_changes_no_object(
    facts_of: Facts, nodes: list[str], wanted: dict[str, Any], align: str, names: list[str]
) -> None:
    facts = {name: facts_of(name) for name in nodes}
    linked = plan(facts, template(**wanted))
    assert linked.problems == []
    every = {name: [one["hca"] for one in of_node["usable"]] for name, of_node in facts.items()}
    down = [(name, [hca]) for name, hcas in every.items() for hca in hcas] + list(every.items())
    for name, hcas in down:
        found = plan({**facts, name: with_link_down(facts[name], *hcas)}, template(**wanted))
        assert (found.objects, found.problems) == (linked.objects, [])
    # As before the first run has brought them up.
    found = plan({name: with_link_down(facts[name], *every[name]) for name in nodes}, template(**wanted))
    assert (found.objects, found.problems) == (linked.objects, [])


def test_ports_that_nobody_cables_stand_in_no_claim_s_way(facts_of: Facts) -> None:
    facts = facts_of("h100-03")
    wanted = template(gpus=8, nics=2)
    assert plan({"n1": facts}, wanted).text.startswith("one (group), align=pcie_root: ")
    half = with_link_down(facts, *(hca["name"] for hca in facts["hcas"] if hca["pci"]["numa_node"] == 0))
    found = plan({"n1": half}, wanted)
    (spec,) = right(found)
    assert found.warnings == []
    assert found.text.startswith("one (group), align=none: counts only")
    assert allocated(published(half), spec) is not None


def test_a_selector_that_needs_a_link_is_not_tried_without_one(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("v100-01"))
    for hca in facts["hcas"]:
        hca["ports"][0]["netdev"]["addresses"] = [f"10.0.0.{hca['ports'][0]['number']}/24"]
    # No scheduler gets to it where the expressions before it are false.
    own = 'device.attributes["dra.net"].ipv4.startsWith("10.")'
    for wanted in (template(gpus=1, nics=1, nic={"selectors": [own]}), template(nics=2, nic={"selectors": [own]})):
        linked = plan({"n1": facts}, wanted)
        right(linked)
        for hcas in (["mlx5_0"], ["mlx5_0", "mlx5_1"]):
            down = with_link_down(facts, *hcas)
            for hca in (one for one in down["hcas"] if one["name"] in hcas):
                hca["ports"][0]["netdev"]["addresses"] = []
            found = plan({"n1": down}, wanted)
            assert (found.objects, found.problems) == (linked.objects, [])


def test_without_a_state_a_nic_without_cable_is_a_warning(facts_of: Facts) -> None:
    found = plan({"n1": facts_of("a100-01")}, template(nics=1), rdma_driver_move_ib_interfaces=False)
    assert right(found)
    address = next(hca["pci"]["address"] for hca in facts_of("a100-01")["hcas"] if hca["name"] == "mlx5_0")
    (warning,) = found.warnings
    assert warning.startswith(f"one: a pod may get a NIC without a link: n1: {address} (mlx5_0/1: port state is DOWN")


def test_a_storage_network_is_not_claimed(facts_of: Facts) -> None:
    facts, own = {"n1": facts_of("case-b200")}, {"rdma_discover_expect_link_layer": "InfiniBand"}

    def matched(**wanted: Any) -> int:
        (spec,) = right(plan(facts, template(nics="all", **wanted), **own))
        return len((allocated(published(facts["n1"]), spec) or {})["nic"])

    assert matched() == matched(nic={"link_layer": "InfiniBand"}) == 8
    # Who asks for it gets it.
    assert matched(nic={"link_layer": "Ethernet"}) == 2
    found = plan(facts, rdma_claims_extended_resources=[{"name": "rdma/hca"}], **own)
    assert len(found.resources["group"]["rdma/hca"]["n1"]) == 8


def test_vfs_and_their_physical_function_are_told_apart_by_address(facts_of: Facts) -> None:
    facts = facts_of("case-vf")
    address = {hca["name"]: hca["pci"]["address"] for hca in facts["hcas"]}
    for vf, hca in ((False, "mlx5_0"), (True, "mlx5_1")):
        (spec,) = right(plan({"n1": facts}, template(nics=1, nic={"vf": vf})))
        assert allocated(published(facts), spec) == {"nic": ["pci-" + address[hca].replace(":", "-").replace(".", "-")]}


def test_a_vf_needs_no_link_on_the_host(facts_of: Facts) -> None:
    """Nobody sets up the netdev of a VF before a pod has it."""
    facts = copy.deepcopy(facts_of("case-vf"))
    pfs = [one["name"] for one in facts["hcas"] if one["sriov"]["role"] == "pf"]
    for hca in facts["hcas"]:
        if hca["name"] not in pfs:
            hca["ports"][0].update(state="DOWN")
            hca["ports"][0]["netdev"].update(state="down")
    down = {"code": "port_down", "text": "port state is DOWN"}
    for entry in facts["excluded"]:
        if entry["hca"] not in pfs:
            entry["reasons"] = [one for one in entry["reasons"] if one["code"] != "port_down"] + [down]
    found = plan({"n1": facts}, template(nics=2, nic={"vf": True}))
    (spec,) = right(found)
    assert len((allocated(published(facts), spec) or {"nic": []})["nic"]) == 2
    assert found.warnings == []


def with_another_driver(facts: dict[str, Any], hca: str) -> dict[str, Any]:
    """Facts in which an HCA is none for workloads."""
    result = copy.deepcopy(facts)
    result["usable"] = [one for one in result["usable"] if one["hca"] != hca]
    reason = {"code": "driver_not_allowed", "text": "driver irdma is not one of mlx5_core"}
    result["excluded"].append({"hca": hca, "port": 1, "reasons": [reason]})
    return result


def test_a_nic_that_is_none_for_workloads_is_never_handed_out(facts_of: Facts) -> None:
    one, other = (with_another_driver(facts_of("v100-01"), hca) for hca in ("mlx5_0", "mlx5_1"))
    (spec,) = right(plan({"n1": one}, template(nics="all")))
    assert allocated(published(one), spec) == {"nic": ["pci-0000-8a-00-0"]}
    # The same address is right on one node and wrong on the other, and nothing else is published.
    (problem,) = plan({"n1": one, "n2": other}, template(nics=1)).problems
    assert "no published attribute distinguishes these NICs" in problem
    assert "driver irdma is not one of mlx5_core" in problem
    # The way out.
    excluded = {
        name: next(hca["pci"]["address"] for hca in one["hcas"] if hca["name"] == name) for name in ("mlx5_0", "mlx5_1")
    }
    hosts = [
        InventoryHost(
            name,
            "group",
            {"rdma_driver_exclude": [excluded[hca]], "rdma_claims_templates": [template(nics=1)]},
            read.facts(facts),
        )
        for name, hca, facts in (("n1", "mlx5_0", one), ("n2", "mlx5_1", other))
    ]
    (spec,) = right(planner.plan(hosts))
    assert selectors(spec["requests"][0]["exactly"]) == [STATE]


def without_netdevs(devices: list[SliceDevice]) -> list[SliceDevice]:
    """Devices while all NICs are in pods."""
    kept = ("dra.net/pciAddress", "dra.net/numaNode", "dra.net/rdma", ROOT)
    return [
        one
        if one.is_gpu
        else SliceDevice(
            one.driver,
            one.pool,
            one.name,
            one.node,
            {name: one.attributes[name] for name in kept if name in one.attributes},
        )
        for one in devices
    ]


@pytest.mark.parametrize(("nodes", "wanted", "align", "names"), CASES)
def test_no_generated_selector_fails_while_nics_are_in_pods(
    facts_of: Facts, nodes: list[str], wanted: dict[str, Any], align: str, names: list[str]
) -> None:
    specs = right(plan({name: facts_of(name) for name in nodes}, template(**wanted)))
    for node in nodes:
        for spec in specs:
            # It raises what would end the scheduler's attempt.
            allocated(without_netdevs(published(facts_of(node))), spec)


def test_a_selector_that_cannot_be_evaluated_is_said_to_be_so(facts_of: Facts) -> None:
    odd = "[1, 2].indexOf(2) == 1"
    found = plan({"n1": facts_of("v100-01")}, template(nics=1, nic={"selectors": [odd]}))
    (spec,) = right(found)
    assert selectors(spec["requests"][0]["exactly"]) == [STATE, odd]
    (warning,) = found.warnings
    assert "cannot be evaluated here" in warning
    assert "rdma_claims_templates[0].nic.selectors[0]" in warning


def test_a_selector_on_what_is_a_node_s_own_tells_equal_nodes_apart(facts_of: Facts) -> None:
    facts = {name: facts_of(name) for name in ("h100-01", "h100-02")}
    for number, of_node in enumerate(copy.deepcopy(list(facts.values()))):
        of_node["gpus"][0]["uuid"] = f"GPU-{number}"
        facts[f"h100-0{number + 1}"] = of_node
    wanted = template(gpus=1, gpu={"selectors": ['device.attributes["gpu.nvidia.com"].uuid == "GPU-1"']})
    found = plan(facts, wanted)
    assert found.warnings == ["one does not fit everywhere. h100-01: 0 matching GPUs, 1 requested"]


def test_only_who_wrote_a_selector_is_asked_to_mend_it(facts_of: Facts) -> None:
    facts, product = facts_of("h100-01"), "gpu.nvidia.com/productName"
    own = {"rdma_claims_templates": [template(gpus=1, nics=1)]}
    hosts = [InventoryHost(name, "group", own, read.facts(facts)) for name in ("n1", "n2")]
    devices = {name: [replace(each, node=name, pool=name) for each in published(facts)] for name in ("n1", "n2")}
    odd = next(each for each in devices["n2"] if each.is_gpu)
    odd.attributes = {name: value for name, value in odd.attributes.items() if name != product}
    found = planner.plan(hosts, resource_slices([*devices["n1"], *devices["n2"]]), tolerant=True)
    assert found.problems == [
        "n[1-2]: rdma_claims_templates[0] (one) cannot be satisfied: gpu-0 of n2 does not publish"
        ' gpu.nvidia.com/productName (Key not found in map: "productName"): check the log of gpu.nvidia.com on that'
        " node, and whether the driver is up to date"
    ]
    mine = 'device.attributes["gpu.nvidia.com"].cudaComputeCapability.major() == 9'
    (problem,) = plan({"n1": facts}, template(gpus=1, gpu={"selectors": [mine]})).problems
    assert problem.startswith(
        f"n1: rdma_claims_templates[0].gpu.selectors[0] is '{mine}', which fails on gpu-0 of n1 ("
    )
    assert problem.endswith('first test whether it exists ("ifName" in device.attributes["dra.net"] && ...)')
