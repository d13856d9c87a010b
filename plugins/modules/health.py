#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: health
short_description: Judge the NICs of a fleet, and remember since when they are sick
version_added: 1.0.0
description:
  - Judges facts and drift of all hosts, and the figures of their exporters, by the rules of the role
    P(zerocopy.rdma.rdma_verify#role), on the controller. Connects to no host.
  - A NIC is sick if a check of its port, its PCIe link, its fabric, its error counters or its messages in the kernel
    log has failed. It is well again after as many good looks, and as long a time, as C(rdma_health_good_looks) and
    C(rdma_health_good_seconds) say.
  - What is remembered between two looks is in C(state.json) in O(directory). Run it once (C(run_once)).
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
attributes:
  check_mode:
    support: full
    details:
      - Nothing is remembered in check mode.
  diff_mode:
    support: none
  platform:
    support: full
    platforms: posix
    details:
      - Runs on the controller.
options:
  directory:
    description: Directory of C(state.json), which is created.
    type: str
    required: true
  hosts:
    description: Hosts to judge. By default, all hosts of the play.
    type: list
    elements: str
    default: []
  whole:
    description: Whether these are all hosts. If so, the hosts that are not among them are forgotten.
    type: bool
    default: false
seealso:
  - module: zerocopy.rdma.device_taints
  - module: zerocopy.rdma.report
"""

EXAMPLES = r"""
- name: Judge the NICs
  zerocopy.rdma.health:
    directory: health
    whole: true
  register: health
  run_once: true

- name: Show which NICs are sick
  ansible.builtin.debug:
    msg: "{{ health.nics | selectattr('state', 'eq', 'sick') }}"
  run_once: true
"""

RETURN = r"""
run:
  description: Directory on the controller for M(zerocopy.rdma.report), which Ansible removes at the end of the run.
  returned: success
  type: str
nics:
  description:
    - NICs that are not known to be well, with their C(host), C(key) (PCI address, or the name of a device that has
      none), C(name), C(functions) (PCI addresses of it and its VFs), C(state) (V(sick); V(settling), which is well, but
      not for long enough; V(unseen), which could not be looked at), C(bad) (looks that found it sick
      since it was last well), C(check) (the first finding), and C(exempt) (why the inventory says to leave it alone).
  returned: success
  type: list
  elements: dict
nodes:
  description:
    - Each host with its C(group), the number of its C(nics), the C(driver) that publishes them (empty if its strategy
      has no device taints), the C(policy) of its group, the C(well) NICs, and the C(functions) of all of them (PCI
      addresses of each NIC and its VFs).
  returned: success
  type: dict
"""
