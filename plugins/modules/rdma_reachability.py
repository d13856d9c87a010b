#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: rdma_reachability
short_description: Whether large packets reach peers in one piece, and whether addresses are used twice
version_added: 0.1.0
description:
  - Sends packets of a given size, which nothing may fragment, from an address of this node to addresses of others
    (C(ping -M do) of iputils). Where they do not arrive it tries small ones, so that a wrong MTU is told from a missing
    path.
  - Asks on the wire whether another station has an IPv4 address of this node (ARP probes as in RFC 5227). That needs
    root and an Ethernet netdev. No cache of another station is changed by it.
  - Changes nothing, and does the same in check mode. What does not answer is a result, not a failure of the module.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
options:
  pings:
    description: What to send, some of them at a time.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: By which the result is found again.
        type: str
        required: true
      source:
        description: Address of this node to send from.
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
  addresses:
    description: IPv4 addresses of this node to look for on the wire.
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
- name: See that jumbo frames get to the other node
  zerocopy.rdma.rdma_reachability:
    pings:
      - {name: rail0, source: 10.0.0.1, target: 10.0.0.2, mtu: 9000}
    addresses:
      - {netdev: ens1np0, address: 10.0.0.1}
  register: reached

- name: Insist on it
  ansible.builtin.assert:
    that:
      - reached.pings | rejectattr('whole') | length == 0
      - reached.addresses | selectattr('other') | length == 0
"""

RETURN = r"""
pings:
  description: Results in the order of O(pings).
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the request.
      type: str
    whole:
      description: Whether a packet of the wanted size was answered.
      type: bool
    reached:
      description: Whether any packet was answered.
      type: bool
    lost:
      description: How many of the large packets were not answered although others were.
      type: int
    mtu_named:
      description: The MTU that the kernel or a router gave as the reason why a packet was not sent on.
      type: int
    complaint:
      description: What ping said.
      type: str
      sample: "local error: message too long, mtu=1500"
    usable:
      description: Whether this node has a ping that can do it.
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
      description: MAC address of another station that claims it.
      type: str
    skipped:
      description: Why it cannot be told, empty otherwise.
      type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import arp, ping


def main() -> None:
    text, number = {"type": "str", "required": True}, {"type": "int", "required": True}
    module = AnsibleModule(
        argument_spec={
            "pings": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {"name": text, "source": text, "target": text, "mtu": number},
            },
            "addresses": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {"netdev": text, "address": text},
            },
        },
        supports_check_mode=True,
    )
    pings = [ping.Probe(**value) for value in module.params["pings"]]
    addresses = [arp.Own(**value) for value in module.params["addresses"]]
    module.exit_json(
        changed=False,
        pings=ping.probe_all(pings),
        addresses=arp.probe_all(addresses),
    )


if __name__ == "__main__":
    main()
