# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""GPUs and NICs that their drivers have tainted, with the remedy where the taint is known.

Source: ``cmd/gpu-kubelet-plugin/device_health.go`` of NVIDIA's DRA driver 0.5.0 (gate NVMLDeviceHealthCheck), which
keeps taints only as long as its process lives, and never takes one back.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Iterable, Iterator, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import taints
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import (
    GPU_DRIVER,
    SliceDevice,
    Taint,
)

_XID, _LOST, _UNMONITORED = (f"{GPU_DRIVER}/{name}" for name in ("xid", "gpu-lost", "unmonitored"))
_RESTART = "then restart the pod of NVIDIA's DRA driver on the node, which removes the taint."
_CATALOG = "NVIDIA's Xid catalog (https://docs.nvidia.com/deploy/xid-errors/)"


def _remedy(taint: Taint) -> str:
    if taint.key == _XID:
        return f"Do what {_CATALOG} says about Xid {taint.value}, {_RESTART}"
    if taint.key == _LOST:
        return (
            "The driver taints all GPUs of the node, because it does not know which one is lost. Find it in the kernel"
            f" log (NVRM: Xid) or with nvidia-smi, reset that GPU or reboot the node, {_RESTART}"
        )
    if taint.key == _UNMONITORED:
        return f"Look in the driver's log for why it cannot watch the GPU, {_RESTART}"
    return "See the driver's documentation for what the taint means and how to remove it."


def checks(groups: Mapping[str, str], devices: Iterable[SliceDevice]) -> Iterator[Check]:
    """One for each tainted device of a host. ``groups`` has the group of each."""
    for device in taints.of_pods(devices):
        host = str(device.node)
        if host not in groups:
            continue
        told = [taint for taint in device.taints if taint.bars] or device.taints
        remedy = " ".join(dict.fromkeys(map(_remedy, told)))
        evidence = {"driver": device.driver, "taints": list(map(asdict, device.taints))}
        verdict = "fail" if device.is_barred else "warn"
        at = (host, groups[host], device.pci or device.name)
        yield Check("cluster", "cluster.taints", *at, verdict, f"{device.name} {taints.said(device)}", evidence, remedy)
