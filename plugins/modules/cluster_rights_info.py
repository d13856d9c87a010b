#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_rights_info
short_description: Ask which rights a planned change of a cluster lacks
version_added: 1.0.0
description:
  - Asks the API server, by SelfSubjectAccessReviews, whether the user has every right that the steps of
    M(zerocopy.rdma.cluster_apply), and a look at the cluster, need. M(zerocopy.rdma.plan) uses it before anything is
    changed.
  - The right to delete is asked for where a set has objects that are no longer planned.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
  - zerocopy.rdma._cluster
  - kubernetes.core.k8s_auth_options
options:
  steps:
    description: The steps of a plan.
    type: list
    elements: dict
    required: true
  look:
    description: Options of M(zerocopy.rdma.cluster_info), if the rights to read these are asked for as well.
    type: dict
    default: {}
seealso:
  - module: zerocopy.rdma.cluster_apply
"""

EXAMPLES = r"""
- name: Ask which rights are missing to label a node
  zerocopy.rdma.cluster_rights_info:
    steps:
      - {kind: labels, title: Label the nodes, part: driver, nodes: {h100-01: {example.org/rdma: "true"}}}
  register: asked
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
denied:
  description: The rights that the user does not have, in words. Empty also if the user may not ask.
  returned: success
  type: list
  elements: str
  sample: [this user has no right to create and patch daemonsets.apps in namespace kube-system]
"""

from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._payload.sources import compile_once

compile_once()

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import steps
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import rights
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.module import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client


def _call(module: Any, client: Client) -> Dict[str, Any]:
    try:
        wanted = steps.read(module.params["steps"])
    except ValueError as error:
        raise ClusterError(f"steps: {error}") from error
    return {"changed": False, "denied": rights.missing(client, wanted, module.params["look"])}


def main() -> None:
    steps_of_plan = {"type": "list", "elements": "dict", "required": True}
    run({"steps": steps_of_plan, "look": {"type": "dict", "default": {}}}, _call)


if __name__ == "__main__":
    main()
