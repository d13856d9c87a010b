# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: host_verdicts
short_description: Judge hosts by their facts, their configuration and the tests between them
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Compares the facts with the inventory, turns what the role P(zerocopy.rdma.rdma_drift#role) found into checks, and
    judges the results of the tests on the hosts.
  - Reads the results that the tasks of the role P(zerocopy.rdma.rdma_verify#role) have registered for each host.
  - Compute it once for all hosts (C(run_once)), not per host.
extends_documentation_fragment:
  - zerocopy.rdma._hosts
positional: hostvars
options:
  plan:
    description: The plan of P(zerocopy.rdma.verify_plan#filter).
    type: dict
    default: {}
  untried:
    description: Why no tests were run on the hosts. Empty if they were run.
    type: str
    default: ""
  now:
    description:
      - Time at which the facts were gathered again, in seconds since the epoch. It is needed to judge how fast error
        counters grew.
    type: float
"""

EXAMPLES = r"""
- name: Judge hosts by facts and inventory alone
  ansible.builtin.debug:
    msg: "{{ (ansible_play_hosts_all | zerocopy.rdma.host_verdicts(hostvars)).checks }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: What was found.
  type: dict
  contains:
    checks:
      description:
        - Checks with C(ring), C(id), C(host), C(group), C(subject), C(verdict) (V(pass), V(warn), V(fail) or
          V(impossible)), C(text), C(evidence), C(remedy), and in C(mend) the code of the command that fixes it (empty
          if none does).
      type: list
      elements: dict
    bandwidth:
      description:
        - Measurements with C(group), C(test), C(from), C(to), C(value), C(unit), C(expected), C(threshold), C(verdict)
          and C(text).
      type: list
      elements: dict
"""

from dataclasses import asdict
from typing import Any, Callable, Dict, List, Mapping, Optional

from jinja2 import pass_context

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove import document
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import (
    counters,
    drift,
    fabric,
    facts,
    fleet,
    site_checks,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import live as host_live
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import plan as host_plan
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _verify_inventory


@pass_context
def host_verdicts(
    context: Mapping[str, Any],
    hosts: List[str],
    hostvars: Mapping[str, Mapping[str, Any]],
    plan: Optional[Mapping[str, Any]] = None,
    untried: str = "",
    now: Optional[float] = None,
) -> Dict[str, Any]:
    nodes = _verify_inventory.nodes(context, hosts, hostvars)
    checks = fleet.of_fleet(nodes)
    for node in nodes:
        checks += facts.of_node(node)
        checks += drift.of_node(node) if node.facts is not None else []
        checks += site_checks.of_node(node, variables.sent(hostvars[node.host]) if node.facts else None)
    owns = {host: host_plan.own(value) for host, value in (plan or {}).items()}
    if not untried and now is not None:
        checks += [check for node in nodes for check in counters.of_node(node, now)]
    checks += [] if untried else fabric.of_fleet(nodes, owns)
    live, measurements = host_live.of_fleet(nodes, owns, untried)
    return {
        "checks": [asdict(check) for check in checks + live],
        "bandwidth": [document.plain_measurement(measurement) for measurement in measurements],
    }


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"host_verdicts": host_verdicts}
