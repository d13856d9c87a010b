# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Claim templates of recorded nodes and of real ResourceSlices: alignment, objects, limits."""

from __future__ import annotations

import copy
import re
from typing import Any, Iterator

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import hosts, objects, planner
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.planner import ClaimPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.scheduler import cel
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import (
    AWS,
    CASES,
    GB200,
    NUMA,
    ROOT,
    SLICES,
    VERSIONS,
    Facts,
    allocated,
    of_slices,
    plan,
    published,
    right,
    selectors,
    template,
)
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices


@pytest.mark.parametrize(("gpus", "nics", "groups"), [(8, 4, 4), (2, 1, 1), (4, 4, 4), (4, 2, 2)])
def test_auto_is_pcie_root_on_the_aws_node(gpus: int, nics: int, groups: int) -> None:
    found = of_slices(AWS, template(gpus=gpus, nics=nics))
    (spec,) = right(found)
    assert found.text.startswith("one (group), align=pcie_root: ")
    assert [one["matchAttribute"] for one in spec["constraints"]] == [ROOT] * groups
    devices = [one for one in model.devices(SLICES) if one.node == AWS]
    got = allocated(devices, spec)
    assert got is not None
    roots = {one.name: one.attributes[ROOT] for one in devices}
    for one in spec["constraints"]:
        assert len({roots[device] for name in one["requests"] for device in got[name]}) == 1


def test_auto_says_why_it_cannot_be_pcie_root_on_gb200() -> None:
    found = of_slices(GB200, template(gpus=4, nics=8))
    (spec,) = right(found)
    assert "constraints" not in spec
    assert "not pcie_root, 10.140.65.248: no GPU shares a PCIe root complex with a NIC" in found.text
    assert "GPUs on pci0008:00, pci0009:00, pci0018:00, pci0019:00" in found.text
    assert "not numa, the GPU driver publishes no NUMA node, and the facts do not have it" in found.text
    assert allocated([one for one in model.devices(SLICES) if one.node == GB200], spec) is not None


@pytest.mark.parametrize(("nodes", "wanted", "align", "names"), CASES)
def test_alignment_of_recorded_nodes(
    facts_of: Facts, nodes: list[str], wanted: dict[str, Any], align: str, names: list[str]
) -> None:
    facts = {name: facts_of(name) for name in nodes}
    found = plan(facts, template(**wanted))
    specs = right(found)
    assert found.text.startswith(f"one (group), align={align}: ")
    assert found.names == {"one": names}
    for of_node in facts.values():
        assert all(allocated(published(of_node), spec) is not None for spec in specs)


@pytest.mark.parametrize("align", ["numa", "unaligned"])
def test_numa_nodes_of_what_is_allocated(facts_of: Facts, align: str) -> None:
    facts = facts_of("h100-01")
    places = {gpu["pci"]["address"]: gpu["pci"]["numa_node"] for gpu in facts["gpus"]}
    devices = {one.name: one for one in published(facts)}
    for spec in right(plan({"n1": facts}, template(gpus=4, nics=4, align=align))):
        got = allocated(list(devices.values()), spec)
        assert got is not None
        gpus = {places[str(devices[name].pci)] for name in got["gpu"]}
        nics = {devices[name].attributes["dra.net/numaNode"] for name in got["nic"]}
        assert len(gpus) == len(nics) == 1
        assert (gpus == nics) == (align == "numa")


def test_a_gpu_address_that_is_on_two_numa_nodes_tells_nothing(facts_of: Facts) -> None:
    one, other = facts_of("h100-01"), copy.deepcopy(facts_of("h100-01"))
    for gpu in other["gpus"]:
        gpu["pci"]["numa_node"] = 1 - gpu["pci"]["numa_node"]
    facts, wanted = {"n1": one, "n2": other}, template(gpus=4, nics=4)
    found = plan(facts, wanted, rdma_driver_gpu_version="0.4.1")
    assert found.text.startswith("one (group), align=none: ")
    assert re.search("not numa, the GPU at 00.* is on NUMA node [01] of one node and [01] of another", found.text)
    # Where the driver publishes the NUMA node, no address is needed.
    assert plan(facts, wanted).names == {"one": ["one-numa0", "one-numa1"]}


