# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The paths between the GPUs and the HCAs of a node as a matrix, like that of ``nvidia-smi topo -m``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.topology import PATH_CLASSES
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import aligned

_MEANINGS = {
    "PIX": "at most one PCIe switch",
    "PXB": "several PCIe switches, but not the CPU",
    "PHB": "the same PCIe root complex, in the CPU",
    "NODE": "another root complex of the same NUMA node",
    "SYS": "the link between two NUMA nodes",
}
# In nvidia-smi's order, which is that from far to near.
LEGEND = aligned([[name, "= " + _MEANINGS[name]] for name in reversed(PATH_CLASSES)])


@dataclass
class GpuPaths:
    """``paths`` has the path class by HCA, in the order of PCI addresses."""

    gpu: int
    numa_node: Optional[int]
    paths: Dict[str, str]


def of_node(facts: Facts) -> List[GpuPaths]:
    """Those of all GPUs. The VFs of a PF of the node are where that is, and left out."""
    there = {pci.address for _hca, pci in facts.placed}
    vfs = {hca.name for hca, _pci in facts.placed if hca.sriov.pf_address in there}
    numa = {gpu.index: gpu.pci.numa_node for gpu in facts.gpus}
    return [
        GpuPaths(
            entry.gpu,
            numa.get(entry.gpu),
            {hca: path for hca, path in entry.paths.items() if hca not in vfs},
        )
        for entry in facts.affinity
    ]


def matrix(gpus: Sequence[GpuPaths]) -> List[str]:
    """A line for each GPU with a column for each HCA, and a heading; empty without GPUs or without HCAs."""
    hcas = list(dict.fromkeys(hca for gpu in gpus for hca in gpu.paths))
    if not hcas:
        return []
    rows = [["", *hcas, "NUMA"]]
    for gpu in gpus:
        numa = "-" if gpu.numa_node is None else str(gpu.numa_node)
        rows.append([f"GPU{gpu.gpu}", *(gpu.paths.get(hca, "-") for hca in hcas), numa])
    return aligned(rows)
