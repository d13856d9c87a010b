# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Planned claims on a real API server, allocated by the real scheduler on recorded nodes and real ResourceSlices."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from typing import Any, Callable, Dict, List, Sequence

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import dra_version
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import names
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import planner
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.planner import ClaimPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice
from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import (
    Fleet,
    Object,
    Placed,
    from_template,
    placed_on,
    pod,
)
from ansible_collections.zerocopy.rdma.tests.cluster.claims_paths import Paths
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import (
    AWS,
    CASES,
    GB200,
    ROOT,
    SLICES,
    VERSIONS,
    plan,
    published,
    template,
)

Facts = Callable[..., Dict[str, Any]]


def applied(fleet: Fleet, found: ClaimPlan) -> None:
    """Create the objects of a plan as they are."""
    assert found.problems == []
    fleet.create(found.objects)


def check(facts: Dict[str, Any], wanted: Dict[str, Any], align: str, placed: Placed) -> None:
    """That a claim got as many devices as the template wants, as near to each other as the plan says."""
    paths = Paths(facts, published(facts))
    names = [name for devices in placed.devices.values() for name in devices]
    gpus = [name for name in names if name in paths.gpus]
    nics = [name for name in names if name in paths.nics]
    assert len(gpus) + len(nics) == len(set(names)) == len(names)
    assert (len(gpus), len(nics)) == (
        wanted.get("gpus", 0),
        len(paths.nics) if wanted["nics"] == "all" else wanted.get("nics", 0),
    )
    if align in ("pcie_root", "numa"):
        assert paths.served(gpus, nics) == len(gpus)
    if align == "unaligned":
        assert not {paths.numa_nodes[name] for name in gpus} & {paths.numa_nodes[name] for name in nics}


@pytest.mark.parametrize(("nodes", "wanted", "align", "names"), CASES)
def test_recorded_nodes(
    fleet: Fleet,
    facts_of: Facts,
    nodes: List[str],
    wanted: Dict[str, Any],
    align: str,
    names: List[str],
) -> None:
    """Every template is allocated on every node for which it was planned. Each pair has a node of its own."""
    facts = {node: facts_of(node) for node in nodes}
    applied(fleet, plan(facts, template(**wanted), rdma_claims_namespaces=[fleet.namespace]))
    pairs = {f"{fleet.namespace}-{node}-{name}": (node, name) for node in nodes for name in names}
    fleet.nodes([device for one, (node, _name) in pairs.items() for device in placed_on(published(facts[node]), one)])
    placed = fleet.pods([from_template(one, name, one) for one, (_node, name) in pairs.items()])
    for one, (node, name) in pairs.items():
        assert placed[one].node == one
        check(facts[node], {"nics": 0, **wanted}, align, placed[one])
        if "-numa" in name:
            numa_nodes = Paths(facts[node], published(facts[node])).numa_nodes
            assert {numa_nodes[gpu] for gpu in placed[one].devices["gpu"]} == {int(name[-1])}


def test_nodes_of_a_group_that_differ(fleet: Fleet, facts_of: Facts) -> None:
    """Pods get the nodes on which the plan says that a template fits; one too many has to wait."""
    facts = {name: facts_of(name) for name in ("h100-01", "h100-02", "h100-03")}
    found = plan(facts, template(gpus=8, nics=8), rdma_claims_namespaces=[fleet.namespace])
    assert found.warnings == ["one does not fit everywhere. h100-03: 4 matching NICs, 8 requested"]
    applied(fleet, found)
    fleet.nodes([device for name, one in facts.items() for device in placed_on(published(one), name)])
    placed = fleet.pods([from_template(f"p{number}", "one") for number in range(3)], waits=1)
    assert sorted(one.node for one in placed.values()) == ["", "h100-01", "h100-02"]


def test_a_claim_for_the_nic_of_a_host(fleet: Fleet, facts_of: Facts) -> None:
    facts = {name: facts_of(name) for name in ("lab-01", "lab-02")}
    claims = [
        {"name": name, "host": host, "rail": 0, "address": f"10.0.0.{number}/24", "mtu": 9000}
        for name, host, number in (("prefill", "lab-01", 1), ("decode", "lab-02", 2))
    ]
    own = {"rdma_links_subnet": "10.0.0.0/24", "rdma_claims_namespaces": [fleet.namespace]}
    applied(fleet, plan(facts, rdma_claims_claims=claims, **own))
    fleet.nodes([device for name, one in facts.items() for device in placed_on(published(one), name)])
    placed = fleet.pods([pod(name, {"resourceClaimName": name}) for name in ("decode", "prefill")])
    assert {name: (one.node, one.devices) for name, one in placed.items()} == {
        "prefill": ("lab-01", {"nic": ["pci-0000-66-00-0"]}),
        "decode": ("lab-02", {"nic": ["pci-0000-41-00-0"]}),
    }


