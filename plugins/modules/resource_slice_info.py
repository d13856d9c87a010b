#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: resource_slice_info
short_description: Read what DRA drivers publish and compare it with the facts
version_added: 1.0.0
description:
  - Reads the ResourceSlices of a cluster, in the newest version of C(resource.k8s.io) that the API server serves. Fails
    if the API server serves none, and the message says what to enable. Fails also on Kubernetes 1.34.0 and 1.34.1, in
    which DRA drivers do not stay registered.
  - Compares them with what the drivers should publish according to the facts of M(zerocopy.rdma.rdma_facts), and gives
    the reason for each difference.
  - Does not compare attributes that the facts do not contain, those of a netdev whose NIC is in a pod, and those that
    change with a cable or by configuration (C(state), C(mtu), C(ipv4), C(ipv6)).
  - If the cluster has Kueue, lists the ConfigMaps with its label as well, if the user is allowed to.
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
      - What the drivers of each node should publish, by node name, as M(zerocopy.rdma.plan) returns it.
    type: dict
    default: {}
  gather_subset:
    description:
      - Which of RV(slices) and RV(devices) to return. Both are large in a large cluster.
    type: list
    elements: str
    choices: [slices, devices]
    default: [slices, devices]
  wait:
    description:
      - Whether to wait, for each node in O(expected), until the drivers in its C(wait) have published devices of the
        node. DRANET must have published an RDMA NIC. Nodes that are not in the cluster are not waited for. The pod of a
        driver is ready some time before the driver publishes devices.
      - If a driver has still published none when the wait ends, the module does not fail. RV(nodes) gives the reasons
        (C(silent), C(without_gpus)).
      - Check mode does not wait.
    type: bool
    default: false
  wait_timeout:
    description:
      - Seconds without progress after which the wait ends. Each further node that publishes devices counts as progress.
    type: int
    default: 120
seealso:
  - module: zerocopy.rdma.cluster_info
  - plugin: zerocopy.rdma.claims
    plugin_type: filter
    description: Proves claims against RV(slices).
"""

EXAMPLES = r"""
- name: Plan
  zerocopy.rdma.plan:
    parts: [cluster]
    ask: nothing
    published: true
  register: plan
  run_once: true

- name: Compare what drivers publish with the facts
  zerocopy.rdma.resource_slice_info:
    expected: "{{ plan.expected }}"
    gather_subset: []
  register: cluster
  run_once: true
  delegate_to: localhost

- name: Show the differences
  ansible.builtin.debug:
    msg: "{{ cluster.differences }}"
  run_once: true

- name: Read the slices of a cluster
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
  description: Group and version in which the slices were read.
  returned: success
  type: str
  sample: resource.k8s.io/v1
device_classes:
  description: Names of the DeviceClasses.
  returned: success
  type: list
  elements: str
  sample: [gpu.nvidia.com, zerocopy-rdma-nic]
kueue_classes:
  description:
    - DeviceClasses in C(deviceClassMappings) of Kueue's configuration. Kueue 0.18 and newer admit no workload with
      ResourceClaimTemplates that use others.
    - V(null) if the cluster has no Kueue, or if no ConfigMap with the label C(app.kubernetes.io/name=kueue) with such a
      configuration can be read.
  returned: success
  type: list
  elements: str
  sample: [gpu.nvidia.com, zerocopy-rdma-nic]
slices:
  description: ResourceSlices of the cluster, without C(managedFields).
  returned: when O(gather_subset) has V(slices)
  type: list
  elements: dict
devices:
  description: Devices of the newest generation of each pool.
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
      description: Name of the node, V(null) for a device that several nodes share.
      type: str
    pci:
      description: PCI address, V(null) if the driver does not publish it.
      type: str
    attributes:
      description: Attributes by qualified name, without their types.
      type: dict
    capacity:
      description: Capacities by qualified name, as quantities.
      type: dict
    taints:
      description:
        - Taints of the device. The scheduler allocates no device with the C(effect) V(NoSchedule) or V(NoExecute) to
          claims that do not tolerate the taint, such as those of this collection. All other effects only inform.
      type: list
      elements: dict
      contains:
        key:
          description: Key of the taint.
          type: str
        value:
          description: Value of the taint, which may be empty.
          type: str
        effect:
          description: What the taint does.
          type: str
        time_added:
          description: When the taint was added. Empty if the driver and the API server do not say.
          type: str
  sample:
    - attributes: {dra.net/pciAddress: "0000:1a:00.0", dra.net/rdma: true}
      capacity: {}
      driver: dra.net
      name: pci-0000-1a-00-0
      node: h100-01
      pci: "0000:1a:00.0"
      pool: h100-01
      taints: []
tainted:
  description:
    - The tainted GPUs and NICs of all nodes as text, one line for all devices of a node with the same taints.
    - Empty if neither O(expected) nor O(gather_subset) asks for what drivers publish.
  returned: success
  type: list
  elements: str
  sample:
    - "h100-03: gpu-2 is tainted gpu.nvidia.com/xid=79 (NoSchedule): no new pod gets it"
nodes:
  description: Each node in O(expected).
  returned: success
  type: dict
  contains:
    exists:
      description: Whether the cluster has a node of this name.
      type: bool
    labels:
      description: Labels of the node that select drivers for it.
      type: dict
    drivers:
      description: Drivers that publish devices for the node.
      type: list
      elements: str
    silent:
      description:
        - Why DRANET publishes no RDMA NIC for a node that is in the cluster and for which O(expected) says to wait for
          NICs. Empty for all other nodes.
        - Also empty if the module did not wait and the driver does not run on the node yet.
      type: str
    without_gpus:
      description: The same for the devices of NVIDIA's DRA driver.
      type: str
    missing:
      description:
        - Devices that are not published, with C(driver), C(name), C(pci), and the reason as C(code) and in words
          (C(reason)).
        - C(intended) is V(true) for a NIC with the default route, and for one in C(rdma_driver_exclude).
      type: list
      elements: dict
    extra:
      description: Devices that are published but should not be, with the same keys.
      type: list
      elements: dict
    differing:
      description:
        - Attributes with a different value, with C(driver), C(name), C(pci), C(attribute), the values C(expected) and
          C(published) (V(null) if not published), and the C(reason) if known.
      type: list
      elements: dict
  sample:
    h100-01:
      differing: []
      drivers: [dra.net]
      exists: true
      extra: []
      labels: {zerocopy.rdma.node-restriction.kubernetes.io/group: h100}
      missing:
        - code: excluded
          driver: dra.net
          intended: true
          name: ""
          pci: "0000:1a:00.0"
          reason: it carries the default route
      silent: ""
      without_gpus: ""
differences:
  description:
    - RV(nodes) as text, one line for each difference with its nodes. Intended differences are left out. After 30 lines,
      the last line says how many more there are.
    - A further line names the nodes with ResourceSlices in a pool that does not have the name of the node. Drivers name
      the pool of a node after it. The account of a kubelet could otherwise hide the devices of other nodes, so these
      ResourceSlices do not count.
  returned: success
  type: list
  elements: str
  sample:
    - "h100-[01-08]: 8 NICs are missing: DRANET publishes nothing there: it has no pod there"
"""

from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.module import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.slices.info import SUBSETS, SliceRequest, info


def _call(module: Any, client: Client) -> Dict[str, Any]:
    params = module.params
    wait = params["wait"] and not module.check_mode
    return info(
        client,
        SliceRequest(params["expected"], params["gather_subset"], params["wait_timeout"] if wait else None),
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
