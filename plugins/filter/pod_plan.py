# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: pod_plan
short_description: Plan the pods that test the claims of each group
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Plans a pod for each ResourceClaimTemplate on some nodes of each group that has it, and a pod for each ResourceClaim
    on its host. Pods that may run at the same time form a wave. Of two neighbouring pods, the second one measures the
    bandwidth to the first.
positional: hosts, hostvars
options:
  _input:
    description: The plan of claims, from the filter P(zerocopy.rdma.claims#filter).
    type: dict
    required: true
  hosts:
    description: Names of the hosts.
    type: list
    elements: str
    required: true
  hostvars:
    description: The magic variable C(hostvars), or any mapping of host names to variables.
    type: dict
    required: true
  sample:
    description: Number of nodes of each group, V(0) for all.
    type: int
    default: 2
  bandwidth:
    description: Whether neighbouring pods measure the bandwidth.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Run the first wave
  zerocopy.rdma.pod_probe:
    pods: "{{ __waves[0] | map(attribute='pod') }}"
    image: registry.example.org/rdma-tools:1
    script: ls /dev/infiniband
  vars:
    __claims: "{{ ansible_play_hosts_all | zerocopy.rdma.claims(hostvars) }}"
    __waves: "{{ __claims | zerocopy.rdma.pod_plan(ansible_play_hosts_all, hostvars) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - The waves. Each entry has the C(pod) as an option of M(zerocopy.rdma.pod_probe), its C(group), the C(entry) of
      C(rdma_claims_templates) and the C(alias) of the ResourceClaimTemplate.
  type: list
  elements: list
"""

from typing import Any, Callable, Dict, List, Mapping

from jinja2 import pass_context

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.strategies.dra import NAME
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.strategies.strategy import served
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import plan
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _strategy_inventory


@pass_context
def pod_plan(
    context: Mapping[str, Any],
    claims: Mapping[str, Any],
    hosts: List[str],
    hostvars: Mapping[str, Mapping[str, Any]],
    sample: int = 2,
    bandwidth: bool = True,
) -> List[List[Dict[str, Any]]]:
    having: Dict[str, List[str]] = {}
    single: Dict[str, str] = {}
    groups: Dict[str, str] = {}
    for host in served(NAME, _strategy_inventory.hosts(context, hosts, hostvars)):
        groups[host.name] = host.group
        for entry in host.variables.get("rdma_claims_templates") or []:
            having.setdefault(str(entry["name"]), []).append(host.name)
        for entry in host.variables.get("rdma_claims_claims") or []:
            if (entry.get("host") or host.name) == host.name:
                single[str(entry["name"])] = host.name
    waves = plan.waves(claims["objects"], claims["names"], having, groups, sample, bandwidth)
    waves += plan.single(claims["objects"], single, groups)
    return [[plan.plain(pod) for pod in wave] for wave in waves]


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"pod_plan": pod_plan}
