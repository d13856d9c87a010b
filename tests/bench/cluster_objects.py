# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Objects of a cluster before provision: nodes that are nothing else, the class of GPUs, and an operator's plugin."""

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


def sriov_plugin(namespace: str) -> Object:
    """As far as it is looked at, what the SR-IOV operator makes for its device plugin; no node here has its label."""
    name = {"app": "sriov-device-plugin"}
    arguments = ["--log-level=10", "--resource-prefix=openshift.io", "--config-file=/etc/pcidp/$(NODE_NAME)"]
    container = {"name": "sriov-device-plugin", "image": "example.org/plugin", "args": arguments}
    spec = {"nodeSelector": {"node-role.kubernetes.io/worker": ""}, "containers": [container]}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "sriov-device-plugin", "namespace": namespace},
        "spec": {"selector": {"matchLabels": name}, "template": {"metadata": {"labels": name}, "spec": spec}},
    }
