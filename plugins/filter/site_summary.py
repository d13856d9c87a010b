# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: site_summary
short_description: Summarise what a run of site did
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Returns a few lines that say how many nodes of each group were changed, were left unchanged or failed, what was done
    to objects of the cluster, and how to verify the result.
  - Reads the results of the roles C(zerocopy.rdma.rdma_drift) and C(zerocopy.rdma.rdma_provision). Compute it once for
    all hosts (C(run_once)), not per host.
positional: hostvars, active
options:
  _input:
    description: Names of all hosts of the run.
    type: list
    elements: str
    required: true
  hostvars:
    description: The magic variable C(hostvars).
    type: dict
    required: true
  active:
    description: Names of the hosts that have not failed (C(ansible_play_hosts)).
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Show what was done
  ansible.builtin.debug:
    msg: "{{ ansible_play_hosts_all | zerocopy.rdma.site_summary(hostvars, ansible_play_hosts) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: The lines. Empty if the run concerned neither nodes nor the cluster.
  type: list
  elements: str
  sample:
    - "h100: 1 changed (h100-03), 2 unchanged"
    - "objects of the cluster: 2 created, 5 unchanged"
    - "next: ansible-playbook -i inventory zerocopy.rdma.verify"
"""

from typing import Any, Callable, Dict, List, Mapping, Sequence

from jinja2 import pass_context

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import drift
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats import site
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _groups, _inventory, _provisioned, _run


@pass_context
def site_summary(
    context: Mapping[str, Any], hosts: Sequence[str], hostvars: _inventory.Hostvars, active: Sequence[str]
) -> List[str]:
    groups = {host: _groups.of(hostvars, host) for host in hosts}
    nodes = [drift.read(host, group, _inventory.raw(hostvars[host], drift.RESULT)) for host, group in groups.items()]
    return site.lines(
        site.SiteRun(
            nodes,
            [host for host in hosts if host not in set(active)],
            _provisioned.objects(hostvars[active[0]]) if active else {},
            bool(context.get("ansible_check_mode")),
            _run.of(context, groups),
        )
    )


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"site_summary": site_summary}
