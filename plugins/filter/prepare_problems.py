# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: prepare_problems
short_description: Find what is wrong in the inventory before any node is changed
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Checks every C(rdma_*) variable of every host, by name, type and meaning, and the plan of addresses of the whole
    fleet. Names that no role reads are refused too, which Ansible does not do.
  - Compute it once for all hosts (C(run_once)), not per host.
  - Of the variables of the play, which C(hostvars) lacks, it sees those that are the same for all hosts.
positional: hostvars
options:
  _input:
    description: Names of the hosts of this run, whose problems are wanted.
    type: list
    elements: str
    required: true
  hostvars:
    description: The magic variable C(hostvars), or any mapping of host names to variables.
    type: dict
    required: true
  everyone:
    description:
      - Names of all hosts of the inventory (C(groups['all'])), so that addresses are unique beyond this run.
      - By default only the hosts of this run.
    type: list
    elements: str
  facts:
    description:
      - Whether to compare with what M(zerocopy.rdma.rdma_facts) found in this run as well, for hosts that have it.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Refuse an inventory that cannot work
  ansible.builtin.assert:
    that: __problems == []
    fail_msg: "{{ __problems }}"
  vars:
    __problems: "{{ ansible_play_hosts_all | zerocopy.rdma.prepare_problems(hostvars, everyone=groups['all']) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: One line for each problem, with the hosts, the variable, its value and what would be right.
  type: list
  elements: str
"""

import contextlib
from typing import Any, Callable, Dict, List, Mapping, Optional

from ansible.errors import AnsibleError
from jinja2 import Undefined, UndefinedError, pass_context

from ansible_collections.zerocopy.rdma.plugins.module_utils._planning import _prepare, _variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._planning._prepare_problem import Problem

_ALSO = ("ansible_host",)
# In the variables of a play these can only be templates, of which the value of one host says nothing about the others.
_NOT_OF_PLAY = ("rdma_links_addresses", "rdma_links_host_number", "rdma_links_ports", *_variables.PLAYBOOKS)


class _UndefinedError(Exception):
    """A value that cannot be worked out."""


def _plain(value: Any) -> Any:
    """A value with everything in it worked out. Raises _UndefinedError."""
    if isinstance(value, Undefined):
        # Its text is not to be had without the exception.
        try:
            str(value)
        except (AnsibleError, UndefinedError) as error:
            raise _UndefinedError(str(error)) from error
    if isinstance(value, str) and "{{" in value:
        raise _UndefinedError(f"something in {value!r} is undefined")
    if isinstance(value, Mapping):
        return {key: _plain(value[key]) for key in value}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def _value(variables: Mapping[str, Any], name: str) -> Any:
    try:
        return _plain(variables[name])
    except (AnsibleError, UndefinedError) as error:
        raise _UndefinedError(" ".join(str(error).split())) from error


def _of_play(context: Mapping[str, Any], hostvars: Mapping[str, Mapping[str, Any]]) -> Dict[str, Any]:
    """What a play says instead of the inventory."""
    found: Dict[str, Any] = {}
    host = str(context.get("inventory_hostname"))
    names = [name for name in _variables.options_of() if name in context and name not in _NOT_OF_PLAY]
    known = hostvars[host] if names and host in hostvars else {}
    for name in names:
        # What cannot be worked out is told when it is the inventory's, and by the role itself when it is the play's.
        with contextlib.suppress(_UndefinedError):
            value = _value(context, name)
            if name not in known or _value(known, name) != value:
                found[name] = value
    return found


def _host(name: str, variables: Mapping[str, Any], of_play: Optional[Mapping[str, Any]], facts: bool) -> _prepare.Host:
    host = _prepare.Host(name, chosen=of_play is not None)
    own: Dict[str, Any] = {}
    for variable in variables:
        if variable in _ALSO or _variables.ours(str(variable)):
            try:
                # Every host has the whole fleet's picture, as large as the fleet.
                own[variable] = None if variable in _variables.PLAYBOOKS else _value(variables, variable)
            except _UndefinedError as error:
                host.broken.append(Problem(str(variable), f"cannot be worked out: {error}"))
    own.update(of_play or {})
    host.variables = own
    host.group = _variables.group_of({**own, "group_names": variables.get("group_names")})
    if facts and host.chosen:
        host.facts = _variables.facts_of(variables)
    return host


@pass_context
def prepare_problems(
    context: Mapping[str, Any],
    hosts: List[str],
    hostvars: Mapping[str, Mapping[str, Any]],
    everyone: Optional[List[str]] = None,
    facts: bool = False,
) -> List[str]:
    chosen = dict.fromkeys(hosts, _of_play(context, hostvars))
    names = dict.fromkeys([*hosts, *(everyone or [])])
    return _prepare.problems([_host(name, hostvars[name], chosen.get(name), facts) for name in names])


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"prepare_problems": prepare_problems}
