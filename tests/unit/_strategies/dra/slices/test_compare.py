# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Published devices against what the facts of recorded nodes say, with each reason for a difference."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra import expected_devices
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import compare as slices_compare
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.compare import (
    Expected,
    NodeDifferences,
    NodeSeen,
    compare,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice, Value
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import VERSIONS, Facts, template

BOTH = NodeSeen(drivers=(model.DRANET, model.GPU_DRIVER))
RESTART = "if RDMA modules were loaded or the default route has moved since DRANET was started, restart it"


def expected(facts: dict[str, Any], **variables: Any) -> Expected:
    """What is expected of a node with these facts, after it was sent to the module."""
    own = {**VERSIONS, "rdma_claims_templates": [template(gpus=1, nics=1)], **variables}
    one = expected_devices.expected([InventoryHost("n", "group", own, read.facts(facts))])["n"]
    return slices_compare.read("n", json.loads(json.dumps(one)))


def texts(found: NodeDifferences) -> list[str]:
    return slices_compare.lines({"n": found})


def without(device: SliceDevice, *names: str) -> SliceDevice:
    return replace(device, attributes={name: value for name, value in device.attributes.items() if name not in names})


def having(device: SliceDevice, **attributes: Any) -> SliceDevice:
    """The device with other attributes of its driver."""
    changed = {f"{device.driver}/{name}": value for name, value in attributes.items()}
    return replace(device, attributes={**device.attributes, **changed})


def split(devices: list[SliceDevice]) -> tuple[list[SliceDevice], list[SliceDevice]]:
    return [one for one in devices if one.is_rdma_nic], [one for one in devices if one.is_gpu]


@pytest.mark.parametrize(
    "node", ["v100-01", "a100-01", "h100-03", "lab-01", "case-vf", "case-in-pod", "case-two-ports"]
)
def test_what_is_published_as_expected_is_no_difference(facts_of: Facts, node: str) -> None:
    wanted = expected(facts_of(node))
    found = compare(wanted, wanted.devices, BOTH)
    assert texts(found) == []
    assert {one.pci: one.reason for one in found.missing if one.intended} == wanted.left_out
    assert {one.code for one in found.missing} <= {"excluded"}


def test_more_than_facts_tell_is_no_difference(facts_of: Facts) -> None:
    wanted = expected(facts_of("v100-01"))
    published = [having(one, driverVersion=model.Version("580.1.2"), alias="rail") for one in wanted.devices]
    # NICs without RDMA, parts of GPUs, devices of other drivers.
    published += [
        SliceDevice("dra.net", "n", "eno1", "n", {"dra.net/rdma": False, "dra.net/pciAddress": "0000:01:00.0"}),
        SliceDevice(
            "gpu.nvidia.com",
            "n",
            "gpu-0-mig-1",
            "n",
            {**wanted.devices[-1].attributes, "gpu.nvidia.com/type": "mig"},
        ),
        SliceDevice("cpu.example.org", "n", "cpu-0", "n"),
    ]
    assert texts(compare(wanted, published, BOTH)) == []


def test_what_changes_by_itself_is_no_difference(facts_of: Facts) -> None:
    wanted = expected(facts_of("lab-01"))
    published = [having(one, state="down", mtu=1500, ipv4="10.0.0.9/24") for one in wanted.devices]
    assert texts(compare(wanted, published, BOTH)) == []
    with_list = [replace(one, attributes={**one.attributes, "dra.net/numaNode": (0,)}) for one in wanted.devices]
    assert texts(compare(wanted, with_list, BOTH)) == []


def test_a_nic_in_a_pod_is_no_difference(facts_of: Facts) -> None:
    wanted, away = expected(facts_of("lab-01")), expected(facts_of("case-in-pod"))
    nics, _gpus = split(wanted.devices)
    gone = [without(one, *(name for name in one.attributes if name not in slices_compare._LASTING)) for one in nics]
    assert "dra.net/ifName" in nics[0].attributes
    assert texts(compare(replace(wanted, devices=nics), gone, BOTH)) == []
    # The other way round it has come back since the facts were gathered.
    nics, _gpus = split(away.devices)
    assert nics[0].attributes["dra.net/rdmaDevice"] == "mlx5_0"
    back = [having(without(one, "dra.net/rdmaDevice"), ifName="ens1np0") for one in nics]
    assert texts(compare(replace(away, devices=nics), back, BOTH)) == []


def test_in_exclusive_netns_mode_a_nic_in_a_pod_has_left_the_facts(facts_of: Facts) -> None:
    shared = copy.deepcopy(facts_of("v100-01"))
    exclusive = {**shared, "system": {**shared["system"], "netns_mode": "exclusive"}}
    published = expected(shared).devices
    for facts, said in (
        (shared, ["n: NIC 0000:8a:00.0 is published, but the facts of the node have no such NIC"]),
        (exclusive, []),
    ):
        left = {**facts, "hcas": [one for one in facts["hcas"] if one["name"] != "mlx5_1"]}
        assert texts(compare(expected(left), published, BOTH)) == said


@pytest.mark.parametrize(
    ("seen", "nics", "gpus"),
    [
        (NodeSeen(exists=False), "the cluster has no node of this name", "the cluster has no node of this name"),
        (
            NodeSeen(),
            "DRANET publishes nothing there: it has no pod there",
            "no label selects the node for NVIDIA's DRA driver: nvidia.com/gpu.present=true or one of NFD's is needed",
        ),
        (
            NodeSeen(pod="its pod is Pending", labels={"feature.node.kubernetes.io/pci-10de.present": "true"}),
            "DRANET publishes nothing there: its pod is Pending",
            "NVIDIA's DRA driver does not run there, or runs without gpuResourcesEnabledOverride=true",
        ),
        (
            NodeSeen(pod=None, labels={"nvidia.com/gpu.present": "false"}),
            "DRANET publishes nothing there: its pod cannot be read",
            "no label selects the node for NVIDIA's DRA driver: nvidia.com/gpu.present=true or one of NFD's is needed",
        ),
        (
            BOTH,
            f"DRANET runs there, but does not publish it: {RESTART}",
            "NVIDIA's DRA driver runs there, but does not publish it",
        ),
    ],
)
def test_why_devices_are_missing(facts_of: Facts, seen: NodeSeen, nics: str, gpus: str) -> None:
    found = compare(expected(facts_of("v100-01")), [], seen)
    assert len(found.missing) == 2 + 4
    assert texts(found) == [f"n: 2 NICs are missing: {nics}", f"n: 4 GPUs are missing: {gpus}"]


def test_a_gpu_that_is_published_in_parts(facts_of: Facts) -> None:
    wanted = expected(facts_of("v100-01"))
    published = [having(one, type="mig") if one.name == "gpu-1" else one for one in wanted.devices]
    (text,) = texts(compare(wanted, published, BOTH))
    assert text.endswith("is missing: NVIDIA's DRA driver runs there, but publishes it as mig")


def test_gpus_are_those_at_the_same_address(facts_of: Facts) -> None:
    wanted = expected(facts_of("v100-01"))
    nics, gpus = split(wanted.devices)
    renamed = [replace(one, name=f"gpu-{3 - number}") for number, one in enumerate(gpus)]
    assert texts(compare(wanted, nics + renamed, BOTH)) == []


@pytest.mark.parametrize(
    ("variables", "address", "reason"),
    [
        ({}, "0000:62:00.0", "it carries the default route"),
        ({"rdma_driver_exclude": ["0000:85:00.0"]}, "0000:85:00.0", "it is in rdma_driver_exclude"),
    ],
)
def test_what_is_left_out_on_purpose(facts_of: Facts, variables: dict[str, Any], address: str, reason: str) -> None:
    wanted = expected(facts_of("a100-01"), **variables)
    found = compare(wanted, wanted.devices, BOTH)
    assert texts(found) == []
    assert (address, reason) in [(one.pci, one.reason) for one in found.missing if one.intended]
    nic: dict[str, Value] = {"dra.net/rdma": True, "dra.net/pciAddress": address}
    found = compare(wanted, [*wanted.devices, SliceDevice("dra.net", "n", "pci", "n", nic)], BOTH)
    assert address not in [one.pci for one in found.missing]
    assert texts(found) == [f"n: NIC {address} is published, but {reason}: restart DRANET if this is new"]


def test_a_gpu_that_is_not_in_the_facts(facts_of: Facts) -> None:
    facts = facts_of("v100-01")
    published = expected(facts).devices
    found = compare(expected({**facts, "gpus": facts["gpus"][:3]}), published, BOTH)
    address = facts["gpus"][3]["pci"]["address"]
    assert texts(found) == [f"n: GPU {address} is published, but the facts of the node have no such GPU"]


def test_rdma_modules_that_were_loaded_after_the_driver_was_started(facts_of: Facts) -> None:
    wanted = expected(facts_of("v100-01"))
    published = [having(one, rdma=False) if one.is_rdma_nic else one for one in wanted.devices]
    assert texts(compare(wanted, published, BOTH)) == [
        f"n: NIC {address} has dra.net/rdma False, the facts say True:"
        " its RDMA modules were loaded after DRANET was started: restart DRANET"
        for address in ("0000:3f:00.0", "0000:8a:00.0")
    ]


def test_attributes_that_differ(facts_of: Facts) -> None:
    wanted = expected(facts_of("v100-01"))
    (first, *others), gpus = split(wanted.devices)
    published = [having(first, numaNode=7), *others, without(gpus[0], model.PCIE_ROOT), *gpus[1:]]
    found = compare(wanted, published, BOTH)
    assert [(one.attribute, one.expected, one.published) for one in found.differing] == [
        ("dra.net/numaNode", 0, 7),
        (model.PCIE_ROOT, gpus[0].attributes[model.PCIE_ROOT], None),
    ]
    assert texts(found) == [
        f"n: GPU {gpus[0].pci} has no {model.PCIE_ROOT}, the facts say {gpus[0].attributes[model.PCIE_ROOT]!r}",
        f"n: NIC {first.pci} has dra.net/numaNode 7, the facts say 0",
    ]


RAILS = {"rdma_driver_attributes": True, "rdma_links_rails": 2, "rdma_links_mtu": 2044}


def test_what_the_daemon_says_is_missing_or_differs_by_nic_and_attribute(facts_of: Facts) -> None:
    """Also of a NIC in a pod, since the daemon knows it by its place. Without the variable nobody expects it."""
    facts = facts_of("v100-01")
    wanted = expected(facts, **RAILS)
    (first, second), gpus = split(wanted.devices)
    rail, rate = "zerocopy.rdma/rail", "zerocopy.rdma/rateGbps"
    assert [nic.attributes[rail] for nic in (first, second)] == [0, 1]
    assert texts(compare(wanted, wanted.devices, BOTH)) == []
    in_pod = without(first, "dra.net/ifName", rail)
    other = replace(second, attributes={**second.attributes, rate: 1})
    assert texts(compare(wanted, [in_pod, other, *gpus], BOTH)) == [
        f"n: NIC {first.pci} has no {rail}, the facts say 0: DRANET has no answer of the daemon on the node "
        "(zerocopy-rdma-attributes.service)",
        f"n: NIC {second.pci} has {rate} 1, the facts say 100: the daemon on the node "
        "(zerocopy-rdma-attributes.service) says so, or DRANET has not asked it since it was changed",
    ]
    assert texts(compare(expected(facts), [in_pod, other, *gpus], BOTH)) == []
    unused = expected(facts, **RAILS, rdma_driver_enabled=False)
    assert not [one for one in unused.devices if rail in one.attributes]


def test_the_leaf_group_is_expected_where_it_is_known(facts_of: Facts) -> None:
    own = {**VERSIONS, **RAILS}
    for known, leaf in (("leaf-1", "leaf-1"), ("", None), (None, None)):
        host = InventoryHost("n", "group", own, read.facts(facts_of("v100-01")), leaf=known)
        found = expected_devices.expected([host])["n"]["devices"]
        assert {one["attributes"].get("zerocopy.rdma/leaf") for one in found} == {leaf}


def test_the_rate_of_a_port_that_is_down_is_no_difference(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("v100-01"))
    published = expected(facts, **RAILS).devices
    facts["hcas"][0]["ports"][0]["state"] = "DOWN"
    assert texts(compare(expected(facts, **RAILS), published, BOTH)) == []


def test_a_driver_of_gpus_that_is_older_than_the_inventory_says(facts_of: Facts) -> None:
    facts = facts_of("v100-01")
    found = compare(expected(facts), expected(facts, rdma_driver_gpu_version="0.4.1").devices, BOTH)
    assert texts(found) == [
        f"n: GPU {gpu['pci']['address']} has no {model.NUMA_NODE}, the facts say {gpu['pci']['numa_node']}:"
        " its driver is older than rdma_driver_gpu_version says"
        for gpu in facts["gpus"]
    ]
    # What nobody expects is no difference.
    newer = expected(facts).devices
    assert texts(compare(expected(facts, rdma_driver_gpu_version="0.4.1"), newer, BOTH)) == []


def test_the_same_on_many_nodes_is_one_line(facts_of: Facts) -> None:
    found = compare(expected(facts_of("v100-01")), [], NodeSeen())
    lines = slices_compare.lines({f"v100-{number:02}": found for number in range(1, 9)})
    assert len(lines) == 2
    assert lines[0].startswith("v100-[01-08]: 2 NICs are missing: ")


def test_very_many_differences_are_counted(facts_of: Facts) -> None:
    wanted = expected(facts_of("h100-01"))
    compared = {
        f"n{number}": compare(wanted, [having(one, numaNode=10 + number) for one in split(wanted.devices)[0]], BOTH)
        for number in range(10)
    }
    assert sum(len(one.differing) for one in compared.values()) == 80
    lines = slices_compare.lines(compared)
    assert len(lines) == 31
    assert lines[-1] == "... and 51 more differences"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "has no 'drivers'"),
        ([], "has the wrong format"),
        ({"drivers": ["dra.net"], "devices": [{}]}, "has no 'driver'"),
    ],
)
def test_what_is_no_expectation(given: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        slices_compare.read("n", given)


@pytest.mark.parametrize(("node", "code"), [("case-b200", "nvswitch_management"), ("a100-01", "bond")])
def test_what_belongs_to_the_node_is_not_waited_for(facts_of: Facts, node: str, code: str) -> None:
    facts = facts_of(node)
    places = {hca["name"]: hca["pci"]["address"] for hca in facts["hcas"]}
    own = {places[one["hca"]] for one in facts["excluded"] for reason in one["reasons"] if reason["code"] == code}
    assert own
    awaited = expected(facts)
    assert set(own) <= set(awaited.left_out)
    assert not {one.pci for one in awaited.devices} & set(own)
    found = slices_compare.compare(awaited, awaited.devices, BOTH)
    assert all(one.intended for one in found.missing)
