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
    still as applied. Run the entry points C(compare) of the strategies' roles before, because this filter reads the
    results that they registered.
extends_documentation_fragment:
  - zerocopy.rdma._hosts
positional: hostvars
options:
  nodes:
    description: RV(zerocopy.rdma.resource_slice_info#module:nodes).
    type: dict
    required: true
  pods:
    description: The pods of DRANET.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Judge the cluster
  ansible.builtin.set_fact:
    found: "{{ ansible_play_hosts_all | zerocopy.rdma.cluster_verdicts(hostvars, __info.nodes, __pods.resources) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: C(checks), as in the document of the role P(zerocopy.rdma.rdma_verify#role).
  type: dict
"""

from dataclasses import asdict
from typing import Any, Callable, Dict, List, Mapping, Sequence

from jinja2 import pass_context

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.cluster import verdicts
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory, _strategy_inventory

# What a role that compares leaves: its set, and the fields of an operator's policy.
_LEFT = ("result", "policy")


def _objects(variables: Mapping[str, Any], role: str) -> List[Mapping[str, Any]]:
    left = [_inventory.raw(variables, f"{role}_{name}") or {} for name in _LEFT]
    return [item for result in left for item in result.get("objects", ())]


@pass_context
def cluster_verdicts(
    context: Mapping[str, Any],
    hosts: List[str],
    hostvars: Mapping[str, Mapping[str, Any]],
    nodes: Mapping[str, Any],
    pods: Sequence[Mapping[str, Any]],
) -> Dict[str, List[Dict[str, Any]]]:
    every = _strategy_inventory.hosts(context, hosts, hostvars)
    own = hostvars[str(context["inventory_hostname"])]
    sets = {role.partition("_")[2]: _objects(own, role) for role in registry.set_roles()}
    found = verdicts.checks(
        {host.name: host.group for host in every},
        registry.driven(every, _inventory.options(context)),
        nodes,
        pods,
        # Strategies that no group has, have no set.
        {name: objects for name, objects in sets.items() if objects},
    )
    return {"checks": [asdict(check) for check in found]}


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"cluster_verdicts": cluster_verdicts}
