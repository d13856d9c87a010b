# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""How near GPUs and NICs that were handed out together are, from the facts of the node, not from what is published."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence, Set

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.topology import PATH_CLASSES
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice


class Paths:
    """Path classes (those of ``nvidia-smi topo -m``) between the devices of one node, by the devices' names."""

    def __init__(self, facts: Mapping[str, Any], devices: Sequence[SliceDevice]) -> None:
        hcas = {hca["pci"]["address"]: hca["name"] for hca in facts["hcas"] if hca["pci"]}
        functions = [one["pci"] for one in [*facts["gpus"], *facts["hcas"]] if one["pci"]]
        numa_nodes = {function["address"]: function["numa_node"] for function in functions}
        self.numa_nodes = {one.name: numa_nodes[one.pci] for one in devices}
        self.nics = [one.name for one in devices if one.is_rdma_nic]
        affinity = {entry["address"]: entry["paths"] for entry in facts["affinity"]}
        self._between: Dict[str, Dict[str, str]] = {
            gpu.name: {nic.name: affinity[gpu.pci][hcas[str(nic.pci)]] for nic in devices if nic.is_rdma_nic}
            for gpu in devices
            if gpu.is_gpu
        }

    @property
    def gpus(self) -> List[str]:
        return list(self._between)

    def best(self, gpu: str) -> str:
        """The nearest that any NIC of the node is to this GPU."""
        return min(self._between[gpu].values(), key=PATH_CLASSES.index)

    def served(self, gpus: Sequence[str], nics: Sequence[str]) -> int:
        """How many of the GPUs of a pod get a NIC of their best path class, out of the pod's.

        GPUs share NICs as evenly as their numbers allow, and the dealing is the best possible: a maximum matching.
        """
        share = -(-len(gpus) // max(len(nics), 1))
        users: Dict[str, List[str]] = {nic: [] for nic in nics}

        def deal(gpu: str, tried: Set[str]) -> bool:
            for nic in nics:
                if nic in tried or self._between[gpu][nic] != self.best(gpu):
                    continue
                tried.add(nic)
                if len(users[nic]) < share:
                    users[nic].append(gpu)
                    return True
                for other in users[nic]:
                    if deal(other, tried):
                        users[nic][users[nic].index(other)] = gpu
                        return True
            return False

        return sum(deal(gpu, set()) for gpu in gpus)
