#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: node_move
short_description: Move a node from one way to RDMA to another, step by step
version_added: 1.0.0
description:
  - Runs one step of the move of a node from one strategy to another. The playbook C(zerocopy.rdma.migrate) runs
    V(off), V(on) and V(done) on each node, or V(back) if the move fails.
  - From the moment that the node is cordoned until the move ends, the annotation C(zerocopy.rdma/move) of the node
    stores its former labels, its former RDMA netns mode, and whether it was cordoned before. An interrupted step can be
    repeated. Because the account of a kubelet may write annotations of its node, a digest of the annotation is in the
    label C(zerocopy.rdma.node-restriction.kubernetes.io/move), which that account may not write. The module fails if
    the two differ.
  - M(kubernetes.core.k8s_drain) does not fit this purpose, because it selects pods by labels only, stops at the first
    PodDisruptionBudget that does not allow an eviction, and does not know who cordoned a node.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.state_module
  - zerocopy.rdma._cluster
  - zerocopy.rdma._node_use
  - zerocopy.rdma._gpu_resources
  - kubernetes.core.k8s_auth_options
attributes:
  diff_mode:
    support: none
options:
  node:
    description: Name of the node.
    type: str
    required: true
  step:
    description:
      - V(off) cordons the node, evicts the pods that use RDMA, sets or removes O(labels), waits for the pods of the old
        plugin or driver to end, and removes the resources that only count pods. Pods that do not use RDMA stay.
      - V(on) sets O(labels) and O(counters), and waits until the node offers what O(status) lists.
      - V(done) uncordons the node, unless it was cordoned before V(off), and removes the annotation. Then it removes
        the extended resources that a device plugin left behind. This may take up to five minutes after the plugin has
        ended; see M(zerocopy.rdma.node_extended_resources). If the resources cannot be removed, the module only warns,
        because the node has already moved. Repeating the step does not remove them.
      - V(back) restores the labels, the counters and the cordon that the node had before V(off), and removes the
        extended resources that a device plugin left behind. Labels that are neither in O(ours) nor in O(labels), and
        counters that are not RDMA resources, are not restored, with a warning.
    type: str
    required: true
    choices: ['off', 'on', done, back]
  to:
    description: Name of the new strategy, for messages and for the annotation.
    type: str
    default: ''
  labels:
    description:
      - Labels of the node that O(step=off) or O(step=on) sets. V(null) removes a label. For O(step=back), the labels
        of O(step=off).
    type: dict
    default: {}
  evict:
    description:
      - Which pods O(step=off) evicts. It uses the Eviction API, so PodDisruptionBudgets are respected.
      - V(managed) evicts the pods that a controller will create again, V(all) evicts all of them, and V(none) evicts
        none. The step waits until pods that it does not evict have ended by themselves.
    type: str
    choices: [managed, all, none]
    default: managed
  status:
    description:
      - What O(step=on) waits for. C(drivers) are the DRA drivers that must publish devices of the node. C(resources)
        are extended resources with the number that must be allocatable. C(pods) says whether a pod of a DaemonSet that
        selects nodes by O(labels) must be ready on the node.
    type: dict
    default: {}
  counters:
    description:
      - Extended resources that O(step=on) writes to the node and that no device plugin offers, as
        O(zerocopy.rdma.node_extended_resources#module:counters) of one node.
    type: dict
    default: {}
  netns_mode:
    description:
      - RDMA netns mode of the node, which O(step=off) stores in the annotation if no move has begun yet. Empty if it is
        not known.
    type: str
    choices: ['', shared, exclusive]
    default: ''
  wait_timeout:
    description: Seconds to wait for each part of the step.
    type: int
    default: 600
notes:
  - The user needs the verbs C(get), C(list), C(watch) and C(patch) for C(nodes), C(patch) for C(nodes/status), C(list)
    and C(watch) for C(pods), C(create) for C(pods/eviction), and C(list) for C(resourceclaims) and C(resourceslices).
  - With O(drivers), the module fails if the user may not list C(resourceclaims), because it would not recognise the
    pods that hold devices of these drivers.
"""

EXAMPLES = r"""
- name: Evict the pods that use RDMA from a node, and remove the shared device plugin
  zerocopy.rdma.node_move:
    node: v100-01
    step: 'off'
    to: dra
    labels: {zerocopy.rdma.node-restriction.kubernetes.io/shared-device: null}
    ours:
      - zerocopy.rdma.node-restriction.kubernetes.io/group
      - zerocopy.rdma.node-restriction.kubernetes.io/shared-device

- name: Uncordon a node whose move has ended
  zerocopy.rdma.node_move:
    node: v100-01
    step: done
"""

RETURN = r"""
evicted:
  description: Pods (namespace/name) that were evicted. Always empty in check mode.
  returned: success
  type: list
  elements: str
  sample: [llm/decode-0]
"""

from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.look import MoveStep
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.steps import STEPS, predicted
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.use import NETNS_MODES
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.module import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client

_SAME = (
    *("node", "to", "labels", "ours", "resources", "gpu_resources", "drivers"),
    *("evict", "status", "counters", "netns_mode"),
)


def _call(module: Any, client: Client) -> Dict[str, Any]:
    params = dict(module.params)
    step = MoveStep(timeout=params["wait_timeout"], **{name: params[name] for name in _SAME})
    if module.check_mode:
        return predicted(client, step, params["step"])
    return STEPS[params["step"]](client, step)


def main() -> None:
    texts = {"type": "list", "elements": "str", "default": []}
    run(
        {
            "node": {"type": "str", "required": True},
            "step": {"type": "str", "required": True, "choices": list(STEPS)},
            "to": {"type": "str", "default": ""},
            "labels": {"type": "dict", "default": {}},
            "ours": texts,
            "resources": texts,
            "gpu_resources": texts,
            "drivers": texts,
            "evict": {"type": "str", "choices": ["managed", "all", "none"], "default": "managed"},
            "status": {"type": "dict", "default": {}},
            "counters": {"type": "dict", "default": {}},
            "netns_mode": {"type": "str", "choices": ["", *NETNS_MODES], "default": ""},
            "wait_timeout": {"type": "int", "default": 600},
        },
        _call,
    )


if __name__ == "__main__":
    main()
