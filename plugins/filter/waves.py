# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: waves
short_description: Plan the waves in which nodes that differ are changed
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Selects the hosts on which the role P(zerocopy.rdma.rdma_drift#role) found differences, and divides them into waves
    for C(hosts) and C(serial) of a play.
  - The host variable C(rdma_serial_max) limits how many hosts of a group are in one wave.
extends_documentation_fragment:
  - zerocopy.rdma._hosts
positional: hostvars, ramp
options:
  ramp:
    description:
      - Sizes of the first waves, as numbers or as percentages of all hosts to be changed. The last size applies to all
        further waves. A single size needs no list.
    type: raw
    default: [1, "10%", "25%"]
"""

EXAMPLES = r"""
- name: Show which nodes would be changed at the same time
  ansible.builtin.debug:
    msg: "{{ ansible_play_hosts_all | zerocopy.rdma.waves(hostvars) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: Hosts of each wave.
  type: list
  elements: list
  sample: [[h100-01], [h100-02, h100-03]]
"""

from typing import Any, Callable, Dict, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import waves as plan_waves
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import drift
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory, _waves


def waves(hosts: Sequence[str], hostvars: _inventory.Hostvars, ramp: Any = plan_waves.RAMP) -> List[List[str]]:
    groups = {host: plan_variables.group_of(hostvars[host]) for host in hosts}
    limits = _waves.limits(groups, hostvars)
    changing: List[plan_waves.WaveMember] = []
    for host in hosts:
        variables: Mapping[str, Any] = hostvars[host]
        result = _inventory.raw(variables, drift.RESULT)
        if result is not None and drift.to_prepare(result):
            changing.append(plan_waves.WaveMember(host, groups[host], limits.get(groups[host], 0)))
    return plan_waves.waves(changing, _waves.sizes(ramp))


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"waves": waves}
