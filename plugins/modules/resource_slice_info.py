#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: resource_slice_info
short_description: What DRA drivers publish, and how it differs from the facts
version_added: 0.1.0
description:
  - Reads the ResourceSlices of a cluster in whatever version of C(resource.k8s.io) it serves. If it serves none, the
    message says what has to be switched on.
  - Compares them with what the facts of M(zerocopy.rdma.rdma_facts) say that the drivers should publish, and says for
    each difference why.
  - No difference are attributes that the facts do not tell, those of the netdev of a NIC that is in a pod, and what
    changes with a cable or by configuration (C(state), C(mtu), C(ipv4), C(ipv6)).
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
  - zerocopy.rdma._cluster
  - kubernetes.core.k8s_auth_options
options:
  expected:
    description:
      - By name of the node what its drivers should publish, as P(zerocopy.rdma.expected_devices#filter) returns it.
    type: dict
    default: {}
  gather_subset:
    description:
      - Which of RV(slices) and RV(devices) to return. Both are as large as the cluster.
    type: list
    elements: str
    choices: [slices, devices]
    default: [slices, devices]
  wait:
    description:
      - Whether to wait until DRANET has published something for each node in O(expected) that should have NICs, is in
        the cluster, and has V(true) in C(rdma_driver_wait). Its pod is ready some time before.
      - Not in check mode.
    type: bool
    default: false
  wait_timeout:
    description: Seconds without another node. As long as there is progress, there is no limit.
    type: int
    default: 120
seealso:
  - plugin: zerocopy.rdma.claims
    plugin_type: filter
    description: Proves claims against RV(slices).
"""

EXAMPLES = r"""
- name: Compare what drivers publish with the facts
  zerocopy.rdma.resource_slice_info:
    expected: "{{ ansible_play_hosts_all | zerocopy.rdma.expected_devices(hostvars) }}"
    gather_subset: []
  register: cluster
  run_once: true
  delegate_to: localhost

- name: Show what is different
  ansible.builtin.debug:
    msg: "{{ cluster.differences }}"
  run_once: true

- name: Keep the slices of a cluster
  zerocopy.rdma.resource_slice_info:
    gather_subset: [slices]
  register: cluster
"""

RETURN = r"""
kubernetes:
  description: Version of the API server.
  returned: success
  type: str
  sample: v1.36.3
api_version:
  description: Group and version in which the slices were read, the newest that is served.
  returned: success
  type: str
  sample: resource.k8s.io/v1
device_classes:
  description: Names of the DeviceClasses.
  returned: success
  type: list
  elements: str
  sample: [gpu.nvidia.com, zerocopy-rdma-nic]
slices:
  description: The ResourceSlices as they are, without C(managedFields).
  returned: when O(gather_subset) has V(slices)
  type: list
  elements: dict
devices:
  description: Their devices, only those of the newest generation of each pool.
  returned: when O(gather_subset) has V(devices)
  type: list
  elements: dict
  contains:
    driver:
      description: Name of the driver.
      type: str
    pool:
      description: Name of the pool.
      type: str
    name:
      description: Name of the device.
      type: str
    node:
      description: Name of the node, null for a device that nodes share.
      type: str
    pci:
      description: PCI address, null where the driver does not tell it.
      type: str
    attributes:
      description: Attributes by qualified name, without their types.
      type: dict
    capacity:
      description: Capacities by qualified name, as quantities.
      type: dict
  sample:
    - attributes: {dra.net/pciAddress: "0000:1a:00.0", dra.net/rdma: true}
      capacity: {}
      driver: dra.net
      name: pci-0000-1a-00-0
      node: h100-01
      pci: "0000:1a:00.0"
      pool: h100-01
nodes:
  description: Each node in O(expected).
  returned: success
  type: dict
  contains:
    exists:
      description: Whether the cluster has a node of this name.
      type: bool
    labels:
      description: Those of its labels that bring drivers to a node.
      type: dict
    drivers:
      description: Drivers that publish something for it.
      type: list
      elements: str
    missing:
      description:
        - Devices that are not published, with C(driver), C(name), C(pci) and the C(reason).
        - C(intended) is V(true) for a NIC with the default route, and for one in C(rdma_driver_exclude).
      type: list
      elements: dict
    extra:
      description: Devices that are published and should not be, with the same.
      type: list
      elements: dict
    differing:
      description:
        - Attributes with another value, with C(driver), C(name), C(pci), C(attribute), the values C(expected) and
          C(published) (null if it is not), and the C(reason) if it is known.
      type: list
      elements: dict
  sample:
    h100-01:
      differing: []
      drivers: [dra.net]
      exists: true
      extra: []
      labels: {zerocopy.rdma/group: h100}
      missing:
        - driver: dra.net
          intended: true
          name: ""
          pci: "0000:1a:00.0"
          reason: it carries the default route
differences:
  description:
    - RV(nodes) as text, one line for each difference with the nodes that have it. What is intended is left out.
  returned: success
  type: list
  elements: str
  sample:
    - "h100-[01-08]: 8 NICs are missing: DRANET publishes nothing there: it has no pod there"
"""

from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.module import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.slices.info import SUBSETS, Request, info


def _call(module: Any, client: Client) -> Dict[str, Any]:
    params = module.params
    wait = params["wait"] and not module.check_mode
    return info(
        client,
        Request(params["expected"], params["gather_subset"], params["wait_timeout"] if wait else None),
    )


def main() -> None:
    run(
        {
            "expected": {"type": "dict", "default": {}},
            "gather_subset": {
                "type": "list",
                "elements": "str",
                "choices": list(SUBSETS),
                "default": list(SUBSETS),
            },
            "wait": {"type": "bool", "default": False},
            "wait_timeout": {"type": "int", "default": 120},
        },
        _call,
    )


if __name__ == "__main__":
    main()
