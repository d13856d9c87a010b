# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The devices that DRANET and the drivers of GPUs will publish for a node, from the node's facts.

Attributes are those of ``pkg/inventory`` of kubernetes-sigs/dranet, ``cmd/gpu-kubelet-plugin/deviceinfo.go`` of
kubernetes-sigs/dra-driver-nvidia-gpu, and ``docs/driver-attributes.md`` of ROCm/k8s-gpu-dra-driver 1.0. Left out is
what facts do not say: NICs without RDMA, names from the PCI ID database, eBPF programs, CUDA and driver versions, what
a cloud adds.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import Reason
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Gpu, Hca, Netdev, Port
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.reasons import DEFAULT_ROUTE
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base import exclusions
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import long_names, model, versions
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice, Value

# PCI vendor of the GPUs that AMD's driver publishes.
_AMD = "1002"
# Of a device attribute (API type DeviceAttribute).
_LONGEST_STRING = 64

# Total memory that NVML tells, from ResourceSlices of real nodes; for AMD that of the data sheet.
_MEMORY = {"NVIDIA A100-SXM4-40GB": "40Gi", "NVIDIA GB200": "189471Mi", "AMD Instinct MI300X": "192G"}
# As NVML and go-nvlib name them.
_ARCHITECTURES = (
    ("Volta", r"\bV100"),
    ("Turing", r"\bT4\b|Quadro RTX|RTX [4568]000\Z"),
    ("Ampere", r"\bA(?:2|10|16|30|40|100|800)\b|\bA100|RTX 30\d\d|RTX A\d"),
    ("Ada Lovelace", r"\bL(?:4|20|40S?)\b|RTX 40\d\d"),
    ("Hopper", r"\b(?:GH|H)(?:20|100|200|800)\b"),
    ("Blackwell", r"\bG?B(?:200|300)\b|RTX 50\d\d"),
)
# Where netlink's text for an operational state differs from that in sysfs.
_STATES = {"lowerlayerdown": "lower-layer-down", "notpresent": "not-present"}


def _joined(addresses: Sequence[str], version: int) -> Optional[str]:
    """Addresses as DRANET publishes them: sorted as text, as many as fit."""
    found = []
    for text in addresses:
        interface = ipaddress.ip_interface(text)
        if interface.version == version and not (
            interface.is_link_local or interface.is_loopback or interface.is_multicast
        ):
            found.append(str(interface))
    kept = ""
    for text in sorted(found):
        longer = f"{kept},{text}" if kept else text
        if len(longer) > _LONGEST_STRING:
            break
        kept = longer
    return kept or None


def _of_netdev(hca: Hca, port: Port, netdev: Netdev) -> Iterator[Tuple[str, Any]]:
    ipoib = port.link_layer == "InfiniBand"
    yield "ifName", netdev.name
    yield "mac", netdev.mac
    yield "mtu", netdev.mtu
    yield "encapsulation", "infiniband" if ipoib else "ether"
    yield "type", "ipoib" if ipoib else "device"
    yield "state", _STATES.get(netdev.state or "", netdev.state)
    yield "ipv4", _joined(netdev.addresses, 4)
    yield "ipv6", _joined(netdev.addresses, 6)
    yield "virtual", False
    yield "sriov", hca.sriov.total_vfs > 0
    if hca.sriov.total_vfs > 0:
        yield "sriovVfs", hca.sriov.num_vfs
    if hca.sriov.role == "vf":
        yield "isSriovVf", True


def _is_uplink(port: Port, reasons: Sequence[Reason]) -> bool:
    """Whether DRANET leaves the port out: it has the default route itself, or by its bond or bridge, but not a VLAN."""
    enslaved = port.netdev is not None and bool(port.netdev.master)
    routed = [reason for reason in reasons if reason.code == DEFAULT_ROUTE]
    return any(enslaved or "through" not in reason.fields for reason in routed)


def _uplinks(facts: Facts) -> Set[str]:
    """PCI addresses of the NICs that DRANET leaves out by itself."""
    reasons = facts.reasons
    return {
        pci.address
        for hca, pci in facts.placed
        for port in hca.ports
        if _is_uplink(port, reasons.get((hca.name, port.number), []))
    }


def left_out(facts: Facts, exclude: Sequence[str] = ()) -> Dict[str, str]:
    """PCI addresses of the NICs that are not to be published, and why; ``exclude`` as for :func:`predicted`."""
    reasons = {**long_names.why(facts), **exclusions.why(facts)}
    found = {
        pci.address: reasons.get(pci.address, "it is in rdma_driver_exclude")
        for _hca, pci in facts.placed
        if pci.address in exclude
    }
    return {**found, **dict.fromkeys(sorted(_uplinks(facts)), "it carries the default route")}


def may_hide_nics(facts: Facts, published: bool = False) -> bool:
    """Whether a NIC in a pod may be missing: its RDMA device is gone, or its PCI function unknown.

    DRANET does not know the latter either (``Facts.unplaced_in_pods``).
    ``published``: what is asked about is what DRANET publishes, not the facts.
    """
    exclusive = facts.system.netns_mode == "exclusive"
    return (exclusive and not published) or bool(facts.unplaced_in_pods)


