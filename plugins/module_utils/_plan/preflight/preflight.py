# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""All problems of a fleet's inventory, found before anything on any node is changed.

Computed once for all hosts, in time linear in their number (times the logarithm for what has to be sorted).
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, DefaultDict, Dict, Iterator, List, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import (
    fleet_wide,
    health_policy,
    operator_rules,
    queries,
    value_rules,
    variables,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import host_links, reachability, vfs
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.preflight import networks, strategies
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.preflight.hosts import CheckedHost, PrepareHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, messages, wrong

Found = Iterator[Tuple[str, Problem]]

# Parts of the names of variables that others are compared with.
_SEEN = ("_links_", "_expect_", "_device_networks")


def _check(host: PrepareHost, known: variables.Options) -> CheckedHost:
    values, problems = variables.converted(host.variables, known)
    problems = host.broken + problems + variables.unknown(host.variables, known)
    # A value that is not there for the checks below would make them tell of a second mistake where there is one.
    blind = any(part in problem.variable for problem in problems for part in _SEEN)
    checked = CheckedHost(host, values, problems)
    if host.chosen:
        problems += value_rules.of_playbooks(values)
        problems += value_rules.of_leaves(values)
        problems += value_rules.of_kernel(values)
        problems += value_rules.of_rules(values)
        problems += value_rules.of_exporter(values)
        problems += health_policy.problems(values)
        problems += queries.problems(values)
    if blind:
        checked.blind = True
        return checked
    if host.chosen:
        problems += networks.reserved(values)
        problems += host_links.problems(host.name, values)
    # Told above for a chosen host; what another one has cannot be compared.
    with contextlib.suppress(PlanError):
        checked.planned = host_links.addresses(host.name, values)
    return checked


def _netns_modes(every: Sequence[CheckedHost]) -> Found:
    """Nodes of a group that would differ in the RDMA netns mode, which no cluster works with."""
    variable = value_rules.NETNS_MODE
    groups: DefaultDict[str, DefaultDict[str, List[CheckedHost]]] = defaultdict(lambda: defaultdict(list))
    for checked in every:
        mode = registry.netns_mode(checked.values)
        if mode is None and checked.host.facts is not None:
            mode = checked.host.facts.system.netns_mode
        if mode is not None:
            groups[checked.host.group][mode].append(checked)
    for group, modes in groups.items():
        users = [checked for several in modes.values() for checked in several]
        # Where nobody asks for a mode it is left alone, and discover shows how the nodes differ.
        if (
            len(modes) < 2
            or not any(entry.host.chosen for entry in users)
            or not any(variable in entry.values for entry in users)
        ):
            continue
        fewest = min(modes, key=lambda mode: (len(modes[mode]), mode))
        others = [f"{mode} on {fold(entry.host.name for entry in modes[mode])}" for mode in modes if mode != fewest]
        right = f"but {'; '.join(others)}: all nodes of group {group} need the same"
        for checked in modes[fewest]:
            if variable in checked.values:
                yield checked.host.name, wrong(variable, fewest, right)
            else:
                yield checked.host.name, Problem(variable, f"is not set and the node's mode is {fewest}, {right}")


def _reachability(every: Sequence[CheckedHost]) -> Found:
    """Nodes of a group that would differ in which rails reach each other, which is one setting for all its pods."""
    groups: DefaultDict[str, List[Tuple[str, Dict[str, Any]]]] = defaultdict(list)
    for checked in every:
        if checked.host.chosen and not checked.problems:
            groups[checked.host.group].append((checked.host.name, checked.values))
    for group, hosts in groups.items():
        yield from fleet_wide.different(reachability.REACHABILITY, hosts, None, f" of group {group}")


def _sound(checked: CheckedHost) -> Dict[str, Any]:
    """The values of a host without those for which a problem is already reported."""
    told = {problem.variable.partition("[")[0] for problem in checked.problems}
    return {name: value for name, value in checked.values.items() if name not in told}


@dataclass
class Refusals:
    """What is wrong: ``shared`` with the inventory, and ``own`` with one host each, of which the others are free."""

    shared: List[Tuple[str, Problem]]
    own: List[Tuple[str, Problem]]


def problems(hosts: Sequence[PrepareHost], known: variables.Options) -> List[str]:
    """One line for each thing that is wrong: the hosts, the variable, its value and what would be right."""
    found = refusals(hosts, known)
    return messages([*found.shared, *found.own])


def refusals(hosts: Sequence[PrepareHost], known: variables.Options) -> Refusals:
    """Everything that is wrong; what the facts of one host do not allow concerns that host alone."""
    every = [_check(host, known) for host in hosts]
    found = [(entry.host.name, problem) for entry in every if entry.host.chosen for problem in entry.problems]
    for check in (*networks.CHECKS, _netns_modes, _reachability):
        found += check(every)
    found += strategies.problems(
        [(entry.host.name, entry.host.group, entry.values) for entry in every if entry.host.chosen]
    )
    defaults = variables.defaults(known)
    chosen = [(entry.host.name, _sound(entry)) for entry in every if entry.host.chosen]
    one_value = registry.one_value([values for _host, values in chosen])
    found += [*fleet_wide.problems(chosen, defaults, one_value), *operator_rules.problems(chosen, defaults)]
    # What the facts add is of use only once the variables are right by themselves.
    told = {name for name, _problem in found}
    sound = [entry for entry in every if entry.host.name not in told and not entry.blind]
    found += vfs.duplicates(
        host_links.guid_host(entry.host.name, entry.values, entry.host.facts, entry.host.chosen) for entry in sound
    )
    own = [
        (host.name, Problem("ansible_facts.rdma", f"cannot be used: {host.malformed}"))
        for host in hosts
        if host.malformed
    ]
    for entry in every:
        host = entry.host
        if host.chosen and host.facts is not None and host.name not in told:
            own += [(host.name, problem) for problem in value_rules.of_facts(entry.values, host.facts)]
            own += [(host.name, problem) for problem in host_links.problems(host.name, entry.values, host.facts)]
    return Refusals(found, own)
