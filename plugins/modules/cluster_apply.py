#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_apply
short_description: Carry out the plan of a cluster
version_added: 1.0.0
description:
  - Carries out the steps that M(zerocopy.rdma.plan) has planned, in one process and over one connection. Steps
    are labels of nodes, sets of objects, fields of an operator's policy, and extended resources of nodes.
  - Everything that may be refused is tried before anything is changed, objects by a dry run of the API server. Fails
    if a pod still uses something that would be removed.
  - Without a cluster (C(rdma_cluster=none)), writes the planned manifests to the directory C(rdma_manifests) instead,
    and removes those of earlier runs that nothing needs any more.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.state_module
  - zerocopy.rdma._cluster
  - kubernetes.core.k8s_auth_options
options:
  plan:
    description: Directory of the plan, as M(zerocopy.rdma.plan) returns it.
    type: path
  parts:
    description: Parts of the plan to carry out.
    type: list
    elements: str
    choices: [driver, claims]
    default: [driver, claims]
  steps:
    description: The steps themselves. This module sets them from O(plan) on the controller.
    type: list
    elements: dict
    default: []
seealso:
  - module: zerocopy.rdma.plan
"""

EXAMPLES = r"""
- name: Apply the drivers and device plugins of all strategies
  zerocopy.rdma.cluster_apply:
    plan: "{{ plan.directory }}"
    parts: [driver]
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
steps:
  description:
    - The result of each step, with its C(title), C(part) and C(changed). Steps with a set of objects have C(set),
      C(objects) and C(names) as M(zerocopy.rdma.applyset) returns them, steps with nodes have C(nodes).
  returned: success
  type: list
  elements: dict
  sample:
    - title: Label the nodes (dra)
      part: driver
      changed: false
      nodes: []
      missing: []
late:
  description:
    - Whether claims have to be planned again, because drivers have not published all devices yet, or because a step of
      the drivers has changed something. The steps for claims have not been done then.
  returned: success
  type: bool
missing:
  description: Nodes that should get labels, but are not in the cluster.
  returned: with a cluster
  type: list
  elements: str
unready:
  description: For each node, which DaemonSets do not work there, and which policies for it were rejected.
  returned: with a cluster
  type: dict
broken:
  description: For each node whose annotation cannot be read, what is wrong with it.
  returned: with a cluster
  type: dict
unserved:
  description: For each host whose pods do not get RDMA, why.
  returned: with O(plan)
  type: dict
  sample: {h100-07: ["h100-07 is not a node of the cluster"]}
manifests:
  description: The files that were written or removed.
  returned: without a cluster
  type: list
  elements: str
"""

from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._payload.sources import compile_once

compile_once()

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import steps
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.module import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.carry_out import carry_out


def _call(module: Any, client: Client) -> Dict[str, Any]:
    try:
        wanted = steps.read(module.params["steps"])
    except ValueError as error:
        raise ClusterError(f"steps: {error}") from error
    return carry_out(client, wanted, module.check_mode, module._diff)


def main() -> None:
    run(
        {
            "plan": {"type": "path"},
            "parts": {
                "type": "list",
                "elements": "str",
                "choices": ["driver", "claims"],
                "default": ["driver", "claims"],
            },
            "steps": {"type": "list", "elements": "dict", "default": []},
        },
        _call,
    )


if __name__ == "__main__":
    main()
