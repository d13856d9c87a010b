# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: driver
short_description: Plan the DRA driver of each inventory group
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Turns the variables C(rdma_driver_*) of all hosts into the objects that run DRANET on them, one DaemonSet per group,
    and into the labels that select the nodes of each DaemonSet.
  - Hosts whose C(rdma_strategy) is not V(dra) get neither. The labels of hosts without facts are left as they are.
  - The nodes of a group share one filter of devices. As long as a node that has the driver
    has no facts, no device is taken off the list in O(daemon_sets) of devices that the filter leaves out.
  - Compute it once for all hosts (C(run_once)), not per host.
extends_documentation_fragment:
  - zerocopy.rdma._hosts
positional: hostvars
options:
  daemon_sets:
    description:
      - The existing DaemonSets of the driver, as M(zerocopy.rdma.cluster_info) returns them, or the objects of
        manifests. By default, the driver is assumed not to be deployed yet.
    type: list
    elements: dict
  nodes:
    description:
      - Labels of each node of the cluster, as M(zerocopy.rdma.cluster_info) returns them. By default, any
        host of a group is assumed to have the driver already if O(daemon_sets) has that of its group.
    type: dict
"""

EXAMPLES = r"""
- name: Show what would be applied
  ansible.builtin.debug:
    msg: "{{ (ansible_play_hosts_all | zerocopy.rdma.driver(hostvars)).objects }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: The plan.
  type: dict
  contains:
    namespace:
      description: Namespace of the driver.
      type: str
    wait:
      description: Whether to wait until the driver runs (C(rdma_driver_wait)).
      type: bool
    objects:
      description: Objects in the order in which to apply them. Empty if there are problems.
      type: list
      elements: dict
    nodes:
      description: The labels of the nodes as objects, for a file of manifests.
      type: list
      elements: dict
    labels:
      description: Labels of each node, without the hosts in RV(_value.unknown). V(null) removes the label.
      type: dict
      sample: {h100-01: {zerocopy.rdma/group: h100}}
    joining:
      description:
        - Nodes that get the driver of their group although it already runs on other nodes. Apply RV(_value.objects)
          before RV(_value.labels) to these, so that no pod of the driver publishes NICs that they need themselves.
      type: list
      elements: str
    leaving:
      description:
        - Labels to remove from nodes that have the driver of another group, or should have none. Remove these labels
          before applying RV(_value.objects), which no longer protect these nodes.
      type: dict
      sample: {a100-07: {zerocopy.rdma/group: null}}
    groups:
      description: For each host that should have the driver, its group as the value of the label.
      type: dict
      sample: {h100-01: h100}
    unknown:
      description:
        - Hosts that should have the driver, but have no facts. Their nodes may need other objects, so nothing should be
          pruned.
      type: list
      elements: str
    warnings:
      description: Problems that do not prevent applying the objects.
      type: list
      elements: str
    problems:
      description: One line for each problem, with the hosts, the variable, its value and what would be correct.
      type: list
      elements: str
    unprepared:
      description: Problems of nodes on which the driver cannot work yet, because NRI is off.
      type: list
      elements: str
"""

from dataclasses import asdict
from typing import Any, Callable, Dict, List, Mapping, Union

from jinja2 import pass_context

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra import strategy as dra
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _strategy_inventory


@pass_context
def driver(
    context: Mapping[str, Any],
    hosts: List[str],
    hostvars: Mapping[str, Mapping[str, Any]],
    daemon_sets: Union[List[Dict[str, Any]], str, None] = None,
    nodes: Union[Dict[str, Dict[str, str]], str, None] = None,
) -> Dict[str, Any]:
    found = _strategy_inventory.hosts(context, hosts, hostvars)
    cluster = _strategy_inventory.cluster(nodes=nodes, daemon_sets=daemon_sets)
    return asdict(_strategy_inventory.planned(context, found, dra.driver, cluster))


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"driver": driver}
