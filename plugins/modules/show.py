#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: show
short_description: Show a text that a person has to see
version_added: 1.0.0
description:
  - Shows a text as M(ansible.builtin.debug) does, but also where C(display_ok_hosts) is false, and with its line breaks
    where results are not shown as YAML.
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
      - Runs on the controller.
options:
  text:
    description: The text, or its lines.
    type: raw
    required: true
  stats:
    description:
      - What programs that run playbooks (ansible-runner, AWX) get as artifacts, in the key C(zerocopy_rdma) of the
        custom statistics, as from M(ansible.builtin.set_stats). The C(version) of their form is added.
    type: dict
"""

EXAMPLES = r"""
- name: Show the differences from the plan
  zerocopy.rdma.show:
    text: "{{ rdma_drift_view.text }}"
  run_once: true
"""

RETURN = r"""
msg:
  description: The text, as its lines where results are not shown as YAML.
  returned: always
  type: raw
"""
