# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What is wrong with the inventory of a play, before facts and with them."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.preflight import preflight
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.preflight.hosts import PrepareHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import by_host, messages
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
        host.facts, host.malformed = _inventory.facts_of(variables)
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
    return preflight.problems(*_every(context, hosts, hostvars, everyone, facts, prefix))


def refusals(
    context: Mapping[str, Any], hosts: Sequence[str], hostvars: _inventory.Hostvars, everyone: Sequence[str] = ()
) -> Tuple[List[str], Dict[str, List[str]]]:
    """The same with facts: lines of what stops the run, or else by host those of what stops only this host."""
    found = preflight.refusals(*_every(context, hosts, hostvars, everyone, True, ""))
    every = messages([*found.shared, *found.own])
    own = by_host(found.own)
    # Where nobody is left, it is said once.
    return (every, {}) if found.shared or not set(hosts) - set(own) else ([], own)


def _every(
    context: Mapping[str, Any],
    hosts: Sequence[str],
    hostvars: _inventory.Hostvars,
    everyone: Sequence[str],
    facts: bool,
    prefix: str,
) -> Tuple[List[PrepareHost], plan_variables.Options]:
    play, options = _inventory.of_play(context, hostvars), _inventory.options(context)
    chosen = dict.fromkeys(hosts, play)
    names = dict.fromkeys([*hosts, *everyone])
    return [_host(name, hostvars, chosen.get(name), facts, prefix) for name in names], options
