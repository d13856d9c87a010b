#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: support_bundle
short_description: Pack what was gathered of hosts into an archive for a ticket
version_added: 1.0.0
description:
  - Packs what the tasks of the role P(zerocopy.rdma.rdma_support_bundle#role) have registered for the hosts of the
    play, the last report of verify, and the report and the memory of health, as far as they are about these hosts.
    Secrets are taken out. Runs on the controller and connects to no host. Run it once (C(run_once)).
  - C(index.json) in the archive lists all files, what could not be gathered, and what is not whole.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
attributes:
  check_mode:
    support: full
    details:
      - In check mode, nothing is written, and RV(text) says what would be.
  diff_mode:
    support: none
  platform:
    support: full
    platforms: posix
    details:
      - Runs on the controller.
options:
  directory:
    description: Directory for the archive, which is created.
    type: str
    required: true
  megabytes:
    description: Size of all files of a host together, in millions of characters.
    type: int
    default: 8
  plan:
    description: Directory of a plan (M(zerocopy.rdma.plan)), of which the hosts' parts are packed. Empty without one.
    type: str
    default: ''
  plan_failure:
    description: Why there is no plan.
    type: str
    default: ''
  cluster:
    description: The result of M(zerocopy.rdma.cluster_support_info), which may have failed.
    type: dict
    default: {}
  verify:
    description: Directory of the reports of verify. Empty if there is none.
    type: str
    default: ''
  health:
    description: Directory of health. Empty if there is none.
    type: str
    default: ''
seealso:
  - module: zerocopy.rdma.rdma_support_info
  - module: zerocopy.rdma.cluster_support_info
"""

EXAMPLES = r"""
- name: Read the logs of the hosts
  zerocopy.rdma.rdma_support_info:
  register: __rdma_support_node

- name: Pack them
  zerocopy.rdma.support_bundle:
    directory: support
  register: bundle
  run_once: true

- name: Show what is in it, and what is not
  ansible.builtin.debug:
    msg: "{{ bundle.text.splitlines() }}"
  run_once: true
"""

RETURN = r"""
path:
  description: The archive on the controller.
  returned: success
  type: str
text:
  description: What is in it, and what is not, for people.
  returned: success
  type: str
missing:
  description: What could not be gathered, with C(host) (empty if it is of none), C(what) and C(why).
  returned: success
  type: list
  elements: dict
cut:
  description: Files that are not whole, in the same form.
  returned: success
  type: list
  elements: dict
"""
