# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""ResourceSlices: real ones read, and those that drivers will publish for recorded nodes."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Callable

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model, predict
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import versions as drivers_versions
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice, Version
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices

SLICES = sorted((Path(__file__).resolve().parents[3] / "fixtures" / "resourceslices").glob("*.yaml"))
Facts = Callable[..., dict[str, Any]]


def real(part: str) -> list[SliceDevice]:
    return model.devices(yaml.safe_load(path.read_text("utf-8")) for path in SLICES if part in path.name)


def predicted(
    facts: dict[str, Any], dranet: str = "1.4.0", gpu: str = "0.5.0", **options: Any
) -> dict[str, SliceDevice]:
    versions = drivers_versions.dranet(dranet), drivers_versions.gpu(gpu)
    return {device.name: device for device in predict.predicted("n", read.facts(facts), *versions, **options)}


def test_real_slices_are_read_alone_and_in_lists() -> None:
    aws = real("aws")
    assert [device.name for device in aws if device.is_gpu] == [f"gpu-{number}" for number in range(8)]
    assert [device.pci for device in aws if device.is_rdma_nic] == [
        f"0000:{bus}:1b.0" for bus in ("10", "20", "90", "a0")
    ]
    gpu = next(device for device in aws if device.is_gpu)
    assert gpu.node == gpu.pool == "ip-192-168-153-160.ec2.internal"
    assert gpu.attributes["gpu.nvidia.com/driverVersion"] == Version("580.126.9")
    assert gpu.capacity == {"gpu.nvidia.com/memory": "40Gi"}
    # DRANET publishes NICs without RDMA as well.
    assert sum(device.driver == model.DRANET for device in aws) == 7
    assert len(real("GB200")) == 8 + 4


@pytest.mark.parametrize("part", ["aws", "GB200"])
def test_slices_written_are_those_read(part: str) -> None:
    devices = real(part)
    assert sorted(model.devices(resource_slices(devices)), key=str) == sorted(devices, key=str)


def test_a_slice_in_the_pool_of_another_node_does_not_count() -> None:
    def one(node: str | None, name: str, generation: int) -> dict[str, Any]:
        spec = {"driver": "dra.net", "nodeName": node, "pool": {"name": "n1", "generation": generation}}
        return {"kind": "ResourceSlice", "spec": {**spec, "devices": [{"name": name}]}}

    slices = [one("n1", "own", 1), one("n2", "theirs", 2)]
    assert [found.name for found in model.devices(slices)] == ["own"]
    assert (model.publishing(slices), model.misplaced(slices)) == ({"n1": {"dra.net"}}, ["n2"])
    # Of no single node, which only an administrator or a driver can publish.
    assert [found.name for found in model.devices([one(None, "shared", 1)])] == ["shared"]


def test_the_flat_beta_form_and_older_generations() -> None:
    device = {"name": "d", "basic": {"attributes": {"rdma": {"bool": True}, "l": {"ints": [1, 2]}}}}

    def one(generation: int, name: str) -> dict[str, Any]:
        spec = {"driver": "dra.net", "nodeName": "n", "pool": {"name": "n", "generation": generation}}
        return {
            "apiVersion": "resource.k8s.io/v1beta1",
            "kind": "ResourceSlice",
            "spec": {**spec, "devices": [{**device, "name": name}]},
        }

    found = model.devices([one(1, "old"), one(2, "new")])
    assert [device.name for device in found] == ["new"]
    assert found[0].attributes == {"dra.net/rdma": True, "dra.net/l": (1, 2)}


def test_what_is_predicted_has_the_attributes_that_real_drivers_publish(facts_of: Facts) -> None:
    """Names and types, against what was recorded of DRANET and the NVIDIA driver elsewhere."""
    recorded: dict[str, type] = {}
    for device in real("yaml"):
        recorded.update({name: value.__class__ for name, value in device.attributes.items()})
    for node in ("v100-01", "lab-01", "case-vf", "h100-01"):
        # None of the recordings has a newer driver of GPUs: no GPU has a NUMA node.
        for device in predicted(facts_of(node), gpu="0.4.1").values():
            for name, value in device.attributes.items():
                # These NICs have no VF and no IPv6 address.
                if name not in ("dra.net/isSriovVf", "dra.net/ipv6"):
                    assert value.__class__ is recorded[name], name


def test_a_roce_nic(facts_of: Facts) -> None:
    nic = next(device for device in predicted(facts_of("lab-01")).values() if device.is_rdma_nic)
    assert nic.name == "pci-0000-66-00-0"
    assert nic.attributes == {
        "dra.net/pciAddress": "0000:66:00.0",
        "dra.net/numaNode": 0,
        "resource.kubernetes.io/pcieRoot": "pci0000:65",
        "dra.net/rdma": True,
        "dra.net/ifName": "ens1np0",
        "dra.net/mac": nic.attributes["dra.net/mac"],
        "dra.net/mtu": 9000,
        "dra.net/encapsulation": "ether",
        "dra.net/type": "device",
        "dra.net/state": "up",
        "dra.net/ipv4": "10.0.0.1/24",
        "dra.net/virtual": False,
        "dra.net/sriov": nic.attributes["dra.net/sriov"],
        **({"dra.net/sriovVfs": 0} if nic.attributes["dra.net/sriov"] else {}),
    }


