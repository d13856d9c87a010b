# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""GPU-NIC path classes, assignment of HCAs to GPUs, and the node's signature."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Dict, List, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Gpu, GpuAffinity, Hca, PciFunction

# Nearest first, as the legend of `nvidia-smi topo -m` has them.
PATH_CLASSES = ("PIX", "PXB", "PHB", "NODE", "SYS")


def bridges_between(one: PciFunction, other: PciFunction) -> Tuple[List[str], List[str], bool]:
    """Bridges strictly below the deepest shared bridge on either side, and whether there is a shared bridge."""
    shared = 0
    for left, right in zip(one.pcie_path[:-1], other.pcie_path[:-1]):
        if left != right:
            break
        shared += 1
    return one.pcie_path[shared:-1], other.pcie_path[shared:-1], shared > 0


def path_class(one: PciFunction, other: PciFunction, numa_nodes: int) -> str:
    """Path class between two PCI functions, with the meaning of ``nvidia-smi topo -m``.

    PIX: at most one PCIe switch; PXB: several switches but no host bridge; PHB: the same root complex; NODE: different
    root complexes of one NUMA node; SYS: across NUMA nodes. Two ports below one switch share its upstream port and
    have one downstream port each, so more than one bridge on a side means a further switch. ``numa_nodes`` is the
    node's number of NUMA nodes: with a single one, functions without a NUMA node are on it; else they count as SYS.
    """
    left, right, shared = bridges_between(one, other)
    if shared:
        return "PIX" if len(left) <= 1 and len(right) <= 1 else "PXB"
    if one.pcie_root is not None and one.pcie_root == other.pcie_root:
        return "PHB"
    if numa_nodes == 1 or (one.numa_node is not None and one.numa_node == other.numa_node):
        return "NODE"
    return "SYS"


def _spread(gpus: Sequence[int], hcas: Sequence[str]) -> Dict[int, List[str]]:
    """Deal equally near HCAs to GPUs in contiguous blocks: 4 GPUs and 2 HCAs give two GPUs each."""
    if len(gpus) >= len(hcas):
        return {gpu: [hcas[i * len(hcas) // len(gpus)]] for i, gpu in enumerate(gpus)}
    bounds = [i * len(hcas) // len(gpus) for i in range(len(gpus) + 1)]
    return {gpu: list(hcas[bounds[i] : bounds[i + 1]]) for i, gpu in enumerate(gpus)}


def affinity(gpus: Sequence[Gpu], hcas: Sequence[Hca], assignable: Sequence[str], numa_nodes: int) -> List[GpuAffinity]:
    """Path class of every GPU to every HCA with a place in PCIe, and the HCAs each GPU should use.

    GPUs that see the same nearest HCAs at the same path class share them evenly, in PCI order on both sides.
    """
    placed = sorted((hca for hca in hcas if hca.pci), key=lambda hca: (hca.pci.address if hca.pci else "", hca.name))
    result = []
    sharing: Dict[Tuple[int, Tuple[str, ...]], List[int]] = {}
    for gpu in gpus:
        entry = GpuAffinity(gpu=gpu.index, address=gpu.pci.address)
        for hca in placed:
            if hca.pci:
                entry.paths[hca.name] = path_class(gpu.pci, hca.pci, numa_nodes)
        candidates = [hca.name for hca in placed if hca.name in assignable]
        best = min((PATH_CLASSES.index(entry.paths[name]) for name in candidates), default=0)
        nearest = tuple(name for name in candidates if entry.paths[name] == PATH_CLASSES[best])
        if nearest:
            sharing.setdefault((best, nearest), []).append(gpu.index)
        result.append(entry)
    for (_best, nearest), indices in sharing.items():
        for index, names in _spread(indices, nearest).items():
            result[index].nearest = names
    return result


def signature(gpus: Sequence[Gpu], hcas: Sequence[Hca], numa_nodes: int) -> str:
    """Twelve hexadecimal digits, equal for nodes of equal hardware shape.

    Made of device models, ports, link layers, NUMA nodes and path classes. Left out is what differs between equal
    nodes (bus numbers, GUIDs, MAC addresses, names) or changes in operation (link state, rate, firmware, VFs,
    software devices).
    """
    physical = sorted(
        ((hca.pci, hca) for hca in hcas if hca.pci and not hca.software and hca.sriov.role != "vf"),
        key=lambda pair: pair[0].address,
    )
    shape: Dict[str, List[Any]] = {
        "gpus": [[gpu.pci.vendor_id, gpu.pci.device_id, gpu.pci.numa_node] for gpu in gpus],
        "hcas": [
            [pci.vendor_id, pci.device_id, hca.board_id, pci.numa_node, [port.link_layer for port in hca.ports]]
            for pci, hca in physical
        ],
        "paths": [[path_class(gpu.pci, pci, numa_nodes) for pci, _hca in physical] for gpu in gpus],
    }
    return hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()[:12]
