# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: claims
short_description: Plan DeviceClasses, claim templates and claims from facts
version_added: 1.0.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Turns the variables C(rdma_claims_*) of all hosts and the facts of M(zerocopy.rdma.rdma_facts) into the objects of
    C(resource.k8s.io/v1) with which pods claim GPUs and RDMA NICs, and proves offline that nodes can satisfy them.
  - What the drivers will publish is derived from the facts and the drivers' versions (C(rdma_driver_dranet_version),
    C(rdma_driver_gpu_version)), unless O(slices) has what they already publish.
  - Leaves out hosts whose C(rdma_strategy) is not V(dra).
  - Compute it once for all hosts (C(run_once)), not per host.
extends_documentation_fragment:
  - zerocopy.rdma._hosts
  - zerocopy.rdma._published
positional: hostvars
options:
  kueue_classes:
    description:
      - DeviceClasses that Kueue's configuration maps to quotas, to warn of templates with others, as
        M(zerocopy.rdma.resource_slice_info) returns them. By default this is not checked.
    type: list
    elements: str
"""

EXAMPLES = r"""
- name: Show what pods can claim, and why
  ansible.builtin.debug:
    msg: "{{ (ansible_play_hosts_all | zerocopy.rdma.claims(hostvars)).text }}"
  run_once: true

- name: Query what the drivers publish
  zerocopy.rdma.resource_slice_info:
  register: cluster
  run_once: true
  delegate_to: localhost

- name: Fail on invalid configuration
  ansible.builtin.assert:
    that: __plan.problems == []
    fail_msg: "{{ __plan.problems }}"
  vars:
    __plan: "{{ ansible_play_hosts_all | zerocopy.rdma.claims(hostvars, cluster.slices, cluster.kubernetes,
      cluster.device_classes, cluster.kueue_classes) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: The plan.
  type: dict
  contains:
    objects:
      description: Objects in the order in which to apply them. Empty if there are problems.
      type: list
      elements: dict
    names:
      description: The ResourceClaimTemplates that each entry of C(rdma_claims_templates) becomes.
      type: dict
      sample: {h100-4gpu-4nic: [h100-4gpu-4nic-numa0, h100-4gpu-4nic-numa1]}
    claims:
      description: For each host, the entries of C(rdma_claims_claims) for its NICs.
      type: dict
      sample: {h100-01: [prefill]}
    resources:
      description:
        - The extended resources of each group (C(rdma_claims_extended_resources)), each with the HCAs that it can be on
          each host.
      type: dict
      sample: {h100: {rdma/hca_shared_devices_a: {h100-01: [mlx5_0, mlx5_1]}}}
    text:
      description: For each template, how it is aligned and why, and how many devices it matches on which nodes.
      type: str
    warnings:
      description:
        - Problems that do not prevent applying the objects, such as nodes on which a template does not fit, or hosts
          without facts whose published NICs were counted, but not checked.
      type: list
      elements: str
    problems:
      description: One line for each problem, with the hosts, the variable, its value and what would be correct.
      type: list
      elements: str
    unmet:
      description:
        - For each host whose claims can be satisfied according to its facts but not according to O(slices), one line
          for each reason. The claims of these hosts are planned from the facts. The same for hosts whose GPUs cannot be
          handed out yet, because their driver does not publish them.
      type: dict
      sample:
        lab-01: ["lab-01: rdma_claims_templates[0] (nic) cannot be satisfied on any node. lab-01: 0 NICs of this kind"]
    unknown:
      description:
        - Hosts with claims that have neither facts nor published devices. Objects that only they need may be missing
          from C(objects), so nothing should be pruned.
      type: list
      elements: str
"""

from dataclasses import asdict
from functools import partial
from typing import Any, Callable, Dict, List, Mapping, Optional, Union

from jinja2 import pass_context

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra import strategy as dra
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import objects
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _strategy_inventory


@pass_context
def claims(
    context: Mapping[str, Any],
    hosts: List[str],
    hostvars: Mapping[str, Mapping[str, Any]],
    slices: Optional[List[Dict[str, Any]]] = None,
    kubernetes: Optional[str] = None,
    device_classes: Union[List[str], str, None] = None,
    kueue_classes: Union[List[str], str, None] = None,
) -> Dict[str, Any]:
    found = _strategy_inventory.hosts(context, hosts, hostvars)
    cluster = _strategy_inventory.cluster(slices, kubernetes, device_classes)
    planned = _strategy_inventory.planned(context, found, partial(dra.claims, tolerant=True), cluster)
    planned.warnings += objects.unmapped(planned.objects, _strategy_inventory.given(kueue_classes))
    return asdict(planned)


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"claims": claims}
