# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: strategies
short_description: Return the strategies of a fleet, and the hosts that another strategy still serves
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Returns which strategies (C(rdma_strategy)) these hosts have, whether these strategies need DRA in the cluster,
    which hosts would get a strategy while another one still serves them, and which nodes would lose a DRA driver while
    pods hold its devices.
  - Compute it once for all hosts (C(run_once)), not per host.
extends_documentation_fragment:
  - zerocopy.rdma._hosts
positional: hostvars
options:
  nodes:
    description: Labels of each node of the cluster, as M(zerocopy.rdma.cluster_info) returns them.
    type: dict
    default: {}
  held:
    description: Pods that hold devices, by DRA driver and node, as M(zerocopy.rdma.cluster_info) returns them.
    type: dict
    default: {}
  daemon_sets:
    description: The DaemonSets of drivers and device plugins, as M(zerocopy.rdma.cluster_info) returns them.
    type: list
    elements: dict
    default: []
  kinds:
    description: Kinds of operators' resources that the cluster serves, as M(zerocopy.rdma.cluster_info) returns them.
    type: list
    elements: str
  objects:
    description: Operators' objects in the cluster, as M(zerocopy.rdma.cluster_info) returns them.
    type: list
    elements: dict
"""

EXAMPLES = r"""
- name: Show the strategy of each group
  ansible.builtin.debug:
    msg: "{{ (ansible_play_hosts_all | zerocopy.rdma.strategies(hostvars)).names }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: The strategies.
  type: dict
  contains:
    names:
      description: Strategy of each group.
      type: dict
      sample: {h100: dra, login: none}
    asked:
      description: Strategy of each group whose pods can request RDMA, according to the variables alone.
      type: dict
      sample: {h100: dra}
    asked_by:
      description: For strategies whose pods can request nothing without it, the variable that says what.
      type: dict
      sample: {dra: rdma_claims_templates}
    resources:
      description: For each strategy, the extended resources that groups of these hosts have or had with it.
      type: dict
      sample: {shared_device: [rdma/rdma_v100]}
    labels:
      description: Labels by which the DaemonSets of all strategies select nodes.
      type: list
      elements: str
      sample: [zerocopy.rdma/group, zerocopy.rdma/shared-device]
    drivers:
      description: DRA drivers of all strategies.
      type: list
      elements: str
      sample: [dra.net]
    driver_sets:
      description: C(name) and C(namespace) of each set of objects that has a DRA driver or a device plugin.
      type: list
      elements: dict
      sample:
        - {name: zerocopy-rdma-driver, namespace: kube-system}
        - {name: zerocopy-rdma-shared-device, namespace: kube-system}
    driver_pods:
      description: C(namespace) and label C(selector) of the pods of each DRA driver.
      type: list
      elements: dict
      sample: [{namespace: kube-system, selector: app.kubernetes.io/name=dranet}]
    kinds:
      description: Kinds of operators' resources that strategies use with the provider of that operator.
      type: list
      elements: str
    objects:
      description:
        - C(kind) and C(name) (empty for all) of objects in the cluster that the strategies of these hosts need to know.
          M(zerocopy.rdma.cluster_info) takes them as its option C(objects).
      type: list
      elements: dict
      sample: [{kind: SriovNetworkNodePolicy.sriovnetwork.openshift.io, name: ""}]
    charts:
      description: Roles that install DRA drivers with charts, whose DeviceClasses may be missing until then.
      type: list
      elements: str
      sample: [rdma_driver]
    slices:
      description: Whether the cluster has to serve C(resource.k8s.io).
      type: bool
    ofed:
      description: Hosts whose nodes have the OFED driver of NVIDIA's Network Operator, according to O(nodes).
      type: list
      elements: str
    ofed_strategy:
      description: The strategy whose groups can have this driver.
      type: str
      sample: shared_device
    leaving:
      description:
        - For each node that a device plugin of this collection still serves, according to O(nodes), the extended
          resources that the node would lose. No pod may hold them at that time. Such nodes are hosts that now have
          another strategy or are in another group and, with O(daemon_sets), nodes that have left the inventory together
          with all hosts of their group.
      type: dict
      sample: {v100-01: [rdma/rdma_v100]}
    offered:
      description:
        - For each strategy, the nodes that its device plugin serves, according to O(nodes), with the extended resources
          that no pod may hold when the plugin is removed. With O(daemon_sets), nodes that have left the inventory are
          among them.
      type: dict
      sample: {shared_device: {v100-01: [rdma/rdma_v100]}}
    needed:
      description:
        - One line for each node that has a DRA driver of this collection, according to O(nodes) and O(daemon_sets),
          while pods hold its devices.
      type: list
      elements: str
    problems:
      description: One line for each problem, with the hosts, the variable, its value and what would be correct.
      type: list
      elements: str
"""

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from jinja2 import pass_context

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import in_use, registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import ofed
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory, _strategy_inventory


@pass_context
def strategies(
    context: Mapping[str, Any],
    hosts: List[str],
    hostvars: Mapping[str, Mapping[str, Any]],
    nodes: Optional[in_use.NodeLabels] = None,
    held: Optional[Mapping[str, Mapping[str, Sequence[str]]]] = None,
    daemon_sets: Sequence[Mapping[str, Any]] = (),
    kinds: Optional[List[str]] = None,
    objects: Optional[List[Dict[str, Any]]] = None,
) -> Dict[str, Any]:
    found, known = _strategy_inventory.hosts(context, hosts, hostvars), _inventory.options(context)
    selectors = [daemon_set["spec"]["template"]["spec"].get("nodeSelector") or {} for daemon_set in daemon_sets]
    cluster = in_use.ClusterUse(nodes or {}, held or {}, selectors)
    of_ofed = registry.of_ofed()
    state = _strategy_inventory.cluster(kinds=kinds, objects=objects, nodes=nodes)
    return {
        "kinds": registry.kinds(),
        "objects": registry.looks(found),
        "names": {host.group: plan_variables.strategy_of(host.variables) for host in found},
        "asked": registry.asked(found),
        "asked_by": registry.asked_by(),
        "resources": registry.resources(found, known),
        "labels": [strategy.label for strategy in registry.STRATEGIES.values() if strategy.label],
        "drivers": [strategy.driver for strategy in registry.STRATEGIES.values() if strategy.driver],
        "charts": registry.charts(_strategy_inventory.of_fleet(found, known)),
        "slices": any(strategy.slices for strategy in registry.used(found)),
        "driver_sets": registry.driver_sets(found, known),
        "driver_pods": registry.driver_pods(found, known),
        "ofed": [host.name for host in found if ofed.has(cluster.labels.get(host.name), of_ofed.label)],
        "ofed_strategy": of_ofed.name,
        "leaving": in_use.leaving(found, cluster, known),
        "offered": in_use.offered(found, cluster, known),
        "needed": in_use.needed(found, cluster, known),
        "problems": [
            *registry.lacking(found, state, known),
            *in_use.still_served(found, cluster.labels),
            *in_use.losing(found, cluster, known),
        ],
    }


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"strategies": strategies}
