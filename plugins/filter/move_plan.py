# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: move_plan
short_description: Plan the move of nodes from one strategy to another
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Compares the strategy that each host has in the inventory with the state of its node in the cluster, and returns
    what is left to do on each node, in which waves. All state is in the cluster, so no result of an earlier run is
    needed.
  - Compute it once for all hosts (C(run_once)), not per host.
extends_documentation_fragment:
  - zerocopy.rdma._hosts
  - zerocopy.rdma._published
  - zerocopy.rdma._published.kinds
positional: hostvars, nodes, moving
options:
  nodes:
    description: The nodes of the cluster, as M(zerocopy.rdma.node_move_info) returns them.
    type: dict
    required: true
  moving:
    description: Hosts to move.
    type: list
    elements: str
    required: true
  now:
    description: Hosts that have left their old strategy. For these, C(objects) is returned.
    type: list
    elements: str
    default: []
  evict:
    description: Which pods are evicted, as O(zerocopy.rdma.node_move#module:evict).
    type: str
    choices: [managed, all, none]
    default: managed
  old_labels:
    description:
      - Node labels that keep away a device plugin which somebody else has deployed. A label with the value V(null) is
        removed.
    type: dict
    default: {}
  ramp:
    description: Sizes of the waves, as option O(zerocopy.rdma.plan#module:ramp).
    type: raw
    default: [1, "10%", "25%"]
  daemon_sets:
    description: DaemonSets of the strategies, as M(zerocopy.rdma.cluster_info) returns them.
    type: list
    elements: dict
  operated:
    description: Operators' objects in the cluster, as M(zerocopy.rdma.cluster_info) returns them.
    type: list
    elements: dict
  plugins:
    description: Device plugins of others, as M(zerocopy.rdma.node_move_info) returns them. The text lists them.
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: Show how far the nodes of a group are
  ansible.builtin.debug:
    msg: "{{ (ansible_play_hosts_all | zerocopy.rdma.move_plan(hostvars, uses.nodes, groups['h100'])).text }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: The plan.
  type: dict
  contains:
    nodes:
      description:
        - For each host to move, its C(name), the strategy it has (C(away)), had when its move began (C(was)), and gets
          (C(to)), the labels to set or remove (C(off)), and the pods that have to end (C(users)).
        - The C(state) is V(todo) (not begun), V(cordoned) (pods still use RDMA), V(drained) (no pod uses RDMA),
          V(left) (the node has no strategy), V(switched) (the node has the new strategy and is still cordoned) or
          V(done).
      type: dict
    waves:
      description: Hosts of each wave. Hosts whose move has begun come first.
      type: list
      elements: list
      sample: [[h100-01], [h100-02, h100-03]]
    rest:
      description: Hosts that are not in O(moving) and whose strategy has changed in the inventory.
      type: list
      elements: str
    broken:
      description:
        - One line for each annotation that cannot be read on nodes of hosts that are not in O(moving). The progress of
          these nodes is not known. On nodes of hosts in O(moving), such an annotation is one of the C(problems).
      type: list
      elements: str
    text:
      description: The plan by node and pod.
      type: str
    problems:
      description: One line for each problem that stops the move before it begins.
      type: list
      elements: str
    objects:
      description:
        - C(sets) of objects (M(zerocopy.rdma.applyset)) that the hosts of O(now) need, the C(labels) and C(counters)
          of these hosts, what their nodes then show (C(shows)), and how pods can request RDMA on them (C(asks)).
        - C(problems) has one line for each problem that prevents applying the objects.
      type: dict
"""

from dataclasses import asdict
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from jinja2 import pass_context

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import waves as plan_waves
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.components import ForeignPlugin
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import moves
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import use as node_use
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory, _strategy_inventory, _waves


@pass_context
def move_plan(
    context: Mapping[str, Any],
    hosts: List[str],
    hostvars: Mapping[str, Mapping[str, Any]],
    nodes: Mapping[str, Mapping[str, Any]],
    moving: Sequence[str],
    now: Sequence[str] = (),
    evict: str = "managed",
    old_labels: Optional[Mapping[str, Optional[str]]] = None,
    ramp: Any = plan_waves.RAMP,
    slices: Optional[List[Dict[str, Any]]] = None,
    kubernetes: Optional[str] = None,
    device_classes: Union[List[str], str, None] = None,
    kinds: Union[List[str], str, None] = None,
    plugins: Sequence[Mapping[str, Any]] = (),
    daemon_sets: Optional[List[Dict[str, Any]]] = None,
    operated: Optional[List[Dict[str, Any]]] = None,
) -> Dict[str, Any]:
    found = _strategy_inventory.hosts(context, hosts, hostvars)
    uses = {name: node_use.read(node) for name, node in nodes.items()}
    limits = _waves.limits({host.name: host.group for host in found}, hostvars)
    options = moves.MoveOptions(evict, dict(old_labels or {}), _waves.sizes(ramp), limits)
    plan = moves.plan(found, uses, moving, options)
    labels = {name: use.labels for name, use in uses.items()}
    cluster = _strategy_inventory.cluster(
        slices, kubernetes, device_classes, kinds, operated, nodes=labels, daemon_sets=daemon_sets
    )
    every = moves.plannable(found, uses, now)
    whole = _strategy_inventory.planned(context, every, registry.plan, cluster)
    known = _inventory.options(context)
    modes = {host.name: registry.netns_mode(host.variables) or "" for host in found}
    objects = moves.objects(found, uses, now, cluster, known)
    return {
        "nodes": {node.name: {**asdict(node), "netns_mode": modes[node.name]} for node in plan.nodes},
        "waves": plan.waves,
        "rest": plan.rest,
        "broken": plan.broken,
        "text": moves.text(plan, [ForeignPlugin(**plugin) for plugin in plugins]),
        "problems": plan.problems + whole.problems + moves.unmovable(whole),
        "objects": asdict(objects),
    }


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"move_plan": move_plan}
