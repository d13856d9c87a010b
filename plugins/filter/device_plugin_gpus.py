# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: device_plugin_gpus
short_description: Find nodes on which a device plugin and the NVIDIA DRA driver would both own the GPUs
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Returns the nodes on which the NVIDIA DRA driver would run, but where a device plugin allocates NVIDIA GPUs, under
    whatever name (such as C(nvidia.com/gpu), C(nvidia.com/v100), C(nvidia.com/gpu.shared) or C(nvidia.com/mig-1g.5gb)).
  - These can be hosts of the run, and other nodes that the chart of the driver selects by their labels.
extends_documentation_fragment:
  - zerocopy.rdma._gpu_resources
positional: hosts, values, gpu_resources, rdma_resources
options:
  _input:
    description: The nodes, as the API server returns them.
    type: list
    elements: dict
    required: true
  hosts:
    description: Hosts of the run.
    type: list
    elements: str
    required: true
  values:
    description:
      - Values of the driver's chart. With C(kubeletPlugin.nodeSelector), it runs on nodes with these labels only. With
        C(kubeletPlugin.affinity.nodeAffinity), only O(hosts) are examined.
    type: dict
    default: {}
  rdma_resources:
    description: Extended resources that are NICs, although their names may not say so.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Show which nodes have a device plugin for GPUs
  ansible.builtin.debug:
    msg: "{{ nodes.resources | zerocopy.rdma.device_plugin_gpus(ansible_play_hosts_all) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: For each of these nodes, the extended resources that the device plugin offers there.
  type: dict
  sample:
    v100-01: [nvidia.com/v100]
"""

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import gpu_owners


def device_plugin_gpus(
    nodes: Sequence[Mapping[str, Any]],
    hosts: Sequence[str],
    values: Optional[Mapping[str, Any]] = None,
    gpu_resources: Sequence[str] = (),
    rdma_resources: Sequence[str] = (),
) -> Dict[str, List[str]]:
    return gpu_owners.by_device_plugin(nodes, hosts, values or {}, Names(rdma_resources, gpu_resources))


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"device_plugin_gpus": device_plugin_gpus}
