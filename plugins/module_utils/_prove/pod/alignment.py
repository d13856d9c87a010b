# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Whether the GPUs and NICs that a claim got are as near to each other as it promises."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.topology import PATH_CLASSES
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import topo
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.allocation import Allocated, PodJudge
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import joined

# The worst path class that devices with a common value of the attribute can have.
_PROMISES = {model.PCIE_ROOT: "PHB", model.NUMA_NODE: "NODE"}
_DIFFER = "The facts and the driver's attributes differ: restart the GPU driver and apply the claims again."
_UNKNOWN = "Compare the node's ResourceSlices with its facts, and check rdma_discover_gpu_vendors."

# A promise, and the devices that have it.
Promised = Tuple[str, Sequence[Allocated]]


def _farthest(paths: Iterable[str]) -> str:
    return max(paths, key=PATH_CLASSES.index)


def _nearest(paths: Iterable[str]) -> str:
    return min(paths, key=PATH_CLASSES.index)


class PathJudge(PodJudge):
    def paths(self) -> Optional[Check]:
        """Path class of each GPU to the nearest NIC that came with it, and whether the claim promises better."""
        gpus = [device for device in self.devices if device.driver != model.DRANET]
        nics = {nic.hca.name: nic for nic in self.nics if nic.hca}
        if not gpus or not nics:
            return None
        every = {entry.address: entry.paths for entry in self.node.before.affinity}
        known = [(gpu, every[gpu.pci]) for gpu in gpus if gpu.pci in every]
        unknown = [gpu.name for gpu in gpus if gpu.pci not in every]
        promised = self._promised()
        seen = self._of_nvidia_smi(list(nics))
        best = {}
        for gpu, paths in known:
            beside = [name for _promise, group in promised if gpu in group for name in nics if nics[name] in group]
            best[gpu.name] = _nearest(paths.get(name, PATH_CLASSES[-1]) for name in beside or nics)
        evidence: Dict[str, Any] = {"paths": best, **({"nvidia_smi": seen} if seen else {})}
        of_smi = f" (nvidia-smi topo -m in the pod: {_farthest(seen)})" if seen else ""
        broken = list(_broken(promised, known, nics))
        if broken:
            found, name, gpu, promise = max(broken, key=lambda pair: PATH_CLASSES.index(pair[0]))
            text = f"the path from {name} to {gpu.name} is {found}{of_smi}, but the claim promises {promise}"
            return self.check("path", "fail", text, _DIFFER, "provision", **evidence)
        if unknown:
            text = f"the path from the NICs of the claim to {joined(unknown)} is unknown: the facts have no such GPU"
            return self.check("path", "impossible", f"{text}{of_smi}", _UNKNOWN, **evidence)
        text = f"the path from the NICs of the claim to its farthest GPU is {_farthest(best.values())}{of_smi}"
        return self.check("path", "pass", text, **evidence)

    def _promised(self) -> List[Promised]:
        """What the claim promises of which devices."""
        # Of NUMA nodes that differ, which is what it is for.
        if self.request.align == "unaligned":
            return []
        # A variant selects one NUMA node.
        if self.pod.alias != self.pod.entry:
            return [("NODE", self.devices)]
        found: List[Promised] = []
        for constraint in self.spec["devices"].get("constraints", []):
            promise, names = _PROMISES.get(constraint["matchAttribute"]), constraint.get("requests")
            if promise:
                # Without names it is about all requests; one with alternatives is called request/alternative.
                group = [
                    device
                    for device in self.devices
                    if not names or device.request in names or device.request.split("/")[0] in names
                ]
                found.append((promise, group))
        return found

    def _of_nvidia_smi(self, nics: Sequence[str]) -> List[str]:
        """The path class of each GPU to the nearest of these NICs as nvidia-smi in the pod sees it, if it sees all."""
        rows = [[own[nic] for nic in nics if nic in own] for own in topo.matrix(self.report.topo)]
        return [_nearest(row) for row in rows] if rows and all(rows) else []


def _broken(
    promised: Sequence[Promised],
    known: Sequence[Tuple[Allocated, Mapping[str, str]]],
    nics: Mapping[str, Allocated],
) -> Iterator[Tuple[str, str, Allocated, str]]:
    """Path, NIC, GPU and promise of each two devices that are farther apart than what they have in common allows."""
    for promise, group in promised:
        for gpu, paths in known:
            for name, nic in nics.items():
                path = paths.get(name, PATH_CLASSES[-1])
                if gpu in group and nic in group and PATH_CLASSES.index(path) > PATH_CLASSES.index(promise):
                    yield path, name, gpu, promise
