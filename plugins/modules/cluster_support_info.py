#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_support_info
short_description: Read what a cluster knows of nodes for a support bundle
version_added: 1.0.0
description:
  - Reads the versions, conditions, labels and taints of nodes, their ResourceSlices, the ResourceClaims that have
    devices of them, the DeviceTaintRules for them, and states and logs of the pods of DRA drivers and of this
    collection on them. Secrets are taken out of all of it. Specifications of pods are not returned.
  - Does not fail if something cannot be read; RV(missing) says why.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
  - zerocopy.rdma._cluster
  - kubernetes.core.k8s_auth_options
options:
  nodes:
    description: Names of the nodes.
    type: list
    elements: str
    required: true
  hours:
    description: Hours that logs go back.
    type: int
    default: 24
  megabytes:
    description: Size of all files together for each node, in millions of characters. What is older is left out.
    type: int
    default: 8
seealso:
  - module: zerocopy.rdma.support_bundle
"""

EXAMPLES = r"""
- name: Read what the cluster knows of a node
  zerocopy.rdma.cluster_support_info:
    nodes: [h100-07]
  register: known
  delegate_to: localhost
  run_once: true

- name: Show which logs there are
  ansible.builtin.debug:
    msg: "{{ known.files | select('match', 'logs/') }}"
  run_once: true
"""

RETURN = r"""
files:
  description: Texts by their name in a bundle, such as C(resourceslices.json).
  returned: success
  type: dict
missing:
  description: What could not be read, with the reason.
  returned: success
  type: dict
cut:
  description: Files that are not whole, with what is left out of them.
  returned: success
  type: dict
"""

from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._payload.sources import compile_once

compile_once()

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.support import cluster
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.module import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client


def _call(module: Any, client: Client) -> Dict[str, Any]:
    params = module.params
    found = cluster.gather(client, params["nodes"], params["hours"], params["megabytes"] * 1_000_000)
    return {"changed": False, **found.plain()}


def main() -> None:
    run(
        {
            "nodes": {"type": "list", "elements": "str", "required": True},
            "hours": {"type": "int", "default": 24},
            "megabytes": {"type": "int", "default": 8},
        },
        _call,
    )


if __name__ == "__main__":
    main()