def test_the_first_alternative_that_there_is(fleet: Fleet, facts_of: Facts) -> None:
    facts = facts_of("v100-01")
    pick = {"first_available": [{"min_memory": "80G"}, {"min_memory": "16G"}]}
    applied(fleet, plan({"n1": facts}, template(gpus=2, nics=2, gpu=pick), rdma_claims_namespaces=[fleet.namespace]))
    fleet.nodes(placed_on(published(facts), "n1"))
    placed = fleet.pods([from_template("p", "one")])["p"]
    check(facts, {"gpus": 2, "nics": 2}, "pcie_root", placed)


REAL = [
    (AWS, {"gpus": 8, "nics": 4}, "pcie_root"),
    (AWS, {"gpus": 2, "nics": 1}, "pcie_root"),
    (AWS, {"gpus": 4, "nics": 4}, "pcie_root"),
    (AWS, {"nics": "all"}, "none"),
    (GB200, {"gpus": 4, "nics": 8}, "none"),
    (GB200, {"gpus": 1, "nics": 2}, "none"),
]


@pytest.mark.parametrize(("node", "wanted", "align"), REAL)
def test_real_slices(fleet: Fleet, node: str, wanted: Dict[str, Any], align: str) -> None:
    """Slices as drivers published them in real clusters. With them, GPUs and NICs beside each other mean one root."""
    own = {**VERSIONS, "rdma_claims_templates": [template(**wanted)], "rdma_claims_namespaces": [fleet.namespace]}
    found = planner.plan([InventoryHost(node, "group", own)], SLICES)
    assert found.text.startswith(f"one (group), align={align}: ")
    applied(fleet, found)
    devices = {one.name: one for one in model.devices(SLICES) if one.node == node}
    fleet.nodes(list(devices.values()))
    placed = fleet.pods([from_template("p", "one")])["p"]
    assert placed.node == node
    got = [devices[name] for names in placed.devices.values() for name in names]
    assert len([one for one in got if one.is_gpu]) == wanted.get("gpus", 0)
    nics = [one for one in got if one.is_rdma_nic]
    every = [one for one in devices.values() if one.is_rdma_nic]
    assert len(nics) == (len(every) if wanted["nics"] == "all" else wanted["nics"])
    if align == "pcie_root":
        assert {one.attributes[ROOT] for one in got if one.is_gpu} == {one.attributes[ROOT] for one in nics}


@pytest.mark.parametrize("api", ["v1beta2", "v1beta1"])
def test_older_versions_of_the_api_take_what_is_planned(
    start_control_plane: Callable[[str], Any],
    facts_of: Facts,
    api: str,
) -> None:
    """Validated by the API server, strictly. No scheduler of this release allocates claims of these versions."""
    plane = start_control_plane(api)
    objects: List[Object] = []
    cases: List[Any] = CASES
    for number, (nodes, wanted, _align, _names) in enumerate(cases):
        found = plan({name: facts_of(name) for name in nodes}, template(f"case-{number}", **wanted))
        assert found.problems == []
        objects += found.objects[1 if number else 0 :]
    claim = {"name": "prefill", "host": "lab-01", "rail": 0, "address": "10.0.0.1/24"}
    objects += plan({"lab-01": facts_of("lab-01")}, rdma_claims_claims=[claim]).objects[1:]
    items = [dra_version.converted(one, api) for one in objects]
    assert {one["apiVersion"] for one in items} == {f"resource.k8s.io/{api}"}
    command = [str(plane.kubectl), "--kubeconfig", str(plane.kubeconfig), "create", "--dry-run=server"]
    done = subprocess.run(
        [*command, "--validate=strict", "-f", "-", "-o", "name"],
        input=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == len(items)


def in_rails(devices: List[SliceDevice], rails: Sequence[int]) -> List[SliceDevice]:
    """The devices of a node, whose NICs DRANET publishes with these rails, one after another."""
    given = iter(rails)
    return [
        replace(one, attributes={**one.attributes, names.RAIL: next(given)}) if one.is_rdma_nic else one
        for one in devices
    ]


def test_by_rail_a_pod_gets_that_nic_or_waits(fleet: Fleet, facts_of: Facts) -> None:
    """Rail 7 is planned on both nodes; one publishes it under another NIC, the other one not at all."""
    facts = facts_of("h100-01")
    own = {"rdma_driver_attributes": True, "rdma_links_rails": 8, "rdma_links_mtu": 2044}
    templates = [template("pair", rails=[2, 7]), template("seventh", gpus=1, rails=[7])]
    applied(fleet, plan({"n1": facts, "n2": facts}, *templates, rdma_claims_namespaces=[fleet.namespace], **own))
    every = published(facts)
    fleet.nodes(
        [
            *placed_on(in_rails(every, (7, 6, 5, 4, 3, 2, 1, 0)), "n1"),
            *placed_on(in_rails(every, (0, 1, 2, 3, 4, 5, 6, 6)), "n2"),
        ]
    )
    nics = [one.name for one in every if one.is_rdma_nic]
    first = fleet.pods([from_template("a", "pair")])["a"]
    assert (first.node, first.devices) == ("n1", {"nic-rail2": [nics[5]], "nic-rail7": [nics[0]]})
    waiting = fleet.pods([from_template("b", "seventh"), from_template("c", "pair", "n2")], waits=2)
    assert {one.node for one in waiting.values()} == {""}
