#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: node_move_info
short_description: Query which pods use RDMA on each node, and which nodes are being moved to another strategy
version_added: 1.0.0
description:
  - Returns what a plan needs to move nodes from one strategy to another. Lists nodes, pods, ResourceClaims and
    DaemonSets once.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
  - zerocopy.rdma._cluster
  - zerocopy.rdma._node_use
  - zerocopy.rdma._gpu_resources
  - kubernetes.core.k8s_auth_options
seealso:
  - module: zerocopy.rdma.node_move
"""

EXAMPLES = r"""
- name: Look at the strategies of the inventory
  zerocopy.rdma.plan:
    parts: [strategies]
  register: plan
  run_once: true

- name: Query which pods use RDMA on each node
  zerocopy.rdma.node_move_info:
    ours: "{{ plan.strategies.labels }}"
    drivers: "{{ plan.strategies.drivers }}"
    resources: "{{ plan.strategies.resources.values() | flatten }}"
  register: uses
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
nodes:
  description:
    - For each node, its C(name), its C(labels), whether it is C(unschedulable), the C(mark) that
      M(zerocopy.rdma.node_move) leaves on a node that is being moved (V(null) on other nodes), the allocatable RDMA
      C(resources), and the C(counters) that M(zerocopy.rdma.node_extended_resources) wrote.
    - C(users) are the pods that use NICs of the node, each with C(namespace), C(name), C(uid), C(why) it counts as a
      user, and the C(owner) and C(owner_kind) that control it (empty if nothing does).
    - C(plugins) are the DaemonSets (namespace/name) of device plugins of others that have a pod on the node.
    - C(broken) has one line for each annotation of the node whose value is not one that M(zerocopy.rdma.node_move) or
      M(zerocopy.rdma.node_extended_resources) writes; the line says how to remove the annotation. C(mark) is then
      V(null), or C(counters) is empty.
  returned: success
  type: dict
  sample:
    h100-01:
      name: h100-01
      labels: {zerocopy.rdma.node-restriction.kubernetes.io/group: h100}
      unschedulable: false
      mark: null
      resources: {rdma/hca_shared_devices_a: 63}
      users:
        - namespace: llm
          name: decode-0
          uid: 6c1f7a52-9d7e-4f0e-8a51-0c6b3f4d2e11
          why: rdma/hca_shared_devices_a
          owner: StatefulSet llm/decode
          owner_kind: StatefulSet
      plugins: [kube-system/rdma-shared-dp]
      counters: {}
      broken: []
plugins:
  description:
    - Device plugins for RDMA that something other than this collection has deployed. C(daemon_set) is the DaemonSet
      (namespace/name), C(program) the name of the device plugin, C(nodes) the number of nodes that should run it, and
      C(remove) the way to remove it.
  returned: success
  type: list
  elements: dict
  sample:
    - daemon_set: kube-system/rdma-shared-dp
      program: k8s-rdma-shared-dev-plugin
      nodes: 2
      remove: helm uninstall rdma --namespace kube-system
"""

from dataclasses import asdict
from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import use as node_use
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.look import foreign, info
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.module import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client


def _call(module: Any, client: Client) -> Dict[str, Any]:
    params = module.params
    names = Names(params["resources"], params["gpu_resources"])
    found = info(client, params["ours"], params["drivers"], names)
    return {
        "changed": False,
        "nodes": {name: node_use.written(use) for name, use in found.items()},
        "plugins": [asdict(plugin) for plugin in foreign(client, params["ours"])],
    }


def main() -> None:
    texts = {"type": "list", "elements": "str", "default": []}
    run({"ours": texts, "drivers": texts, "resources": texts, "gpu_resources": texts}, _call)


if __name__ == "__main__":
    main()
