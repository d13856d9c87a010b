#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: cabling
short_description: Check the cables of a fleet
version_added: 1.0.0
description:
  - Does the parts of the role P(zerocopy.rdma.rdma_cabling#role) that concern all hosts together, on the controller.
    Connects to no host, and changes nothing.
  - Run each part once (C(run_once)).
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
attributes:
  platform:
    support: full
    platforms: posix
    details:
      - Runs on the controller. Files of V(check) are written in check mode as well.
options:
  part:
    description:
      - V(first) chooses the host that reads InfiniBand fabrics, V(second) the first host of each group that has ports
        in none of the fabrics that were read. None is chosen if there are O(fabric_files).
      - V(check) joins facts, links and neighbours, and finds the cables that are not where they should be.
    type: str
    choices: [first, second, check]
    required: true
  fabric_files:
    description: Files on the controller with the output of C(ibnetdiscover) or C(iblinkinfo --line).
    type: list
    elements: path
    default: []
  expected:
    description: File on the controller with the expected cabling, for V(check).
    type: str
    default: ""
  json:
    description: File on the controller to write all that was found to, for V(check).
    type: str
    default: ""
  csv:
    description: File on the controller to write the cabling as found to, in the form of O(expected), for V(check).
    type: str
    default: ""
  html:
    description: File on the controller to write a page for a browser to, with a map of each unit, for V(check).
    type: str
    default: ""
  whole:
    description: Whether the run has all hosts of the fleet. Otherwise O(json) leaves the labels of nodes as they are.
    type: bool
    default: true
seealso:
  - module: zerocopy.rdma.rdma_neighbours_info
"""

EXAMPLES = r"""
- name: Choose the host that reads the fabric
  zerocopy.rdma.cabling:
    part: first
  register: first
  run_once: true
"""

RETURN = r"""
ports:
  description:
    - InfiniBand ports of the hosts that read fabrics, as options of M(zerocopy.rdma.rdma_neighbours_info), by host.
  returned: V(first) and V(second)
  type: dict
lldp:
  description: Hosts with Ethernet ports.
  returned: V(first) and V(second)
  type: list
  elements: str
text:
  description: The result for a terminal.
  returned: V(check)
  type: str
failure:
  description: Why the check fails. Empty if no cable is wrong.
  returned: V(check)
  type: str
faults:
  description: One line for each wrong cable.
  returned: V(check)
  type: list
  elements: str
counts:
  description: Number of ports whose neighbour is V(seen), that are V(dark) (no link) and V(unknown), and of V(faults).
  returned: V(check)
  type: dict
paths:
  description: The files that were written on the controller.
  returned: V(check)
  type: list
  elements: str
"""
