#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: node_labels
short_description: Set labels of many Kubernetes nodes in one call
version_added: 1.0.0
description:
  - Sets and removes labels of nodes. Lists the nodes once and writes only to those that differ.
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
      - Labels of each node, by node name. V(null) removes the label. Labels that are not listed are not changed.
      - Nodes that are not in the cluster are left out. RV(missing) lists those that should have been given a label.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Label nodes with their groups
  zerocopy.rdma.node_labels:
    nodes:
      h100-01: {zerocopy.rdma.node-restriction.kubernetes.io/group: h100}
      a100-07: {zerocopy.rdma.node-restriction.kubernetes.io/group: null}
"""

RETURN = r"""
nodes:
  description: Nodes whose labels were changed, or would be changed in check mode.
  returned: success
  type: list
  elements: str
  sample: [h100-01]
missing:
  description: Nodes that should get labels, but are not in the cluster.
  returned: success
  type: list
  elements: str
  sample: [h100-09]
"""

from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.module import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.nodes import converge


def _call(module: Any, client: Client) -> Dict[str, Any]:
    params = module.params
    for name, labels in params["nodes"].items():
        wrong = [labels] if not isinstance(labels, dict) else [v for v in labels.values() if not _is_label(v)]
        if wrong:
            raise ClusterError(f"nodes: {name} has {wrong[0]!r}, it must be a dictionary of labels with text or null")
    return converge(client, params["nodes"], module.check_mode)


def _is_label(value: Any) -> bool:
    return value is None or isinstance(value, str)


def main() -> None:
    run(
        {
            "nodes": {"type": "dict", "required": True},
        },
        _call,
    )


if __name__ == "__main__":
    main()
