#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: rdma_neighbours_info
short_description: Read what is at the other end of a node's cables
version_added: 1.0.0
description:
  - Reads the links of InfiniBand fabrics with C(iblinkinfo) of infiniband-diags, which needs root and asks every switch
    of the fabric, and the LLDP neighbours of netdevs from C(lldpd), if it runs on the node.
  - Is no part of M(zerocopy.rdma.rdma_facts), because a fabric is read once, on one node. The role
    P(zerocopy.rdma.rdma_cabling#role) chooses that node, and joins links and facts.
  - Changes nothing, and does the same in check mode. What cannot be read is a result with its reason, not a failure.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
  - zerocopy.rdma._fabric_ports
options:
  lldp:
    description: Whether to ask C(lldpd) for neighbours.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Ask lldpd of each node
  zerocopy.rdma.rdma_neighbours_info:
  register: neighbours

- name: Read the links of a fabric
  zerocopy.rdma.rdma_neighbours_info:
    fabric_ports:
      - {hca: mlx5_0, port: 1, guid: "0x0c42a10300aabbcc"}
    lldp: false
"""

RETURN = r"""
fabrics:
  description: As of M(zerocopy.rdma.rdma_reachability).
  returned: success
  type: list
  elements: dict
lldp:
  description: The answer of lldpd.
  returned: if O(lldp)
  type: dict
  contains:
    code:
      description:
        - Empty if lldpd answered, else V(lldp_absent), V(lldp_stopped), V(lldp_rights) (root is needed) or
          V(lldp_unreadable).
      type: str
    said:
      description: The error message.
      type: str
    neighbours:
      description:
        - Neighbours with their C(netdev), C(chassis) (its ID), C(name), C(port), the C(description) of the port and the
          C(speed) that the other end has. Texts are cut at 256 characters.
      type: list
      elements: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import iblinkinfo, lldp


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "fabric_ports": iblinkinfo.FABRIC_PORTS,
            "lldp": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    ports = [iblinkinfo.FabricPort(**value) for value in module.params["fabric_ports"]]
    asked = {"lldp": lldp.ask()} if module.params["lldp"] else {}
    module.exit_json(changed=False, fabrics=iblinkinfo.fabrics(ports), **asked)


if __name__ == "__main__":
    main()
