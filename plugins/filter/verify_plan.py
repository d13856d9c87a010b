# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: verify_plan
short_description: Plan the tests between hosts
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Turns the facts of M(zerocopy.rdma.rdma_facts) and the variables C(rdma_verify_*) of all hosts into what each host
    does, as options of the modules M(zerocopy.rdma.rdma_reachability) and M(zerocopy.rdma.rdma_bandwidth).
  - The hosts of a group are measured in rounds, in each of which a host is in at most one pair. Measurements are
    between rails of the same number.
  - Compute it once for all hosts (C(run_once)), not per host. P(zerocopy.rdma.verify_part#filter) returns the part of
    one host.
extends_documentation_fragment:
  - zerocopy.rdma._hosts
positional: hostvars
options:
  forks:
    description:
      - Number of hosts on which Ansible works at once (C(ansible_forks)). It determines how long a server waits for its
        client.
    type: int
    default: 5
"""

EXAMPLES = r"""
- name: Plan the tests
  ansible.builtin.set_fact:
    plan: "{{ ansible_play_hosts_all | zerocopy.rdma.verify_plan(hostvars, ansible_forks) }}"
  run_once: true
  delegate_to: localhost
  delegate_facts: true
"""

RETURN = r"""
_value:
  description: The tests of each host.
  type: dict
  contains:
    probes:
      description: Pings to send.
      type: list
      elements: dict
    ends:
      description: C(port) and C(peer) of each ping, by its name.
      type: dict
    addresses:
      description: Addresses for which to send ARP probes.
      type: list
      elements: dict
    loopback:
      description: Measurements from each port to itself, in the same format as a round.
      type: dict
    fabric_ports:
      description: Ports from which the links of their InfiniBand fabric are read.
      type: list
      elements: dict
    rounds:
      description:
        - For each round, C(role) (V(server), V(client) or V(idle)), C(peer), C(seconds), C(runs), and the C(expected)
          bandwidth of each run in Gb/s.
      type: list
      elements: dict
"""

from dataclasses import asdict
from typing import Any, Callable, Dict, List, Mapping

from jinja2 import pass_context

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import plan
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _verify_inventory


@pass_context
def verify_plan(
    context: Mapping[str, Any], hosts: List[str], hostvars: Mapping[str, Mapping[str, Any]], forks: int = 5
) -> Dict[str, Any]:
    nodes = _verify_inventory.nodes(context, hosts, hostvars)
    return {host: asdict(own) for host, own in plan.plan(nodes, forks).items()}


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"verify_plan": verify_plan}
