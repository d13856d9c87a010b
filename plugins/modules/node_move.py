#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: node_move
short_description: Move a node from one way to RDMA to another, step by step
version_added: 0.1.0
description:
  - One step of a node that changes its strategy. C(zerocopy.rdma.migrate) runs V(off), V(on), and V(done).
  - What the node was before is in its annotation C(zerocopy.rdma/move) from the moment that it is cordoned. Each step
    can be repeated after it was interrupted.
  - M(kubernetes.core.k8s_drain) cannot be used for this. It selects pods by labels only, stops at the first
    PodDisruptionBudget that does not allow an eviction, and does not know who cordoned a node.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.state_module
  - zerocopy.rdma._cluster
  - zerocopy.rdma._node_use
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
      - V(off) cordons the node, evicts the pods that use RDMA, takes O(labels) away, waits for the pods of the old
        plugin or driver to end, and removes the resources that only count pods. Pods without RDMA stay.
      - V(on) sets O(labels) and O(counters), and waits for what O(shows) says.
      - V(done) uncordons the node, unless it was cordoned before V(off). Then it removes the extended resources that a
        device plugin left behind, which takes until five minutes after the plugin has ended; see
        M(zerocopy.rdma.node_extended_resources).
      - V(back) puts labels and cordon back as they were before V(off).
    type: str
    required: true
    choices: ['off', 'on', done, back]
  to:
    description: Name of the new strategy, for messages.
    type: str
    default: ''
  labels:
    description: Labels of the node. V(null) removes a label.
    type: dict
    default: {}
  evict:
    description:
      - Pods to evict (Eviction API, so PodDisruptionBudgets are respected). V(managed) are those that a controller
        creates again. The end of others is awaited.
    type: str
    choices: [managed, all, none]
    default: managed
  shows:
    description:
      - What the node offers with the new strategy, C(drivers) with devices and C(resources) with numbers. C(pods) says
        whether a pod with O(labels) serves it.
    type: dict
    default: {}
  counters:
    description:
      - With O(step=on), the extended resources that no device plugin offers, as with
        M(zerocopy.rdma.node_extended_resources).
    type: dict
    default: {}
  wait_timeout:
    description: Seconds to wait for each part of the step.
    type: int
    default: 600
notes:
  - The user needs the verb C(list) for C(pods) and C(resourceclaims), C(get), C(list), C(watch) and C(patch) for
    C(nodes), C(patch) for C(nodes/status), and C(create) for C(pods/eviction).
"""

EXAMPLES = r"""
- name: Uncordon a node whose move has ended
  zerocopy.rdma.node_move:
    node: h100-01
    step: done
"""

RETURN = r"""
evicted:
  description: Pods (namespace/name) that were evicted.
  returned: success
  type: list
  elements: str
  sample: [llm/decode-0]
"""

from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.module import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.node_move.look import MoveStep
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.node_move.steps import STEPS, predicted

_SAME = ("node", "to", "labels", "ours", "resources", "drivers", "evict", "shows", "counters")


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
            "drivers": texts,
            "evict": {"type": "str", "choices": ["managed", "all", "none"], "default": "managed"},
            "shows": {"type": "dict", "default": {}},
            "counters": {"type": "dict", "default": {}},
            "wait_timeout": {"type": "int", "default": 600},
        },
        _call,
    )


if __name__ == "__main__":
    main()
