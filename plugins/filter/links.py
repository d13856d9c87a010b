# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: links
short_description: Plan the RDMA links of one host
version_added: 1.0.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Turns the variables C(rdma_links_*) and the facts of M(zerocopy.rdma.rdma_facts) of one host into the links that the
    host should have. The plan depends on no other host, so it is the same whichever hosts are in the run, and a node
    can plan its own links (C(ansible-pull)).
  - Rails are the host's RDMA NICs, numbered from 0 in PCI order. Ports that can never be a rail (default route, bond,
    VF, software device, ...) are left out, and so are ports of another link layer than
    C(rdma_discover_expect_link_layer). If there are more ports than rails, those that are up are used.
  - Links that cannot be planned are reported as warnings, for example a rail without a port or an InfiniBand port
    without an IPoIB netdev.
requirements:
  - netaddr (Python library, where Ansible runs)
options:
  _input:
    description:
      - Variables of the host, for example C(hostvars[inventory_hostname]). They must include C(inventory_hostname), and
        C(ansible_facts) with C(rdma).
      - For the task's own host, variables of the play and the role, which C(hostvars) lacks, are used as well.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the links of each host
  ansible.builtin.debug:
    msg: "{{ (hostvars[inventory_hostname] | zerocopy.rdma.links).links }}"
"""

RETURN = r"""
_value:
  description: The plan, as options C(links) of M(zerocopy.rdma.node).
  type: dict
  contains:
    links:
      description: The links. Empty if the variables request none.
      type: list
      elements: dict
    unmanaged:
      description:
        - VFs that NetworkManager must not manage, with C(rdma_links_unmanage_vfs). Those of C(rdma_links_vfs) are part
          of the links.
      type: list
      elements: str
    qos:
      description: Ports with the quality of service of RoCE, and its values, with C(rdma_links_qos).
      type: list
      elements: dict
  sample:
    links:
      - name: rdma-rail0
        hca: mlx5_0
        port: 1
        type: ethernet
        addresses: [10.10.0.7/16]
        mtu: 9000
        rail_table: 100
    unmanaged: []
    qos: []
"""

from typing import Any, Callable, Dict, List, Mapping

from jinja2 import pass_context

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _for_people, _inventory, _node_plan


@pass_context
def links(context: Mapping[str, Any], variables: Mapping[str, Any]) -> Dict[str, List[Any]]:
    host, own = _inventory.of_task(context, variables, lambda name: name.startswith(_node_plan.LINKS))
    plan = _node_plan.links(host, _inventory.typed(host, own, plan_variables.options_of()), variables)
    for warning in plan.warnings:
        _for_people.warn(f"{host}: {warning}")
    return {"links": plan.links, "unmanaged": plan.unmanaged, "qos": plan.qos}


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"links": links}