@pytest.mark.parametrize(
    ("version", "selected"),
    [
        ("25.8.1", 'device.attributes["gpu.nvidia.com"].pcieBusID in ['),
        ("0.4.1", 'device.attributes["resource.kubernetes.io"].pciBusID in ['),
        ("0.5.0", 'device.attributes["resource.kubernetes.io"].numaNode == '),
    ],
)
def test_gpus_of_a_numa_node_by_version_of_their_driver(facts_of: Facts, version: str, selected: str) -> None:
    facts = facts_of("h100-01")
    specs = right(plan({"n1": facts}, template(gpus=4, nics=4), rdma_driver_gpu_version=version))
    assert len(specs) == 2
    devices = published(facts, version)
    places = {gpu["pci"]["address"]: gpu["pci"]["numa_node"] for gpu in facts["gpus"]}
    by_name = {one.name: str(one.pci) for one in devices}
    for number, spec in enumerate(specs):
        assert selected in selectors(spec["requests"][0]["exactly"])[1]
        got = allocated(devices, spec)
        assert got is not None
        assert [places[by_name[name]] for name in got["gpu"]] == [number] * 4


def test_numa_nodes_that_both_drivers_publish(facts_of: Facts) -> None:
    facts, wanted = {"n1": facts_of("h100-01")}, template(gpus=4, nics=4)
    (new,) = right(plan(facts, wanted, rdma_driver_gpu_version="0.5.0", rdma_driver_dranet_version="1.5.0"))
    assert new["constraints"] == [{"requests": ["gpu", "nic"], "matchAttribute": NUMA}]
    (pairs,) = right(
        plan(facts, template(gpus=8, nics=8), rdma_driver_gpu_version="0.5.0", rdma_driver_dranet_version="1.5.0")
    )
    assert [one["matchAttribute"] for one in pairs["constraints"]] == [NUMA] * 8


def test_what_the_driver_of_a_group_leaves_out_is_no_nic_of_its_claims(facts_of: Facts) -> None:
    facts = facts_of("case-b200")
    places = {hca["name"]: hca["pci"]["address"] for hca in facts["hcas"]}
    managing = {
        places[entry["hca"]]
        for entry in facts["excluded"]
        if "nvswitch_management" in {reason["code"] for reason in entry["reasons"]}
    }
    assert managing
    plain = copy.deepcopy(facts)
    plain["excluded"] = [entry for entry in facts["excluded"] if places[entry["hca"]] not in managing]
    several = [
        InventoryHost(name, group, VERSIONS, read.facts(own))
        for name, group, own in (("n1", "one", facts), ("n2", "one", plain), ("n3", "other", plain))
    ]
    members, problems = hosts.members(several, variables.options_of())
    assert problems == []
    nics = {name: {device.pci for device in node.nics} for name, node in hosts.nodes(members, []).items()}
    assert nics["n1"] == nics["n2"] == nics["n3"] - managing
    assert managing < nics["n3"]


def test_nodes_that_differ_are_told_and_not_averaged(facts_of: Facts) -> None:
    facts = {name: facts_of(name) for name in ("h100-01", "h100-02", "h100-03")}
    found = plan(facts, template(gpus=8, nics=8))
    assert "nic matches 8 of 8 NICs on each of 2 nodes; 4 of 4 on h100-03" in found.text
    assert found.warnings == ["one does not fit everywhere. h100-03: 4 matching NICs, 8 requested"]
    assert found.problems == []


def test_nodes_of_other_groups_that_fit_are_told(facts_of: Facts) -> None:
    def host(name: str, group: str, *templates: dict[str, Any]) -> InventoryHost:
        return InventoryHost(
            name, group, {**VERSIONS, "rdma_claims_templates": list(templates)}, read.facts(facts_of(name))
        )

    hosts = [host("v100-01", "v100", template("nic", nics=1), template("gpu", gpus=1, nics=1)), host("lab-01", "lab")]
    assert planner.plan(hosts).text.splitlines() == [
        "nic (v100), align=none: there is nothing to align",
        "  nic matches 2 of 2 NICs on v100-01",
        "  also fits on lab-01 of other groups: pods need a nodeSelector",
        "gpu (v100), align=pcie_root: 1 GPU and 1 NIC on one PCIe root complex",
        "  gpu matches 4 of 4 GPUs on v100-01",
        "  nic matches 2 of 2 NICs on v100-01",
    ]


