# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Claims of recorded nodes and of real ResourceSlices: alignment, selectors, objects, addresses."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.filter.claims import claims as claims_filter
from ansible_collections.zerocopy.rdma.plugins.module_utils._planning import (
    _allocate,
    _cel,
    _claims,
    _claims_objects,
    _claims_selectors,
    _claims_versions,
    _slices,
    _slices_predict,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._planning._claims_hosts import Host
from ansible_collections.zerocopy.rdma.plugins.module_utils._planning._slices import Device

Facts = Callable[..., dict[str, Any]]
VERSIONS = {"rdma_driver_dranet_version": "1.4.0", "rdma_driver_gpu_version": "0.4.1"}
AWS, GB200 = "ip-192-168-153-160.ec2.internal", "10.140.65.248"
SLICES = [
    yaml.safe_load(path.read_text("utf-8"))
    for path in (Path(__file__).resolve().parents[1] / "fixtures" / "resourceslices").glob("*.yaml")
]
NUMA, ROOT = "resource.kubernetes.io/numaNode", "resource.kubernetes.io/pcieRoot"


def template(name: str = "one", **wanted: Any) -> dict[str, Any]:
    return {"name": name, **wanted}


def plan(facts: dict[str, Any], *templates: dict[str, Any], **variables: Any) -> _claims.Plan:
    """The plan of hosts with these facts, all with the same templates."""
    own = {**VERSIONS, "rdma_claims_templates": list(templates), **variables}
    return _claims.plan([Host(name, "group", own, of_host) for name, of_host in facts.items()])


def right(found: _claims.Plan) -> list[dict[str, Any]]:
    """The specs of the claims of a plan without problems."""
    assert found.problems == []
    return [
        one["spec"].get("spec", one["spec"])["devices"]
        for one in found.objects
        if one["kind"] in ("ResourceClaimTemplate", "ResourceClaim")
    ]


def selectors(body: dict[str, Any]) -> list[str]:
    return [one["cel"]["expression"] for one in body.get("selectors", [])]


def alternatives(request: dict[str, Any]) -> list[dict[str, Any]]:
    return [request["exactly"]] if "exactly" in request else request["firstAvailable"]


def allocated(devices: list[Device], spec: dict[str, Any]) -> dict[str, list[str]] | None:
    """What the allocator gives a claim, worked out from the objects alone."""
    classes = {"gpu.nvidia.com": _claims_selectors.GPU_CLASS, "zerocopy-rdma-nic": _claims_selectors.NIC_CLASS}

    def matching(body: dict[str, Any]) -> frozenset[int]:
        every = [*classes[body["deviceClassName"]], *selectors(body)]
        return frozenset(
            place for place, one in enumerate(devices) if all(_cel.matches(expression, one) for expression in every)
        )

    requests = [
        _allocate.Request(
            one["name"], tuple(_allocate.Alternative(matching(body), body.get("count")) for body in alternatives(one))
        )
        for one in spec["requests"]
    ]
    constraints = [
        _allocate.Constraint(frozenset(one["requests"]), one["matchAttribute"]) for one in spec.get("constraints", [])
    ]
    found = _allocate.allocate(devices, requests, constraints)
    if found is None:
        return None
    return {name: [devices[place].name for place in places] for name, places in found.items()}


def published(facts: dict[str, Any]) -> list[Device]:
    return _slices_predict.predicted("n", facts, _claims_versions.dranet("1.4.0"), _claims_versions.gpu("0.4.1"))


def of_slices(node: str, *templates: dict[str, Any]) -> _claims.Plan:
    return _claims.plan([Host(node, "group", {**VERSIONS, "rdma_claims_templates": list(templates)})], SLICES)


@pytest.mark.parametrize(("gpus", "nics", "groups"), [(8, 4, 4), (2, 1, 1), (4, 4, 4), (4, 2, 2)])
def test_auto_is_pcie_root_on_the_aws_node(gpus: int, nics: int, groups: int) -> None:
    found = of_slices(AWS, template(gpus=gpus, nics=nics))
    (spec,) = right(found)
    assert found.text.startswith("one (group), pcie_root: ")
    assert [one["matchAttribute"] for one in spec["constraints"]] == [ROOT] * groups
    devices = [one for one in _slices.devices(SLICES) if one.node == AWS]
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
    assert "not numa, the GPU driver publishes no NUMA node, and no facts tell it" in found.text
    assert allocated([one for one in _slices.devices(SLICES) if one.node == GB200], spec) is not None


CASES = [
    (["v100-01", "v100-02"], {"gpus": 2, "nics": 2}, "pcie_root", ["one"]),
    (["a100-01", "a100-02"], {"gpus": 4, "nics": 1}, "pcie_root", ["one"]),
    (["a100-01", "a100-02"], {"gpus": 8, "nics": 1}, "none", ["one"]),
    (["h100-01", "h100-02"], {"gpus": 4, "nics": 4}, "numa", ["one-numa0", "one-numa1"]),
    (["h100-01", "h100-02"], {"gpus": 8, "nics": 8}, "numa", ["one"]),
    (["h100-01", "h100-02"], {"gpus": 4, "nics": 4, "align": "unaligned"}, "unaligned", ["one-numa0", "one-numa1"]),
    (["h100-01", "h100-02"], {"gpus": 5, "nics": 1}, "none", ["one"]),
    (["h100-03"], {"gpus": 4, "nics": 4}, "pcie_root", ["one"]),
    (["h100-03"], {"gpus": 8, "nics": 4}, "pcie_root", ["one"]),
    # One template for nodes whose trees differ is what all of them allow.
    (["h100-01", "h100-03"], {"gpus": 1, "nics": 1}, "numa", ["one-numa0", "one-numa1"]),
    (["lab-01", "lab-02"], {"gpus": 1, "nics": 1}, "none", ["one"]),
    (["case-amd"], {"nics": 8}, "none", ["one"]),
    (["h100-01"], {"gpus": 8}, "none", ["one"]),
    (["v100-01"], {"nics": "all"}, "none", ["one"]),
]


@pytest.mark.parametrize(("nodes", "wanted", "align", "names"), CASES)
def test_alignment_of_recorded_nodes(
    facts_of: Facts, nodes: list[str], wanted: dict[str, Any], align: str, names: list[str]
) -> None:
    facts = {name: facts_of(name) for name in nodes}
    found = plan(facts, template(**wanted))
    specs = right(found)
    assert found.text.startswith(f"one (group), {align}: ")
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
    found = plan({"n1": one, "n2": other}, template(gpus=4, nics=4))
    assert found.text.startswith("one (group), none: ")
    assert re.search("not numa, the GPU at 00.* is on NUMA node [01] of one node and [01] of another", found.text)


def test_numa_by_version_of_the_drivers(facts_of: Facts) -> None:
    facts, wanted = {"n1": facts_of("h100-01")}, template(gpus=4, nics=4)
    old = right(plan(facts, wanted, rdma_driver_gpu_version="25.8.1"))
    assert all(
        'device.attributes["gpu.nvidia.com"].pcieBusID in [' in selectors(one["requests"][0]["exactly"])[1]
        for one in old
    )
    (new,) = right(plan(facts, wanted, rdma_driver_gpu_version="0.5.0", rdma_driver_dranet_version="1.5.0"))
    assert new["constraints"] == [{"requests": ["gpu", "nic"], "matchAttribute": NUMA}]
    (pairs,) = right(
        plan(facts, template(gpus=8, nics=8), rdma_driver_gpu_version="0.5.0", rdma_driver_dranet_version="1.5.0")
    )
    assert [one["matchAttribute"] for one in pairs["constraints"]] == [NUMA] * 8


def test_nodes_that_differ_are_told_and_not_averaged(facts_of: Facts) -> None:
    facts = {name: facts_of(name) for name in ("h100-01", "h100-02", "h100-03")}
    found = plan(facts, template(gpus=8, nics=8))
    assert "nic matches 8 of 8 NICs on each of 2 nodes; 4 of 4 on h100-03" in found.text
    assert found.warnings == ["one does not fit everywhere. h100-03: 4 NICs of this kind, 8 are asked for"]
    assert found.problems == []


def test_nodes_of_other_groups_that_fit_are_told(facts_of: Facts) -> None:
    def host(name: str, group: str, *templates: dict[str, Any]) -> Host:
        return Host(name, group, {**VERSIONS, "rdma_claims_templates": list(templates)}, facts_of(name))

    hosts = [host("v100-01", "v100", template("nic", nics=1), template("gpu", gpus=1, nics=1)), host("lab-01", "lab")]
    assert _claims.plan(hosts).text.splitlines() == [
        "nic (v100), none: there is nothing to align",
        "  nic matches 2 of 2 NICs on v100-01",
        "  also fits on lab-01 of other groups: pods need a nodeSelector",
        "gpu (v100), pcie_root: 1 GPU and 1 NIC on one PCIe root complex",
        "  gpu matches 4 of 4 GPUs on v100-01",
        "  nic matches 2 of 2 NICs on v100-01",
    ]


def test_nothing_is_asked_of_hosts_that_ask_for_nothing() -> None:
    assert _claims.plan([Host("n1")]) == _claims.Plan()


def test_nodes_without_facts_are_named(facts_of: Facts) -> None:
    found = plan({"n1": facts_of("v100-01"), "n2": None}, template(nics=1))
    assert found.warnings == ["one: not looked at, there are no facts: n2"]
    assert plan({"n2": None}, template(nics=1)).problems == [
        "n2: rdma_claims_templates[0] (one) cannot be checked, nothing is known of any of its nodes:"
        " run rdma_discover first"
    ]


def test_the_group_s_own_products_are_selected_unless_told_otherwise(facts_of: Facts) -> None:
    facts = {"n1": facts_of("v100-01")}
    product = 'device.attributes["gpu.nvidia.com"].productName == "Tesla V100-SXM2-16GB"'
    for pick in ({}, {"product": "v100"}, {"product": "Tesla V100-SXM2-16GB"}):
        (spec,) = right(plan(facts, template(gpus=1, gpu=pick)))
        assert selectors(spec["requests"][0]["exactly"]) == [product]


STATE = '!("state" in device.attributes["dra.net"]) || device.attributes["dra.net"].state == "up"'


def test_a_nic_without_cable_is_told_by_its_state(facts_of: Facts) -> None:
    (spec,) = right(plan({name: facts_of(name) for name in ("a100-01", "a100-02")}, template(nics=1)))
    assert selectors(spec["requests"][0]["exactly"]) == [STATE]


def test_without_a_state_a_nic_without_cable_is_a_warning(facts_of: Facts) -> None:
    found = plan({"n1": facts_of("a100-01")}, template(nics=1), rdma_driver_move_ib_interfaces=False)
    assert right(found)
    address = next(hca["pci"]["address"] for hca in facts_of("a100-01")["hcas"] if hca["name"] == "mlx5_0")
    (warning,) = found.warnings
    assert warning.startswith(f"one: a pod may get a NIC without a link: n1: {address} (mlx5_0/1: port state is DOWN")


def test_vfs_and_their_physical_function_are_told_apart_by_address(facts_of: Facts) -> None:
    facts = facts_of("case-vf")
    address = {hca["name"]: hca["pci"]["address"] for hca in facts["hcas"]}
    for vf, hca in ((False, "mlx5_0"), (True, "mlx5_1")):
        (spec,) = right(plan({"n1": facts}, template(nics=1, nic={"vf": vf})))
        assert allocated(published(facts), spec) == {"nic": ["pci-" + address[hca].replace(":", "-").replace(".", "-")]}


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
    assert "nothing that is published tells these NICs from those that are meant" in problem
    assert "driver irdma is not one of mlx5_core" in problem
    # The way out.
    excluded = {
        name: next(hca["pci"]["address"] for hca in one["hcas"] if hca["name"] == name) for name in ("mlx5_0", "mlx5_1")
    }
    hosts = [
        Host(
            name, "group", {"rdma_driver_exclude": [excluded[hca]], "rdma_claims_templates": [template(nics=1)]}, facts
        )
        for name, hca, facts in (("n1", "mlx5_0", one), ("n2", "mlx5_1", other))
    ]
    (spec,) = right(_claims.plan(hosts))
    assert "selectors" not in spec["requests"][0]["exactly"]


def without_netdevs(devices: list[Device]) -> list[Device]:
    """Devices while all NICs are in pods."""
    kept = ("dra.net/pciAddress", "dra.net/numaNode", "dra.net/rdma", ROOT)
    return [
        one
        if one.is_gpu
        else Device(
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
    hosts = [Host("n1", "group", own, facts_of("v100-01"))]
    (spec,) = right(_claims.plan(hosts, kubernetes=(1, 34)))
    assert [one["name"] for one in spec["requests"][0]["firstAvailable"]] == ["option-0", "option-1"]
    assert allocated(published(facts_of("v100-01")), spec) is not None
    (problem,) = _claims.plan(hosts, kubernetes=(1, 33)).problems
    assert "needs Kubernetes 1.34: this is 1.33" in problem


def test_a_selector_that_cannot_be_evaluated_is_said_to_be_so(facts_of: Facts) -> None:
    odd = "sets.contains([1], [1])"
    found = plan({"n1": facts_of("v100-01")}, template(nics=1, nic={"selectors": [odd]}))
    (spec,) = right(found)
    assert selectors(spec["requests"][0]["exactly"]) == [odd]
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
    assert found.warnings == ["one does not fit everywhere. h100-01: 0 GPUs of this kind, 1 are asked for"]


def test_in_exclusive_netns_mode_nics_may_be_away_unseen(facts_of: Facts) -> None:
    """There a pod takes the RDMA device along, and a second run must not refuse what it applied in the first."""
    shared = copy.deepcopy(facts_of("v100-01"))
    exclusive = {**shared, "system": {**shared["system"], "netns_mode": "exclusive"}}
    assert "can be satisfied on no node" in plan({"n1": shared}, template(nics=3)).problems[0]
    found = plan({"n1": exclusive}, template(nics=3))
    assert right(found)
    assert "a NIC in a pod is in no facts" in found.warnings[0]
    # What the cluster publishes is all there is.
    slices = _slices.resource_slices(published(exclusive))
    own = {**VERSIONS, "rdma_claims_templates": [template(nics=3)]}
    assert _claims.plan([Host("n", "group", own, exclusive)], slices).problems


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


def test_the_filter(facts_of: Facts) -> None:
    hostvars = {
        name: {
            **VERSIONS,
            "group_names": ["v100"],
            "ansible_facts": {"rdma": facts_of(name)},
            "rdma_claims_templates": [template("v100", gpus=1, nics=1)],
        }
        for name in ("v100-01", "v100-02")
    }
    found = claims_filter({}, list(hostvars), hostvars, kubernetes="v1.36.3")
    assert sorted(found) == ["names", "objects", "problems", "text", "warnings"]
    assert found["problems"] == []
    assert found["text"].splitlines()[0] == "v100 (v100), pcie_root: 1 GPU and 1 NIC on one PCIe root complex"
    # What the cluster really publishes counts more than what is expected of it.
    nothing = _slices.resource_slices(Device("dra.net", name, "eth9", name) for name in hostvars)
    (problem,) = claims_filter({}, list(hostvars), hostvars, slices=nothing)["problems"]
    assert "can be satisfied on no node. v100-[01-02]: 0 NICs of this kind, 1 are asked for" in problem


def test_work_does_not_grow_with_the_number_of_equal_nodes(facts_of: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated: list[str] = []
    real = _cel.matches

    def counted(expression: str, device: Device) -> bool:
        evaluated.append(expression)
        return real(expression, device)

    monkeypatch.setattr(_cel, "matches", counted)
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
    assert why in str(_claims_objects.beyond_limits({"devices": devices}))
