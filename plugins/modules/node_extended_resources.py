#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: node_extended_resources
short_description: Remove extended resources that a device plugin left behind on nodes
version_added: 0.1.0
description:
  - After a device plugin is gone, its resources stay in the status of its nodes for ever, with their capacity and with
    0 allocatable. People and tools that look at the capacity take such nodes for nodes with devices.
  - Removes them from C(status.capacity) and C(status.allocatable) of many nodes in one call.
  - Fails before it changes anything where a device plugin still has devices to give, since the kubelet would write its
    resources again, and where a pod that has not ended holds one.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.state_module
  - zerocopy.rdma._cluster
  - kubernetes.core.k8s_auth_options
options:
  nodes:
    description: Names of the nodes. Nodes that are not in the cluster are skipped.
    type: list
    elements: str
    required: true
  resources:
    description:
      - Full names of the resources, such as V(nvidia.com/hostdev). A resource that a node does not have is skipped.
    type: list
    elements: str
    required: true
  wait_timeout:
    description:
      - For how many seconds to wait for device plugins whose pods are ending. Check mode does not wait.
    type: int
    default: 60
notes:
  - The user needs the verbs C(list) of C(nodes) and C(pods), C(get) and C(watch) of C(nodes), and C(patch) of
    C(nodes/status).
  - A device plugin all of whose devices are unhealthy looks like one that is gone. The kubelet writes its resources
    again.
"""

EXAMPLES = r"""
- name: Remove what the host device plugin left behind
  zerocopy.rdma.node_extended_resources:
    nodes: [v100-01, v100-02]
    resources: [nvidia.com/hostdev]
"""

RETURN = r"""
nodes:
  description: By name of the node, the resources that were removed, or would be in check mode.
  returned: success
  type: dict
  sample: {v100-01: [nvidia.com/hostdev]}
warnings:
  description: In check mode, what a run would fail with.
  returned: success
  type: list
  elements: str
"""

from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import extended_resources
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.module import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.names import is_extended_resource


def _call(module: Any, client: Client) -> Dict[str, Any]:
    params = module.params
    for resource in params["resources"]:
        if not is_extended_resource(resource):
            right = "it must be an extended resource such as nvidia.com/hostdev, not one of Kubernetes itself"
            raise ClusterError(f"resources: {resource!r} cannot be removed, {right}")
    names, resources = list(dict.fromkeys(params["nodes"])), list(dict.fromkeys(params["resources"]))
    return extended_resources.remove(client, names, resources, params["wait_timeout"], module.check_mode)


def main() -> None:
    run(
        {
            "nodes": {"type": "list", "elements": "str", "required": True},
            "resources": {"type": "list", "elements": "str", "required": True},
            "wait_timeout": {"type": "int", "default": 60},
        },
        _call,
    )


if __name__ == "__main__":
    main()
