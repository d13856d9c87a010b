# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: cluster_verdicts
short_description: Judge drivers, slices and objects of a cluster
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Checks for each node whether DRANET runs and publishes what the facts say, and for each set of objects whether it is
    still as applied.
extends_documentation_fragment:
  - zerocopy.rdma._hosts
positional: hostvars
options:
  labels:
    description: Labels of the nodes, from the plan of P(zerocopy.rdma.driver#filter).
    type: dict
    required: true
  nodes:
    description: What M(zerocopy.rdma.resource_slice_info) returned for each node.
    type: dict
    required: true
  pods:
    description: The pods of DRANET.
    type: list
    elements: dict
    required: true
  sets:
    description: Objects that M(zerocopy.rdma.applyset) returned in check mode, by the name of their set.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Judge the cluster
  ansible.builtin.set_fact:
    found: "{{ ansible_play_hosts_all | zerocopy.rdma.cluster_verdicts(hostvars, __driver.labels, __info.nodes,
      __pods.resources, {'zerocopy-rdma-claims': __claims.objects}) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: C(checks), as in the document of the role P(zerocopy.rdma.rdma_verify#role).
  type: dict
"""

from dataclasses import asdict
from typing import Any, Callable, Dict, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.cluster import verdicts


def cluster_verdicts(
    hosts: List[str],
    hostvars: Mapping[str, Mapping[str, Any]],
    labels: Mapping[str, Any],
    nodes: Mapping[str, Any],
    pods: Sequence[Mapping[str, Any]],
    sets: Mapping[str, Sequence[Mapping[str, Any]]],
) -> Dict[str, List[Dict[str, Any]]]:
    groups = {host: variables.group_of(hostvars[host]) for host in hosts}
    return {"checks": [asdict(check) for check in verdicts.checks(groups, labels, nodes, pods, sets)]}


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"cluster_verdicts": cluster_verdicts}
