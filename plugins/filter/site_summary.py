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
  - Reads the results of the role C(zerocopy.rdma.rdma_drift) and of the roles of all strategies. Compute it once for
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

from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple

from jinja2 import pass_context

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import drift, site
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory, _run


def _place(entry: Mapping[str, Any]) -> Tuple[Any, ...]:
    return tuple(entry.get(part) for part in ("kind", "namespace", "name"))


def _objects(variables: Mapping[str, Any], role: str) -> List[Mapping[str, Any]]:
    """What a role has applied, also where it had to do so before nodes got their labels."""
    updated, applied = (
        (_inventory.raw(variables, f"{role}_{part}") or {}).get("objects") or [] for part in ("updated", "result")
    )
    before = {_place(entry): entry for entry in updated}
    return [before.get(_place(entry), entry) if entry["action"] == "unchanged" else entry for entry in applied]


def _sets(variables: Mapping[str, Any]) -> Dict[str, List[Mapping[str, Any]]]:
    """What each role of a strategy has applied, by role."""
    return {role: objects for role in registry.roles() for objects in [_objects(variables, role)] if objects}


@pass_context
def site_summary(
    context: Mapping[str, Any], hosts: Sequence[str], hostvars: _inventory.Hostvars, active: Sequence[str]
) -> List[str]:
    groups = {host: plan_variables.group_of(hostvars[host]) for host in hosts}
    nodes = [
        drift.HostDrift(host, group, _inventory.raw(hostvars[host], drift.RESULT)) for host, group in groups.items()
    ]
    return site.lines(
        site.SiteRun(
            nodes,
            [host for host in hosts if host not in set(active)],
            _sets(hostvars[active[0]]) if active else {},
            bool(context.get("ansible_check_mode")),
            _run.of(context, groups),
        )
    )


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"site_summary": site_summary}
