#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: node_extended_resources
short_description: Remove extended resources that a device plugin left behind on nodes
version_added: 0.1.0
description:
  - When a device plugin is removed, its resources stay in the status of its nodes for ever, with their capacity and
    with 0 allocatable. To users and tools that look at the capacity, such nodes seem to have devices.
  - This module removes such resources from C(status.capacity) and C(status.allocatable) of many nodes in one call.
  - Fails before any change if a device plugin still offers devices, because the kubelet would add the resources again,
    or if a pod that has not ended still holds one.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.state_module
  - zerocopy.rdma._cluster
  - kubernetes.core.k8s_auth_options
options:
  nodes:
    description:
      - For each node, the full names of the resources, such as V(nvidia.com/hostdev). Nodes that are not in the cluster
        are skipped, and so are resources that a node does not have.
    type: dict
    required: true
  keep_used:
    description:
      - Whether to leave resources that are still advertised or in use as they are, with a warning, instead of failing.
    type: bool
    default: false
  wait_timeout:
    description:
      - Seconds to wait for device plugins whose pods are ending. Check mode does not wait.
    type: int
    default: 60
notes:
  - The user needs the verb C(list) for C(nodes) and C(pods), C(get) and C(watch) for C(nodes), and C(patch) for
    C(nodes/status).
  - A device plugin all of whose devices are unhealthy looks like one that was removed. The kubelet then adds its
    resources again.
"""

EXAMPLES = r"""
- name: Remove what the host device plugin left behind
  zerocopy.rdma.node_extended_resources:
    nodes:
      v100-01: [nvidia.com/hostdev]
      v100-02: [nvidia.com/hostdev]
"""

RETURN = r"""
nodes:
  description: Resources that were removed or, in check mode, would be removed, by node name.
  returned: success
  type: dict
  sample: {v100-01: [nvidia.com/hostdev]}
warnings:
  description: In check mode, the errors with which a run would fail. With O(keep_used), what was left.
  returned: success
  type: list
  elements: str
"""

from typing import Any, Dict, List

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import extended_resources
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.module import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.names import is_extended_resource


def _call(module: Any, client: Client) -> Dict[str, Any]:
    params = module.params
    wanted: Dict[str, List[str]] = {}
    for node, resources in params["nodes"].items():
        if not isinstance(resources, list):
            raise ClusterError(f"nodes: {node} has {resources!r}, it must be a list of extended resources")
        for resource in resources:
            if not is_extended_resource(str(resource)):
                right = "it must be an extended resource such as nvidia.com/hostdev, not one of Kubernetes itself"
                raise ClusterError(f"nodes: {resource!r} of {node} cannot be removed, {right}")
        wanted[str(node)] = list(dict.fromkeys(map(str, resources)))
    timeout = params["wait_timeout"]
    return extended_resources.remove(client, wanted, timeout, module.check_mode, params["keep_used"])


def main() -> None:
    run(
        {
            "nodes": {"type": "dict", "required": True},
            "keep_used": {"type": "bool", "default": False},
            "wait_timeout": {"type": "int", "default": 60},
        },
        _call,
    )


if __name__ == "__main__":
    main()
