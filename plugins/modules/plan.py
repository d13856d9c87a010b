#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: plan
short_description: Plan the desired state of the nodes of a play, once for all of them
version_added: 0.1.0
description:
  - Turns the variables and RDMA facts of all hosts of the batch (C(serial), by default the play) into one plan, on the
    controller. Connects to no host, and changes nothing. Run it once (C(run_once)), after
    M(zerocopy.rdma.rdma_facts).
  - The plan is written to files that only the user can read, one for each host, in a temporary directory that Ansible
    removes at the end of the run. M(zerocopy.rdma.node) reads the file of its host.
  - Variables of the play take precedence over the inventory, as usual, and are evaluated for each host.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
attributes:
  platform:
    support: full
    details:
      - Runs on the controller.
options:
  parts:
    description: Parts of the plan. V(node) is the desired state of the nodes themselves.
    type: list
    elements: str
    choices: [node]
    default: [node]
  state:
    description: With V(absent), the plan is to restore the nodes as they were before, which needs no facts.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - module: zerocopy.rdma.node
"""

EXAMPLES = r"""
- name: Plan the nodes
  zerocopy.rdma.plan:
  register: plan
  run_once: true

- name: Compare each node with its plan
  zerocopy.rdma.node:
    plan: "{{ plan.directory }}"
    compare: true
"""

RETURN = r"""
directory:
  description: Directory with the plan.
  returned: success
  type: str
problems:
  description: For each host for which something cannot be planned, why. M(zerocopy.rdma.node) fails on these hosts.
  returned: success
  type: dict
  sample: {h100-03: "h100-03: there are no facts about its HCAs"}
images:
  description: Hosts whose plan includes images from archives.
  returned: success
  type: list
  elements: str
"""