def _nics(node: str, facts: Facts, version: versions.Numbers, move_ib: bool) -> Iterator[SliceDevice]:
    found: Dict[str, SliceDevice] = {}
    for hca, pci in facts.placed:
        attributes: Dict[str, Any] = {
            model.PCI_ADDRESS: pci.address,
            model.RDMA: True,
            model.NIC_NUMA_NODE: pci.numa_node,
            model.PCIE_ROOT: pci.pcie_root,
        }
        if versions.can(version, versions.NIC_NUMA):
            attributes[model.NUMA_NODE] = pci.numa_node
        for port in hca.ports:
            netdev = port.netdev
            moved = move_ib or port.link_layer != "InfiniBand"
            if netdev and netdev.present and not netdev.bond and moved:
                attributes.update({f"{model.DRANET}/{name}": value for name, value in _of_netdev(hca, port, netdev)})
        bonded = any(port.netdev and port.netdev.bond for port in hca.ports)
        if (model.IF_NAME not in attributes and not bonded) or versions.can(version, versions.RDMA_DEVICE):
            attributes[f"{model.DRANET}/rdmaDevice"] = hca.name
        name = "pci-" + re.sub("[:.]", "-", pci.address)
        # Of two RDMA devices on one function the first is published.
        found.setdefault(pci.address, SliceDevice(model.DRANET, node, name, node, _said(attributes)))
    yield from found.values()


def _said(attributes: Mapping[str, Any]) -> Dict[str, Value]:
    return {name: value for name, value in attributes.items() if value is not None}


def memory(product: Optional[str]) -> Optional[str]:
    """A GPU's memory as a quantity: what drivers were seen to publish, else what its name says at least."""
    if product is None or product in _MEMORY:
        return _MEMORY.get(product or "")
    # Decimal, which is what all cards of that name have at least: an H100 80GB has 81559Mi.
    match = re.search(r"(?:^|[ -])([0-9]{1,4}) ?GB\b", product)
    return f"{match.group(1)}G" if match else None


def gpu_drivers(facts: Facts) -> Set[str]:
    """The drivers that publish the GPUs of a node; NVIDIA's where it has none."""
    found = {model.AMD_DRIVER if gpu.pci.vendor_id == _AMD else model.GPU_DRIVER for gpu in facts.gpus}
    return found or {model.GPU_DRIVER}


def _amd_gpu(node: str, gpu: Gpu) -> SliceDevice:
    # No product name: the driver has it from its kernel module, with other letters than the PCI ID database.
    attributes = {
        f"{model.AMD_DRIVER}/type": "amdgpu",
        f"{model.AMD_DRIVER}/deviceID": f"0x{gpu.pci.device_id}",
        model.AMD_NUMA_NODE: gpu.pci.numa_node,
        model.PCI_BUS_ID: gpu.pci.address,
        model.PCIE_ROOT: gpu.pci.pcie_root,
    }
    size = memory(gpu.model)
    capacity = {f"{model.AMD_DRIVER}/memory": size} if size else {}
    # Named by its card and render node, which the facts do not have.
    return SliceDevice(model.AMD_DRIVER, node, f"gpu-{gpu.index}", node, _said(attributes), capacity)


def _gpus(node: str, facts: Facts, version: versions.Numbers) -> Iterator[SliceDevice]:
    bus_id = model.PCI_BUS_ID if versions.can(version, versions.GPU_BUS_ID) else model.PCIE_BUS_ID
    for gpu in facts.gpus:
        pci, product = gpu.pci, gpu.model
        if pci.vendor_id == _AMD:
            yield _amd_gpu(node, gpu)
            continue
        attributes: Dict[str, Any] = {
            f"{model.GPU_DRIVER}/type": "gpu",
            f"{model.GPU_DRIVER}/uuid": gpu.uuid,
            f"{model.GPU_DRIVER}/productName": product,
            f"{model.GPU_DRIVER}/architecture": architecture(product),
            bus_id: pci.address,
            model.PCIE_ROOT: pci.pcie_root,
        }
        if versions.can(version, versions.GPU_NUMA):
            attributes[model.NUMA_NODE] = pci.numa_node
        size = memory(product)
        capacity = {f"{model.GPU_DRIVER}/memory": size} if size else {}
        # Named by minor number, which is the order on the bus unless somebody changed it.
        yield SliceDevice(model.GPU_DRIVER, node, f"gpu-{gpu.index}", node, _said(attributes), capacity)


def architecture(product: Optional[str]) -> Optional[str]:
    """The family of a GPU, from its product name."""
    return next((name for name, pattern in _ARCHITECTURES if re.search(pattern, product or "")), None)


def predicted(
    node: str,
    facts: Facts,
    dranet: versions.Numbers,
    gpu: versions.Numbers,
    move_ib: bool = True,
    exclude: Sequence[str] = (),
) -> List[SliceDevice]:
    """All devices of one node as they would be published now; a NIC in a pod has no attributes of its netdev.

    ``move_ib`` is DRANET's ``--move-ib-interfaces``: without it IPoIB netdevs do not count. ``exclude`` are PCI
    addresses that its ``--filter`` leaves out.
    """
    hidden = left_out(facts, exclude)
    nics = [nic for nic in _nics(node, facts, dranet, move_ib) if nic.pci not in hidden]
    return [*nics, *_gpus(node, facts, gpu)]
