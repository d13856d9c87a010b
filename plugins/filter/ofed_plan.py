# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: ofed_plan
short_description: Plan which nodes get the OFED driver of NVIDIA's Network Operator, or lose it
version_added: 0.1.0
description:
  - Plans which nodes get the driver (C(rdma_ofed_deploy)) or lose it, in which waves, and reports what is in the way.
    The plan depends on the facts of the hosts, the results of M(zerocopy.rdma.driver_watch), and the current state of
    the cluster.
  - If no node of a group has the driver yet, one node of the group is a wave of its own, before all other nodes.
  - Nodes whose NICs are in use by pods are left out.
  - Compute it once for all hosts (C(run_once)), not per host.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._hosts
positional: hostvars, nodes
options:
  nodes:
    description: The nodes of the cluster, as M(zerocopy.rdma.node_move_info) returns them.
    type: dict
    required: true
  probes:
    description: Result of M(zerocopy.rdma.driver_watch) without C(watch) for each host.
    type: dict
    default: {}
  failed:
    description: Hosts that have failed in this run, and are left out.
    type: list
    elements: str
    default: []
  ramp:
    description: Sizes of the waves after the single nodes, as option O(zerocopy.rdma.plan#module:ramp).
    type: raw
    default: [1, "10%", "25%"]
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
        - For each host with something to do, whether it gets the driver (C(deploy)) or loses it, and the value of its
          label afterwards (C(to)) and without the driver (C(was)). C(loaded) says that an earlier run, which
          was stopped, has already given it the driver.
      type: dict
      sample:
        v100-01: {name: v100-01, deploy: true, to: v100.ofed, was: v100.operator, loaded: false}
    waves:
      description: Hosts of each wave.
      type: list
      elements: list
      sample: [[v100-01], [v100-02, v100-03]]
    labels:
      description: Labels that each node of the cluster has after all waves.
      type: dict
      sample: {v100-01: {zerocopy.rdma.node-restriction.kubernetes.io/shared-device: v100.ofed}}
    names:
      description:
        - Names of labels. C(label) selects the operator's policy for a node. C(trial) is on a node from the moment that
          it is cordoned until it is uncordoned. C(waits) is set to V(false) by the operator when its driver is ready on
          the node. C(pods) is on the driver's pods.
      type: dict
    done:
      description: Hosts that have the driver and keep it.
      type: list
      elements: str
    warnings:
      description: Hosts that are left out, and why.
      type: list
      elements: str
    text:
      description: The plan as text, by wave and node.
      type: str
    refused:
      description: For each host that is left out because of an obstacle on its node, one line for each obstacle.
      type: dict
    problems:
      description: One line for each obstacle because of which nothing can be changed, with the hosts.
      type: list
      elements: str
"""

from dataclasses import asdict
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from jinja2 import pass_context

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import waves as plan_waves
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import ofed_rollout as planner
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import use as node_use
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import ofed
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _for_people, _inventory, _strategy_inventory, _waves


@pass_context
def ofed_plan(
    context: Mapping[str, Any],
    hosts: List[str],
    hostvars: Mapping[str, Mapping[str, Any]],
    nodes: Mapping[str, Mapping[str, Any]],
    probes: Optional[Mapping[str, Mapping[str, Any]]] = None,
    ramp: Any = plan_waves.RAMP,
    failed: Sequence[str] = (),
) -> Dict[str, Any]:
    found = _strategy_inventory.hosts(context, hosts, hostvars)
    uses = {name: node_use.read(node) for name, node in nodes.items()}
    limits = _waves.limits({host.name: host.group for host in found}, hostvars)
    plan = planner.plan(found, uses, probes or {}, _inventory.options(context), _waves.sizes(ramp), limits, failed)
    names = {"label": registry.of_ofed().label, "trial": ofed.TRIAL, "waits": ofed.WAITS, "pods": ofed.PODS}
    return {**_for_people.cleaned(asdict(plan)), "names": names}


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"ofed_plan": ofed_plan}