def test_nothing_is_asked_of_hosts_that_ask_for_nothing() -> None:
    assert planner.plan([InventoryHost("n1")]) == ClaimPlan()


def test_nodes_without_facts_are_named(facts_of: Facts) -> None:
    found = plan({"n1": facts_of("v100-01"), "n2": None}, template(nics=1))
    assert found.warnings == [
        "one: not checked on hosts without facts: n2",
        "n2: these hosts have neither facts nor published devices, so claims that are no longer planned are kept",
    ]
    assert found.unknown == ["n2"]
    assert plan({"n2": None}, template(nics=1)).problems == [
        "n2: rdma_claims_templates[0] (one) cannot be checked without facts of its nodes: gather them first"
        " (role rdma_discover)"
    ]


def test_objects(facts_of: Facts) -> None:
    found = plan(
        {"n1": facts_of("lab-01")},
        template("nic", nics=1, mtu=9000, parameters={"ethtool": {"features": {"tx-checksumming": False}}}),
        rdma_claims_namespaces=["one", "two"],
    )
    assert found.problems == []
    nic_class, *templates = found.objects
    assert nic_class["kind"] == "DeviceClass"
    assert nic_class["spec"] == {
        "selectors": [
            {"cel": {"expression": 'device.driver == "dra.net"'}},
            {
                "cel": {
                    "expression": '"rdma" in device.attributes["dra.net"] && device.attributes["dra.net"].rdma == true'
                }
            },
            {
                "cel": {
                    "expression": '!("virtual" in device.attributes["dra.net"])'
                    ' || device.attributes["dra.net"].virtual == false'
                }
            },
        ]
    }
    assert [one["metadata"] for one in templates] == [
        {"name": "nic", "namespace": "one"},
        {"name": "nic", "namespace": "two"},
    ]
    parameters = {"ethtool": {"features": {"tx-checksumming": False}}, "interface": {"mtu": 9000}}
    assert templates[0] == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "nic", "namespace": "one"},
        "spec": {
            "spec": {
                "devices": {
                    "requests": [
                        {
                            "name": "nic",
                            "exactly": {
                                "deviceClassName": "zerocopy-rdma-nic",
                                "selectors": [
                                    {
                                        "cel": {
                                            "expression": '!("state" in device.attributes["dra.net"])'
                                            ' || device.attributes["dra.net"].state == "up"'
                                        }
                                    }
                                ],
                                "allocationMode": "ExactCount",
                                "count": 1,
                            },
                        }
                    ],
                    "config": [{"requests": ["nic"], "opaque": {"driver": "dra.net", "parameters": parameters}}],
                }
            }
        },
    }


def test_alternatives_are_first_available_and_need_kubernetes_1_34(facts_of: Facts) -> None:
    pick = {"first_available": [{"min_memory": "80G"}, {"min_memory": "16G"}]}
    own = {**VERSIONS, "rdma_claims_templates": [template(gpus=2, nics=2, gpu=pick)]}
    hosts = [InventoryHost("n1", "group", own, read.facts(facts_of("v100-01")))]
    (spec,) = right(planner.plan(hosts, kubernetes=(1, 34)))
    assert [one["name"] for one in spec["requests"][0]["firstAvailable"]] == ["option-0", "option-1"]
    assert allocated(published(facts_of("v100-01")), spec) is not None
    (problem,) = planner.plan(hosts, kubernetes=(1, 33)).problems
    assert "needs Kubernetes 1.34: this is 1.33" in problem


