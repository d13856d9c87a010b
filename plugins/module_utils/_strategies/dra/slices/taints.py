# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Tainted devices in words: which ones, and what that means for pods.

Source: ``DeviceTaint`` of ``resource.k8s.io``, and the allocator (``taintPreventsAllocation``). API servers before
Kubernetes 1.36 drop taints unless the feature gate DRADeviceTaints is on.
"""

from __future__ import annotations

from typing import Dict, Iterable, List, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import (
    DRANET,
    GPU_MAKERS,
    SliceDevice,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, messages


def of_pods(devices: Iterable[SliceDevice]) -> List[SliceDevice]:
    """The tainted GPUs, parts of GPUs and NICs among these devices."""
    return [device for device in devices if device.taints and (device.driver == DRANET or device.driver in GPU_MAKERS)]


def said(device: SliceDevice, several: bool = False) -> str:
    """``is tainted gpu.nvidia.com/xid=79 (NoSchedule): no new pod gets it``."""
    it = "them" if several else "it"
    if device.evicts:
        effect = f"pods with {it} are evicted, and no new pod gets {it}"
    else:
        effect = f"no new pod gets {it}" if device.is_barred else f"pods still get {it}"
    return f"{'are' if several else 'is'} tainted {', '.join(taint.text for taint in device.taints)}: {effect}"


def lines(devices: Iterable[SliceDevice]) -> List[str]:
    """A line for all devices of a node with the same taints; equal ones of several nodes once."""
    alike: Dict[Tuple[str, str, str], List[SliceDevice]] = {}
    for device in of_pods(devices):
        alike.setdefault((device.node or device.pool, device.driver, said(device)), []).append(device)
    found = [
        (node, Problem(", ".join(device.name for device in own), said(own[0], len(own) > 1)))
        for (node, _driver, _said), own in alike.items()
    ]
    return messages(found)
