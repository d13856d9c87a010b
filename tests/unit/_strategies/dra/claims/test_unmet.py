# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Claims of a fleet some of whose nodes publish nothing that meets them, or are not known at all."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import planner
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import (
    VERSIONS,
    Facts,
    published,
    template,
)
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices


def of_node(facts: dict[str, Any], node: str, gpu: str = VERSIONS["rdma_driver_gpu_version"]) -> list[SliceDevice]:
    """What the drivers of a node with these facts publish; ``gpu`` is the version of that of its GPUs."""
    return [replace(device, node=node, pool=node) for device in published(facts, gpu)]


def test_a_host_that_publishes_is_known_without_facts(facts_of: Facts) -> None:
    slices = resource_slices(of_node(facts_of("v100-01"), "n2"))
    own = {**VERSIONS, "rdma_claims_templates": [template(nics=1)]}
    assert planner.plan([InventoryHost("n2", "group", own)], slices).unknown == []
    # Without claims there is no object that a host could need.
    assert planner.plan([InventoryHost("n3", "group", VERSIONS)], slices).unknown == []


@pytest.mark.parametrize(("entry", "counted"), [({"nics": 1}, True), ({"nics": "all"}, True), ({"gpus": 1}, False)])
def test_nics_that_nobody_has_checked_are_not_counted_silently(
    facts_of: Facts, entry: dict[str, Any], counted: bool
) -> None:
    facts, own = facts_of("v100-01"), {**VERSIONS, "rdma_claims_templates": [template(**entry)]}
    known, silent = InventoryHost("n1", "group", own, read.facts(facts)), InventoryHost("n2", "group", own)
    slices = resource_slices([*of_node(facts, "n1"), *of_node(facts, "n2")])
    said = ["one: NICs counted as published, but not checked, on hosts without facts: n2"] if counted else []
    for hosts in ([known, silent], [silent]):
        found = planner.plan(hosts, slices)
        assert (found.problems, found.warnings) == ([], said)
    assert planner.plan([known, replace(silent, facts=known.facts)], slices).warnings == []


def in_a_pod(facts: dict[str, Any], address: str) -> dict[str, Any]:
    """Facts of a node in mode exclusive, while a pod has the NIC at this address: its RDMA device is away."""
    there = [hca for hca in facts["hcas"] if not hca["pci"] or hca["pci"]["address"] != address]
    return {**facts, "hcas": there, "system": {**facts["system"], "netns_mode": "exclusive"}}


@pytest.mark.parametrize("alone", [True, False])
def test_claims_do_not_change_while_pods_have_nics_whose_rate_matters(facts_of: Facts, alone: bool) -> None:
    facts, own = facts_of("v100-01"), {**VERSIONS, "rdma_claims_templates": [template(nics=1, nic={"min_rate": 50})]}
    first, second = (hca["pci"]["address"] for hca in facts["hcas"])
    idle = InventoryHost("n1", "group", own, read.facts(facts))
    names = ["n1"] if alone else ["n1", "n2"]
    slices = resource_slices([device for name in names for device in of_node(facts, name)])
    before = planner.plan([replace(idle, name=name) for name in names], slices)
    assert (before.problems, before.warnings) == ([], [])
    busy = replace(idle, name=names[-1], facts=read.facts(in_a_pod(facts, first)))
    gone = replace(busy, facts=read.facts(in_a_pod(in_a_pod(facts, first), second)))
    silent = replace(busy, facts=None)
    for host in (busy, gone, silent):
        found = planner.plan([idle, host][-len(names) :], slices)
        assert (found.problems, found.objects, found.text) == ([], before.objects, before.text)
        warning = f"one: NICs whose rate or link layer is unknown count as matching: {names[-1]}: {first} ("
        assert warning in found.warnings[0]
        assert (second in found.warnings[0]) == (host is not busy)


@pytest.mark.parametrize("version", ["0.4.1", "0.5.0"])
@pytest.mark.parametrize("wanted", [{}, {"align": "numa"}, {"nic": {"link_layer": "InfiniBand"}}])
def test_claims_do_not_change_with_a_host_that_has_no_facts(
    facts_of: Facts, wanted: dict[str, Any], version: str
) -> None:
    # Its drivers do not publish the link layers of NICs without netdevs, and the older one no NUMA nodes of GPUs.
    facts, own = facts_of("h100-01"), {**VERSIONS, "rdma_claims_templates": [template(gpus=1, nics=1, **wanted)]}
    hosts = [InventoryHost(name, "group", own, read.facts(facts)) for name in ("n1", "n2")]
    slices = resource_slices([*of_node(facts, "n1", version), *of_node(facts, "n2", version)])
    before = planner.plan(hosts, slices)
    assert before.names == {"one": ["one-numa0", "one-numa1"]}
    found = planner.plan([hosts[0], replace(hosts[1], facts=None)], slices)
    assert (found.problems, found.objects) == ([], before.objects)
    told = [warning for warning in found.warnings if "its link layer is unknown" in warning]
    assert len(told) == bool(wanted.get("nic"))
    # Where the GPUs of a node are that is not like the others, only the driver can tell.
    other = resource_slices([*of_node(facts, "n1", version), *of_node(facts_of("h100-03"), "n2", version)])
    found = planner.plan([hosts[0], replace(hosts[1], facts=None)], other)
    unknown = "the GPU driver publishes no NUMA node, and the facts do not have it" in f"{found.problems} {found.text}"
    assert unknown == (version == "0.4.1")
    assert (found.names == before.names) == (version == "0.5.0")


