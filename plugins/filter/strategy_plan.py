# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: strategy_plan
short_description: Plan the objects of all strategies, the requests of pods, and the expected state of nodes
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Turns the variables and facts of all hosts into the objects by which the pods of each group reach RDMA, according to
    C(rdma_strategy). Also returns how a pod requests RDMA, and what a node shows when the strategy works.
  - Compute it once for all hosts (C(run_once)), not per host.
extends_documentation_fragment:
  - zerocopy.rdma._hosts
  - zerocopy.rdma._published
  - zerocopy.rdma._published.kinds
positional: hostvars
options:
  name:
    description: Name of one strategy. By default the plans of all strategies are merged.
    type: str
  objects:
    description: Operators' objects in the cluster, as M(zerocopy.rdma.cluster_info) returns them.
    type: list
    elements: dict
  nodes:
    description: Labels of each node of the cluster, as M(zerocopy.rdma.cluster_info) returns them.
    type: dict
  daemon_sets:
    description:
      - DaemonSets of the strategies, as M(zerocopy.rdma.cluster_info) returns them. By default, none is assumed to be
        there yet.
      - The device plugin of a node without facts keeps its configuration. If the configuration of its group would
        change, the other nodes get one of their own. The same holds for an operator's policies in O(objects).
      - The DRA driver of a group with such a node goes on excluding every NIC that it excludes now.
    type: list
    elements: dict
"""

EXAMPLES = r"""
- name: Show how pods request RDMA
  ansible.builtin.debug:
    msg: "{{ (ansible_play_hosts_all | zerocopy.rdma.strategy_plan(hostvars)).asks }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: The plan.
  type: dict
  contains:
    sets:
      description: Sets of objects (M(zerocopy.rdma.applyset)), with C(name), C(namespace) and C(objects).
      type: list
      elements: dict
    labels:
      description: Labels of each node. V(null) removes the label.
      type: dict
    asks:
      description:
        - For each group, the ways in which a container can request RDMA, each with a C(name), extended resources
          (C(limits)), the alias of a ResourceClaimTemplate (C(template)) or ResourceClaim (C(claim)), the GPUs of the
          claim (C(gpus)) and their alignment (C(align)), C(annotations), C(capabilities), C(environment) and
          C(namespace).
        - With C(host_network), the pod has to be on the host network. With C(gpu_resource), the container has to
          request at least one of this resource, and gets the HCAs nearest to its GPUs.
        - C(hosts) are the nodes on which this is possible, each with the HCAs of which the container gets C(number), or
          all of them with V(0). With C(moves), their netdevs move into the pod and have addresses of C(networks).
      type: dict
      sample:
        v100:
          - annotations: {}
            capabilities: [IPC_LOCK]
            claim: ""
            entry: ""
            environment: {}
            gpu_resource: ""
            gpus: 0
            host_network: false
            hosts: {v100-01: [mlx5_0, mlx5_1]}
            limits: {rdma/rdma_v100: 1}
            moves: false
            name: rdma/rdma_v100
            namespace: ""
            networks: []
            number: 0
            template: ""
    shows:
      description:
        - For each host, the DRA C(drivers) that publish ResourceSlices for the node, and the extended C(resources) with
          the number that capacity and allocatable should have.
        - C(daemon_sets) (namespace/name) have a pod on the node and on no node outside the inventory, C(foreign) ones
          may have pods on other nodes as well. C(owners) are kinds of an operator's objects whose DaemonSets have a pod
          on the node. C(synced) is the namespace of the node's SriovNetworkNodeState, empty without the SR-IOV
          operator.
      type: dict
      sample:
        h100-01:
          drivers: [dra.net, gpu.nvidia.com]
          resources: {}
          daemon_sets: []
          foreign: []
          synced: ""
          owners: []
    nodes:
      description: The labels of the nodes as objects, for a file of manifests.
      type: list
      elements: dict
    wait:
      description: Whether to wait until all components run.
      type: bool
    everywhere:
      description: Whether a device plugin runs on all nodes, also on those where it has nothing to offer.
      type: bool
    unknown:
      description:
        - Hosts without facts, and nodes outside the inventory whose device plugin keeps its configuration. Objects
          that only they need may be missing from C(sets), so nothing should be pruned.
      type: list
      elements: str
    joining:
      description:
        - Nodes that are to get a device plugin configuration that other nodes already use. Apply RV(_value.sets) before
          labelling these nodes with RV(_value.labels), so that no plugin pod offers devices that the nodes need
          themselves.
          Meaningful only with O(name).
      type: list
      elements: str
    leaving:
      description:
        - Labels to remove from nodes that have another configuration of the device plugin, or should have none. Remove
          these labels before applying RV(_value.sets), which no longer fit these nodes. Meaningful only with O(name).
      type: dict
      sample: {v100-07: {zerocopy.rdma/shared-device: null}}
    policy:
      description:
        - Fields of an operator's policy, with C(object) and C(without) as options of M(zerocopy.rdma.object_fields).
          C(object) has no C(spec) if there are no fields. Meaningful only with O(name).
      type: dict
    counters:
      description:
        - For each host, the extended resources that no device plugin offers, each with the number that provision writes
          to the node's status (M(zerocopy.rdma.node_extended_resources)).
      type: dict
      sample: {v100-01: {rdma.io/hca: 100}}
    leaves:
      description: For each host, the extended resources that it must not have (of other groups, or its former ones).
      type: dict
      sample: {h100-01: [rdma/rdma_v100]}
    warnings:
      description: Problems that do not prevent applying the objects.
      type: list
      elements: str
    problems:
      description: One line for each problem, with the hosts, the variable, its value and what would be correct.
      type: list
      elements: str
"""

from dataclasses import asdict
from functools import partial
from typing import Any, Callable, Dict, List, Mapping, Optional, Union

from ansible.errors import AnsibleFilterError
from jinja2 import pass_context

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _strategy_inventory


@pass_context
def strategy_plan(
    context: Mapping[str, Any],
    hosts: List[str],
    hostvars: Mapping[str, Mapping[str, Any]],
    name: Optional[str] = None,
    slices: Optional[List[Dict[str, Any]]] = None,
    kubernetes: Optional[str] = None,
    device_classes: Union[List[str], str, None] = None,
    kinds: Union[List[str], str, None] = None,
    objects: Union[List[Dict[str, Any]], str, None] = None,
    nodes: Union[Dict[str, Dict[str, str]], str, None] = None,
    daemon_sets: Union[List[Dict[str, Any]], str, None] = None,
) -> Dict[str, Any]:
    if name and name not in registry.STRATEGIES:
        raise AnsibleFilterError(f"strategy_plan: name is {name!r}, it must be {' or '.join(registry.STRATEGIES)}")
    found = _strategy_inventory.hosts(context, hosts, hostvars)
    cluster = _strategy_inventory.cluster(slices, kubernetes, device_classes, kinds, objects, nodes, daemon_sets)
    plan = partial(registry.plan_of, name) if name else registry.plan
    return asdict(_strategy_inventory.planned(context, found, plan, cluster))


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"strategy_plan": strategy_plan}
