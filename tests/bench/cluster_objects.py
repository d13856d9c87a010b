# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What a cluster of nodes that exist only as objects has before provision: the nodes, and the class of GPUs."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
_ROOM = {"cpu": "64", "memory": "512Gi", "pods": "110"}
# Without it, groups whose pods claim GPUs are refused.
# As dra-driver-nvidia-gpu 0.5.0 brings it.
GPU_CLASS: Object = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu.nvidia.com"},
    "spec": {
        "extendedResourceName": "nvidia.com/gpu",
        "selectors": [
            {
                "cel": {
                    "expression": "device.driver == 'gpu.nvidia.com' && "
                    "device.attributes['gpu.nvidia.com'].type == 'gpu'"
                }
            }
        ],
    },
}


def node(name: str) -> Object:
    """A node that is an object only, ready and with room for pods."""
    status = {"capacity": _ROOM, "allocatable": _ROOM, "conditions": [{"type": "Ready", "status": "True"}]}
    meta = {"name": name, "labels": {"kubernetes.io/hostname": name}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": status}