def test_a_nic_whose_rate_nobody_knows_is_what_the_same_one_of_another_node_is(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("v100-01"))
    slow, fast = (hca["pci"]["address"] for hca in facts["hcas"])
    facts["hcas"][0]["ports"][0]["rate_gbps"] = 10
    own = {**VERSIONS, "rdma_claims_templates": [template(nics=1, nic={"min_rate": 50})]}
    hosts = [InventoryHost(name, "group", own, read.facts(facts)) for name in ("n1", "n2")]
    slices = resource_slices([*of_node(facts, "n1"), *of_node(facts, "n2")])
    before = planner.plan(hosts, slices)
    assert f'pciAddress == "{fast}"' in str(before.objects)
    for away in (slow, fast):
        busy = [hosts[0], replace(hosts[1], facts=read.facts(in_a_pod(facts, away)))]
        found = planner.plan(busy, slices)
        assert (found.problems, found.objects) == ([], before.objects)
        assert bool(found.warnings) == (away == fast)


@pytest.mark.parametrize("named", [{}, {"host": "n2"}, {"rail": 0}, {"hca": "mlx5_0"}, {"pci": "0000:66:00.0"}])
def test_a_single_claim_needs_the_facts_of_its_host(facts_of: Facts, named: dict[str, Any]) -> None:
    # The node has one NIC that is published and usable.
    host = InventoryHost("n2", "group", {**VERSIONS, "rdma_claims_claims": [{"name": "one", **named}]})
    for slices in ([], resource_slices(of_node(facts_of("lab-01"), "n2"))):
        assert planner.plan([host], slices).problems == [
            "n2: rdma_claims_claims[0] is for a NIC of n2, which has no facts: gather them first (role rdma_discover)"
        ]


def groups(facts_of: Facts, **of_lab: Any) -> list[InventoryHost]:
    """Two groups with claims of their own."""
    wanted = {
        "v100-01": [template("v100", gpus=1, nics=1)],
        "v100-02": [template("v100", gpus=1, nics=1)],
        "lab-01": [template("lab", nics=1, **of_lab)],
    }
    return [
        InventoryHost(name, name[:3], {**VERSIONS, "rdma_claims_templates": templates}, read.facts(facts_of(name)))
        for name, templates in wanted.items()
    ]


def test_nodes_that_publish_no_nic_do_not_keep_others_from_their_claims(facts_of: Facts) -> None:
    hosts, slices = groups(facts_of), {}
    for host in hosts:
        devices = of_node(facts_of(host.name), host.name)
        # One GPU fewer, so that it can be told from the facts.
        slices[host.name] = [one for one in devices if one.is_rdma_nic or one.name != "gpu-0"]
    lacking = [SliceDevice("dra.net", "lab-01", "eno1", "lab-01", {"dra.net/rdma": False})]
    every = resource_slices([*slices["v100-01"], *slices["v100-02"], *lacking])
    (problem,) = planner.plan(hosts, every).problems
    found = planner.plan(hosts, every, tolerant=True)
    assert found.problems == []
    assert found.unmet == {"lab-01": [problem]}
    assert "lab-01: rdma_claims_templates[0] (lab) cannot be satisfied on any node. lab-01: 0 matching NICs" in problem
    # By the facts where nothing else is to be had, and by what is published everywhere else.
    assert found.objects == planner.plan(hosts, resource_slices([*slices["v100-01"], *slices["v100-02"]])).objects
    assert "gpu matches 3 of 3 GPUs on each of 2 nodes" in found.text
    assert "nic matches 1 of 1 NICs on lab-01" in found.text


@pytest.mark.parametrize(
    ("of_lab", "problem"),
    [
        # The facts do not allow it either.
        ({"nic": {"min_rate": 800}}, "cannot be satisfied: no NIC matches the request"),
        # It is right by the facts, and would end every allocation in an error.
        ({"nic": {"selectors": ['device.attributes["dra.net"].ifName == "ens1np0"']}}, "which fails on eno1 of lab-01"),
    ],
)
def test_what_is_wrong_with_the_claims_themselves_stops_all(
    facts_of: Facts, of_lab: dict[str, Any], problem: str
) -> None:
    hosts = groups(facts_of, **of_lab)
    nic = SliceDevice("dra.net", "lab-01", "eno1", "lab-01", {"dra.net/rdma": True})
    found = planner.plan(hosts, resource_slices([nic]), tolerant=True)
    assert (found.objects, found.unmet) == ([], {})
    assert any(problem in line for line in found.problems)


