# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: strategy
short_description: Get what the strategy of a host requires of its node
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Returns the RDMA netns mode and the images that a node needs for C(rdma_strategy), which decides how the pods of its
    group reach RDMA.
positional: ""
options:
  _input:
    description: Variables of one host, C(hostvars[inventory_hostname]).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the images that a node needs
  ansible.builtin.debug:
    msg: "{{ (hostvars[inventory_hostname] | zerocopy.rdma.strategy).images }}"
"""

RETURN = r"""
_value:
  description: What the node needs.
  type: dict
  contains:
    name:
      description:
        - Name of the strategy, which may differ from C(rdma_strategy) because some values share a strategy (V(sriov)
          is served by V(host_device)).
      type: str
    netns_mode:
      description: RDMA netns mode. Empty to leave it unchanged.
      type: str
    images:
      description:
        - Images with their C(name), and C(archive), the path on the Ansible controller of an archive from which to
          import the image. The path is empty if the image is pulled.
      type: list
      elements: dict
  sample:
    name: dra
    netns_mode: ""
    images: [{name: "registry.k8s.io/networking/dranet:v1.4.0", archive: ""}]
"""

from dataclasses import asdict
from typing import Any, Callable, Dict, Mapping

from jinja2 import pass_context

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _strategy_inventory


@pass_context
def strategy(context: Mapping[str, Any], variables: Mapping[str, Any]) -> Dict[str, Any]:
    values = _strategy_inventory.values(context, variables)
    found = registry.of_host(values)
    images = found.images(values) if found else []
    return {
        "name": found.name if found else plan_variables.strategy_of(values),
        "netns_mode": registry.netns_mode(values) or "",
        "images": [asdict(image) for image in images],
    }


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"strategy": strategy}
