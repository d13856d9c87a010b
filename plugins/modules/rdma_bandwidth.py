#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: rdma_bandwidth
short_description: Measure bandwidth and latency between RDMA ports with perftest
version_added: 1.0.0
description:
  - Runs perftest (C(ib_write_bw), C(ib_read_lat), ...) on this node, as servers in the background
    (O(state=server)), as clients of servers on another node (O(state=client)), or as both (O(state=loopback)).
  - A server ends with its client, or after O(seconds) at the latest, so no process is left behind. With
    O(state=server), the module returns when all servers are listening.
  - Each process is pinned to the CPUs near its HCA.
  - Values are read from perftest's JSON output if it has one, otherwise from its table.
  - If a measurement is not possible, its result gives the reason and the module does not fail.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
attributes:
  check_mode:
    support: none
    details:
      - This module changes nothing, but puts load on the node and the network. It is therefore skipped in check mode.
  diff_mode:
    support: N/A
    details:
      - This module changes nothing.
  platform:
    support: full
    platforms: linux
options:
  state:
    description:
      - V(server) starts servers and leaves them running, V(client) measures, V(loopback) measures from each port to
        itself.
    type: str
    choices: [server, client, loopback]
    required: true
  seconds:
    description: Seconds after which a process is killed.
    type: int
    default: 60
  runs:
    description:
      - Measurements to run. Those of the same test run at the same time; tests run one after another, in the order of
        their first appearance.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the run, which is also that of its result.
        type: str
        required: true
      test:
        description: Name of the program without C(ib_).
        type: str
        choices: [write_bw, read_bw, send_bw, read_lat, write_lat, send_lat]
        required: true
      hca:
        description: RDMA device.
        type: str
        required: true
      port:
        description: Port number.
        type: int
        default: 1
      gid_index:
        description: GID index. Required on Ethernet.
        type: int
      tcp_port:
        description: TCP port of the server. Each run needs a different one.
        type: int
        default: 18515
      iterations:
        description: Number of messages. Must be the same for client and server.
        type: int
        required: true
      size:
        description: Message size in bytes, by default perftest's. Must be the same for client and server.
        type: int
      address:
        description: Address or name of the server. Required with O(state=client), and not allowed otherwise.
        type: str
      ipv6:
        description: Whether the address is IPv6. Must be the same for client and server. Needs perftest 23.07.
        type: bool
        default: false
"""

EXAMPLES = r"""
- name: Serve on one node
  zerocopy.rdma.rdma_bandwidth:
    state: server
    runs:
      - {name: rail0, test: write_bw, hca: mlx5_0, gid_index: 3, iterations: 5000, size: 65536}
  when: inventory_hostname == 'node1'

- name: Measure on the other node
  zerocopy.rdma.rdma_bandwidth:
    state: client
    runs:
      - {name: rail0, test: write_bw, hca: mlx5_0, gid_index: 3, iterations: 5000, size: 65536, address: 10.0.0.1}
  when: inventory_hostname == 'node2'
  register: measured
"""

RETURN = r"""
results:
  description: One result for each of O(runs). The order may differ, so select a result by its C(name).
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the run.
      type: str
    ok:
      description: Whether the server is listening or, for a client, a value was measured.
      type: bool
    code:
      description:
        - V(not_installed) if this node has no perftest, V(failed) if the run failed for another reason. Empty if
          RV(results[].ok) is V(true).
      type: str
    error:
      description: Why the run failed, as text. Empty if it did not fail.
      type: str
    value:
      description: Average bandwidth in Gb/s or typical latency in microseconds.
      type: float
      returned: if a value was measured
    peak:
      description: Peak bandwidth in Gb/s. V(null) if perftest does not report it.
      type: float
      returned: if a value was measured
    size:
      description: Message size in bytes.
      type: int
      returned: if a value was measured
    iterations:
      description: Number of messages.
      type: int
      returned: if a value was measured
    source:
      description: Output from which the value was read, V(json) or V(text).
      type: str
      returned: if a value was measured
    command:
      description: Command line of the client.
      type: list
      elements: str
      returned: for clients
    cpus:
      description: Number of CPUs to which the client was pinned.
      type: int
      returned: for clients
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.bandwidth import perftest_run

_RUN = {
    "name": {"type": "str", "required": True},
    "test": {"type": "str", "required": True, "choices": list(perftest_run.TESTS)},
    "hca": {"type": "str", "required": True},
    "port": {"type": "int", "default": 1},
    "gid_index": {"type": "int"},
    "tcp_port": {"type": "int", "default": 18515},
    "iterations": {"type": "int", "required": True},
    "size": {"type": "int"},
    "address": {"type": "str"},
    "ipv6": {"type": "bool", "default": False},
}
_STATES = {"server": perftest_run.serve, "client": perftest_run.measure, "loopback": perftest_run.loopback}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "required": True, "choices": list(_STATES)},
            "seconds": {"type": "int", "default": 60},
            "runs": {"type": "list", "elements": "dict", "required": True, "options": _RUN},
        },
    )
    state, runs = module.params["state"], perftest_run.runs_of(module.params["runs"])
    for run in runs:
        if (run.address is not None) != (state == "client"):
            module.fail_json(
                msg=f"runs: {run.name!r} has address {run.address!r}, it must have one with state client only"
            )
    module.exit_json(
        changed=False, results=_STATES[state](runs, perftest_run.PerftestTools(), module.params["seconds"])
    )


if __name__ == "__main__":
    main()
