#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: device_taints
short_description: Keep sick NICs from new pods with DeviceTaintRules
version_added: 1.0.0
description:
  - Makes a DeviceTaintRule for each device of each sick NIC, selected by driver, pool and device, and removes those of
    NICs that are well again. The rules are a set of their own (M(zerocopy.rdma.applyset)), so rules of others are never
    changed.
  - A rule informs first (effect C(None)). It gets the effect of its group after enough looks have found the NIC sick,
    unless it was well for long enough between them. A NIC that a pod holds only gets a rule that informs, unless the
    group says otherwise.
  - If new rules would take more NICs from a group than its budget allows, or too many from a node, none of them gets an
    effect that keeps pods away, and RV(problems) says so. The module does not fail because of that.
  - If two runs happen at the same time, the later one plans with what the earlier one has made.
  - If the API server serves no DeviceTaintRule, RV(notes) says so and nothing is done.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.state_module
  - zerocopy.rdma._cluster
  - kubernetes.core.k8s_auth_options
options:
  name:
    description: Name of the set, and of the Secret that is its parent.
    type: str
    required: true
  namespace:
    description: Namespace of that Secret.
    type: str
    required: true
  nodes:
    description: RV(zerocopy.rdma.health#module:nodes).
    type: dict
    default: {}
  nics:
    description: RV(zerocopy.rdma.health#module:nics).
    type: list
    elements: dict
    default: []
  state:
    description: V(absent) removes all rules of the set.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - module: zerocopy.rdma.health
"""

EXAMPLES = r"""
- name: Keep sick NICs from new pods
  zerocopy.rdma.device_taints:
    name: zerocopy-rdma-health
    namespace: kube-system
    nodes: "{{ health.nodes }}"
    nics: "{{ health.nics }}"
  register: tainted
  run_once: true
  delegate_to: localhost

- name: Remove all rules
  zerocopy.rdma.device_taints:
    name: zerocopy-rdma-health
    namespace: kube-system
    state: absent
"""

RETURN = r"""
api_version:
  description: Group and version of the rules, empty if the API server serves none.
  returned: success
  type: str
  sample: resource.k8s.io/v1
rules:
  description: All rules of the set, with C(host), C(nic), C(driver), C(pool), C(device), C(effect) and C(value).
  returned: success
  type: list
  elements: dict
outcomes:
  description:
    - What became of each NIC in O(nics), with its C(host), C(nic) and C(outcome). V(tainted) means that no new pod gets
      it, V(informed) that its rule only informs, V(left) that its rule stays as it was, V(exempt) that it has none
      because the inventory says so. V(held) (a pod has it) and V(budget) have a rule that only informs, unless there
      was a stronger one before. V(no_device) means that the driver publishes no device of it, V(no_taints) that its
      strategy has no taints.
  returned: success
  type: list
  elements: dict
problems:
  description: Why NICs were not tainted that should have been, one line for each node or group.
  returned: success
  type: list
  elements: str
notes:
  description: What else one should know, such as that the API server has no DeviceTaintRule.
  returned: success
  type: list
  elements: str
objects:
  description: RV(zerocopy.rdma.applyset#module:objects).
  returned: success
  type: list
  elements: dict
"""

from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health import cluster
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.module import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client


def _call(module: Any, client: Client) -> Dict[str, Any]:
    return cluster.converge(client, cluster.of_options(module.params, module.check_mode, module._diff))


def main() -> None:
    run(
        {
            "name": {"type": "str", "required": True},
            "namespace": {"type": "str", "required": True},
            "nodes": {"type": "dict", "default": {}},
            "nics": {"type": "list", "elements": "dict", "default": []},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        _call,
    )


if __name__ == "__main__":
    main()
