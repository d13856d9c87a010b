# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: drift
short_description: Show how nodes differ from the plan, with identical differences once
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Combines what the role P(zerocopy.rdma.rdma_drift#role) found on each host into one view.
  - Compute it once for all hosts (C(run_once)), not per host.
extends_documentation_fragment:
  - zerocopy.rdma._hosts
positional: hostvars, diff
options:
  diff:
    description: Whether the text also shows how files differ, once for each kind of change.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Show the differences
  ansible.builtin.debug:
    msg: "{{ (ansible_play_hosts_all | zerocopy.rdma.drift(hostvars)).text }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: What differs.
  type: dict
  contains:
    text:
      description: The differences as text.
      type: str
    differ:
      description: Names of the hosts that differ or have a concern that could not be compared.
      type: list
      elements: str
    silent:
      description: Names of the hosts that have no result.
      type: list
      elements: str
    errors:
      description:
        - Why concerns could not be compared and a run would fail, with the hosts. Errors whose cause an earlier change
          of the same run may remove are left out.
      type: list
      elements: str
    kinds:
      description: Hosts of a group that differ in the same way, with C(group), C(hosts), and C(concerns) as text.
      type: list
      elements: dict
    hosts:
      description: For each host, its C(group), whether it C(differs), and its C(concerns) as in
        M(zerocopy.rdma.node_drift).
      type: dict
"""

from typing import Any, Callable, Dict, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import drift as report_drift
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory


def drift(hosts: Sequence[str], hostvars: _inventory.Hostvars, diff: bool = False) -> Dict[str, Any]:
    answers = []
    for host in hosts:
        variables = hostvars[host]
        result = _inventory.raw(variables, report_drift.RESULT)
        answers.append(report_drift.HostDrift(host, plan_variables.group_of(variables), result))
    return report_drift.view(answers, diff)


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"drift": drift}