def test_in_exclusive_netns_mode_nics_may_be_away_unseen(facts_of: Facts) -> None:
    """There a pod takes the RDMA device along, and a second run must not refuse what it applied in the first."""
    shared = copy.deepcopy(facts_of("v100-01"))
    exclusive = {**shared, "system": {**shared["system"], "netns_mode": "exclusive"}}
    assert "cannot be satisfied on any node" in plan({"n1": shared}, template(nics=3)).problems[0]
    found = plan({"n1": exclusive}, template(nics=3))
    assert right(found)
    assert "NICs in pods are not visible" in found.warnings[0]
    # What the cluster publishes is all there is.
    slices = resource_slices(published(exclusive))
    own = {**VERSIONS, "rdma_claims_templates": [template(nics=3)]}
    assert planner.plan([InventoryHost("n", "group", own, read.facts(exclusive))], slices).problems


@pytest.mark.parametrize("align", ["auto", "numa", "unaligned"])
def test_what_depends_on_nics_that_pods_have_stays_as_it_is(facts_of: Facts, align: str) -> None:
    """Otherwise, a run on nodes that are in use would replace templates by those that keep nothing together."""
    facts = copy.deepcopy(facts_of("v100-01"))
    own = {**VERSIONS, "rdma_claims_templates": [template(gpus=2, nics=1, align=align), template("nics", nics=1)]}
    before = planner.plan([InventoryHost("n1", "group", own, read.facts(facts))])
    assert right(before)
    assert before.unknown == []
    for away in facts["hcas"]:
        away["pci"] = None
    reason = {"code": "in_pod", "text": "netdev ens1 is in another network namespace (a pod's)"}
    facts["excluded"] = [{"hca": away["name"], "port": 1, "reasons": [reason]} for away in facts["hcas"]]
    found = planner.plan([InventoryHost("n1", "group", own, read.facts(facts))], resource_slices(published(facts)))
    assert found.problems == []
    made = [item["metadata"]["name"] for item in found.objects if item["kind"] == "ResourceClaimTemplate"]
    assert made == ["nics"]
    assert found.unknown == ["n1"]
    kept = [text for text in found.warnings if "its objects stay as they are" in text]
    assert len(kept) == 1
    assert found.names["nics"] == ["nics"]
    assert found.names.keys() == before.names.keys()


def test_of_soft_roce_in_a_pod_the_pci_function_is_unknown(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("v100-01"))
    away = facts["hcas"][0]
    away["pci"] = None
    reason = {"code": "in_pod", "text": "netdev ens1 is in another network namespace (a pod's)"}
    facts["excluded"] = [{"hca": away["name"], "port": 1, "reasons": [reason]}]
    before = plan({"n1": facts_of("v100-01")}, template(nics=2))
    own = {**VERSIONS, "rdma_claims_templates": [template(nics=2)]}
    for slices in ([], resource_slices(published(facts))):
        found = planner.plan([InventoryHost("n1", "group", own, read.facts(facts))], slices)
        assert right(found) == right(before)
        assert "Soft-RoCE" in found.warnings[0]


def test_work_does_not_grow_with_the_number_of_equal_nodes(facts_of: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated: list[str] = []
    real = cel.matches

    def counted(expression: str, device: SliceDevice) -> bool:
        evaluated.append(expression)
        return real(expression, device)

    monkeypatch.setattr(cel, "matches", counted)
    counts = []
    for number in (1, 50):
        evaluated.clear()
        assert right(plan({f"n{one}": facts_of("h100-01") for one in range(number)}, template(gpus=4, nics=4)))
        counts.append(len(evaluated))
    assert counts[0] == counts[1] > 0


def specs_beyond() -> Iterator[tuple[dict[str, Any], str]]:
    def request(number: int, expressions: list[str]) -> dict[str, Any]:
        body = {"selectors": [{"cel": {"expression": one}} for one in expressions]}
        return {"name": f"r{number}", "firstAvailable": [{"name": "a", **body}]}

    yield {"requests": [request(number, []) for number in range(33)]}, "needs 33 requests"
    yield {"requests": [], "constraints": [{}] * 33}, "needs 33 constraints"
    yield {"requests": [request(0, ["true"] * 33)]}, "needs 33 selectors in request r0/a"
    yield {"requests": [request(0, ["x" * 10241])]}, "needs a selector of 10241 bytes in request r0/a"


@pytest.mark.parametrize(("devices", "why"), list(specs_beyond()))
def test_limits_of_the_api(devices: dict[str, Any], why: str) -> None:
    assert why in str(objects.beyond_limits({"devices": devices}))