def test_a_nic_in_a_pod_keeps_what_its_pci_function_tells(facts_of: Facts) -> None:
    (nic,) = (device for device in predicted(facts_of("case-in-pod")).values() if device.is_rdma_nic)
    assert set(nic.attributes) == {
        "dra.net/pciAddress",
        "dra.net/numaNode",
        "resource.kubernetes.io/pcieRoot",
        "dra.net/rdma",
        "dra.net/rdmaDevice",
    }


def test_attributes_by_version_of_the_drivers(facts_of: Facts) -> None:
    facts = facts_of("v100-01")
    old, new = predicted(facts, "1.4.0", "25.8.1"), predicted(facts, "1.5.0", "0.5.0")
    between = predicted(facts, "1.4.0", "0.4.1")
    address = facts["gpus"][0]["pci"]["address"]
    assert old["gpu-0"].attributes["gpu.nvidia.com/pcieBusID"] == address
    assert "resource.kubernetes.io/pciBusID" not in old["gpu-0"].attributes
    assert new["gpu-0"].attributes["resource.kubernetes.io/pciBusID"] == address
    assert new["gpu-0"].attributes["resource.kubernetes.io/numaNode"] == 0
    assert between["gpu-0"].attributes["resource.kubernetes.io/pciBusID"] == address
    assert "resource.kubernetes.io/numaNode" not in between["gpu-0"].attributes
    nics = [name for name in old if name.startswith("pci-")]
    assert all("dra.net/rdmaDevice" not in old[name].attributes for name in nics)
    assert [new[name].attributes["dra.net/rdmaDevice"] for name in sorted(nics)] == ["mlx5_0", "mlx5_1"]
    assert [new[name].attributes["resource.kubernetes.io/numaNode"] for name in sorted(nics)] == [0, 1]


def test_the_version_after_25_12_is_0_4() -> None:
    order = ["25.3.0", "25.8.1", "25.12.0", "0.4.0", "v0.4.1", "0.5.0"]
    assert sorted(sorted(order), key=drivers_versions.gpu) == order


def test_without_moving_ib_interfaces_an_infiniband_nic_is_rdma_only(facts_of: Facts) -> None:
    moved, kept = predicted(facts_of("v100-01")), predicted(facts_of("v100-01"), move_ib=False)
    name = next(name for name in moved if name.startswith("pci-"))
    assert moved[name].attributes["dra.net/type"] == "ipoib"
    assert "dra.net/ifName" not in kept[name].attributes
    assert kept[name].attributes["dra.net/rdmaDevice"] == "mlx5_0"


@pytest.mark.parametrize(
    ("node", "published"),
    [
        # The bond has the default route, and its slaves are left out with it.
        ("a100-01", ["mlx5_0", "mlx5_1"]),
        # The uplink is a VLAN above, of which DRANET does not know that it goes through this NIC.
        ("case-default-route", ["mlx5_0"]),
        ("case-nothing", []),
    ],
)
def test_what_carries_the_default_route_is_not_published(facts_of: Facts, node: str, published: list[str]) -> None:
    nics = {device.pci for device in predicted(facts_of(node)).values() if device.is_rdma_nic}
    hcas = {hca["pci"]["address"]: hca["name"] for hca in facts_of(node)["hcas"] if hca["pci"]}
    assert sorted(hcas[str(pci)] for pci in nics) == published


@pytest.mark.parametrize(("fields", "left_out"), [({}, True), ({"through": "ens1f0np0.100"}, False)])
def test_fields_of_a_reason_decide_and_not_its_text(facts_of: Facts, fields: dict[str, str], left_out: bool) -> None:
    facts = copy.deepcopy(facts_of("case-default-route"))
    found = [one for entry in facts["excluded"] for one in entry["reasons"] if one["code"] == "default_route"]
    assert len(found) == 1
    found[0].update(text="worded in another way", fields=fields)
    assert bool(predict.left_out(read.facts(facts))) is left_out


def test_addresses_are_cut_at_64_bytes_as_dranet_does() -> None:
    many = [f"10.0.0.{number}/24" for number in range(10, 20)] + ["fe80::1/64", "fd00::1/64", "169.254.0.1/16"]
    joined = predict._joined(many, 4)
    assert joined == "10.0.0.10/24,10.0.0.11/24,10.0.0.12/24,10.0.0.13/24,10.0.0.14/24"
    assert predict._joined(many, 6) == "fd00::1/64"


@pytest.mark.parametrize(
    ("product", "size", "family"),
    [
        ("NVIDIA A100-SXM4-40GB", "40Gi", "Ampere"),
        ("NVIDIA GB200", "189471Mi", "Blackwell"),
        ("NVIDIA H100 80GB HBM3", "80G", "Hopper"),
        ("Tesla V100-SXM2-16GB", "16G", "Volta"),
        ("Tesla T4", None, "Turing"),
        ("NVIDIA GeForce RTX 3060", None, "Ampere"),
        ("NVIDIA L40S", None, "Ada Lovelace"),
        (None, None, None),
    ],
)
def test_memory_and_family_of_a_product(product: str | None, size: str | None, family: str | None) -> None:
    assert predict.memory(product) == size
    assert predict.architecture(product) == family
