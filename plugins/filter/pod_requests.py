# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: pod_requests
short_description: Return how the pods of a group request RDMA, with the names that objects have in the cluster
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Returns the requests that the pods of one group can make, with the names that ResourceClaimTemplates and
    ResourceClaims have in each namespace of the cluster. M(zerocopy.rdma.workload_manifests) and
    M(zerocopy.rdma.workload_rewrite) take them as their option C(requests).
positional: group
options:
  _input:
    description: The plan of all strategies (P(zerocopy.rdma.strategy_plan#filter)).
    type: dict
    required: true
  group:
    description: Name of the group. Not needed if pods can request RDMA in only one group.
    type: str
    default: ''
"""

EXAMPLES = r"""
- name: Show how to request RDMA
  ansible.builtin.debug:
    msg: "{{ ansible_play_hosts_all | zerocopy.rdma.strategy_plan(hostvars) | zerocopy.rdma.pod_requests('h100') }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: The requests.
  type: list
  elements: dict
  sample:
    - name: h100-1nic
      templates: {default: h100-1nic-0a1b2c3d4e}
      claims: {}
      limits: {}
      annotations: {}
      capabilities: [IPC_LOCK]
      environment: {}
      namespace: ""
      gpus: 0
      nics: 1
      host_network: false
      gpu_resource: ""
"""

from typing import Any, Callable, Dict, List, Mapping

from ansible.errors import AnsibleFilterError

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.content_hash import hashed
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import PodRequest
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads import examples, pod
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _strategy_answers

_SAME = (
    "name",
    "limits",
    "annotations",
    "capabilities",
    "environment",
    "namespace",
    "gpus",
    "host_network",
    "gpu_resource",
)


def pod_requests(plan: Mapping[str, Any], group: str = "") -> List[Dict[str, Any]]:
    objects, asks = _strategy_answers.read(plan)
    if not group and len(asks) == 1:
        (group,) = asks
    if group not in asks:
        there = ", ".join(asks) or "none"
        what = f"group {group} has no way to request RDMA" if group else "no group is given (rdma_migrate_group)"
        raise AnsibleFilterError(f"{what}; groups whose pods can request RDMA: {there}")
    claims = {(kind, claimed["metadata"]["name"]): claimed["spec"] for kind, claimed in examples.claim_specs(objects)}

    def names(kind: str, alias: str) -> Dict[str, str]:
        same = [item for item in objects if item["kind"] == kind and item["metadata"]["name"] == alias]
        return {item["metadata"]["namespace"]: hashed(alias, item["spec"]) for item in same}

    def nics(ask: PodRequest) -> int:
        if ask.template:
            return pod.counts(claims["template", ask.template]["spec"])[1]
        return pod.counts(claims["claim", ask.claim])[1] if ask.claim else 0

    return [
        {
            **{name: getattr(ask, name) for name in _SAME},
            "nics": nics(ask),
            "templates": names("ResourceClaimTemplate", ask.template),
            "claims": names("ResourceClaim", ask.claim),
        }
        for ask in asks[group]
    ]


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"pod_requests": pod_requests}
