#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: move_plan
short_description: Plan the move of nodes from one strategy to another
version_added: 0.1.0
description:
  - Compares the strategy that each host of the play has in the inventory with the state of its node in the cluster, and
    returns what is left to do on each node, in which waves. All state is in the cluster, so no result of an earlier run
    is needed. Changes nothing.
  - Run it once for all hosts (C(run_once)).
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
  - zerocopy.rdma._cluster
  - zerocopy.rdma._gpu_resources
  - kubernetes.core.k8s_auth_options
options:
  moving:
    description: Hosts to move.
    type: list
    elements: str
    default: []
  now:
    description:
      - Hosts that have left their old strategy. For these, RV(objects) is returned, and nothing else. Fails if they
        cannot be planned.
    type: list
    elements: str
    default: []
  cluster:
    description: RV(cluster) as an earlier call returned it. Required with O(now).
    type: dict
    default: {}
  evict:
    description: Which pods are evicted, like O(zerocopy.rdma.node_move#module:evict).
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
    description: Sizes of the waves, like C(serial) of a play. Percentages refer to the hosts of the group.
    type: raw
    default: [1, "10%", "25%"]
  resources:
    description: Extended resources that are NICs, although their names may not say so, besides those of the groups.
    type: list
    elements: str
    default: []
  gpu_resources:
    type: list
    elements: str
    default: []
seealso:
  - module: zerocopy.rdma.node_move
  - module: zerocopy.rdma.node_move_info
"""

EXAMPLES = r"""
- name: Plan the move of a group
  zerocopy.rdma.move_plan:
    moving: "{{ groups['h100'] }}"
  register: move
  run_once: true
  delegate_to: localhost

- name: Show how far its nodes are
  ansible.builtin.debug:
    msg: "{{ move.text }}"
  run_once: true
"""

RETURN = r"""
nodes:
  description:
    - For each host to move, its C(name), the strategy it has (C(away)), had when its move began (C(was)), and gets
      (C(to)), whether either strategy has a daemon on its nodes (C(daemons)), the RDMA netns mode that it shall have
      (C(netns_mode), empty for any), the labels to set or remove (C(off)), and the pods that have to end (C(users)).
    - The C(state) is V(todo) (not begun), V(cordoned) (pods still use RDMA), V(drained) (no pod uses RDMA), V(left)
      (the node has no strategy), V(switched) (the node has the new strategy and is still cordoned) or V(done).
  returned: without O(now)
  type: dict
waves:
  description: Hosts of each wave. Hosts whose move has begun come first.
  returned: without O(now)
  type: list
  elements: list
  sample: [[h100-01], [h100-02, h100-03]]
rest:
  description: Hosts that are not in O(moving) and whose strategy has changed in the inventory.
  returned: without O(now)
  type: list
  elements: str
broken:
  description:
    - One line for each annotation that cannot be read on nodes of hosts that are not in O(moving). The progress of
      these nodes is not known.
  returned: without O(now)
  type: list
  elements: str
refused:
  description: For each host in O(moving) whose node has such an annotation, the same. These hosts are in no wave.
  returned: without O(now)
  type: dict
finish:
  description: Whether, once these hosts have moved, no node needs the objects of its old strategy any more.
  returned: without O(now)
  type: bool
text:
  description: The plan as text, by node and pod.
  returned: without O(now)
  type: str
problems:
  description: One line for each problem that stops the move before it begins.
  returned: without O(now)
  type: list
  elements: str
ours:
  description: Labels by which the DaemonSets of all strategies select nodes.
  returned: without O(now)
  type: list
  elements: str
drivers:
  description: DRA drivers of all strategies.
  returned: without O(now)
  type: list
  elements: str
resources:
  description: Extended resources that are NICs.
  returned: without O(now)
  type: list
  elements: str
gpu_resources:
  description: O(gpu_resources).
  returned: without O(now)
  type: list
  elements: str
cluster:
  description:
    - What was read from the cluster. C(nodes) and C(plugins) are those of M(zerocopy.rdma.node_move_info).
  returned: without O(now)
  type: dict
objects:
  description:
    - C(sets) of objects (M(zerocopy.rdma.applyset)) that the hosts of O(now) need, the C(labels) and C(counters) of
      these hosts, what their nodes then show (C(status)), and how pods can request RDMA on them (C(requests)).
  returned: with O(now)
  type: dict
"""