def test_facts_that_may_hide_nics_prove_nothing(facts_of: Facts) -> None:
    known = facts_of("v100-01")
    exclusive = {**known, "system": {**known["system"], "netns_mode": "exclusive"}}
    own = {**VERSIONS, "rdma_claims_templates": [template(nics=3)]}
    slices = resource_slices(of_node(exclusive, "n1"))
    found = planner.plan([InventoryHost("n1", "group", own, read.facts(exclusive))], slices, tolerant=True)
    assert (len(found.problems), found.unmet) == (1, {})


def without_gpu_driver(facts: dict[str, Any], *places: int) -> dict[str, Any]:
    """Facts of a node whose kernel has no driver for these of its GPUs, or for none of them."""
    found = copy.deepcopy(facts)
    for place in places or range(len(found["gpus"])):
        found["gpus"][place].update(model=None, uuid=None)
    return found


OF_ITS_OWN = 'device.attributes["gpu.nvidia.com"].productName.startsWith("NVIDIA H100")'


@pytest.mark.parametrize("publishing", [["n1", "n2"], []])
@pytest.mark.parametrize("places", [[], [3]])
@pytest.mark.parametrize("wanted", [{}, {"gpu": {"selectors": [OF_ITS_OWN]}}, {"align": "none", "gpus": 8}])
def test_gpus_without_a_kernel_driver_keep_no_other_node_from_its_claims(
    facts_of: Facts, wanted: dict[str, Any], places: list[int], publishing: list[str]
) -> None:
    facts = facts_of("h100-01")
    own = {**VERSIONS, "rdma_claims_templates": [template(**{"gpus": 1, "nics": 1, **wanted})]}
    hosts = [InventoryHost(name, "group", own, read.facts(facts)) for name in ("n1", "n2", "n3")]
    slices = resource_slices([device for name in publishing for device in of_node(facts, name)])
    right = planner.plan(hosts, slices, tolerant=True)
    assert (right.problems, right.unmet) == ([], {})
    hosts[2] = replace(hosts[2], facts=read.facts(without_gpu_driver(facts, *places)))
    found = planner.plan(hosts, slices, tolerant=True)
    # As they will be when the driver is there.
    assert (found.objects, found.problems, found.warnings, found.text) == (right.objects, [], [], right.text)
    (told,) = found.unmet.pop("n3")
    assert found.unmet == {}
    assert told == (
        "n3: rdma_claims_templates[0] (one) cannot use the node's GPUs yet: gpu.nvidia.com does not publish them, so"
        " their product is not known (is their kernel driver loaded?)"
    )
    found = planner.plan(hosts, slices)
    assert (found.objects, found.problems, found.warnings, found.unmet) == (right.objects, [], [told], {})


def test_claims_without_gpus_do_not_ask_for_the_driver_of_gpus(facts_of: Facts) -> None:
    facts, own = facts_of("h100-01"), {**VERSIONS, "rdma_claims_templates": [template(nics=1)]}
    hosts = [InventoryHost("n1", "group", own, read.facts(without_gpu_driver(facts)))]
    found = planner.plan(hosts, tolerant=True)
    assert (found.problems, found.unmet) == ([], {})


def test_where_no_driver_tells_a_product_none_is_selected(facts_of: Facts) -> None:
    facts, own = facts_of("h100-01"), {**VERSIONS, "rdma_claims_templates": [template(gpus=1, nics=1)]}
    hosts = [InventoryHost("n1", "group", own, read.facts(without_gpu_driver(facts)))]
    found = planner.plan(hosts, tolerant=True)
    assert (found.problems, found.unmet) == ([], {})
    assert found.warnings == ["one: no node reports the product of its GPUs, so a pod may get one of another group"]


def test_gpus_that_nobody_publishes_are_not_offered_to_other_groups(facts_of: Facts) -> None:
    facts, own = facts_of("h100-01"), {**VERSIONS, "rdma_claims_templates": [template(gpus=1, nics=1)]}
    host = InventoryHost("n1", "group", own, read.facts(facts))
    for other, offered in ((facts, True), (without_gpu_driver(facts), False)):
        found = planner.plan([host, InventoryHost("n2", "others", VERSIONS, read.facts(other))], tolerant=True)
        assert (found.problems, found.unmet) == ([], {})
        assert ("also fits on n2 of other groups" in found.text) == offered
