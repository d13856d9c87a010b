# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What is wrong with the inventory of a play, before facts and with them."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.preflight import preflight
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.preflight.hosts import PrepareHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _groups, _inventory


def _host(
    name: str, hostvars: _inventory.Hostvars, play: Optional[Mapping[str, Any]], facts: bool, prefix: str
) -> PrepareHost:
    """``play`` is what a play says of a host of the run, ``None`` of another host."""

    def matters(variable: str) -> bool:
        ours = variable == "ansible_host" or plan_variables.ours(variable)
        return ours and variable.startswith(prefix)

    variables = hostvars[name]
    host = PrepareHost(name, chosen=play is not None)
    host.variables, host.broken = _inventory.of_host(variables, play or {}, matters)
    known = {**host.variables, "group_names": variables.get("group_names")}
    host.group, problem = _groups.found(hostvars, name, known)
    if problem and host.chosen and matters(problem.variable):
        host.broken.append(problem)
    if facts and host.chosen:
        host.facts, malformed = _inventory.facts_of(variables)
        if malformed:
            host.broken.append(Problem("ansible_facts.rdma", f"cannot be used: {malformed}"))
    return host


def problems(
    context: Mapping[str, Any],
    hosts: Sequence[str],
    hostvars: _inventory.Hostvars,
    everyone: Sequence[str] = (),
    facts: bool = False,
    prefix: str = "",
) -> List[str]:
    """One line for each problem of these hosts: of their variables, and with ``facts`` of what these do not allow.

    ``everyone`` are all hosts of the inventory, with which they may collide. With ``prefix``, only variables whose
    names begin so are looked at. ``context`` is Jinja's.
    """
    play, options = _inventory.of_play(context, hostvars), _inventory.options(context)
    chosen = dict.fromkeys(hosts, play)
    names = dict.fromkeys([*hosts, *everyone])
    every = [_host(name, hostvars, chosen.get(name), facts, prefix) for name in names]
    return preflight.problems(every, options)
