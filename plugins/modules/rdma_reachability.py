#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: rdma_reachability
short_description: Test path MTU, duplicate addresses and the links of an InfiniBand fabric
version_added: 1.0.0
description:
  - Pings addresses of other nodes from addresses of this one, with packets of a given size that must not be fragmented
    (C(ping -M do) of iputils). If no packet is answered, the module tries small packets, to distinguish a wrong MTU
    from a missing path.
  - Sends ARP probes (RFC 5227) to find other stations that claim an IPv4 address of this node. This needs root and an
    Ethernet netdev, and changes no ARP cache.
  - Reads the links of InfiniBand fabrics with C(iblinkinfo) of infiniband-diags. This needs root.
  - Changes nothing, and does the same in check mode. A peer that does not answer is a result, not a failure.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
  - zerocopy.rdma._fabric_ports
options:
  pings:
    description: Pings to send, up to 16 at a time.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the ping, which is also that of its result.
        type: str
        required: true
      source:
        description: Source address, one of this node.
        type: str
        required: true
      target:
        description: Address of the peer.
        type: str
        required: true
      mtu:
        description: Size of the packets in bytes, with their IP header.
        type: int
        required: true
      netdev:
        description: Netdev that sends the packets. By default the one to which the routes lead.
        type: str
  addresses:
    description: IPv4 addresses of this node for which ARP probes are sent.
    type: list
    elements: dict
    default: []
    suboptions:
      netdev:
        description: The netdev that has the address.
        type: str
        required: true
      address:
        description: The address, without prefix length.
        type: str
        required: true
"""

EXAMPLES = r"""
- name: Test whether jumbo frames reach the other node
  zerocopy.rdma.rdma_reachability:
    pings:
      - {name: rail0, source: 10.0.0.1, target: 10.0.0.2, mtu: 9000}
    addresses:
      - {netdev: ens1np0, address: 10.0.0.1}
  register: reached

- name: Fail if they do not arrive, or if an address is a duplicate
  ansible.builtin.assert:
    that:
      - reached.pings | rejectattr('whole') | length == 0
      - reached.addresses | selectattr('other') | length == 0

- name: Read the links of a fabric
  zerocopy.rdma.rdma_reachability:
    fabric_ports:
      - {hca: mlx5_0, port: 1, guid: "0x0c42a10300aabbcc"}
"""

RETURN = r"""
pings:
  description: Results in the order of O(pings).
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the ping.
      type: str
    whole:
      description: Whether a packet of the requested size was answered.
      type: bool
    reached:
      description: Whether any packet was answered.
      type: bool
    lost:
      description: Number of large packets without an answer, where others were answered.
      type: int
    mtu_named:
      description: MTU that the kernel or a router reported when it rejected a packet. V(null) if none was reported.
      type: int
    complaint:
      description: Error message of ping.
      type: str
      sample: "local error: message too long, mtu=1500"
    usable:
      description: Whether the ping of this node supports the options used.
      type: bool
addresses:
  description: Results of O(addresses).
  returned: success
  type: list
  elements: dict
  contains:
    netdev:
      description: The netdev.
      type: str
    address:
      description: The address.
      type: str
    other:
      description: MAC address of another station that claims the address. V(null) if there is none.
      type: str
    skipped:
      description: Why the address could not be probed, empty otherwise.
      type: str
fabrics:
  description: The fabrics of O(fabric_ports), each once.
  returned: success
  type: list
  elements: dict
  contains:
    hca:
      description: The HCA from which the fabric was read.
      type: str
    port:
      description: Number of its port.
      type: int
    error:
      description: Why the fabric could not be read, empty otherwise.
      type: str
    links:
      description:
        - Both ends of each link, with the C(guid), C(name), C(port), C(state), C(width) and lane C(speed) (Gb/s) of one
          end, the C(peer_guid), C(peer) and C(peer_port) of the other end. C(could) has the higher width and speed that
          both ends support, if any.
      type: list
      elements: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import arp, iblinkinfo, ping


def main() -> None:
    text, number = {"type": "str", "required": True}, {"type": "int", "required": True}
    module = AnsibleModule(
        argument_spec={
            "pings": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {"name": text, "source": text, "target": text, "mtu": number, "netdev": {"type": "str"}},
            },
            "addresses": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {"netdev": text, "address": text},
            },
            "fabric_ports": iblinkinfo.FABRIC_PORTS,
        },
        supports_check_mode=True,
    )
    pings = [ping.PathProbe(**value) for value in module.params["pings"]]
    addresses = [arp.LocalAddress(**value) for value in module.params["addresses"]]
    fabric_ports = [iblinkinfo.FabricPort(**value) for value in module.params["fabric_ports"]]
    module.exit_json(
        changed=False,
        pings=ping.probe_all(pings),
        addresses=arp.probe_all(addresses),
        fabrics=iblinkinfo.fabrics(fabric_ports),
    )


if __name__ == "__main__":
    main()
