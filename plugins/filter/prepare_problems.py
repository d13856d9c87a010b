# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: prepare_problems
short_description: Find problems of the configuration before any node is changed
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Checks every C(rdma_*) variable of every host, by name, type and meaning, and the addresses of the whole fleet.
    Unlike Ansible, it also rejects names that no role reads.
  - Compute it once for all hosts (C(run_once)), not per host.
  - Variables of the play, which C(hostvars) lacks, are checked if they are the same for all hosts.
requirements:
  - netaddr (Python library, where Ansible runs)
extends_documentation_fragment:
  - zerocopy.rdma._hosts
positional: hostvars
options:
  everyone:
    description:
      - Names of all hosts of the inventory (C(groups['all'])), among which addresses must be unique. By default only
        the hosts of this run.
    type: list
    elements: str
  facts:
    description:
      - Whether to also compare the plan with the facts that M(zerocopy.rdma.rdma_facts) gathered in this run.
    type: bool
    default: false
  prefix:
    description:
      - Check only variables whose names begin with this prefix, such as V(rdma_discover_). By default, all are checked.
    type: str
    default: ''
  networks:
    description:
      - Networks that the cluster has for C(pods) and C(services), as M(zerocopy.rdma.cluster_info) returns them.
        No RDMA link may have an address in them, and no network of pods may overlap them. If this option is set,
        nothing else is checked.
    type: dict
"""

EXAMPLES = r"""
- name: Fail on invalid configuration
  ansible.builtin.assert:
    that: __problems == []
    fail_msg: "{{ __problems }}"
  vars:
    __problems: "{{ ansible_play_hosts_all | zerocopy.rdma.prepare_problems(hostvars, everyone=groups['all']) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: One line for each problem, with the hosts, the variable, its value and what would be correct.
  type: list
  elements: str
"""

from functools import partial
from typing import Any, Callable, Dict, List, Mapping, Optional

from jinja2 import pass_context

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.preflight import networks as prepare_networks
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.preflight import preflight
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.preflight.hosts import PrepareHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory


def _matters(name: str) -> bool:
    return name == "ansible_host" or plan_variables.ours(name)


def _begins(prefix: str, name: str) -> bool:
    return _matters(name) and name.startswith(prefix)


def _of_networks(name: str) -> bool:
    """Whether links or pods of a strategy may have a network because of it."""
    return name.startswith("rdma_links_") or name.endswith("_networks") or name == plan_variables.STRATEGY


def _host(
    name: str,
    variables: Mapping[str, Any],
    play: Optional[Mapping[str, Any]],
    facts: bool,
    matters: Callable[[str], bool],
) -> PrepareHost:
    host = PrepareHost(name, chosen=play is not None)
    host.variables, host.broken = _inventory.of_host(variables, play or {}, matters)
    host.group = plan_variables.group_of({**host.variables, "group_names": variables.get("group_names")})
    if facts and host.chosen:
        host.facts, malformed = _inventory.facts_of(variables)
        if malformed:
            host.broken.append(Problem("ansible_facts.rdma", f"cannot be used: {malformed}"))
    return host


@pass_context
def prepare_problems(
    context: Mapping[str, Any],
    hosts: List[str],
    hostvars: Mapping[str, Mapping[str, Any]],
    everyone: Optional[List[str]] = None,
    facts: bool = False,
    networks: Optional[Dict[str, List[str]]] = None,
    prefix: str = "",
) -> List[str]:
    play, options = _inventory.of_play(context, hostvars), _inventory.options(context)
    if networks is not None:
        own = {name: _inventory.of_host(hostvars[name], play, _of_networks)[0] for name in hosts}
        planned = [PrepareHost(name, variables=values) for name, values in own.items()]
        return prepare_networks.of_cluster(planned, networks, options)
    chosen = dict.fromkeys(hosts, play)
    names = dict.fromkeys([*hosts, *(everyone or [])])
    matters = partial(_begins, prefix)
    every = [_host(name, hostvars[name], chosen.get(name), facts, matters) for name in names]
    return preflight.problems(every, options)


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"prepare_problems": prepare_problems}
