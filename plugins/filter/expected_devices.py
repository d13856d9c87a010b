# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: expected_devices
short_description: Derive what the DRA drivers of each node should publish
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Derives from the facts of M(zerocopy.rdma.rdma_facts) and the variables C(rdma_driver_*) what DRANET and NVIDIA's
    DRA driver should publish for each node, and what they leave out on purpose. M(zerocopy.rdma.resource_slice_info)
    compares this with what the drivers publish.
  - No NICs are expected on hosts whose C(rdma_driver_enabled) is V(false), and no GPUs on hosts that have no template
    with GPUs in C(rdma_claims_templates).
  - Nothing is expected on hosts whose C(rdma_strategy) is not V(dra).
  - Compute it once for all hosts (C(run_once)), not per host.
extends_documentation_fragment:
  - zerocopy.rdma._hosts
positional: hostvars
"""

EXAMPLES = r"""
- name: Compare what drivers publish with the facts
  zerocopy.rdma.resource_slice_info:
    expected: "{{ ansible_play_hosts_all | zerocopy.rdma.expected_devices(hostvars) }}"
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
_value:
  description:
    - What is expected on each host. Hosts without facts, with invalid variables, or on which nothing is expected are
      left out.
  type: dict
  contains:
    drivers:
      description: Drivers that should publish something.
      type: list
      elements: str
    devices:
      description: Devices with C(driver), C(name) and C(attributes) by qualified name.
      type: list
      elements: dict
    left_out:
      description: PCI addresses of NICs that should not be published, each with the reason.
      type: dict
    may_hide_nics:
      description:
        - Whether the facts lack NICs that are in pods, as in RDMA netns mode V(exclusive) and with Soft-RoCE.
      type: bool
    wait:
      description:
        - Drivers to wait for, out of those whose devices are expected. DRANET if C(rdma_wait) is V(true), and NVIDIA's
          DRA driver if C(rdma_driver_gpu_deploy) is V(true) as well.
      type: list
      elements: str
  sample:
    lab-01:
      devices:
        - attributes: {dra.net/ifName: ens1np0, dra.net/pciAddress: "0000:66:00.0", dra.net/rdma: true}
          driver: dra.net
          name: pci-0000-66-00-0
      drivers: [dra.net]
      left_out: {"0000:1a:00.0": it carries the default route}
      may_hide_nics: false
      wait: [dra.net]
"""

from typing import Any, Callable, Dict, List, Mapping

from jinja2 import pass_context

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _strategy_inventory


@pass_context
def expected_devices(
    context: Mapping[str, Any], hosts: List[str], hostvars: Mapping[str, Mapping[str, Any]]
) -> Dict[str, Dict[str, Any]]:
    return registry.expected(_strategy_inventory.hosts(context, hosts, hostvars))


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"expected_devices": expected_devices}
