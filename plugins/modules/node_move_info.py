#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: node_move_info
short_description: Query which pods use RDMA on each node, and whether the node changes its strategy
version_added: 0.1.0
description:
  - Returns what a plan needs to move nodes from one way to RDMA to another. Lists nodes, pods, ResourceClaims and
    DaemonSets once.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
  - zerocopy.rdma._cluster
  - zerocopy.rdma._node_use
  - kubernetes.core.k8s_auth_options
seealso:
  - module: zerocopy.rdma.node_move
"""

EXAMPLES = r"""
- name: Query which pods hold RDMA resources
  zerocopy.rdma.node_move_info:
  register: uses
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
nodes:
  description:
    - For each node, its C(name), C(labels), whether it is C(unschedulable), the C(mark) of a move that has begun, the
      C(users) of its NICs, allocatable RDMA C(resources), DaemonSets of other device C(plugins), and the C(counters)
      that M(zerocopy.rdma.node_extended_resources) wrote.
  returned: success
  type: dict
  sample:
    h100-01:
      name: h100-01
      labels: {zerocopy.rdma/group: h100}
      unschedulable: false
      mark: null
      resources: {}
      users: []
      plugins: []
      counters: {}
plugins:
  description:
    - Device plugins of others in the cluster. C(daemon_set) is C(namespace/name), C(program) what it is, C(nodes) the
      number of nodes that it is meant for, and C(remove) the command that removes it, or where to take it out.
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

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate import node_use
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.module import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.node_move.look import foreign, info


def _call(module: Any, client: Client) -> Dict[str, Any]:
    params = module.params
    found = info(client, params["ours"], params["drivers"], params["resources"])
    return {
        "changed": False,
        "nodes": {name: node_use.written(use) for name, use in found.items()},
        "plugins": [asdict(one) for one in foreign(client, params["ours"])],
    }


def main() -> None:
    texts = {"type": "list", "elements": "str", "default": []}
    run({"ours": texts, "drivers": texts, "resources": texts}, _call)


if __name__ == "__main__":
    main()
