# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: fleet
short_description: Combine the RDMA facts of many hosts into one view
version_added: 1.0.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Turns the facts of M(zerocopy.rdma.rdma_facts) of many hosts into one table, shows for each group whether its nodes
    are alike and how they differ, and reports what is missing or slow compared with the inventory.
  - Facts are compared with the host variables C(rdma_discover_expect_hcas), C(rdma_discover_expect_gpus),
    C(rdma_discover_expect_link_layer) and C(rdma_discover_expect_rate_gbps). A host's group is C(rdma_group) or, by
    default, the deepest of its groups with variables of this collection.
  - Compute it once for all hosts (C(run_once)), not per host.
extends_documentation_fragment:
  - zerocopy.rdma._hosts
positional: hostvars
options:
  detail:
    description:
      - V(full) prints all rows of all hosts, and for each shape the path classes between GPUs and HCAs, as
        C(nvidia-smi topo -m) does. V(summary) prints identical hosts of a group once, then only the differences.
      - V(auto) prints all rows for up to 16 hosts, and is V(summary) for more.
    type: str
    choices: [auto, full, summary]
    default: auto
  query:
    description:
      - JMESPath expression that is applied to a map of C(rows), C(groups) and C(findings), as they are returned. Its
        result replaces the table in the text.
      - Rows are printed as a table, lists of scalars one per line, anything else as JSON. All values of rows are
        strings, so compare a rate as C(to_number(rate)).
    type: str
    default: ""
requirements:
  - jmespath (Python library, where Ansible runs), for O(query)
"""

EXAMPLES = r"""
- name: Show the fleet
  ansible.builtin.debug:
    msg: "{{ (ansible_play_hosts_all | zerocopy.rdma.fleet(hostvars)).text }}"
  run_once: true

- name: Show the ports that run below 400 Gb/s
  ansible.builtin.debug:
    msg: "{{ (ansible_play_hosts_all | zerocopy.rdma.fleet(hostvars, query=__slow)).text }}"
  vars:
    __slow: "rows[?to_number(rate) < `400`]"
  run_once: true
"""

RETURN = r"""
_value:
  description: The view.
  type: dict
  contains:
    text:
      description: Table, groups and findings for a terminal.
      type: str
    version:
      description: Version of the form of this view.
      type: int
    csv:
      description: All rows as CSV with a heading.
      type: str
    rows:
      description: One row per port, with strings as values.
      type: list
      elements: dict
    groups:
      description:
        - For each group, its hosts, its shapes (sets of nodes with the same hardware, with C(signature), C(hosts),
          C(differences), and C(gpus), the path classes of the first host's GPUs to its HCAs), and hosts without facts.
      type: list
      elements: dict
    query:
      description: Result of O(query), V(null) without one.
      type: raw
    findings:
      description: What needs attention, with C(kind) (V(intent) or V(warning)), C(code), C(text) and C(hosts).
      type: list
      elements: dict
"""

from dataclasses import asdict
from typing import Any, Callable, Dict, List, Mapping

from ansible.errors import AnsibleFilterError

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import queries
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import fleet as plan_fleet
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import fleet_text
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import state_version
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import RefusedError
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import visible
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _groups, _inventory, _workers

_PREFIX = "rdma_discover_expect_"
# Of the file with the view.
_VERSION = state_version.FIRST


def _number(host: str, variables: Mapping[str, Any], name: str) -> float | None:
    value = variables.get(_PREFIX + name)
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if number < 0:
        raise AnsibleFilterError(f"{host}: {_PREFIX}{name} is {value!r}, it must be a number of at least 0")
    return number


def _node(host: str, hostvars: _inventory.Hostvars) -> plan_fleet.FleetNode:
    variables = hostvars[host]
    link_layer = variables.get(_PREFIX + "link_layer")
    if link_layer not in (None, "InfiniBand", "Ethernet"):
        message = f"{host}: {_PREFIX}link_layer is {link_layer!r}, it must be InfiniBand or Ethernet"
        raise AnsibleFilterError(message)
    hcas, gpus = _number(host, variables, "hcas"), _number(host, variables, "gpus")
    intent = plan_fleet.NodeIntent(
        hcas=None if hcas is None else int(hcas),
        gpus=None if gpus is None else int(gpus),
        link_layer=link_layer,
        rate_gbps=_number(host, variables, "rate_gbps"),
    )
    rdma, malformed = _inventory.facts_of(variables)
    silence = "" if rdma else _inventory.silence_of(host, variables)
    return plan_fleet.FleetNode(host, _groups.of(hostvars, host, variables), rdma, intent, malformed, silence)


def fleet(
    hosts: List[str], hostvars: Mapping[str, Mapping[str, Any]], detail: str = "auto", query: str = ""
) -> Dict[str, Any]:
    if detail not in fleet_text.DETAILS:
        raise AnsibleFilterError(f"fleet: detail is {detail!r}, it must be one of {', '.join(fleet_text.DETAILS)}")
    if not hosts:
        # So Ansible asks before it forks workers: see playbooks/preflight.yml.
        _workers.share_memory()
    picture = plan_fleet.fleet([_node(host, hostvars) for host in hosts])
    whole = asdict(picture) | {"version": _VERSION, "query": None, "csv": fleet_text.as_csv(picture)}
    if not query:
        return whole | {"text": visible(fleet_text.text(picture, detail))}
    try:
        found = queries.search(query, plain(asdict(picture)))
    except (queries.QueryError, RefusedError) as error:
        raise AnsibleFilterError(f"fleet: query is {query!r}, {error}") from error
    return whole | {"query": found, "text": visible(fleet_text.of_query(found))}


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"fleet": fleet}
