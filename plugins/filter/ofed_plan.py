# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: ofed_plan
short_description: Plan which nodes get the OFED driver of NVIDIA's Network Operator, or lose it
version_added: 0.1.0
description:
  - Computes what is left to do to reach C(rdma_ofed_deploy) on each node, and what is in the way, from the facts of the
    hosts, from what M(zerocopy.rdma.driver_watch) said of them, and from the current state of the cluster.
  - The first node of each group goes alone.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
positional: _input, hostvars, nodes
options:
  _input:
    description: Names of the hosts of the whole fleet.
    type: list
    elements: str
    required: true
  hostvars:
    description: C(hostvars).
    type: dict
    required: true
  nodes:
    description: C(nodes) of M(zerocopy.rdma.node_move_info).
    type: dict
    required: true
  probes:
    description: Result of M(zerocopy.rdma.driver_watch) for each host.
    type: dict
    default: {}
  ramp:
    description: Numbers or percentages of nodes in the waves after those of single nodes.
    type: list
    elements: raw
    default: [1, 10%, 25%]
"""

EXAMPLES = r"""
- name: Show what is left to do
  ansible.builtin.debug:
    msg: "{{ (ansible_play_hosts_all | zerocopy.rdma.ofed_plan(hostvars, uses.nodes)).text }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: The plan.
  type: dict
  contains:
    nodes:
      description:
        - For each host with something to do, whether it gets the driver (C(deploy)), and the values of its label
          afterwards (C(to)) and without the driver (C(was)).
      type: dict
    waves:
      description: Hosts of each wave.
      type: list
      elements: list
      sample: [[v100-01], [v100-02, v100-03]]
    labels:
      description: Labels of all nodes when all is done.
      type: dict
      sample: {v100-01: {zerocopy.rdma/shared-device: v100.ofed}}
    names:
      description:
        - The C(label) by which a node finds its policy, C(trial), the label of a node from the moment that it is
          cordoned until it is uncordoned, C(waits), the label that the operator sets to V(false) where its driver is
          ready, and C(pods), the label of the driver's pods.
      type: dict
    done:
      description: Hosts that have the driver.
      type: list
      elements: str
    warnings:
      description: Hosts that are left out, and why.
      type: list
      elements: str
    text:
      description: The plan by node.
      type: str
    problems:
      description: One line for each thing that is in the way.
      type: list
      elements: str
"""

from dataclasses import asdict
from typing import Any, Callable, Dict, List, Mapping, Optional

from jinja2 import pass_context

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import waves as plan_waves
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.device_plugin import ofed
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate import node_use
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.strategies import ofed_plan as planner
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory, _strategy_inventory, _waves


@pass_context
def ofed_plan(
    context: Mapping[str, Any],
    hosts: List[str],
    hostvars: Mapping[str, Mapping[str, Any]],
    nodes: Mapping[str, Mapping[str, Any]],
    probes: Optional[Mapping[str, Mapping[str, Any]]] = None,
    ramp: Any = plan_waves.RAMP,
) -> Dict[str, Any]:
    found = _strategy_inventory.hosts(context, hosts, hostvars)
    uses = {name: node_use.read(node) for name, node in nodes.items()}
    limits = _waves.limits({host.name: host.group for host in found}, hostvars)
    plan = planner.plan(found, uses, probes or {}, _inventory.options(context), _waves.sizes(ramp), limits)
    names = {"label": planner.LABEL, "trial": ofed.TRIAL, "waits": ofed.WAITS, "pods": ofed.PODS}
    return {**asdict(plan), "names": names}


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"ofed_plan": ofed_plan}
