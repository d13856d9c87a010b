#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: node_extended_resources
short_description: Remove extended resources that a device plugin left behind, and maintain those that only count pods
version_added: 1.0.0
description:
  - When a device plugin is removed, its resources stay in the status of its nodes forever, with their capacity and with
    0 allocatable. To users and tools that look at the capacity, such nodes seem to have devices.
  - With O(nodes), this module removes such resources from C(status.capacity) and C(status.allocatable) of many nodes in
    one call.
  - With O(counters), the module writes extended resources that no device plugin offers, because they only count pods.
    The annotation C(zerocopy.rdma/counters) of a node says which resources the module has written there. The module
    never changes other resources of the node. If something else has written the annotation, the module leaves the node
    unchanged and returns it in RV(broken).
  - Fails before any change if a device plugin still offers devices, because the kubelet would add the resources again,
    or if a pod that has not ended still holds one.
  - In check mode, the module fails only if pods hold a resource, not if a device plugin still offers devices. Before a
    playbook removes a plugin, it can thus find out whether pods still need the plugin.
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
      - For each node, the full names of the resources to remove, such as V(nvidia.com/hostdev). Nodes that are not in
        the cluster are skipped, and so are resources that a node does not have.
      - Exactly one of O(nodes) and O(counters) is required.
    type: dict
  counters:
    description:
      - For each node, all extended resources that this module should maintain there, each with its number. Resources
        that an earlier call wrote to the node and that are no longer listed are removed. Nodes that are not in the
        cluster are skipped.
      - The module fails before any change if something else offers one of these resources.
    type: dict
  keep_used:
    description:
      - Whether to warn of resources that are still advertised or in use and leave them unchanged, instead of failing.
    type: bool
    default: false
  label:
    description:
      - With O(nodes), the label of the nodes on which the device plugin runs. On nodes without this label, other device
        plugins may provide resources of the same names. There, resources that are advertised are left unchanged, and
        resources that pods hold are treated as with O(keep_used=true).
      - By default, the device plugin is assumed to run on any of the nodes.
    type: str
    default: ""
  wait_timeout:
    description:
      - Seconds to wait, with O(nodes), for device plugins whose pods are ending, and for the kubelet, which writes a
        resource again until its plugin has been gone for five minutes. A resource that the kubelet still writes after
        that time is removed, with a warning that it will come back.
      - Check mode does not wait.
    type: int
    default: 400
notes:
  - The user needs the verb C(list) for C(nodes) and C(pods), C(get) and C(watch) for C(nodes), and C(patch) for
    C(nodes/status).
  - A device plugin all of whose devices are unhealthy looks like one that was removed. The kubelet then adds the
    plugin's resources again.
  - The kubelet keeps a resource of O(counters) in the status of its node. Two events remove the resource, and the next
    call of this module restores it. A kubelet that starts without a checkpoint of its device manager, that is, on a
    node where no device plugin has ever registered, sets the resource to 0. A node that was deleted and registers again
    does not have the resource.
"""

EXAMPLES = r"""
- name: Remove what the host device plugin left behind
  zerocopy.rdma.node_extended_resources:
    nodes:
      v100-01: [nvidia.com/hostdev]
      v100-02: [nvidia.com/hostdev]

- name: Count the pods that use the NICs of one node, and stop counting them on another node
  zerocopy.rdma.node_extended_resources:
    counters:
      v100-01: {rdma.io/hca: 100}
      v100-02: {}
"""

RETURN = r"""
nodes:
  description: Resources that were changed or, in check mode, would be changed, by node name.
  returned: success
  type: dict
  sample: {v100-01: [nvidia.com/hostdev]}
broken:
  description:
    - With O(counters), the nodes that were left unchanged because the value of their annotation is not one that this
      module writes. For each of them, a message with the command that removes the annotation.
  returned: with O(counters)
  type: dict
  sample: {}
warnings:
  description:
    - With O(keep_used=true) or O(label), the resources that were left unchanged. Also the resources that the kubelet
      will write again.
  returned: if there are any
  type: list
  elements: str
"""

from typing import Any, Dict, Iterable, List

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import counters, extended_resources
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.module import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.integer import is_integer
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.names import is_extended_resource


def _checked(option: str, verb: str, node: str, resources: Iterable[Any]) -> List[str]:
    for resource in resources:
        if not is_extended_resource(str(resource)):
            right = "it must be an extended resource such as nvidia.com/hostdev, not one of Kubernetes itself"
            raise ClusterError(f"{option}: {resource!r} of {node} cannot be {verb}, {right}")
    return list(dict.fromkeys(map(str, resources)))


def _counters(params: Dict[str, Any]) -> counters.Counters:
    wanted: Dict[str, Dict[str, int]] = {}
    for node, numbers in params["counters"].items():
        right = isinstance(numbers, dict) and all(is_integer(number) and number > 0 for number in numbers.values())
        if not right:
            raise ClusterError(f"counters: {node} has {numbers!r}, it must be numbers from 1 by extended resource")
        wanted[str(node)] = dict(zip(_checked("counters", "written", node, numbers), numbers.values()))
    return wanted


def _call(module: Any, client: Client) -> Dict[str, Any]:
    params = module.params
    if (params["nodes"] is None) == (params["counters"] is None):
        raise ClusterError("either nodes or counters must be given")
    if params["counters"] is not None:
        return counters.keep(client, _counters(params), module.check_mode, params["keep_used"])
    wanted: Dict[str, List[str]] = {}
    for node, resources in params["nodes"].items():
        if not isinstance(resources, list):
            raise ClusterError(f"nodes: {node} has {resources!r}, it must be a list of extended resources")
        wanted[str(node)] = _checked("nodes", "removed", node, resources)
    options = (params["wait_timeout"], module.check_mode, params["keep_used"], params["label"])
    return extended_resources.remove(client, wanted, *options)


def main() -> None:
    run(
        {
            "nodes": {"type": "dict"},
            "counters": {"type": "dict"},
            "keep_used": {"type": "bool", "default": False},
            "label": {"type": "str", "default": ""},
            "wait_timeout": {"type": "int", "default": 400},
        },
        _call,
    )


if __name__ == "__main__":
    main()
